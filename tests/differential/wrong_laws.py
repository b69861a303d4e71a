"""Laws that are wrong, for `stagec.check` to find."""

import passes
from passes import build
from passes.match import producer


@passes.pattern("stablehlo.tanh", exact=False)
def wrong_tanh(op):
    """tanh(x) -> sin(x), which is wrong."""
    return build.op("stablehlo.sine", [op.operand])


@passes.pattern("stablehlo.add", of="stablehlo.multiply", exact=False)
def wrong_sum(op):
    """x * y + z -> x * y - z, which is wrong, and needs two operations."""
    return build.op("stablehlo.subtract", [op.lhs, op.rhs]) if producer(op.lhs, "stablehlo.multiply") else None
