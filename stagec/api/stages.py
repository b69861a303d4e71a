"""The stages of a jitted function, for inspection: traced, lowered, compiled."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stagec.api.arguments import leaf_aval
from stagec.api.calls import FastPathDispatch, runner
from stagec.api.checking import run_checked
from stagec.api.matching import Call, Form, Problem, part_of_another, refusal
from stagec.api.open_dimensions import solve
from stagec.api.parameters import parameters_of
from stagec.api.portable import serialize
from stagec.api.program import RunnableGraph
from stagec.api.settings import JitSettings, check_compiler_options
from stagec.api.stage import MemoryStats, Stage
from stagec.api.traces import TracedSignature
from stagec.compiler import build, dump
from stagec.compiler.cost import cost
from stagec.core import location, pytree
from stagec.core.cached import cached_property
from stagec.core.config import config, state
from stagec.core.copying import OwnCopy
from stagec.core.graph import INSTEAD_OF_A_GRAPH, Graph, Var
from stagec.core.graph_text import format_graph
from stagec.core.open_graph import is_open
from stagec.core.primitive import Primitive
from stagec.core.trace import Tracer
from stagec.runtime.devices import Device, default
from stagec.runtime.mesh import PartitionSpec
from stagec.runtime.propagation import call_shardings, sign_results
from stagec.runtime.runnable import Runnable
from stagec.runtime.sharding import NamedSharding, SingleDeviceSharding

if TYPE_CHECKING:
    from passes import Report

# The stages that stagec makes; those after them are the compiler's.
OWN_STAGES = ("graph", "stablehlo", "optimized")
# Arguments and results that a `repr` shows.
_SHOWN = 6


class OpenGraph(Graph):
    """A graph without the values that it closes over."""

    __slots__ = ("_captured",)

    def __init__(self, graph: Graph, captured: int) -> None:
        super().__init__(graph.inputs, graph.equations, graph.outputs)
        self._captured = captured

    @property
    def invars(self) -> list[Var]:
        """The arguments."""
        return self.inputs[self._captured :]

    @property
    def constvars(self) -> list[Var]:
        """What stands for the values that it closes over."""
        return self.inputs[: self._captured]

    @classmethod
    def _of_parts(cls, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Any], eqns: Any) -> Graph:
        return OpenGraph(super()._of_parts(constvars, invars, outvars, eqns), len(constvars))

    def __str__(self) -> str:
        return format_graph(self, self._captured)

    __repr__ = __str__


class ClosedGraph(OwnCopy):
    """A graph with the values that it closes over."""

    def __init__(self, graph: Graph, captured: Sequence[Any]) -> None:
        self.graph = graph
        self.consts = self.literals = [*captured]

    @cached_property
    def jaxpr(self) -> OpenGraph:
        """The graph alone, under the name that JAX gives it."""
        return OpenGraph(self.graph, len(self.consts))

    @property
    def effects(self) -> frozenset[Primitive]:
        """The primitives for which running it matters even when its results are not used."""
        return self.graph.effects

    def replace(self, *, jaxpr: Graph | None = None, consts: Sequence[Any] | None = None) -> ClosedGraph:
        """The graph with other steps, or other values that it closes over."""
        return ClosedGraph(self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts)

    def pretty_print(self, *, source_info: bool = False, **options: Any) -> str:
        """The text, with the users' lines on demand; JAX's other options have no effect."""
        return self.jaxpr.pretty_print(source_info=source_info)

    @property
    def eqns(self) -> list[Any]:
        return self.graph.equations

    @property
    def in_avals(self) -> list[Any]:
        return self.graph.in_avals[len(self.consts) :]

    @property
    def out_avals(self) -> list[Any]:
        return self.graph.out_avals

    def _instead_of_pickling(self) -> str:
        return INSTEAD_OF_A_GRAPH

    def __str__(self) -> str:
        return format_graph(self.graph, len(self.consts))

    __repr__ = __str__


def _described(kind: str, trace: TracedSignature, target: str = "") -> str:
    """A `repr`: the function's name, its arguments and results, and what it is compiled for."""
    avals = trace.graph.in_avals[len(trace.captured) :]
    given = [f"{name}: {aval.long()}" for name, aval in zip(trace.leaf_names, avals)]
    made = [aval.long() for aval in trace.graph.out_avals]
    given, made = ([*each[:_SHOWN], "..."] if len(each) > _SHOWN else each for each in (given, made))
    suffix = f" for {target}" if target else ""
    return f"<stagec.{kind} {trace.name}({', '.join(given)}) -> {', '.join(made) or 'nothing'}{suffix}>"


def _saved(compiled: str) -> str:
    return (
        f"write it with {compiled}.save(path), and pickle stagec.load(path); or pickle the jitted function, whose "
        "programs are in the disk cache"
    )


class Traced(Stage):
    """A function traced for one signature."""

    def __init__(
        self, settings: JitSettings, trace: TracedSignature, device: Device | None, values: Sequence[Any]
    ) -> None:
        self._settings = settings
        self._trace = trace
        self._device = device
        everything = settings.followed([*trace.captured, *values])
        given, self._out_shardings = call_shardings(trace.graph, everything)
        self._in_shardings = given[len(trace.captured) :]
        self.fun_name = trace.name

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, and how they are split along explicit axes, as `ShapeDtypeStruct`s."""
        types = [None if s is None else s.update(mesh=s.mesh.abstract_mesh) for s in self._out_shardings]
        return self._split_results(types)

    @property
    def out_avals(self) -> Any:
        """Shapes and dtypes of the results, as `ShapeDtypeStruct`s."""
        return self._split_results([])

    @property
    def graph(self) -> ClosedGraph:
        """The traced program."""
        return ClosedGraph(self._trace.graph, self._trace.captured)

    @property
    def jaxpr(self) -> ClosedGraph:
        """Another name of `graph`."""
        return self.graph

    def __repr__(self) -> str:
        return _described("Traced", self._trace)

    def _instead_of_pickling(self) -> str:
        return _saved("x.lower().compile()")

    def lower(self) -> Lowered:
        """Lower to StableHLO."""
        return Lowered(self)


class Lowered(Stage):
    """A program that can be printed at each of its stages, and compiled."""

    def __init__(self, traced: Traced) -> None:
        self._traced = traced
        self._settings = traced._settings
        self._trace = traced._trace
        self._device = traced._device
        self._runnable: RunnableGraph = self._settings.runnable(self._trace, self._device)

    def __repr__(self) -> str:
        return _described("Lowered", self._trace, str(self._runnable.code.options.target))

    def _instead_of_pickling(self) -> str:
        return _saved("x.compile()")

    def compiler_ir(self, dialect: str = "stablehlo") -> Any:
        """The StableHLO module, as `iree.compiler.ir.Module`."""
        if dialect != "stablehlo":
            raise location.error(
                ValueError, f"unknown dialect {dialect!r}", fix="use 'stablehlo'; as_text(stage) shows others as text"
            )
        runnable = self._runnable
        return build.lower_graph(runnable.code.graph, runnable.code.options, self._trace.name, runnable.code.used_names)

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, and how they are split along explicit axes, as `ShapeDtypeStruct`s."""
        return self._split_results(self._traced._out_shardings)

    def as_text(self, stage: str = "stablehlo", *, locations: bool = False) -> str:
        """The program as text.

        Args:
          stage: `graph`, `stablehlo`, `optimized` (after the passes), `kernels`
            (with the CPU kernels that stagec writes itself), one of the
            compiler's phases (`input`, `abi`, `preprocessing`,
            `global-optimization`, `dispatch-creation`, `flow`, `stream`,
            `executable-sources`, `executable-configurations`,
            `executable-targets`, `hal`, `vm`), or `asm`.
          locations: write the user's lines into StableHLO.

        Raises:
          ValueError: the stage is unknown.

        >>> import stagec
        >>> print(stagec.jit(lambda x: x + 1).lower(2.0).as_text("graph"))
        { lambda ; a:f32[]. let
            b:f32[] = add a 1.0:f32[]
          in (b,) }
        """
        from stagec.compiler import stages  # needs the compiler's library for what follows

        if stage == "graph":
            return str(self._traced.graph)
        if stage not in OWN_STAGES and stage not in stages.STAGES:
            known = dict.fromkeys([*OWN_STAGES, *stages.STAGES])
            raise location.error(ValueError, f"unknown stage {stage!r}", fix=f"use one of {', '.join(known)}")
        module = self.compiler_ir()
        if stage == "stablehlo":
            return dump.module_text(module, locations)
        build.optimize(module, self._runnable.code.options)
        if stage == "optimized":
            return dump.module_text(module, locations)
        code = self._runnable.code
        options = code.options
        module = build.with_open_kernels(module, code.graph, options, self._trace.name, code.used_names)
        asked = options.of_compiler()
        return stages.stage_text(module, options.target, stage, asked, name=self._trace.name)

    def serialize(self, version: str | None = None, *, locations: bool = False) -> bytes:
        """The program as a portable artifact of StableHLO, which JAX, XLA and other compilers read.

        Its function `main` takes all leaves of the arguments, and returns those of the results. Closed-over arrays are
        constants in it, and operations of CHLO are written out.

        Args:
          version: the oldest version of StableHLO that must read the program, such as `"0.14.0"`; by default 1.0.0,
            or the first that has all of its operations.
          locations: write the user's lines into it.

        Raises:
          UnsupportedError: the program calls Python, takes or returns elements of up to eight bits other than int8
            and uint8, or has an operation that is newer than the version.
          ValueError: the version cannot be parsed, or is older than 0.9.0.

        >>> import stagec, stagec.numpy as snp
        >>> artifact = stagec.jit(lambda x: snp.sin(x) * 2).lower(snp.ones(3)).serialize()
        >>> b"StableHLO_v1.0.0" in artifact
        True
        >>> stagec.from_stablehlo(artifact)(snp.zeros(3))
        Array([0., 0., 0.], dtype=float32)
        """
        return serialize(self._trace, version, locations)

    def report(self) -> Report:
        """What the passes do: the time of each, the operations before and after, and how often each law rewrote one.

        The passes run for the report, so a program from the cache has one, too. `as_text("kernels")` shows the CPU
        kernels, which are formed later.

        >>> import stagec, stagec.numpy as snp
        >>> report = stagec.jit(lambda x: snp.transpose(snp.transpose(x)) + 0).lower(snp.ones((2, 3), int)).report()
        >>> report.hits["transpose_of_transpose"], report.ops_before, report.ops_after
        (1, 6, 2)
        """
        report: Report = build.optimize(self.compiler_ir(), self._runnable.code.options)
        return report

    def cost_analysis(self) -> dict[str, float]:
        """What the program computes: its arithmetic, and the bytes that its operations read and write.

        Returns:
          `flops`, where a multiplication and an addition count as two; `transcendentals`, the values of exponentials,
          roots and the like; `bytes accessed`, by each operation on its own. Of the branches of a conditional, the
          longest counts, and of a loop whose number of rounds is not known, one round.

        >>> import stagec, stagec.numpy as snp
        >>> x = snp.ones((2, 3))
        >>> stagec.jit(lambda x: snp.exp(x @ x.T)).lower(x).cost_analysis()
        {'flops': 24.0, 'transcendentals': 4.0, 'bytes accessed': 144.0}
        """
        found = cost(self._runnable.code.graph)
        return {"flops": found.flops, "transcendentals": found.transcendentals, "bytes accessed": found.bytes}

    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Compiled:
        """Compile, or load from the cache.

        Args:
          compiler_options: options of XLA by name, which have no effect; for code written for JAX.

        Raises:
          CompileError: `compiler_options` has a name that no option of XLA has.
        """
        check_compiler_options(compiler_options, "compile")
        if not self._runnable.trivial:
            self._runnable.executable()
        return Compiled(self)


class Compiled(FastPathDispatch, Stage):
    """A compiled function of one signature. Calls take arguments of this one; static arguments may be left out.

    Raises:
      ArgumentTypeError: of a call: an argument is missing, or there is no such argument.
      PytreeError: an argument's structure differs from the compiled one.
      ShapeError, DtypeError: an argument differs from the compiled signature.
    """

    def __init__(self, lowered: Lowered) -> None:
        super().__init__(frozenset(), frozenset())
        self._lowered = lowered
        self._trace = lowered._trace
        trace, rules = lowered._trace, lowered._settings.rules
        avals = trace.graph.in_avals[len(trace.captured) :]
        parameters = parameters_of(rules, trace)
        self._form = Form(trace.name, parameters, trace.in_tree, avals, trace.leaf_names, "compile")

    def __repr__(self) -> str:
        return _described("Compiled", self._lowered._trace, str(self._lowered._runnable.code.options.target))

    def _instead_of_pickling(self) -> str:
        return _saved("x")

    def as_text(self, stage: str = "asm", *, locations: bool = False) -> str:
        """As `Lowered.as_text`; assembly by default."""
        return self._lowered.as_text(stage, locations=locations)

    def report(self) -> Report:
        """As `Lowered.report`."""
        return self._lowered.report()

    def cost_analysis(self) -> dict[str, float]:
        """As `Lowered.cost_analysis`."""
        return self._lowered.cost_analysis()

    @property
    def input_shardings(self) -> Any:
        """How each array in `(args, kwargs)` lies on devices, as it did in those that it was lowered for."""
        return self._of_arguments(self._placed(self._lowered._traced._in_shardings))

    @property
    def output_shardings(self) -> Any:
        """How each result lies on devices."""
        return self.out_tree.unflatten(self._placed(self._lowered._traced._out_shardings))

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes and shardings of the results, as `ShapeDtypeStruct`s."""
        return pytree.map_leaves(
            lambda s, sharding: s.update(sharding=sharding), super().out_info, self.output_shardings
        )

    @property
    def input_formats(self) -> Any:
        """The same as `input_shardings`: the compiler chooses layouts."""
        return self.input_shardings

    @property
    def output_formats(self) -> Any:
        """The same as `output_shardings`: the compiler chooses layouts."""
        return self.output_shardings

    def runtime_executable(self) -> Any:
        """The loaded program, as the runtime has it; None where there is nothing to run. For a look into a program."""
        return None if self._lowered._runnable.trivial else self._lowered._runnable.executable()

    def _placed(self, shardings: Sequence[Any]) -> list[Any]:
        traced = self._lowered._traced
        meshes = [s.mesh for s in (*traced._in_shardings, *traced._out_shardings) if type(s) is NamedSharding]
        alone: Any = SingleDeviceSharding(self._lowered._device or default())
        if meshes:  # what is not split is on all devices of the mesh
            alone = NamedSharding(meshes[0], PartitionSpec())
        return [alone if sharding is None else sharding for sharding in shardings]

    def memory_analysis(self) -> MemoryStats | None:
        """The memory that a call takes.

        None where the compiler's own code is part of the program, which allocates as it runs, or dimensions are open.

        >>> import stagec, stagec.numpy as snp
        >>> x = snp.ones((64, 64))
        >>> found = stagec.jit(lambda x: snp.tanh(x @ x) @ x).lower(x).compile().memory_analysis()
        >>> found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes
        (16384, 16384, 16384)
        """
        lowered = self._lowered
        runnable = lowered._runnable
        graph, options = runnable.code.graph, runnable.code.options
        if is_open(graph):
            return None
        found = (0, 0)
        if not runnable.trivial:
            from stagec.compiler import stages  # needs the compiler's library

            module = lowered.compiler_ir()
            build.optimize(module, options)
            usage = stages.memory_usage(module, options.target, options.of_compiler(), self._trace.name)
            if usage is None:
                return None
            found = usage
        given, made = (sum(a.nbytes for a in avals) for avals in (graph.in_avals, graph.out_avals))
        code = 0 if runnable.trivial else len(runnable.executable().payload)
        return MemoryStats(given, made, found[1], found[0], code)

    def export(self, targets: Any = (), *, weights: bool = True) -> Any:
        """This program as `stagec.export` would return it, by default for the target that it was compiled for."""
        from stagec.api.exported import from_trace, parse_targets  # few programs are exported

        lowered = self._lowered
        chosen = targets or lowered._runnable.code.options.target
        return from_trace(lowered._settings, lowered._trace, parse_targets(chosen), weights)

    def save(self, path: Any, targets: Any = (), *, weights: bool = True) -> None:
        """Write the program to a file for `stagec.load`.

        Args:
          path: a file name; by custom it ends in `.stagec`.
          targets, weights: as for `stagec.export`. Where no target is given, it is the one that the
            program was compiled for; for `"cpu"`, this machine's x86-64 level.

        Raises:
          OSError: the file cannot be written.
        """
        self.export(targets, weights=weights).save(path)

    def _shown_name(self) -> str:
        return self._lowered._trace.name

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tables, trace = self._tables(), self._lowered._trace
        found = self._form.match(Call(args, kwargs))
        if isinstance(found, Problem):
            raise refusal([self._form], [found])
        if any(isinstance(v, Tracer) for v in found.values):
            what = f"{trace.name} was compiled for one signature"
            raise part_of_another(what, "call the function that it was compiled from")
        runnable: Runnable[Any] = self._lowered._runnable
        has_open = any(a.is_open for a in runnable.in_avals)
        if has_open:
            avals = [leaf_aval(v) for v in found.values]
            sizes = solve(trace.name, trace.leaf_names, list(runnable.in_avals), avals)
            trace.conditions().require(sizes)
            runnable = runnable.at(sizes)
        checked = config.checks_values()
        run = run_checked if checked else Runnable.run
        committed = self._lowered._device is not None
        outs, tree = run(runnable, found.values, committed), self.out_tree
        everything = self._lowered._traced._settings.followed([*trace.captured, *found.values])
        shardings = None if has_open else sign_results(trace.graph, everything, outs)
        if state.has_fast_paths and found.lasting and not checked:
            run_of = functools.partial(runner, runnable, committed, tree, shardings)
            self._remember(tables, runnable.name, run_of, args, kwargs, found.arrange)
        return tree.unflatten(outs)
