"""Helpers that rebuild ops with regions, and compare the values in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.analysis.counters import trip_count
from passes.match import captured_values, constant_of, is_integer, operations_in, yielded
from passes.simplify.moves import cloned

_DEPTH = 64


def inlined_region(op: Any, number: int, arguments: Sequence[Any]) -> list[Any]:
    """Copy a region's ops to the insertion point, with values for its arguments, and return what the region returns."""
    copy = op.operation.clone(ip=False)
    return build.inlined(copy.regions[number].blocks[0], arguments)


def on_arrays(op: Any, number: int, values: Sequence[Any], shape: Sequence[int]) -> list[Any] | None:
    """Apply a region of scalars to each element of arrays, and return what it makes of them.

    Args:
      values: an array of `shape` for each argument of the region.

    Returns:
      Arrays of `shape`; None if the region has ops that are not elementwise.
    """
    block = op.operation.regions[number].blocks[0]
    inner = [o.operation for o in block.operations][:-1]
    if any(not operations.of(o.name).elementwise and o.name != "stablehlo.constant" for o in inner):
        return None
    known = dict(zip(block.arguments, values, strict=True))

    def repeated(value: Any) -> Any:
        return build.broadcast_in_dim(value, shape, ())

    def array(value: Any) -> Any:
        if value not in known:
            known[value] = repeated(value)
        return known[value]

    for o in inner:
        operands = [array(value) for value in o.operands]
        types = [build.tensor_type(shape, result.type.element_type) for result in o.results] if operands else []
        made = cloned(o, operands, types)
        known.update(zip(o.results, made if operands else map(repeated, made)))
    return [array(value) for value in yielded(block)]


def reached(block: Any, values: list[Any]) -> set[int] | None:
    """Return the indices of the arguments on which values of a block depend; None if ops in it have regions."""
    ops = [o.operation for o in block.operations]
    if any(len(o.regions) for o in ops):
        return None
    needed = set(values)
    for o in reversed(ops):
        if any(result in needed for result in o.results):
            needed.update(o.operands)
    return {argument.arg_number for argument in block.arguments if argument in needed}


def is_function(operation: Any) -> bool:
    """Whether an op has results, no regions and no effects, and its results depend on its operands alone."""
    row = operations.TABLE.get(operation.name)
    if row is None or row.effects or row.random:
        return False
    return len(operation.results) > 0 and not len(operation.regions)


def is_pure(operation: Any) -> bool:
    """Whether an op has no effects and its results depend on its operands alone, as those of a reduction do."""
    if operations.of(operation.name).regions is not operations.Regions.ELEMENTS:
        return is_function(operation)
    return not captured_values(operation)


def has_effects(operation: Any) -> bool:
    """Whether an op itself, apart from the ops in its regions, may have side effects."""
    row = operations.TABLE.get(operation.name)
    return row is None or (row.effects and not row.is_control)


def operations_of(block: Any) -> list[Any]:
    """The operations of a block and those in their regions, outer ones first."""
    return [o for top in block.operations for o in (top.operation, *operations_in(top))]


def rounds_of(loop: Any) -> int | None:
    """The trip count of a loop that other ops may replace; None if it is not known, or the loop has to stay.

    It has to if its condition calls the host.
    """
    count = trip_count(loop)
    if count is None:
        return None
    return None if any(map(has_effects, operations_of(loop.regions[0].blocks[0]))) else count


def may_trap(operation: Any) -> bool:
    """Whether it may end the process, as a division of integers by zero does on some processors."""
    inner = [operation, *operations_in(operation)] if len(operation.regions) else [operation]
    return any(operations.of(o.name).partial and is_integer(o.results[0]) for o in inner)


def with_results(op: Any, kept: Sequence[int]) -> list[Any]:
    """Rebuild a conditional so that it returns only some of its results, by index; return those."""
    copy = op.operation.clone(ip=False)
    for region in copy.regions:
        _return(region.blocks[0], [yielded(region.blocks[0])[i] for i in kept])
    return list(_with_regions_of(copy, list(op.operation.operands), kept).results)


def with_zeros(op: Any, made: Mapping[int, Any]) -> list[Any]:
    """Return the results in `made`, by index, with zeros for the others, which nothing reads."""
    return [made[i] if i in made else build.full(0, result) for i, result in enumerate(op.operation.results)]


def with_operands(op: Any, kept: Sequence[int], arguments: Sequence[int]) -> list[Any]:
    """Rebuild a reduction or sort with only some of its results and region arguments, by index; return those results.

    Nothing that stays may depend on the other arguments.
    """
    operation = op.operation
    copy = operation.clone(ip=False)
    block = copy.regions[0].blocks[0]
    returned = yielded(block)
    _return(block, [returned[i] for i in kept] if len(returned) == len(operation.results) > 1 else returned)
    for inner in reversed([o.operation for o in block.operations][:-1]):
        if not any(True for result in inner.results for _ in result.uses):
            inner.erase()
    for i in range(len(block.arguments) - 1, -1, -1):
        if i not in arguments:
            block.erase_argument(i)
    # Each result has as many operands: an array, and in a reduction an initial value.
    groups = range(0, len(operation.operands), len(operation.results))
    operands = [operation.operands[start + i] for start in groups for i in kept]
    return list(_with_regions_of(copy, operands, kept).results)


def without_state(op: Any, instead: Mapping[int, Any]) -> list[Any]:
    """Rebuild a loop without some parts of its state.

    Args:
      instead: by index of a dropped part, what it equals: the index of another part, or a value from outside.

    Returns:
      The replacement of each result of the original loop.
    """
    count = len(op.operation.operands)
    kept = [i for i in range(count) if i not in instead]
    copy = op.operation.clone(ip=False)
    for region in copy.regions:
        block = region.blocks[0]
        for i, value in instead.items():
            block.arguments[i].replace_all_uses_with(block.arguments[value] if isinstance(value, int) else value)
    body = copy.regions[1].blocks[0]
    _return(body, [yielded(body)[i] for i in kept])
    for region in copy.regions:
        for i in sorted(instead, reverse=True):
            region.blocks[0].erase_argument(i)
    results = dict(zip(kept, _with_regions_of(copy, [op.operation.operands[i] for i in kept], kept).results))
    for i, value in instead.items():
        results[i] = results[value] if isinstance(value, int) else value
    return [results[i] for i in range(count)]


def with_state(op: Any, initial: Any, numbers: Sequence[int], following: int) -> list[Any]:
    """Rebuild a loop with one more part of its state, which takes the place of ops of its body.

    Args:
      initial: what it is before the loop.
      numbers: the positions of the ops in the body; each has one result, of the type of `initial`.
      following: the position of the op whose result it is in the next round.

    Returns:
      The replacement of each result of the original loop.
    """
    operation = op.operation
    copy = operation.clone(ip=False)
    blocks = [region.blocks[0] for region in copy.regions]
    _, argument = [block.add_argument(initial.type, operation.location) for block in blocks]
    inner = [o.operation for o in blocks[1].operations]
    for number in numbers:
        inner[number].results[0].replace_all_uses_with(argument)
        inner[number].erase()
    _return(blocks[1], [*yielded(blocks[1]), inner[following].results[0]])
    return _loop_from(copy, [*operation.operands, initial])[:-1]


def with_initial(copy: Any, number: int, initial: Any) -> list[Any]:
    """Build a loop of the regions of a copy, a part of whose state begins with another value; return its results."""
    return _loop_from(copy, [initial if i == number else value for i, value in enumerate(copy.operands)])


def _loop_from(copy: Any, state: Sequence[Any]) -> list[Any]:
    """Build a loop of the regions of a copy, which begins with other state, of any types; return its results."""
    types = [value.type for value in state]
    return list(with_regions(copy.name, state, types, list(copy.regions), attrs.copied(copy)).results)


def with_types(op: Any, types: Mapping[int, Any]) -> list[Any]:
    """Rebuild a loop with parts of its state, by index, in the types that its body reshapes them to and from.

    Returns:
      The replacement of each result of the original loop.
    """
    operation = op.operation
    copy, old = operation.clone(ip=False), [result.type for result in operation.results]
    for region in copy.regions:
        block = region.blocks[0]
        for i, type_ in types.items():
            _retype(block, block.arguments[i], type_, operation.location)
    body = copy.regions[1].blocks[0]
    _return(body, [v.owner.operation.operands[0] if i in types else v for i, v in enumerate(yielded(body))])
    for i, type_ in types.items():
        copy.results[i].set_type(type_)
    operands = [build.reshape(v, types[i].shape) if i in types else v for i, v in enumerate(operation.operands)]
    made = _with_regions_of(copy, operands, range(len(operands)))
    return [build.reshape(v, old[i].shape) if i in types else v for i, v in enumerate(made.results)]


def _retype(block: Any, argument: Any, type_: Any, location: Any) -> None:
    """Change the type of a block's argument: reshapes to that type are it now, and other ops read a reshape of it."""
    reshapes = [use.owner.operation for use in argument.uses if use.owner.name == "stablehlo.reshape"]
    reshapes = [reshape for reshape in reshapes if reshape.results[0].type == type_]
    shape, is_read = argument.type.shape, False
    with bindings.ir.InsertionPoint.at_block_begin(block), location:
        # It has the other uses of the argument while the type changes.
        stand = build.full(0, argument)
        for use in list(argument.uses):
            if use.owner.operation not in reshapes:
                use.owner.operation.operands[use.operand_number] = stand
                is_read = True
        argument.set_type(type_)
        for reshape in reshapes:
            reshape.results[0].replace_all_uses_with(argument)
            reshape.erase()
        if is_read:
            stand.replace_all_uses_with(build.reshape(argument, shape))
        stand.owner.operation.erase()


def with_sources(ops: Mapping[int, Any], is_wanted: Callable[[Any], bool]) -> list[int]:
    """Return the numbers of the ops that are wanted, and of those among `ops` that they are computed from, in order.

    Args:
      ops: by number, which is greater than those of the ops whose results an op reads.
    """
    makers = {result: number for number, op in ops.items() for result in op.results}
    found: set[int] = set()
    for number in sorted(ops, reverse=True):
        if number in found or is_wanted(ops[number]):
            found.add(number)
            found.update(makers[value] for value in ops[number].operands if value in makers)
    return sorted(found)


def hoisted(op: Any, numbers: Sequence[int]) -> Any:
    """Clone a loop with ops of its body, by their positions, hoisted before it; return the clone."""
    values: dict[Any, Any] = {}
    body = [o.operation for o in op.operation.regions[1].blocks[0].operations]
    for number in numbers:
        made = cloned(body[number], [values.get(v, v) for v in body[number].operands], [])
        values.update(zip(body[number].results, made))
    copy = op.operation.clone(bindings.ir.InsertionPoint.current).operation
    inner = [o.operation for o in copy.regions[1].blocks[0].operations]
    for number in numbers:
        for old, original in zip(inner[number].results, body[number].results):
            old.replace_all_uses_with(values[original])
    # The driver would hoist them again before it notices that nothing reads them.
    for number in numbers:
        inner[number].erase()
    return copy


def _return(block: Any, values: Sequence[Any]) -> None:
    """Make the block of a copy return other values."""
    end = list(block.operations)[-1].operation
    with bindings.ir.InsertionPoint(end), end.location:
        build.op("stablehlo.return", values, [])
    end.erase()


def _with_regions_of(copy: Any, operands: Sequence[Any], kept: Sequence[int]) -> Any:
    """Move the regions of a copy to a new op with other operands and some of the copy's results; return the op."""
    types = [copy.results[i].type for i in kept]
    return with_regions(copy.name, operands, types, list(copy.regions), attrs.copied(copy))


def with_regions(
    name: str, operands: Sequence[Any], types: Sequence[Any], regions: Sequence[Any], attributes: Any = None
) -> Any:
    """Build an op of the regions of a copy, which is left without their blocks; return the op."""
    made = build.op(name, operands, types, attributes=attributes, regions=len(regions))
    for source, target in zip(regions, made.regions):
        source.blocks[0].append_to(target)
    return made


class Congruence:
    """Whether values are equal because equal ops compute them from equal operands.

    Args:
      same: pairs of different values that are assumed to be equal, in both orders.
    """

    def __init__(self, same: set[tuple[Any, Any]]) -> None:
        self.known: dict[tuple[Any, Any], bool] = dict.fromkeys(same, True)

    def __call__(self, a: Any, b: Any, depth: int = _DEPTH) -> bool:
        """Whether two values are equal; False if that is not known."""
        if a == b:
            return True
        if (a, b) not in self.known:
            self.known[a, b] = depth > 0 and self._computed_alike(a, b, depth - 1)
        return self.known[a, b]

    def _computed_alike(self, a: Any, b: Any, depth: int) -> bool:
        block, x, y = bindings.ir.Block, a.owner, b.owner
        if a.type != b.type or isinstance(x, block) or isinstance(y, block) or x.name != y.name:
            return False
        x, y = x.operation, y.operation
        mine, other = constant_of(a), constant_of(b)
        if mine is not None and other is not None:  # the bindings cannot return an attribute of complex numbers
            return mine.tobytes() == other.tobytes()
        return (
            is_function(x)
            and a.result_number == b.result_number
            and len(x.operands) == len(y.operands)
            and attrs.copied(x) == attrs.copied(y)
            and all(self(v, w, depth) for v, w in zip(x.operands, y.operands))
        )
