"""References in traced functions: their values in traces that began after the reference was made.

A reference belongs to the trace in which it was made, and its cell is the reference itself. Another trace, further in,
keeps its own value in a `Frame`: what the reference held when it was first used there, and then what was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stagec.core import errors, location, pytree
from stagec.core.trace import Trace, Tracer

if TYPE_CHECKING:
    from stagec.core.recording import GraphTrace


class Frame:
    """The references from outside that a recorded function uses.

    Args:
      own_inputs: whether each becomes an input of the graph, in the order of `used`, and is not closed over.
    """

    def __init__(self, own_inputs: bool = False) -> None:
        self.own_inputs = own_inputs
        self.values: dict[Any, Any] = {}
        self.used: list[Any] = []
        self.written: list[Any] = []

    def carry(self, reference: Any, value: Any) -> None:
        """Let the function begin with this value; whoever records it takes care of the last one."""
        self.values[reference] = value

    def first(self, trace: GraphTrace, reference: Any) -> Any:
        """The value at the first use."""
        value = read(reference, trace.parent)
        if self.own_inputs:
            value = pytree.map_leaves(lambda v: trace.argument(v.aval, "a reference"), value)
        self.values[reference] = value
        self.used.append(reference)
        return value


def read(reference: Any, trace: Trace | None) -> Any:
    """What a reference holds, in a trace."""
    while trace is not reference._trace:
        if trace is None:
            raise _not_here()
        frame: Frame | None = getattr(trace, "frame", None)
        if frame is not None:
            if reference in frame.values:
                return frame.values[reference]
            return frame.first(trace, reference)  # type: ignore[arg-type]
        trace = trace.parent
    return reference._value


def write(reference: Any, value: Any, trace: Trace | None) -> None:
    """Let a reference hold another value, in a trace."""
    while trace is not reference._trace:
        if trace is None:
            raise _not_here()
        frame: Frame | None = getattr(trace, "frame", None)
        if frame is not None:
            if reference not in frame.values:
                frame.first(trace, reference)  # type: ignore[arg-type]
            frame.values[reference] = value
            if reference in frame.used and reference not in frame.written:
                frame.written.append(reference)
            return
        if hasattr(trace, "equations"):
            raise location.error(
                errors.UnsupportedError,
                f"a reference from outside is written in {getattr(trace, 'name', 'a function')}, which is recorded "
                "without what it writes",
                [("reference", reference.aval.long(), "")],
                "return the value and write it outside; stagec.jit and the loops and conditionals of stagec.lax write "
                "references, rules of custom derivatives, checkpoint and make_graph do not",
            )
        own = (trace, getattr(trace, "unknown", None))
        traced = next((v for v in pytree.leaves(value) if isinstance(v, Tracer) and v._trace in own), None)
        if traced is not None:
            what = "one of a batch" if trace.axis is not None else "differentiated"
            raise location.error(
                errors.UnsupportedError,
                f"a value that is {what} was written to a reference from outside",
                [("value", traced.aval.long(), traced.origin())],
                "make the reference inside the function that is mapped"
                if trace.axis is not None
                else "write stagec.lax.stop_gradient(value), or make the reference inside the differentiated function",
            )
        trace = trace.parent
    reference._value = value


def _not_here() -> errors.LeakedTracerError:
    return location.error(
        errors.LeakedTracerError,
        "a reference was used outside of the function that made it",
        fix="use references in the function that makes them, and return ref[...], the value",
    )
