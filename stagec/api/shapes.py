"""`make_graph` and `eval_shape`: a function traced, and not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from stagec.api.arguments import ShapeDtypeStruct, leaf_aval, leaf_value
from stagec.api.jit import JitFunction, jit
from stagec.api.stage import struct
from stagec.api.stages import ClosedGraph
from stagec.control.call import jit_p
from stagec.core import errors, pytree
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.axis import Axis, check_name
from stagec.core.callables import Function, P
from stagec.core.config import state
from stagec.core.graph import Graph
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_flat
from stagec.core.trace import Trace, under
from stagec.core.wrapping import shown_name
from stagec.primitives.broadcast import zeros
from stagec.primitives.convert import convert_element_type


@overload
def make_graph(
    fun: Callable[P, Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: Literal[False] = False,
    *,
    static_argnames: str | Iterable[str] | None = None,
) -> Function[P, ClosedGraph]: ...
@overload
def make_graph(
    fun: Callable[P, Any],
    static_argnums: int | Iterable[int] = (),
    *,
    static_argnames: str | Iterable[str] | None = None,
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: Literal[True],
) -> Function[P, tuple[ClosedGraph, Any]]: ...
def make_graph(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    *,
    static_argnames: str | Iterable[str] | None = None,
) -> Any:
    """A function that traces `fun` and returns its graph instead of its result.

    Args:
      static_argnums, static_argnames: as for `jit`.
      axis_env: names and lengths of axes, as `vmap` gives them to a function.
      return_shape: return the shapes of the results as well.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.make_graph(lambda x: snp.sin(x) * 2)(snp.ones(3))
    { lambda ; a:f32[3]. let
        b:f32[3] = sin a
        c:f32[3] = mul b 2.0:f32[]
      in (c,) }
    """
    inner = fun._function if isinstance(fun, JitFunction) else fun
    jitted = jit(inner, static_argnums=static_argnums, static_argnames=static_argnames)

    def graph_of(*args: Any, **kwargs: Any) -> Any:
        scope = state.trace
        for name, length in axis_env or ():
            scope = _Scope(scope, Axis(length, check_name(name)))
        return under(scope, graph_within, args, kwargs)

    def graph_within(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(fun, JitFunction):
            trace, captured, out_tree = _traced_call(fun, args, kwargs)
            graph = ClosedGraph(trace, captured)
        else:
            traced = jitted.trace(*args, **kwargs)
            graph, out_tree = traced.graph, traced._trace.out_tree
        if return_shape:
            return graph, out_tree.unflatten([struct(a) for a in graph.out_avals])
        return graph

    graph_of.__name__ = f"make_graph({shown_name(inner)})"
    return graph_of


class _Scope(Trace):
    """A named axis, and no batch along it."""

    def __init__(self, parent: Trace | None, axis: Axis) -> None:
        self.parent, self.axis = parent, axis

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return under(self.parent, lambda: primitive(*args, **params))


def _traced_call(fun: JitFunction[..., Any], args: Any, kwargs: Any) -> tuple[Graph, list[Any], pytree.PyTreeDef]:
    """A graph of one equation: the call of a jitted function."""
    trace, values = fun._traced(args, kwargs)

    def flat(*tracers: Any) -> list[Any]:
        return jit_p(*trace.captured, *tracers, name=trace.name, graph=trace.graph, **fun._settings.of_calls)

    graph, captured = trace_flat(flat, [leaf_aval(v) for v in values], trace.leaf_names, trace.name)
    return graph, captured, trace.out_tree


@overload
def eval_shape(fun: Callable[..., Array], *args: Any, **kwargs: Any) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of `fun(*args, **kwargs)`, without computing it.

    Arguments, and results of `fun`, are arrays, `ShapeDtypeStruct`s, or others that have a shape and a dtype.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.eval_shape(snp.dot, stagec.ShapeDtypeStruct((3, 4), "float32"), snp.ones(4))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    try:
        return jitted.eval_shape(*args, **kwargs)
    except errors.OutputTypeError:
        # What the function says the shape of is among its results.
        return jit(lambda *args, **kwargs: pytree.map_leaves(_value, fun(*args, **kwargs))).eval_shape(*args, **kwargs)


def _value(leaf: Any) -> Any:
    value = leaf_value(leaf)
    if not isinstance(value, ShapeDtypeStruct):
        return leaf
    return convert_element_type(zeros(ShapedArray.of(value.shape, value.dtype)), value.dtype, value.weak_type)
