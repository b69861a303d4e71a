"""`stagec view --live`: the page of a function, served to this machine alone, and made anew whenever a file changes."""

from __future__ import annotations

import contextlib
import http.server
import importlib
import json
import linecache
import os
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from stagec.viewing.changes import changes
from stagec.viewing.page import page

_ADDRESS = "127.0.0.1"
# How often files are looked at, and how long a request waits for a change, in seconds.
_PERIOD, _PATIENCE = 0.02, 20.0
_TYPES = {"/": "text/html", "/page.html": "text/html", "/form.html": "text/html"}
_TYPES |= {"/data": "application/json", "/form": "application/json"}
# What makes the form of a version.
Made = Callable[[], dict[str, str]]


class Versions:
    """What the page shows, and what it showed before.

    Attributes:
      number: how often it has changed.
      fault: why the files do not compile as they are; empty if they do.
      data: what `gather` made of the last files that did; None if none has.
    """

    def __init__(self) -> None:
        self.number = 0
        self.fault = ""
        self.data: dict[str, Any] | None = None
        # The form of the data: what makes it, what that returned, and how many requests wait for it. Nothing is made
        # before one does, so that versions do not come later for it.
        self._make: Made | None = None
        self._form: dict[str, str] | None = None
        self._waiting = 0
        # A child of the process does not serve, so `core.forking.in_child` need not renew it.
        self._changed = threading.Condition()

    def add(self, data: dict[str, Any] | None, make: Made | None = None, fault: str = "") -> None:
        """Show what `gather` returned, with what is new in it, or a fault above what was there.

        Args:
          make: returns the form of the data.
        """
        if data is not None:
            data = changes(self.data, data)
        with self._changed:
            self.number += 1
            self.fault = fault
            if data is not None:
                self.data, self._make, self._form = data, make, None
            self._changed.notify_all()

    def whole(self) -> dict[str, Any]:
        """The data with their form, for which it waits."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._form is not None)
            self._waiting -= 1
            return {**(self.data or {}), "form": self._form}

    def make_form(self) -> None:
        """Make the form of the data if a request waits for it. Only the thread that adds versions calls this."""
        if self._waiting and self._form is None and self._make is not None:
            try:
                made = self._make()
            except Exception as error:  # the page stays, whatever is wrong with its form
                made = {"why": f"{type(error).__name__}: {error}"}
            with self._changed:
                self._form = made
                self._changed.notify_all()

    def later_than(self, number: int) -> dict[str, Any] | None:
        """The newest version as JSON; waits for one that is newer than `number`, and returns None if none comes."""
        with self._changed:
            self._changed.wait_for(lambda: self.number > number, _PATIENCE)
            return None if self.number <= number else self.newest()

    def newest(self) -> dict[str, Any]:
        """The newest version as JSON."""
        return {"title": "stagec", **(self.data or {}), "version": self.number, "fault": self.fault, "page": self.data}


class Server(http.server.ThreadingHTTPServer):
    """Serves versions on the loopback address until it is closed.

    Raises:
      OSError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, versions: Versions, port: int) -> None:
        super().__init__((_ADDRESS, port), _Handler)
        self.versions = versions
        self.hosts = {f"{host}:{self.server_port}" for host in (_ADDRESS, "localhost")}
        self.address = f"http://{_ADDRESS}:{self.server_port}/"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Answer requests on other threads for a block."""
        thread = threading.Thread(target=self.serve_forever, name="stagec-view", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes a connection early is no fault."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        # A page of another site whose name leads to this address would otherwise read the user's source.
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(421, "Misdirected Request", f"this server is {self.server.address}")
            return
        place, _, query = self.path.partition("?")
        versions = self.server.versions
        if place == "/data":
            after = dict(urllib.parse.parse_qsl(query)).get("after", "")
            found = versions.later_than(int(after)) if after.isdecimal() else versions.newest()
            text = "" if found is None else json.dumps({k: found[k] for k in ("version", "fault", "page")})
        elif place == "/":
            text = page(versions.newest(), live=True)
        elif place in ("/form", "/form.html", "/page.html") and versions.data is not None:
            whole = versions.whole()
            form = whole["form"]
            if place == "/page.html":
                text = page(whole)
            else:
                text = form.get("page", "") if place == "/form.html" else json.dumps({"why": form.get("why", "")})
        else:
            self.send_error(404)
            return
        content = text.encode()
        self.send_response(200 if content else 204)
        self.send_header("Content-Type", f"{_TYPES[place]}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line."""


class Follower:
    """Imports the user's modules anew whenever one of their files changes.

    Args:
      folder: modules whose files are in it are the user's, unless their package was imported before; all others are
        imported once.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(os.path.abspath(folder), "")
        self._before = set(sys.modules)
        self._others = {name.partition(".")[0] for name in self._before}
        # Bytecode in files is found by the second and the size of its source, which two edits can share.
        sys.dont_write_bytecode = True

    def forget(self) -> None:
        """Make the next import read the user's files again."""
        for name in self._modules():
            del sys.modules[name]
        importlib.invalidate_caches()
        linecache.checkcache()

    def _modules(self) -> dict[str, str]:
        new = {name: getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - self._before}
        own = {n: file for n, file in new.items() if file.startswith(self._folder) and "site-packages" not in file}
        return {n: file for n, file in own.items() if n.partition(".")[0] not in self._others}

    def state(self, file: str) -> dict[str, int]:
        """When each of the user's files was written, by its path; `file` is one of them, imported or not."""
        found = {}
        for path in {os.path.abspath(file), *self._modules().values()}:
            with contextlib.suppress(OSError):  # an editor is replacing it
                found[path] = os.stat(path).st_mtime_ns
        return found


def serve(
    gathered: Callable[[], tuple[dict[str, Any], Made]],
    described: Callable[[BaseException], str],
    file: str,
    folder: str,
    port: int,
    started: Callable[[str], None],
) -> None:
    """Show what `gathered()` returns, again after each change of the user's files, until an interrupt.

    Args:
      gathered: imports the user's function, and returns what `gather` made of it, and what makes its form.
      described: what it raised, in words.
      file: the file of the function.
      folder: where its other modules are.
      port: 0 for any that is free.
      started: called with the address.

    Raises:
      OSError: the port is taken.
    """
    versions, follower = Versions(), Follower(folder)
    with Server(versions, port) as server, server.running(), contextlib.suppress(KeyboardInterrupt):
        started(server.address)
        while True:
            state, began = follower.state(file), time.time_ns()
            data, made, fault = None, None, ""
            try:
                data, made = gathered()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # the user's code may do anything, and be corrected
                fault = described(error)
            # Files that the import named are compared with what they are after it, if nobody has written them since.
            state = {**{path: at * (at <= began) for path, at in follower.state(file).items()}, **state}
            versions.add(data, made, fault)
            while follower.state(file) == state:
                versions.make_form()
                time.sleep(_PERIOD)
            follower.forget()
