"""`jax.extend.core`: primitives that users define, and the classes of traced programs."""

from __future__ import annotations

from stagec.api.stages import ClosedGraph as ClosedJaxpr
from stagec.compat.primitive import Primitive
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Equation as JaxprEqn, Graph as Jaxpr, Literal, Var
from stagec.core.trace import Trace

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "Var",
    "get_opaque_trace_state",
    "mapped_aval",
    "unmapped_aval",
]


class TraceState:
    """The current trace, to be compared with that of another time."""

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceState) and self._trace is other._trace

    __hash__ = None  # type: ignore[assignment]


def get_opaque_trace_state(convention: str | None = None) -> TraceState:
    """Return an object that is equal to another one if both were made in the same trace.

    >>> import stagec
    >>> outside = get_opaque_trace_state()
    >>> outside == get_opaque_trace_state()
    True
    >>> bool(stagec.jit(lambda x: x if outside == get_opaque_trace_state() else -x)(1.0) < 0)
    True
    """
    return TraceState(state.trace)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one element of a batch.

    >>> import numpy as np
    >>> mapped_aval(3, 0, ShapedArray((3, 2), np.float32))
    ShapedArray(float32[2])
    """
    if axis is None:
        return aval
    assert aval.shape[axis] == size, "the batch has its size"
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of a batch, from that of one element.

    >>> import numpy as np
    >>> unmapped_aval(3, 1, ShapedArray((2,), np.float32))
    ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))
