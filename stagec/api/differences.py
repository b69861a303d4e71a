"""What differs between two calls of a function, in the words of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stagec.api.arguments import ArgumentRules
from stagec.api.traces import TracedSignature
from stagec.core import config as _config

# How many of the signatures that were traced last are compared with a new one.
_COMPARED = 8


class Difference(NamedTuple):
    """One thing in which a call differs from the nearest known program."""

    what: str
    ours: str
    theirs: str


def of_signatures(
    rules: ArgumentRules, names: Sequence[str], ours: Any, others: Sequence[str], theirs: Any
) -> list[Difference]:
    """What differs between two signatures of a function.

    Args:
      names, others: of the leaves of each, by parameter and path.
      ours, theirs: keys of `Traces`.
    """
    rows: list[Difference] = []
    here, there = dict(zip(names, ours[1])), dict(zip(others, theirs[1]))
    for name in dict.fromkeys([*here, *there]):
        a, b = here.get(name), there.get(name)
        if a is None or b is None:
            rows.append(Difference(name, "absent" if a is None else a.long(), "absent" if b is None else b.long()))
            continue
        if a.shape != b.shape:
            rows.append(Difference(f"shape of {name}", str(a.shape), str(b.shape)))
        if a.dtype != b.dtype:
            rows.append(Difference(f"dtype of {name}", a.dtype.name, b.dtype.name))
        if a.weak_type != b.weak_type:
            rows.append(Difference(f"weak type of {name}", str(a.weak_type), str(b.weak_type)))
    if ours[0] != theirs[0] and here.keys() == there.keys():
        rows.append(Difference("structure of the arguments", str(ours[0]), str(theirs[0])))
    rows += _of_static(rules, ours[2], theirs[2])
    options = [name for name, row in _config._OPTIONS.items() if row[3]]
    return rows + [Difference(n, str(a), str(b)) for n, a, b in zip(options, ours[3], theirs[3]) if a != b]


def why_again(
    rules: ArgumentRules, names: Sequence[str], signature: Any, known: Mapping[Any, TracedSignature]
) -> dict[str, str]:
    """For the log, what differs from the nearest of the signatures that were traced before; empty for the first."""
    if not known:
        return {}

    here = dict(zip(names, signature[1]))

    def distance(other: Any) -> int:
        there = dict(zip(known[other].leaf_names, other[1]))
        leaves: int = sum(here.get(name) != there.get(name) for name in here.keys() | there.keys())
        return leaves + int(signature[2] != other[2]) + sum(bool(a != b) for a, b in zip(signature[3], other[3]))

    nearest = min(list(known)[-_COMPARED:][::-1], key=distance)
    rows = of_signatures(rules, names, signature, known[nearest].leaf_names, nearest)
    reason = "; ".join(f"{what} was {brief_text(theirs)}, is {brief_text(ours)}" for what, ours, theirs in rows)
    return {"again": reason} if reason else {}


def _of_static(rules: ArgumentRules, ours: Any, theirs: Any) -> Iterator[Difference]:
    def named(rows: Any) -> dict[str, Any]:
        names = [row[0] if isinstance(row[0], str) else rules.argument_name(row[0]) for row in rows]
        return {name: row[1] for name, row in zip(names, rows)}

    here, there = named(ours), named(theirs)
    for name in dict.fromkeys([*here, *there]):
        a, b = here.get(name), there.get(name)
        if a != b:
            texts = [brief_text(repr(v.value)) if v is not None else "absent" for v in (a, b)]
            if a is not None and b is not None and texts[0] == texts[1]:
                texts = [f"{type(v.value).__name__} {text}" for v, text in zip((a, b), texts)]
            yield Difference(f"static argument {name}", *texts)


def brief_text(text: str) -> str:
    """A text of at most 60 characters; of a digest the first ones."""
    if len(text) == 64 and all(c in "0123456789abcdef" for c in text):
        return text[:12]
    return text if len(text) <= 60 else text[:57] + "..."
