"""Reductions, windows, products, control flow, communication, and operations without operands."""

from __future__ import annotations

from typing import Any

from passes.operations.record import Cost, Memory, Operation, Precision, Regions


def _row(name: str, operands: str | None, **facts: Any) -> Operation:
    return Operation(f"stablehlo.{name}", operands, **facts)


_NEW: dict[str, Any] = {"memory": Memory.NEW}
_ELEMENTS: dict[str, Any] = {"regions": Regions.ELEMENTS}
_EFFECTS: dict[str, Any] = {"effects": True}

_MADE = (
    _row("constant", "", cost=Cost.FREE, precision=Precision.EXACT, **_NEW),
    _row("create_token", ""),
    _row("dynamic_iota", "output_shape"),
    _row("iota", "", may_be_empty=True, cost=Cost.FREE, precision=Precision.EXACT, **_NEW),
    _row("partition_id", ""),
    _row("replica_id", ""),
    _row("rng", "a b shape", random=True),
    _row("rng_bit_generator", "initial_state", **_NEW),
)

_COMBINED = (
    _row("map", "*inputs", **_ELEMENTS),
    _row("reduce", "*inputs *init_values", **_ELEMENTS),
    _row("reduce_window", "*inputs *init_values", may_be_empty=True, **_ELEMENTS),
    _row(
        "scatter",
        "*inputs scatter_indices *updates",
        memory=Memory.UPDATED,
        written="inputs",
        indices="scatter_indices",
        cost=Cost.FREE,
        **_ELEMENTS,
    ),
    _row("select_and_scatter", "operand source init_value", **_ELEMENTS),
    _row("sort", "*inputs", written="inputs", **_ELEMENTS),
)

_PRODUCTS = (
    _row("batch_norm_grad", "operand scale mean variance grad_output"),
    _row("batch_norm_inference", "operand scale offset mean variance"),
    _row("batch_norm_training", "operand scale offset"),
    _row("cholesky", "operand", **_NEW),
    _row("convolution", "lhs rhs", repeats=True, may_be_empty=True, **_NEW),
    _row("dot", "lhs rhs", repeats=True),
    _row("dot_general", "lhs rhs", repeats=True),
    _row("dynamic_conv", "lhs rhs padding", repeats=True),
    _row("einsum", "lhs rhs", repeats=True),
    _row("fft", "operand", **_NEW),
    _row("triangular_solve", "a b", **_NEW),
    _row("unary_einsum", "operand"),
)

_CONTROL = (
    _row("after_all", "*inputs"),
    _row("case", "index", regions=Regions.CONDITIONAL, **_EFFECTS),
    _row("composite", "*inputs"),
    _row("custom_call", "*inputs", **_EFFECTS),
    _row("if", "pred", regions=Regions.CONDITIONAL, **_EFFECTS),
    _row("infeed", "token", **_EFFECTS),
    _row("outfeed", "*inputs", **_EFFECTS),
    _row("recv", "token", **_EFFECTS),
    _row("return", "*results_"),
    _row("send", "*inputs", **_EFFECTS),
    _row("while", "*operand", regions=Regions.LOOP, **_EFFECTS),
)

_COLLECTIVE = (
    _row("all_gather", "operand"),
    _row("all_reduce", "*inputs", **_ELEMENTS),
    _row("all_to_all", "operand"),
    _row("async_done", None),
    _row("async_start", None),
    _row("collective_broadcast", "operand"),
    _row("collective_permute", "operand"),
    _row("collective_reduce", None),
    _row("cross-replica-sum", "operand"),
    _row("reduce_scatter", "operand", **_ELEMENTS),
)

# Operations that broadcast their operands themselves, which the passes leave to the compiler.
_BROADCASTING = """add and atan2 compare complex divide maximum minimum multiply next_after or polygamma power remainder
shift_left shift_right_arithmetic shift_right_logical subtract xor zeta"""

_CHLO = (
    *(Operation(f"chlo.broadcast_{name}", "lhs rhs") for name in _BROADCASTING.split()),
    Operation("chlo._asin_acos_kernel", "operand"),
    Operation("chlo.asin_acos_kernel", "operand"),
    Operation("chlo.broadcast_select", "pred on_true on_false"),
    Operation("chlo.constant", ""),
    Operation("chlo.constant_like", "operand"),
    Operation("chlo.dynamic_reshape", "operand output_shape"),
    Operation("chlo.mulhi", None),
    Operation("chlo.ragged_dot", "lhs rhs group_sizes"),
    Operation("chlo.scan", None),
    Operation("chlo.top_k", "operand", written="operand"),
)

ROWS = (*_MADE, *_COMBINED, *_PRODUCTS, *_CONTROL, *_COLLECTIVE, *_CHLO)
