"""MLIR's bindings as the compiler's package holds them, imported when a program is compiled."""

from __future__ import annotations

import importlib
from typing import Any

from stagec.core import forking
from stagec.runtime import interruptible

_NEEDED = (
    *(f"iree.compiler.{name}" for name in ("api", "ir", "passmanager", "rewrite")),
    *(
        f"iree.compiler.dialects.{name}"
        for name in ("builtin", "flow", "func", "hal", "iree_codegen", "iree_tensor_ext", "stream", "vm")
    ),
    *(f"passes.{name}" for name in ("dialects.chlo", "dialects.stablehlo", "fusion", "legalize", "simplify")),
    *(f"passes.analysis.{name}" for name in ("alias", "clobber", "in_place")),
    *("stagec.compiler.dump", "stagec.compiler.stages", "stagec.lowering.lower"),
)


def ir() -> Any:
    """The module `iree.compiler.ir`."""
    return importlib.import_module("iree.compiler.ir")


_loaded = False


def load() -> None:
    """Import what a compile needs.

    An interrupt does not stop it: a half imported extension of the compiler cannot be imported again.
    """
    if not _loaded:
        interruptible.call(_import)


def _import() -> None:
    global _loaded
    # A fork in another thread waits for it.
    with forking.importing():
        for name in _NEEDED:
            importlib.import_module(name)
    _loaded = True


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
