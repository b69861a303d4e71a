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


class _Step(NamedTuple):
    """An operation of a region, parsed once; its operands are indices of the region's values, or captured values."""

    op: Any
    operands: list[Any]
    element: Element
    constant: Any
    location: str


class _Region:
    """The operations of a region, parsed when first needed.

    Attributes:
      block: the region's only block.
      kind: a number that equal regions share; None for one that captures more than constants.
    """

    def __init__(self, block: Any, kind: int | None) -> None:
        self.block, self.kind = block, kind
        self._read: tuple[list[_Step], list[Any]] | None = None

    def read(self) -> tuple[list[_Step], list[Any]]:
        """The steps, and what the region returns."""
        if self._read is None:
            self._read = self._steps()
        return self._read

    def _steps(self) -> tuple[list[_Step], list[Any]]:
        numbers = {argument: n for n, argument in enumerate(self.block.arguments)}
        steps: list[_Step] = []
        for op in (o.operation for o in self.block.operations):
            operands = [numbers.get(value, value) for value in op.operands]
            if op.name == "stablehlo.return":
                return steps, operands
            if len(op.results) != 1 or not op.name.startswith("stablehlo."):
                raise RefusedError(f"{op.name} in the region of an operation")
            number = splat_of(op.results[0]) if op.name == "stablehlo.constant" else None
            constant = None if number is None else number.item()
            steps.append(_Step(op, operands, element_type(op.results[0].type)[1], constant, str(op.location)))
            numbers[op.results[0]] = len(numbers)
        raise AssertionError("a region ends with its terminator")


def region(
    k: Lowering, builder: Builder, block: Any, items: Sequence[Item], elements: Sequence[Element], wide: bool = False
) -> list[Item]:
    """The results of a region of elementwise operations on scalars, for an element or a vector of them.

    Args:
      wide: whether results of narrow floats stay in the wider type, without rounding.
    """
    if block not in k.regions:
        k.regions[block] = _Region(block, k.bodies.of(block.owner.operation).kind)
    found = k.regions[block]
    if found.kind is None:
        return _written(k, builder, found, items, elements, wide)
    # The cost depends on the region, and on which operands are vectors.
    key = found.kind, wide, *(item.is_vector for item in items)
    return builder.repeated(key, k.regions, lambda: _written(k, builder, found, items, elements, wide))


def _written(
    k: Lowering, builder: Builder, found: _Region, items: Sequence[Item], elements: Sequence[Element], wide: bool
) -> list[Item]:
    steps, results = found.read()
    known = list(zip(items, elements))

    def of(value: Any) -> tuple[Item, Element]:
        if isinstance(value, int):
            return known[value]
        outer = k.env[value]
        return builder.get(outer, ()), outer.element

    for op, operands, narrow, constant, location in steps:
        element = narrow.wide if wide else narrow
        if constant is not None:
            known.append((Item(builder.constant(constant, element)), element))
            continue
        values = [of(value) for value in operands]
        with builder.located(location):
            item = apply(builder, op, [i for i, _ in values], [e for _, e in values], element)
        known.append((item, element))
    return [of(value)[0] for value in results]
