"""Operations that move elements, repeat them, cut parts out or put parts in, and compute none."""

from __future__ import annotations

from typing import Any

from passes.operations.record import Cost, Memory, Operation, Precision


def _row(name: str, operands: str, **facts: Any) -> Operation:
    defaults = {"moves": True, "cost": Cost.FREE, "precision": Precision.EXACT}
    return Operation(f"stablehlo.{name}", operands, **{**defaults, **facts})


_UPDATE: dict[str, Any] = {"moves": False, "memory": Memory.UPDATED}

ROWS = (
    _row("bitcast_convert", "operand", memory=Memory.VIEW),
    _row("broadcast", "operand", repeats=True, may_be_empty=True),
    _row("broadcast_in_dim", "operand", memory=Memory.VIEW, layout=True, repeats=True, may_be_empty=True),
    _row("concatenate", "*inputs", joins=True),
    _row("dynamic_broadcast_in_dim", "operand output_dimensions", repeats=True),
    _row(
        "dynamic_gather",
        "operand start_indices slice_sizes",
        sources="operand",
        indices="start_indices",
        repeats=True,
    ),
    _row(
        "dynamic_pad",
        "operand padding_value edge_padding_low edge_padding_high interior_padding",
        sources="operand",
        joins=True,
    ),
    _row("dynamic_reshape", "operand output_shape"),
    _row(
        "dynamic_slice",
        "operand *start_indices",
        memory=Memory.PART,
        sources="operand",
        indices="start_indices",
        may_be_empty=True,
    ),
    # The result may also be the update, if that is as large.
    _row(
        "dynamic_update_slice",
        "operand update *start_indices",
        sources="operand update",
        written="operand",
        indices="start_indices",
        **_UPDATE,
    ),
    _row(
        "gather", "operand start_indices", sources="operand", indices="start_indices", repeats=True, may_be_empty=True
    ),
    _row("get_dimension_size", "operand", moves=False),
    _row("get_tuple_element", "operand", moves=False),
    _row("optimization_barrier", "operand", memory=Memory.SAME, moves=False),
    _row("pad", "operand padding_value", sources="operand", joins=True, may_be_empty=True),
    _row("real_dynamic_slice", "operand start_indices limit_indices strides", indices="start_indices"),
    _row("reshape", "operand", memory=Memory.SAME, layout=True),
    _row("reverse", "operand"),
    _row("set_dimension_size", "operand size"),
    _row("slice", "operand", memory=Memory.PART, may_be_empty=True),
    _row("torch_index_select", "operand index", indices="index", repeats=True),
    _row("transpose", "operand", memory=Memory.VIEW, layout=True),
    _row("tuple", "*val", moves=False),
)
