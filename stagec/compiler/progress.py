"""A line on the terminal, or below the notebook's cell, during long compiles."""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from stagec.core import forking
from stagec.runtime import interruptible

DELAY_SECONDS = 2.0
_PERIOD_SECONDS = 1.0


class Progress:
    """Show `compiling`, what, and the seconds so far, once two seconds have passed.

    Nothing is shown, imported or started unless stderr is a terminal, or this
    process the kernel of a notebook. Of several compiles at the same time, one is shown. The line
    disappears when the compile ends, or when nobody waits for it any more.

    >>> with Progress("f (3 operations) for cpu"):
    ...     pass
    """

    _shown = forking.lock()

    def __init__(self, what: str, delay: float = DELAY_SECONDS) -> None:
        self._what = what
        self._delay = delay
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream: Any = None
        self._started = time.monotonic()
        self._is_abandoned = interruptible.is_abandoned()

    @classmethod
    @contextlib.contextmanager
    def silent(cls) -> Iterator[None]:
        """Show nothing for a block, which has a display of its own."""
        with cls._shown:
            yield

    def __enter__(self) -> Progress:
        self._stream = sys.stderr
        show = self._in_notebook if is_notebook() else self._on_terminal if _is_terminal(self._stream) else None
        if show is not None and interruptible.is_awaited():
            # Notebooks find the cell that output belongs to by the context.
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._run, show), name="stagec-progress", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, show: Callable[[], None]) -> None:
        shown = self._shown
        if not self._goes_on(self._delay) or not shown.acquire(blocking=False):
            return
        try:
            show()
        finally:
            shown.release()

    def _goes_on(self, seconds: float) -> bool:
        """Whether the compile is still waited for after some seconds; returns early once it is not."""
        deadline = time.monotonic() + seconds
        while not self._is_abandoned():
            left = deadline - time.monotonic()
            if self._done.wait(min(max(left, 0.0), interruptible.SLICE_SECONDS)):
                return False
            if left <= 0:
                return True
        return False

    def _line(self) -> str:
        return f"compiling {self._what}, {time.monotonic() - self._started:.0f} s"

    def _on_terminal(self) -> None:
        from rich.console import Console

        with Console(file=self._stream).status(self._line()) as status:
            while self._goes_on(_PERIOD_SECONDS):
                status.update(self._line())

    def _in_notebook(self) -> None:
        # Not a line of stderr, which the notebook would keep.
        shown = importlib.import_module("IPython.display").display(_text(self._line()), raw=True, display_id=True)
        while self._goes_on(_PERIOD_SECONDS):
            shown.update(_text(self._line()), raw=True)
        shown.update(_text(""), raw=True)


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    # In a notebook, IPython has been imported.
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return find is not None and getattr(find(), "kernel", None) is not None


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:  # a closed stream
        return False
