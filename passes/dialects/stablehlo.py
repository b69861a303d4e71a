"""Op views of StableHLO: `op.lhs`, `op.operand`, `op.inputs`, ..."""

from __future__ import annotations

from passes.dialects.views import define

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

VIEWS = define(
    "stablehlo",
    {
        **dict.fromkeys(_UNARY.split(), "operand"),
        **dict.fromkeys(_BINARY.split(), "lhs rhs"),
        **_OTHER,
    },
)
