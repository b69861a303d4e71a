"""The general product of two arrays: batch axes, contracted axes, and all pairs of the other axes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives.axes import as_int, canonical_axes, shape_error
from stagec.primitives.checks import HALF, check_dtype, same_dtype
from stagec.primitives.convert import convert_element_type, convert_value
from stagec.primitives.operand import Operand, as_operand, aval_of, promote_weak_scalars
from stagec.primitives.precision import PrecisionLike, canonical_precision
from stagec.primitives.rules import bilinear
from stagec.primitives.shape import transpose
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["DotDimensionNumbers", "batch_matmul", "dot", "dot_general", "dot_general_p"]

Ints = tuple[int, ...]
# ((contracted of lhs, of rhs), (batch of lhs, of rhs))
DotDimensionNumbers = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]


def _dot_shape(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: str | None,
    preferred_element_type: np.dtype[Any] | None,
) -> ShapedArray:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    dtype = same_dtype("dot_general", (x, y))
    check_dtype("dot_general", dtype, dtypes.ALL)
    pairs = [*zip(x_contract, y_contract), *zip(x_batch, y_batch)]
    if len(x_contract) != len(y_contract) or len(x_batch) != len(y_batch):
        raise shape_error(
            "dot_general",
            f"dimension numbers {dimension_numbers} do not pair up",
            "name as many axes of one operand as of the other",
        )
    for i, j in pairs:
        if x.shape[i] != y.shape[j]:
            kind = "contracting" if (i, j) in pairs[: len(x_contract)] else "batch"
            raise shape_error(
                "dot_general",
                f"{kind} dimensions differ: axis {i} of {x.long()} and axis {j} of {y.long()} "
                f"({x.shape[i]} vs {y.shape[j]})",
                "sizes of paired axes must agree; transpose one of the operands",
            )
    shape = [x.shape[i] for i in x_batch]
    shape += [n for i, n in enumerate(x.shape) if i not in x_contract and i not in x_batch]
    shape += [n for i, n in enumerate(y.shape) if i not in y_contract and i not in y_batch]
    weak = x.weak_type and y.weak_type and preferred_element_type is None
    return ShapedArray.of(tuple(shape), dtype if preferred_element_type is None else preferred_element_type, weak)


def _dot_eval(
    x: Any,
    y: Any,
    *,
    dimension_numbers: DotDimensionNumbers | Sequence[Sequence[Sequence[int]]],
    precision: str | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    out_dtype = x.dtype if preferred_element_type is None else preferred_element_type
    computed = _computed_dtype(x.dtype, out_dtype)
    if not (x.dtype == computed == y.dtype):
        x, y = x.astype(computed, copy=False), y.astype(computed, copy=False)
    # Of more axes, NumPy makes a product for each of the leading ones.
    if not x_batch and max(x.ndim, y.ndim) <= 2 and x_contract == (x.ndim - 1,) and y_contract == (0,):
        product = np.matmul(x, y)
    else:
        axes = (tuple(x_contract), tuple(y_contract), tuple(x_batch), tuple(y_batch))
        left, left_shape, right, right_shape, shape = _as_matrices(x.shape, y.shape, *axes)
        product = np.matmul(x.transpose(left).reshape(left_shape), y.transpose(right).reshape(right_shape))
        product = product.reshape(shape)
    return product if out_dtype == computed else convert_value(product, out_dtype)


_Axes: TypeAlias = "tuple[int, ...]"


@functools.lru_cache
def _as_matrices(
    x: _Axes, y: _Axes, x_contract: _Axes, y_contract: _Axes, x_batch: _Axes, y_batch: _Axes
) -> tuple[_Axes, _Axes, _Axes, _Axes, _Axes]:
    """How operands of these shapes become stacks of matrices: axes and shape of each, and the product's shape."""
    x_free = [i for i in range(len(x)) if i not in x_contract and i not in x_batch]
    y_free = [i for i in range(len(y)) if i not in y_contract and i not in y_batch]
    batch, depth = [x[i] for i in x_batch], math.prod([x[i] for i in x_contract])
    rows, columns = [x[i] for i in x_free], [y[i] for i in y_free]
    return (
        (*x_batch, *x_free, *x_contract),
        (*batch, math.prod(rows), depth),
        (*y_batch, *y_contract, *y_free),
        (*batch, depth, math.prod(columns)),
        (*batch, *rows, *columns),
    )


def _computed_dtype(operands: np.dtype[Any], result: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the sums: float32 for half precision, else the wider of operands and result."""
    if operands in HALF and result in HALF:
        return dtypes.float32
    if operands == dtypes.bool_:
        return dtypes.int32 if result == dtypes.bool_ else result
    if result == operands:
        return operands
    return dtypes.lattice_result([(operands, False), (result, False)])[0]


def _dot_lower(
    cx: Any,
    x: Any,
    y: Any,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: str | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    (out,) = cx.out_avals
    operand = cx.in_avals[0].dtype
    computed = _computed_dtype(operand, out.dtype)
    numbers = (
        f"#stablehlo.dot<lhs_batching_dimensions = {list(x_batch)}, rhs_batching_dimensions = {list(y_batch)}, "
        f"lhs_contracting_dimensions = {list(x_contract)}, rhs_contracting_dimensions = {list(y_contract)}>"
    )
    attributes = {"dot_dimension_numbers": numbers}
    if precision is not None:
        level = f"#stablehlo<precision {precision.upper()}>"
        attributes["precision_config"] = f"[{level}, {level}]"
    # Half-precision operands go in as they are, for the hardware's mixed products.
    if computed != operand and operand not in HALF:
        x, y = (
            cx.emit("stablehlo.convert", [v], avals=[a.update(dtype=computed)]) for v, a in zip((x, y), cx.in_avals)
        )
    wide = out.update(dtype=computed)
    if cx.rules_of_open_programs is not None:
        # The passes that would rewrite products of vectors of known length do not run for such programs.
        left, right = (a if a.dtype in HALF else a.update(dtype=computed) for a in cx.in_avals)
        result = cx.rules_of_open_programs.dot_general(cx, (x, y), (left, right), dimension_numbers, attributes, wide)
    else:
        result = cx.emit("stablehlo.dot_general", [x, y], attributes, [wide])
    if out.dtype == computed:
        return result
    if out.dtype == dtypes.bool_:
        zero = cx.constant(0, out.update(dtype=computed))
        return cx.emit(
            "stablehlo.compare", [result, zero], {"comparison_direction": "#stablehlo<comparison_direction NE>"}
        )
    return cx.emit("stablehlo.convert", [result])


def _dot_transpose(ct: Any, x: Any, y: Any, *, dimension_numbers: DotDimensionNumbers, **params: Any) -> list[Any]:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    if is_linear(x):
        return [_pull(ct, x.aval, y, x_contract, y_contract, x_batch, y_batch, True, params), None]
    return [None, _pull(ct, y.aval, x, y_contract, x_contract, y_batch, x_batch, False, params)]


def _pull(
    ct: Any,
    x: ShapedArray,
    y: Any,
    x_contract: Ints,
    y_contract: Ints,
    x_batch: Ints,
    y_batch: Ints,
    first: bool,
    params: dict[str, Any],
) -> Any:
    """The cotangent of one operand: `ct` contracted with the other operand's free axes."""
    batch = len(x_batch)
    x_free = [i for i in range(x.ndim) if i not in x_contract and i not in x_batch]
    y_free = [i for i in range(aval_of(y).ndim) if i not in y_contract and i not in y_batch]
    # The result's axes: batch, the first operand's free ones, the second's.
    start = batch + len(x_free) if first else batch
    ct_y = tuple(range(start, start + len(y_free)))
    numbers = ((ct_y, tuple(y_free)), (tuple(range(batch)), y_batch))
    dtype = params["preferred_element_type"]
    if aval_of(ct).dtype != aval_of(y).dtype:
        ct = convert_element_type(ct, aval_of(y).dtype)
    out = dot_general_p(ct, y, dimension_numbers=numbers, precision=params["precision"], preferred_element_type=None)
    # Its axes: batch, x's free ones, and y's contracted ones in increasing order.
    order = sorted(range(len(y_contract)), key=y_contract.__getitem__)
    x_axes = [*x_batch, *x_free, *[x_contract[i] for i in order]]
    out = transpose(out, [x_axes.index(i) for i in range(x.ndim)])
    return convert_element_type(out, x.dtype) if dtype is not None and x.dtype != aval_of(out).dtype else out


def _dot_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    (x, y), (x_dim, y_dim) = args, dims
    (x_contract, y_contract), (x_batch, y_batch) = params["dimension_numbers"]
    others = {k: v for k, v in params.items() if k != "dimension_numbers"}

    def shifted(axes: Ints, dim: int | None) -> Ints:
        return axes if dim is None else tuple([a + (a >= dim) for a in axes])

    contract = (shifted(x_contract, x_dim), shifted(y_contract, y_dim))
    batch = (shifted(x_batch, x_dim), shifted(y_batch, y_dim))
    if x_dim is not None and y_dim is not None:
        batch = ((x_dim, *batch[0]), (y_dim, *batch[1]))
        return primitive(x, y, dimension_numbers=(contract, batch), **others), 0
    out = primitive(x, y, dimension_numbers=(contract, batch), **others)
    # The batch axis is a free one: after the batch axes, among those of its operand.
    count = len(x_batch)
    if x_dim is not None:
        return out, count + x_dim - sum(a < x_dim for a in (*contract[0], *batch[0]))
    free = aval_of(x).ndim - len(x_contract) - count
    return out, count + free + y_dim - sum(a < y_dim for a in (*contract[1], *batch[1]))


def _dot_follows(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> list[tuple[int, int]]:
    contract, batch = params["dimension_numbers"]
    found = [(0, i) for i in batch[0]]
    for k, aval in enumerate(avals):
        found += [(k, i) for i in range(aval.ndim) if i not in contract[k] and i not in batch[k]]
    return found


dot_general_p = SinglePrimitive(
    "dot_general",
    shape=_dot_shape,
    follows=_dot_follows,
    eval=_dot_eval,
    lower=_dot_lower,
    jvp=bilinear,
    transpose=_dot_transpose,
    batch=_dot_batch,
    numpy_ns=0.05,
)


def matched_dtypes(operands: Sequence[Any], preferred: Any) -> list[Any]:
    """Operands of a product with a chosen result dtype; small ones of different dtypes are widened."""
    kinds = [aval_of(o).dtype for o in operands]
    if preferred is None or len(set(kinds)) == 1:
        return list(operands)
    return [convert_element_type(o, dtypes.COMPUTED_IN[k]) if k in dtypes.SMALL else o for o, k in zip(operands, kinds)]


def _of_one_dtype(x: Operand, y: Operand) -> list[Operand]:
    """The operands, converted to that of their dtypes which JAX chooses: the one of the wider range."""
    kinds = [aval_of(x).dtype, aval_of(y).dtype]
    if kinds[0] == kinds[1] or not set(kinds) <= dtypes.ALL - dtypes.SMALL:
        return [x, y]
    common = max(kinds, key=_width)
    return [convert_element_type(v, common) for v in (x, y)]


def _width(dtype: np.dtype[Any]) -> tuple[bool, int, int, int, bool]:
    """By which dtypes of operands are compared: complex, the range, the digits, the size, and a sign."""
    real = dtypes.real_dtype(dtype) if dtypes.is_complex(dtype) else dtype
    range_, digits = (finfo(real).maxexp, finfo(real).nmant) if dtypes.is_float(real) else (-1, -1)
    bits = 1 if dtypes.is_bool(real) else 8 * real.itemsize
    return dtypes.is_complex(dtype), range_, digits, bits, not dtypes.is_unsigned(real)


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers | Sequence[Sequence[Sequence[int]]],
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Sum products over contracted axes, for each position of the batch axes.

    Args:
      lhs, rhs: arrays. Of two dtypes, the one of the wider range is taken: complex before floats before integers,
        then the larger one, then the signed one. Dtypes of up to eight bits may differ with `preferred_element_type`.
      dimension_numbers: `((lhs contracted, rhs contracted), (lhs batch, rhs batch))`, lists of axes.
      precision: `"default"`, `"high"`, `"highest"`, or an algorithm, for hardware that offers several.
      preferred_element_type: dtype of the result. Half-precision products are
        summed in float32 whatever it is.

    Returns:
      An array with the batch axes, then the other axes of `lhs`, then those of `rhs`.

    Raises:
      ShapeError: paired axes differ in size.

    >>> import stagec.numpy as snp
    >>> dot_general(snp.ones((2, 3)), snp.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
    (2, 4)
    """
    x, y = _of_one_dtype(
        *promote_weak_scalars(*matched_dtypes([as_operand(lhs), as_operand(rhs)], preferred_element_type))
    )
    try:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    except (TypeError, ValueError):
        raise shape_error(
            "dot_general",
            f"dimension_numbers is {dimension_numbers!r}",
            "give ((lhs contracted, rhs contracted), (lhs batch, rhs batch)), each a tuple of axes",
        ) from None
    ranks = aval_of(x).ndim, aval_of(y).ndim
    numbers = (
        (_axes(x_contract, ranks[0]), _axes(y_contract, ranks[1])),
        (_axes(x_batch, ranks[0]), _axes(y_batch, ranks[1])),
    )
    for contracted, batch in zip(*numbers):
        if set(contracted) & set(batch):
            text = f"axis {min(set(contracted) & set(batch))} is contracted and a batch axis"
            raise shape_error("dot_general", text, "give each axis one role")
    preferred = None if preferred_element_type is None else dtypes.canonicalize(preferred_element_type)
    own = aval_of(x).dtype
    if preferred is not None and dtypes.is_integer(own) and preferred.itemsize < own.itemsize:
        raise location.error(
            errors.DtypeError,
            f"dot_general: preferred_element_type {preferred.name} is narrower than {own.name}, and would lose digits",
            fix="leave preferred_element_type out, and convert the result with astype",
        )
    if preferred == own:
        preferred = None
    return dot_general_p(
        x,
        y,
        dimension_numbers=numbers,
        precision=canonical_precision(precision),
        preferred_element_type=preferred,
    )


def _axes(axes: Sequence[int], rank: int) -> Ints:
    return canonical_axes(tuple([as_int(i, "dot_general", "an axis") for i in axes]), rank, "dot_general")


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The product of vectors and matrices: last axis of `lhs` with first of `rhs`.

    Args:
      dimension_numbers: other axes, as `dot_general` takes them.

    >>> import stagec.numpy as snp
    >>> dot(snp.arange(3), snp.arange(3))
    Array(5, dtype=int32)
    """
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    x, y = promote_weak_scalars(lhs, rhs)
    if not aval_of(x).ndim or not aval_of(y).ndim:
        raise shape_error(
            "dot", f"{aval_of(x).long()} and {aval_of(y).long()} need axes", "use * for products with scalars"
        )
    if max(aval_of(x).ndim, aval_of(y).ndim) > 2:
        raise shape_error(
            "dot",
            f"{aval_of(x).long()} and {aval_of(y).long()} are not vectors or matrices",
            "name the axes with dimension_numbers, or use batch_matmul or stagec.numpy.matmul",
        )
    numbers = (((aval_of(x).ndim - 1,), (0,)), ((), ()))
    return dot_general(x, y, numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products along leading axes that agree.

    >>> import stagec.numpy as snp
    >>> batch_matmul(snp.ones((5, 2, 3)), snp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = promote_weak_scalars(lhs, rhs)
    rank = aval_of(x).ndim
    if rank < 2 or aval_of(y).ndim != rank:
        text = f"{aval_of(x).long()} and {aval_of(y).long()}"
        raise shape_error("batch_matmul", text, "give two matrices, with equal leading axes")
    lead = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (lead, lead)), precision)
