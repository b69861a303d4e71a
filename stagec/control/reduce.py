"""Reductions by a user's function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from stagec.control.combining import by_graph, with_tangents
from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.functions import Role, call, check_callable
from stagec.core.graph import Graph, Literal, replay
from stagec.core.primitive import NOT_LINEAR, MultiplePrimitive, Primitive, SinglePrimitive
from stagec.core.recording import trace_flat
from stagec.core.trace import current
from stagec.primitives import reduce as named
from stagec.primitives.axes import canonical_axes, shape_error
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, reduce_sum_p
from stagec.primitives.checks import check_dtype, i64_array, same_dtype
from stagec.primitives.combining import folded
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.reduction import remaining
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose
from stagec.typing import ArrayLike

__all__ = ["reduce", "reduce_p"]


def traced_computation(
    name: str, computation: Callable[..., Any], dtype_list: Sequence[np.dtype[Any]], tree: pytree.PyTreeDef
) -> tuple[Graph, pytree.PyTreeDef]:
    """The graph of a user's combining function of scalars, accumulators first, then elements; and its result's tree.

    Args:
      tree: the structure of the operands, which the function's two arguments have.

    Raises:
      ShapeError, DtypeError: it does not return scalars of the operands' dtypes.
      UnsupportedError: it closes over an array.
    """
    check_callable(name, f"stagec.lax.{name}(x, 0, stagec.lax.add, ...)", computation)
    avals = [ShapedArray.of((), d) for d in dtype_list]
    out_tree = tree

    def flat(*args: Any) -> list[Any]:
        nonlocal out_tree
        pair = tree.unflatten(args[: len(avals)]), tree.unflatten(args[len(avals) :])
        outs, out_tree = pytree.flatten(call(computation, pair, Role(f"{name}: computation", ("x", "y"))))
        return [as_operand(o) for o in outs]

    graph, captured = trace_flat(flat, avals + avals, name=name)
    if captured:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: the computation closes over an array",
            fix="combine with plain numbers only, or apply the array to the operand beforehand",
        )
    got = [(a.shape, a.dtype) for a in graph.out_avals]
    if got != [((), d) for d in dtype_list]:
        raise shape_error(
            name,
            f"the computation returns {', '.join(a.long() for a in graph.out_avals)}, "
            f"not {', '.join(a.long() for a in avals)}",
            "return one scalar of the operand's dtype for each operand",
        )
    return graph, out_tree


def reduced_leaves(name: str, operands: Any, init_values: Any) -> tuple[list[Operand], list[Operand], pytree.PyTreeDef]:
    """The leaves of what is reduced and of its initial values, and their structure; lists count as tuples.

    Raises:
      ShapeError: there is not one initial value for each operand, or there is no operand.
    """
    values, tree = pytree.flatten(operands)
    starts = pytree.leaves(init_values)
    if len(starts) != len(values):
        raise shape_error(
            name, f"{len(values)} operands but {len(starts)} initial values", "give one initial value for each"
        )
    structures = [pytree.structure(tuple(v) if isinstance(v, list) else v) for v in (operands, init_values)]
    if structures[0] != structures[1]:
        raise shape_error(
            name,
            f"the operands have the structure {structures[0]}, and the initial values {structures[1]}",
            "give the initial values the operands' structure",
        )
    if not values:
        raise shape_error(name, "there are no operands", "pass an array, or a list of them")
    return [as_operand(v) for v in values], [as_operand(v) for v in starts], tree


def of_wider(
    reduction: Callable[[Any, Any], Any], values: Sequence[Any], inits: Sequence[Any], tree: pytree.PyTreeDef
) -> Any:
    """A reduction of small dtypes: the user's function combines wider numbers, and their last one is rounded."""
    avals = [aval_of(v) for v in values]
    kinds = [dtypes.COMPUTED_IN.get(a.dtype, a.dtype) for a in avals]
    wide, starts = ([convert_element_type(v, k) for v, k in zip(vs, kinds)] for vs in (values, inits))
    found, out_tree = pytree.flatten(reduction(tree.unflatten(wide), tree.unflatten(starts)))
    return out_tree.unflatten([convert_element_type(f, a.dtype) for f, a in zip(found, avals)])


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
        check_dtype("reduce", same_dtype("reduce", (x, init)), dtypes.ORDINARY)
        if init.shape or x.shape != operands[0].shape:
            raise shape_error(
                "reduce",
                f"operands {', '.join(a.long() for a in operands)} with initial values "
                f"{', '.join(a.long() for a in starts)}",
                "pass operands of one shape, and numbers as initial values",
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
    kept_sizes = remaining(operands[0].shape, dimensions)
    count = int(np.prod([operands[0].shape[d] for d in dimensions], dtype=np.int64))
    front = [np.moveaxis(x, dimensions, range(len(dimensions))).reshape(count, *kept_sizes) for x in operands]
    return fold(computation, front, starts)


def _reduce_lower(cx: Any, *values: Any, computation: Graph, dimensions: tuple[int, ...]) -> Any:
    half = len(values) // 2
    if cx.in_avals[0].size == 0:
        return [cx.broadcast(v, a, ()) for v, a in zip(values[half:], cx.out_avals)]
    out = cx.emit(
        "stablehlo.reduce", values, {"dimensions": i64_array(dimensions)}, None, [cx.graph_region(computation)]
    )
    return out if isinstance(out, list) else [out]


def _leading(arrays: Sequence[Any], dimensions: tuple[int, ...]) -> list[Any]:
    """Arrays whose reduced axes are one leading axis."""
    shape = aval_of(arrays[0]).shape
    kept = [i for i in range(len(shape)) if i not in dimensions]
    sizes = (math.prod([shape[d] for d in dimensions]), *[shape[i] for i in kept])
    return [reshape(transpose(x, (*dimensions, *kept)), sizes) for x in arrays]


def _reduce_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """Halves are combined, with their tangents, by the derivative of the user's function."""
    half = len(primals) // 2
    dots = [instantiate(t) for t in tangents]
    arrays = _leading([*primals[:half], *dots[:half]], params["dimensions"])
    out = folded(with_tangents(params["computation"]), arrays, [*primals[half:], *dots[half:]])
    return primitive(*primals, **params), out[half:]


def _reduce_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    half = len(args) // 2
    operands = [moveaxis_to_front(x, d, size) for x, d in zip(args[:half], dims[:half])]
    axes = tuple([d + 1 for d in params["dimensions"]])
    if all(d is None for d in dims[half:]):
        return primitive(*operands, *args[half:], computation=params["computation"], dimensions=axes), [0] * half
    arrays = _leading(operands, axes)
    shape = aval_of(arrays[0]).shape[1:]
    starts = [broadcast_in_dim(x, shape, () if d is None else (0,)) for x, d in zip(args[half:], dims[half:])]
    return folded(by_graph(params["computation"]), arrays, starts), [0] * half


reduce_p = MultiplePrimitive(
    "reduce",
    shape=_reduce_shape,
    eval=_reduce_eval,
    lower=_reduce_lower,
    jvp=_reduce_jvp,
    transpose=NOT_LINEAR,
    batch=_reduce_batch,
)

_NAMED = {
    "add": reduce_sum_p,
    "mul": named.reduce_prod_p,
    "max": named.reduce_max_p,
    "min": named.reduce_min_p,
    "and": named.reduce_and_p,
    "or": named.reduce_or_p,
    "xor": named.reduce_xor_p,
}


def single_operation(graph: Graph) -> SinglePrimitive | None:
    """The primitive that a combining graph of two scalars consists of, if it is just one."""
    if len(graph.equations) != 1 or len(graph.inputs) != 2:
        return None
    (equation,) = graph.equations
    plain = set(equation.inputs) == set(graph.inputs) and graph.outputs == equation.outputs
    return equation.primitive if plain and isinstance(equation.primitive, SinglePrimitive) else None


def _reduced(row: SinglePrimitive, operand: Any, axes: tuple[int, ...]) -> Any:
    return row(operand, axes=axes) if axes else operand


def _initial(value: Operand, operand: ShapedArray) -> Operand:
    """An initial value in the dtype of what is reduced; Python numbers take that."""
    own = aval_of(value)
    if own.shape or (own.dtype != operand.dtype and not own.weak_type):
        raise location.error(
            errors.ShapeError if own.shape else errors.DtypeError,
            f"reduce: the initial value is {own.long()}, and the operand {operand.long()}",
            fix=f"give one number, of {operand.dtype.name} or a Python number",
        )
    return convert_element_type(value, operand.dtype)


@overload
def reduce(
    operands: ArrayLike, init_values: Any, computation: Callable[..., Any], dimensions: Sequence[int]
) -> Array: ...
@overload
def reduce(
    operands: list[Array] | list[ArrayLike],
    init_values: Any,
    computation: Callable[..., Any],
    dimensions: Sequence[int],
) -> list[Array]: ...
@overload
def reduce(operands: Any, init_values: Any, computation: Callable[..., Any], dimensions: Sequence[int]) -> Any: ...
def reduce(operands: Any, init_values: Any, computation: Callable[..., Any], dimensions: Sequence[int]) -> Any:
    """Combine elements along `dimensions` with any associative function.

    Args:
      operands: an array, or a pytree of arrays of one shape that are reduced together.
      init_values: scalars, one for each operand; identities of `computation`.
      computation: `(x, y) -> z` of scalars, or of pytrees of them if `operands` is one.
      dimensions: the axes to combine along.

    Returns:
      An array, or arrays in the structure of what `computation` returns, without the axes.

    Raises:
      ShapeError: shapes differ, or `computation` does not return scalars of the operands' dtypes.

    >>> import numpy as np
    >>> import stagec.lax as lax
    >>> reduce(np.array([[1, 2], [3, 4]]), 0, lax.add, (0,))
    Array([4, 6], dtype=int32)
    """
    values, starts, tree = reduced_leaves("reduce", operands, init_values)
    avals = [aval_of(v) for v in values]
    inits = [_initial(s, a) for s, a in zip(starts, avals)]
    if any(a.small for a in avals):
        return of_wider(lambda array, start: reduce(array, start, computation, dimensions), values, inits, tree)
    axes = tuple(sorted(canonical_axes(dimensions, avals[0].ndim, "reduce")))
    graph, out_tree = traced_computation("reduce", computation, [a.dtype for a in avals], tree)
    operation = single_operation(graph)
    if operation is not None and operation.name in _NAMED:
        return out_tree.unflatten([operation(inits[0], _reduced(_NAMED[operation.name], values[0], axes))])
    return out_tree.unflatten(reduce_p(*values, *inits, computation=graph, dimensions=axes))
