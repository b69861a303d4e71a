"""`jax.interpreters.partial_eval`: a function of which some arguments are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.compat.extend.linear_util import WrappedFun
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph
from stagec.core.recording import GraphTrace as DynamicJaxprTrace, GraphTracer as DynamicJaxprTracer, trace_flat
from stagec.core.trace import under
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand, aval_of
from stagec.transforms.linearize import PartialTrace

__all__ = [
    "DynamicJaxprTrace", "DynamicJaxprTracer", "PartialVal", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]  # fmt: skip


class PartialVal(NamedTuple):
    """A value, or the type of one that is unknown."""

    aval: ShapedArray | None
    const: Any

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        return cls(aval, None)

    def is_known(self) -> bool:
        return self.aval is None

    def get_known(self) -> Any:
        return self.const if self.is_known() else None

    def get_aval(self) -> ShapedArray:
        return aval_of(as_operand(self.const)) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool = False
) -> tuple[Graph, list[PartialVal], list[Any]]:
    """Compute what the known arguments determine, and record the remainder.

    Args:
      fun: a function of flat arrays, which returns a flat sequence.
      instantiate: record all results.

    Returns:
      The program of the unknown results; all results; and the values that lead the program's inputs.

    >>> from stagec.compat.extend.linear_util import wrap_init
    >>> unknown = PartialVal.unknown(ShapedArray((), "float32"))
    >>> program, (total, one), _ = trace_to_jaxpr_nounits(
    ...     wrap_init(lambda x, y: [x + y, y * 2]), [unknown, PartialVal.known(3.0)]
    ... )
    >>> total, float(one.const), len(program.eqns)
    (PartialVal(aval=ShapedArray(float32[]), const=None), 6.0, 1)
    """
    trace = PartialTrace(fun.__name__)
    args = [as_array(as_operand(v.const)) if v.aval is None else trace.unknown.argument(v.aval) for v in pvals]
    outs = [as_operand(out) for out in under(trace, fun.call_wrapped, *args)]
    recorded = [instantiate or trace.is_unknown(out) for out in outs]
    graph, consts = trace.unknown.finish([out for out, r in zip(outs, recorded) if r])
    return (
        graph,
        [PartialVal.unknown(aval_of(out)) if r else PartialVal.known(as_array(out)) for out, r in zip(outs, recorded)],
        consts,
    )


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray], **options: Any
) -> tuple[Graph, list[ShapedArray], list[Any]]:
    """The program of a function of flat arrays, the types of its results, and the values that lead its inputs."""
    graph, captured = trace_flat(lambda *xs: [as_operand(out) for out in fun.call_wrapped(*xs)], in_avals)
    return graph, graph.out_avals, captured
