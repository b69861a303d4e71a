"""What a profile records: spans of time, and the calls that they belong to.

At most one recording is active, for all threads. Calls find it where they take the slow path; at its start and at its
end, the fast paths are emptied and the loaded programs choose anew what runs them. So nothing is asked on the hot path
of a call when there is none.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stagec.core import forking, location
from stagec.core.config import state

T = TypeVar("T")
_NOTHING = contextlib.nullcontext()


@dataclass
class Span:
    """Something that took time.

    Attributes:
      kind: `call`, `trace`, `lower`, `passes`, `compile`, `cache`, `load`, `transfer`, `run`, or `eager` for what NumPy
        computes outside `jit`.
      name: of the function, program or operation.
      start, end: nanoseconds of `time.perf_counter_ns`.
      thread: the name of the thread, whose work helper threads may have done.
      call: the call that it is a part of.
      line: the user's line, where it is known.
      details: sizes in bytes, and what else is known.
    """

    kind: str
    name: str
    start: int
    end: int
    thread: str
    call: Span | None = None
    line: location.Location = location.UNKNOWN
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


# The call that is in progress. Helper threads have the context of those that wait for them.
_call: contextvars.ContextVar[Span | None] = contextvars.ContextVar("stagec_profiled_call", default=None)


@dataclass
class Runs:
    """The runs of one program.

    Attributes:
      executable: the program.
      arguments: those of its first run, as NumPy arrays; None where they are not needed.
      code: what it was compiled from, or the file that it was read from.
      spans: the runs.
    """

    executable: Any
    arguments: list[Any] | None
    code: Any = None
    spans: list[Span] = field(default_factory=list)


class Recording:
    """Spans, and the programs that ran.

    Args:
      keeps: whether the arguments of each program's first run are kept.
    """

    def __init__(self, keeps: bool) -> None:
        self.spans: list[Span] = []
        self.programs: dict[int, Runs] = {}
        self.codes: dict[int, Any] = {}
        self._keeps = keeps
        self._lock = threading.Lock()

    def add(self, kind: str, name: str, start: int, end: int, **details: Any) -> Span:
        """Record what has ended."""
        call = _call.get()
        thread = threading.current_thread().name if call is None else call.thread
        made = Span(kind, name, start, end, thread, call, location.capture(), details)
        self.spans.append(made)
        return made

    def called(self, kind: str, name: str, function: Callable[..., T], *given: Any) -> T:
        """The result of a call or of an operation outside `jit`, to which belongs what happens in it."""
        outer = _call.get()
        if kind == "eager" and outer is not None and outer.kind == kind:  # a part of that operation
            return function(*given)
        thread = threading.current_thread().name if outer is None else outer.thread
        made = Span(kind, name, time.perf_counter_ns(), 0, thread, outer, location.capture())
        token = _call.set(made)
        try:
            return function(*given)
        finally:
            _call.reset(token)
            made.end = time.perf_counter_ns()
            self.spans.append(made)

    @contextlib.contextmanager
    def span(self, kind: str, name: str, details: dict[str, Any]) -> Iterator[None]:
        """Record a block."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.add(kind, name, start, time.perf_counter_ns(), **details)

    def runs(self, executable: Any, arguments: Callable[[], list[Any]]) -> Runs:
        """The runs of a program so far; asked for before each."""
        key = id(executable.payload)
        found = self.programs.get(key)
        if found is None:
            kept = arguments() if self._keeps else None
            with self._lock:
                made = Runs(executable, kept, self.codes.get(key))
                found = self.programs.setdefault(key, made)
        return found


active: Recording | None = None
_listeners: list[Callable[[], Any]] = []
_changing = forking.lock()


def on_change(listener: Callable[[], T]) -> Callable[[], T]:
    """Call a function after a recording began or ended."""
    _listeners.append(listener)
    return listener


def begin(recording: Recording) -> bool:
    """Make a recording the active one; returns whether there was none."""
    return _exchange(None, recording)


def end(recording: Recording) -> None:
    """Stop recording."""
    _exchange(recording, None)


def _exchange(before: Recording | None, after: Recording | None) -> bool:
    global active
    with _changing:
        if active is not before:
            return False
        active = after
        for listener in _listeners:
            listener()
    return True


def span(kind: str, name: str, **details: Any) -> contextlib.AbstractContextManager[Any]:
    """Record a block, if there is a recording."""
    found = active
    return _NOTHING if found is None else found.span(kind, name, details)


def called(kind: str, name: str, function: Callable[..., T], *given: Any) -> T:
    """The result of a call, which is recorded if there is a recording.

    Args:
      kind: `call`, or `eager` for an operation outside `jit`.
    """
    found = active
    if found is None or state.trace is not None:  # a call that is traced becomes a part of another one
        return function(*given)
    return found.called(kind, name, function, *given)


def recorded(kind: str, name: str, function: Callable[[Any], T]) -> Callable[[Any], T]:
    """A function of one argument; if there is a recording now, one whose calls it gets."""
    found = active
    return function if found is None else lambda given: found.called(kind, name, function, given)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    """A child records nothing for its parent."""
    global active
    if active is not None:
        active = None
        for listener in _listeners:
            listener()
