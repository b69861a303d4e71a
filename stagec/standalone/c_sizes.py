"""Functions for open sizes as C99: which code runs for them, and copies of arrays that are padded."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from stagec.core import dims_values
from stagec.core.dims import is_open
from stagec.standalone.function import Function, Parameter, Routine
from stagec.standalone.sizes import spelled


def by_sizes(
    function: Function, found: Sequence[Routine], symbol: str, declarations: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    """A function that selects the code for some sizes, and has as many rows computed at once as are left.

    Args:
      found: the code, which takes parameters with these declarations and names.
      symbol: the function's name.
    """
    arrays = [*function.arguments, *function.results]
    numbers = [p.name for p in function.numbers]
    own = [text for text, name in zip(declarations, names) if name not in numbers]
    yield ""
    yield f"static int {symbol}({', '.join([*(f'size_t {size.name}' for size in function.sizes), *own])})"
    yield "{"
    for name, size in zip(numbers, function.others):
        yield f"  const int32_t {name} = (int32_t){size.name};"
    if function.rows:
        yield f"  const size_t rows = {' * '.join([size.name for size in function.rows])};"
    for values, routines in itertools.groupby(found, lambda routine: routine.values):
        test = selecting(function, values)
        yield f"  if ({test}) {{" if test else "  {"
        if function.rows:
            yield "    size_t row = 0;"
        for routine in routines:
            indent = "      " if routine.rows else "    "
            copies = function.copies(routine)
            passed = {p.name: f"{p.name} + row * {function.row(p, values)}" for p in arrays if function.has_rows(p)}
            passed |= {name: f"&{name}" for name in numbers}
            for p in arrays:
                if p.name in copies:
                    constant = "const " if p in function.arguments else ""
                    passed[p.name] = f"({constant}{p.scalar.type} *)({_at('work', copies[p.name])})"
            passed["work"] = _at("work", copies[""])
            if routine.rows:
                opening = " {" if function.numbers else ""
                yield f"    for (; rows - row >= {routine.rows}; row += {routine.rows}){opening}"
            for p in function.arguments:
                if p.name in copies:
                    yield from _copied(function, routine, p, copies[p.name], indent)
            yield f"{indent}{routine.named(symbol)}({', '.join([passed.get(name, name) for name in names])});"
            for p in function.results:
                if p.name in copies:
                    yield from _copied(function, routine, p, copies[p.name], indent)
            if routine.rows and function.numbers:
                yield "    }"
        yield "    return 0;"
        yield "  }"
    if function.others:
        yield "  return 3;"
    yield "}"


def selecting(function: Function, values: Sequence[int], name: str = "{}") -> str:
    """The condition for code: that it is for the open sizes, or that arrays of these can be padded to those of it.

    Args:
      name: how sizes are written.
    """
    order = "<=" if function.numbers else "=="
    return " && ".join([f"{name.format(size.name)} {order} {n}" for size, n in zip(function.others, values)])


def workspace(function: Function) -> str:
    """The bytes of workspace for open sizes, as the definition of a macro."""
    large = f"{function.name.upper()}_WORKSPACE"
    found = next(iter(function.routines.values()))
    text = large
    groups = [(values, [*part]) for values, part in itertools.groupby(found, lambda routine: routine.values)]
    for values, _ in reversed(groups[:-1]):
        needed = max([function.needed(r) for r in function.every_routine if r.values == values])
        text = f"{selecting(function, values, '({})')} ? {needed} : \\\n  {text}"
    return f"#define {large}_FOR({', '.join([size.name for size in function.others])}) \\\n  ({text})"


def _at(name: str, offset: int) -> str:
    return f"{name} + {offset}" if offset else name


def _copied(function: Function, routine: Routine, parameter: Parameter, offset: int, indent: str) -> Iterator[str]:
    """The caller's array is copied to where it is padded; of a result, back."""
    names = {size.symbol: size.name for size in function.sizes}
    known = {size.symbol: n for size, n in zip(function.others, routine.values)}
    has_rows = function.has_rows(parameter)
    shape = [*parameter.aval.shape[len(function.rows) if has_rows else 0 :], parameter.scalar.parts]
    own = [spelled(n, names) for n in shape]
    padded = [dims_values.evaluate(n, known) for n in shape]
    row = _product(own)
    if has_rows:
        shape, own, padded = [routine.rows, *shape], [str(routine.rows), *own], [routine.rows, *padded]
    last = max([i for i, n in enumerate(shape) if is_open(n)])
    size = parameter.bytes
    there, here = _at("work", offset), parameter.name + (f" + row * {row}" if has_rows else "")
    for axis in range(last):
        if padded[axis] != 1:
            yield f"{indent}for (size_t i{axis} = 0; i{axis} < {own[axis]}; i{axis}++)"
            indent += "  "
            there += f" + i{axis} * {math.prod(padded[axis + 1 :]) * size}"
            here += f" + i{axis} * {_product(own[axis + 1 :])}"
    target, source = (there, here) if parameter in function.arguments else (here, there)
    yield f"{indent}memcpy({target}, {source}, {_product([*own[last:], str(size)], '{}')});"


def _product(factors: Sequence[str], several: str = "({})") -> str:
    """A product in C; numbers are one factor.

    Args:
      several: how one of several factors is written.
    """
    known = math.prod([int(text) for text in factors if text.isdigit()])
    found = [f"({text})" if " " in text else text for text in factors if not text.isdigit()]
    text = " * ".join([*found, *([str(known)] if known != 1 or not found else [])])
    return several.format(text) if " " in text else text
