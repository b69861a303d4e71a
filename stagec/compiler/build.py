"""Graph -> compiled program: the key, the disk cache, the lowering, the passes, the compiler."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stagec.backends import Target
from stagec.compiler import cache, capabilities, estimate, key as key, log as log, mlir, reproducible, session, sharing
from stagec.compiler.alone import alone as alone
from stagec.compiler.flags import CompileOptions
from stagec.compiler.progress import Progress
from stagec.core import location
from stagec.core.config import config
from stagec.core.duration import Duration
from stagec.core.errors import brief
from stagec.core.graph import Graph, all_equations as all_equations, has_callbacks, has_users_callbacks
from stagec.core.open_graph import is_open, typical
from stagec.runtime import interruptible
from stagec.runtime.traits import Traits


@dataclass(frozen=True)
class ProgramOptions:
    """What a compiled program depends on besides its graph.

    Args:
      target: what it is compiled for.
      fast_math: what inexact rewrites may assume, as `passes.fast_math.setting` writes it.
      passes: the user's own passes and patterns.
      donated: pairs of an argument and the result that may reuse its memory.
      kernels: whether CPU kernels written by stagec may replace operations.
      straight: whether they may also replace elementwise operations and reductions.
      weights: inputs that are the same at each call, of which the program may take packed copies.
      libraries: whether NumPy and SciPy may compute operations, in this process: `auto`, `always` or `never`.
      simplify: whether the laws that compilation does not need run.
      is_open: whether the program has open dimensions.
      reproducible: whether results have the same bits on all processors.
      joins: whether kernels that wait for one another become one dispatch.
      limits: whether a program whose loops may never end may take a limit as a further argument.
    """

    target: Target
    fast_math: bool | str = False
    passes: tuple[Any, ...] = ()
    donated: tuple[tuple[int, int], ...] = ()
    weights: tuple[int, ...] = ()
    kernels: bool = field(default_factory=lambda: config.cpu_kernels)
    straight: bool = field(default_factory=lambda: config.straight_kernels)
    libraries: str = field(default_factory=lambda: config.host_libraries)
    simplify: bool = True
    is_open: bool = False
    reproducible: bool = False
    joins: bool = True
    limits: bool = True

    def for_open(self) -> ProgramOptions:
        """The options for a program with open dimensions."""
        return dataclasses.replace(self, libraries="never", is_open=True)

    def of_compiler(self) -> CompileOptions:
        """The options that are passed to the compiler."""
        # Kernels for open dimensions are formed before (`row_blocks`).
        return CompileOptions(
            kernels=self.kernels and not self.is_open,
            straight=self.straight and not self.is_open,
            weights=self.weights,
            is_open=self.is_open,
            reproducible=self.reproducible,
            joins=self.joins,
        )

    def contributors(self, graph: Graph) -> dict[str, str]:
        """Everything that the cache key covers, by name."""
        found = {
            "program": graph.digest(),
            "inputs": " ".join(a.short() for a in graph.in_avals),
            "outputs": " ".join(a.short() for a in graph.out_avals),
        }
        found.update(self.environment())
        return found

    def environment(self) -> dict[str, str]:
        """The contributors that do not come from the program."""
        found = {
            "fast_math": str(self.fast_math),
            "passes": _passes_fingerprint(self.passes),
            "donated": repr(self.donated),
            "cpu_kernels": f"{self.kernels}{', straight' if self.straight else ''}",
        }
        if not self.simplify:
            found["simplify"] = "False"
        if self.reproducible:
            found["reproducible"] = "True"
        if not self.joins:
            found["joins"] = "False"
        if not self.limits:
            found["limits"] = "False"
        if self.weights:
            found["weights"] = repr(self.weights)
        found.update(self.target.contributors())
        found.update(key.environment_contributors())
        return found


def user_passes(given: Any) -> tuple[Any, ...]:
    """The user's argument `passes` as a tuple: one pass, or a sequence of them.

    Raises:
      PipelineError: an item is not a pass.
    """
    items = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not items:
        return ()
    from passes import PipelineError, pipeline  # who has passes of their own has imported it

    for item in items:
        try:
            pipeline.as_pass(item)
        except PipelineError:
            raise location.error(
                PipelineError,
                f"jit: {brief(item)} is not a pass",
                [("passes", brief(given), f"of type {type(given).__name__}")],
                "leave names out: those of passes.pass_names() are for pipelines"
                if isinstance(item, str)
                else "give a Pass, a Pattern, a list of patterns, or a function of a module",
            ) from None
    return items


def _passes_fingerprint(extra: tuple[Any, ...]) -> str:
    if not extra:
        return "default"
    import passes  # only users' passes need it on a warm start

    return passes.fingerprint(extra)


@dataclass
class Program:
    """A compiled module, and what the runtime must know about it."""

    key: str
    payload: Any
    meta: dict[str, Any]
    source: str
    contributors: dict[str, str] = field(default_factory=dict)

    @property
    def traits(self) -> Traits:
        """What the runtime must know."""
        return Traits.parse(self.meta)


def obtain(
    graph: Graph, options: ProgramOptions, name: str, argument_names: Sequence[str] = (), definition: str = ""
) -> Program:
    """The compiled program of a graph: from the disk if it is there, else from the compiler.

    Args:
      definition: where the function is defined, in words, by which `explain` knows its other programs.
    """

    def compile(digest: str) -> tuple[bytes, dict[str, Any]]:
        payload, meta = compile_graph(graph, options, name, argument_names, digest)
        return payload, {**meta, "definition": definition}

    return fetch(options.contributors(graph), name, compile)


def is_stored(digest: str) -> bool:
    """Whether the disk has a program, so that nothing would be compiled for it."""
    store = cache.default_cache()
    return store is not None and not config.dump and store.holds(digest)


@interruptible.function
def fetch(contributors: dict[str, str], name: str, compile: Callable[[str], tuple[bytes, dict[str, Any]]]) -> Program:
    """The program with these contributors to its key: from the disk, else from `compile(digest)`.

    After an interrupt of the main thread, the program is still compiled and stored.
    """
    digest = key.digest(contributors)
    with alone(digest):
        store = cache.default_cache()
        # A dump needs a compile.
        readable = store if not config.dump else None
        started = time.perf_counter()
        entry = readable.get(digest) if readable is not None else None
        with contextlib.ExitStack() as held:
            if readable is not None and entry is None:
                # Processes that want the same program compile it once.
                held.enter_context(readable.claim(digest, name))
                entry = readable.get_made(digest)
            if entry is not None:
                seconds = time.perf_counter() - started
                took = entry.meta["seconds"]
                log.event("cache", f"{name}: found on disk", key=digest, seconds=seconds, compile_seconds=took)
                return Program(digest, entry.payload, entry.meta, "disk", contributors)
            with session.under_way():
                started = time.perf_counter()
                payload, meta = compile(digest)
            took = time.perf_counter() - started
            log.event("cache", f"{name}: found nowhere", key=digest, compile_seconds=took, cached=store is not None)
            stored = store.put(digest, contributors, meta, payload) if store is not None else None
        if store is not None:
            store.send(digest, contributors, meta, payload)
        if stored is not None:
            return Program(digest, stored.payload, stored.meta, "compiled", contributors)
        return Program(digest, payload, meta, "compiled", contributors)


def obtain_text(
    text: str, options: ProgramOptions, name: str, *, driver: str, branches: bool, duration: Duration
) -> Program:
    """The compiled program of StableHLO text, as `Exported.mlir_module` gives it: from the disk, else compiled.

    Args:
      driver, branches, duration: the metadata of the program that the exporting process compiled from the text.
    """
    contributors = {
        "program": "text " + hashlib.sha256(text.encode()).hexdigest(),
        "driver": driver,
        "branches": str(branches),
        "duration": duration.value,
        **options.environment(),
    }

    def compile(digest: str) -> tuple[bytes, dict[str, Any]]:
        mlir.load()
        from passes import bindings, match

        context = bindings.new_context()
        if options.is_open:
            from stagec.lowering import open_shapes

            open_shapes.load_dialects(context)
        module = bindings.ir.Module.parse(text, context)
        started = time.perf_counter()
        with _announced(name, len(match.operations_in(module)), options.target):
            optimize(module, options)
            compiled, traits = _compile_optimized(module, options, name, driver)
        return compiled.vmfb, _meta(name, compiled, traits._replace(branches=branches, duration=duration), started)

    return fetch(contributors, name, compile)


def lower_graph(graph: Graph, options: ProgramOptions, name: str, argument_names: Sequence[str] = ()) -> Any:
    """The StableHLO module of a graph, as `ir.Module`."""
    mlir.load()
    from stagec.lowering.lower import lower

    # Not in the main thread: an exception that a signal handler raises in a callback of MLIR's bindings ends the
    # process.
    donated, backend = dict(options.donated), options.target.on
    program = _in_parts(graph, options)
    return interruptible.call(lambda: lower(program, name, argument_names, donated, backend))


def _in_parts(graph: Graph, options: ProgramOptions) -> Graph:
    """A graph whose loops over batches cores can share, where they have kernels."""
    from stagec.compiler import batches

    return batches.divided(graph) if options.target.on.is_host and options.kernels and not options.is_open else graph


def portable_artifact(
    graph: Graph,
    captured: Sequence[Any],
    name: str,
    argument_names: Sequence[str],
    version: str | None,
    locations: bool,
) -> bytes:
    """The portable artifact of a graph, whose first inputs are captured values."""
    mlir.load()
    from stagec.lowering import portable
    from stagec.lowering.lower import lower

    def written() -> bytes:
        module = lower(graph, name, argument_names, constants=captured, portable=True)
        return portable.serialized(module, version, locations)

    return interruptible.call(written)


@interruptible.function
def optimize(module: Any, options: ProgramOptions, on_pass: Any = None, on_rewrite: Any = None) -> Any:
    """Run the passes over a module, in place; returns their report. What they call is as for `passes.run`."""
    import passes
    from passes import guard
    from passes.analysis.in_place import keep_safe_reuse
    from stagec.compiler import ready

    target = options.target
    doubles = capabilities.has_dtype(target, "float64")
    settings = ready.pass_options(
        target, fast_math=options.fast_math, doubles=doubles, reproducible=options.reproducible
    )
    # On the CPU, `ready` rewrites sorts and resolves in-place hazards after stagec's own kernels have been formed.
    pipeline = "values" if target.on.is_host else "default"
    if options.is_open or not options.simplify:
        pipeline = "forms, legalize, cse" if target.on.is_host else "forms, legalize, memory, cse"
    with guard.heeding(interruptible.is_left):
        report = passes.run(
            module, pipeline, options=settings, extra=options.passes, on_pass=on_pass, on_rewrite=on_rewrite
        )
    if options.donated:
        keep_safe_reuse(module, updates=target.on.is_host)
    return report


@contextlib.contextmanager
def _announced(name: str, operations: int, target: Target) -> Iterator[None]:
    """Log that a compile begins, and show how long it takes."""
    log.event("compile", "compiling", name=name, target=str(target), operations=operations)
    with Progress(f"{name} ({operations} operations) for {target}"):
        yield


def compile_graph(
    graph: Graph, options: ProgramOptions, name: str, argument_names: Sequence[str] = (), digest: str = ""
) -> tuple[bytes, dict[str, Any]]:
    """Lower, optimize and compile; returns the module's bytes and its metadata for the runtime.

    Raises:
      UnsupportedError: the target lacks something that the program needs.
      CompileError: the compiler refused the program.
    """
    mlir.load()
    from stagec.compiler import dump

    capabilities.check(graph, options.target)
    if options.reproducible:
        reproducible.check(graph, options.target, options.kernels and options.straight, name)
    started = time.perf_counter()
    with _announced(name, sum(1 for _ in all_equations(graph)), options.target):
        limited = limited_graph(graph, options)
        module = lower_graph(limited or graph, options, name, argument_names)
        lowered = time.perf_counter()
        folder = dump.Dump(name, digest, graph, module)
        report = optimize(module, options, folder.after_pass)
        module = with_open_kernels(module, graph, options, name, argument_names)
        optimized = time.perf_counter()
        log.event(
            "lower",
            f"{name}: {len(graph.equations)} equations lowered",
            seconds=lowered - started,
            passes_seconds=optimized - lowered,
        )
        queue, callbacks = choose_driver(_in_parts(graph, options), options.target), has_callbacks(graph)
        compiled, traits = _compile_optimized(module, options, name, queue, callbacks)
    if limited and traits.mutated:  # so that it cannot run again
        return compile_graph(graph, dataclasses.replace(options, limits=False), name, argument_names, digest)
    folder.finish(module, options.target, report, options.of_compiler())
    branches = any(e.primitive.name in ("cond", "while", "scan") for e in all_equations(graph))
    traits = traits._replace(branches=branches, duration=Duration.LIMITED if limited else duration(graph, queue))
    return compiled.vmfb, _meta(name, compiled, traits, started)


def _meta(name: str, compiled: Any, traits: Traits, started: float) -> dict[str, Any]:
    seconds = round(time.perf_counter() - started, 3)
    return {"name": name, "flags": compiled.flags, "seconds": seconds, **traits.stored()}


def limited_graph(graph: Graph, options: ProgramOptions) -> Graph | None:
    """The graph with a limit for loops that may never end, if its program can run again where the limit was too low."""
    if not options.limits or options.donated or options.passes or options.is_open:
        return None
    queue = "local-sync"
    # Most programs end here, before a graph is divided to find its queue.
    if duration(graph, queue) is not Duration.OPEN or choose_driver(_in_parts(graph, options), options.target) != queue:
        return None
    from stagec.compiler import limits  # only programs that are compiled have some

    return limits.limited(graph)


def with_open_kernels(
    module: Any, graph: Graph, options: ProgramOptions, name: str, argument_names: Sequence[str] = ()
) -> Any:
    """An optimized module as the compiler gets it: with stagec's own kernels for open dimensions, if it has any."""
    own = options.kernels and options.straight and options.simplify and options.target.on.is_host
    if not (options.is_open and own) or options.passes:
        return module
    mlir.load()
    from stagec.compiler import row_blocks

    static = dataclasses.replace(options, is_open=False, donated=())

    def optimized(part: Graph) -> Any:
        module = lower_graph(part, static, name, argument_names)
        optimize(module, static)
        return module

    return interruptible.call(
        lambda: (
            row_blocks.formed(module, graph, options.target, options.weights, optimized)
            or row_blocks.with_sums(module, options.target)
        )
    )


def _compile_optimized(
    module: Any, options: ProgramOptions, name: str, queue: str, callbacks: bool = False
) -> tuple[Any, Traits]:
    """What the compiler makes of the module, and the traits that follow from the module."""
    from stagec.compiler import outside

    # The calling thread waits for its own work anyway, and for the Python functions that it calls.
    asynchronous = queue != "local-sync" and not callbacks
    asked = dataclasses.replace(options.of_compiler(), asynchronous=asynchronous)
    compiled = outside.compile_module(module, options.target, name=name, options=asked)
    return compiled, compiled.traits._replace(driver=queue)


def choose_driver(graph: Graph, target: Target) -> str:
    """The queue to run on: on a CPU, `local-task` for much parallel work, otherwise `local-sync`.

    Programs that call the user's Python functions run on the calling thread.
    """
    first, *others = target.on.queues
    # A program for open dimensions takes no fences, so that each call can choose its queue.
    if not others or has_users_callbacks(graph) or is_open(graph):
        return first
    return others[0] if sharing.is_worth_it(graph) else first


def duration(graph: Graph, queue: str) -> Duration:
    """How long a call on a queue of the runtime may take."""
    return estimate.duration(typical(graph), queue != "local-sync" and not has_callbacks(graph))
