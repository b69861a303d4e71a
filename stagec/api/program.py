"""Turns traced signatures into `Runnable`s: constant results, hidden arguments, and the compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from stagec.api import spmd
from stagec.api.targets import device_for
from stagec.backends import Target
from stagec.compiler import build, reproducible
from stagec.compiler.build import ProgramOptions
from stagec.compiler.exact import is_exact
from stagec.control import bodies
from stagec.control.empty import has_empty, without_empty
from stagec.control.expansion import expanded
from stagec.core import errors, forking, location, open_graph
from stagec.core.cached import cached_property
from stagec.core.dims_terms import Symbol
from stagec.core.dtypes import float0
from stagec.core.duration import Duration
from stagec.core.graph import Graph, Literal, Var, has_users_callbacks, host_callbacks, prune, replay
from stagec.core.open_graph import is_open
from stagec.core.zero import no_tangent
from stagec.lowering.host_calls import with_host_calls
from stagec.runtime.array import Array, from_literal
from stagec.runtime.devices import Device
from stagec.runtime.executable import Executable
from stagec.runtime.packing import packable
from stagec.runtime.runnable import Runnable, as_array

_executables: dict[tuple[str, Device], Executable] = {}
# Programs that call Python share only their code: each has an executable that calls its own functions.
_programs: dict[str, build.Program] = {}
_guard = forking.lock()


def clear_executables() -> None:
    """Forget loaded programs; the disk keeps them."""
    with _guard:
        _executables.clear()
        _programs.clear()


def is_loaded(runnable: RunnableGraph) -> bool:
    """Whether the program of a graph is in memory, for its device."""
    key = runnable.code.key
    return (key, runnable.device) in _executables or key in _programs


def runnable_graph(
    graph: Graph,
    captured: Sequence[Any],
    options: ProgramOptions,
    *,
    name: str,
    definition: str = "",
    device: Device | None = None,
    argument_names: Sequence[str] = (),
    donated: Sequence[int] = (),
    keep_unused: bool = False,
    packs: bool = True,
) -> RunnableGraph:
    """The `Runnable` of a graph.

    The compiler gets only what must be computed: results that are arguments,
    constants or repeated results are supplied outside of the program, and unused
    arguments are left out.

    Args:
      graph: closed-over values lead its inputs.
      captured: those values.
      definition: where the function is defined, in words.
      device: where it runs.
      donated: positions of the inputs, counted after the captured ones, whose buffers may be reused.
      packs: whether the program may take packed copies of closed-over arrays.
    """
    mesh = spmd.mesh_of(graph, options.target)
    if mesh is not None:
        graph = spmd.per_device(graph, len(captured), mesh, name).graph
    avals_of_results = graph.out_avals
    graph = expanded(graph, options.target.backend)
    opened = is_open(graph)
    if opened:
        options = options.for_open()
    else:
        graph = without_empty(graph)
    hidden = len(captured)
    position = {v: i for i, v in enumerate(graph.inputs)}
    computed: list[Any] = []
    slot: dict[Var, int] = {}
    plan: list[tuple[str, Any]] = []
    for atom in graph.outputs:
        if isinstance(atom, Literal):
            plan.append(("constant", from_literal(atom)))
        elif atom.aval.dtype == float0:
            plan.append(("constant", Array.of(no_tangent(atom.aval), atom.aval)))
        elif atom in position:
            plan.append(("input", position[atom]))
        else:
            if atom not in slot:
                slot[atom] = len(computed)
                computed.append(atom)
            plan.append(("computed", slot[atom]))
    # The output's weak type is the graph's; the executable is shared by digest and does not know it.
    kept, used = prune(Graph(graph.inputs, graph.equations, computed), keep_unused or opened)
    inputs = [i for i, u in enumerate(used) if u]
    reused = tuple(i + hidden for i in donated)
    returned = {i for kind, i in plan if kind == "input"}
    names = [f"captured{i}" for i in range(hidden)] + list(argument_names)
    code = GraphCode(
        with_host_calls(kept, options.libraries) if _runs_here_alone(options.target) else kept,
        options,
        name,
        device,
        argument_names,
        [names[i] if i < len(names) else "" for i in inputs],
        donated=[n for n, i in enumerate(inputs) if i in reused and i not in returned],
        captured=[n for n, i in enumerate(inputs) if i < hidden] if packs else [],
        definition=definition,
        devices=1 if mesh is None else mesh.size,
    )
    return Runnable(
        code,
        name=name,
        captured=[as_array(v) for v in captured],
        donated=reused,
        used=inputs,
        plan=plan,
        in_avals=graph.in_avals[hidden:],
        out_avals=avals_of_results,
        trivial=code.is_trivial(),
    )


class GraphCode:
    """The program of a graph: found in memory or on disk, or compiled.

    Args:
      graph: what must be computed.
      device: where it runs; by default, the first that the target names.
      argument_names: what the user calls the arguments, used or not.
      used_names: what the user calls the graph's inputs.
      donated: the inputs whose buffers may be reused.
      captured: the inputs that are closed-over arrays, of which the program may take packed copies.
      definition: where the function is defined, in words.
      devices: how many devices run it together.
    """

    def __init__(
        self,
        graph: Graph,
        options: ProgramOptions,
        name: str,
        device: Device | None,
        argument_names: Sequence[str],
        used_names: Sequence[str],
        *,
        donated: Sequence[int] = (),
        captured: Sequence[int] = (),
        definition: str = "",
        devices: int = 1,
    ) -> None:
        self.graph = graph
        self.name = name
        self.devices = devices
        self.definition = definition
        self.argument_names = argument_names
        self.used_names = used_names
        self._device = device
        self._captured = tuple(captured)
        self._unpacked = self._with_donation(options, donated)
        self.options = self.options_for(options.target)
        self.source = ""
        # The compile in the background, where there is one.
        self.background: Any = None

    def _with_donation(self, options: ProgramOptions, donated: Sequence[int]) -> ProgramOptions:
        """Pair each donated argument with a result of its shape and dtype."""
        pairs: list[tuple[int, int]] = []
        unused: list[str] = []
        free = list(range(len(self.graph.outputs)))
        for i in donated:
            aval = self.graph.inputs[i].aval
            for j in free:
                out = self.graph.outputs[j].aval
                if out.shape == aval.shape and out.dtype == aval.dtype:
                    pairs.append((i, j))
                    free.remove(j)
                    break
            else:
                unused.append(f"{self.used_names[i]} {aval.long()}")
        if unused:
            location.warn(
                f"{self.name}: some donated arrays could not be used, because no result has their shape and dtype: "
                f"{', '.join(unused)}",
                errors.DonationWarning,
            )
        if not pairs:
            return options
        return dataclasses.replace(options, donated=tuple(pairs))

    def options_for(self, target: Target) -> ProgramOptions:
        """The options for a target, with the captured arrays that products may read packed there."""
        options = dataclasses.replace(self._unpacked, target=target)
        if not target.on.is_host or not options.kernels:
            return options
        found = packable({i: self.graph.inputs[i].aval for i in self._captured})
        if not found or not any(e.primitive.name == "dot_general" for e in build.all_equations(self.graph)):
            return options
        return dataclasses.replace(options, weights=found)

    @cached_property
    def device(self) -> Device:
        """Where it runs: the device that was chosen, else the first that the target names."""
        return self._device or device_for(self.options.target)

    @cached_property
    def evaluates(self) -> bool:
        """Whether NumPy can compute the results; not if the user's callbacks may have run already."""
        return not has_users_callbacks(self.graph)

    @cached_property
    def is_exact(self) -> bool:
        """Whether NumPy computes the same bits."""
        return not self.options.fast_math and is_exact(self.graph, self.options.target)

    def is_trivial(self) -> bool:
        """Whether there is nothing to compile: no equations, or an operation that needs an array without elements.

        The compiler may hang on the latter.
        """
        if not self.graph.outputs and not self.graph.equations:
            return True
        return has_empty(self.graph)

    @cached_property
    def key(self) -> str:
        """The cache key of the compiled program."""
        return build.key.digest(self.options.contributors(self.graph))

    def check_target(self) -> None:
        """Raise `TargetError` unless the program can run here."""
        target = self.options.target
        if self.devices > 1:
            raise location.error(
                errors.UnsupportedError,
                f"{self.name} is a program of {self.devices} devices of {target.backend}, which communicate by "
                "collective operations: it is compiled, but cannot run",
                fix="lower(...).as_text(stage) shows it; to run it, split the arrays among devices of the CPU",
            )
        missing = sorted(target.missing_here())
        if not missing:
            assert self.device.platform == target.backend, "a program is compiled for its device"
            return
        raise location.error(
            errors.TargetError,
            f"{self.name} cannot run here on target {target}: it lacks {', '.join(missing)}",
            fix="use target='cpu'; lower(...).as_text(stage) shows the code for any target",
        )

    def at_hand(self) -> Executable | None:
        """The program, if it is in memory."""
        self.check_target()
        key = self.key
        with _guard:
            found = _executables.get((key, self.device))
        if found is not None:
            self.source = "memory"
            build.log.event("cache", f"{self.name}: found in memory", key=key)
        return found

    def load(self) -> Executable:
        """Find or compile the program."""
        self.check_target()
        key = self.key
        # Threads that want the same program compile it once, and find it in memory if there is no disk cache.
        with build.alone(key):
            return self.at_hand() or self._found_or_made(key)

    def _found_or_made(self, key: str) -> Executable:
        device = self.device
        callbacks = host_callbacks(self.graph)
        program = _programs.get(key) if callbacks else None
        self.source = "memory"
        if program is None:
            program = build.obtain(self.graph, self.options, self.name, self.used_names, self.definition)
            self.source = program.source
        executable = Executable(
            program.payload,
            [a.strip_weak_type() for a in self.graph.in_avals],
            [a.strip_weak_type() for a in self.graph.out_avals],
            device=device,
            traits=program.traits,
            in_place=[i for i, _ in self.options.donated],
            callbacks=callbacks,
            waits=is_open(self.graph) and device.is_cpu,
            name=self.name,
        )
        if callbacks:
            _programs[key] = program
            return executable
        with _guard:
            return _executables.setdefault((key, device), executable)

    def effort(self, values: Mapping[Symbol, int]) -> tuple[bool, Duration]:
        """For sizes of open dimensions: whether threads should share the work, and how long a call may take."""
        sized = open_graph.at(self.graph, values)
        queue = build.choose_driver(sized, self.options.target)
        parallel = queue != self.options.target.on.queues[0]
        return parallel, build.duration(sized, "local-sync")

    def evaluate(self, inputs: list[Any]) -> list[Array]:
        """The results, by NumPy."""
        if self.options.reproducible and self.graph.equations:
            fix = "treat the empty case outside of the function"
            raise reproducible.refused(self.name, "an array in it has no elements, so NumPy computes it", fix)
        return evaluated(self.graph, inputs)


def evaluated(graph: Graph, inputs: Sequence[Any]) -> list[Array]:
    """The results of a graph, by NumPy, one operation after the other."""
    with bodies.evaluating():
        results = replay(graph, inputs)
    return [r if type(r) is Array else from_literal(r) for r in results]


RunnableGraph: TypeAlias = Runnable[GraphCode]


def _runs_here_alone(target: Target) -> bool:
    """Whether code for a target runs on this machine alone, because it is compiled for this CPU model."""
    return target.is_host
