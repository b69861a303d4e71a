"""The parameters of an exported function: passed in a call, fixed, or with defaults."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stagec.artifact.trees import Malformed
from stagec.core.aval import ShapedArray
from stagec.core.pytree import PyTreeDef

_P = inspect.Parameter
# The names in files and messages, in the order that Python requires.
KINDS = {
    "positional-only": _P.POSITIONAL_ONLY,
    "positional": _P.POSITIONAL_OR_KEYWORD,
    "rest": _P.VAR_POSITIONAL,
    "keyword": _P.KEYWORD_ONLY,
    "keywords": _P.VAR_KEYWORD,
}
_BY_POSITION = ("positional-only", "positional")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an exported function.

    Args:
      kind: one of `KINDS`.
      fixed: its value as text, where the program was made for that value and takes no argument for it.
      default: its leaves, where a call may leave it out.
    """

    name: str
    kind: str
    fixed: str | None = None
    default: tuple[np.ndarray[Any, Any], ...] | None = None


class Part(NamedTuple):
    """What a program takes for a parameter: a part of `(args, kwargs)`, and the first of its leaves."""

    key: int | str
    tree: PyTreeDef
    start: int


class Shown:
    """A value that prints as a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def layout(parameters: Sequence[Parameter], in_tree: PyTreeDef) -> list[tuple[Parameter, list[Part]]]:
    """Each parameter with the parts that the program takes for it: one, none if it is fixed, or any number.

    Raises:
      Malformed: the parameters are not those of the structure.
    """
    args, kwargs = in_tree.children()
    names = list(kwargs._data)
    parts: dict[int | str, Part] = {}
    start = 0
    for key, tree in zip([*range(len(args.children())), *names], [*args.children(), *kwargs.children()]):
        parts[key] = Part(key, tree, start)
        start += tree.num_leaves
    known = {p.name for p in parameters}
    if len(known) != len(parameters):
        raise Malformed("two parameters of one name")
    rows: list[tuple[Parameter, list[Part]]] = []
    position = 0
    for p in parameters:
        keys: list[int | str] = []
        if p.fixed is not None:
            pass
        elif p.kind == "rest":
            keys = list(range(position, len(args.children())))
        elif p.kind == "keywords":
            keys = [name for name in names if name not in known]
        elif p.name in names and p.kind != "positional-only":
            keys = [p.name]
        elif p.kind in _BY_POSITION:
            keys = [position]
        position += sum(isinstance(key, int) for key in keys)
        if p.fixed is None and p.kind not in ("rest", "keywords") and not (keys and keys[0] in parts):
            raise Malformed("parameters")
        rows.append((p, [parts[key] for key in keys]))
    if sum(len(row) for _, row in rows) != len(parts):
        raise Malformed("parameters")
    return rows


def check_defaults(parameters: Sequence[Parameter], in_tree: PyTreeDef, avals: Sequence[ShapedArray]) -> None:
    """Raise `Malformed` unless the defaults are what the program takes."""
    for p, parts in layout(parameters, in_tree):
        if p.default is None:
            continue
        wanted = [a for part in parts for a in avals[part.start : part.start + part.tree.num_leaves]]
        one = len(parts) == 1 and p.kind not in ("rest", "keywords")
        if not one or [(v.shape, v.dtype) for v in p.default] != [(a.shape, a.dtype) for a in wanted]:
            raise Malformed("a default")


def signature_of(
    rows: Sequence[tuple[Parameter, Sequence[Part]]], avals: Sequence[ShapedArray] | None = None
) -> inspect.Signature:
    """The signature of a call: fixed parameters are keywords whose default is their value.

    Args:
      avals: of the leaves, for annotations.
    """
    found: dict[Any, list[inspect.Parameter]] = {kind: [] for kind in KINDS.values()}
    for p, parts in rows:
        if not p.name.isidentifier():
            continue
        kind = KINDS[p.kind]
        default: Any = _P.empty
        annotation: Any = _P.empty
        if p.fixed is not None:
            kind, default = _P.KEYWORD_ONLY, Shown(p.fixed)
        elif p.default is not None:
            default = shown_default(p, parts[0].tree)
        if avals is not None and len(parts) == 1 and p.kind not in ("rest", "keywords"):
            annotation = taken(parts[0], avals)
        found[kind].append(_P(p.name, kind, default=default, annotation=annotation))
    by_position = [*found[_P.POSITIONAL_ONLY], *found[_P.POSITIONAL_OR_KEYWORD]]
    for i, row in enumerate(by_position):
        # Python cannot express such a signature; the call works nevertheless.
        if row.default is not _P.empty and any(later.default is _P.empty for later in by_position[i:]):
            by_position[i] = row.replace(default=_P.empty)
    return inspect.Signature([*by_position, *found[_P.VAR_POSITIONAL], *found[_P.KEYWORD_ONLY], *found[_P.VAR_KEYWORD]])


def shown_default(parameter: Parameter, tree: PyTreeDef) -> Any:
    """A parameter's default as a value to look at."""
    assert parameter.default is not None, "asked only where there is one"
    return tree.unflatten([v.item() if v.ndim == 0 else v for v in parameter.default])


def taken(part: Part, avals: Sequence[ShapedArray]) -> Shown:
    """What the program takes for a parameter, in words: `{'w': float32[3]}`."""
    leaves = [Shown(a.long()) for a in avals[part.start : part.start + part.tree.num_leaves]]
    text = " ".join(repr(part.tree.unflatten(leaves)).split())
    return Shown(text if len(text) <= 60 else text[:57] + "...")
