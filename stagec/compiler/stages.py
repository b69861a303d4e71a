"""The text of a program at each stage of its compilation."""

from __future__ import annotations

import dataclasses
import glob
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from passes import printed
from passes.kernels.plan import comments
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler import diagnostics as diag, direct, scratch
from stagec.compiler.driver import PHASES, Seen, prepared, run
from stagec.compiler.flags import DEFAULT, CompileOptions, FlagSet
from stagec.compiler.mlir import ir
from stagec.compiler.outside import guarded
from stagec.compiler.ready import Ready, by_flag_set
from stagec.compiler.session import parsed, serialize
from stagec.runtime import interruptible

_T = TypeVar("_T")
# What the files end in that the compiler writes the kernels to.
_ASSEMBLY = (".s", ".rocmasm", ".ptx", ".spvasm", ".spirv.mlir")
_CODE = ("llvm", "asm")
# Those before the compiler's first phase.
OWN = ("stablehlo", "optimized", "kernels")
STAGES = (*OWN, *PHASES, *_CODE)
# The phase after which all dispatches are there.
_DISPATCHES = "flow"


def stage_text(module: Any, target: Target, stage: str, options: CompileOptions = DEFAULT, name: str = "main") -> str:
    """The program after a stage: MLIR text, LLVM's IR for `llvm`, or assembly for `asm`.

    `kernels` is StableHLO with the kernels written by stagec in place of operations, as the compiler takes it.

    Args:
      module: as for `compile_module`.
      target: what to compile for.
      stage: one of `STAGES`; for `stablehlo` and `optimized` the module itself is printed.
      options: as for `compile_module`.
      name: the program's name in errors.

    Raises:
      ValueError: the stage is unknown.
      CompileError: no flag set gets as far as the stage, or the compiler crashed.

    >>> text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    >>> "util.func" in stage_text(text, Target.parse("cpu"), "flow")
    True
    """
    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
    return (_own_text if stage in OWN else _compiled_text)(module, target, stage, options, name)


@interruptible.function
def _own_text(module: Any, target: Target, stage: str, options: CompileOptions, name: str) -> str:
    source = serialize(module)
    return _printed(_own(source, target, options, name)[1].source if stage == "kernels" else source)


@guarded
@interruptible.function
def _compiled_text(source: bytes, target: Target, stage: str, options: CompileOptions, name: str) -> str:
    if stage in _CODE and (own := _own_code(source, target, options, name)[_CODE.index(stage)]):
        return own

    def text(source: bytes, flag_set: FlagSet) -> tuple[str, diag.Attempt]:
        if stage in _CODE:
            texts, attempt = _code(source, flag_set, target)
            return texts[_CODE.index(stage)], attempt
        output, attempt = run(source, flag_set, until=stage)
        return output.decode(errors="replace"), attempt

    return _first(source, target, options, name, text)


@guarded
@interruptible.function
def dump_all(
    source: bytes, target: Target, directory: str, options: CompileOptions = DEFAULT, name: str = "main"
) -> list[str]:
    """Write the module, the module after every phase, and the assembly into `directory`.

    Files are named `name.00-stablehlo.mlir`, `name.01-input.mlir`, ..., `name.asm`. A program
    that does not compile leaves the phases that it reached.

    Returns:
      the paths written, in the order of the stages.

    Raises:
      CompileError: the module is not valid, or the compiler crashed.
      OSError: the directory cannot be written to.
    """
    module = prepared(source, target, name)
    os.makedirs(directory, exist_ok=True)
    written = [_write(os.path.join(directory, f"{name}.00-stablehlo.mlir"), _printed(source))]
    for flag_set, formed in _with_phases(module, target, options):
        texts: dict[str, str] = {}
        (_, asm), attempt = _code(formed, flag_set, target, partial(_note, texts))
        if attempt.ok:
            asm = _own_code(source, target, options, name)[1] or asm
            break
    for number, phase in enumerate(PHASES, start=1):
        if phase in texts:
            written.append(_write(os.path.join(directory, f"{name}.{number:02}-{phase}.mlir"), texts[phase]))
    if asm:
        written.append(_write(os.path.join(directory, f"{name}.asm"), asm))
    return written


@guarded
@interruptible.function
def kernel_lines(
    source: bytes, target: Target, kernels: Collection[str], options: CompileOptions, name: str
) -> dict[str, str]:
    """The user's line, as `file:line`, by the name of each kernel; kernels without a line are left out.

    Args:
      source: what was compiled, as for `compile_module`: StableHLO after the passes.
      kernels: the names of those that ran, by which the flag set is found that compiled them.
      options: as for `compile_module`.
      name: the program's name in errors.
    """
    found: dict[str, str] = {}

    def collect(phase: str, module: Any) -> None:
        if phase == _DISPATCHES:
            found.update((launch.kernel, launch.line) for launch in reversed(_launches(module)))

    for flag_set, formed in by_flag_set(prepared(source, target, name), target, options):
        found.clear()
        if flag_set.direct:  # which takes its dispatches as they are
            collect(_DISPATCHES, parsed(formed.source))
        else:
            run(formed.source, flag_set, until=_DISPATCHES, seen=collect)
        if found.keys() >= set(kernels):
            return {kernel: line for kernel, line in found.items() if line}
    return {}


class Launch(NamedTuple):
    """A dispatch: its kernel, the user's line, and the types of its results with their sizes in bytes."""

    kernel: str
    line: str
    results: tuple[tuple[str, int | None], ...]


class Followed(NamedTuple):
    """A program on its way through the compiler.

    Attributes:
      flags: the flag set.
      text: the module with its dispatches, with the user's lines.
      launches: the dispatches, in the order of the text.
      phases: the seconds of each step.
      code: LLVM's IR of the kernels, optimized; empty if the target has none.
      assembly: the kernels in the target's own language.
      plan: what became kernels of stagec's own, and why other operations did not, as `passes.kernels.plan` notes it.
    """

    flags: str
    text: str
    launches: tuple[Launch, ...]
    phases: tuple[tuple[str, float], ...]
    code: str
    assembly: str
    plan: tuple[str, ...]


@guarded
@interruptible.function
def followed(
    source: bytes, target: Target, phase: str, options: CompileOptions = DEFAULT, name: str = "main"
) -> Followed:
    """Compile a module, directly or through all phases, and keep what `stagec view` shows.

    Args:
      source, target, options, name: as for `stage_text`.
      phase: the one whose text is wanted of a module that goes through phases; of others, it is that with kernels.

    Raises:
      CompileError: no flag set compiles it, or the compiler crashed.
    """
    started = time.perf_counter()
    flag_set, ready = _own(source, target, options, name)
    if flag_set.direct:
        formed = time.perf_counter()
        texts = direct.code(ready, flag_set, together=False)
        if all(texts) and ready.kernels is not None:
            phases = (("kernels", formed - started), ("machine code", time.perf_counter() - formed))
            ready.kernels.insert_executables()
            plan = tuple(comments(ready.module).splitlines())
            return Followed(flag_set.name, _with_lines(ready.module), _launches(ready.module), phases, *texts, plan)

    def noted(source: bytes, flag_set: FlagSet) -> tuple[Followed, diag.Attempt]:
        notes = _Notes(phase)
        texts, attempt = _code(source, flag_set, target, notes)
        plan = tuple(comments(parsed(source)).splitlines())
        return Followed(flag_set.name, notes.text, notes.launches, tuple(notes.phases), *texts, plan), attempt

    return _first(source, target, options, name, noted)


class _Notes:
    """What is kept of one pass through the phases: the time of each, and the text and the dispatches after one."""

    def __init__(self, wanted: str) -> None:
        self.text = ""
        self.launches: tuple[Launch, ...] = ()
        self.phases: list[tuple[str, float]] = []
        self._wanted = wanted
        self._last = time.perf_counter()

    def __call__(self, phase: str, module: Any) -> None:
        self.phases.append((phase, time.perf_counter() - self._last))
        if phase == self._wanted:
            self.text = _with_lines(module)
            self.launches = _launches(module)
        self._last = time.perf_counter()


def _launches(module: Any) -> tuple[Launch, ...]:
    return tuple(map(_launch, operations_in(module, "flow.dispatch")))


def _launch(operation: Any) -> Launch:
    (entry, *_) = operation.attributes["entry_points"]
    line = printed.location(operation.location)
    results = tuple((str(result.type), _size(result.type)) for result in operation.results)
    return Launch(entry.value[-1], "" if line is None else f"{line.file}:{line.line}", results)


def _size(kind: Any) -> int | None:
    """The bytes of a tensor, if its shape is fixed."""
    kind = ir().RankedTensorType(kind)
    if not kind.has_static_shape:
        return None
    element = kind.element_type
    width = getattr(element, "width", None) or 2 * element.element_type.width  # of a complex number
    return math.prod(kind.shape) * max(1, width // 8)


def _files(folder: str, *extensions: str) -> str:
    """The texts of the files in a folder that end so, one after the other."""
    parts = []
    for extension in extensions:
        for path in sorted(glob.glob(os.path.join(folder, f"*{extension}")), key=_natural):
            with open(path, encoding="utf-8", errors="replace") as file:
                parts.append(file.read())
    return "\n".join(parts)


def _code(
    source: bytes, flag_set: FlagSet, target: Target, seen: Seen | None = None
) -> tuple[tuple[str, str], diag.Attempt]:
    """The kernels as LLVM's IR, if the target has it, and in the target's own language: assembly, PTX, or SPIR-V."""
    with scratch.folder("code") as files:
        # For CUDA, the assembly is the binary.
        flags = (f"--iree-hal-dump-executable-{kind}-to={files}" for kind in ("intermediates", "binaries"))
        dumping = dataclasses.replace(flag_set, flags=(*flag_set.flags, *flags))
        _, attempt = run(source, dumping, link=target.on.has_linker, seen=seen)
        return (_files(files, ".optimized.ll"), _files(files, *_ASSEMBLY)), attempt


@interruptible.function
def memory_usage(module: Any, target: Target, options: CompileOptions, name: str) -> tuple[int, int] | None:
    """The bytes that a call allocates for its own time, and those of results in the memory of arguments.

    None where the program has the compiler's code, which allocates as it runs.
    """
    flag_set, ready = _own(serialize(module), target, options, name)
    return direct.memory_usage(ready) if flag_set.direct else None


def _own(source: bytes, target: Target, options: CompileOptions, name: str) -> tuple[FlagSet, Ready]:
    """The first flag set, and the module that it compiles: with kernels written by stagec, if there are any."""
    return next(by_flag_set(prepared(source, target, name), target, options))


def _own_code(source: bytes, target: Target, options: CompileOptions, name: str) -> tuple[str, str]:
    """The kernels as LLVM itself compiles them; empty where the compiler generates their code."""
    flag_set, ready = _own(source, target, options, name)
    return direct.code(ready, flag_set) if flag_set.direct else ("", "")


def _with_phases(module: Any, target: Target, options: CompileOptions) -> Iterator[tuple[FlagSet, bytes]]:
    """The flag sets that go through the compiler's phases; direct compilation has the same kernels."""
    return ((flag_set, made.source) for flag_set, made in by_flag_set(module, target, options) if not flag_set.direct)


def _first(
    source: bytes,
    target: Target,
    options: CompileOptions,
    name: str,
    attempted: Callable[[bytes, FlagSet], tuple[_T, diag.Attempt]],
) -> _T:
    """What the first flag set makes of the module that goes through the compiler's phases and does not fail."""
    attempts = []
    for flag_set, formed in _with_phases(prepared(source, target, name), target, options):
        found, attempt = attempted(formed, flag_set)
        if attempt.ok:
            return found
        attempts.append(attempt)
    raise diag.compile_error(source, name, str(target), attempts, options.is_open)


def _note(texts: dict[str, str], phase: str, module: Any) -> None:
    texts[phase] = _with_lines(module)


def _with_lines(module: Any) -> str:
    """The text of a module, with the user's lines."""
    return str(module.operation.get_asm(enable_debug_info=True))


def _natural(path: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def _printed(source: bytes) -> str:
    module = parsed(source)
    return comments(module) + str(module)


def _write(path: str, text: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
