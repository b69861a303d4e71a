"""The operands' names of StableHLO's and CHLO's ops: plain tables, which load no compiler."""

from __future__ import annotations

import difflib

from passes.errors import UnknownOpError, caller, message

_UNARY = """abs bitcast_convert cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one
floor imag is_finite log log_plus_one logistic negate not optimization_barrier popcnt real round_nearest_afz
round_nearest_even rsqrt sign sine sqrt tan tanh broadcast_in_dim broadcast reshape reverse slice transpose
cholesky fft reduce_precision get_tuple_element all_gather all_to_all collective_permute
get_dimension_size"""

_BINARY = """add and atan2 compare complex divide maximum minimum multiply or power remainder shift_left
shift_right_arithmetic shift_right_logical subtract xor dot dot_general convolution"""

_OTHER = {
    "after_all": "*inputs",
    "all_reduce": "*inputs",
    "batch_norm_grad": "operand scale mean variance grad_output",
    "batch_norm_inference": "operand scale offset mean variance",
    "batch_norm_training": "operand scale offset",
    "case": "index",
    "clamp": "min operand max",
    "composite": "*inputs",
    "concatenate": "*inputs",
    "constant": "",
    "custom_call": "*inputs",
    "dynamic_broadcast_in_dim": "operand output_dimensions",
    "dynamic_conv": "lhs rhs padding",
    "dynamic_gather": "operand start_indices slice_sizes",
    "dynamic_iota": "output_shape",
    "dynamic_pad": "operand padding_value edge_padding_low edge_padding_high interior_padding",
    "dynamic_reshape": "operand output_shape",
    "dynamic_slice": "operand *start_indices",
    "dynamic_update_slice": "operand update *start_indices",
    "einsum": "lhs rhs",
    "gather": "operand start_indices",
    "if": "pred",
    "infeed": "token",
    "iota": "",
    "map": "*inputs",
    "outfeed": "*inputs",
    "pad": "operand padding_value",
    "partition_id": "",
    "real_dynamic_slice": "operand start_indices limit_indices strides",
    "recv": "token",
    "reduce": "*inputs *init_values",
    "reduce_scatter": "operand",
    "reduce_window": "*inputs *init_values",
    "replica_id": "",
    "return": "*results_",
    "rng": "a b shape",
    "rng_bit_generator": "initial_state",
    "scatter": "*inputs scatter_indices *updates",
    "select": "pred on_true on_false",
    "select_and_scatter": "operand source init_value",
    "send": "*inputs",
    "set_dimension_size": "operand size",
    "sort": "*inputs",
    "torch_index_select": "operand index",
    "triangular_solve": "a b",
    "tuple": "*val",
    "uniform_dequantize": "operand",
    "uniform_quantize": "operand",
    "while": "*operand",
    "create_token": "",
    "cross-replica-sum": "operand",
    "unary_einsum": "operand",
    "collective_broadcast": "operand",
}

STABLEHLO: dict[str, str] = {
    **dict.fromkeys(_UNARY.split(), "operand"),
    **dict.fromkeys(_BINARY.split(), "lhs rhs"),
    **_OTHER,
}

_CHLO_UNARY = """acos acosh asin asin_acos_kernel asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf
is_neg_inf is_pos_inf lgamma sinh square tan constant_like top_k"""

_CHLO_BINARY = """broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide
broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma
broadcast_power broadcast_remainder broadcast_shift_left broadcast_shift_right_arithmetic
broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta next_after polygamma zeta"""

CHLO: dict[str, str] = {
    **dict.fromkeys(_CHLO_UNARY.split(), "operand"),
    **dict.fromkeys(_CHLO_BINARY.split(), "lhs rhs"),
    "broadcast_select": "pred on_true on_false",
    "constant": "",
    "dynamic_reshape": "operand output_shape",
    "ragged_dot": "lhs rhs group_sizes",
    "_asin_acos_kernel": "operand",
}

# Ops without operands' names: their views are MLIR's own.
_PLAIN = {"stablehlo": "async_done async_start collective_reduce", "chlo": "mulhi scan"}


def op_names(dialect: str) -> frozenset[str]:
    """The full names of a dialect's ops; empty for a dialect that has no table."""
    table = {"stablehlo": STABLEHLO, "chlo": CHLO}.get(dialect, {})
    return frozenset(f"{dialect}.{name}" for name in (*table, *_PLAIN.get(dialect, "").split()))


def unknown_op(name: str, what: str) -> UnknownOpError:
    """The error for an op that does not exist.

    Args:
      what: the function that was given the name.
    """
    dialect, _, short = name.rpartition(".")
    known = sorted(op_names(dialect) or op_names("stablehlo") | op_names("chlo"), reverse=True)
    # Compared without the dialect: its letters would make any two names alike.
    names = [k.partition(".")[2] for k in known]
    near = [short] if short in names else difflib.get_close_matches(short, names, n=3)
    close = [k for n in dict.fromkeys(near) for k in known if k.partition(".")[2] == n]
    fix = f"did you mean {' or '.join(map(repr, close))}?" if close else "passes.dialects.operands lists the ops"
    return UnknownOpError(message(f"{what}: there is no op {name}", caller(), fix=fix))
