"""The traced program: a list of equations in plain Python."""

from __future__ import annotations

import contextlib
import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.core import dims, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.copying import OwnCopy
from stagec.core.dims_values import symbols
from stagec.core.graph_text import format_graph, user_line
from stagec.core.host import HostCallback, LibraryCall
from stagec.core.location import Location
from stagec.core.parameters import Parameters
from stagec.core.primitive import Primitive
from stagec.core.trace import bind

INSTEAD_OF_A_GRAPH = "pickle the function that was traced, such as a jitted one by its name; str(graph) is its text"


class Var:
    """The name of a value in a graph."""

    __slots__ = ("aval", "equation", "name")

    def __init__(self, aval: ShapedArray, equation: Equation | None = None, name: str = "") -> None:
        self.aval = aval
        self.equation = equation
        self.name = name

    def copy(self) -> Var:
        """Another variable of its type."""
        return Var(self.aval)

    def __repr__(self) -> str:
        return f"Var({self.aval.short()})"


class Literal:
    """A small value that is written into the graph itself."""

    __slots__ = ("aval", "value")

    def __init__(self, value: np.ndarray[Any, Any], aval: ShapedArray) -> None:
        self.value = value
        self.aval = aval

    @property
    def val(self) -> Any:
        """The value as users write it: a Python number where the type is weak."""
        return self.value.item() if self.aval.weak_type else self.value

    def __repr__(self) -> str:
        return f"Literal({self.val!r})"


Atom = Var | Literal


class Equation:
    """One step: outputs = primitive[params](inputs)."""

    __slots__ = ("inputs", "location", "outputs", "params", "primitive")

    def __init__(
        self, primitive: Primitive, inputs: list[Atom], outputs: list[Var], params: dict[str, Any], location: Location
    ) -> None:
        self.primitive = primitive
        self.inputs = inputs
        self.outputs = outputs
        self.params = Parameters(params)
        self.location = location

    # JAX's names.
    invars = property(operator.attrgetter("inputs"))
    outvars = property(operator.attrgetter("outputs"))
    source_info = property(operator.attrgetter("location"))

    @property
    def effects(self) -> frozenset[Primitive]:
        """The primitives that matter even when the results are not used."""
        own = [self.primitive] if self.primitive.effects else []
        return frozenset(own).union(*[inner.effects for inner in inner_graphs(self)])

    def replace(self, **changes: Any) -> Equation:
        """The equation with others of its parts, by JAX's names: `invars`, `outvars`, `primitive`, `params`."""
        parts = {n: getattr(self, n) for n in ("primitive", "invars", "outvars", "params", "source_info")}
        found: Equation = _replaced(changes, self._of_parts, parts)
        return found

    @classmethod
    def _of_parts(cls, primitive: Any, invars: Any, outvars: Any, params: Any, source_info: Any) -> Equation:
        return cls(primitive, list(invars), list(outvars), params, source_info)


def _replaced(changes: dict[str, Any], make: Callable[..., Any], parts: dict[str, Any]) -> Any:
    # What JAX's programs say besides follows from these parts.
    unknown = sorted(changes.keys() - parts.keys() - {"ctx", "debug_info", "effects", "is_high"})
    if unknown:
        raise TypeError(f"replace: there is no {', '.join(unknown)} to replace; there are {', '.join(parts)}")
    return make(**{name: changes.get(name, value) for name, value in parts.items()})


class Graph(OwnCopy):
    """A function of arrays: inputs, equations, outputs.

    Closed-over arrays are ordinary leading inputs; whoever holds the graph
    holds their values.
    """

    __slots__ = ("_digest", "_effects", "_inside", "derived", "equations", "inputs", "outputs")

    def __init__(self, inputs: list[Var], equations: list[Equation], outputs: list[Atom]) -> None:
        self.inputs = inputs
        self.equations = equations
        self.outputs = outputs
        self._digest: str | None = None
        # Graphs that transformations derived from it, so that each is traced once.
        self.derived: dict[Any, Any] = {}
        self._effects: frozenset[Primitive] | None = None
        self._inside: tuple[Graph, ...] | None = None

    def _instead_of_pickling(self) -> str:
        return INSTEAD_OF_A_GRAPH

    # JAX's names. Of a graph inside an equation, all inputs are the equation's.
    eqns = property(operator.attrgetter("equations"))
    invars = property(operator.attrgetter("inputs"))
    outvars = property(operator.attrgetter("outputs"))

    @property
    def constvars(self) -> list[Var]:
        return []

    @property
    def jaxpr(self) -> Graph:
        """The graph itself: one inside of an equation is closed."""
        return self

    consts = constvars

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.inputs]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outputs]

    def replace(self, **changes: Any) -> Graph:
        """The graph with others of its parts, by JAX's names: `invars`, `outvars`, `eqns`, `constvars`."""
        parts = {n: getattr(self, n) for n in ("constvars", "invars", "outvars", "eqns")}
        found: Graph = _replaced(changes, self._of_parts, parts)
        return found

    @classmethod
    def _of_parts(cls, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom], eqns: Any) -> Graph:
        return Graph([*constvars, *invars], list(eqns), list(outvars))

    def pretty_print(self, *, source_info: bool = False, **options: Any) -> str:
        """The text, with the users' lines on demand; JAX's other options have no effect."""
        return format_graph(self, len(self.constvars), user_line if source_info else lambda _: "")

    def digest(self) -> str:
        """Names the program: equal for graphs that compute the same with the same steps.

        Source locations do not count, so moving a function in its file keeps its digest. Nor does
        what callbacks do: only which of them are the same function.
        """
        if self._digest is None:
            text = canonical(self)
            callbacks = host_callbacks(self)
            if callbacks:
                calls = [callbacks.index(c) for c in _host_calls(self)]
                text += f"\ncallbacks {calls}"
            self._digest = hashlib.sha256(text.encode()).hexdigest()
        return self._digest

    @property
    def effects(self) -> frozenset[Primitive]:
        """The primitives for which running it matters even when its results are not used."""
        if self._effects is None:
            self._effects = frozenset().union(*[e.effects for e in self.equations])
        return self._effects

    def __str__(self) -> str:
        return format_graph(self)

    __repr__ = __str__


def inner_graphs(equation: Equation) -> list[Graph]:
    """The graphs among an equation's parameters, in the order of these parameters' names."""
    return graphs_in(equation.params)


def graphs_in(params: Mapping[str, Any]) -> list[Graph]:
    """The same of parameters."""
    found: list[tuple[str, list[Graph]]] = []
    for name, value in params.items():
        if isinstance(value, Graph):
            found.append((name, [value]))
        elif isinstance(value, tuple) and (inner := [part for part in value if isinstance(part, Graph)]):
            found.append((name, inner))
    return [graph for _, inner in sorted(found, key=operator.itemgetter(0)) for graph in inner] if found else []


def with_graphs(params: dict[str, Any], change: Callable[[Graph], Graph]) -> dict[str, Any]:
    """An equation's parameters with other graphs; the same dictionary if `change` returns all of them as they are."""
    changed: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, Graph):
            new: Any = change(value)
        elif isinstance(value, tuple) and any(isinstance(part, Graph) for part in value):
            new = tuple([change(part) if isinstance(part, Graph) else part for part in value])
            new = value if all(a is b for a, b in zip(new, value)) else new
        else:
            continue
        if new is not value:
            changed[name] = new
    return {**params, **changed} if changed else params


def graphs(graph: Graph) -> Sequence[Graph]:
    """The graph, and every graph inside it."""
    if graph._inside is None:
        inside = [part for equation in graph.equations for inner in inner_graphs(equation) for part in graphs(inner)]
        graph._inside = tuple(inside)
    return (graph, *graph._inside)


def all_equations(graph: Graph) -> Iterator[Equation]:
    """Every equation, those of inner graphs included."""
    for part in graphs(graph):
        yield from part.equations


def has_effects(equation: Equation) -> bool:
    """Whether running the equation matters even when its results are not used."""
    return equation.primitive.effects or any(inner.effects for inner in inner_graphs(equation))


def host_calls(graph: Graph) -> list[Equation]:
    """The equations that call Python functions."""
    return [e for e in all_equations(graph) if isinstance(e.params.get("callback"), HostCallback)]


def _host_calls(graph: Graph) -> list[HostCallback]:
    return [e.params["callback"] for e in host_calls(graph)]


def host_callbacks(graph: Graph) -> list[HostCallback]:
    """The Python functions that the graph calls, each once: the compiled program refers to them by their indices
    here.
    """
    return list(dict.fromkeys(_host_calls(graph)))


def has_callbacks(graph: Graph) -> bool:
    """Whether the graph calls Python functions, so that it runs in the process that traced it only."""
    return bool(_host_calls(graph))


def has_users_callbacks(graph: Graph) -> bool:
    """Whether the graph calls the user's functions, not only libraries': when and in which thread they run matters."""
    return not all(isinstance(c, LibraryCall) for c in _host_calls(graph))


_AS_THEY_ARE = contextlib.nullcontext()


def options_of(equation: Equation) -> contextlib.AbstractContextManager[None]:
    """The options for a rule of an equation: those in force, and 64-bit dtypes where the equation has some.

    It may have been recorded in a block that has ended.
    """
    if any([a.aval.wide for a in (*equation.inputs, *equation.outputs)]) and not config.enable_x64:  # noqa: C419
        return config.override(enable_x64=True)
    return _AS_THEY_ARE


def run_equation(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation under the current trace."""
    result = bind(equation.primitive, tuple(operands), equation.params)
    return result if equation.primitive.multiple else [result]


def replay(
    graph: Graph, args: Sequence[Any], run: Callable[[Equation, Sequence[Any]], Sequence[Any]] = run_equation
) -> list[Any]:
    """Run the graph's equations on `args` under the current trace.

    An output that is a literal comes back as the `Literal`.

    Args:
      run: `(equation, operands) -> results`, at the equation's location; an operand that is a literal is the `Literal`.
    """
    values: dict[Var, Any] = dict(zip(graph.inputs, args, strict=True))

    def read(atom: Atom) -> Any:
        return atom if type(atom) is Literal else values[atom]  # type: ignore[index]

    before = location.ambient.location
    try:
        for equation in graph.equations:
            location.ambient.location = equation.location
            with options_of(equation):
                results = run(equation, [read(a) for a in equation.inputs])
            values.update(zip(equation.outputs, results, strict=True))
    finally:
        location.ambient.location = before
    return [read(a) for a in graph.outputs]


def prune(graph: Graph, keep_inputs: bool = False) -> tuple[Graph, list[bool]]:
    """Drop equations and results of inner graphs that are not used; say which inputs remain."""
    live: set[Var] = {a for a in graph.outputs if type(a) is Var}
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        used = [v in live for v in equation.outputs]
        if any(used) or has_effects(equation):
            if equation.primitive.trim is not None:
                equation = equation.primitive.trim(equation, used)
            kept.append(equation)
            live.update(a for a in equation.inputs if type(a) is Var)
    used = [keep_inputs or v in live for v in graph.inputs]
    inputs = [v for v, u in zip(graph.inputs, used) if u]
    return Graph(inputs, kept[::-1], graph.outputs), used


def without_effects(graph: Graph) -> Graph:
    """The graph for another run, in which only its results count."""
    if not graph.effects:
        return graph
    live: set[Any] = {*graph.outputs}
    kept: list[Equation] = []
    for e in reversed(graph.equations):
        if not live.isdisjoint(e.outputs):
            params = with_graphs(e.params, without_effects)
            kept.append(Equation(e.primitive, e.inputs, e.outputs, params, e.location))
            live.update(a for a in e.inputs if type(a) is Var)
    return Graph(graph.inputs, kept[::-1], graph.outputs)


def canonical(graph: Graph) -> str:
    """The graph as text in which only meaning counts: the content of its digest."""
    numbers: dict[Var, int] = {}
    lines: list[str] = []

    def number(var: Var) -> str:
        if var not in numbers:
            numbers[var] = len(numbers)
        return f"%{numbers[var]}"

    def atom(a: Atom) -> str:
        return number(a) if type(a) is Var else encode(a.value)  # type: ignore[union-attr]

    def typed(var: Var) -> str:
        return f"{number(var)}:{var.aval.short()}"

    lines.append(" ".join(typed(v) for v in graph.inputs))
    bounds = [s.fingerprint for s in symbols([v.aval.shape for v in graph.inputs if v.aval.is_open])]
    if bounds:
        lines.append(" ".join(bounds))
    for e in graph.equations:
        params = ",".join(f"{k}={encode(v)}" for k, v in sorted(e.params.items()) if k != "name")
        lines.append(
            f"{' '.join(map(typed, e.outputs))}={e.primitive.name}[{params}]{' '.join(atom(a) for a in e.inputs)}"
        )
    lines.append(" ".join(map(atom, graph.outputs)))
    return "\n".join(lines)


def encode(value: Any) -> str:
    """A parameter as text, the same in every process."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, np.dtype):
        return str(value.name)
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(map(encode, value)) + ")"
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode(k)}:{encode(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Graph):
        return "{" + canonical(value) + "}"
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return f"{array.dtype.name}{array.shape}{np.ascontiguousarray(array).tobytes().hex()}"
    if isinstance(value, ShapedArray):
        return repr(value)
    if isinstance(value, dims.Dim):
        return str(value)
    fingerprint = getattr(value, "fingerprint", None)
    if fingerprint is not None:
        return f"{type(value).__name__}:{fingerprint()}"
    raise errors.StagecError(f"a graph parameter of type {type(value).__name__} has no canonical form")
