"""From a StableHLO module to an executable: the one place that runs the compiler."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from passes.match import operations_in, splat_of
from passes.patterns import location_text
from stagec.backends import Target
from stagec.compiler import diagnostics as diag, direct, lanes, log, phase_workarounds, process, rare, reproducible
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.compiler.flags import DEFAULT, CompileOptions, FlagSet
from stagec.compiler.invocation import Invocation, invocation
from stagec.compiler.mlir import ir, load_phases
from stagec.compiler.ready import by_flag_set
from stagec.compiler.session import parsed, serialize
from stagec.compiler.spirv import racing_kernels
from stagec.core.errors import CompileError, message
from stagec.runtime import interruptible
from stagec.runtime.traits import Traits

_CONSTANT = "stablehlo.constant"
_CRASH = "the compiler crashed"
# The compiler's phases, in its order.
PHASES = (
    *("input", "abi", "preprocessing", "global-optimization", "dispatch-creation", "flow"),
    *("stream", "executable-sources", "executable-configurations", "executable-targets", "hal", "vm"),
)
# Changes of the module by the phase after which they are made: workarounds, and below optimizations.
WORKAROUNDS = {
    "flow": phase_workarounds.before_stream,
    "executable-configurations": phase_workarounds.inline_lookups,
    "executable-targets": lanes.scalarize,
    "end": phase_workarounds.copy_repeated_references,
}
# Workarounds for programs with loops that worker threads run.
WORKAROUNDS_OF_LOOPS = {"hal": phase_workarounds.allocate_on_host}
# Workarounds for devices that may be lost when two threads give them work.
WORKAROUNDS_OF_RACES = {"hal": phase_workarounds.work_in_order}
_QUEUED = frozenset({"--iree-hal-target-device=local", "--iree-execution-model=async-external"})
OPTIMIZATIONS = {
    "executable-targets": rare.branch,
}


Seen: TypeAlias = Callable[[str, Any], None]


class CrashedError(CompileError):
    """The compiler crashed on a module, and no flag set compiled it.

    Args:
      text: the message.
      attempts: all of them, in order.
    """

    def __init__(self, text: str, attempts: list[Attempt]) -> None:
        super().__init__(text)
        self.attempts = attempts

    def __reduce__(self) -> Any:
        return CrashedError, (str(self), self.attempts)


@dataclass(frozen=True)
class CompilerResult:
    """A compiled program, and how it was compiled.

    Attributes:
      vmfb: the bytes that the runtime loads.
      flags: name of the flag set that worked.
      seconds: wall time of all attempts together.
      attempts: every flag set tried, in order; the last one succeeded.
      warnings: what the compiler warned of.
      traits: what the program does with the memory of its arguments.
    """

    vmfb: bytes = field(repr=False)
    flags: str
    seconds: float
    attempts: tuple[Attempt, ...]
    warnings: tuple[Diagnostic, ...]
    traits: Traits


# One call: after an interrupt, nothing must close the session while the compiler uses it.
@interruptible.function
def compile_module(
    module: Any,
    target: Target,
    *,
    options: CompileOptions = DEFAULT,
    name: str = "main",
    guarded: bool = True,
) -> CompilerResult:
    """Compile a StableHLO module, going down the ladder of flag sets until one works.

    Safe to call from many threads at once; other Python threads run meanwhile. Where the compiler may crash, it runs in
    a new process of Python, which takes half a second longer.

    Args:
      module: an `iree.compiler.ir.Module` (it is left as it was), MLIR text, or MLIR bytecode.
      target: what to compile for.
      options: flags and hints; see `CompileOptions`.
      name: the program's name in errors and events.
      guarded: whether the compiler must not crash this process.

    Raises:
      CompileError: the module is not valid, or no flag set works; it names the user's line.
      CrashedError: no flag set works, and the compiler crashed.

    >>> text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    >>> compile_module(text, Target.parse("cpu:x86-64-v3")).flags
    'direct'
    """
    started = time.perf_counter()
    given = serialize(module)
    attempts: list[Attempt] = []
    for flag_set, ready in by_flag_set(prepared(given, target, name), target, options):
        traits = ready.traits
        if flag_set.direct:
            try:
                vmfb, attempt, may_alias, anywhere = direct.run(ready, flag_set, options.asynchronous, options.joins)
            except direct.NotDirectError as error:
                raise reproducible.refused(name, str(error), line=error.location) from None
            traits = traits._replace(may_alias=may_alias and traits.may_alias, anywhere=anywhere)
            if not vmfb and not options.flag_set:
                log.event("compile", "through all phases", name=name, reason=attempt.error)
                continue
        elif guarded and (attempts or may_crash(ready.source, target)):
            # The compiler has crashed on modules that it refused with the flags before.
            vmfb, attempt = _run_apart(ready.source, flag_set, target.on.has_linker, name)
        else:
            vmfb, attempt = run(ready.source, flag_set, link=target.on.has_linker)
        if target.on.has_races:
            vmfb, attempt = _without_races(vmfb, attempt)
        attempts.append(attempt)
        if vmfb:
            break
        log.event("compile", "refused", name=name, flags=flag_set.name, error=attempt.error)
    seconds = time.perf_counter() - started
    if not vmfb:
        refused = diag.compile_error(given, name, str(target), attempts, options.is_open)
        crashes = any(attempt.error.startswith(_CRASH) for attempt in attempts)
        raise CrashedError(str(refused), attempts) if crashes else refused
    log.event(
        "compile", "compiled", name=name, target=str(target), flags=flag_set.name, seconds=seconds, bytes=len(vmfb)
    )
    said = [d for a in attempts for d in a.diagnostics] if len(attempts) == 1 else attempts[-1].diagnostics
    return CompilerResult(vmfb, flag_set.name, seconds, tuple(attempts), diag.warnings(said), traits)


def may_crash(source: bytes, target: Target) -> bool:
    """Whether the compiler may crash on a module: it has loops, or the target is one for which others crash it, too."""
    # The name of the operation, as text and bytecode have it. What else has this name does no harm.
    return target.on.crashes or b"while" in source


def _run_apart(source: bytes, flag_set: FlagSet, link: bool, name: str) -> tuple[bytes, Attempt]:
    """As `run`, in a new process; a crash is a refusal."""
    started = time.perf_counter()
    try:
        found: tuple[bytes, Attempt] = process.call(run, name, source, flag_set, link=link)
    except process.CrashError as crash:
        return b"", crashed(flag_set.name, time.perf_counter() - started, crash)
    return found


def crashed(flag_set: str, seconds: float, crash: Exception) -> Attempt:
    """The record of an attempt that ended the compiler's process."""
    return Attempt(flag_set, seconds, False, (Diagnostic("error", f"{_CRASH} ({crash})"),))


def _without_races(vmfb: bytes, attempt: Attempt) -> tuple[bytes, Attempt]:
    """The outcome of an attempt; it counts as failed if a data race makes the results of its kernels vary."""
    racing = racing_kernels(vmfb)
    if not racing:
        return vmfb, attempt
    text = f"the compiler left out a barrier between threads in {', '.join(racing)}"
    found = (*attempt.diagnostics, Diagnostic("error", text))
    return b"", dataclasses.replace(attempt, ok=False, diagnostics=found)


def prepared(source: bytes, target: Target, name: str) -> Any:
    """The module as the compiler takes it, as an `ir.Module`: checked, and with its target's own description.

    Raises:
      CompileError: an operation is unknown or malformed, or a constant's dtype cannot be compiled.
    """
    module = _parsed(source, name)
    for operation in operations_in(module, _CONSTANT):
        _check_constant(operation, source, name)
    phase_workarounds.describe(module.operation, target)
    phase_workarounds.swap_selection_operands(module)
    return module


@interruptible.function
def run(
    source: bytes, flag_set: FlagSet, *, link: bool = True, until: str = "", seen: Seen | None = None
) -> tuple[bytes, Attempt]:
    """Run the compiler once.

    Args:
      source: the bytes of what `prepared` returned.
      flag_set: a name for the attempt, and command-line flags of the compiler.
      link: whether a linker takes part.
      until: stop after this phase, and return MLIR text instead of an executable.
      seen: called after every phase, with the phase and the module.

    Returns:
      the output (empty if refused) and a record of the attempt.
    """
    load_phases()
    started = time.perf_counter()
    output, found = b"", []
    with diag.linker_log() as linker:
        flags = (*linker.flags(), *flag_set.flags) if link and linker is not None else flag_set.flags
        try:
            with invocation(*flags) as run:
                found = run.found
                # Verification after every pass took up to a quarter of the time; `_go_through` does it between phases.
                run.verify_between_passes(False)
                ok = run.parse(source) and _go_through(run, until or "end", flag_set, seen)
                found += linker.diagnostics() if linker is not None else []
                if ok and not any(d.severity == "error" for d in found):
                    output = run.text() if until else run.bytecode()
        except (ValueError, ir().MLIRError) as error:  # an unknown flag, or what cannot be written or read back
            found.append(Diagnostic("error", " ".join(str(error).split())))
    return output, Attempt(flag_set.name, time.perf_counter() - started, bool(output), tuple(found))


def _go_through(run: Invocation, last: str, flag_set: FlagSet, seen: Seen | None) -> bool:
    """Run the phases up to the last one; between some of them, change the module and verify it.

    Faults are among the invocation's diagnostics. LLVM verifies the code of each kernel in addition.
    """
    phases = [*PHASES, "end"]
    changes = [WORKAROUNDS] if flag_set.disables_fusion else [WORKAROUNDS, OPTIMIZATIONS]
    if flag_set.in_order:
        changes.append(WORKAROUNDS_OF_RACES)
    before = ""
    for phase in phases[: phases.index(last) + 1]:
        if phase != last and seen is None and not any(phase in table for table in changes):
            continue
        if not run.execute(CompileFromPhase=before, CompileToPhase=phase):
            return False
        module = run.exported()
        for table in changes:
            if phase in table:
                table[phase](module)
        if phase == "flow" and _QUEUED.issubset(flag_set.flags) and phase_workarounds.has_loops(module):
            changes.append(WORKAROUNDS_OF_LOOPS)
        if seen is not None:
            seen(phase, module)
        if not run.take(module):
            return False
        before = phase
    return True


def _parsed(source: bytes, name: str) -> Any:
    try:
        # Not in a context of the compiler's: those let unknown dialects through, and crash on them later.
        return parsed(source)
    except (ir().MLIRError, ValueError) as error:
        reason = _first_error(error)
        raise CompileError(
            message(
                f"{name} is not a valid module: {reason.headline}",
                diag.source_line(reason),
                [("module", diag.save_module(source, name), "")],
                "this is a fault of whoever built the module; a custom pass or rewrite is the first suspect",
            )
        ) from None


def _first_error(error: Exception) -> Diagnostic:
    for row in getattr(error, "error_diagnostics", ()):
        location = row.location
        file = getattr(location, "filename", None)
        if file is not None:
            return Diagnostic("error", row.message, str(getattr(file, "value", file)), int(location.start_line))
        return Diagnostic("error", row.message)
    return Diagnostic("error", str(error).strip() or type(error).__name__)


def _check_constant(operation: Any, source: bytes, name: str) -> None:
    type_text = str(operation.results[0].type)
    if "complex<f64>" not in type_text:
        return
    if splat_of(operation.results[0]) is not None:
        return
    line = diag.parse(2, f"{location_text(operation)}: ")
    raise CompileError(
        message(
            f"{name} was not compiled: it holds a complex128 constant of several values, which ends the compiler",
            diag.source_line(line),
            [("constant", type_text, ""), ("module", diag.save_module(source, name), "")],
            "pass the constant as an argument, or use complex64",
        )
    )
