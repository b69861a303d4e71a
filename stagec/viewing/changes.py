"""What is new in each stage of a function since its last version."""

from __future__ import annotations

import difflib
import re
from typing import Any

# Names of values and of blocks are numbered, so that one more operation changes those of all later ones.
_NUMBERED = re.compile(r"[%#@!][\w.$#:-]+|\.L[\w.$]+|\b[a-z]{1,2}\b(?=:\w+\[)")
# Comparing more rows than this, times as many, would take longer than the change is worth.
_MOST = 4_000_000


def changes(before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any]:
    """The data of a page, whose panes have `changes`: the numbers of new rows, and the texts of those that are gone.

    >>> rows = [{"id": "graph", "rows": [["sin %1", []], ["add %2", []]]}], [{"id": "graph", "rows": [["cos %7", []]]}]
    >>> old, new = ({"panes": panes} for panes in rows)
    >>> changes(old, new)["panes"][0]["changes"]
    {'more': [0], 'less': [[0, ['sin %1', 'add %2']]]}
    >>> changes(None, new)["panes"][0]["changes"]
    {'more': [], 'less': []}
    """
    known = {pane["id"]: pane for pane in (before or {"panes": []})["panes"]}
    panes = [{**pane, "changes": _changes(known.get(pane["id"]), pane)} for pane in after["panes"]]
    return {**after, "panes": panes}


def _changes(before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any]:
    if before is None:
        return {"more": [], "less": []}
    old, new = ([row[0] for row in pane["rows"]] for pane in (before, after))
    head, tail = _equal_ends(old, new)
    a, b = ([_NUMBERED.sub("%", text) for text in texts[head : len(texts) - tail]] for texts in (old, new))
    steps: Any = [("replace", 0, len(a), 0, len(b))]
    if len(a) * len(b) <= _MOST:
        steps = difflib.SequenceMatcher(None, a, b).get_opcodes()
    more: list[int] = []
    less: list[Any] = []
    for kind, i, j, k, m in steps:
        if kind != "equal":
            more += range(head + k, head + m)
            if j > i:
                less.append([head + k, old[head + i : head + j]])
    return {"more": more, "less": less}


def _equal_ends(a: list[str], b: list[str]) -> tuple[int, int]:
    """How many rows are equal at the beginning, and how many of the others at the end."""
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    return head, next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
