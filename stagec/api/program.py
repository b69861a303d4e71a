"""A traced signature made runnable: results that need no computing, hidden arguments, the executable."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.compiler import build
from stagec.compiler.build import Options
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal, Var, prune, replay
from stagec.runtime.array import Array, borrow, from_literal
from stagec.runtime.executable import Executable

_executables: dict[str, Executable] = {}
_guard = threading.Lock()


def clear_executables() -> None:
    """Forget loaded programs; the disk keeps them."""
    with _guard:
        _executables.clear()


class RunnableGraph:
    """Runs a graph on arrays.

    What reaches the compiler is only what must be computed: results that are
    arguments, constants or repeats of other results are supplied here, and
    unused arguments are left out.

    Args:
      graph: closed-over values lead its inputs.
      captured: those values.
      donated: positions of the inputs, counted after the captured ones, whose buffers may be reused.
    """

    def __init__(
        self,
        graph: Graph,
        captured: Sequence[Any],
        options: Options,
        *,
        name: str,
        argument_names: Sequence[str] = (),
        donated: Sequence[int] = (),
        keep_unused: bool = False,
    ) -> None:
        self.name = name
        self.captured = [as_array(v) for v in captured]
        hidden = len(self.captured)
        self.donated = tuple(i + hidden for i in donated)
        self.argument_names = argument_names
        position = {v: i for i, v in enumerate(graph.inputs)}
        computed: list[Any] = []
        slot: dict[Var, int] = {}
        # Where each result comes from: ("computed" | "input" | "constant", index or array).
        self.plan: list[tuple[str, Any]] = []
        for atom in graph.outputs:
            if isinstance(atom, Literal):
                self.plan.append(("constant", from_literal(atom)))
            elif atom in position:
                self.plan.append(("input", position[atom]))
            else:
                if atom not in slot:
                    slot[atom] = len(computed)
                    computed.append(atom)
                self.plan.append(("computed", slot[atom]))
        self.out_avals = graph.out_avals
        # The output's weak type is the graph's; the executable is shared by digest and does not know it.
        kept, used = prune(Graph(graph.inputs, graph.equations, computed), keep_unused)
        self.graph = kept
        self.used = [i for i, u in enumerate(used) if u]
        self.options = self._with_donation(options)
        self.direct = (
            not self.captured
            and not self.donated
            and all(used)
            and self.plan == [("computed", i) for i in range(len(computed))]
        )
        self._executable: Executable | None = None
        self._lock = threading.Lock()
        self.source = ""

    def _with_donation(self, options: Options) -> Options:
        """Pair each donated argument with a result of its shape and dtype."""
        pairs: list[tuple[int, int]] = []
        free = list(range(len(self.graph.outputs)))
        for i, original in enumerate(self.used):
            if original not in self.donated:
                continue
            aval = self.graph.inputs[i].aval
            for j in free:
                out = self.graph.outputs[j].aval
                if out.shape == aval.shape and out.dtype == aval.dtype:
                    pairs.append((i, j))
                    free.remove(j)
                    break
        if not pairs:
            return options
        return Options(options.target, options.fast_math, options.passes, tuple(pairs))

    @functools.cached_property
    def trivial(self) -> bool:
        """Nothing to compile: no equations, or arrays without elements, which the compiler may hang on."""
        if not self.graph.outputs:
            return True
        values = [v for e in build.all_equations(self.graph) for v in (*e.inputs, *e.outputs)]
        return any(v.aval.size == 0 for v in (*self.graph.inputs, *values))

    def used_names(self) -> list[str]:
        """What the user calls the arguments that the program takes."""
        hidden = len(self.captured)
        names = [f"captured{i}" for i in range(hidden)] + list(self.argument_names)
        return [names[i] if i < len(names) else "" for i in self.used]

    def executable(self) -> Executable:
        """Compile or load on first use."""
        found = self._executable
        if found is None:
            with self._lock:
                found = self._executable
                if found is None:
                    found = self._executable = self._load()
        return found

    def _check_target(self) -> None:
        target = self.options.target
        missing = sorted(target.missing_here())
        if target.backend == "cpu" and not missing:
            return
        what = f"it lacks {', '.join(missing)}" if missing else "programs run on the CPU only"
        raise errors.TargetError(
            errors.message(
                f"{self.name} cannot run here on target {target}: {what}",
                str(location.capture()),
                fix="use target='cpu'; lower(...).as_text(stage) shows the code for any target",
            )
        )

    def _load(self) -> Executable:
        self._check_target()
        key = build.key.digest(self.options.contributors(self.graph))
        with _guard:
            found = _executables.get(key)
        if found is not None:
            self.source = "memory"
            build.log.event("cache", f"{self.name}: found in memory", key=key)
            return found
        program = build.obtain(self.graph, self.options, self.name, self.used_names())
        self.source = program.source
        donated = {i for i, _ in self.options.donated}
        executable = Executable(
            program.payload,
            [a.strip_weak_type() for a in self.graph.in_avals],
            [a.strip_weak_type() for a in self.graph.out_avals],
            driver=program.meta["driver"],
            clobbered=[i for i in program.meta["clobbered"] if i not in donated],
            in_place=sorted(donated),
            may_alias=program.meta["may_alias"],
            branches=program.meta["branches"],
            name=self.name,
        )
        with _guard:
            return _executables.setdefault(key, executable)

    def run(self, args: Sequence[Any]) -> list[Array]:
        """Run on flat arrays; donated ones are gone afterwards."""
        everything = [*self.captured, *args]
        inputs = [everything[i] for i in self.used]
        if self.trivial:
            results = [r if isinstance(r, Array) else from_literal(r) for r in replay(self.graph, inputs)]
        else:
            executable = self.executable()
            for i in executable.in_place:
                value = inputs[i] if isinstance(inputs[i], Array) else borrow(inputs[i])
                # Someone may look at the memory, or it is another argument too: do not write there.
                if value._exposed or any(value is other for j, other in enumerate(inputs) if j != i):
                    value = value.owned_copy()
                inputs[i] = value
            results = executable.run(inputs)
        outs = [self._output(kind, index, everything, results) for kind, index in self.plan]
        for n, (out, aval) in enumerate(zip(outs, self.out_avals)):
            # Two results never share memory: one of them may be donated later.
            if any(out is earlier for earlier in outs[:n]):
                outs[n] = out = out.private_copy()
            if out.aval is not aval:
                outs[n] = out.with_aval(aval)
        if self.donated:
            by = f"{self.name}, called at {location.capture()}"
            for i in self.donated:
                if isinstance(everything[i], Array):
                    everything[i].take(by)
        return outs

    def _output(self, kind: str, index: Any, everything: list[Any], results: list[Array]) -> Array:
        if kind == "computed":
            return results[index]
        if kind == "constant":
            return index.private_copy()
        value = everything[index]
        if not isinstance(value, Array):
            return borrow(value).private_copy()
        return value.private_copy() if index in self.donated or index < len(self.captured) else value


def as_array(value: Any) -> Any:
    """A captured value as something that an executable takes."""
    if isinstance(value, np.ndarray):
        return Array.of(np.array(value), ShapedArray.of(value.shape, value.dtype))
    return value
