"""Python code for a graph: one line of NumPy for each equation.

Each value is held in a local variable. A value without axes may be a NumPy scalar, with which Python computes several
times as fast as with an array; the result of `broadcast_in_dim` is held without the broadcast where NumPy broadcasts it
in the operation that reads it. A primitive's `python` rule writes its line; without one, its `eval` is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, Literal
from stagec.primitives.checks import HALF
from stagec.runtime.array import Array

# The file of generated code: one of stagec's own, whose frames are not the user's.
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<generated>")
# What a ufunc computes, as an operator; only these are used for NumPy scalars of real dtypes.
_OPERATORS: dict[Any, str] = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.negative: "-{}",
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.bitwise_and: "{} & {}",
    np.bitwise_or: "{} | {}",
    np.bitwise_xor: "{} ^ {}",
    np.invert: "~{}",
}
# Temporary arrays of at least this many bytes are freed, or written again, when nothing reads them any more.
_LARGE = 1 << 14


class Value:
    """A local variable, and what it holds.

    Attributes:
      name: of the variable.
      aval: of the value in the graph.
      held: the shape of what is held, with size 1 along axes that are still to be broadcast.
      scalar: whether it is a NumPy scalar.
      fresh: whether the memory is this variable's alone.
    """

    def __init__(
        self, name: str, aval: ShapedArray, held: tuple[int, ...] | None, scalar: bool = False, fresh: bool = False
    ) -> None:
        self.name = name
        self.aval = aval
        self.held = aval.shape if held is None else held
        self.scalar = scalar
        self.fresh = fresh
        self.other: Value | None = None


class Code:
    """The lines of a function, and the constants that they name: what `python` rules write to.

    Attributes:
      in_avals, out_avals: of the equation whose line is written.
    """

    in_avals: list[ShapedArray]
    out_avals: list[ShapedArray]

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._count = 0
        # The operands that nothing reads after the line that is being written.
        self.last: set[str] = set()

    def constant(self, value: Any) -> str:
        """The name of an object in the code."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self.constants)}"
            self.constants[name] = value
        return name

    def assign(
        self,
        expression: str,
        aval: ShapedArray | None = None,
        *,
        held: tuple[int, ...] | None = None,
        scalar: bool = False,
        fresh: bool = False,
    ) -> Value:
        """A line that computes a value, by default the equation's result."""
        self._count += 1
        value = Value(f"v{self._count}", self.out_avals[0] if aval is None else aval, held, scalar, fresh)
        self.lines.append(f"{value.name} = {expression}")
        return value

    def broadcastable(self, value: Value) -> str:
        """The name of an array that NumPy can broadcast to the value."""
        if not value.scalar:
            return value.name
        if value.other is None:
            value.other = self.assign(f"{self.constant(np.asarray)}({value.name})", value.aval)
        return value.other.name

    def array(self, value: Value) -> str:
        """The name of an array of the value's shape."""
        if value.held == value.aval.shape:
            return self.broadcastable(value)
        if value.other is None:
            full = f"{self.constant(_repeated)}({value.name}, {self.constant(value.aval.shape)})"
            value.other = self.assign(full, value.aval)
        return value.other.name

    def scalar(self, value: Value) -> str:
        """The name of a NumPy scalar, for a value without axes."""
        if value.scalar:
            return value.name
        if value.other is None:
            value.other = self.assign(f"{value.name}[()]", value.aval, scalar=True)
        return value.other.name

    def view(self, expression: str, value: Value, held: tuple[int, ...] | None = None) -> Value:
        """A line that makes an array which may be a view of a value's."""
        value.fresh = False
        return self.assign(expression, held=held)

    def apply(self, ufunc: np.ufunc, *operands: Value) -> Value:
        """A line that applies a ufunc whose result has the dtype of the equation's."""
        (aval,) = self.out_avals
        operator = _OPERATORS.get(ufunc)
        if not aval.shape:
            if operator is not None and not any(dtypes.is_complex(v.aval.dtype) for v in operands):
                return self.assign(operator.format(*[self.scalar(v) for v in operands]), scalar=True)
            return self.assign(
                f"{self.constant(ufunc)}({', '.join([self.broadcastable(v) for v in operands])})", scalar=True
            )
        fits = np.broadcast_shapes(*[v.held for v in operands]) == aval.shape
        names = [self.broadcastable(v) if fits or not v.aval.shape else self.array(v) for v in operands]
        if aval.nbytes >= _LARGE:
            names += [v.name for v in operands if self.is_free(v, aval)][:1]  # NumPy writes the result there
        elif operator is not None:
            return self.assign(operator.format(*names), fresh=True)
        return self.assign(f"{self.constant(ufunc)}({', '.join(names)})", fresh=True)

    def is_free(self, value: Value, aval: ShapedArray) -> bool:
        """Whether a line may write a result of this aval over the value."""
        fits = value.held == aval.shape and value.aval.dtype == aval.dtype
        return fits and value.fresh and value.name in self.last

    def evaluate(self, e: Equation, operands: Sequence[Value]) -> list[Value]:
        """A line that calls the primitive's `eval`, and others that look at what it returned."""
        for v in operands:
            v.fresh = False  # the result may be a view
        parts = [self.array(v) for v in operands]
        parts += [f"{name}={self.constant(value)}" for name, value in e.params.items()]
        evaluate = e.primitive.eval
        if self.in_avals and self.in_avals[0].dtype not in HALF:
            evaluate = getattr(evaluate, "in_own_dtype", evaluate)
        call = f"{self.constant(evaluate)}({', '.join(parts)})"
        avals = self.out_avals
        checked = self.constant(as_shaped)
        if not e.primitive.multiple:
            return [self.assign(f"{checked}({self.constant(avals[0])}, {call})")]
        self._count += 1
        names = [f"r{self._count}_{i}" for i in range(len(avals))]
        self.lines.append(f"[{', '.join(names)}] = {call}")
        return [self.assign(f"{checked}({self.constant(a)}, {n})", a) for n, a in zip(names, avals)]

    def free(self, done: Iterable[Value], alive: Iterable[Value]) -> None:
        """Lines that forget large values which nothing reads any more."""
        names = {v.name for v in alive}
        for value in done:
            for v in (value, value.other):
                if v is None or v.name in self.constants or value.name in names:
                    continue
                if v.aval.nbytes >= _LARGE:
                    self.lines.append(f"{v.name} = None")

    def function(self, arguments: str, result: str) -> Callable[..., Any]:
        """The function of the lines, which ignores floating point errors."""
        body = "\n    ".join([*self.lines, f"return {result}"])
        namespace = dict(self.constants)
        exec(compile(f"def run({arguments}):\n    {body}", _FILE, "exec"), namespace)
        return np.errstate(all="ignore")(namespace["run"])


def write(code: Code, graph: Graph, values: dict[Any, Value]) -> list[Value]:
    """Write the lines of a graph.

    Args:
      values: of the graph's inputs and captured values; emptied as they are used.

    Returns:
      The values of its results.
    """
    last: dict[Any, int] = {}
    for i, e in enumerate(graph.equations):
        last |= dict.fromkeys(e.inputs, i)
    for a in graph.outputs:
        last.pop(a, None)

    for i, e in enumerate(graph.equations):
        operands = [_constant(code, a) if type(a) is Literal else values[a] for a in e.inputs]
        done = [values.pop(a) for a in dict.fromkeys(e.inputs) if type(a) is not Literal and last.get(a) == i]
        code.in_avals, code.out_avals = [a.aval for a in e.inputs], [v.aval for v in e.outputs]
        code.last = {v.name for v in done} - {v.name for v in values.values()}
        rule = e.primitive.python
        made = None if rule is None else rule(code, *operands, **e.params)
        results = code.evaluate(e, operands) if made is None else [made]
        values |= zip(e.outputs, results)
        code.free(done, values.values())
    return [_constant(code, a) if type(a) is Literal else values[a] for a in graph.outputs]


def _constant(code: Code, literal: Literal) -> Value:
    array = Value(code.constant(frozen(literal.value)), literal.aval, None)
    if literal.aval.shape:
        return array
    scalar = Value(code.constant(literal.value[()]), literal.aval, None, scalar=True)
    scalar.other = array
    return scalar


def folded(graph: Graph, small: int) -> Graph:
    """The graph with constants folded: results of constants alone, where they take up to `small` bytes."""
    known: dict[Any, Literal] = {}
    equations = []
    with np.errstate(all="ignore"):
        for e in graph.equations:
            inputs: list[Any] = [known.get(a, a) for a in e.inputs]
            aval = e.outputs[0].aval
            if not e.primitive.multiple and aval.nbytes <= small and all(type(a) is Literal for a in inputs):
                value = as_shaped(aval, e.primitive.eval(*[a.value for a in inputs], **e.params))
                known[e.outputs[0]] = Literal(value, aval)
            else:
                equations.append(Equation(e.primitive, inputs, e.outputs, e.params, e.location))
    return Graph(graph.inputs, equations, [known.get(a, a) for a in graph.outputs])


def frozen(value: Any) -> np.ndarray[Any, Any]:
    """A copy that cannot be written to."""
    array = np.array(value)
    array.setflags(write=False)
    return array


def _repeated(x: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def as_shaped(aval: ShapedArray, result: Any) -> np.ndarray[Any, Any]:
    """What an evaluation returned, as an array of the shape rule's dtype."""
    if type(result) is not np.ndarray:
        result = result.evaluated() if type(result) is Array else np.asarray(result)
    if result.dtype is not aval.dtype and result.dtype != aval.dtype:
        result = result.astype(aval.dtype)
    assert result.shape == aval.shape, f"an evaluation gave shape {result.shape}, the shape rule {aval.shape}"
    return result
