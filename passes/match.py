"""Predicates and queries on MLIR values and modules: a value's producer, constant, or shape."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from passes import bindings, operations, printed
from passes.types import numpy_dtype, spelled

# In the place of an op's name that makes an operand: an operand for which `splat_of` knows a number.
SPLAT = "splat"


def producer(value: Any, name: str | None = None) -> Any | None:
    """The op that makes `value`, as a view; None for a block argument, or if the op has another name.

    Args:
      value: an MLIR value.
      name: the op's name, such as `"stablehlo.add"`; by default any.
    """
    owner = value.owner
    if isinstance(owner, bindings.ir.Block):
        return None
    if name is not None and owner.name != name:
        return None
    return owner


def with_producers(operation: Any) -> list[tuple[Any, Any | None]]:
    """The operands of an operation, each with the op that makes it, or None."""
    return [(value, producer(value)) for value in operation.operands]


def uses(value: Any) -> int:
    """How many operands read `value`."""
    return sum(1 for _ in value.uses)


def has_one_use(value: Any) -> bool:
    """Whether exactly one operand reads `value`."""
    iterator = iter(value.uses)
    return next(iterator, None) is not None and next(iterator, None) is None


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a ranked tensor; a dynamic dimension is -1."""
    type_ = value.type
    return tuple(type_.shape) if type_.has_static_shape else tuple(max(size, -1) for size in type_.shape)


def is_static(value: Any) -> bool:
    """Whether `value` is a ranked tensor, no dimension of which is dynamic."""
    type_ = value.type
    return isinstance(type_, bindings.ir.RankedTensorType) and type_.has_static_shape


def has_open_shapes(module: Any) -> bool:
    """Whether a function of the module takes arrays of a dynamic shape, or an operation returns one."""
    ranked, found = bindings.ir.RankedTensorType, False
    advance, interrupt = bindings.ir.WalkResult.ADVANCE, bindings.ir.WalkResult.INTERRUPT

    def is_open(type_: Any) -> bool:
        return isinstance(type_, ranked) and not type_.has_static_shape

    def visit(operation: Any) -> Any:
        nonlocal found
        for value in operation.results:
            if is_open(value.type):
                found = True
                return interrupt
        return advance

    if any(is_open(type_) for f in functions(module).values() for type_ in f.attributes["function_type"].value.inputs):
        return True
    module.operation.walk(visit, bindings.ir.WalkOrder.PRE_ORDER)
    return found


def rank_of(value: Any) -> int:
    """The number of dimensions of a ranked tensor."""
    return len(value.type.shape)


def size_of(value: Any) -> int:
    """The number of elements of a tensor of static shape."""
    return math.prod(value.type.shape)


def dtype_of(value: Any) -> np.dtype[Any]:
    """The NumPy dtype of a tensor's elements."""
    return numpy_dtype(value.type.element_type)


def element_name(value: Any) -> str:
    """The element type as MLIR prints it: `"f32"`, `"ui8"`, `"complex<f64>"`."""
    return spelled(value.type.element_type)


def is_floating(value: Any) -> bool:
    """Whether the elements are real floating-point numbers (bf16 and f8 too)."""
    return element_name(value).startswith(("f", "bf"))


def is_complex(value: Any) -> bool:
    """Whether the elements are complex numbers."""
    return element_name(value).startswith("complex")


def is_integer(value: Any) -> bool:
    """Whether the elements are integers, signed or not; booleans are not."""
    name = element_name(value)
    return name.startswith(("i", "ui")) and name != "i1"


def is_real(value: Any) -> bool:
    """Whether the elements are integers or real floating-point numbers."""
    return is_integer(value) or is_floating(value)


def is_unsigned(value: Any) -> bool:
    """Whether the elements are unsigned integers."""
    return element_name(value).startswith("u")


def is_boolean(value: Any) -> bool:
    """Whether the elements are booleans."""
    return element_name(value) == "i1"


def _array_of(op: Any) -> np.ndarray:
    type_ = op.operation.results[0].type
    dtype, shape = numpy_dtype(type_.element_type), tuple(type_.shape)
    if dtype.kind in "biuf" and dtype.itemsize * 8 >= 8 and dtype.isbuiltin == 1:
        return np.asarray(op.operation.attributes["value"]).astype(dtype, copy=False).reshape(shape)
    # The bindings cannot return complex, bf16 or 4-bit elements: read the text.
    return printed.dense(op.operation.get_asm(), dtype, shape)


def constant_of(value: Any) -> np.ndarray | None:
    """The array of a `stablehlo.constant`, or None for any other value.

    It reads every element type, bf16, complex and unsigned ones included. A splat
    is returned as a whole array; use `splat_of` where one number is enough.
    """
    op = producer(value, "stablehlo.constant")
    return None if op is None else _array_of(op)


class _Remembered(threading.local):
    """What is known since the driver came to an op; None outside of it, and after the first change.

    Attributes:
      splats: by value, what `splat_of` found; by loop, its trip count; by value and size, the array that
        `passes.simplify.constants.computed` found; and by function and value, the facts of `passes.analysis.facts`.
      numbers: by the attribute of a constant, the number that fills it, and by that of an enumeration, its case; within
        `attributes_read_once`.
      is_open: while a pipeline runs, whether its module has arrays of a dynamic shape.
      on_rewrite: while a pipeline runs, what it was told to call for each rewrite, if anything.
    """

    is_open: bool | None = None
    on_rewrite: Callable[[Any, Any, Sequence[Any]], None] | None = None
    splats: dict[Any, Any] | None = None
    numbers: dict[Any, Any] | None = None


remembered = _Remembered()


@contextlib.contextmanager
def attributes_read_once() -> Iterator[None]:
    """A block in which attributes that have to be printed or converted are read once."""
    before = remembered.numbers
    remembered.numbers = {} if before is None else before
    try:
        yield
    finally:
        remembered.numbers = before


def splat_of(value: Any) -> np.generic | None:
    """The one number that fills `value`, or None.

    Looks through broadcasts and reshapes of a constant.
    """
    known = remembered.splats
    if known is None:
        return _found_splat(value)
    if value not in known:
        known[value] = _found_splat(value)
    return known[value]


def _found_splat(value: Any) -> np.generic | None:
    for _ in range(8):
        op = producer(value)
        if op is None:
            return None
        operation = op.operation
        name = operation.name
        if name == "stablehlo.constant":
            return _splat(operation)
        if not operations.of(name).layout:
            return None
        value = operation.operands[0]
    return None


def _splat(operation: Any) -> np.generic | None:
    type_ = operation.results[0].type
    if not spelled(type_.element_type).startswith(("c", "bf")):
        attribute, known = operation.attributes["value"], remembered.numbers
        if known is None:
            return _repeated(attribute, type_)
        if attribute not in known:
            known[attribute] = _repeated(attribute, type_)
        return known[attribute]
    if 0 in type_.shape:
        return None
    array = _array_of(operation)
    # MLIR prints one number where all elements have the same bits.
    return None if any(array.strides) else array[(0,) * array.ndim]


def _repeated(attribute: Any, type_: Any) -> np.generic | None:
    if not getattr(attribute, "is_splat", False):
        return None
    found: np.generic = numpy_dtype(type_.element_type).type(attribute.get_splat_value().value)
    return found


def is_splat(value: Any, number: complex) -> bool:
    """Whether every element of `value` is `number`, bit for bit in the sign of zero.

    NaN matches no number.
    """
    found = splat_of(value)
    if found is None or found != number:
        return False
    if number == 0 and found.dtype.kind in "fcV":
        wanted = complex(number)
        pairs = (
            [(found.real, wanted.real), (found.imag, wanted.imag)]
            if found.dtype.kind == "c"
            else [(found, wanted.real)]
        )
        return all(bool(np.signbit(a)) == bool(np.signbit(b)) for a, b in pairs)
    return True


# Larger constants are not folded, unless they are splats.
FOLDED_ELEMENTS = 256


def is_constant(value: Any) -> bool:
    """Whether `value` is a constant with which the passes fold operations: a splat, or a small array."""
    if producer(value, "stablehlo.constant") is not None and is_static(value) and size_of(value) <= FOLDED_ELEMENTS:
        return True
    return splat_of(value) is not None


def other_operand(op: Any, value: Any) -> Any | None:
    """The other operand of a binary op; None if `value` is neither of the two."""
    return op.lhs if value == op.rhs else op.rhs if value == op.lhs else None


def sides(op: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The two operands in either order."""
    return (op.lhs, op.rhs), (op.rhs, op.lhs)


def operations_in(root: Any, *names: str) -> list[Any]:
    """The operations in a module or in an operation's regions, outer ones first; those of the given names, or all."""
    found: list[Any] = []
    wanted, advance = frozenset(names), bindings.ir.WalkResult.ADVANCE

    def visit(operation: Any) -> Any:
        if not wanted or operation.name in wanted:
            found.append(operation)
        return advance

    operation = root.operation
    operation.walk(visit, bindings.ir.WalkOrder.PRE_ORDER)
    return found[1:] if found and found[0] == operation else found


def yielded(block: Any) -> list[Any]:
    """The operands of a block's terminator."""
    operations = block.operations
    return list(operations[len(operations) - 1].operation.operands)


def block_of(value: Any) -> Any:
    """The block in which `value` is defined."""
    owner = value.owner
    return owner if isinstance(owner, bindings.ir.Block) else owner.operation.block


def is_inside(block: Any, operation: Any) -> bool:
    """Whether `block` belongs to one of the operation's regions, at any depth."""
    owner = block.owner.operation
    while owner is not None and owner.name not in ("func.func", "builtin.module"):
        if owner == operation:
            return True
        owner = owner.parent.operation if owner.parent is not None else None
    return False


def captured_values(op: Any) -> list[Any]:
    """The values that the regions of an operation capture."""
    found: dict[Any, None] = {}
    inside: set[Any] = set()
    stack = [op]
    while stack:
        for area in stack.pop().regions:
            for block in area.blocks:
                inside.update(block.arguments)
                for inner in (o.operation for o in block.operations):
                    found.update(dict.fromkeys(inner.operands))
                    inside.update(inner.results)
                    if len(inner.regions):
                        stack.append(inner)
    return [value for value in found if value not in inside]


def before_barriers(value: Any) -> Any:
    """The value that this one is, before the optimization barriers that it passed through."""
    while (barrier := producer(value, "stablehlo.optimization_barrier")) is not None:
        value = barrier.operation.operands[list(barrier.operation.results).index(value)]
    return value


def is_uninitialized(value: Any) -> bool:
    """Whether the program overwrites all elements of a value before it reads them."""
    while (barrier := producer(value, "stablehlo.optimization_barrier")) is not None:
        if UNINITIALIZED in barrier.operation.attributes:
            return True
        value = barrier.operation.operands[list(barrier.operation.results).index(value)]
    return False


def host_operations(module: Any, *names: str) -> list[Any]:
    """The operations of a module outside kernels, outer ones first; those of the given names, or all.

    Kernels have thousands of operations, and their views would import the Python modules of their dialects.
    """
    found: list[Any] = []
    wanted, result = frozenset(names), bindings.ir.WalkResult
    advance = result.ADVANCE

    def visit(operation: Any) -> Any:
        name = operation.name
        if name == "stream.executable":
            return result.SKIP
        if not wanted or name in wanted:
            found.append(operation)
        return advance

    module.operation.walk(visit, bindings.ir.WalkOrder.PRE_ORDER)
    return found if wanted else found[1:]


# The attribute of a barrier whose elements the program overwrites before it reads them.
UNINITIALIZED = "uninitialized"
# The attribute of modules with such barriers that is still there when kernels have taken them.
STACKS = "stagec.stacks"

# The prefix of the names of Python functions, which the process that runs the program provides.
HOST_MODULE = "host."


def functions(module: Any) -> dict[str, Any]:
    """The operations of a module's functions, by name."""
    found = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    return {operation.attributes["sym_name"].value: operation for operation in found}


def single_op(region: Any) -> str | None:
    """The name of the only op of a reduction body `(a, b) -> op(a, b)`, or None."""
    names = combinations(region)
    return names[0] if names is not None and len(names) == 1 else None


def combinations(region: Any) -> list[str] | None:
    """The names of the ops of a body `(a, b, ..., c, d, ...) -> op(a, c), op(b, d), ...`; None for any other body."""
    block = region.blocks[0]
    arguments = list(block.arguments)
    *ops, end = (op.operation for op in block.operations)
    if 2 * len(ops) != len(arguments) or list(end.operands) != [op.results[0] for op in ops]:
        return None
    for op, *pair in zip(ops, arguments, arguments[len(ops) :]):
        if list(op.operands) not in (pair, pair[::-1]):
            return None
    return [op.name for op in ops]


def is_assignment(region: Any) -> bool:
    """Whether the body of a scatter, `(old, update) -> ...`, returns the update."""
    block = region.blocks[0]
    first = block.operations[0].operation
    return first.name == "stablehlo.return" and bool(first.operands[0] == block.arguments[1])


def same_type(a: Any, b: Any) -> bool:
    """Whether two values have the same shape and element type."""
    return a.type == b.type
