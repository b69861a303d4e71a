"""Replay of programs on complex arrays with pairs of real arrays.

Not every device has complex numbers, and complex products of large blocks are computed as products of their parts. So
an algorithm is recorded, and replayed on pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stagec.control.derived import record_flat
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, Literal, inner_graphs, replay, run_equation
from stagec.core.primitive import Primitive
from stagec.core.trace import bind
from stagec.factorizations.vectors import hypotenuse
from stagec.numpy.conditionals import where
from stagec.numpy.creation import zeros_like
from stagec.primitives import arithmetic as ar, complex as cp, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal


class Pair(NamedTuple):
    """A complex array as its real and imaginary part; an imaginary part of None is zero."""

    re: Any
    im: Any

    @property
    def imag(self) -> Any:
        return zeros_like(self.re) if self.im is None else self.im


def in_pairs(function: Callable[..., Sequence[Any]], operands: Sequence[Any]) -> list[Operand]:
    """Call a function of flat arrays with pairs instead of complex arrays."""
    graph = record_flat(function, [aval_of(x) for x in operands])
    return [_whole(x) for x in _replayed(graph, [_split(x) for x in operands])]


def _is_complex(aval: ShapedArray) -> bool:
    return dtypes.is_complex(aval.dtype)


def _split(x: Any) -> Any:
    return Pair(cp.real(x), cp.imag(x)) if _is_complex(aval_of(x)) else x


def _whole(x: Any) -> Any:
    return cp.complex(x.re, x.imag) if isinstance(x, Pair) else x


def _replayed(graph: Graph, args: Sequence[Any]) -> list[Any]:
    return [_parted(o) for o in replay(graph, args, _run)]


def _parted(operand: Any) -> Any:
    """An operand; a complex literal as a pair."""
    if type(operand) is not Literal or not _is_complex(operand.aval):
        return operand
    real = dtypes.real_dtype(operand.aval.dtype)
    number = operand.value.item()
    return Pair(literal(number.real, real), literal(number.imag, real) if number.imag else None)


def _run(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    if not _has_complex(equation):
        return run_equation(equation, operands)
    found = _rule(equation.primitive)(equation, *map(_parted, operands))
    return found if equation.primitive.multiple else [found]


def _has_complex(equation: Equation) -> bool:
    """Whether an equation, or a graph that it contains, has complex values."""
    if any(_is_complex(a.aval) for a in [*equation.inputs, *equation.outputs]):
        return True
    return any(_has_complex(e) for graph in inner_graphs(equation) for e in graph.equations)


def _rule(primitive: Primitive) -> Callable[..., Any]:
    if primitive.name in ALGORITHMS:
        return _nested
    return _RULES.get(primitive.name, _on_complex)


# The algorithms of factorizations, which may call each other: functions of the operands and parameters.
ALGORITHMS: dict[str, Callable[..., Sequence[Any]]] = {}


def _nested(equation: Equation, *args: Any) -> Any:
    algorithm = ALGORITHMS[equation.primitive.name]
    graph = record_flat(lambda *xs: algorithm(*xs, **equation.params), [a.aval for a in equation.inputs])
    found = _replayed(graph, args)
    return found if equation.primitive.multiple else found[0]


def _on_complex(equation: Equation, *args: Any) -> Any:
    """Apply a primitive without a rule for pairs to complex numbers."""
    found = bind(equation.primitive, tuple([_whole(x) for x in args]), equation.params)
    return [_split(x) for x in found] if equation.primitive.multiple else _split(found)


def _each_part(equation: Equation, *args: Any) -> Any:
    """Apply a primitive to each part."""
    pairs = [a for a in args if isinstance(a, Pair)]
    re = bind(equation.primitive, tuple([a.re if isinstance(a, Pair) else a for a in args]), equation.params)
    if all(p.im is None for p in pairs):
        return Pair(re, None)
    im = bind(equation.primitive, tuple([a.imag if isinstance(a, Pair) else a for a in args]), equation.params)
    return Pair(re, im)


def _bilinear(equation: Equation, x: Pair, y: Pair) -> Pair:
    def product(a: Any, b: Any) -> Any:
        params = dict(equation.params)
        if "preferred_element_type" in params and params["preferred_element_type"] is not None:
            params["preferred_element_type"] = dtypes.real_dtype(params["preferred_element_type"])
        return bind(equation.primitive, (a, b), params)

    re = product(x.re, y.re)
    if x.im is None and y.im is None:
        return Pair(re, None)
    if x.im is None:
        return Pair(re, product(x.re, y.im))
    if y.im is None:
        return Pair(re, product(x.im, y.re))
    return Pair(ar.sub(re, product(x.im, y.im)), ar.add(product(x.re, y.im), product(x.im, y.re)))


def _quotient(equation: Equation, x: Pair, y: Pair) -> Pair:
    """Divide pairs without overflow. Source: Smith, "Algorithm 116: complex division" (1962)."""
    if y.im is None:
        return Pair(ar.div(x.re, y.re), None if x.im is None else ar.div(x.im, y.re))
    flat = abs(y.re) >= abs(y.im)
    large, small = where(flat, y.re, y.im), where(flat, y.im, y.re)
    ratio = small / large
    divisor = large + small * ratio
    re, im = x.re, x.imag
    return Pair(
        where(flat, re + im * ratio, re * ratio + im) / divisor,
        where(flat, im - re * ratio, im * ratio - re) / divisor,
    )


def _root(equation: Equation, x: Pair) -> Pair:
    half = ar.sqrt((abs(x.re) + hypotenuse(x.re, x.imag)) / 2)
    other = x.imag / (2 * where(half > 0, half, 1))
    right = x.re >= 0
    down = where(right, other, where(x.imag < 0, -half, half))
    return Pair(where(right, half, abs(other)), down)


def _converted(equation: Equation, x: Any) -> Any:
    wanted = equation.outputs[0].aval.dtype
    if not dtypes.is_complex(wanted):
        return convert_element_type(x.re, wanted)
    real = dtypes.real_dtype(wanted)
    if not isinstance(x, Pair):
        return Pair(convert_element_type(x, real), None)
    return Pair(convert_element_type(x.re, real), None if x.im is None else convert_element_type(x.im, real))


def _compared(equation: Equation, x: Pair, y: Pair) -> Any:
    same = logic.eq(x.re, y.re) & logic.eq(x.imag, y.imag)
    return same if equation.primitive.name == "eq" else ~same


def _count(avals: Sequence[ShapedArray]) -> int:
    return sum(2 if _is_complex(a) else 1 for a in avals)


def _flat(values: Sequence[Any]) -> list[Any]:
    return [part for v in values for part in ((v.re, v.imag) if isinstance(v, Pair) else (v,))]


def _paired(parts: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    given = iter(parts)
    return [Pair(next(given), next(given)) if _is_complex(a) else next(given) for a in avals]


def _split_graph(graph: Graph) -> Graph:
    """Record a graph again with two inputs and outputs for each complex one."""
    avals = graph.in_avals
    flat = [
        part for a in avals for part in ([a.update(dtype=dtypes.real_dtype(a.dtype))] * 2 if _is_complex(a) else [a])
    ]
    return record_flat(lambda *parts: _flat(_replayed(graph, _paired(parts, avals))), flat)


def _scan(equation: Equation, *args: Any) -> list[Any]:
    params, avals = dict(equation.params), [a.aval for a in equation.inputs]
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    params["graph"] = _split_graph(params["graph"])
    params["num_consts"], params["num_carry"] = _count(avals[:first]), _count(avals[first:second])
    found = bind(equation.primitive, tuple(map(as_operand, _flat(args))), params)
    return _paired(found, [v.aval for v in equation.outputs])


def _while(equation: Equation, *args: Any) -> list[Any]:
    params, avals = dict(equation.params), [a.aval for a in equation.inputs]
    first, second = params["cond_consts"], params["cond_consts"] + params["body_consts"]
    params["cond"], params["body"] = _split_graph(params["cond"]), _split_graph(params["body"])
    params["cond_consts"], params["body_consts"] = _count(avals[:first]), _count(avals[first:second])
    found = bind(equation.primitive, tuple(map(as_operand, _flat(args))), params)
    return _paired(found, [v.aval for v in equation.outputs])


_LOOPS = {"scan": _scan, "while": _while}
_STRUCTURAL = (
    "add", "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather", "neg", "pad",
    "reduce_sum", "reshape", "rev", "select_n", "slice", "squeeze", "sub", "transpose",
)  # fmt: skip
_RULES: dict[str, Callable[..., Any]] = {
    **_LOOPS,
    **dict.fromkeys(_STRUCTURAL, _each_part),
    "abs": lambda equation, x: abs(x.re) if x.im is None else hypotenuse(x.re, x.im),
    "complex": lambda equation, re, im: Pair(re, im),
    "conj": lambda equation, x: Pair(x.re, None if x.im is None else ar.neg(x.im)),
    "convert_element_type": _converted,
    "div": _quotient,
    "dot_general": _bilinear,
    "eq": _compared,
    "imag": lambda equation, x: x.imag,
    "mul": _bilinear,
    "ne": _compared,
    "real": lambda equation, x: x.re,
    "sqrt": _root,
}
