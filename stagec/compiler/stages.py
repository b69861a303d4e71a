"""The text of a program at each stage of its compilation."""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from passes.kernels.plan import comments
from stagec.backends import Target
from stagec.compiler import diagnostics as diag
from stagec.compiler.driver import PHASES, Seen, prepared, run
from stagec.compiler.flags import CompileOptions, FlagSet
from stagec.compiler.mlir import ir
from stagec.compiler.ready import Ready, by_flag_set, serialize
from stagec.compiler.session import new_session
from stagec.runtime import interruptible

# `stablehlo`, `optimized` and `kernels` come before the compiler's first phase.
STAGES = ("stablehlo", "optimized", "kernels", *PHASES, "asm")


def stage_text(
    module: Any, target: Target, stage: str, options: CompileOptions | None = None, name: str = "main"
) -> str:
    """The program after a stage: MLIR text, or assembly for `asm`.

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
    return interruptible.call(lambda: _stage_text(source, target, stage, options, name))


def _stage_text(source: bytes, target: Target, stage: str, options: CompileOptions, name: str) -> str:
    if stage in ("stablehlo", "optimized"):
        return _printed(source)
    if stage == "kernels":
        return _printed(_with_kernels(source, target, name, options))
    ready, traits = prepared(source, target, name, options)
    attempts = []
    for flag_set, formed in _with_phases(by_flag_set(ready, target, options, traits)):
        if stage == "asm":
            text, attempt = _assembly(formed.source, flag_set, target)
        else:
            output, attempt = run(formed.source, flag_set, until=stage)
            text = output.decode(errors="replace")
        if attempt.ok:
            return text
        attempts.append(attempt)
    raise diag.compile_error(name, str(target), attempts, diag.save_module(source, name, options.dump))


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
    return interruptible.call(lambda: _dump_all(source, target, directory, options, prefix))


def _dump_all(source: bytes, target: Target, directory: str, options: CompileOptions, prefix: str) -> list[str]:
    ready, traits = prepared(source, target, prefix, options)
    os.makedirs(directory, exist_ok=True)
    written = [_write(os.path.join(directory, f"{prefix}.00-stablehlo.mlir"), _printed(source))]
    for flag_set, formed in _with_phases(by_flag_set(ready, target, options, traits)):
        texts: dict[str, str] = {}
        asm, attempt = _assembly(formed.source, flag_set, target, partial(_note, texts))
        if attempt.ok:
            break
    for number, phase in enumerate(PHASES, start=1):
        if phase in texts:
            written.append(_write(os.path.join(directory, f"{prefix}.{number:02}-{phase}.mlir"), texts[phase]))
    if asm:
        written.append(_write(os.path.join(directory, f"{prefix}.asm"), asm))
    return written


def _assembly(source: bytes, flag_set: FlagSet, target: Target, seen: Seen | None = None) -> tuple[str, diag.Attempt]:
    """The kernels in the target's own language: assembly, PTX, or the text of SPIR-V."""
    with tempfile.TemporaryDirectory(prefix="stagec-asm-") as scratch:
        dumping = dataclasses.replace(
            flag_set, flags=(*flag_set.flags, f"--iree-hal-dump-executable-files-to={scratch}")
        )
        _, attempt = run(source, dumping, link=target.on.has_linker, seen=seen)
        parts = []
        for extension in (".s", ".rocmasm", ".ptx", ".spvasm", ".spirv.mlir"):
            for path in sorted(glob.glob(os.path.join(scratch, f"*{extension}")), key=_natural):
                with open(path, encoding="utf-8", errors="replace") as file:
                    parts.append(file.read())
        return "\n".join(parts), attempt


def _note(texts: dict[str, str], phase: str, module: Any) -> None:
    """Keep the text of a module, with the user's lines."""
    texts[phase] = str(module.operation.get_asm(enable_debug_info=True))


def _with_phases(found: Iterable[tuple[FlagSet, Ready]]) -> Iterator[tuple[FlagSet, Ready]]:
    """The flag sets that go through the compiler's phases; direct compilation has the same kernels."""
    return (row for row in found if not row[0].direct)


def _with_kernels(source: bytes, target: Target, name: str, options: CompileOptions) -> bytes:
    """The module as the first flag set compiles it: with kernels written by stagec, if there are any."""
    ready, traits = prepared(source, target, name, options)
    return next(by_flag_set(ready, target, options, traits))[1].source


def _natural(path: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def _printed(source: bytes) -> str:
    with new_session() as session:
        module = ir().Module.parse(source, session.context)
        return comments(module) + str(module)


def _write(path: str, text: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
