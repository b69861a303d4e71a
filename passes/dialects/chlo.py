"""Op views of CHLO: `op.operand`, `op.lhs`, ..."""

from __future__ import annotations

from passes.dialects.views import define

VIEWS = define("chlo")
