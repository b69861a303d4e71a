"""The one import of MLIR's bindings in this package, done on first use.

`bindings.ir`, `bindings.rewrite`, `bindings.passmanager` and `bindings.native` load a 335 MB library of
`iree.compiler`, so importing this module must not: each becomes a global of this module when it is first read.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

_MODULES = {
    "ir": "iree.compiler.ir",
    "rewrite": "iree.compiler.rewrite",
    "passmanager": "iree.compiler.passmanager",
    "native": "iree.compiler._mlir_libs._mlir",
}
_DIALECTS = ("stablehlo", "chlo", "func")
_lock = threading.Lock()
_prefix_added = False


def _replace_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    # Another thread may hold the lock when the process forks.
    os.register_at_fork(after_in_child=_replace_lock)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    _add_search_prefix()
    globals()[name] = module
    return module


def _add_search_prefix() -> None:
    # For a dialect without a Python module, each view of one of its ops repeats a
    # failing import: 20 us for a visited op instead of 1 us.
    global _prefix_added
    with _lock:
        if not _prefix_added:
            native = importlib.import_module(_MODULES["native"])
            native.globals.append_dialect_search_prefix("passes.dialects")
            _prefix_added = True


def new_context() -> Any:
    """Make an `ir.Context` that knows StableHLO, CHLO and func.

    >>> context = new_context()
    >>> context.is_registered_operation("stablehlo.add")
    True
    """
    ir = __getattr__("ir")
    context = ir.Context()
    # Threads do not speed up the passes of one function, and a context with threads cannot be freed in a forked child.
    context.enable_multithreading(False)
    prepare(context)
    return context


def run_passes(module: Any, names: str) -> None:
    """Run passes of MLIR itself over a module, such as `"inline,symbol-dce"` or `"func.func(canonicalize)"`."""
    manager = __getattr__("passmanager").PassManager
    manager.parse(f"builtin.module({names})", module.context).run(module.operation)


def prepare(context: Any) -> None:
    """Load into `context` the dialects whose ops this package creates.

    An op created before its dialect is loaded is unregistered, without an error,
    and crashes the compiler later. Pattern sets walk every registered op, so
    no other dialect is loaded.
    """
    _add_search_prefix()
    for name in _DIALECTS:
        context.dialects[name]
