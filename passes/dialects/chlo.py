"""Op views of CHLO: `op.operand`, `op.lhs`, ..."""

from __future__ import annotations

from passes.dialects.views import define

_UNARY = """acos acosh asin asin_acos_kernel asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf
is_neg_inf is_pos_inf lgamma sinh square tan constant_like top_k"""

_BINARY = """broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide
broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma
broadcast_power broadcast_remainder broadcast_shift_left broadcast_shift_right_arithmetic
broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta next_after polygamma zeta"""

VIEWS = define(
    "chlo",
    {
        **dict.fromkeys(_UNARY.split(), "operand"),
        **dict.fromkeys(_BINARY.split(), "lhs rhs"),
        "broadcast_select": "pred on_true on_false",
        "constant": "",
        "dynamic_reshape": "operand output_shape",
        "ragged_dot": "lhs rhs group_sizes",
        "_asin_acos_kernel": "operand",
    },
)
