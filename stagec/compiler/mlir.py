"""MLIR's bindings as the compiler's package holds them, imported when a program is compiled."""

from __future__ import annotations

import importlib
from typing import Any


def ir() -> Any:
    """The module `iree.compiler.ir`."""
    return importlib.import_module("iree.compiler.ir")


def operations(root: Any, *names: str) -> list[Any]:
    """The operations in a module or an operation, in their order; those of the given names, or all."""
    found: list[Any] = []
    advance = ir().WalkResult.ADVANCE

    def visit(operation: Any) -> Any:
        if not names or operation.name in names:
            found.append(operation)
        return advance

    root.operation.walk(visit)
    return found
