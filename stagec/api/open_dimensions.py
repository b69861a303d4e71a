"""Calls of programs for open dimensions: what a specification names, and the sizes that a call gives the symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stagec.core import dims, dims_values, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_terms import Symbol
from stagec.core.dims_text import Scope, limits
from stagec.core.dims_values import evaluate, symbols as symbols_in
from stagec.core.graph import Graph, all_equations
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
        known = [f"{s.name} = {values[s]}" for s in symbols_in(size) if s in values]
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
    for i, symbol, factor, rest in dims_values.solutions([size for _, _, size, _ in waiting]):
        name, axis, size, n = waiting[i]
        number, remainder = divmod(n - evaluate(rest, values), factor)
        if remainder:
            raise location.error(
                errors.DimensionError,
                f"{function}: axis {axis} of {name} has size {n}, which is not {size} for any {symbol}",
                fix=f"pass a size that is {size}, as by padding the array",
            )
        if not number:
            raise location.error(
                errors.DimensionError,
                f"{function}: axis {axis} of {name} has size {n}, so {symbol} = 0; there is no program for arrays "
                "without elements",
                fix=f"pass arrays with {symbol} >= {symbol.lower}, and treat this case before the call",
            )
        if not symbol.lower <= number <= symbol.upper:
            raise location.error(
                errors.DimensionError,
                f"{function}: axis {axis} of {name} has size {n}, so {symbol} = {number}, "
                f"but {limits(dims.of_symbol(symbol)) or f'{symbol} >= 1'}",
                fix="pass a size within the bounds, or state other bounds",
            )
        values[symbol], places[symbol] = number, f", as in axis {axis} of {name}"
    for name, axis, size, n in waiting:
        missing = [s for s in symbols_in(size) if s not in values]
        if missing:
            raise location.error(
                errors.DimensionError,
                f"{function}: no argument gives {missing[0]}, which is in dimension {size} of {name}",
                fix=f"name a dimension {missing[0]}, or a multiple of it, for another axis",
            )
        if evaluate(size, values) != n:
            raise mismatch(function, name, axis, n, size, values, places[symbols_in(size)[0]])
    broken = dims_values.broken_fact(values)
    if broken:
        known = ", ".join(f"{s.name} = {n}{places[s]}" for s, n in values.items() if s.facts)
        raise location.error(
            errors.DimensionError,
            f"{function}: {broken} does not hold for {known}",
            fix="pass sizes for which the conditions hold, or state other ones",
        )
    return values


def fits(wanted: Sequence[ShapedArray], given: Sequence[ShapedArray]) -> bool:
    """Whether arrays have the dtypes and the static sizes that a program takes."""
    return len(wanted) == len(given) and all(a.dtype == b.dtype and shape_fits(a, b) for a, b in zip(wanted, given))


def shape_fits(wanted: ShapedArray, given: ShapedArray) -> bool:
    """Whether an array has the static sizes that a program takes."""
    return wanted.ndim == given.ndim and all(is_open(m) or m == n for m, n in zip(wanted.shape, given.shape))


def taken_for_granted(graph: Graph) -> list[tuple[Dim, str]]:
    """The sizes in a program that have to be whole, more than 0, and no more than int32 holds; and their lines."""
    found = []
    for size, line in sizes_in(graph).items():
        if not (dims.is_whole(size) and dims.is_positive(size) and dims.bounds(size)[1] <= dims.LARGEST):
            found.append((size, line.brief()))
    return found


def is_full(graph: Graph) -> bool:
    """Whether each array of known size in a program has elements."""
    known = [v.aval for e in all_equations(graph) for v in (*e.inputs, *e.outputs)]
    return all(a.size != 0 for a in (*known, *graph.in_avals))


class Conditions:
    """What a program for open dimensions takes for granted of the sizes, besides the bounds of its symbols.

    Args:
      function: the function's name, for messages.
      names, avals: of its arguments.
      sizes: what `taken_for_granted` returned.
      full: what `is_full` returned.
    """

    def __init__(
        self,
        function: str,
        names: Sequence[str],
        avals: Sequence[ShapedArray],
        sizes: Sequence[tuple[Dim, str]],
        full: bool = True,
    ) -> None:
        self.function = function
        self._arguments = list(zip(names, avals))
        self._sizes = sizes
        self._is_full = full

    def hold(self, values: Mapping[Symbol, int]) -> bool:
        """Whether the program is right for these sizes: not if an array has no elements, or too many for int32.

        Raises:
          DimensionError: a size is not whole, or negative.
        """
        return self._is_full and self._empty(values) is None

    def fit(self, values: Mapping[Symbol, int]) -> bool:
        """Whether some sizes are whole numbers from 1 on, for which the program has elements."""
        sizes = [size for size, _ in self._sizes] + [n for _, aval in self._arguments for n in aval.shape if is_open(n)]
        numbers = [dims_values.fraction(size, values) for size in sizes]
        return all(n.denominator == 1 and 0 < n <= dims.LARGEST for n in numbers)

    def require(self, values: Mapping[Symbol, int]) -> None:
        """Raise `DimensionError` unless they hold."""
        found = self._empty(values)
        if found is not None:
            size, line = found
            text = f"the size {size}, of {line}, is {evaluate(size, values)}"
            raise self._error(size, text, values, "the program is for arrays that have elements; call the function")

    def _empty(self, values: Mapping[Symbol, int]) -> tuple[Dim, str] | None:
        """A size that is 0, or too large."""
        found = None
        for size, line in self._sizes:
            number = dims_values.fraction(size, values)
            if number.denominator != 1 or number < 0:
                what = "is not a whole number" if number.denominator != 1 else "is negative"
                fix = "pass an array whose size fits, as by padding it"
                raise self._error(size, f"the size {size}, of {line}, {what}", values, fix)
            if not 0 < number <= dims.LARGEST:
                found = size, line
        return found

    def _error(self, size: Dim, text: str, values: Mapping[Symbol, int], fix: str) -> errors.DimensionError:
        used = symbols_in(size)
        rows: list[tuple[str, str, str]] = []
        for name, aval in self._arguments:
            for axis, n in enumerate(aval.shape):
                if is_open(n) and set(symbols_in(n)) & set(used):
                    rows.append((name, f"size {evaluate(n, values)}", f"axis {axis}, dimension {n}"))
        known = ", ".join(f"{s.name} = {values[s]}" for s in used)
        return location.error(errors.DimensionError, f"{self.function}: {text} for {known}", rows, fix)


def unified(avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
    """Avals that were described one by one, with one symbol for each name: all bounds that any of them states hold."""
    if not any(a.is_open for a in avals):
        return tuple(avals)
    found: dict[str, Dim] = {}
    given = symbols_in([a.shape for a in avals])
    for s in given:
        same = [t for t in given if t.name == s.name]
        facts = tuple(dict.fromkeys([fact for t in same for fact in t.facts]))
        found[s.name] = dims.symbol(s.name, max(t.lower for t in same), min(t.upper for t in same), facts)
    values = {s: found[s.name] for s in given}
    return tuple([a.update(shape=[dims.replaced(n, values) for n in a.shape]) if a.is_open else a for a in avals])


# New sizes of an axis after which `dynamic` is suggested.
_SIZES = 3


def suggestion(names: Sequence[str], calls: Sequence[Sequence[ShapedArray]]) -> str:
    """The argument `dynamic` with which calls would share a program, if an axis has had several sizes; else empty.

    Args:
      names: of the arguments.
      calls: the avals of each call, the latest last.

    >>> calls = [[ShapedArray((n, 4), "float32")] for n in (3, 5, 8)]
    >>> suggestion(["x"], calls), suggestion(["x"], calls[:2])
    ("dynamic={'x': 'b, _'}", '')
    """
    last = calls[-1]
    alike = [
        call
        for call in calls
        if len(call) == len(last) and all((a.dtype, a.ndim) == (b.dtype, b.ndim) for a, b in zip(call, last))
    ]
    symbols: dict[tuple[Any, ...], str] = {}
    found: dict[str, str] = {}
    for i, (name, aval) in enumerate(zip(names, last)):
        texts = []
        for axis in range(aval.ndim):
            sizes = tuple([call[i].shape[axis] for call in alike])
            if len(set(sizes)) == 1:
                texts.append("_")
            elif len(set(sizes)) < _SIZES:
                return ""
            else:
                texts.append(
                    symbols.setdefault(sizes, "bnmk"[len(symbols)] if len(symbols) < 4 else f"n{len(symbols)}")
                )
        if set(texts) - {"_"}:
            found[name] = ", ".join(texts)
    return f"dynamic={found}" if found else ""
