"""An operation on padded arrays: with its open sizes, with those that arrays are padded to, and what the sizes are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, open_graph
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_terms import Function, Size, Symbol
from stagec.core.dims_values import composed
from stagec.core.graph import Equation, Graph, Literal, replay, run_equation
from stagec.core.location import Location
from stagec.core.recording import trace_closed
from stagec.primitives import arithmetic, logic
from stagec.primitives.broadcast import broadcast_in_dim_p
from stagec.primitives.convert import convert_element_type_p
from stagec.primitives.iota import iota_p
from stagec.primitives.operand import aval_of
from stagec.primitives.table import batch_elementwise

# Of the numbers that sizes are.
NUMBER = ShapedArray.of((), dtypes.int32)


class UnpaddedError(Exception):
    """An operation would read the padding.

    Attributes:
      reason: which, and along which axis.
      line: the user's.
    """

    def __init__(self, reason: str, line: Location) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


def grows(size: Size) -> bool:
    """Whether a size is larger, or as large, where symbols are larger; false where that is not known."""
    if not isinstance(size, Dim):
        return True
    return all(
        coefficient > 0 and all(isinstance(v, Symbol) or _function_grows(v) for v, _ in monomial)
        for monomial, coefficient in size.terms
        if monomial
    )


def _function_grows(function: Function) -> bool:
    if function.kind == "//":
        return not is_open(function.right) and function.right > 0 and grows(function.left)
    return function.kind in ("max", "min") and grows(function.left) and grows(function.right)


def of_graph(
    graph: Graph, symbols: tuple[Symbol, ...], values: Mapping[Symbol, int], rules: Mapping[str, Rule]
) -> Callable[..., list[Any]]:
    """The function of the padded arguments and the numbers that the symbols are.

    Args:
      values: what the symbols are in the shapes of padded arrays.
      rules: by the names of primitives.
    """

    def function(*args: Any) -> list[Any]:
        count = len(args) - len(symbols)
        numbers = dict(zip(symbols, args[count:]))
        equations = iter(graph.equations)

        def run(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
            return Step(next(equations), equation, numbers, values, rules).results(list(operands))

        return replay(open_graph.at(graph, values), args[:count], run)

    return function


def _has_sizes(value: Any) -> bool:
    """Whether there are open sizes in avals, parameters or graphs."""
    if isinstance(value, dict):
        return _has_sizes(list(value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(_has_sizes, value))
    if isinstance(value, Graph):
        avals = [v.aval for e in value.equations for v in e.outputs]
        return _has_sizes([*value.in_avals, *avals, *(e.params for e in value.equations)])
    return value.is_open if isinstance(value, ShapedArray) else isinstance(value, Dim)


class Step(NamedTuple):
    """An equation.

    Attributes:
      open: with its open sizes.
      static: the same for the sizes that arrays are padded to.
      numbers: what the symbols are.
      values: what they are in the shapes of padded arrays.
      rules: by the names of primitives.
    """

    open: Equation
    static: Equation
    numbers: Mapping[Symbol, Any]
    values: Mapping[Symbol, int]
    rules: Mapping[str, Rule]

    @property
    def params(self) -> dict[str, Any]:
        return self.static.params

    def aval(self, i: int) -> ShapedArray:
        """The aval of an operand, with open sizes."""
        return self.open.inputs[i].aval

    @property
    def out(self) -> ShapedArray:
        return self.open.outputs[0].aval

    def results(self, operands: list[Any]) -> Sequence[Any]:
        name, primitive = self.static.primitive.name, self.static.primitive
        if primitive.effects:
            raise self.refused("has effects")
        arrays = [v.aval for v in (*self.open.inputs, *self.open.outputs)]
        if primitive.batch is batch_elementwise or not _has_sizes([arrays, self.open.params]):
            return run_equation(self.static, operands)
        rule = self.rules.get(name)
        if rule is None:
            raise self.refused("has no form for arrays that are padded")
        return rule(self, operands)

    def run(self, operands: Sequence[Any], **params: Any) -> Sequence[Any]:
        """The results of the operation, with other parameters."""
        changed = Equation(self.static.primitive, [], [], {**self.params, **params}, self.static.location)
        return run_equation(changed, operands)

    def refused(self, what: str) -> UnpaddedError:
        return UnpaddedError(f"{self.static.primitive.name} {what}", self.static.location)

    def number(self, size: Size) -> Any:
        """A size as an array without axes."""
        if not isinstance(size, Dim):
            return Literal(np.asarray(size, np.int32), NUMBER)
        if any(coefficient.denominator != 1 for _, coefficient in size.terms):
            raise self.refused(f"needs {size}, which has fractions")
        return composed(size, self.number, self._variable, _computed)

    def _variable(self, variable: Symbol | Function) -> Any:
        if isinstance(variable, Symbol):
            return self.numbers[variable]
        return _computed(variable.kind, self.number(variable.left), self.number(variable.right))

    def masked(self, i: int, x: Any, axes: Sequence[int], fill: Any) -> Any:
        """An operand, with `fill` in the place of its padding along some axes."""
        shape = aval_of(x).shape
        for axis in axes:
            if is_open(size := self.aval(i).shape[axis]):
                at = iota_p(dtype=dtypes.int32, shape=shape, dimension=axis)
                x = logic.select(logic.lt(at, spread(self.number(size), shape)), x, spread(fill, shape))
        return x

    def function(self, graph: Graph) -> Callable[..., list[Any]]:
        """The function that a graph of the equation is: of its inputs, and the numbers of the symbols."""
        return of_graph(graph, tuple(self.numbers), self.values, self.rules)

    def numbered(self, graph: Graph) -> Graph:
        """A graph of the equation, which takes the numbers of the symbols first."""
        static = open_graph.at(graph, self.values)
        padded = self.function(graph)
        count = len(self.numbers)

        def function(*args: Any) -> list[Any]:
            return as_avals(static.out_avals, padded(*args[count:], *args[:count]))

        return trace_closed(function, [*[NUMBER] * count, *static.in_avals], name="body", static_arguments=False)


def _computed(kind: str, left: Any, right: Any) -> Any:
    """What one of `+ * // % max min` makes of two sizes."""
    plain = {"+": "add", "*": "mul", "max": "max", "min": "min"}.get(kind)
    if plain is not None:
        return getattr(arithmetic, plain)(left, right)
    rest = arithmetic.rem(left, right)  # of the sign of the dividend
    rest = logic.select(logic.lt(rest, like(rest, 0)), arithmetic.add(rest, right), rest)
    return rest if kind == "%" else arithmetic.div(arithmetic.sub(left, rest), right)


def as_avals(avals: Sequence[ShapedArray], results: Sequence[Any]) -> list[Any]:
    """Results with the dtypes, weak or not, that they have without padding."""
    return [
        x if aval_of(x) == a else convert_element_type_p(x, new_dtype=a.dtype, weak_type=a.weak_type)
        for x, a in zip(results, avals)
    ]


def spread(x: Any, shape: Sequence[int]) -> Any:
    """An array whose elements are all the same."""
    return broadcast_in_dim_p(x, shape=tuple(shape), broadcast_dimensions=())


def like(x: Any, value: Any) -> Any:
    """A number of an array's dtype."""
    aval = aval_of(x)
    return Literal(np.asarray(value).astype(aval.dtype), ShapedArray.of((), aval.dtype, aval.weak_type))


Rule = Callable[[Step, list[Any]], Sequence[Any]]
