"""A cache of compiled programs behind an address of fsspec, such as a bucket that several machines share.

One object an entry, of the same bytes as its file on disk, followed by a keyed digest where there is a key. All of an
object is read into memory and checked before it is used. Whatever goes wrong is a miss and at most one warning.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from stagec.compiler import log
from stagec.compiler.cache_file import Entry, EntryError, encode_head, parse_entry
from stagec.core import forking
from stagec.core.errors import CacheWarning, message
from stagec.runtime import interruptible

T = TypeVar("T")

# How long a call waits for one answer, and for how long nothing is asked after a failure.
ANSWER_SECONDS = 10.0
PAUSE_SECONDS = 60.0
# A digest is as strong as its key: of 128 random bits, hexadecimal digits are 32 characters.
_KEY_CHARACTERS = 32


class Remote:
    """Compiled programs in a folder of a file system that fsspec knows.

    Args:
      url: the folder, as in `s3://bucket/prefix`.
      writable: whether programs that are compiled here are stored there.
      key: signs what is written; what is read must be signed with it. Without a key nothing is signed, and nothing
        checks who wrote an entry.
      max_bytes: larger entries are not read.
    """

    def __init__(self, url: str, writable: bool = False, key: str = "", max_bytes: int = 2 << 30) -> None:
        self.url = url
        self.writable = writable
        self._key = key.encode()
        self._max_bytes = max_bytes
        self._warned: set[str] = set()
        self._paused_until = 0.0
        self._too_short = 0 < len(key) < _KEY_CHARACTERS

    @property
    def place(self) -> str:
        """The address without a password."""
        protocol, separator, place = self.url.rpartition("://")
        host, slash, path = place.partition("/")
        return protocol + separator + host.rpartition("@")[2] + slash + path

    def get(self, key: str) -> Entry | None:
        """The entry for `key`, checked and in memory, or None"""
        content = self._asked("read", lambda: self._read(key))
        if content is None:
            return None
        try:
            return parse_entry(self._verified(content), key, f"{self.place}/{self._name(key)}")
        except EntryError as error:
            self._warn("damaged", f"an entry of the remote cache is skipped: {error}", f"remove {self._name(key)}")
            return None

    def put(self, key: str, contributors: Mapping[str, str], meta: Mapping[str, Any], payload: Any) -> None:
        """Store a program, if this is writable"""
        if not self.writable:
            return
        view = memoryview(payload).cast("B")
        try:
            content = encode_head(key, contributors, meta, view) + view
        except EntryError:  # too large for a reader
            return
        signature = hmac.digest(self._key, content, hashlib.sha256) if self._key else b""
        if self._asked("write", lambda: self._write(key, content + signature)):
            log.event("cache", "stored in the remote cache", key=key)

    def _name(self, key: str) -> str:
        # Readers with a key and without one do not see each other's entries.
        return f"{key}.signed" if self._key else f"{key}.stagec"

    def _verified(self, content: bytes) -> memoryview:
        view = memoryview(content)
        if len(view) > self._max_bytes:
            raise EntryError(f"it has more than {self._max_bytes} bytes")
        if not self._key:
            return view
        size = hashlib.sha256().digest_size
        signed, signature = view[:-size], view[-size:]
        if not hmac.compare_digest(hmac.digest(self._key, signed, hashlib.sha256), signature):
            raise EntryError("its signature is not of STAGEC_CACHE_REMOTE_KEY")
        return signed

    def _read(self, key: str) -> bytes | None:
        system, folder = self._system()
        try:
            return bytes(system.cat_file(f"{folder}/{self._name(key)}", end=self._max_bytes + 1))
        except FileNotFoundError:
            return None

    def _write(self, key: str, content: bytes) -> bool:
        system, folder = self._system()
        path = f"{folder}/{self._name(key)}"
        if "file" not in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)):
            system.pipe_file(path, content)  # object stores show all of an object or nothing
            return True
        temporary = f"{path}.{os.urandom(8).hex()}.tmp"
        system.makedirs(folder, exist_ok=True)
        system.pipe_file(temporary, content)
        os.replace(temporary, path)
        return True

    def _system(self) -> tuple[Any, str]:
        """The file system and the folder in it; fsspec keeps the former, and makes another one in a forked child"""
        with forking.importing():
            from fsspec.core import url_to_fs
        system, folder = url_to_fs(self.url)
        return system, folder.rstrip("/")

    def _asked(self, kind: str, ask: Callable[[], T]) -> T | None:
        """What the file system answers, or None after a failure"""
        if self._too_short:
            least = f"STAGEC_CACHE_REMOTE_KEY has fewer than {_KEY_CHARACTERS} characters"
            self._warn("key", f"the remote cache is not used: {least}", "set it to what `openssl rand -hex 32` prints")
            return None
        if time.monotonic() < self._paused_until:
            return None
        try:
            return _within(ANSWER_SECONDS, ask)
        except ImportError as error:
            fix = "pip install fsspec, and what fsspec needs for this address, such as s3fs"
            self._failed("import", f"the remote cache is not used: {error}", fix)
        except Exception as error:  # each file system has errors of its own
            reason = str(error) or type(error).__name__
            fix = "correct or unset STAGEC_CACHE_REMOTE; the program is compiled here"
            if kind == "write":
                fix = "allow writing there, or unset STAGEC_CACHE_REMOTE_WRITE"
            self._failed(kind, f"the remote cache cannot be {'read' if kind == 'read' else 'written'}: {reason}", fix)
        return None

    def _failed(self, kind: str, what: str, fix: str) -> None:
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        self._warn(kind, what, fix)

    def _warn(self, kind: str, what: str, fix: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message(what, where=self.place, fix=fix), CacheWarning, stacklevel=3)


def _within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work()`, on a thread of its own, which is left alone if it takes longer.

    Raises:
      TimeoutError: it does.
      Abandoned: nobody waits for this thread any more.
    """
    answers = SimpleQueue[tuple[Any, BaseException | None]]()

    def run() -> None:
        try:
            answers.put((work(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=run, name="stagec-remote", daemon=True).start()
    deadline = time.monotonic() + seconds
    is_abandoned = interruptible.is_abandoned()
    while True:
        try:
            result, error = answers.get(timeout=interruptible.SLICE_SECONDS)
        except Empty:
            if is_abandoned():
                raise interruptible.Abandoned from None
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer within {seconds:g} seconds") from None
            continue
        if error is not None:
            raise error
        return result
