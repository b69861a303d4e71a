"""Concatenations of parts of one array, and of equal operations on such parts, become one operation. Exact."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.strided import Box, View, box, fitted, reshaped, row_strides
from passes.match import combinations, producer, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.gathers import taken
from passes.simplify.joins import same_number
from passes.simplify.moves import all_static, cloned, is_elementwise, is_static_op, producers_of, used_once

_CONCATENATE = "stablehlo.concatenate"
# How many operations a view is followed back.
_DEPTH = 6


def _reshaped(op: Any, view: View, shape: tuple[int, ...]) -> View | None:
    steps = reshaped(view.steps, view.shape, shape)
    return None if steps is None else View(view.start, steps, shape)


def _sliced(op: Any, view: View, shape: tuple[int, ...]) -> View:
    starts, _, strides = attrs.cut(op)
    start = view.start + sum(a * b for a, b in zip(starts, view.steps))
    return View(start, tuple(a * b for a, b in zip(view.steps, strides)), shape)


def _reversed(op: Any, view: View, shape: tuple[int, ...]) -> View:
    dims = attrs.ints(op, "dimensions")
    start = view.start + sum(view.steps[d] * (shape[d] - 1) for d in dims)
    return View(start, tuple(-step if d in dims else step for d, step in enumerate(view.steps)), shape)


# The view that an operation makes of a view, with its shape.
_MOVED: dict[str, Callable[[Any, View, tuple[int, ...]], View | None]] = {
    "stablehlo.slice": _sliced,
    "stablehlo.reshape": _reshaped,
    "stablehlo.transpose": lambda op, view, shape: View(
        view.start, tuple(view.steps[d] for d in attrs.ints(op, "permutation")), shape
    ),
    "stablehlo.reverse": _reversed,
}


def view_of(value: Any) -> tuple[Any, View]:
    """The array whose elements a value holds in regular steps, and which of them: the value itself, if nothing else."""
    chain: list[Any] = []
    op = producer(value)
    while op is not None and op.operation.name in _MOVED and len(chain) < _DEPTH and all_static(op.operand):
        chain.append(op)
        value, op = op.operand, producer(op.operand)
    while True:
        found: View | None = View(0, row_strides(shape_of(value)), shape_of(value))
        for inner in reversed(chain):
            shape = shape_of(inner.operation.results[0])
            if found is not None:
                found = _MOVED[inner.operation.name](inner, found, shape) if 0 not in found.shape + shape else None
        if found is not None:
            return value, found
        value = chain.pop().operation.results[0]


def _in_steps(views: list[View], dim: int) -> View | None:
    """Return the view that holds views of one array one after the other, along new dimensions, or None.

    There are two of them if the views are the cells of a grid.
    """
    first, count = views[0], len(views)
    if any(_steps(view) != _steps(first) for view in views):
        return None
    starts, steps, shape = np.array([view.start for view in views]), _steps(first), first.shape
    for rows in (n for n in range(1, count) if count % n == 0):
        grid = fitted(starts if rows == 1 else starts.reshape(rows, count // rows))
        if grid is not None:
            return View(
                grid.start, (*steps[:dim], *grid.steps, *steps[dim:]), (*shape[:dim], *grid.shape, *shape[dim:])
            )
    return None


def _steps(view: View) -> tuple[int, ...]:
    """The steps, 0 along dimensions of size 1, where they mean nothing."""
    return tuple(step if size > 1 else 0 for step, size in zip(view.steps, view.shape))


@pattern(*_MOVED, of=tuple(_MOVED))
def moves_of_moves(op: Any) -> Any:
    """slice(reshape(transpose(x))) and the like -> fewer slices, transposes and reversals of x. Exact.

    The law requires that nothing else reads the results in between.
    """
    if not _is_move_of_move(op) or size_of(op.operation.results[0]) == 0:
        return None
    source, view = view_of(op.operation.results[0])
    count, value = 0, op.operation.results[0]
    while value != source:
        maker = producer(value)
        if maker is None or (count and not used_once(maker)):
            return None
        count += maker.operation.name != "stablehlo.reshape"
        value = maker.operand
    cut = box(shape_of(source), view) if count > 1 else None
    return taken(source, view, cut) if cut is not None and _moves(view, cut) < count else None


def _is_move_of_move(op: Any) -> bool:
    """Whether two operations other than reshapes are among those in `_MOVED` that make an op's result."""
    count = 0
    while op is not None and op.operation.name in _MOVED and count < 2:
        count += op.operation.name != "stablehlo.reshape"
        op = producer(op.operand)
    return count == 2


def _moves(view: View, cut: Box) -> int:
    """How many operations other than reshapes `taken` builds."""
    is_turned = list(cut.dims) != sorted(cut.dims)
    return (not cut.is_whole) + bool(cut.reverse) + is_turned + (not view.is_injective)


@pattern(_CONCATENATE, of=tuple(_MOVED))
def concatenate_of_views(op: Any) -> Any:
    """concatenate of equal parts of one array, in regular steps -> a slice, reversal or transpose of it. Exact."""
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    if len(values) < 2 or size_of(op.operation.results[0]) == 0:
        return None
    if any(value.type != values[0].type for value in values[1:]):
        return None
    made = _stacked_view(values, dim)
    return build.reshape(made(), shape_of(op.operation.results[0])) if made is not None else None


def _stacked_view(values: list[Any], dim: int) -> Callable[[], Any] | None:
    """Return a function that builds the stack of parts of one array along a new dimension, or None."""
    if len(set(values)) == 1:
        return None
    pairs = [view_of(value) for value in values]
    source = pairs[0][0]
    if any(other != source for other, _ in pairs[1:]):
        return None
    view = _in_steps([view for _, view in pairs], dim)
    if view is None:
        return None
    cut = box(shape_of(source), view)
    return functools.partial(taken, source, view, cut) if cut is not None else None


Plan = Callable[[], Any]


def _stack(values: list[Any]) -> Plan | None:
    """Return a function that builds the values along a new first dimension from whole arrays, or None."""
    first, shape = values[0], (len(values), *shape_of(values[0]))
    if all(value == first for value in values):
        return lambda: build.broadcast_in_dim(first, shape, range(1, len(shape)))
    if splat_of(first) is not None:
        if not all(same_number(first, value) for value in values):
            return None
        return lambda: build.full(splat_of(first), build.tensor_type(shape, first.type.element_type))
    view = _stacked_view(values, 0)
    if view is not None:
        return view
    makers = producers_of(values)
    if not makers or not all(used_once(maker) and is_static_op(maker) for maker in makers):
        return None
    name = makers[0].operation.name
    if any(maker.operation.name != name or attrs.copied(maker) != attrs.copied(makers[0]) for maker in makers[1:]):
        return None
    if is_elementwise(makers[0]):
        return _stack_of_elementwise(makers, shape)
    rule = _RULES.get(name)
    return rule(makers, shape) if rule is not None else None


def _stack_of_elementwise(makers: list[Any], shape: tuple[int, ...]) -> Plan | None:
    plans: list[Plan] = []
    for column in zip(*(maker.operation.operands for maker in makers)):
        if len(column[0].type.shape) != len(shape) - 1:
            return None  # one number for all elements, such as the predicate of a select
        plan = _stack(list(column))
        if plan is None:
            return None
        plans.append(plan)
    type_ = build.tensor_type(shape, makers[0].operation.results[0].type.element_type)
    name, attributes = makers[0].operation.name, attrs.copied(makers[0])
    return lambda: build.op(name, [plan() for plan in plans], type_, attributes=attributes)


def _stack_of_reduce(makers: list[Any], shape: tuple[int, ...]) -> Plan | None:
    first = makers[0]
    if any(len(maker.inputs) != 1 or maker.init_values[0] != first.init_values[0] for maker in makers):
        return None
    bodies = [combinations(maker.operation.regions[0]) for maker in makers]
    if bodies[0] is None or any(body != bodies[0] for body in bodies):
        return None
    plan = _stack([maker.inputs[0] for maker in makers])
    if plan is None:
        return None
    dims = [d + 1 for d in attrs.ints(first, "dimensions")]
    type_ = build.tensor_type(shape, first.operation.results[0].type.element_type)

    def built() -> Any:
        copy = cloned(first, [plan(), first.init_values[0]], [type_])[0]
        copy.owner.operation.attributes["dimensions"] = build.i64_array(dims)
        return copy

    return built


def _stack_of_reshape(makers: list[Any], shape: tuple[int, ...]) -> Plan | None:
    plan = _stack([maker.operand for maker in makers])
    return None if plan is None else lambda: build.reshape(plan(), shape)


def _stack_of_dot(makers: list[Any], shape: tuple[int, ...]) -> Plan | None:
    """Batches of products with one right side are a product with more rows; others have a batch dimension more."""
    first = makers[0]
    dims = attrs.dot_dimensions(first)
    left, right = [maker.lhs for maker in makers], [maker.rhs for maker in makers]
    same_right = all(value == right[0] for value in right)
    first_plan = _stack(left)
    second_plan = _stack(right) if first_plan is not None else None
    if first_plan is None or second_plan is None or (same_right and dims.lhs_batch):
        return None
    shift = [d + 1 for d in dims.lhs_contract]
    attributes = {k: v for k, v in attrs.copied(first).items() if k != "dot_dimension_numbers"}
    element = first.operation.results[0].type.element_type
    if same_right:
        return lambda: build.dot_general(
            first_plan(), right[0], contracting=(shift, dims.rhs_contract), attributes=attributes, element=element
        )
    batching = [0, *(d + 1 for d in dims.lhs_batch)], [0, *(d + 1 for d in dims.rhs_batch)]
    contracting = shift, [d + 1 for d in dims.rhs_contract]
    plans = first_plan, second_plan
    return lambda: build.dot_general(
        plans[0](), plans[1](), contracting=contracting, batching=batching, attributes=attributes, element=element
    )


_RULES: dict[str, Callable[[list[Any], tuple[int, ...]], Plan | None]] = {
    "stablehlo.reduce": _stack_of_reduce,
    "stablehlo.reshape": _stack_of_reshape,
    "stablehlo.dot_general": _stack_of_dot,
}


@pattern(_CONCATENATE, of=("stablehlo.reduce", "stablehlo.reshape"), reorders=True)
def concatenate_of_stack(op: Any) -> Any:
    """stack(f(x[0]), f(x[1]), ...) -> f(x): equal ops on parts of an array become one op on the whole. Exact.

    f consists of elementwise ops, reductions and products. The law requires that nothing else reads their results.
    """
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    if len(values) < 2 or size_of(op.operation.results[0]) == 0:
        return None
    if any(value.type != values[0].type for value in values[1:]):
        return None
    through = producer(values[0], "stablehlo.reshape")
    maker = producer(values[0] if through is None else through.operand)
    if maker is None or not (maker.operation.name in _RULES or is_elementwise(maker)):
        return None
    plan = _stack(values)
    if plan is None:
        return None
    shape = shape_of(values[0])
    rest = [n for d, n in enumerate(shape) if d != dim or n > 1]
    order = [*range(1, dim + 1), 0, *range(dim + 1, len(rest) + 1)]
    stacked = build.transpose(build.reshape(plan(), [len(values), *rest]), order)
    return build.reshape(stacked, shape_of(op.operation.results[0]))


PATTERNS = laws_of(globals())
