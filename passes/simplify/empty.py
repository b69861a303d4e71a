"""Laws of arrays without elements: nothing is computed of them. Exact."""

from __future__ import annotations

from typing import Any

from passes import bindings, build, operations
from passes.analysis.counters import LOOP
from passes.match import functions, is_static, shape_of
from passes.patterns import laws_of, pattern
from passes.simplify.regions import is_pure, with_results, with_zeros, without_state


def is_empty(value: Any) -> bool:
    """Whether a value is an array of static shape without elements."""
    return is_static(value) and 0 in shape_of(value)


_CUTTING = operations.where(may_be_empty=True)
# Where results of these have no elements, an operand has none.
_OTHERS = tuple(
    row.name
    for row in operations.TABLE.values()
    if row.operands != "" and not row.effects and not row.random and not row.may_be_empty
)


def _nothing(op: Any) -> Any:
    """Constants without elements for the results of an op, all of which are such arrays."""
    results = list(op.operation.results)
    if not results or not all(map(is_empty, results)) or not is_pure(op.operation):
        return None
    return [build.full(0, result) for result in results]


@pattern(*_CUTTING)
def nothing_of_array(op: Any) -> Any:
    """An op that takes no elements of an array -> an array without elements. Exact."""
    return _nothing(op)


@pattern(*_OTHERS, of="stablehlo.constant")
def nothing_of_nothing(op: Any) -> Any:
    """An op on arrays without elements -> an array without elements. Exact."""
    return _nothing(op)


@pattern("stablehlo.convolution", of="stablehlo.constant")
def convolution_of_nothing(op: Any) -> Any:
    """A convolution with an array without elements -> zeros: sums of nothing. Exact."""
    result = op.operation.results[0]
    if not is_static(result) or not any(map(is_empty, op.operation.operands)):
        return None
    return build.full(0, result)


@pattern(LOOP)
def empty_state(op: Any) -> Any:
    """State without elements -> a constant without elements. Exact."""
    operands = list(op.operation.operands)
    empty = [i for i, value in enumerate(operands) if is_empty(value)]
    if not empty or len(empty) == len(operands):
        return None
    return without_state(op, {i: build.full(0, operands[i]) for i in empty})


@pattern(*operations.CONDITIONALS)
def empty_results(op: Any) -> Any:
    """A conditional with results without elements -> one that returns the others. Exact."""
    results = list(op.operation.results)
    kept = [i for i, result in enumerate(results) if not is_empty(result)]
    if len(kept) == len(results) or not kept:
        return None
    return with_zeros(op, dict(zip(kept, with_results(op, kept))))


def replace_arguments(module: Any) -> int:
    """Replace arguments without elements by constants, where ops read them; return how many."""
    count = 0
    for function in functions(module).values():
        for block in function.regions[0].blocks:
            for argument in [value for value in block.arguments if is_empty(value)]:
                readers = [use.owner.operation for use in argument.uses]
                readers = [reader for reader in readers if reader.name != "func.return"]
                if not readers:
                    continue
                with bindings.ir.InsertionPoint.at_block_begin(block), function.location:
                    nothing = build.full(0, argument)
                for reader in readers:
                    reader.replace_uses_of_with(argument, nothing)
                count += 1
    return count


PATTERNS = laws_of(globals())
