"""The text of a program at each stage of its compilation."""

from __future__ import annotations

import dataclasses
import glob
import math
import os
import re
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from passes.kernels.plan import comments
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler import diagnostics as diag, direct, scratch
from stagec.compiler.dispatches import line_of
from stagec.compiler.driver import PHASES, Seen, opened, prepared, run
from stagec.compiler.flags import CompileOptions, FlagSet
from stagec.compiler.mlir import ir
from stagec.compiler.ready import Ready, by_flag_set
from stagec.compiler.session import parsed, serialize
from stagec.runtime import interruptible

# What the files end in that the compiler writes the kernels to.
_ASSEMBLY = (".s", ".rocmasm", ".ptx", ".spvasm", ".spirv.mlir")
_CODE = ("llvm", "asm")
# Those before the compiler's first phase.
OWN = ("stablehlo", "optimized", "kernels")
STAGES = (*OWN, *PHASES, *_CODE)


@interruptible.function
def stage_text(
    module: Any, target: Target, stage: str, options: CompileOptions | None = None, name: str = "main"
) -> str:
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
      CompileError: no flag set gets as far as the stage.

    >>> text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    >>> "util.func" in stage_text(text, Target.parse("cpu"), "flow")
    True
    """
    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
    options = options or CompileOptions()
    source = serialize(module)
    if stage in ("stablehlo", "optimized"):
        return _printed(source)
    if stage == "kernels":
        return _printed(_with_kernels(source, target, name, options))
    if stage in _CODE and (own := _own_code(source, target, name, options)[_CODE.index(stage)]):
        return own
    ready = prepared(source, target, name, options)
    attempts = []
    for flag_set, formed in _with_phases(by_flag_set(ready, target, options)):
        if stage in _CODE:
            texts, attempt = _code(formed.source, flag_set, target)
            text = texts[_CODE.index(stage)]
        else:
            output, attempt = run(formed.source, flag_set, until=stage)
            text = output.decode(errors="replace")
        if attempt.ok:
            return text
        attempts.append(attempt)
    raise diag.compile_error(name, str(target), attempts, diag.save_module(source, name, options.dump), options.is_open)


@interruptible.function
def dump_all(
    module: Any, target: Target, directory: str, options: CompileOptions | None = None, prefix: str = "main"
) -> list[str]:
    """Write the module, the module after every phase, and the assembly into `directory`.

    Files are named `prefix.00-stablehlo.mlir`, `prefix.01-input.mlir`, ..., `prefix.asm`. A program
    that does not compile leaves the phases that it reached.

    Returns:
      the paths written, in the order of the stages.

    Raises:
      CompileError: the module is not valid.
      OSError: the directory cannot be written to.
    """
    options = options or CompileOptions()
    source = serialize(module)
    ready = prepared(source, target, prefix, options)
    os.makedirs(directory, exist_ok=True)
    written = [_write(os.path.join(directory, f"{prefix}.00-stablehlo.mlir"), _printed(source))]
    for flag_set, formed in _with_phases(by_flag_set(ready, target, options)):
        texts: dict[str, str] = {}
        (_, asm), attempt = _code(formed.source, flag_set, target, partial(_note, texts))
        if attempt.ok:
            asm = _own_code(source, target, prefix, options)[1] or asm
            break
    for number, phase in enumerate(PHASES, start=1):
        if phase in texts:
            written.append(_write(os.path.join(directory, f"{prefix}.{number:02}-{phase}.mlir"), texts[phase]))
    if asm:
        written.append(_write(os.path.join(directory, f"{prefix}.asm"), asm))
    return written


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


@interruptible.function
def followed(
    module: Any, target: Target, phase: str, options: CompileOptions | None = None, name: str = "main"
) -> Followed:
    """Compile a module, directly or through all phases, and keep what `stagec view` shows.

    Args:
      module, target, options, name: as for `stage_text`.
      phase: the one whose text is wanted of a module that goes through phases; of others, it is that with kernels.

    Raises:
      CompileError: no flag set compiles it.
    """
    options = options or CompileOptions()
    source = serialize(module)
    started = time.perf_counter()
    flag_set, ready = _own(source, target, name, options)
    if flag_set.direct:
        formed = time.perf_counter()
        texts = direct.code(ready, flag_set, together=False)
        if all(texts) and ready.kernels is not None:
            phases = (("kernels", formed - started), ("machine code", time.perf_counter() - formed))
            ready.kernels.insert_executables()
            plan = tuple(comments(ready.module).splitlines())
            launches = tuple(map(_launch, operations_in(ready.module, "flow.dispatch")))
            return Followed(flag_set.name, _with_lines(ready.module), launches, phases, *texts, plan)
    ready_source = prepared(source, target, name, options)
    attempts = []
    for flag_set, ready in _with_phases(by_flag_set(ready_source, target, options)):
        notes = _Notes(phase)
        texts, attempt = _code(ready.source, flag_set, target, notes)
        if attempt.ok:
            plan = tuple(comments(parsed(ready.source)).splitlines())
            return Followed(flag_set.name, notes.text, notes.launches, tuple(notes.phases), *texts, plan)
        attempts.append(attempt)
    raise diag.compile_error(name, str(target), attempts, diag.save_module(source, name, options.dump), options.is_open)


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
            self.launches = tuple(map(_launch, operations_in(module, "flow.dispatch")))
        self._last = time.perf_counter()


def _launch(operation: Any) -> Launch:
    (entry, *_) = operation.attributes["entry_points"]
    results = tuple((str(result.type), _size(result.type)) for result in operation.results)
    return Launch(entry.value[-1], line_of(operation), results)


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
    flag_set, ready = _own(serialize(module), target, name, options)
    return direct.memory_usage(ready) if flag_set.direct else None


def _own(source: bytes, target: Target, name: str, options: CompileOptions) -> tuple[FlagSet, Ready]:
    """The first flag set, and the module that it compiles."""
    found = opened(source, target, name, options)
    return next(by_flag_set(found.source, target, options, found.module))


def _own_code(source: bytes, target: Target, name: str, options: CompileOptions) -> tuple[str, str]:
    """The kernels as LLVM itself compiles them; empty where the compiler generates their code."""
    flag_set, ready = _own(source, target, name, options)
    return direct.code(ready, flag_set) if flag_set.direct else ("", "")


def _note(texts: dict[str, str], phase: str, module: Any) -> None:
    texts[phase] = _with_lines(module)


def _with_lines(module: Any) -> str:
    """The text of a module, with the user's lines."""
    return str(module.operation.get_asm(enable_debug_info=True))


def _with_phases(found: Iterable[tuple[FlagSet, Ready]]) -> Iterator[tuple[FlagSet, Ready]]:
    """The flag sets that go through the compiler's phases; direct compilation has the same kernels."""
    return (row for row in found if not row[0].direct)


def _with_kernels(source: bytes, target: Target, name: str, options: CompileOptions) -> bytes:
    """The module as the first flag set compiles it: with kernels written by stagec, if there are any."""
    ready = prepared(source, target, name, options)
    return next(by_flag_set(ready, target, options))[1].source


def _natural(path: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def _printed(source: bytes) -> str:
    module = parsed(source)
    return comments(module) + str(module)


def _write(path: str, text: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
