"""Writes the tables of docs/reference/accuracy.md: `python tests/accuracy/table.py [function ...]`.

Each function, or those that are named, is measured on all points of its rows, outside of `jit` and compiled, and what
is written is the next number of 0.5, 1, 2, 5, 10, 20, ... with a fifth to spare. `test_accuracy.py` holds the page to
it.
"""

from __future__ import annotations

import pathlib
import re
import sys
import time

from functions import ACTIVATIONS, ELEMENTARY, ERRORS, GAMMAS, INTEGRALS, TWO_OPERANDS, Row
from measure import DTYPES, bound, compiled, exact, operands, worst

import stagec

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "accuracy.md"
BEGIN, END = "<!-- begin: written by tests/accuracy/table.py -->", "<!-- end -->"
GROUPS = {
    "Elementary functions": ELEMENTARY,
    "Functions of two operands": TWO_OPERANDS,
    "Activations": ACTIVATIONS,
    "Gamma and beta functions": GAMMAS,
    "Error functions and logarithms": ERRORS,
    "Bessel functions and integrals": INTEGRALS,
}
HEAD = "| Function | Operands | float32 | compiled | float64 | compiled | float16 | bfloat16 |\n" + "|---" * 8 + "|"


def measured(rows: list[Row]) -> dict[tuple[int, str, bool], float]:
    """The largest error of each row, by dtype, and by whether the function was compiled."""
    found = {}
    for name, dtype in DTYPES.items():
        args = [operands(row, dtype, row.points) for row in rows]
        results = {False: [row.ours(*a) for row, a in zip(rows, args)], True: compiled(rows)(args)}
        for i, row in enumerate(rows):
            values = exact(row, args[i])
            for way, outs in results.items():
                if outs[i].dtype == dtype:
                    found[i, name, way] = worst(outs[i], values, dtype)
    return found


def table(rows: list[Row], names: list[str]) -> str:
    """The lines of rows: those of `names`, or of all, are measured, and others stay as they are on the page."""
    chosen = [row for row in rows if not names or row.name in names]
    cells = promises() | measured_cells(chosen)
    return "\n".join([HEAD, *(f"| `{r.name}` | {r.where} | {' | '.join(cells[r.name, r.where])} |" for r in rows)])


def measured_cells(rows: list[Row]) -> dict[tuple[str, str], list[str]]:
    """The bounds to be written, by function and operands."""
    found = measured(rows) if rows else {}
    texts = {}
    for i, row in enumerate(rows):
        cells: list[float | None] = [found.get((i, d, way)) for d in ("float32", "float64") for way in (False, True)]
        for d in ("float16", "bfloat16"):
            both = [found[i, d, way] for way in (False, True) if (i, d, way) in found]
            cells.append(max(both) if both else None)
        texts[row.name, row.where] = ["" if c is None else f"{bound(c):g}" for c in cells]
    return texts


def promises() -> dict[tuple[str, str], list[str]]:
    """The cells of the page's tables, by function and operands."""
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]*) \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {(name, where): cells.split(" | ") for name, where, cells in rows}


def main() -> None:
    parts = []
    with stagec.enable_x64():
        for title, rows in GROUPS.items():
            started = time.perf_counter()
            parts.append(f"## {title}\n\n{table(rows, sys.argv[1:])}")
            print(parts[-1], f"\n{time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    text = PAGE.read_text("utf-8")
    head, rest = text.split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
