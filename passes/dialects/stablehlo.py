"""Op views of StableHLO: `op.lhs`, `op.operand`, `op.inputs`, ..."""

from __future__ import annotations

from passes.dialects.views import define

VIEWS = define("stablehlo")
