"""vmap: every primitive runs on all elements of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.axis import Axis, OpenAxis
from stagec.core.config import state
from stagec.core.dims import is_open
from stagec.core.graph import graphs_in
from stagec.core.primitive import MissingRule, Primitive
from stagec.core.trace import Trace, Tracer, current, leaked, under
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import no_rule


class BatchTracer(Tracer):
    """One element of a batch; `value` holds all of them along `dim`."""

    __slots__ = ("dim", "value")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        self._trace = trace
        self.value = value
        self.dim = dim
        whole = aval_of(value)
        self.aval: ShapedArray = whole.update(shape=whole.shape[:dim] + whole.shape[dim + 1 :])

    def origin(self) -> str:
        return self.value.origin() if isinstance(self.value, Tracer) else ""

    def __repr__(self) -> str:
        return f"BatchTracer<{self.aval.short()}> one of {self._trace.size}"

    def _concretization(self, kind: type[errors.StagecError], wanted: str, fix: str) -> errors.StagecError:
        return location.error(
            kind,
            f"the {wanted} of one element of a batch was asked for: under vmap, {self.aval.long()} stands for "
            f"{int(self._trace.size)} values at once",
            [("value", self.aval.long(), self.origin())],
            f"{fix}, or compute it outside the function that vmap maps",
        )


class BatchTrace(Trace):
    """Runs each primitive's batching rule under the parent.

    Args:
      resumed: the axis of an earlier trace of the same batch, whose values count as this one's: a user's rule may close
        over them.
    """

    def __init__(self, size: int, axis_name: Any = None, resumed: Axis | None = None, typed: bool = False) -> None:
        self.parent = state.trace
        self.size = size if is_open(size) else Axis(size, axis_name, typed)
        self.axis = OpenAxis(axis_name) if is_open(size) else self.size
        self.resumed = self.axis if resumed is None else resumed

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        pairs = [self.split(a) for a in args]
        values, places = [v for v, _ in pairs], [d for _, d in pairs]
        with current(self.parent):
            if all(d is None for d in places) and not self.reads_axis(params):
                return primitive(*values, **params)
            if isinstance(primitive.batch, MissingRule):
                raise no_rule(primitive, "batched", primitive.batch)
            division = getattr(self.size, "division", None)
            rule = primitive.batch if division is None else division.batch
            out, out_dims = rule(primitive, values, places, self.size, params)
        if primitive.multiple:
            return [self.join(o, d) for o, d in zip(out, out_dims, strict=True)]
        return self.join(out, out_dims)

    def reads_axis(self, params: dict[str, Any]) -> bool:
        """Whether an operation with these parameters depends on the batch by the axis's name."""
        name = self.axis.name
        return name is not None and reads_axis(params, name)

    def split(self, value: Any) -> tuple[Any, int | None]:
        if type(value) is BatchTracer and (value._trace is self or value._trace.axis is self.resumed):
            if value._trace.ended:
                raise leaked(value)
            return value.value, value.dim
        return value, None

    def join(self, value: Any, dim: int | None) -> Any:
        return value if dim is None else BatchTracer(self, value, dim)


def reads_axis(params: dict[str, Any], name: Any) -> bool:
    """Whether an operation with these parameters, or one in its graphs, depends on the axis of that name."""
    if "axis_name" in params:
        return params["axis_name"] == name
    return any(reads_axis(e.params, name) for graph in graphs_in(params) for e in graph.equations)


def batch_flat(
    function: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[int | None],
    size: int,
    axis_name: Any = None,
    resumed: Axis | None = None,
    typed: bool = False,
) -> tuple[list[Any], list[int | None]]:
    """Results of a flat function for each element of a batch, and the positions of their batch axes.

    Args:
      typed: see `Axis`.
    """
    trace = BatchTrace(size, axis_name, resumed, typed)
    try:
        outs = under(trace, lambda: function(*[trace.join(v, d) for v, d in zip(values, dims, strict=True)]))
        pairs = [trace.split(o) for o in outs]
    finally:
        trace.ended = True
    return [v for v, _ in pairs], [d for _, d in pairs]


def batch_front(
    function: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[int | None],
    size: int,
    resumed: Axis | None = None,
) -> list[Any]:
    """As `batch_flat`, with every result's batch axis first."""
    outs, out_dims = batch_flat(function, values, dims, size, resumed=resumed)
    return [moveaxis_to_front(o, d, size) for o, d in zip(outs, out_dims)]
