"""Reductions of one array made into one op of several results."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build
from passes.fusion.dots import blocks_inside_out
from passes.match import producer, shape_of, single_op


def merge_reductions(module: Any) -> int:
    """reduce(x, f), reduce(x, g) over the same dimensions -> one reduce of both; returns how many went.

    The same combinations of the same elements; the compiler may add floats up in
    another order, as it may for each alone. Reductions that follow one another
    through a value (the sum of x - max(x)) have different inputs and stay apart.
    """
    return sum(_merge_block(block) for block in blocks_inside_out(module.operation))


def _merge_block(block: Any) -> int:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for op in block.operations:
        if op.operation.name != "stablehlo.reduce" or len(op.operation.results) != 1:
            continue
        if single_op(op.operation.regions[0]) is None or producer(op.init_values[0], "stablehlo.constant") is None:
            continue
        groups.setdefault((op.inputs[0], attrs.ints(op, "dimensions")), []).append(op)
    merged = 0
    for (_, dimensions), ops in groups.items():
        if len(ops) > 1:
            _merge(ops, dimensions)
            merged += len(ops) - 1
    return merged


def _merge(ops: list[Any], dimensions: tuple[int, ...]) -> None:
    ir = bindings.ir
    # Initial values are constants, which can move up; so the first op's place is right for all.
    first = ops[0]
    location = ir.Location.fused([op.operation.location for op in ops])
    names = [single_op(op.operation.regions[0]) for op in ops]
    with ir.InsertionPoint(first), location:
        initial = [op.init_values[0].owner.operation.clone().operation.results[0] for op in ops]
        made = build.op(
            "stablehlo.reduce",
            [op.inputs[0] for op in ops] + initial,
            [op.operation.results[0].type for op in ops],
            attributes={"dimensions": build.i64_array(dimensions)},
            regions=1,
        )
        scalars = [build.tensor_type((), value.type.element_type) for value in initial]

        def body(*arguments: Any) -> list[Any]:
            count = len(ops)
            return [build.op(str(name), [arguments[i], arguments[count + i]]) for i, name in enumerate(names)]

        build.unary_region(made, 0, scalars + scalars, body)
    for op, result in zip(ops, made.results):
        assert shape_of(op.operation.results[0]) == shape_of(result)
        op.operation.results[0].replace_all_uses_with(result)
        op.operation.erase()
