"""Traces by signature, shared by all `jit`s of a function; each is made by one thread while others wait."""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stagec.api.open_dimensions import Conditions, is_full, taken_for_granted
from stagec.core import forking, pytree
from stagec.core.config import config
from stagec.core.graph import Graph
from stagec.core.trace import Tracer
from stagec.core.weak import WeakKeyDictionary
from stagec.python_flow.outcome import ahead_of_time
from stagec.runtime.devices import Device

if TYPE_CHECKING:
    from stagec.api.program import RunnableGraph
    from stagec.api.references import TracedReferences
    from stagec.compiler.build import ProgramOptions


@dataclass(eq=False, repr=False, slots=True)
class TracedSignature:
    """One traced signature of a function.

    Attributes:
      definition: where the function is defined, as `location.of_function` says it.
      static: position or name of each static argument, and its `StaticValue`.
      reads_mesh: whether the function asked for the mesh in force.
    """

    graph: Graph
    captured: list[Any]
    in_tree: pytree.PyTreeDef
    out_tree: pytree.PyTreeDef
    name: str
    definition: str
    leaf_names: list[str]
    donated: list[int]
    static: tuple[Any, ...]
    references: TracedReferences | None = None
    reads_mesh: bool = False
    runnables: dict[tuple[ProgramOptions, Device | None], RunnableGraph] = field(default_factory=dict)
    _conditions: Conditions | None = None

    def returned(self) -> pytree.PyTreeDef:
        """The structure of what the program returns where it is compiled ahead of time.

        Raises:
          UnsupportedError: a call of the function would raise what only a call in Python can.
        """
        return ahead_of_time(self.name, self.leaf_names, self.out_tree)

    def conditions(self) -> Conditions:
        """What its program takes for granted of the sizes of open dimensions."""
        if self._conditions is None:
            graph = self.graph
            avals = graph.in_avals[len(self.captured) :]
            self._conditions = Conditions(self.name, self.leaf_names, avals, taken_for_granted(graph), is_full(graph))
        return self._conditions


class _UnderWay:
    """A trace that a thread is making now."""

    __slots__ = ("done", "owner")

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.done = threading.Event()


# A thread waits no longer than this for the trace of another one, which may itself wait
# for a lock that the first thread holds.
_PATIENCE_SECONDS = 10.0

# Guards the two tables: the traces under way, and what each waiting thread waits for.
_lock = forking.lock()
_under_way: dict[tuple[TraceCache, Any], _UnderWay] = {}
_waiting: dict[int, _UnderWay] = {}


class TraceCache:
    """Traces by signature: shared by all `jit`s of one function with equal rules."""

    def __init__(self) -> None:
        self.traces: dict[Any, TracedSignature] = {}

    def get(self, key: Any) -> TracedSignature | None:
        """The trace of a signature, if there is one.

        Raises:
          TypeError: the signature is not hashable.
        """
        return self.traces.get(key)

    def made(self, key: Any, make: Callable[[], TracedSignature]) -> TracedSignature:
        """The trace of a signature, by `make` where there is none; one thread makes it while others wait.

        A thread does not wait where that would never end: in the trace itself,
        and where the other thread waits for a trace that this one is making.
        """
        me = threading.get_ident()
        mine = _UnderWay(me)
        try:
            patient = True
            while True:
                with _lock:
                    found = self.traces.get(key)
                    if found is not None:
                        return found
                    other = _under_way.setdefault((self, key), mine)
                    if other is mine or not patient or _waits_for(other, me):
                        break
                    _waiting[me] = other
                try:
                    patient = other.done.wait(_PATIENCE_SECONDS)
                finally:
                    with _lock:
                        _waiting.pop(me, None)
            before = config.trace_key()
            made = make()
            # One thread may change an option while another traces.
            return self._keep(key, made) if config.trace_key() == before else made
        finally:
            with _lock:
                if _under_way.get((self, key)) is mine:
                    del _under_way[self, key]
            mine.done.set()

    def _keep(self, key: Any, trace: TracedSignature) -> TracedSignature:
        # A trace that closes over values of an outer trace is valid only in that trace.
        inner = trace.references is not None and any(r._trace is not None for r in trace.references.outer)
        if not inner and not any(isinstance(c, Tracer) for c in trace.captured):
            self.traces[key] = trace
        return trace


def _waits_for(trace: _UnderWay | None, thread: int) -> bool:
    """Whether the end of a trace depends on a thread."""
    while trace is not None:
        if trace.owner == thread:
            return True
        trace = _waiting.get(trace.owner)
    return False


@forking.in_child
def _forget_other_threads(_: forking.HeldLocks) -> None:
    """Forget, in a forked child, the threads that were tracing, which do not exist there."""
    _under_way.clear()
    _waiting.clear()


_by_function: WeakKeyDictionary[dict[Any, TraceCache]] = WeakKeyDictionary()
# A bound method is a new object at every access, so the key is made of its function and its self. The function is
# kept with its traces, or another function could get its id.
_by_method: dict[tuple[int, int], tuple[Any, Any, dict[Any, TraceCache]]] = {}


def traces_of(function: Callable[..., Any], rules: Any) -> TraceCache:
    """The traces of a function under rules for its arguments, which are hashable."""
    try:
        if isinstance(function, types.MethodType):
            key = (id(function.__func__), id(function.__self__))
            found = _by_method.get(key)
            if found is None:
                # Not a function in Python, for the reason that `stagec.core.weak` gives.
                owner = weakref.ref(function.__self__, functools.partial(_by_method.pop, key))
                found = _by_method.setdefault(key, (owner, function.__func__, {}))
            table = found[2]
        else:
            table = _by_function.setdefault(function, {})
    except TypeError:  # no weak references, or no hash: nothing to share
        return TraceCache()
    return table.setdefault(rules, TraceCache())


def all_traces() -> Iterator[TraceCache]:
    """The caches of all functions."""
    # Copies, as other threads trace meanwhile.
    for table in [*_by_function.values(), *(table for _, _, table in list(_by_method.values()))]:
        yield from list(table.values())
