"""One line on the terminal while a compile takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from stagec.core import forking

DELAY_SECONDS = 2.0


class Progress:
    """Show `name` and the seconds so far on stderr, once two seconds have passed.

    Nothing is shown, imported or started unless stderr is a terminal. Of several
    compiles at once, one is shown.

    >>> with Progress("f for cpu"):
    ...     pass
    """

    _shown: Any = threading.Lock()

    def __init__(self, name: str, delay: float = DELAY_SECONDS) -> None:
        self._name = name
        self._delay = delay
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream: Any = None

    @classmethod
    @contextlib.contextmanager
    def silent(cls) -> Iterator[None]:
        """Show nothing for a block, which has a display of its own."""
        with cls._shown:
            yield

    def __enter__(self) -> Progress:
        stream = sys.stderr
        try:
            terminal = stream is not None and stream.isatty()
        except ValueError:  # a closed stream
            terminal = False
        if terminal:
            self._stream = stream
            self._thread = threading.Thread(target=self._run, name="stagec-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        started = time.monotonic()
        shown = self._shown
        if self._done.wait(self._delay) or not shown.acquire(blocking=False):
            return
        try:
            from rich.console import Console

            console = Console(file=self._stream)
            with console.status("") as status:
                while not self._done.is_set():
                    status.update(f"compiling {self._name} ({time.monotonic() - started:.0f} s)")
                    self._done.wait(0.5)
        finally:
            shown.release()


@forking.in_child
def _begin_anew(_: forking.Rest) -> None:
    Progress._shown = threading.Lock()
