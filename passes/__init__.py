"""StableHLO -> StableHLO: rewrites that a user can read, run and extend.

The package depends on MLIR, not on stagec. Importing it loads neither the compiler nor
any of its other modules, since `stagec` imports it for the base class of its errors.
"""

import importlib as _importlib
import typing as _typing
from typing import Any as _Any

if _typing.TYPE_CHECKING:
    from passes.errors import InterpretError, InvalidModuleError, PassError, PatternError, PipelineError, UnknownOpError
    from passes.patterns import Pattern, apply, pattern
    from passes.pipeline import Pass, PassOptions, PassRecord, Report, fingerprint, pass_names, run

__all__ = [
    "InterpretError", "InvalidModuleError", "Pass", "PassError", "PassOptions", "PassRecord", "Pattern", "PatternError",
    "PipelineError", "Report", "UnknownOpError", "apply", "fingerprint", "pass_names", "pattern", "run",
]  # fmt: skip

_MODULES = {
    **dict.fromkeys(("Pattern", "apply", "pattern"), "passes.patterns"),
    **dict.fromkeys(
        ("Pass", "PassOptions", "PassRecord", "Report", "fingerprint", "pass_names", "run"), "passes.pipeline"
    ),
}


# The modules that patterns are written with.
_TOOLS = ("build", "match")


def __getattr__(name: str) -> _Any:
    if name in _TOOLS:
        return _importlib.import_module(f"passes.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'passes' has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(_MODULES.get(name, "passes.errors")), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_TOOLS])
