"""The parameters of a traced function, as its compiled form shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.api.arguments import ArgumentRules, leaf_aval, leaf_value
from stagec.api.traces import TracedSignature
from stagec.artifact.parameters import KINDS, Parameter, layout
from stagec.artifact.trees import Malformed
from stagec.core import dtypes, errors, pytree
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.primitives.operand import scalar_fits
from stagec.runtime.array import Array

_WORDS = {kind: word for word, kind in KINDS.items()}
_TEXT_LIMIT = 200
# Larger defaults would fill the file's header: such a parameter has to be given.
_DEFAULT_BYTES = 1 << 16


def parameters_of(rules: ArgumentRules, trace: TracedSignature) -> list[Parameter]:
    """All parameters of a function: what the trace takes for them, what is fixed in it, and the defaults that fit."""
    args, kwargs = trace.in_tree.children()
    keywords = list(kwargs.node_data()[1])  # type: ignore[index]
    static = {rules.argument_name(n) if isinstance(n, int) else n: row.value for n, row in trace.static}
    count = len(args.children()) + sum(isinstance(n, int) for n, _ in trace.static)
    found: list[Parameter] = []
    gap = False
    for i, p in enumerate(rules.parameters or ()):
        kind = _WORDS[p.kind]
        if p.name in static:
            found.append(Parameter(p.name, kind, _text(static.pop(p.name))))
        elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (i < count and kind != "keyword"):
            found.append(Parameter(p.name, kind))
        elif p.name in keywords and kind != "positional-only":
            # What comes after a parameter that was left out can be given by its name alone.
            found.append(Parameter(p.name, "keyword" if gap else kind))
        else:
            gap = gap or kind != "keyword"
            if p.default is not p.empty:
                found.append(Parameter(p.name, kind, _text(p.default)))
    found += [Parameter(name, "keyword", _text(value)) for name, value in static.items()]
    try:
        layout(found, trace.in_tree)
    except Malformed:  # no signature, or one of a wrapper that takes other arguments
        fixed = [p for p in found if p.fixed is not None]
        found = [Parameter("args", "rest"), *fixed, Parameter("kwargs", "keywords")]
    return _with_defaults(found, rules, trace)


def _with_defaults(found: list[Parameter], rules: ArgumentRules, trace: TracedSignature) -> list[Parameter]:
    defaults = {p.name: p.default for p in rules.parameters or () if p.default is not p.empty}
    avals = trace.graph.in_avals[len(trace.captured) :]
    rows: list[Parameter] = []
    for p, parts in layout(found, trace.in_tree):
        if p.name in defaults and p.fixed is None and len(parts) == 1:
            (part,) = parts
            wanted = avals[part.start : part.start + part.tree.num_leaves]
            p = Parameter(p.name, p.kind, None, _default(defaults[p.name], part.tree, wanted))
        rows.append(p)
    return rows


def _default(value: Any, tree: pytree.PyTreeDef, avals: list[ShapedArray]) -> tuple[np.ndarray[Any, Any], ...] | None:
    """A default's leaves as the program takes them; None where it does not take them."""
    try:
        leaves, own = pytree.flatten(value)
        values = [leaf_value(leaf) for leaf in leaves]
    except (errors.StagecError, OverflowError):
        return None
    if own != tree or sum(a.nbytes for a in avals) > _DEFAULT_BYTES:
        return None
    found = []
    for leaf, given, aval in zip(leaves, values, avals):
        if not isinstance(given, (Array, Literal, np.ndarray)):
            return None
        mine = leaf_aval(given)
        scalar = dtypes.python_scalar_kind(type(leaf)) is not None and scalar_fits(mine.dtype, aval.dtype)
        if mine.shape != aval.shape or (mine.dtype != aval.dtype and not scalar):
            return None
        plain: Any = given.value if isinstance(given, Literal) else given
        found.append(np.asarray(plain).astype(aval.dtype))
    return tuple(found)


def _text(value: Any) -> str:
    """A value on one line, cut where it is long."""
    text = " ".join(repr(value).split())
    text = text if text.isprintable() else ascii(text)[1:-1]
    return (text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 3] + "...") or "?"
