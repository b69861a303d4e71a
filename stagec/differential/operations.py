"""Compares a program with NumPy operation by operation, those inside loops, conditionals and calls included."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from stagec.api.program import evaluated
from stagec.compiler.exact import MOVING
from stagec.control import bodies
from stagec.core import dtypes, errors, location
from stagec.core.config import config
from stagec.core.graph import Equation, Graph, Literal, Var, inner_graphs, options_of, replay, run_equation
from stagec.core.location import Location
from stagec.differential.compare import Compared, Distance, distance, largest
from stagec.differential.ways import Program, Way
from stagec.factorizations.pairs import ALGORITHMS
from stagec.runtime.nonfinite import host, step

# A graph's values by NumPy.
Known = dict[Var, Any]
# The operations around a graph, from the outside inward, and how many graphs each had run before.
Path = tuple[tuple[Equation, int], ...]
Visit = Callable[[Graph, Known, Path], None]

# Operations that are compiled at once; a program with more may take the compiler very long.
_AT_ONCE = 64
# Of the rounds of a loop, the first are compared, and then those whose number is a power of two.
_ROUNDS = 16
# Operations that add elements of operands, or products of elements. The result may be much smaller than its terms.
_SUMS = frozenset("add cumsum fft psum reduce_sum reduce_window_sum scatter_add scatter_sub sub".split())
_PRODUCTS = frozenset({"conv_general_dilated", "dot_general"})
# How an operation was compared.
_HOW = {True: "alone", False: "in the program"}


@dataclasses.dataclass(frozen=True)
class Operation(Compared):
    """An operation of the program in one way of computing, compared with NumPy on the same operands.

    Attributes:
      way: the name of the way.
      name: the primitive, such as `"tanh"`.
      location: the user's line.
      alone: whether it was computed apart from all others, from NumPy's operands. Otherwise in a program that returns
        all values, from that program's own ones.
      count: how often it was compared; operations inside of loops run many times.
      inside: the step of the loop, or the branch, of the largest difference, such as `"step 3 of a loop of 10"`.
      distance: the largest difference; None for a failure.
      failure: the first line of the error, where it could not be compiled or run.
    """

    way: str
    name: str
    location: Location
    alone: bool
    count: int
    inside: str = ""
    distance: Distance | None = None
    failure: str = ""

    def __str__(self) -> str:
        how = _HOW[self.alone]
        inside = f", in {self.inside}" if self.inside else ""
        found = self.failure and f"failed: {self.failure}"
        if self.distance is not None:
            found = f"agrees, {self.distance}" if self.agrees else f"DIFFERS, {self.distance}"
        return f"{self.name} at {self.location.brief()}{inside}: {how}: {found}"

    def row(self) -> tuple[str, ...]:
        """Its texts in a table: the operation, line, way, operands, error, error in steps, and where it is."""
        found = self.distance
        texts = (self.failure and "failed", "", self.failure) if found is None else found.texts()
        at = ", ".join(text for text in (texts[2], self.inside) if text)
        return (self.name, self.location.brief(), self.way, _HOW[self.alone], *texts[:2], at)


class Case(NamedTuple):
    """A graph and NumPy's values of its variables."""

    graph: Graph
    known: Known


@dataclasses.dataclass
class Row:
    """What is known so far of an operation.

    Attributes:
      around: the operations that it is inside of.
      cases: graphs that may show the worst difference, smaller ones first.
    """

    equation: Equation
    around: tuple[Equation, ...]
    operation: Operation
    cases: tuple[Case, ...] = ()

    @property
    def is_composite(self) -> bool:
        """Whether it consists of other operations: it may enlarge errors of rounding, and of a factorization several
        results may be right.
        """
        return self.equation.primitive.name in ALGORITHMS or bool(inner_graphs(self.equation))

    def add(self, found: Distance, inside: str, cases: Callable[[], tuple[Case, ...]]) -> None:
        """Count a comparison, and keep it if it is the worst."""
        before = self.operation
        self.operation = dataclasses.replace(before, count=before.count + 1)
        if before.distance is None or found.is_worse(before.distance):
            self.operation = dataclasses.replace(self.operation, distance=found, inside=inside)
            self.cases = () if found.agrees else cases()


class _Part(NamedTuple):
    """Operations of one graph, compiled together.

    Attributes:
      graph: takes what they need, and returns all of their results.
    """

    equations: Sequence[Equation]
    graph: Graph
    run: Program


class Comparison:
    """Compares the operations of graphs in one way of computing.

    Args:
      alone: compute each operation from NumPy's operands; otherwise compute the graphs, returning all values.
    """

    def __init__(self, way: Way, name: str, alone: bool) -> None:
        self.rows: dict[Equation, Row] = {}
        # Whether a program took the compiler too long; then nothing more is compared.
        self.is_left_out = False
        self.way, self._name, self._alone = way, name, alone
        self._parts: dict[Graph, list[_Part]] = {}
        self._runs: dict[Graph, int] = {}

    def visit(self, graph: Graph, known: Known, path: Path) -> None:
        """Compare the operations of a graph, if this run of it is one of those that are compared."""
        run = self._runs[graph] = self._runs.get(graph, -1) + 1
        if run >= _ROUNDS and run & (run - 1):
            return
        if self.is_left_out:
            return
        with bodies.replaced(replay):
            if graph not in self._parts:
                try:
                    self._parts[graph] = list(self._compiled(graph, known, path))
                except TimeoutError:
                    self.is_left_out = True
                    return
            for part in self._parts[graph]:
                self._compare(graph, part, known, path)

    def _compiled(self, graph: Graph, known: Known, path: Path) -> Iterator[_Part]:
        equations = [e for e in graph.equations if e.outputs]
        if self._alone:
            for i in range(0, len(equations), _AT_ONCE):
                yield from self._split(equations[i : i + _AT_ONCE], known, path)
        elif equations:
            whole = Graph(graph.inputs, graph.equations, [v for e in equations for v in e.outputs])
            try:
                yield _Part(equations, whole, self.way.program(whole, self._name))
            except errors.StagecError:
                return

    def _split(self, equations: Sequence[Equation], known: Known, path: Path) -> Iterator[_Part]:
        """The program of some operations; where it fails, of each half, so that the others are compared still."""
        part = apart(equations)
        try:
            run = self.way.program(part, self._name)
            run([known[v] for v in part.inputs])
        except errors.StagecError as error:
            if len(equations) == 1:
                row = self._row(equations[0], path)
                row.operation = dataclasses.replace(row.operation, failure=str(error).splitlines()[0])
                row.cases = (_case(equations, known),)
                return
            middle = len(equations) // 2
            yield from self._split(equations[:middle], known, path)
            yield from self._split(equations[middle:], known, path)
        else:
            yield _Part(equations, part, run)

    def _compare(self, graph: Graph, part: _Part, known: Known, path: Path) -> None:
        results = iter(part.run([known[v] for v in part.graph.inputs]))
        found = {v: next(results) for e in part.equations for v in e.outputs}
        # What the operations were computed from.
        values = known if self._alone else {**known, **found}
        inside = ", ".join(f"{step(e, run)} at {e.location.brief()}" for e, run in reversed(path))
        for equation in part.equations:
            row = self._row(equation, path)
            moves = self._alone and equation.primitive.name in MOVING and not row.is_composite
            expected = [known[v] for v in equation.outputs] if self._alone else evaluated(*_single(equation, values))
            terms = _largest_term(equation, values)
            worst: Distance | None = None
            for v, e in zip(equation.outputs, expected, strict=True):
                one = distance(host(e), found[v], moves, terms)
                worst = one if worst is None or one.is_worse(worst) else worst
            assert worst is not None, "operations without results are not compared"
            row.add(worst, inside, lambda e=equation: self._cases(e, graph, part, known))  # type: ignore[misc]

    def _cases(self, equation: Equation, graph: Graph, part: _Part, known: Known) -> tuple[Case, ...]:
        return (_case([equation], known), _case(part.equations, known)) if self._alone else (Case(graph, known),)

    def _row(self, equation: Equation, path: Path) -> Row:
        row = self.rows.get(equation)
        if row is None:
            made = Operation(self.way.name, equation.primitive.name, equation.location, self._alone, 0)
            row = self.rows[equation] = Row(equation, tuple([e for e, _ in path]), made)
        return row


def _largest_term(equation: Equation, values: Known) -> float:
    """The largest number that an operation adds; 0 for other operations."""
    name = equation.primitive.name
    if name not in _SUMS and name not in _PRODUCTS:
        return 0.0
    operands = [a for a in equation.inputs if dtypes.is_inexact(a.aval.dtype)]
    sizes = [largest(host(values[a] if type(a) is Var else a)) for a in operands]
    return math.prod(sizes) if name in _PRODUCTS else max(sizes, default=0.0)


def apart(equations: Sequence[Equation]) -> Graph:
    """A graph in which no operation reads another's result: the operands of all are inputs, the results outputs."""
    operands = dict.fromkeys(a for e in equations for a in e.inputs if type(a) is Var)
    made = [Equation(e.primitive, e.inputs, [Var(v.aval) for v in e.outputs], e.params, e.location) for e in equations]
    return Graph(list(operands), made, [v for e in made for v in e.outputs])


def _case(equations: Sequence[Equation], known: Known) -> Case:
    graph = apart(equations)
    results = {new: known[v] for e, m in zip(equations, graph.equations) for v, new in zip(e.outputs, m.outputs)}
    return Case(graph, {**{v: known[v] for v in graph.inputs}, **results})


def _single(equation: Equation, values: Known) -> tuple[Graph, list[Any]]:
    graph = apart([equation])
    return graph, [values[v] for v in graph.inputs]


def walk(graph: Graph, inputs: Sequence[Any], visits: Sequence[Visit]) -> Known:
    """Evaluate a graph by NumPy; each graph that was evaluated, those inside its operations first, is visited."""
    around: list[list[Any]] = []
    found: Known = {}

    def run(graph: Graph, args: Sequence[Any]) -> list[Any]:
        nonlocal found
        known: Known = {v: a.value if type(a) is Literal else a for v, a in zip(graph.inputs, args, strict=True)}
        path = tuple([(e, runs) for e, runs in around])
        before = location.ambient.location
        try:
            for equation in graph.equations:
                location.ambient.location = equation.location
                around.append([equation, 0])
                operands = [a if type(a) is Literal else known[a] for a in equation.inputs]  # type: ignore[index]
                with options_of(equation):
                    known.update(zip(equation.outputs, run_equation(equation, operands), strict=True))
                around.pop()
        finally:
            location.ambient.location = before
        for visit in visits:
            visit(graph, known, path)
        if around:
            around[-1][1] += 1
        found = known  # the outermost graph ends last
        return [a if type(a) is Literal else known[a] for a in graph.outputs]  # type: ignore[index]

    with bodies.replaced(run), config.override(debug_nans=False, debug_infs=False):
        run(graph, inputs)
    return found


def ordered(graph: Graph) -> Iterator[Equation]:
    """All operations, those inside of another before it."""
    for equation in graph.equations:
        for inner in inner_graphs(equation):
            yield from ordered(inner)
        yield equation


def in_order(graph: Graph, comparisons: Sequence[Comparison]) -> list[Row]:
    """The rows of comparisons in the program's order. Operations inside which others differ are left out: their
    results had to differ.
    """
    order = {e: i for i, e in enumerate(ordered(graph))}
    rows = [row for c in comparisons for row in c.rows.values()]
    explained = {e for row in rows if not row.operation.agrees for e in row.around}
    return sorted((r for r in rows if r.equation not in explained), key=lambda r: order.get(r.equation, len(order)))
