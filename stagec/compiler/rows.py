"""Kernels for CPUs that work on the same rows, made one: a row stays in the cache from its first sum to its last."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stagec.compiler.mlir import ir, operations
from stagec.compiler.nests import Nest

_DISPATCH, _COUNT = "flow.dispatch.workgroups", "iree_tensor_ext.dispatch.workgroup_count_from_slice"
_LOAD, _STORE = "iree_tensor_ext.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.store"
_BARRIER, _RESHAPE = "util.optimization_barrier", "flow.tensor.reshape"
_GENERIC, _INDEX, _YIELD = "linalg.generic", "linalg.index", "linalg.yield"
_PLAIN = {_DISPATCH, _COUNT, _LOAD, _STORE, _GENERIC, _INDEX, _YIELD, "flow.return", "tensor.empty", "linalg.fill"}
_ARITHMETIC = ("arith.", "math.")
# What is cheap enough to be computed again by each that reads it, as the compiler has it within a kernel.
_CHEAP = {"math.sqrt", "math.rsqrt", "math.absf", "math.absi", "math.copysign", "math.floor", "math.ceil"}
_FEW = 16
# Reductions in a kernel. The time to compile it grows slowly up to 8 of them, and 8 times with each two from there on.
_MOST = 6
# Arrays computed in a kernel, each of which may be computed again for those that read it.
_MOST_ARRAYS = 2
# Bytes of a row that a kernel may keep: it does so on its stack, for several rows at a time.
_LONGEST = 1 << 15


class _Kernel(NamedTuple):
    """A kernel that does nothing but arithmetic on arrays, and writes whole ones.

    Attributes:
      op: the `flow.dispatch.workgroups`.
      block: its body, with an argument for each operand, then one for each result.
      stores: the operations that write the results, in their order.
      nests: its loop nests, in their order.
    """

    op: Any
    block: Any
    stores: list[Any]
    nests: list[Nest]

    @classmethod
    def read(cls, op: Any) -> _Kernel | None:
        """The kernel of a dispatch; None if it does anything else."""
        block, inner = op.regions[0].blocks[0], operations(op)
        arguments = list(block.arguments)
        stores = sorted((o for o in inner if o.name == _STORE), key=lambda o: arguments.index(o.operands[1]))
        if [o.operands[1] for o in stores] != arguments[len(op.operands) :] or len(stores) != len(op.results):
            return None
        known = all(o.name in _PLAIN or o.name.startswith(_ARITHMETIC) for o in inner)
        known = known and {*op.attributes} <= {"operandSegmentSizes", "tied_operands"}
        whole = all(_is_whole(o.operands[1], o.operands[0], "writeonly") for o in stores)
        return cls(op, block, stores, [Nest.read(o) for o in inner if o.name == _GENERIC]) if known and whole else None

    @property
    def results(self) -> list[Any]:
        """The values that it writes."""
        return [store.operands[0] for store in self.stores]


class _Link(NamedTuple):
    """Where a kernel reads what another writes.

    Attributes:
      place: of the operand that reads.
      producer: the dispatch of the kernel that writes.
      result: of the producer: its place.
      loads: what is read, in the body.
      between: operations on the way, from the reader to the writer.
    """

    place: int
    producer: Any
    result: int
    loads: list[Any]
    between: list[Any]

    @property
    def is_kept(self) -> bool:
        """Whether a barrier on the way wants the value computed once."""
        return any(step.name == _BARRIER for step in self.between)


def join(module: Any) -> int:
    """Make one kernel of two, where the second alone reads what the first writes, and both work row by row.

    The compiler ends a kernel at a second reduction: a softmax is two, and `exp(x
    - max(x))` goes to memory and back. A row here is what the reductions have in
    their other axes, and no row of any value may need another row of a value
    computed in the two: then each row can be done by itself.

    What is behind a barrier between the two is computed once, beside the reduction
    that reads it. All else may be computed again for each that reads it, so that
    kernels stay apart where that is much.

    Args:
      module: at the compiler's phase `dispatch-creation`.

    Returns:
      How many kernels are gone.
    """
    count = 0
    for op in operations(module, _DISPATCH) if _is_for_cpus(module) else ():
        while op is not None:
            op = _join_with_a_producer(op)
            count += op is not None
    return count


def _is_for_cpus(module: Any) -> bool:
    """Whether each of the module's devices is a CPU."""
    values = [value.attributes for value in operations(module, "util.global")]
    devices = [str(value["initial_value"]) for value in values if str(value["type"]) == "!hal.device"]
    return all('"llvm-cpu"' in device for device in devices)


def _join_with_a_producer(op: Any) -> Any:
    """The kernel that one became together with another before it; None if there is none to join."""
    second = _Kernel.read(op)
    if second is None or len(second.stores) != 1:
        return None
    links: dict[Any, list[_Link]] = {}
    for place in range(len(op.operands)):
        link = _link(second, place)
        if link is not None:
            links.setdefault(link.producer, []).append(link)
    for producer, found in links.items():
        first = _Kernel.read(producer)
        if first is None or len(found) != len(first.stores):
            continue
        if not _are_of_the_same_rows(first, second, found) or not _stay_small(first, second):
            continue
        if any(link.is_kept for link in found):
            reader = _reader(first, second, found[0]) if len(found) == 1 else None
            if reader is not None:
                joined = _joined(first, second, found)
                _compute_beside(first.nests[-1], reader)
                return joined
        elif _reads_no_more(first, second, found) and all(_is_cheap(first, second, link) for link in found):
            return _joined(first, second, found)
    return None


def _link(second: _Kernel, place: int) -> _Link | None:
    """How an operand comes from the kernel that alone writes it, for this one alone; None if there is none."""
    value, between = second.op.operands[place], []
    while _is_read_once(value) and value.owner.operation.name in (_BARRIER, _RESHAPE):
        if len(value.owner.operands) != 1:
            break
        between.append(value.owner.operation)
        value = value.owner.operands[0]
    if not _is_read_once(value) or value.type != second.op.operands[place].type:
        return None
    producer, argument = value.owner.operation, second.block.arguments[place]
    if producer.name != _DISPATCH or producer.block != second.op.block:
        return None
    loads = [use.owner.results[0] for use in argument.uses]
    whole = all(_is_whole(argument, load, "readonly") for load in loads)
    return _Link(place, producer, list(producer.results).index(value), loads, between) if whole else None


def _is_read_once(value: Any) -> bool:
    return not isinstance(value, ir().BlockArgument) and len(list(value.uses)) == 1


def _is_computed(value: Any) -> bool:
    return not isinstance(value, ir().BlockArgument) and value.owner.operation.name == _GENERIC


def _is_whole(argument: Any, value: Any, access: str) -> bool:
    """Whether a value is the whole of an array that a kernel only reads or only writes."""
    return bool(str(argument.type) == f"!iree_tensor_ext.dispatch.tensor<{access}:{value.type}>")


def _are_of_the_same_rows(first: _Kernel, second: _Kernel, links: list[_Link]) -> bool:
    """Whether no row of what the two compute needs another row of it."""
    nests = [*first.nests, *second.nests]
    handed = [value for link in links for value in link.loads]
    rows = {(len(nest.loops), *nest.sizes[: nest.reduced.index(True)]) for nest in nests if nest.reduces}
    if len(rows) != 1:
        return False
    ((loops, *sizes),) = rows
    axes = len(sizes)

    def stays_in_its_row(nest: Nest) -> bool:
        computed = [
            places for places, value in zip(nest.inputs, nest.op.operands) if value in handed or _is_computed(value)
        ]
        return (
            nest.sizes[:axes] == sizes
            and len(nest.loops) <= loops
            and min(nest.sizes) > 0
            and not any(nest.reduced[:axes])
            and (all(nest.reduced[axes:]) or not nest.reduces)
            and all(places[:axes] == nest.loops[:axes] for places in (*computed, *nest.outputs))
            and not any(nest.loops[-1] in places[:-1] for places in nest.inputs)
        )

    return axes > 0 and all(map(stays_in_its_row, nests))


def _stay_small(first: _Kernel, second: _Kernel) -> bool:
    """Whether the two together do not compute much again.

    The second begins with a reduction: what it computed before would be computed for each that reads it. So would an
    array that a reduction of the first keeps, for the reductions of the second.
    """
    reductions = [nest for nest in (*first.nests, *second.nests) if nest.reduces]
    loops = len(reductions[0].loops)
    arrays = [nest for nest in (*first.nests, *second.nests) if len(nest.loops) == loops and not nest.reduces]
    begins = next((nest for nest in second.nests if len(nest.loops) == loops), None)
    if begins is None or not begins.reduces or any(nest.reduces and len(nest.outputs) > 1 for nest in first.nests):
        return False
    return len(reductions) <= _MOST and len(arrays) <= _MOST_ARRAYS


def _reads_no_more(first: _Kernel, second: _Kernel, links: list[_Link]) -> bool:
    """Whether the first kernel reduces, and the second has no arrays of its own to read that are as large."""
    handed = {link.place for link in links}
    own = {operand for place, operand in enumerate(second.op.operands) if place not in handed}
    largest = max(map(_size, first.op.operands), default=0)
    smaller = all(_size(operand) < largest for operand in own - {*first.op.operands})
    return smaller and any(nest.reduces for nest in first.nests)


def _size(operand: Any) -> int:
    """Elements of an array; 1 for a number."""
    return math.prod(getattr(operand.type, "shape", ()))


def _is_cheap(first: _Kernel, second: _Kernel, link: _Link) -> bool:
    """Whether what the second kernel reads may be computed for each that reads it."""
    value = first.results[link.result]
    if len([use for load in link.loads for use in load.uses]) < 2 or not _is_computed(value):
        return True
    work = [op.operation.name for op in value.owner.operation.regions[0].blocks[0].operations]
    reduced = any(nest.op == value.owner.operation and nest.reduces for nest in first.nests)
    return reduced or (len(work) <= _FEW and all(name in _CHEAP or not name.startswith("math.") for name in work))


def _reader(first: _Kernel, second: _Kernel, link: _Link) -> Nest | None:
    """The reduction that can compute what it reads of the first kernel by itself; None if there is none."""
    (value,) = first.results
    readers = [nest for nest in second.nests if any(operand in link.loads for operand in nest.op.operands)]
    reductions = [nest for nest in second.nests if nest.reduces]
    if not first.nests or not readers or readers[0].op != reductions[-1].op:
        return None
    made, reader = first.nests[-1], readers[0]
    if made.reduces or made.op.results[0] != value:
        return None
    places = [places for places, operand in zip(reader.inputs, reader.op.operands) if operand in link.loads]
    one_by_one = made.outputs == [made.loops] and places == [reader.loops] and len(reader.outputs) == 1
    row = math.prod(made.sizes[reader.reduced.index(True) :]) * value.type.element_type.width // 8
    return reader if one_by_one and made.sizes == reader.sizes and row <= _LONGEST else None


def _joined(first: _Kernel, second: _Kernel, links: list[_Link]) -> Any:
    """One kernel instead of two, where all results of the first are operands of the second."""
    handed = {link.place for link in links}
    own = [pair for place, pair in enumerate(zip(second.op.operands, second.block.arguments)) if place not in handed]
    read = [*zip(first.op.operands, first.block.arguments), *own]
    kinds = {operand: argument.type for operand, argument in read}
    operands = list(kinds)
    written = second.stores[0].operands[1]
    with ir().InsertionPoint(second.op), second.op.location:
        sizes = {"operandSegmentSizes": ir().DenseI32ArrayAttr.get([0, len(operands), 0, 0])}
        kind = second.op.results[0].type
        joined = ir().Operation.create(_DISPATCH, [kind], operands, attributes=sizes, regions=2)
        block = joined.regions[0].blocks.append(*kinds.values(), written.type)
        count = joined.regions[1].blocks.append()
    for operand, argument in read:
        argument.replace_all_uses_with(block.arguments[operands.index(operand)])
    written.replace_all_uses_with(block.arguments[len(operands)])
    results = first.results
    for link in links:
        for value in link.loads:
            value.replace_all_uses_with(results[link.result])
            value.owner.operation.erase()
    for store in first.stores:
        store.erase()
    _take(first.block, block)
    block.append(_take(second.block, block))
    counting = second.op.regions[1].blocks[0]
    count.append(_take(counting, count))
    second.op.results[0].replace_all_uses_with(joined.results[0])
    for op in (second.op, *(step for link in links for step in link.between), first.op):
        op.erase()
    return joined


def _compute_beside(made: Nest, reader: Nest) -> None:
    """Have a reduction compute an array that it reads, as a second result."""
    value = made.op.results[0]
    *read, written = _ports(made)
    *others, total = [port for port in _ports(reader) if port.value != value]
    (element,) = [port.argument for port in _ports(reader) if port.value == value]
    ports = [*read, *others, total, written]
    with ir().InsertionPoint(reader.op), reader.op.location:
        attributes = {
            "indexing_maps": ir().ArrayAttr.get([port.places for port in ports]),
            "iterator_types": reader.op.attributes["iterator_types"],
            "operandSegmentSizes": ir().DenseI32ArrayAttr.get([len(ports) - 2, 2]),
        }
        kinds = [total.value.type, value.type]
        both = ir().Operation.create(_GENERIC, kinds, [port.value for port in ports], attributes=attributes, regions=1)
        block = both.regions[0].blocks.append(*(port.argument.type for port in ports))
    for port, argument in zip(ports, block.arguments):
        port.argument.replace_all_uses_with(argument)
    (computed,) = _take(made.op.regions[0].blocks[0], block).operands
    element.replace_all_uses_with(computed)
    (added,) = _take(reader.op.regions[0].blocks[0], block).operands
    with ir().InsertionPoint(block), both.location:
        ir().Operation.create(_YIELD, operands=[added, computed])
    reader.op.results[0].replace_all_uses_with(both.results[0])
    reader.op.erase()
    value.replace_all_uses_with(both.results[1])
    made.op.erase()


class _Port(NamedTuple):
    """What a nest reads or writes: the value, how it is indexed, and its name in the body."""

    value: Any
    places: Any
    argument: Any


def _ports(nest: Nest) -> list[_Port]:
    return [*map(_Port, nest.op.operands, nest.op.attributes["indexing_maps"], nest.op.regions[0].blocks[0].arguments)]


def _take(source: Any, target: Any) -> Any:
    """Move all operations but the last to the end of another block; returns the last."""
    *ops, last = list(source.operations)
    for op in ops:
        target.append(op.operation)
    return last.operation
