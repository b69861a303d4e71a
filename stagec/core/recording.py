"""The trace that records what a function does as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location, small
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.frames import Frame
from stagec.core.graph import Atom, Equation, Graph, Literal, Var
from stagec.core.primitive import Primitive
from stagec.core.trace import Trace, Tracer, closed_over, leaked, under, with_operands
from stagec.core.wrapping import shown_name


class GraphTracer(Tracer):
    """A value of the function being recorded."""

    __slots__ = ("_var",)
    _trace: GraphTrace

    def __init__(self, trace: GraphTrace, var: Var) -> None:
        self._trace = trace
        self._var = var
        self.aval = var.aval

    def origin(self) -> str:
        equation = self._var.equation
        if equation is None:
            return f"argument {self._var.name} of {self._trace.name}" if self._var.name else ""
        text = f"from {equation.location.brief()}"
        arguments = self.arguments()
        if arguments:
            plural = "s" if len(arguments) > 1 else ""
            text += f", depends on argument{plural} {', '.join(name for name, _ in arguments)} of {self._trace.name}"
        return text

    def arguments(self) -> list[tuple[str, ShapedArray]]:
        return dependencies(self._var)

    def _of_constants(self) -> bool:
        trace = self._trace
        unknown = {*trace.inputs, *(v for v, c in zip(trace.captured_vars, trace.captured) if isinstance(c, Tracer))}
        return unknown.isdisjoint(_sources(self._var))


def _sources(var: Var) -> Iterator[Var]:
    """The inputs of the graph that `var` was computed from, in the order of the operands."""
    seen: set[Var] = set()
    stack = [var]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            if v.equation is None:
                yield v
            else:
                stack.extend(a for a in reversed(v.equation.inputs) if type(a) is Var)


def dependencies(var: Var, limit: int = 4) -> list[tuple[str, ShapedArray]]:
    """Name and aval of the arguments that `var` was computed from."""
    names: dict[str, ShapedArray] = {}
    for v in _sources(var):
        if v.name and len(names) < limit:
            names.setdefault(v.name, v.aval)
    return list(names.items())


class GraphTrace(Trace):
    """Records what a function does as equations."""

    def __init__(self, name: str = "function") -> None:
        self.name = name
        self.parent = state.trace
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []
        self.captured: list[Any] = []
        self.captured_vars: list[Var] = []
        self._captured_by_id: dict[int, Atom] = {}
        # Whether there are no hidden inputs: all arrays from outside are literals, and traced values are errors.
        self.closed = False
        self.frame: Frame | None = None
        # How values are split among devices, where that is known of the inputs, and for how many equations it is.
        self.splits: dict[Var, Any] | None = None
        self.followed = 0
        # The mesh along whose axes they are. And for each input of what control flow runs, the value around it that the
        # input is, or None, and whether it is a row of this; None for other graphs.
        self.mesh: Any = None
        self.outer: Sequence[tuple[Any, bool]] | None = None

    def argument(self, aval: ShapedArray, name: str = "") -> GraphTracer:
        var = Var(aval, None, name)
        self.inputs.append(var)
        return GraphTracer(self, var)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        inputs: list[Atom] = []
        for a in args:
            if type(a) is GraphTracer and a._trace is self:
                if self.ended:
                    raise leaked(a)
                inputs.append(a._var)
            else:
                inputs.append(self.lift(a))
        avals = [a.aval for a in inputs]
        try:
            out = primitive.shape(*avals, **params)
        except (errors.ShapeError, errors.DtypeError) as error:
            raise with_operands(error, args) from None
        if small.concerns(primitive, avals, out):
            return small.computed(self, primitive, args, avals, out, params)
        equation = Equation(primitive, inputs, [], params, location.capture())
        self.equations.append(equation)
        if primitive.multiple:
            equation.outputs = [Var(aval, equation) for aval in out]
            return [GraphTracer(self, v) for v in equation.outputs]
        var = Var(out, equation)
        equation.outputs.append(var)
        return GraphTracer(self, var)

    def lift(self, value: Any) -> Atom:
        """Bring in a value from outside: small ones as literals, others as hidden inputs."""
        found = self._captured_by_id.get(id(value))
        if found is not None:
            return found
        if type(value) is Literal:
            return value
        if isinstance(value, Tracer):
            if value._trace.ended:
                raise leaked(value)
            if self.closed or not self._is_inside(value._trace):
                raise closed_over(value)
            aval = value.aval
        else:
            if isinstance(value, (np.ndarray, np.generic)):
                array: Any = np.asarray(value)
                aval = ShapedArray.of(array.shape, array.dtype)
            else:
                array, aval = value, value.aval
            small = aval.nbytes <= config.captured_constant_bytes and (aval.ndim == 0 or aval.size > 0)
            is_local = getattr(array, "local", None) is None  # not one of several processes
            is_whole = getattr(array, "is_fully_replicated", True)  # parts decide how results are split
            if is_local and (self.closed or (small and is_whole)):
                return Literal(np.asarray(array), aval)
            if self.closed:
                raise closed_over(array)
        var = Var(aval)
        self.captured.append(value)
        self.captured_vars.append(var)
        self._captured_by_id[id(value)] = var
        return var

    def _is_inside(self, trace: Trace) -> bool:
        """Whether this trace began while the other one was in force."""
        outer = self.parent
        while outer is not None and not outer.has_values_of(trace):
            outer = outer.parent
        return outer is not None

    def finish(self, outputs: Iterable[Any]) -> tuple[Graph, list[Any]]:
        """Close the trace; captured values lead the graph's inputs."""
        atoms = [v._var if type(v) is GraphTracer and v._trace is self else self.lift(v) for v in outputs]
        self.ended = True
        return Graph(self.captured_vars + self.inputs, self.equations, atoms), self.captured


def trace_closed(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    names: Sequence[str] = (),
    name: str = "",
    static_arguments: bool = True,
) -> Graph:
    """As `trace_flat`, without hidden inputs, for a function of stagec's own; it may call users' rules of derivatives.

    Arrays that it makes or closes over are literals of the graph.

    Raises:
      UnsupportedError: it closes over a traced value.
    """
    return trace_flat(function, avals, names, name, static_arguments, closed=True)[0]


def trace_flat(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    names: Sequence[str] = (),
    name: str = "",
    static_arguments: bool = True,
    frame: Frame | None = None,
    closed: bool = False,
    outer: Sequence[tuple[Any, bool]] | None = None,
) -> tuple[Graph, list[Any]]:
    """Record `function` of flat arrays, which returns a flat sequence of arrays.

    Args:
      avals: of its arguments.
      names: of its arguments, for messages.
      name: of the function, for messages.
      static_arguments: whether a message may advise to make an argument static.
      frame: for the references from outside that the function uses; without one, it cannot write them.
      closed: whether there are no captured values; see `trace_closed`.
      outer: for each argument, the value around the function that it is, or None, and whether it is a row of that.

    Returns:
      The graph, and the captured values that belong to its leading inputs.
    """
    trace = GraphTrace(name or shown_name(function))
    trace.static_arguments = static_arguments
    trace.frame, trace.closed, trace.outer = frame, closed, outer
    tracers = [trace.argument(a, names[i] if i < len(names) else "") for i, a in enumerate(avals)]
    before = location.ambient.location
    if not trace.of_own_code:
        location.ambient.location = None  # the lines that `function` runs count
    try:
        outputs = under(trace, function, *tracers)
        return trace.finish(outputs)
    finally:
        trace.ended = True
        location.ambient.location = before
