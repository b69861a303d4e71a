"""Numbers of rounds: what is known of their range, so that a slice by one of them has a known length."""

from __future__ import annotations

from typing import Any, NamedTuple

from stagec.core.graph import Literal, Var
from stagec.core.recording import GraphTracer
from stagec.python_flow.checks import local


class _Affine(NamedTuple):
    """`scale * variable + offset`"""

    variable: Any
    scale: int
    offset: int


def counts(tracer: Any, rounds: int) -> None:
    """Note that a traced number is between 0 and `rounds`, exclusively."""
    if local.session is not None and type(tracer) is GraphTracer:
        local.session.rounds[tracer._var] = rounds


def window(start: Any, stop: Any, size: int) -> int | None:
    """The length of a slice of an axis whose bounds are a known distance apart and never out of range, or None."""
    if local.session is None or type(start) is not GraphTracer or type(stop) is not GraphTracer:
        return None
    first, last = _affine(start._var, start._trace), _affine(stop._var, stop._trace)
    if first is None or last is None or first[:2] != last[:2]:
        return None
    rounds = local.session.rounds.get(first.variable)
    if rounds is None or rounds < 1:
        return None
    ends = (0, first.scale * (rounds - 1))
    inside = first.offset + min(ends) >= 0 and last.offset + max(ends) <= size
    return last.offset - first.offset if inside and last.offset >= first.offset else None


def _affine(atom: Any, trace: Any) -> _Affine | None:
    """An atom as a multiple of a counter and a constant; None for other atoms."""
    if type(atom) is Literal:
        known = atom.value.ndim == 0 and atom.value.dtype.kind in "iu"
        return _Affine(None, 0, int(atom.value)) if known else None
    assert type(atom) is Var, "an atom is a variable or a literal"
    if local.session is not None and atom in local.session.rounds:
        return _Affine(atom, 1, 0)
    if atom.equation is None and atom in trace.captured_vars:
        outer = trace.captured[trace.captured_vars.index(atom)]
        return _affine(outer._var, outer._trace) if type(outer) is GraphTracer else None
    if atom.equation is None or atom.aval.shape or atom.aval.dtype.kind not in "iu":
        return None
    name = atom.equation.primitive.name
    parts = (
        [_affine(i, trace) for i in atom.equation.inputs]
        if name in ("add", "sub", "mul", "convert_element_type")
        else []
    )
    if not parts or any(p is None for p in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    a, b = parts
    assert a is not None and b is not None, "none is missing"
    if name == "mul":
        a, b = (b, a) if a.variable is None else (a, b)
        return _Affine(a.variable, a.scale * b.offset, a.offset * b.offset) if b.variable is None else None
    if a.variable is not None and b.variable is not None and a.variable is not b.variable:
        return None
    sign = 1 if name == "add" else -1
    return _Affine(a.variable or b.variable, a.scale + sign * b.scale, a.offset + sign * b.offset)
