"""Finds the operation of a program that crashes the compiler, by compiling each operation alone."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any

from passes import printed
from passes.match import operations_in
from passes.operations import TABLE
from stagec.backends import Target
from stagec.compiler import driver
from stagec.compiler.diagnostics import Diagnostic
from stagec.compiler.mlir import ir
from stagec.compiler.session import parsed, serialize
from stagec.core.errors import CompileError


def search(source: bytes, target: Target, path: str) -> None:
    """Compile each operation of a module alone, after writing its name and location to a file.

    Must be called in a process that may crash: the file then names the operation that crashed it.
    """
    seen = set()
    module = parsed(source)
    with module.context:
        for op in operations_in(module):
            # Control flow may read values from outside of its regions; the operations in the regions are tried alone.
            skipped = op.name not in TABLE or TABLE[op.name].effects or op.name == "stablehlo.constant"
            if skipped or not op.results:
                continue
            kind = (op.name, str(op.attributes), *(str(v.type) for v in (*op.operands, *op.results)))
            if kind not in seen:
                seen.add(kind)
                pathlib.Path(path).write_text(f"{op.name}\n{op.location}", encoding="utf-8")
                try:
                    driver.compile_module(serialize(_alone(op)), target, name=op.name, guarded=False)
                except CompileError:
                    continue  # refused, which is not a crash


def found(path: str, crash: str) -> Diagnostic:
    """The diagnostic for a crash of `search`: the operation that it wrote last, and the user's line."""
    name, _, location = pathlib.Path(path).read_text(encoding="utf-8").partition("\n")
    line = printed.location(location)
    file, number = (line.file, line.line) if line and line.file.endswith(".py") else ("", 0)
    return Diagnostic("error", f"{crash} on {name}", file, number)


def _alone(op: Any) -> Any:
    """A module whose function does one operation."""
    func = importlib.import_module("iree.compiler.dialects.func")
    module = ir().Module.create(op.location)
    with op.location, ir().InsertionPoint(module.body):
        function = func.FuncOp("main", ([v.type for v in op.operands], [v.type for v in op.results]))
        with ir().InsertionPoint(function.add_entry_block()):
            copy = op.clone()
            for i, argument in enumerate(function.arguments):
                copy.operands[i] = argument
            func.ReturnOp(list(copy.results))
    return module
