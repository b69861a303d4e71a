"""MLIR's bindings from the compiler's package, imported when a program is compiled."""

from __future__ import annotations

import gc
import importlib
from typing import Any

from stagec.core import forking
from stagec.runtime import interruptible, recording

_NEEDED = (
    *(f"iree.compiler.{name}" for name in ("api", "ir", "passmanager", "rewrite")),
    *(f"iree.compiler.dialects.{name}" for name in ("arith", "builtin", "flow", "func", "hal", "stream")),
    *(f"passes.{name}" for name in ("dialects.chlo", "dialects.stablehlo", "fusion", "legalize", "simplify")),
    *(f"passes.analysis.{name}" for name in ("aliases", "in_place")),
    *(f"stagec.{name}" for name in ("compiler.batches", "compiler.dump", "compiler.outside", "lowering.lower")),
)
# Modules that the compiler's phases need in addition; they take a quarter of the whole import time.
_PHASES = tuple(f"iree.compiler.dialects.{name}" for name in ("iree_codegen", "iree_tensor_ext", "stream", "vm"))


def ir() -> Any:
    """The module `iree.compiler.ir`."""
    return importlib.import_module("iree.compiler.ir")


_loaded: set[tuple[str, ...]] = set()


def load() -> None:
    """Import the modules that a compile needs.

    An interrupt does not stop it, because a half imported extension of the compiler cannot be imported again.
    """
    _load(_NEEDED)


def load_phases() -> None:
    """Import the modules that the compiler's phases need in addition."""
    _load(_PHASES)


def _load(names: tuple[str, ...]) -> None:
    if names not in _loaded:
        with recording.span("compile", "imports of the compiler"):
            interruptible.call(lambda: _import(names))


def _import(names: tuple[str, ...]) -> None:
    collects = gc.isenabled()
    # A fork in another thread waits for it.
    with forking.importing():
        # Imports make little garbage, and each collection would visit all that they make.
        gc.disable()
        try:
            for name in names:
                importlib.import_module(name)
        finally:
            if collects:
                gc.enable()
    _loaded.add(names)
