"""Calls of programs for open dimensions: what a specification names, and the sizes that a call gives the symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stagec.core import dims, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, Symbol, is_open
from stagec.core.dims_text import Scope, limits
from stagec.core.graph import Graph, all_equations
from stagec.core.location import Location
from stagec.core.open_graph import sizes as sizes_in


class OpenDimensions:
    """The argument `dynamic` of `jit`: for each argument, or for a leaf of one, its dimensions as text.

    Args:
      function: the function's name, for messages.
      given: argument -> text, such as `{"x": "b, _"}`.
    """

    def __init__(self, function: str, given: Mapping[str, str]) -> None:
        parts = [*given, *given.values()] if isinstance(given, Mapping) else [None]
        if not all(isinstance(part, str) for part in parts):
            raise location.error(
                errors.DimensionError,
                f"jit: dynamic={errors.brief(given)} is no table of arguments and dimensions",
                fix='write dynamic={"x": "b, _"}: for each argument its dimensions, _ for those that are static',
            )
        self.function = function
        self.given = dict(given)
        self.key = tuple(sorted(self.given.items()))
        scope = Scope(list(given.values()))
        self._shapes = {name: scope.shape(text) for name, text in given.items()}

    def _of(self, name: str) -> tuple[Any, ...] | None:
        """The dimensions of a leaf: its own, or those of the argument that it is a part of."""
        while name:
            if name in self._shapes:
                return self._shapes[name]
            cut = max(name.rfind("["), name.rfind("."))
            name = name[:cut] if cut > 0 else ""
        return None

    def avals(self, names: Sequence[str], avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
        """The avals of a call's leaves, with symbols for the open dimensions."""
        found = []
        used: set[str] = set()
        for name, aval in zip(names, avals):
            shape = self._of(name)
            if shape is None:
                found.append(aval)
                continue
            used.add(name)
            if ... in shape:
                at = shape.index(...)
                shape = (*shape[:at], *[None] * (aval.ndim - len(shape) + 1), *shape[at + 1 :])
            if len(shape) != aval.ndim:
                raise location.error(
                    errors.DimensionError,
                    f"{self.function}: dynamic names {len(shape)} dimensions of {name}, which has {aval.ndim}",
                    [(name, aval.long(), "")],
                    "write one for each axis, _ for those that are static, or ... for all others",
                )
            for axis, (size, have) in enumerate(zip(shape, aval.shape)):
                if size is not None and not is_open(size) and size != have:
                    raise mismatch(self.function, name, axis, have, size, {})
            found.append(aval.update(shape=[n if m is None else m for m, n in zip(shape, aval.shape)]))
        for name in self._shapes:
            if not any(n == name or n.startswith((name + "[", name + ".")) for n in used):
                raise location.error(
                    errors.DimensionError,
                    f"{self.function}: dynamic names {name!r}, which is no array among the arguments of this call",
                    fix=f"name one of: {', '.join(names) or 'none'}",
                )
        return tuple(found)


def mismatch(
    function: str, name: str, axis: int, have: int, size: Any, values: Mapping[Symbol, int], source: str = ""
) -> errors.DimensionError:
    """The error for an argument whose size is not what its dimension says."""
    text = f"{function}: axis {axis} of {name} has size {have}, but its dimension is {size}"
    if isinstance(size, Dim):
        known = [f"{s.name} = {values[s]}" for s in dims.symbols(size) if s in values]
        text += f", with {', '.join(known)}{source}" if known else ""
    return location.error(
        errors.DimensionError, text, fix="pass arrays whose sizes agree, or give the dimension a name of its own"
    )


def solve(
    function: str, names: Sequence[str], open_avals: Sequence[ShapedArray], avals: Sequence[ShapedArray]
) -> dict[Symbol, int]:
    """The values of the symbols in a call.

    Raises:
      DimensionError: sizes that have one dimension differ, or a size is not within its bounds.
    """
    values: dict[Symbol, int] = {}
    places: dict[Symbol, str] = {}
    waiting = [
        (name, axis, size, n)
        for name, a, b in zip(names, open_avals, avals)
        for axis, (size, n) in enumerate(zip(a.shape, b.shape))
        if is_open(size)
    ]
    solved = True
    while solved:
        solved = False
        for name, axis, size, n in waiting:
            found = dims.solution(size, values)
            if found is None:
                continue
            symbol, factor, rest = found
            number, remainder = divmod(n - dims.evaluate(rest, values), factor)
            if remainder:
                raise location.error(
                    errors.DimensionError,
                    f"{function}: axis {axis} of {name} has size {n}, which is not {size} for any {symbol}",
                    fix=f"pass a size that is {size}, as by padding the array",
                )
            if not symbol.lower <= number <= symbol.upper:
                raise location.error(
                    errors.DimensionError,
                    f"{function}: axis {axis} of {name} has size {n}, so {symbol} = {number}, "
                    f"but {limits(dims.of_symbol(symbol)) or f'{symbol} >= 1'}",
                    fix="pass a size within the bounds, or state other bounds",
                )
            values[symbol], places[symbol] = number, f", as in axis {axis} of {name}"
            solved = True
    for name, axis, size, n in waiting:
        missing = [s for s in dims.symbols(size) if s not in values]
        if missing:
            raise location.error(
                errors.DimensionError,
                f"{function}: no argument gives {missing[0]}, which is in dimension {size} of {name}",
                fix=f"name a dimension {missing[0]}, or a multiple of it, for another axis",
            )
        if dims.evaluate(size, values) != n:
            raise mismatch(function, name, axis, n, size, values, places[dims.symbols(size)[0]])
    return values


class Conditions:
    """What a program for open dimensions takes for granted of the sizes, besides the bounds of its symbols.

    Args:
      function: the function's name, for messages.
      graph: the program.
      names: of its arguments.
    """

    def __init__(self, function: str, graph: Graph, names: Sequence[str]) -> None:
        self.function = function
        inputs = graph.inputs[len(graph.inputs) - len(names) :]
        self._names = list(zip(names, [v.aval for v in inputs]))
        given = {n for a in graph.in_avals for n in a.shape if is_open(n)}
        known = [v.aval for e in all_equations(graph) for v in (*e.inputs, *e.outputs)]
        self._is_full = all(a.size != 0 for a in (*known, *graph.in_avals))
        self._sizes: list[tuple[Dim, Location]] = []
        for size, line in sizes_in(graph).items():
            whole = all(c.denominator == 1 for _, c in size.terms)
            if size not in given and not (whole and dims.is_positive(size) and dims.bounds(size)[1] <= dims.LARGEST):
                self._sizes.append((size, line))

    def hold(self, values: Mapping[Symbol, int]) -> bool:
        """Whether the program is right for these sizes: not if an array has no elements, or too many for int32.

        Raises:
          DimensionError: a size is not whole, or negative.
        """
        full = self._is_full
        for size, line in self._sizes:
            number = dims.fraction(size, values)
            if number.denominator != 1 or number < 0:
                raise self._error(size, line, values, number.denominator != 1)
            full = full and 0 < number <= dims.LARGEST
        return full

    def _error(self, size: Dim, line: Location, values: Mapping[Symbol, int], divides: bool) -> errors.DimensionError:
        used = dims.symbols(size)
        rows: list[tuple[str, str, str]] = []
        for name, aval in self._names:
            for axis, n in enumerate(aval.shape):
                if is_open(n) and set(dims.symbols(n)) & set(used):
                    rows.append((name, f"size {dims.evaluate(n, values)}", f"axis {axis}, dimension {n}"))
        text = "is not a whole number" if divides else "is negative"
        known = ", ".join(f"{s.name} = {values[s]}" for s in used)
        return location.error(
            errors.DimensionError,
            f"{self.function}: the size {size}, of {line.brief()}, {text} for {known}",
            rows,
            "pass an array whose size fits, as by padding it",
        )
