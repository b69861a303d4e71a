"""Prints graphs in the form `{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # graphs print themselves by this module, which knows them by their attributes
    from stagec.core.graph import Equation, Graph, Literal, Var
    from stagec.core.location import Location


def _letters(n: int) -> str:
    text = ""
    while True:
        text = chr(ord("a") + n % 26) + text
        n = n // 26
        if n == 0:
            return text


class _Names:
    def __init__(self, comment: Callable[[Location], str]) -> None:
        self.names: dict[Var, str] = {}
        self.comment = comment

    def __call__(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = _letters(len(self.names))
        return self.names[var]


def _literal(literal: Literal) -> str:
    value, aval = literal.value, literal.aval
    if aval.ndim == 0:
        text = str(value[()])
    elif aval.size <= 8:
        text = np.array2string(value, separator=",").replace("\n", "")
    else:
        text = "[...]"
    return f"{text}:{aval.short()}"


def _atom(names: _Names, atom: Any) -> str:
    return _literal(atom) if hasattr(atom, "value") else names(atom)


def _is_graph(value: Any) -> bool:
    return hasattr(value, "equations")


def _param(names: _Names, value: Any, indent: int) -> str:
    if _is_graph(value):
        return _graph(names, value, indent, 0)
    if isinstance(value, np.dtype):
        return str(value.name)
    if isinstance(value, tuple) and value and all(map(_is_graph, value)):
        return "(" + ", ".join(_graph(names, v, indent, 0) for v in value) + ")"
    return str(value) if not isinstance(value, str) else value


def _equation(names: _Names, equation: Equation, indent: int) -> str:
    outputs = " ".join(f"{names(v)}:{v.aval.short()}" for v in equation.outputs)
    shown = sorted((k, v) for k, v in equation.params.items())
    params = " ".join(f"{k}={_param(names, v, indent + 2)}" for k, v in shown)
    inputs = " ".join(_atom(names, a) for a in equation.inputs)
    step = f"{equation.primitive.name}{'[' + params + ']' if params else ''} {inputs}".rstrip()
    return f"{outputs} = {step}" if outputs else step


def _graph(names: _Names, graph: Graph, indent: int, captured: int) -> str:
    def typed(vs: list[Var]) -> str:
        return " ".join(f"{names(v)}:{v.aval.short()}" for v in vs)

    hidden = typed(graph.inputs[:captured])
    head = f"{{ lambda {hidden}; " if hidden else "{ lambda ; "
    head += typed(graph.inputs[captured:]) + ". let"
    pad = " " * (indent + 4)
    body = "".join(f"\n{pad}{_equation(names, e, indent + 4)}{names.comment(e.location)}" for e in graph.equations)
    outs = [_atom(names, a) for a in graph.outputs]
    result = "(" + ", ".join(outs) + ("," if len(outs) == 1 else "") + ")"
    return f"{head}{body}\n{' ' * (indent + 2)}in {result} }}" if body else f"{head} in {result} }}"


def user_line(location: Location) -> str:
    """A comment that names the line."""
    return f"  # {location.brief()} in {location.function}"


def format_graph(graph: Graph, captured: int = 0, comment: Callable[[Location], str] = lambda _: "") -> str:
    """Format with the first `captured` inputs as closed-over values; `comment` is added to each step."""
    return _graph(_Names(comment), graph, 0, captured)
