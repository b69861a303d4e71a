"""StableHLO -> StableHLO: rewrites that a user can read, run and extend.

Knows MLIR and nothing of stagec. Importing it does not load the compiler.
"""

from passes.errors import InterpretError, InvalidModuleError, PassError, PatternError, PipelineError
from passes.pattern import Pattern, apply, pattern
from passes.pipeline import Pass, PassOptions, PassRecord, Report, fingerprint, pass_names, run

__all__ = [
    "InterpretError",
    "InvalidModuleError",
    "Pass",
    "PassError",
    "PassOptions",
    "PassRecord",
    "Pattern",
    "PatternError",
    "PipelineError",
    "Report",
    "apply",
    "fingerprint",
    "pass_names",
    "pattern",
    "run",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "build", "match"])
