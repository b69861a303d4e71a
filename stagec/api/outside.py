"""Programs of what is called outside `jit`: found by the graph, not by the function that made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.api import spanning
from stagec.api.arguments import ArgumentRules
from stagec.api.calls import runner
from stagec.api.settings import JitSettings
from stagec.api.tiers import evaluation
from stagec.api.traces import TracedSignature
from stagec.core import forking, pytree
from stagec.core.config import Scope, config, state
from stagec.core.graph import Graph, Literal
from stagec.core.weak import WeakSet
from stagec.runtime import recording
from stagec.runtime.array import Array
from stagec.runtime.propagation import sign_results

_settings = JitSettings(ArgumentRules(lambda: None))
_all: WeakSet[Program] = WeakSet()


class Program:
    """Runs the compiled program of a graph on flat operands; compiled when it is first called.

    Args:
      captured: values that lead the graph's inputs.
      tree: the structure of the results; by default, they are a list.
      exactly: whether the results have to be the program's own, so that a call waits for the compiler.
    """

    def __init__(
        self, graph: Graph, captured: Sequence[Any], name: str, tree: pytree.PyTreeDef | None, exactly: bool
    ) -> None:
        self._tiered = False if exactly else None
        count = len(graph.inputs) - len(captured)
        names = [f"operand {i}" for i in range(count)] if count > 1 else ["operand"]
        tree = pytree.structure([0] * len(graph.outputs)) if tree is None else tree
        self._trace = TracedSignature(graph, list(captured), pytree.LEAF, tree, name, name, names, [], ())
        self.forget()
        _all.add(self)

    def __call__(self, values: Sequence[Any]) -> Any:
        plain, arrays = state.plain or state.has_fast_paths, True
        for v in values:
            if type(v) is not Array:
                arrays = False
            elif v.signature is not v.aval:
                plain = False
        fast = self._fast
        found = fast.get(state.scope) if plain else None
        if found is not None:
            of_arrays, of_any = found
            return of_arrays(values) if arrays else of_any([v.value if type(v) is Literal else v for v in values])
        trace, given = self._trace, list(values)
        everything = [*trace.captured, *given]
        mesh = spanning.mesh_of(trace.graph, everything)
        if mesh is not None:
            part = spanning.Part(trace.graph, everything, mesh, _settings.options(graph=trace.graph), trace.name)
            return trace.out_tree.unflatten(part.run(everything))
        device, committed = _settings.placement(trace, given)
        runnable = _settings.runnable(trace, device)
        results = runnable.run(given, committed, evaluation(runnable, self._tiered))
        shardings = sign_results(trace.graph, everything, results)
        if plain and runnable.is_ready:
            of_arrays, of_any = (
                runner(runnable, committed, trace.out_tree, shardings, plain) for plain in (True, False)
            )
            fast[state.scope] = (of_arrays, of_any)
        return trace.out_tree.unflatten(results)

    def forget(self) -> None:
        """Choose anew what runs a call: an option has changed that this may depend on."""
        # What runs plain arrays, and what takes other values, too, by the scope of the options in force. Another table,
        # as a call in another thread may be about to put what it has found for the former options into this one.
        self._fast: dict[Scope | None, tuple[Callable[[Sequence[Any]], Any], Callable[[Sequence[Any]], Any]]] = {}


def _forget() -> None:
    for program in _all:
        program.forget()


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    _forget()


config.on_update(_forget)
recording.on_change(_forget)
