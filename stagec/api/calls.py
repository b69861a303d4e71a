"""Fast path of a call, keyed by signature. Shared by jitted and loaded functions."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from stagec.api.arguments import leaf_value
from stagec.api.signature import Unusual, builder, describe, transient_array
from stagec.core import forking, pytree
from stagec.core.aval import ShapedArray
from stagec.core.boundary import hide_frames
from stagec.core.config import config, state
from stagec.core.exact_key import exact_key
from stagec.core.weak import WeakSet
from stagec.runtime import recording
from stagec.runtime.array import Array, Split
from stagec.runtime.devices import cpu
from stagec.runtime.executable import Executable
from stagec.runtime.placement import placed
from stagec.runtime.propagation import sign
from stagec.runtime.runnable import Runnable

_Table: TypeAlias = dict[tuple[Any, ...], Callable[[Sequence[Any]], Any]]

_instances: WeakSet[FastPathDispatch] = WeakSet()


class _Keywords:
    """Separates positional from keyword arguments in a described signature."""


# How many signatures are remembered at a time: with open dimensions, each size is one.
_MOST = 1 << 14


class FastPathDispatch(abc.ABC):
    """A callable whose calls with known signatures only run the program.

    Args:
      static_nums, static_names: arguments that are Python values and part of the signature.
    """

    def __init__(self, static_nums: frozenset[int], static_names: frozenset[str]) -> None:
        self._static_nums = static_nums
        self._static_names = static_names
        self._forget()
        _instances.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if state.plain and self._fast and not kwargs:
                run = self._fast.get(tuple([a.signature if type(a) is Array else None for a in args]))
                if run is not None:
                    return run(args)
            if self._described and (state.plain or state.has_fast_paths):
                leaves: list[Any] = []
                try:
                    run = self._described.get(self._describe(args, kwargs, leaves))
                except (Unusual, TypeError):  # TypeError: not hashable
                    run = None
                if run is not None:
                    return run(leaves)
            return recording.called("call", self._shown_name(), self._call, args, kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    @abc.abstractmethod
    def _shown_name(self) -> str:
        """The function's name in messages."""

    @abc.abstractmethod
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The slow path; calls `_remember` where the next call may take the fast one, with what `_tables` returned
        before it read an option.
        """

    def _tables(self) -> tuple[_Table, _Table]:
        return self._fast, self._described

    def _describe(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> tuple[Any, ...]:
        """The call's signature as a key; appends the dynamic leaves to `leaves`."""
        nums = self._static_nums
        key: list[Any] = [] if state.plain else [state.scope]
        for i, a in enumerate(args):
            if i in nums:
                key.append(exact_key(a))
            elif type(a) is Array:  # the usual case, without a call
                leaves.append(a)
                key.append(a.signature)
            else:
                key.append(describe(a, leaves))
        if kwargs:
            order = tuple(kwargs) if len(kwargs) == 1 else tuple(sorted(kwargs))
            key.append(_Keywords)
            key.append(order)
            names = self._static_names
            for name in order:
                a = kwargs[name]
                if name in names:
                    key.append(exact_key(a))
                elif type(a) is Array:
                    leaves.append(a)
                    key.append(a.signature)
                else:
                    key.append(describe(a, leaves))
        return tuple(key)

    def _remember(
        self,
        tables: tuple[_Table, _Table],
        name: str,
        run_of: Callable[[bool], Callable[[Sequence[Any]], Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arrange: Callable[[Sequence[Any]], list[Any]] | None = None,
        reads_mesh: bool = False,
    ) -> None:
        """Let the next call with this signature skip everything but the program.

        Args:
          name: the program's.
          run_of: makes what runs the program on leaves; its argument says that all are Arrays, and the only arguments.
          arrange: makes the program's leaves from the call's.
          reads_mesh: whether the program is for the mesh in force alone.
        """
        leaves: list[Any] = []
        try:
            key = self._describe(args, kwargs, leaves)
            hash(key)
        except (Unusual, TypeError):
            return
        fast, described = tables
        if len(fast) + len(described) >= _MOST:
            self._forget()
        simple = not (self._static_nums or self._static_names or kwargs or arrange)
        if simple and state.plain and all(type(a) is Array for a in args):
            run = recording.recorded("call", name, run_of(True))
            fast[key] = self._under(state.mesh, run) if reads_mesh else run
            return
        if reads_mesh:
            return
        run = recording.recorded("call", name, run_of(False))
        described[key] = run if arrange is None else lambda leaves: run(arrange(leaves))

    def _under(self, mesh: Any, run: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
        """The fast path under a mesh, and the slow one under others."""
        return lambda args: run(args) if state.mesh is mesh else self._call(tuple(args), {})

    def _forget(self) -> None:
        # What runs a call, by the avals of plain arrays, and by the description of other arguments. Under overridden
        # options, their scope leads the key. When an option changes, both are replaced: a call in another thread that
        # began before remembers what it finds in those that nobody reads any more.
        self._fast: _Table = {}
        self._described: _Table = {}


def runner(
    runnable: Runnable[Any],
    committed: bool,
    out_tree: pytree.PyTreeDef,
    shardings: Sequence[Any] | None,
    plain: bool,
) -> Callable[[Sequence[Any]], Any]:
    """What a known signature runs on its leaves; `plain` says that all of them are Arrays, and the only arguments."""
    build = builder(out_tree)
    in_avals = runnable.in_avals
    if shardings is not None:
        return _run_split(runnable, committed, build, plain, shardings)
    if runnable.is_constant and runnable.code.evaluates and runnable.device is cpu() and not committed:
        known = [(a.evaluated(), a.aval) for a in runnable.run([None] * len(in_avals))]
        return lambda leaves: build([Array.of(value, aval) for value, aval in known])
    if not _is_direct(runnable):
        arranged = None if committed else runnable.arranged()
        # Results that are arguments, and donated ones, must be those of arrays: others keep their memory.
        of_any = not (runnable.donated or any(kind == "input" for kind, _ in runnable.plan))

        def run_graph(leaves: Sequence[Any]) -> Any:
            if arranged is not None and (plain or of_any or all([type(a) is Array for a in leaves])):  # noqa: C419
                return build(arranged(leaves if plain or not of_any else _arrays(leaves, in_avals)))
            return build(runnable.run([leaf_value(a) for a in leaves], committed))

        return run_graph
    executable = runnable.executable(committed)
    run = _run_of(executable)
    if run == executable.run_plain and out_tree == pytree.LEAF:
        run = executable.run_one
        build = _identity
    device = executable.device
    if device.is_cpu:
        if plain:
            return run if build is _identity else lambda leaves: build(run(leaves))
        return lambda leaves: build(run(_arrays(leaves, in_avals)))
    return lambda leaves: build(run([placed(leaf_value(a), device) for a in leaves]))


def _is_direct(runnable: Runnable[Any]) -> bool:
    """Whether the program takes the call's arguments and returns its results."""
    return runnable.direct and not runnable.trivial and not any(a.weak_type for a in runnable.out_avals)


def _run_of(executable: Executable) -> Callable[[Sequence[Array]], Any]:
    return executable.run if executable.mutated or executable.may_alias else executable.run_plain


def _run_split(
    runnable: Runnable[Any],
    committed: bool,
    build: Callable[[Sequence[Array]], Any],
    plain: bool,
    shardings: Sequence[Any],
) -> Callable[[Sequence[Any]], Any]:
    """What a known signature runs whose results are split."""
    home, avals = runnable.device.home, runnable.out_avals
    are_here = home is cpu() and all(s is not None and s.home is home for s in shardings)
    if plain and _is_direct(runnable) and are_here:
        run = _run_of(runnable.executable(committed))
        signatures = [Split(aval, sharding) for aval, sharding in zip(avals, shardings)]

        def run_direct(leaves: Sequence[Any]) -> Any:
            results = run(leaves)
            for result, signature in zip(results, signatures):
                result.signature = signature
            return build(results)

        return run_direct

    def run_any(leaves: Sequence[Any]) -> Any:
        results = runnable.run([leaf_value(a) for a in leaves], committed)
        sign(results, shardings)
        return build(results)

    return run_any


def _identity(value: Any) -> Any:
    return value


def _arrays(leaves: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Array]:
    return [a if type(a) is Array else transient_array(a, v) for a, v in zip(leaves, avals, strict=True)]


def forget_fast_paths() -> None:
    """Empty the fast paths of all functions."""
    for function in _instances:
        function._forget()


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    forget_fast_paths()


config.on_update(forget_fast_paths)
recording.on_change(forget_fast_paths)
