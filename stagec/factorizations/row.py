"""Constructor of the primitives of factorizations: leading axes are a batch, and the lowering is an algorithm for one
matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.primitive import NOT_LINEAR, Primitive
from stagec.factorizations.one_thread import in_one_thread
from stagec.factorizations.pairs import ALGORITHMS, in_pairs
from stagec.factorizations.vectors import at, put
from stagec.numpy.creation import eye
from stagec.numpy.diagonals import diagonal as diagonal_of_axes, tril
from stagec.numpy.manipulation import matrix_transpose
from stagec.numpy.rounding import conj
from stagec.primitives.broadcast import in_front, zeros
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.shape import reshape

P = TypeVar("P", bound=Primitive)

ACCEPTED = frozenset({dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128})


def factorization(
    kind: type[P],
    name: str,
    *,
    shape: Callable[..., Any],
    eval: Callable[..., Any],
    algorithm: Callable[..., Any],
    jvp: Any,
    transpose: Any = NOT_LINEAR,
    trim: Callable[..., Any] | None = None,
    ranks: Sequence[int] = (2,),
    numpy_ns: float = 0.03,
    divided: int = 64,
) -> P:
    """Make a primitive whose operands have the same leading axes.

    Args:
      kind: `SinglePrimitive` or `MultiplePrimitive`.
      shape: avals of the results.
      eval: computes the results in NumPy.
      algorithm: computes the results of one matrix with other primitives, for compiled programs.
      jvp, trim, numpy_ns: as in `Primitive`.
      ranks: for each operand, the number of axes that are not leading; the last number applies to all further
        operands.
      divided: the number of rows from which OpenBLAS divides the evaluation among threads (`one_thread`).
    """

    def checked(*avals: ShapedArray, **params: Any) -> Any:
        check_dtype(name, avals[0].dtype, ACCEPTED)
        return shape(*avals, **params)

    multiple = kind.multiple
    each = ALGORITHMS[name] = each_of(algorithm, shape, multiple, ranks)
    of_elements = lowering(each, shape, multiple)

    def lower(cx: Any, *values: Any, **params: Any) -> Any:
        shaped = shape(*cx.in_avals, **params)
        if not _without_elements(cx.in_avals) and not _without_elements(shaped if multiple else [shaped]):
            return of_elements(cx, *values, **params)
        # The results are constants: without elements, or identity matrices, for example.
        found = eval(*(np.zeros(a.shape, a.dtype) for a in cx.in_avals), **params)
        out = cx.apply(lambda *_: [as_array(as_operand(f)) for f in (found if multiple else [found])], *values)
        return out if multiple else out[0]

    made = kind(
        name,
        shape=checked,
        eval=in_one_thread(eval, divided),
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=in_front(),
        trim=trim,
        numpy_ns=numpy_ns,
        numpy_us=8,
    )
    made.matrix_ranks = ranks
    return made


def _without_elements(avals: Sequence[ShapedArray]) -> bool:
    return all(any(not is_open(n) and n == 0 for n in a.shape) for a in avals)


def lowering(each: Callable[..., list[Any]], shape: Callable[..., Any], multiple: bool) -> Callable[..., Any]:
    """Return the lowering of a primitive to an algorithm over other primitives."""

    def lower(cx: Any, *values: Any, **params: Any) -> Any:
        def program(*operands: Any) -> list[Any]:
            return each(*operands, **params)

        avals = list(cx.in_avals)
        if avals[0].ndim > 2:  # results are the state of a loop
            shaped = shape(*avals, **params)
            avals += shaped if multiple else [shaped]
        is_complex = any(dtypes.is_complex(a.dtype) for a in avals)
        out = cx.apply(lambda *operands: in_pairs(program, operands) if is_complex else program(*operands), *values)
        return out if multiple else out[0]

    return lower


def each_of(
    algorithm: Callable[..., Any], shape: Callable[..., Any], multiple: bool, ranks: Sequence[int]
) -> Callable[..., list[Any]]:
    """Return an algorithm for stacks of matrices, given one for a single matrix."""

    def each(*operands: Any, **params: Any) -> list[Any]:
        def one(*parts: Any) -> list[Any]:
            found = algorithm(*parts, **params)
            return list(found) if multiple else [found]

        shaped = shape(*map(aval_of, operands), **params)
        return _each(one, operands, ranks, shaped if multiple else [shaped])

    return each


def _each(
    one: Callable[..., list[Any]], operands: Sequence[Any], ranks: Sequence[int], out: Sequence[ShapedArray]
) -> list[Any]:
    """Loop over the matrices of a stack; the loop and those of the algorithm are compiled to one kernel."""
    first = aval_of(operands[0])
    lead = first.shape[: first.ndim - ranks[0]]
    if not lead:
        return one(*operands)
    count = math.prod(lead)
    if not count:
        return [zeros(a) for a in out]
    flat = [reshape(x, (count, *aval_of(x).shape[len(lead) :])) for x in operands]
    if count == 1:
        results = one(*(x[0] for x in flat))
        return [reshape(r, a.shape) for r, a in zip(results, out, strict=True)]

    def step(i: Any, found: Any) -> Any:
        results = one(*(at(x, i) for x in flat))
        return [put(f, r, i) for f, r in zip(found, results, strict=True)]

    empty = [zeros(a.update(shape=(count, *a.shape[len(lead) :]))) for a in out]
    return [reshape(r, a.shape) for r, a in zip(fori_loop(0, count, step, empty), out, strict=True)]


def matrix_argument(name: str, x: Operand, square: bool = False) -> Array:
    """Check a stack of matrices, and drop its weak type.

    Raises:
      ShapeError: there are less than two axes, or the matrices are not square although `square` is set.
    """
    aval = aval_of(x)
    if aval.ndim < 2:
        raise location.error(
            errors.ShapeError,
            f"{name}: expected matrices, got {aval.long()}",
            fix="pass an array with two axes or more",
        )
    if square and aval.shape[-1] != aval.shape[-2]:
        raise location.error(
            errors.ShapeError,
            f"{name}: expected square matrices, got {aval.long()}",
            fix="pass matrices with as many rows as columns",
        )
    return convert_element_type(x, aval.dtype) if aval.weak_type else x


def each_matrix(
    function: Callable[..., Any], *arrays: Any, out: Sequence[ShapedArray], ranks: Sequence[int] = (2,)
) -> list[Any]:
    """Evaluate a NumPy function of one matrix for each matrix of a stack."""
    results = [np.empty(a.shape, a.dtype) for a in out]
    # NumPy's iteration over no axes takes longer than small factorizations.
    lead = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    for index in np.ndindex(*lead) if lead else [()]:
        found = function(*(a[index] for a in arrays) if lead else arrays)
        for result, value in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
            result[index] = value
    return results


def diagonal(a: Any) -> Array:
    """Return the diagonals of matrices."""
    return diagonal_of_axes(a, axis1=-2, axis2=-1)


def from_lower(a: Any) -> Array:
    """Return the Hermitian matrices with the given lower triangles."""
    low = tril(a, -1)
    return low + adjoint(low) + eye(aval_of(a).shape[-1], dtype=aval_of(a).dtype) * diagonal(a).real[..., None, :]


def adjoint(a: Any) -> Array:
    """Return the conjugate transposes of matrices."""
    return conj(matrix_transpose(a))


def panels(n: int, width: int) -> int:
    """Return the number of panels of a width that cover n columns."""
    return -(-n // width)
