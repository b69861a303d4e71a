"""The passes in their order, with verification, timing and reports between them."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from passes import bindings, guard
from passes.errors import InvalidModuleError, PassError, PipelineError, message
from passes.fast_math import FastMath, flags
from passes.match import attributes_read_once, has_open_shapes, remembered
from passes.patterns import Pattern, apply, apply_own, code_text, digest, selected


@dataclasses.dataclass(frozen=True)
class PassOptions:
    """What a pass may depend on in addition to the module.

    Attributes:
      fast_math: what laws that can change bits may assume, as names of `passes.fast_math.FLAGS`; True for all.
      laws: what the target needs rewritten, by a name in `passes.pipeline.LAWS`; those of `"cpu"` form kernels, too.
      doubles: whether the target has float64.
      machine: the architecture of a CPU, as `platform.machine` calls it; empty if unknown.
      features: the CPU's extensions, in the Linux kernel's spelling.
      reproducible: whether results have the same bits on all processors.
    """

    fast_math: FastMath = frozenset()
    laws: str = "cpu"
    doubles: bool = True
    machine: str = ""
    features: frozenset[str] = frozenset()
    reproducible: bool = False

    def __post_init__(self) -> None:
        flags(self.fast_math)  # raises for an unknown name
        if self.laws not in LAWS:
            raise PipelineError(message(f"there are no laws named {self.laws!r}", fix=f"choose from {', '.join(LAWS)}"))

    @property
    def granted(self) -> frozenset[str]:
        """The names in `fast_math`."""
        return flags(self.fast_math)

    def select(self, laws: Iterable[Pattern]) -> tuple[Pattern, ...]:
        """The laws that may run."""
        return selected(laws, self.granted, self.laws, self.reproducible)


# For IREE's code generators for CPUs, for SPIR-V, and for GPUs that LLVM compiles for.
LAWS = ("cpu", "spirv", "gpu")


@dataclasses.dataclass(frozen=True, eq=False)
class Pass:
    """A named step: `run(module, options)` changes the module in place.

    It may return matches by pattern name, a count, or nothing.
    """

    name: str
    run: Callable[[Any, PassOptions], Any]
    doc: str = ""

    def fingerprint(self) -> str:
        """A digest for cache keys, the same in every process."""
        return digest(self.name, code_text(self.run))


def pattern_pass(name: str, laws: Sequence[Pattern], doc: str = "") -> Pass:
    """A pass that applies laws, the inexact ones under `fast_math`; `doc` defaults to their docstrings."""

    def run(module: Any, options: PassOptions) -> dict[str, int]:
        return apply_own(module, options.select(laws))

    return Pass(name, run, doc or "\n".join(law.doc for law in laws))


def _user_pass(name: str, laws: Sequence[Pattern]) -> Pass:
    """A pass that applies laws that the user passed, exact or not."""
    return Pass(name, lambda module, options: apply(module, laws), "\n".join(law.doc for law in laws))


Extra: TypeAlias = Pass | Pattern | Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class PassRecord:
    """What one pass did: its time in seconds, matches by law, and ops in the module before and after."""

    name: str
    seconds: float
    hits: Mapping[str, int]
    ops_before: int
    ops_after: int


@dataclasses.dataclass(frozen=True)
class Report:
    """What a pipeline did, pass by pass."""

    records: tuple[PassRecord, ...]

    @property
    def seconds(self) -> float:
        """The time of all passes, verification included."""
        return sum(record.seconds for record in self.records)

    @property
    def hits(self) -> dict[str, int]:
        """How often each law matched, over all passes."""
        total: Counter[str] = Counter()
        for record in self.records:
            total.update(record.hits)
        return dict(total)

    @property
    def ops_before(self) -> int:
        """How many operations the module had, functions and their terminators included."""
        return self.records[0].ops_before if self.records else 0

    @property
    def ops_after(self) -> int:
        """How many operations are left."""
        return self.records[-1].ops_after if self.records else 0

    def __str__(self) -> str:
        lines = []
        for record in self.records:
            lines.append(
                f"{record.name:<16}{record.seconds * 1e3:8.2f} ms  {record.ops_before:>5} -> {record.ops_after} ops"
            )
            lines += [f"    {name:<40}{count:>5}" for name, count in sorted(record.hits.items())]
        return "\n".join(lines)


# The module and attribute of each pass, which is imported on first use.
_PASSES = {
    "simplify": "passes.simplify:SIMPLIFY",
    "algebra": "passes.simplify:ALGEBRA",
    "constants": "passes.simplify:CONSTANTS",
    "shapes": "passes.simplify:SHAPES",
    "products": "passes.simplify:PRODUCTS",
    "reductions": "passes.simplify:REDUCTIONS",
    "casts": "passes.simplify:CASTS",
    "control_flow": "passes.simplify:CONTROL_FLOW",
    "inline": "passes.simplify:INLINE",
    "cse": "passes.simplify:CSE",
    "dce": "passes.simplify:DCE",
    "fusion": "passes.fusion:FUSION",
    "dot_transposes": "passes.fusion:DOT_TRANSPOSES",
    "merge_dots": "passes.fusion:MERGE_DOTS",
    "merge_reductions": "passes.fusion:MERGE_REDUCTIONS",
    "compute_once": "passes.fusion:COMPUTE_ONCE",
    "forms": "passes.legalize:FORMS",
    "legalize": "passes.legalize:LEGALIZE",
    "sorts": "passes.legalize:SORTS",
    "memory": "passes.legalize:MEMORY",
}
# Legalizing repeats constants and subexpressions; merging them is cheap.
_ALIASES: dict[str, tuple[str, ...]] = {
    "default": ("inline", "forms", "simplify", "fusion", "legalize", "sorts", "memory", "cse"),
    # All but what only the compiler's own sorts and updates in place need: our own kernels do not share its faults.
    "values": ("inline", "forms", "simplify", "fusion", "legalize", "cse"),
    "none": (),
}


def pass_names() -> tuple[str, ...]:
    """The names that a pipeline may hold."""
    return (*_ALIASES, *_PASSES)


def get_pass(name: str) -> Pass:
    """The pass of that name; `PipelineError` if there is none."""
    where = _PASSES.get(name)
    if where is None:
        close = difflib.get_close_matches(name, pass_names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(pass_names())}"
        raise PipelineError(message(f"there is no pass named {name!r}", fix=hint))
    module, attribute = where.split(":")
    return getattr(importlib.import_module(module), attribute)


def parse(pipeline: str) -> tuple[Pass, ...]:
    """The passes that a comma-separated string names.

    >>> [step.name for step in parse("simplify, fusion")]
    ['simplify', 'fusion']
    """
    steps: list[Pass] = []
    for word in pipeline.split(","):
        name = word.strip()
        if name:
            steps += [get_pass(inner) for inner in _ALIASES.get(name, (name,))]
    return tuple(steps)


def as_pass(extra: Extra) -> Pass:
    """A user's pass, pattern, list of patterns, or function, as a `Pass`."""
    if isinstance(extra, Pass):
        return extra
    if isinstance(extra, Pattern):
        return _user_pass(extra.name, (extra,))
    if isinstance(extra, (list, tuple)) and all(isinstance(item, Pattern) for item in extra):
        return _user_pass("+".join(item.name for item in extra), tuple(extra))
    if callable(extra):
        name = getattr(extra, "__name__", type(extra).__name__)
        run = extra if _takes_two(extra) else (lambda module, options: extra(module))
        return Pass(name, run, inspect.getdoc(extra) or "")
    raise PipelineError(
        message(
            f"{extra!r} is not a pass",
            fix="give a Pass, a Pattern, a list of patterns, or a function of a module",
        )
    )


def _takes_two(fn: Callable[..., Any]) -> bool:
    try:
        inspect.signature(fn).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def fingerprint(extra: Sequence[Extra] = ()) -> str:
    """A digest of extra passes for a cache key; empty if there are none."""
    if not extra:
        return ""
    parts = []
    for item in extra:
        if isinstance(item, (list, tuple)):
            parts += [law.fingerprint() for law in item]
        elif isinstance(item, (Pass, Pattern)):
            parts.append(item.fingerprint())
        else:
            parts.append(digest(getattr(item, "__name__", ""), code_text(item)))
    return digest(*parts)


def run(
    module: Any,
    pipeline: str = "default",
    *,
    options: PassOptions | None = None,
    extra: Sequence[Extra] = (),
    verify: bool = True,
    on_pass: Callable[[str, Any], None] | None = None,
    on_rewrite: Callable[[Pattern, Any, Sequence[Any]], None] | None = None,
) -> Report:
    """Run a pipeline over a StableHLO module, in place.

    Args:
      module: an `ir.Module`, in any context.
      pipeline: comma-separated names of passes; `default`, `none`.
      options: see `PassOptions`.
      extra: the user's passes, patterns or functions, run first so that the
        rest of the pipeline simplifies their results.
      verify: check the module before the first pass, and after each that changed it.
      on_pass: called as `on_pass(name, module)` after each pass.
      on_rewrite: called as `on_rewrite(law, operation, made)` for each rewrite, with the operation that a law is about
        to replace, and those that were made for it in its block.

    Returns:
      A `Report`: seconds, matches, and op counts by pass.

    Raises:
      PipelineError: a name in `pipeline` is unknown.
      InvalidModuleError: the module does not verify; the message names the pass.
      PatternError: a pattern failed.

    A signal interrupts it between two rewrites: the module may be rewritten in part, but keeps its meaning. When called
    in the main thread, it works in a helper thread.
    """
    settings = PassOptions() if options is None else options
    steps = (*(as_pass(item) for item in extra), *parse(pipeline))

    def work() -> Report:
        bindings.prepare(module.context)
        if verify and steps:
            _verify(module, "the module does not verify before any pass ran", "correct the module that was passed")
        try:
            remembered.is_open, remembered.on_rewrite = has_open_shapes(module), on_rewrite
            with attributes_read_once():
                return _run(module, steps, settings, verify, on_pass)
        finally:
            remembered.is_open = remembered.on_rewrite = None

    return guard.call(work)


def _run(
    module: Any,
    steps: Sequence[Pass],
    options: PassOptions,
    verify: bool,
    on_pass: Callable[[str, Any], None] | None,
) -> Report:
    is_abandoned = guard.is_abandoned()
    records = []
    count = count_ops(module)
    for step in steps:
        if is_abandoned():
            break
        started = time.perf_counter()
        with module.context:
            try:
                outcome = step.run(module, options)
            except PassError:
                raise
            except Exception as error:
                raise PassError(
                    message(
                        f"pass {step.name} raised {type(error).__name__}: {error}",
                        fix=f"correct the pass {step.name}; the traceback above shows where it failed",
                    )
                ) from error
        after = count_ops(module)
        # A pass that reports a count of zero has left the module as it was.
        if verify and (outcome is None or outcome or after != count):
            _verify(module, f"pass {step.name} left a module that does not verify", f"correct the pass {step.name}")
        hits = outcome if isinstance(outcome, dict) else {step.name: outcome} if outcome else {}
        records.append(PassRecord(step.name, time.perf_counter() - started, hits, count, after))
        count = after
        if on_pass is not None:
            on_pass(step.name, module)
    return Report(tuple(records))


def _verify(module: Any, what: str, fix: str) -> None:
    try:
        module.operation.verify()
    except bindings.ir.MLIRError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise InvalidModuleError(
            message(what, values=[("verifier", line) for line in lines[1:4]] or [("verifier", str(error))], fix=fix)
        ) from None


def count_ops(module: Any) -> int:
    """How many ops a module holds, including those in regions, terminators and functions."""
    ir = bindings.ir
    total = 0

    def visit(_: Any) -> Any:
        nonlocal total
        total += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return total - 1
