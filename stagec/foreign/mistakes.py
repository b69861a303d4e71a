"""What is wrong with the text of a module, in terms of its lines."""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST_CHARACTERS = 160
# What modules have, and other text has not: operations of StableHLO, functions, or a module around them.
_MLIR = re.compile(
    r"\b(?:stablehlo|chlo|vhlo)\.\w|\bfunc\.func\b|\bbuiltin\.module\b|^\s*module\b(?:.*\{|\s*[@{])", re.MULTILINE
)
# MLIR's diagnostics: `error: "-":2:23: expected ','`. The place may stand within that of a call, or be missing.
_DIAGNOSTIC = re.compile(r"^ *(error|note): (?:.*?\"([^\"]*)\":(\d+):(\d+).*?|.*?): (.*?) *$", re.MULTILINE)


class Mistake(NamedTuple):
    """Attributes:
    what: the place, and what MLIR says.
    rows: the lines that it speaks of, as error messages show them.
    """

    what: str
    rows: list[tuple[str, str, str]]


def mistake(fault: str, text: str, path: str) -> Mistake | None:
    """The mistake in the text of a module that MLIR refused; None if it does not look like MLIR.

    Args:
      fault: MLIR's message.
      path: of the file that was parsed, under which MLIR knows the text.
    """
    found = _DIAGNOSTIC.findall(fault)
    if not found or not _MLIR.search(text):
        return None
    lines = text.splitlines()
    rows: list[tuple[str, str, str]] = []
    for kind, file, line, _, said in found:
        # Operations may have locations in other files.
        known = bool(line) and file in ("-", path) and 0 < int(line) <= len(lines)
        if known and not any(row[0] == f"line {line}" for row in rows):
            rows.append((f"line {line}", _shown(lines[int(line) - 1]), said if kind == "note" else ""))
    _, file, line, column, said = found[0]
    place = f"line {line}, column {column}" if file in ("-", path) else f"{file}:{line}:{column}"
    return Mistake(f"a mistake at {place}: {said}" if line else f"a mistake: {said}", rows)


def _shown(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 3]}..."
