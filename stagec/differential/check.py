"""`stagec.check`: compares the ways in which a function can be computed, and finds the operation that differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stagec.api.jit import JitFunction, as_jitted
from stagec.control.call import inlined
from stagec.control.expansion import expanded
from stagec.core import errors, location, pytree
from stagec.core.config import state
from stagec.core.graph import Graph, Var, all_equations, has_users_callbacks, prune
from stagec.differential.compare import Compared, Distance, distance
from stagec.differential.operations import Case, Comparison, Known, Operation, Row, in_order, walk
from stagec.differential.proof import Proof, prove as proved
from stagec.differential.report import Reproduction
from stagec.differential.smallest import smallest
from stagec.differential.ways import SECONDS, Way, ways
from stagec.runtime.array import Array

# Operations that differ which a printed check shows.
_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class Outcome(Compared):
    """The outcome of one way of computing.

    Attributes:
      way: its name.
      result: the name of the compared result, such as `"result['loss']"`; empty for a failure.
      distance: how far it is from NumPy's; None for a failure.
      failure: the first line of the error, where it could not be compiled or run.
    """

    way: str
    result: str = ""
    distance: Distance | None = None
    failure: str = ""

    def __str__(self) -> str:
        if self.distance is None:
            return f"{self.way}: failed: {self.failure}"
        if self.agrees:
            return f"{self.way}: {self.result} agrees, error {self.distance.error:.2g}"
        at = f"[{', '.join(map(str, self.distance.where))}]" if self.distance.where else ""
        return (
            f"{self.way}: {self.result} DIFFERS in {self.distance.wrong} elements, most at {self.result}{at}: error "
            f"{self.distance.error:.2g}, where {self.distance.allowed:.2g} may be rounding"
        )


@dataclasses.dataclass(frozen=True)
class Check:
    """What `check` found.

    Attributes:
      name: the function's name.
      outcomes: one for each way of computing and each result.
      operations: one for each way and each operation, in the program's order, those inside loops and conditionals
        before these. What holds an operation that differs is left out.
      smallest: for each way that differs, the smallest program found that still differs.
      left_out: the names of ways that were not compared, because a program took the compiler too long.
      proof: whether the passes' laws keep the results for all arguments, if that was asked for.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    operations: tuple[Operation, ...] = ()
    smallest: tuple[Reproduction, ...] = ()
    left_out: tuple[str, ...] = ()
    proof: Proof | None = None

    @property
    def ok(self) -> bool:
        """Whether everything that was compared agrees, nothing failed, and no proof found arguments that differ."""
        agrees = all(o.agrees for o in self.outcomes) and all(o.agrees for o in self.operations)
        return agrees and not (self.proof and self.proof.arguments)

    @property
    def first(self) -> Operation | None:
        """The first operation that differs from NumPy's, if a single one does."""
        return next((operation for operation in self.operations if not operation.agrees), None)

    def table(self) -> str:
        """All comparisons of operations, one in a row."""
        rows: list[tuple[str, ...]] = [("operation", "line", "way", "operands", "error", "steps", "where")]
        rows += [operation.row() for operation in self.operations]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        ways = "all other ways" if self.left_out else "all ways"
        agree = all(o.agrees for o in (*self.outcomes, *self.operations))
        lines = [f"{self.name}: {f'{ways} agree with NumPy' if agree else 'not all ways agree with NumPy'}"]
        lines += [f"  {outcome}" for outcome in self.outcomes]
        lines += [f"  {way}: left out, as a compile took more than {SECONDS:g} s" for way in self.left_out]
        for way in dict.fromkeys(outcome.way for outcome in self.outcomes):
            lines += self._operations(way)
        if self.proof is not None:
            lines.append(f"  {self.proof}")
        for found in self.smallest:
            lines += ["", *str(found).splitlines()]
        if self.smallest:
            lines += ["", "check(...).save('report.py') writes what a bug report needs."]
        return "\n".join(lines)

    __repr__ = __str__

    def _operations(self, way: str) -> list[str]:
        mine = [operation for operation in self.operations if operation.way == way]
        wrong = [operation for operation in mine if not operation.agrees]
        if wrong:
            more = [f"    and {len(wrong) - _SHOWN} more; see table()"] if len(wrong) > _SHOWN else []
            return [f"  {way}: first to differ is {wrong[0].name}", *(f"    {o}" for o in wrong[:_SHOWN]), *more]
        if all(outcome.agrees for outcome in self.outcomes if outcome.way == way):
            return [f"  {way}: all {len(mine)} operations agree, each alone"] if mine else []
        return [f"  {way}: no operation differs from NumPy on the same operands"]

    def save(self, path: Any) -> None:
        """Write a Python file that has the smallest program and its inputs, and checks them when it is run.

        Raises:
          ValueError: nothing differs.
          OSError: the file cannot be written.
        """
        if not self.smallest:
            raise location.error(
                ValueError,
                f"check of {self.name}: no program was found that differs, so there is nothing to report",
                fix="test `ok`",
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.smallest[0].script())


def check(fun: Callable[..., Any], /, *args: Any, prove: bool = False, **kwargs: Any) -> Check:
    """Compute a function in every way that this machine has, and compare the results with NumPy's.

    The ways are the program as `jit` compiles it, the same without the passes' laws and without stagec's own kernels,
    and the program for each other device that is present. Where a way differs by more than rounding,
    the program is cut down: parts of it are compiled and run on NumPy's values, until a few operations are left.

    Rounding means 1000 steps of float32 at the largest element of a result, 10,000 of float64, and 8 of half precision.
    A program that enlarges small errors, such as a long simulation, may differ by more without a fault; then no small
    part of it differs, and the report says so.

    Each operation is compared, too: alone, on NumPy's operands, those inside loops, conditionals and calls included.
    There, whatever only moves elements has to be exact. If a way differs and no operation differs alone, a program that
    returns all values is compared, each operation with NumPy on the values that the program returned. The compiler
    fuses less in such a program, so a fault of its fusion may be missing there.

    Each way compiles some programs. A way other than `jit`'s is left out, and named, if one compile takes more than 30
    seconds. Of a function with open dimensions, the program for the sizes of this call is compared.

    Args:
      fun: a function, jitted or not; its `fast_math` and `passes` count.
      args, kwargs: the arguments of a call. Donated ones are kept.
      prove: whether a solver is to show that the passes' laws keep every bit of the results for all arguments of these
        shapes, which may have some dozens of elements in all. `Check.proof` has its answer.

    Returns:
      A `Check`: true if all agree; print it, or `save` what a bug report needs.

    Raises:
      UnsupportedError: called while a function is traced, or `fun` calls Python functions, which would run many times;
        or `prove` is true, and the solver is not installed: `pip install bitwuzla`.

    >>> import stagec, stagec.numpy as snp
    >>> found = stagec.check(lambda x: snp.sin(x) * 2, snp.ones(3))
    >>> found.ok, found.outcomes[0].way, found.outcomes[0].result
    (True, 'compiled', 'result')
    >>> [operation.name for operation in found.operations if operation.way == "compiled"]
    ['sin', 'mul']
    """
    if state.trace is not None:
        raise location.error(
            errors.UnsupportedError, "check was called inside a function that is being traced", fix="call it outside"
        )
    function, args = as_jitted(fun, args)
    if function._settings.dynamic is not None:
        function = JitFunction(function._function, dataclasses.replace(function._settings, dynamic=None))
    traced = function.trace(*args, **kwargs)
    trace, settings = traced._trace, traced._settings
    if has_users_callbacks(trace.graph):
        raise location.error(
            errors.UnsupportedError,
            f"check: {trace.name} calls Python functions, which would run once for each way to compute it",
            fix="check the parts of the function before and after the calls",
        )
    _, values = function._traced(args, kwargs)
    graph, used = prune(inlined(expanded(trace.graph)))
    inputs = [v for v, u in zip([*trace.captured, *values], used) if u]
    paths, _ = pytree.flatten_with_path(trace.out_tree.unflatten(list(range(len(graph.outputs)))))
    names = [f"result{pytree.keystr(path)}" for path, _ in paths]
    compared = list(ways(settings, traced._device, graph))
    alone = [Comparison(way, trace.name, alone=True) for way in compared]
    known = walk(graph, inputs, [comparison.visit for comparison in alone])
    outcomes: list[Outcome] = []
    operations: list[Operation] = []
    found: list[Reproduction] = []
    left_out: list[str] = []
    for way, comparison in zip(compared, alone):
        try:
            some = [] if comparison.is_left_out else _compared(way, graph, known, names, trace.name)
        except TimeoutError:
            comparison.is_left_out = True
        if comparison.is_left_out:
            left_out.append(way.name)
            continue
        rows = _rows(comparison, graph, inputs, trace.name, all(o.agrees for o in some))
        outcomes += some
        operations += [row.operation for row in rows]
        wrong = [row for row in rows if not row.operation.agrees]
        if wrong or not all(o.agrees for o in some):
            # Of an operation inside another there may be a smaller case than a part of the whole program.
            cases = [*(wrong[0].cases if wrong else ()), Case(graph, known)]
            found += _reduced(way, cases, trace.name, len(list(all_equations(graph))))
    proof = proved(graph, settings.options(traced._device, graph), trace.name) if prove else None
    return Check(trace.name, tuple(outcomes), tuple(operations), tuple(found), tuple(left_out), proof)


def _rows(comparison: Comparison, graph: Graph, inputs: Sequence[Any], name: str, agrees: bool) -> list[Row]:
    """What is known of each operation in one way.

    Args:
      comparison: of each operation alone.
      agrees: whether the results of the whole program agree.
    """
    rows = in_order(graph, [comparison])
    if agrees:
        # What a composite operation got wrong is lost again, or was rounding.
        return [row for row in rows if row.operation.agrees or row.operation.failure or not row.is_composite]
    if any(not row.operation.agrees and not row.is_composite for row in rows):
        return rows
    # Only several operations together differ.
    together = Comparison(comparison.way, name, alone=False)
    walk(graph, inputs, [together.visit])
    return in_order(graph, [comparison, together])


def _reduced(way: Way, cases: Sequence[Case], name: str, whole: int) -> Iterator[Reproduction]:
    """The smallest part of the first case that differs."""
    for graph, known in cases:
        if not _agrees(way, graph, known, name):
            part = smallest(graph, lambda g: not _agrees(way, g, known, name))  # noqa: B023
            yield _reproduction(way, part, known, name, whole)
            return


def _expected(graph: Graph, known: Known) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(known[a] if isinstance(a, Var) else a.value) for a in graph.outputs]


def _compared(way: Way, graph: Graph, known: Known, names: Sequence[str], name: str) -> list[Outcome]:
    try:
        results = way.program(graph, name)([known[v] for v in graph.inputs])
    except errors.StagecError as error:
        return [Outcome(way.name, failure=str(error).splitlines()[0])]
    pairs = zip(names, _expected(graph, known), results, strict=True)
    return [Outcome(way.name, result, distance(expected, got)) for result, expected, got in pairs]


def _agrees(way: Way, graph: Graph, known: Known, name: str) -> bool:
    try:
        return all(outcome.agrees for outcome in _compared(way, graph, known, [""] * len(graph.outputs), name))
    except TimeoutError:  # nothing is known of this part
        return True


def _reproduction(way: Way, graph: Graph, known: Known, name: str, whole: int) -> Reproduction:
    inputs = [known[v] for v in graph.inputs]
    arrays = [np.asarray(value) if type(value) is Array else value for value in inputs]
    outcomes = _compared(way, graph, known, [f"result {i}" for i in range(len(graph.outputs))], name)
    return Reproduction(way, graph, arrays, tuple(map(str, outcomes)), name, whole)
