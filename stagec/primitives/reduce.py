"""Reductions: a row for each combining operation, the positions of extremes, and a general one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal, replay, trace_flat
from stagec.core.location import capture
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, NOT_WRITTEN, Primitive
from stagec.core.trace import current
from stagec.primitives.arithmetic import add_p, max_p, min_p, mul_p
from stagec.primitives.convert import convert_element_type
from stagec.primitives.logic import and_p, or_p, xor_p
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.shape import canonical_axes, shape_error
from stagec.primitives.table import check_dtype, i64_array, same_dtype

HALF = frozenset({dtypes.bfloat16, dtypes.float16})


def lowest(dtype: np.dtype[Any]) -> Any:
    """What `max` starts from."""
    if dtypes.is_bool(dtype):
        return False
    return np.iinfo(dtype).min if dtypes.is_integer(dtype) else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """What `min` starts from."""
    if dtypes.is_bool(dtype):
        return True
    return np.iinfo(dtype).max if dtypes.is_integer(dtype) else np.inf


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return True if dtypes.is_bool(dtype) else np.invert(np.zeros((), dtype))


def remaining(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without its `axes`."""
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def emit_reduce(
    cx: Any, x: Any, aval: ShapedArray, axes: Sequence[int], combine: Callable[..., Any], init: Any
) -> tuple[Any, ShapedArray]:
    """`stablehlo.reduce` of one value; the result and its aval."""
    scalar = ShapedArray.of((), aval.dtype)
    out = ShapedArray.of(remaining(aval.shape, axes), aval.dtype)
    body = cx.region([scalar, scalar], lambda a, b: [combine(a, b)])
    start = cx.constant(init, scalar)
    return cx.emit("stablehlo.reduce", [x, start], {"dimensions": i64_array(axes)}, [out], [body]), out


def reduction(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: np.ufunc,
    combine: Primitive,
    identity: Callable[[np.dtype[Any]], Any],
    rounds: bool = False,
    jvp: Any = NOT_WRITTEN,
    transpose: Any = NOT_LINEAR,
) -> Primitive:
    """A row that combines the elements along `axes`, starting from `identity(dtype)`.

    With `rounds`, half-precision floats are combined in float32 and rounded once.
    """

    def shape(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if x.dtype not in accepts:
            check_dtype(name, x.dtype, accepts)
        return ShapedArray.of(remaining(x.shape, axes), x.dtype, x.weak_type)

    def evaluate(x: Any, *, axes: tuple[int, ...]) -> Any:
        if not axes:
            return x
        dtype = x.dtype
        if dtype in HALF:
            x = x.astype(np.float32)
        if x.size == 0:
            return np.full(remaining(x.shape, axes), identity(dtype), dtype)
        extra = {"dtype": x.dtype} if rounds else {}
        return eval.reduce(x, axis=axes, **extra).astype(dtype)

    def lower(cx: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
        (aval,) = cx.in_avals
        if not axes:
            return x
        if aval.size == 0:
            return cx.constant(identity(aval.dtype), cx.out_avals[0])
        wide = aval.update(dtype=np.float32) if rounds and aval.dtype in HALF else aval
        if wide is not aval:
            x = cx.emit("stablehlo.convert", [x], avals=[wide])
        out, _ = emit_reduce(cx, x, wide, axes, combine, identity(wide.dtype))
        return cx.emit("stablehlo.convert", [out]) if wide is not aval else out

    return Primitive(name, shape=shape, eval=evaluate, lower=lower, jvp=jvp, transpose=transpose)


BITS = dtypes.INTEGER | dtypes.BOOL
ORDERED = dtypes.ALL - dtypes.COMPLEX

reduce_sum_p = reduction(
    "reduce_sum",
    accepts=dtypes.NUMERIC,
    eval=np.add,
    combine=add_p,
    identity=lambda d: 0,
    rounds=True,
    transpose=NOT_WRITTEN,
)
reduce_prod_p = reduction(
    "reduce_prod", accepts=dtypes.NUMERIC, eval=np.multiply, combine=mul_p, identity=lambda d: 1, rounds=True
)
reduce_max_p = reduction("reduce_max", accepts=ORDERED, eval=np.maximum, combine=max_p, identity=lowest)
reduce_min_p = reduction("reduce_min", accepts=ORDERED, eval=np.minimum, combine=min_p, identity=highest)
reduce_and_p = reduction(
    "reduce_and", accepts=BITS, eval=np.bitwise_and, combine=and_p, identity=_all_ones, jvp=NOT_DIFFERENTIABLE
)
reduce_or_p = reduction(
    "reduce_or", accepts=BITS, eval=np.bitwise_or, combine=or_p, identity=lambda d: 0, jvp=NOT_DIFFERENTIABLE
)
reduce_xor_p = reduction(
    "reduce_xor", accepts=BITS, eval=np.bitwise_xor, combine=xor_p, identity=lambda d: 0, jvp=NOT_DIFFERENTIABLE
)


def _along(row: Primitive, operand: Any, axes: Sequence[int] | None) -> Operand:
    operand = as_operand(operand)
    found = tuple(sorted(canonical_axes(axes, aval_of(operand).ndim, row.name)))
    return row(operand, axes=found) if found else operand


def reduce_sum(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """Add the elements along `axes` (all of them by default); half precision is summed in float32.

    >>> import stagec.numpy as snp
    >>> reduce_sum(snp.ones((2, 3)), (1,))
    Array([3., 3.], dtype=float32)
    """
    return _along(reduce_sum_p, operand, axes)


def reduce_prod(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """Multiply the elements along `axes` (all of them by default).

    >>> import numpy as np
    >>> int(reduce_prod(np.array([2, 3, 4])))
    24
    """
    return _along(reduce_prod_p, operand, axes)


def reduce_max(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """The largest element along `axes`; NaN if there is one, the dtype's lowest value if there are no elements.

    >>> import numpy as np
    >>> int(reduce_max(np.array([2, 4, 3])))
    4
    """
    return _along(reduce_max_p, operand, axes)


def reduce_min(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """The smallest element along `axes`; NaN if there is one, the dtype's highest value if there are no elements.

    >>> import numpy as np
    >>> int(reduce_min(np.array([2, 4, 3])))
    2
    """
    return _along(reduce_min_p, operand, axes)


def reduce_and(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """Bitwise and of the elements along `axes`; for bools, whether all hold.

    >>> import numpy as np
    >>> bool(reduce_and(np.array([True, False])))
    False
    """
    return _along(reduce_and_p, operand, axes)


def reduce_or(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """Bitwise or of the elements along `axes`; for bools, whether any holds.

    >>> import numpy as np
    >>> bool(reduce_or(np.array([True, False])))
    True
    """
    return _along(reduce_or_p, operand, axes)


def reduce_xor(operand: Any, axes: Sequence[int] | None = None) -> Operand:
    """Bitwise exclusive or of the elements along `axes`.

    >>> import numpy as np
    >>> int(reduce_xor(np.array([1, 2, 3])))
    0
    """
    return _along(reduce_xor_p, operand, axes)


# positions of extremes


def _extreme(name: str, find: Callable[..., Any], combine: Primitive, start: Callable[[Any], Any]) -> Primitive:
    def shape(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> ShapedArray:
        check_dtype(name, x.dtype, ORDERED)
        if x.shape[axes[0]] == 0:
            raise shape_error(
                name, f"axis {axes[0]} of {x.long()} has no elements", "reduce over an axis that has elements"
            )
        return ShapedArray.of(remaining(x.shape, axes), index_dtype)

    def evaluate(x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        return find(x.astype(np.float32) if x.dtype in HALF else x, axis=axes[0]).astype(index_dtype)

    def lower(cx: Any, x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        # Two plain reductions, the extreme and then the first position that holds it, vectorize;
        # one reduction over (value, position) pairs is several times slower.
        (aval,) = cx.in_avals
        kept = [i for i in range(aval.ndim) if i not in axes]
        if dtypes.is_bool(aval.dtype):
            aval = aval.update(dtype=np.int8)
            x = cx.emit("stablehlo.convert", [x], avals=[aval])
        best, _ = emit_reduce(cx, x, aval, axes, combine, start(aval.dtype))
        truth, count = aval.update(dtype=np.bool_), aval.update(dtype=index_dtype, weak_type=False)
        best = cx.broadcast(best, aval, kept)
        hit = cx.emit("stablehlo.compare", [x, best], {"comparison_direction": _EQ}, [truth])
        if dtypes.is_float(aval.dtype):
            nan = cx.emit("stablehlo.compare", [x, x], {"comparison_direction": _NE}, [truth])
            hit = cx.emit("stablehlo.or", [hit, nan], avals=[truth])
        last = aval.shape[axes[0]] - 1
        place = cx.emit("stablehlo.iota", [], {"iota_dimension": f"{axes[0]} : i64"}, [count])
        place = cx.emit("stablehlo.select", [hit, place, cx.constant(last, count)], avals=[count])
        return emit_reduce(cx, place, count, axes, min_p, last)[0]

    return Primitive(name, shape=shape, eval=evaluate, lower=lower, jvp=NOT_DIFFERENTIABLE, transpose=NOT_LINEAR)


_EQ = "#stablehlo<comparison_direction EQ>"
_NE = "#stablehlo<comparison_direction NE>"

argmax_p = _extreme("argmax", np.argmax, max_p, lowest)
argmin_p = _extreme("argmin", np.argmin, min_p, highest)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Operand:
    """The position of the largest element along `axis`: the first one, and a NaN before all others.

    >>> import numpy as np
    >>> int(argmax(np.array([1, 3, 3]), 0, np.int32))
    1
    """
    return _position(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Operand:
    """The position of the smallest element along `axis`: the first one, and a NaN before all others.

    >>> import numpy as np
    >>> int(argmin(np.array([2, 1, 1]), 0, np.int32))
    1
    """
    return _position(argmin_p, operand, axis, index_dtype)


def _position(row: Primitive, operand: Any, axis: int, index_dtype: Any) -> Operand:
    operand = as_operand(operand)
    dtype = dtypes.canonicalize(index_dtype)
    check_dtype(row.name, dtype, dtypes.INTEGER)
    return row(operand, axes=canonical_axes((axis,), aval_of(operand).ndim, row.name), index_dtype=dtype)


# the general reduction


def traced_computation(
    name: str, computation: Callable[..., Any], dtype_list: Sequence[np.dtype[Any]], *, single: bool
) -> Graph:
    """The graph of a user's combining function of scalars: accumulators first, then elements.

    Args:
      single: `computation` is of one accumulator and returns a bare value.

    Raises:
      ShapeError, DtypeError: it does not return scalars of the operands' dtypes.
      UnsupportedError: it closes over an array.
    """
    avals = [ShapedArray.of((), d) for d in dtype_list]

    def flat(*args: Any) -> list[Any]:
        out = computation(*args) if single else computation(args[: len(avals)], args[len(avals) :])
        outs = [out] if not isinstance(out, (list, tuple)) else list(out)
        return [as_operand(o) for o in outs]

    graph, captured = trace_flat(flat, avals + avals, name=name)
    if captured:
        raise errors.UnsupportedError(
            errors.message(
                f"{name}: the computation closes over an array",
                str(capture()),
                fix="combine with plain numbers only, or apply the array to the operand beforehand",
            )
        )
    got = [(a.shape, a.dtype) for a in graph.out_avals]
    if got != [((), d) for d in dtype_list]:
        raise shape_error(
            name,
            f"the computation returns {', '.join(a.long() for a in graph.out_avals)}, "
            f"not {', '.join(a.long() for a in avals)}",
            "return one scalar of the operand's dtype for each operand",
        )
    return graph


def run_graph(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """Evaluate a graph of scalars on NumPy arrays of one shape, elementwise."""
    with current(None):
        results = replay(
            graph, [Literal(np.asarray(a), v.aval.update(shape=np.shape(a))) for a, v in zip(args, graph.inputs)]
        )
    shape = np.shape(args[0])
    values = [np.asarray(r.value if isinstance(r, Literal) else r) for r in results]
    return [np.broadcast_to(v, shape) for v in values]


def _reduce_shape(*avals: ShapedArray, computation: Graph, dimensions: tuple[int, ...]) -> list[ShapedArray]:
    operands, starts = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    for x, init in zip(operands, starts):
        same_dtype("reduce", (x, init))
        if init.shape or x.shape != operands[0].shape:
            raise shape_error(
                "reduce",
                f"operands {', '.join(a.long() for a in operands)} with initial values "
                f"{', '.join(a.long() for a in starts)}",
                "operands share one shape, initial values have rank 0",
            )
    return [ShapedArray.of(remaining(x.shape, dimensions), x.dtype) for x in operands]


def fold(graph: Graph, arrays: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
    """Combine along the leading axis, neighbours pairwise, so that only associativity is used."""
    arrays = list(arrays)
    shape = arrays[0].shape[1:]
    tails: list[list[Any]] = []
    while arrays[0].shape[0] > 1:
        n = arrays[0].shape[0]
        if n % 2:
            tails.append([a[-1] for a in arrays])
        pairs = [a[0 : n - 1 : 2] for a in arrays] + [a[1:n:2] for a in arrays]
        arrays = run_graph(graph, pairs)
    total = [np.broadcast_to(s, shape) for s in starts]
    if arrays[0].shape[0]:
        total = run_graph(graph, total + [a[0] for a in arrays])
    for tail in reversed(tails):
        total = run_graph(graph, total + tail)
    return total


def _reduce_eval(*arrays: Any, computation: Graph, dimensions: tuple[int, ...]) -> list[Any]:
    operands, starts = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
    rest = remaining(operands[0].shape, dimensions)
    count = int(np.prod([operands[0].shape[d] for d in dimensions], dtype=np.int64))
    front = [np.moveaxis(x, dimensions, range(len(dimensions))).reshape(count, *rest) for x in operands]
    return fold(computation, front, starts)


def _reduce_lower(cx: Any, *values: Any, computation: Graph, dimensions: tuple[int, ...]) -> Any:
    half = len(values) // 2
    if cx.in_avals[0].size == 0:
        return [cx.broadcast(v, a, ()) for v, a in zip(values[half:], cx.out_avals)]
    out = cx.emit(
        "stablehlo.reduce", values, {"dimensions": i64_array(dimensions)}, None, [cx.graph_region(computation)]
    )
    return out if isinstance(out, list) else [out]


reduce_p = Primitive("reduce", shape=_reduce_shape, eval=_reduce_eval, lower=_reduce_lower, multiple=True)

_NAMED = {
    "add": reduce_sum_p,
    "mul": reduce_prod_p,
    "max": reduce_max_p,
    "min": reduce_min_p,
    "and": reduce_and_p,
    "or": reduce_or_p,
    "xor": reduce_xor_p,
}


def single_operation(graph: Graph) -> Primitive | None:
    """The primitive that a combining graph of two scalars consists of, if it is just one."""
    if len(graph.equations) != 1 or len(graph.inputs) != 2:
        return None
    (equation,) = graph.equations
    plain = set(equation.inputs) == set(graph.inputs) and graph.outputs == equation.outputs
    return equation.primitive if plain else None


def reduce(operands: Any, init_values: Any, computation: Callable[..., Any], dimensions: Sequence[int]) -> Any:
    """Combine elements along `dimensions` with any associative function.

    Args:
      operands: an array, or a list of arrays of one shape that are reduced together.
      init_values: scalars, one for each operand; identities of `computation`.
      computation: `(x, y) -> z` of scalars, or of tuples of them if `operands` is a sequence.
      dimensions: the axes to combine along.

    Returns:
      An array, or a list of arrays, without the axes.

    Raises:
      ShapeError: shapes differ, or `computation` does not return scalars of the operands' dtypes.

    >>> import numpy as np
    >>> import stagec.lax as lax
    >>> reduce(np.array([[1, 2], [3, 4]]), 0, lax.add, (0,))
    Array([4, 6], dtype=int32)
    """
    single = not isinstance(operands, (list, tuple))
    values = [as_operand(x) for x in ([operands] if single else operands)]
    starts = [init_values] if single else list(init_values)
    if len(starts) != len(values):
        raise shape_error(
            "reduce", f"{len(values)} operands but {len(starts)} initial values", "give one initial value for each"
        )
    avals = [aval_of(v) for v in values]
    inits = [convert_element_type(as_operand(s), a.dtype) for s, a in zip(starts, avals)]
    axes = tuple(sorted(canonical_axes(dimensions, avals[0].ndim, "reduce")))
    graph = traced_computation("reduce", computation, [a.dtype for a in avals], single=single)
    operation = single_operation(graph) if single else None
    if operation is not None and operation.name in _NAMED:
        return operation(inits[0], _along(_NAMED[operation.name], values[0], axes))
    out = reduce_p(*values, *inits, computation=graph, dimensions=axes)
    return out[0] if single else out
