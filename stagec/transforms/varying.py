"""Whether a value differs between the elements of a named axis."""

from __future__ import annotations

from typing import Any

from stagec.core.recording import GraphTracer
from stagec.core.trace import Tracer
from stagec.transforms.batch import BatchTracer
from stagec.transforms.jvp import JvpTracer


def varies(value: Any, axis_name: Any) -> bool | None:
    """Whether a value differs along an axis; None where a graph is recorded that is batched later."""
    while isinstance(value, Tracer):
        if type(value) is BatchTracer:
            if value._trace.axis.name == axis_name:
                return True
            value = value.value
        elif type(value) is JvpTracer:
            value = value.primal
        elif type(value) is GraphTracer and not _is_outside(value, axis_name):
            return None
        else:
            return False
    return False


def _is_outside(value: GraphTracer, axis_name: Any) -> bool:
    """Whether the graph is recorded outside of the axis's batch, so that its values are the same along the axis."""
    trace: Any = value._trace
    while trace is not None:
        if trace.axis is not None and trace.axis.name == axis_name:
            return False
        trace = trace.parent
    return True
