"""Regions of operations, such as those of `map` and `reduce`, for one element or a vector of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from passes.kernels.arithmetic import apply
from passes.kernels.builder import Builder
from passes.kernels.elements import Element, RefusedError
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.values import Item
from passes.match import splat_of

# The code of longer regions of `map` is written once for all calls.
_LONG = 24


class _Step(NamedTuple):
    """An operation of a region, parsed once; its operands are indices of the region's values, or captured values."""

    op: Any
    operands: list[Any]
    element: Element
    constant: Any
    location: Any


class _Region(NamedTuple):
    """A region of elementwise operations on scalars.

    Attributes:
      steps: its operations. Operands are numbers of its arguments, after which come the results of the steps.
      results: what it returns, as operands are given.
    """

    steps: list[_Step]
    results: list[Any]


def _read(block: Any, is_closed: bool) -> _Region:
    """Parse a region.

    Args:
      is_closed: whether it captures constants of one number only, which are read like its own.
    """
    numbers = {argument: n for n, argument in enumerate(block.arguments)}
    steps: list[_Step] = []

    def add(value: Any, op: Any, operands: list[Any], is_constant: bool) -> None:
        number = splat_of(value) if is_constant else None
        constant = None if number is None else number.item()
        steps.append(_Step(op, operands, element_type(value.type)[1], constant, "" if is_constant else op.location))
        numbers[value] = len(numbers)

    for op in (o.operation for o in block.operations):
        for value in op.operands if is_closed else ():
            if value not in numbers:
                add(value, value.owner, [], True)
        operands = [numbers.get(value, value) for value in op.operands]
        if op.name == "stablehlo.return":
            return _Region(steps, operands)
        if len(op.results) != 1 or not op.name.startswith("stablehlo."):
            raise RefusedError(f"{op.name} in the region of an operation")
        add(op.results[0], op, operands, op.name == "stablehlo.constant")
    raise AssertionError("a region ends with its terminator")


def region(
    k: Lowering, builder: Builder, block: Any, items: Sequence[Item], elements: Sequence[Element], wide: bool = False
) -> list[Item]:
    """The results of a region of elementwise operations on scalars, for an element or a vector of them.

    Args:
      wide: whether results of narrow floats stay in the wider type, without rounding.
    """
    op = block.owner.operation
    kind, known = k.bodies.of(op).kind, k.bodies.known
    is_long = kind is not None and op.name == "stablehlo.map" and len(block.operations) > _LONG
    cache, name = (known, kind) if is_long else (k.regions, block)
    found = cache.get(name)
    if found is None:
        found = cache[name] = _read(block, kind is not None)
    if kind is None:
        return _written(k, builder, found, items, elements, wide)
    # The cost depends on the region, and on which operands are vectors.
    key = kind, wide, *(item.is_vector for item in items)
    if not is_long:
        return builder.repeated(key, known, lambda: _written(k, builder, found, items, elements, wide))
    result = element_type(op.results[0].type)[1]
    operands = list(zip(items, elements))
    return [builder.called(key, known, operands, result, lambda b, i: _written(k, b, found, i, elements, wide)[0])]


def _written(
    k: Lowering, builder: Builder, found: _Region, items: Sequence[Item], elements: Sequence[Element], wide: bool
) -> list[Item]:
    known = list(zip(items, elements))

    def of(value: Any) -> tuple[Item, Element]:
        if isinstance(value, int):
            return known[value]
        outer = k.env[value]
        return builder.get(outer, ()), outer.element

    for op, operands, narrow, constant, location in found.steps:
        element = narrow.wide if wide else narrow
        if constant is not None:
            known.append((Item(builder.constant(constant, element)), element))
            continue
        values = [of(value) for value in operands]
        with builder.located(location):
            item = apply(builder, op, [i for i, _ in values], [e for _, e in values], element)
        known.append((item, element))
    return [of(value)[0] for value in found.results]
