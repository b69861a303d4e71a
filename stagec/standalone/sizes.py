"""Functions for open sizes: which of them number independent rows, and the values of the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from stagec.compiler.row_blocks import block_sizes
from stagec.core import dims, open_graph
from stagec.core.aval import ShapedArray
from stagec.core.dims_terms import Function, Size, Symbol, Variable
from stagec.core.dims_values import fact_text, symbols
from stagec.core.graph import Graph
from stagec.core.location import UNKNOWN, Location
from stagec.lowering import row_wise
from stagec.standalone.forming import refused
from stagec.standalone.padded import padded
from stagec.standalone.padded_steps import UnpaddedError

# The elements of an array in the largest blocks, and the most rows: so that calls of kernels, and the threads that
# share one, take little of the time.
_ELEMENTS, _MOST = 1 << 16, 1 << 12
# The most values of sizes for which there is code of their own, and the most to which arrays are padded.
LIMIT, _PADDED = 128, 32
# What sizes that arrays are padded to are multiples of, as vectors have so many elements.
_MULTIPLE = 16


class Open(NamedTuple):
    """The sizes of a function that are known only at a call.

    Attributes:
      rows: those whose product is the number of independent rows.
      others: for values of these there is code.
      values: the values of `others` for which the function is right, or those to which arrays are padded.
      is_padded: whether the code is for smaller sizes, too.
    """

    rows: tuple[Symbol, ...]
    others: tuple[Symbol, ...]
    values: tuple[tuple[int, ...], ...]
    is_padded: bool = False


def open_sizes(
    name: str,
    graph: Graph,
    arrays: Sequence[tuple[str, ShapedArray]],
    holds: Callable[[Mapping[Symbol, int]], bool],
) -> Open:
    """Divide the open sizes of a function into those of its independent rows, and others.

    Args:
      name: the function's, in messages.
      arrays: the names and avals of its arguments and results.
      holds: whether the function is right for some sizes.

    Raises:
      UnsupportedError: there are too many values of the other sizes.
    """
    found = symbols([aval.shape for _, aval in arrays])
    together = [symbol for symbol in found if symbol.facts]
    if together:
        raise refused(
            name,
            f"{fact_text(together[0].facts[0])} has to hold, and a library checks each size by itself",
            "state no condition on several sizes",
        )
    reason: tuple[str, Location] | None = None
    leading = _leading(arrays) or tuple(found[:1])
    for axes in range(len(leading), -1, -1):
        rows = leading[:axes]
        others = tuple([symbol for symbol in found if symbol not in rows])
        count = math.prod([symbol.upper - symbol.lower + 1 for symbol in others])
        if count <= LIMIT:
            values = _values(rows, others, holds)
            obstacle = _obstacle(graph, arrays, rows, others, values)
        elif count < math.inf:
            values = _paddings(others)
            obstacle = _no_padding(graph, arrays, rows, others) or _obstacle(graph, arrays, rows, others, values)
        else:
            obstacle = _unbounded(others)
        if obstacle is None:
            return Open(rows, others, values, count > LIMIT)
        if reason is None:
            reason = obstacle
        elif count < math.inf and not axes:
            reason = f"{reason[0]}, and {obstacle[0]}", reason[1]
    assert reason is not None, "a function without open sizes has no obstacle"
    fix = (
        "export it for sizes that are numbers, leave nothing open but the number of independent rows, or bound other "
        f"sizes, as in 'n <= 16': there is code for each of up to {LIMIT} values, or for more if arrays can be padded"
    )
    raise refused(
        name,
        f"{' and '.join(map(str, found))} {be(found)} known only when it is called, and {reason[0]}",
        fix,
        reason[1],
    )


def _values(
    rows: Sequence[Symbol], others: Sequence[Symbol], holds: Callable[[Mapping[Symbol, int]], bool]
) -> tuple[tuple[int, ...], ...]:
    """The values of the other sizes for which the function is right."""
    if not others:
        return ((),)
    ranges = [range(symbol.lower, int(symbol.upper) + 1) for symbol in others]
    least = {symbol: symbol.lower for symbol in rows}
    return tuple([v for v in itertools.product(*ranges) if holds({**least, **dict(zip(others, v))})])


def be(found: Sequence[object]) -> str:
    """The verb for so many things."""
    return "is" if len(found) == 1 else "are"


def _leading(arrays: Sequence[tuple[str, ShapedArray]]) -> tuple[Symbol, ...]:
    """The symbols on the leading axes of the first array that is open."""
    shape = next((aval.shape for _, aval in arrays if aval.is_open), ())
    leading = itertools.takewhile(lambda n: [n] == [dims.of_symbol(s) for s in symbols(n)[:1]], shape)
    return tuple(dict.fromkeys([symbols(n)[0] for n in leading]))


def _unbounded(others: Sequence[Symbol]) -> tuple[str, Location]:
    return f"{' and '.join(map(str, others))} {be(others)} no number of independent rows, and without bounds", UNKNOWN


def _paddings(others: Sequence[Symbol]) -> tuple[tuple[int, ...], ...]:
    """The sizes that arrays are padded to: each twice as large as the one before, or more where they are several."""
    for power in itertools.count(1):
        columns = [_steps(symbol.lower, int(symbol.upper), 1 << power) for symbol in others]
        if math.prod(map(len, columns)) <= _PADDED:
            break
    return tuple(itertools.product(*columns))


def _steps(least: int, most: int, factor: int) -> list[int]:
    found = [most]
    while least <= (size := -(-found[-1] // (factor * _MULTIPLE)) * _MULTIPLE) < found[-1]:
        found.append(size)
    return found[::-1]


def _no_padding(
    graph: Graph, arrays: Sequence[tuple[str, ShapedArray]], rows: Sequence[Symbol], others: Sequence[Symbol]
) -> tuple[str, Location] | None:
    """Why arrays cannot be padded along the other sizes."""
    for label, aval in arrays:
        sizes: list[Size] = [n for n in aval.shape if dims.is_open(n)]
        if not all(dims.is_whole(n) and dims.is_positive(n) for n in sizes):
            return f"not all values of {' and '.join(map(str, others))} fit {label}, which is {aval.short()}", UNKNOWN
    known = {symbol: symbol.lower for symbol in rows}
    try:
        padded(open_graph.at(graph, known) if known else graph, {symbol: int(symbol.upper) for symbol in others}, "")
    except UnpaddedError as error:
        values = math.prod([int(symbol.upper) - symbol.lower + 1 for symbol in others])
        return f"{' and '.join(map(str, others))} may have {values} values, where {error.reason}", error.line
    return None


def _obstacle(
    graph: Graph,
    arrays: Sequence[tuple[str, ShapedArray]],
    rows: Sequence[Symbol],
    others: Sequence[Symbol],
    values: Sequence[tuple[int, ...]],
) -> tuple[str, Location] | None:
    """Why some sizes do not number independent rows, when the others are known."""
    if not values:
        return f"the function is right for none of the values of {' and '.join(map(str, others))}", UNKNOWN
    if not rows:
        return None
    known = dict(zip(others, values[-1]))
    numbered = [dims.of_symbol(symbol) for symbol in rows]
    for label, aval in arrays:
        shape = [dims.replaced(n, known) for n in aval.shape]
        if any(map(dims.is_open, shape)):
            rest = shape[len(rows) :]
            if shape[: len(rows)] != numbered or any(map(dims.is_open, rest)):
                named = " and ".join(map(str, rows))
                what = "is not the number of rows" if len(rows) == 1 else "do not lead"
                return f"{label} is {aval.short()}, where {named} {what}", UNKNOWN
    part = open_graph.at(graph, known) if known else graph
    return row_wise.obstacle(part, alone=True, axes=len(rows)) if open_graph.is_open(part) else None


def blocks(graph: Graph, rows: Sequence[Symbol], is_only: bool) -> tuple[int, ...]:
    """The numbers of rows that are computed at once, from large to small.

    Args:
      graph: with no other open sizes.
      is_only: whether there is code for no other sizes; else large blocks would be one more part for each of them.
    """
    avals = [*graph.in_avals, *(v.aval for e in graph.equations for v in e.outputs)]
    longest = max([math.prod(a.shape[len(rows) :]) for a in avals if a.is_open], default=1)
    known = dict.fromkeys(rows[1:], 1)
    sizes = block_sizes(open_graph.at(graph, known) if known else graph) if avals else (1,)
    large = min(_MOST, _ELEMENTS // max(1, longest)) // sizes[0] * sizes[0]
    most = math.prod([symbol.upper for symbol in rows])
    return tuple([n for n in dict.fromkeys(((large,) if is_only else ()) + sizes) if 0 < n <= most])


def spelled(size: Size, names: Mapping[Symbol, str], quotient: str = "({} / {})") -> str:
    """A size as an expression of C and JavaScript.

    Args:
      names: of the symbols.
      quotient: how quotients that are rounded down are written.

    >>> n = Symbol("n")
    >>> spelled(2 * dims.of_symbol(n) + 1, {n: "n"})
    '2 * n + 1'
    """
    if not dims.is_open(size):
        return str(size)
    common = math.lcm(*[Fraction(coefficient).denominator for _, coefficient in size.terms])
    parts = [_product(monomial, int(coefficient * common), names, quotient) for monomial, coefficient in size.terms]
    text = " + ".join(parts).replace("+ -", "- ")
    return quotient.format(f"({text})", common) if common > 1 else text


def _product(
    monomial: Sequence[tuple[Variable, int]], coefficient: int, names: Mapping[Symbol, str], quotient: str
) -> str:
    factors = [_variable(variable, names, quotient) for variable, power in monomial for _ in range(power)]
    number = [str(coefficient)] if abs(coefficient) != 1 or not factors else []
    return ("-" if coefficient == -1 and factors else "") + " * ".join([*number, *factors])


def _variable(variable: Variable, names: Mapping[Symbol, str], quotient: str) -> str:
    if isinstance(variable, Symbol):
        return names[variable]
    assert isinstance(variable, Function)
    left, right = (f"({spelled(n, names, quotient)})" for n in (variable.left, variable.right))
    if variable.kind == "//":
        return quotient.format(left, right)
    if variable.kind == "%":
        return f"({left} % {right})"
    return f"({left} {'>' if variable.kind == 'max' else '<'} {right} ? {left} : {right})"
