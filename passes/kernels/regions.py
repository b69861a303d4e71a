"""Regions of operations, such as those of `map` and `reduce`, for one element or a vector of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from passes.kernels import structure
from passes.kernels.arithmetic import apply
from passes.kernels.builder import Builder
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.values import Element, Item, RefusedError
from passes.match import splat_of


class _Step(NamedTuple):
    """An operation of a region, read once: its operands are numbers of values in the region, or values outside."""

    op: Any
    operands: list[Any]
    element: Element
    constant: Any
    location: str


class _Region(NamedTuple):
    """The operations of a region, and what it returns.

    Attributes:
      kind: a number that equal regions share; None for one that uses values from outside.
    """

    steps: list[_Step]
    results: list[Any]
    kind: int | None


def _read(block: Any, kinds: dict[Any, Any]) -> _Region:
    numbers = {argument: n for n, argument in enumerate(block.arguments)}
    steps: list[_Step] = []
    constants: list[Any] = []
    is_closed = True
    for op in (o.operation for o in block.operations):
        for value in op.operands:
            # Constants that folding has made are outside of the region.
            number = splat_of(value) if value not in numbers else None
            if number is not None:
                element = element_type(value.type)[1]
                steps.append(_Step(None, [], element, number.item(), ""))
                constants.append((value.type, number.tobytes()))
                numbers[value] = len(numbers)
        operands = [numbers.get(value, value) for value in op.operands]
        is_closed = is_closed and all(isinstance(value, int) for value in operands)
        if op.name == "stablehlo.return":
            what = structure.of_block(block, {}), *constants
            return _Region(steps, operands, kinds.setdefault(what, len(kinds)) if is_closed else None)
        if len(op.results) != 1 or not op.name.startswith("stablehlo."):
            raise RefusedError(f"{op.name} in the region of an operation")
        number = splat_of(op.results[0]) if op.name == "stablehlo.constant" else None
        constant = None if number is None else number.item()
        steps.append(_Step(op, operands, element_type(op.results[0].type)[1], constant, str(op.location)))
        numbers[op.results[0]] = len(numbers)
    raise AssertionError("a region ends with its terminator")


def region(k: Lowering, builder: Builder, block: Any, items: Sequence[Item], elements: Sequence[Element]) -> list[Item]:
    """The results of a region of elementwise operations on scalars, for an element or a vector of them."""
    if block not in k.regions:
        k.regions[block] = _read(block, k.regions)
    found = k.regions[block]
    if found.kind is None:
        return _written(k, builder, found, items, elements)
    # What it costs follows from what it is, and which operands are vectors.
    key = found.kind, *(item.is_vector for item in items)
    return builder.repeated(key, k.regions, lambda: _written(k, builder, found, items, elements))


def _written(
    k: Lowering, builder: Builder, found: _Region, items: Sequence[Item], elements: Sequence[Element]
) -> list[Item]:
    known = list(zip(items, elements))

    def of(value: Any) -> tuple[Item, Element]:
        if isinstance(value, int):
            return known[value]
        outer = k.env[value]
        return builder.get(outer, ()), outer.element

    for op, operands, element, constant, location in found.steps:
        if constant is not None:
            known.append((Item(builder.constant(constant, element)), element))
            continue
        values = [of(value) for value in operands]
        with builder.located(location):
            item = apply(builder, op, [i for i, _ in values], [e for _, e in values], element)
        known.append((item, element))
    return [of(value)[0] for value in found.results]
