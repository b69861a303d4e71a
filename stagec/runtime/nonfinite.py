"""Finds the operation that made the first NaN: NumPy evaluates the graph again, and NaN is traced back from results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stagec.control import bodies
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.graph import Equation, Graph, Literal, Var
from stagec.core.location import Location
from stagec.core.primitive import Primitive
from stagec.core.trace import bind
from stagec.runtime.array import Array


class Kind(NamedTuple):
    """What is searched for: NaN or infinity.

    Attributes:
      marks: which elements of an array are of the kind.
      leads_to: which elements may follow from one of the kind. An infinity becomes NaN, as in inf - inf.
    """

    name: str
    several: str
    marks: Callable[[Any], Any]
    leads_to: Callable[[Any], Any]
    option: str

    def count(self, value: Any) -> int:
        """The number of such elements in an array, a literal or a NumPy array."""
        return _count(value, self.marks)

    def may_be_in(self, value: Any) -> bool:
        """Whether some elements may follow from one of the kind."""
        return _count(value, self.leads_to) > 0

    def phrase(self, count: int) -> str:
        return self.name if count == 1 else f"{count} {self.several}"


def _count(value: Any, marks: Callable[[Any], Any]) -> int:
    array = host(value)
    return int(np.count_nonzero(marks(array))) if dtypes.is_inexact(array.dtype) else 0


NAN = Kind("NaN", "NaN", np.isnan, np.isnan, "debug_nans")
INFINITY = Kind("an infinity", "infinities", np.isinf, lambda x: ~np.isfinite(x), "debug_infs")


def kinds() -> list[Kind]:
    """The kinds that the options forbid."""
    return [kind for kind in (NAN, INFINITY) if getattr(config, kind.option)]


def host(value: Any) -> np.ndarray[Any, Any]:
    """The data of an operand, without showing its memory to anyone who could keep it."""
    if type(value) is Array:
        return value._host()
    return np.asarray(value.value if type(value) is Literal else value)


Row = tuple[str, str, str]


@dataclass
class Finding:
    """The operation that made the first value of a kind, in the words of the error."""

    headline: str
    where: str
    rows: list[Row]
    fix: str
    inside: list[Row] = field(default_factory=list)
    # Its graph's number among those that the enclosing operation ran.
    run: int = 0

    def error(self, more: Sequence[Row] = ()) -> errors.NonFiniteError:
        return errors.NonFiniteError(
            errors.message(self.headline, self.where, [*self.rows, *self.inside, *more], location.as_imported(self.fix))
        )


def _finding(
    primitive: Primitive, kind: Kind, values: Sequence[Any], rows: list[Row], results: Sequence[Any], where: Location
) -> Finding:
    """The finding for an operation that made the first value of a kind, or took it from a constant."""
    if any(map(kind.count, values)):
        done, fix = "passed on", "an operand held it before: look where that was made"
    elif where.is_backward:
        done, fix = "made", _DERIVATIVE
    elif kind is NAN and any(map(INFINITY.count, values)):
        done, fix = "made", _INFINITE
    else:
        done, fix = "made", _ADVICE.get((kind.option, primitive.name), _GENERAL)
    made = f"{primitive} {done} {kind.phrase(sum(map(kind.count, results)))}"
    headline = f"{made} in the backward pass" if where.is_backward else made
    return Finding(headline, str(where), rows, f"{fix}; {turn_off(kind)}")


_GENERAL = "keep the operands where the operation is defined, as in f(stagec.numpy.where(ok, x, 1))"
_DERIVATIVE = (
    "the derivative of this line is infinite or undefined at an operand: replace such operands before the function "
    "too, as in stagec.numpy.where(ok, f(stagec.numpy.where(ok, x, 1)), 0)"
)
_INFINITE = "an operand is infinite: find where it became so with stagec.debug_infs()"
_DIVISOR = "keep the divisor away from 0, as in x / stagec.numpy.where(y == 0, 1, y)"
_POSITIVE = "keep what log takes above 0, as in stagec.numpy.log(stagec.numpy.maximum(x, 1e-30))"
_SINGULAR = "the matrix is singular: stagec.numpy.linalg.lstsq and pinv solve such systems"
_WITHIN = "keep what it takes from -1 to 1, as in stagec.numpy.clip(x, -1, 1)"
_ADVICE = {
    ("debug_nans", "log"): _POSITIVE,
    (
        "debug_nans",
        "log1p",
    ): "keep what log1p takes above -1, as in stagec.numpy.log1p(stagec.numpy.maximum(x, -0.999))",
    ("debug_nans", "sqrt"): "keep what sqrt takes at 0 or above, as in stagec.numpy.sqrt(stagec.numpy.maximum(x, 0))",
    ("debug_nans", "rsqrt"): "keep what rsqrt takes above 0, as in stagec.lax.rsqrt(x + 1e-6)",
    ("debug_nans", "div"): _DIVISOR,
    ("debug_nans", "rem"): _DIVISOR,
    (
        "debug_nans",
        "pow",
    ): "a negative number to a power that is no integer is NaN: use an integer exponent, or stagec.numpy.abs(x)",
    ("debug_nans", "acos"): _WITHIN,
    ("debug_nans", "asin"): _WITHIN,
    ("debug_nans", "atanh"): _WITHIN,
    ("debug_nans", "erf_inv"): _WITHIN,
    (
        "debug_nans",
        "cholesky",
    ): "pass a symmetric matrix that is positive definite, for which a + 1e-6 * stagec.numpy.eye(n) may be enough",
    ("debug_nans", "lu_solve"): _SINGULAR,
    ("debug_nans", "triangular_solve"): _SINGULAR,
    ("debug_infs", "lu_solve"): _SINGULAR,
    ("debug_infs", "triangular_solve"): _SINGULAR,
    ("debug_infs", "log"): _POSITIVE,
    ("debug_infs", "div"): _DIVISOR,
    ("debug_infs", "exp"): "subtract the largest element before exp, as stagec.nn.softmax and stagec.nn.logsumexp do",
}


def turn_off(kind: Kind) -> str:
    return f"{kind.option}=False turns this check off"


def described(value: Any, aval: ShapedArray) -> str:
    """An operand's type and the range of its values."""
    array = host(value)
    if array.size == 0 or not (dtypes.is_inexact(array.dtype) or np.issubdtype(array.dtype, np.number)):
        return aval.long()
    if np.iscomplexobj(array):
        text, data = "absolute values ", np.abs(array)
    else:
        text, data = "", array.astype(np.float64) if dtypes.is_inexact(array.dtype) else array
    bad = np.isnan(data)
    count = int(np.count_nonzero(bad))
    if count == array.size:
        return f"{aval.long()}  {'NaN' if count == 1 else 'all NaN'}"
    low, high = (f"{v:.6g}" for v in (data[~bad].min(), data[~bad].max()))
    text += low if array.size == 1 else f"{low} to {high}"
    return f"{aval.long()}  {text}" + (f", and {count} NaN" if count else "")


def check_operation(
    primitive: Primitive, values: Sequence[Any], avals: Sequence[ShapedArray], results: Sequence[Any]
) -> None:
    """Raise if an operation that has just run outside `jit` gave what the options forbid."""
    for kind in kinds():
        if any(map(kind.count, results)):
            rows = [(f"operand {i}", described(v, a), "") for i, (v, a) in enumerate(zip(values, avals))]
            raise _finding(primitive, kind, values, rows, results, location.capture()).error()


class Search:
    """Runs graphs one operation after the other, and finds what made the first value of a kind in their results.

    NaN that does not reach a result, because `where` selected the other value,
    is not an error and is not reported.
    """

    def __init__(self, kind: Kind, name: str) -> None:
        self.kind = kind
        self.name = name
        # Findings in the graphs that the current operation runs, and how many it ran.
        self._found: list[Finding] = []
        self._runs = 0
        self._depth = 0

    def run(self, graph: Graph, inputs: Sequence[Literal]) -> tuple[list[Any], Finding | None]:
        """The graph's results by NumPy, and what made the first value of the kind in them, if an operation did."""
        with bodies.replaced(self._replay), config.override(debug_nans=False, debug_infs=False):
            results = self._replay(graph, inputs)
        return results, self._found[0] if self._found else None

    def _replay(self, graph: Graph, args: Sequence[Any]) -> list[Any]:
        values: dict[Var, Any] = dict(zip(graph.inputs, args, strict=True))
        inner: dict[Equation, Finding] = {}
        run = self._runs
        self._depth += 1
        before = location.ambient.location
        try:
            for equation in graph.equations:
                # An operation without results had its effects in the first run.
                if equation.primitive.effects and not equation.outputs:
                    continue
                location.ambient.location = equation.location
                outer, self._found, self._runs = self._found, [], 0
                operands = tuple([a if type(a) is Literal else values[a] for a in equation.inputs])  # type: ignore[index]
                result = bind(equation.primitive, operands, equation.params)
                if self._found:
                    inner[equation] = self._found[0]
                self._found = outer
                values.update(zip(equation.outputs, result if equation.primitive.multiple else [result], strict=True))
        finally:
            location.ambient.location = before
            self._depth -= 1
        outputs = [a if type(a) is Literal else values[a] for a in graph.outputs]  # type: ignore[index]
        if not self._found and any(map(self.kind.may_be_in, outputs)):
            self._found += self._traced_back(graph, values, inner, run)
        self._runs = run + 1
        return outputs

    def _traced_back(
        self, graph: Graph, values: dict[Var, Any], inner: dict[Equation, Finding], run: int
    ) -> Iterator[Finding]:
        """The earliest operation that made the values in the results; nothing if they came in with the inputs."""
        producers = {v: e for e in graph.equations for v in e.outputs}
        bad = [a for a in graph.outputs if type(a) is Var and self.kind.may_be_in(values[a])]
        seen = set(bad)
        makers: set[Equation] = set()
        while bad:
            equation = producers.get(bad.pop())
            if equation is None:  # an input
                continue
            operands = [a for a in equation.inputs if type(a) is Var and self.kind.may_be_in(values[a])]
            if not operands:
                makers.add(equation)
            bad += [a for a in operands if a not in seen]
            seen.update(operands)
        for equation in graph.equations:
            if equation not in makers:
                continue
            found = inner.get(equation)
            if found is None and not any(self.kind.count(values[v]) for v in equation.outputs):
                continue  # NaN that no infinity led to
            if found is None:
                found = self._finding(graph, values, equation)
            elif equation.primitive.name != "jit":
                found.inside.append(("inside", step(equation, found.run), f"from {equation.location.brief()}"))
            found.run = run
            yield found
            return

    def _finding(self, graph: Graph, values: dict[Var, Any], equation: Equation) -> Finding:
        kind, rows = self.kind, []
        inputs = set(graph.inputs)
        for i, atom in enumerate(equation.inputs):
            if type(atom) is not Var:
                origin = "a constant"
            elif atom in inputs:
                of = f" of {self.name}" if self._depth == 0 else ""
                origin = f"argument {atom.name}{of}" if atom.name else ""
            else:
                origin = f"from {atom.equation.location.brief()}" if atom.equation is not None else ""
            value = values[atom] if type(atom) is Var else atom
            rows.append((f"operand {i}", described(value, atom.aval), origin))
        operands = [values[a] if type(a) is Var else a for a in equation.inputs]
        results = [values[v] for v in equation.outputs]
        return _finding(equation.primitive, kind, operands, rows, results, equation.location)


def step(equation: Equation, run: int) -> str:
    """The step of a loop, or what else the operation is, by the number of graphs that it ran before."""
    name = equation.primitive.name
    if name == "scan":
        length = equation.params["length"]
        return f"step {length - 1 - run if equation.params['reverse'] else run} of a loop of {length}"
    if name == "while":  # the condition and the body by turns; a condition holds no NaN
        return f"round {run // 2} of a while loop"
    return f"a branch of {name}" if name == "cond" else name
