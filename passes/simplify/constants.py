"""Constant folding.

Only ops for which NumPy and the compiled program compute the same bits are
folded: integer ops, and float ops that IEEE rounds correctly. A folded
constant has at most `FOLDED_ELEMENTS` elements, unless it repeats one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.match import (
    FOLDED_ELEMENTS,
    SPLAT,
    captured_values,
    constant_of,
    dtype_of,
    is_static,
    producer,
    remembered,
    shape_of,
    size_of,
    splat_of,
)
from passes.numeric import interpreter
from passes.numeric.interpreter import evaluate
from passes.operations import Precision
from passes.patterns import laws_of, pattern

_KNOWN = [row for row in operations.TABLE.values() if row.numpy is not None or row.name in interpreter.SIMPLE]
# Powers are exact of integers, which `is_folded` asks for.
_EXACT = tuple(
    row.name
    for row in _KNOWN
    if row.elementwise and (row.precision is not Precision.OPEN or row.name == "stablehlo.power")
)
_MOVES = tuple(row.name for row in _KNOWN if row.moves)


def is_folded(op: Any) -> bool:
    """Whether every target computes the bits that NumPy computes, for the dtypes of this op."""
    name = op.operation.name.split(".")[1]
    dtypes = {dtype_of(value) for value in (*op.operation.operands, *op.operation.results)}
    if any(dtype.isbuiltin != 1 and dtype.name != "bfloat16" for dtype in dtypes):
        return False
    if any(dtype.kind == "c" for dtype in dtypes):
        return operations.of(op.operation.name).by_parts
    if name == "remainder" or operations.of(op.operation.name).precision is Precision.OPEN:
        return all(dtype.kind in "iu" for dtype in dtypes)
    return True


def _is_target_dependent(op: Any, arrays: list[np.ndarray]) -> bool:
    """Whether targets disagree on the result for these operands, as for division by zero."""
    name = op.operation.name.split(".")[1]
    if name == "power":
        return bool((arrays[1] < 0).any())
    if operations.of(op.operation.name).partial and arrays[0].dtype.kind in "iu":
        return bool((arrays[1] == 0).any() or (arrays[0].dtype.kind == "i" and (arrays[1] == -1).any()))
    if name == "convert" and arrays[0].dtype.kind in "fV" and dtype_of(op.operation.results[0]).kind in "iu":
        info = np.iinfo(dtype_of(op.operation.results[0]))
        wide = np.trunc(arrays[0].astype(np.float64))
        return bool((~(wide >= float(info.min)) | ~(wide < float(info.max) + (info.max > 2**52))).any())
    return False


@pattern(*_EXACT, of=SPLAT)
def fold_splats(op: Any) -> Any:
    """An exactly rounded op on operands that each repeat one number -> a splat. Exact."""
    numbers = []
    for value in op.operation.operands:
        number = splat_of(value)
        if number is None:
            return None
        numbers.append(np.asarray(number, dtype_of(value)))
    result = op.operation.results[0]
    if not is_static(result) or size_of(result) == 0 or not is_folded(op) or _is_target_dependent(op, numbers):
        return None
    return build.full(_scalar_result(op, numbers), result)


def _scalar_result(op: Any, numbers: list[np.ndarray]) -> np.ndarray:
    # One element stands for each splat: the result of an elementwise op does not depend on shapes.
    meaning = operations.of(op.operation.name).numpy
    with np.errstate(all="ignore"):
        value = meaning(*numbers) if meaning is not None else interpreter.SIMPLE[op.operation.name](op, *numbers)
    return np.asarray(value)


def _arrays(op: Any) -> list[np.ndarray] | None:
    """Return the operands as arrays, or None unless all are constants small enough to fold."""
    result = op.operation.results[0]
    if not is_static(result) or size_of(result) > FOLDED_ELEMENTS:
        return None
    arrays = []
    for value in op.operation.operands:
        if producer(value, "stablehlo.constant") is None or size_of(value) > FOLDED_ELEMENTS:
            return None
        array = constant_of(value)
        assert array is not None, "its producer is a constant"
        arrays.append(array)
    return arrays


@pattern(*_EXACT, of="stablehlo.constant")
def fold_small(op: Any) -> Any:
    """An exactly rounded op on small constants -> a constant. Exact."""
    if not all(producer(value, "stablehlo.constant") is not None for value in op.operation.operands):
        return None
    if not is_folded(op):
        return None
    arrays = _arrays(op)
    if arrays is None or _is_target_dependent(op, arrays):
        return None
    return _emit(op, evaluate(op, arrays)[0])


@pattern(*_MOVES, of="stablehlo.constant")
def fold_moves(op: Any) -> Any:
    """A small constant, transposed, sliced, concatenated, padded and so on -> a constant. Exact."""
    if not all(producer(value, "stablehlo.constant") is not None for value in op.operation.operands):
        return None
    arrays = _arrays(op)
    if arrays is None or any(array.dtype.itemsize == 1 and array.dtype.isbuiltin != 1 for array in arrays):
        return None
    return _emit(op, evaluate(op, arrays)[0])


def computed(value: Any, most: int) -> np.ndarray | None:
    """Return a value of at most `most` elements that exact ops compute from constants and iotas, or None."""
    found = remembered.splats
    if found is None:
        return _Evaluation(most).of(value)
    if (value, most) not in found:
        found[value, most] = _Evaluation(most).of(value)
    array: np.ndarray | None = found[value, most]
    return array


class _Evaluation:
    """Values by MLIR value. No closure, whose reference to itself would keep arrays until the next collection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Any, np.ndarray | None] = {}

    def of(self, value: Any) -> np.ndarray | None:
        if value not in self._known:
            self._known[value] = _computed(value, self._most, self.of)
        return self._known[value]


def _computed(value: Any, most: int, of: Callable[[Any], np.ndarray | None]) -> np.ndarray | None:
    if not is_static(value) or size_of(value) > most:
        return None
    op = producer(value)
    name = op.operation.name if op is not None else ""
    if name == "stablehlo.constant":
        return constant_of(value)
    if op is None or name not in (*_EXACT, *_MOVES, "stablehlo.iota"):
        return None
    if name in _EXACT and not is_folded(op):
        return None
    if name == "stablehlo.gather" and size_of(value) > FOLDED_ELEMENTS:
        return None  # the interpreter takes one window after the other
    arrays = []
    for operand in op.operation.operands:
        array = of(operand)
        if array is None or (array.dtype.itemsize == 1 and array.dtype.isbuiltin != 1):
            return None
        arrays.append(array)
    return None if _is_target_dependent(op, arrays) else evaluate(op, arrays)[0]


def _emit(op: Any, array: np.ndarray) -> Any:
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype == np.complex128 and array.size > 1 and len({item.tobytes() for item in array.reshape(-1)}) > 1:
        return None
    return build.constant(array)


@pattern("stablehlo.iota")
def iota_of_one(op: Any) -> Any:
    """iota along a dimension of size 1 -> zeros. Exact."""
    result = op.operation.results[0]
    if is_static(result) and shape_of(result)[attrs.integer(op, "iota_dimension")] == 1:
        return build.full(0, result)
    return None


@pattern(
    "stablehlo.reduce",
    "stablehlo.reduce_window",
    "stablehlo.sort",
    "stablehlo.scatter",
    "stablehlo.dot_general",
    "stablehlo.dynamic_update_slice",
    "stablehlo.map",
    of="stablehlo.constant",
)
def fold_combinations(op: Any) -> Any:
    """A reduction, sort, scatter or product of small constants of integers or booleans -> a constant. Exact."""
    operation = op.operation
    if any(producer(value, "stablehlo.constant") is None for value in operation.operands) or captured_values(operation):
        return None
    values = [*operation.operands, *operation.results]
    if any(not is_static(v) or size_of(v) > FOLDED_ELEMENTS or dtype_of(v).kind not in "biu" for v in values):
        return None
    arrays = [constant_of(value) for value in operation.operands]
    if any(array is None or array.dtype.isbuiltin != 1 for array in arrays):
        return None
    return [build.constant(np.ascontiguousarray(a).reshape(a.shape)) for a in evaluate(op, arrays)]  # type: ignore


@pattern("stablehlo.sort")
def sort_of_splats(op: Any) -> Any:
    """A sort of arrays that hold one number each -> these arrays. Exact."""
    operands = list(op.operation.operands)
    return operands if all(splat_of(value) is not None for value in operands) else None


PATTERNS = laws_of(globals())
