"""The plots of the page on benchmarks, and its table of families.

What `python -m tests.benchmarks` printed as JSON is in `docs/benchmarks.json`; other figures are read from the tables
of the pages that have them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.pictures.svg import Picture

DOCS = Path(__file__).parents[2] / "docs"
BENCHMARKING = DOCS / "tutorial/04-benchmarking.md"
FAMILIES = {
    "kernels": "functions of arrays",
    "sizes": "functions of three sizes",
    "steps": "training steps",
    "products": "products of matrices",
    "narrow": "products of 16 and 8 bits",
    "convolutions": "convolutions and their gradients",
    "loops": "loops",
}


def measured(family: str) -> dict[str, float]:
    """stagec's time over JAX's, of each program of a family, the slowest last."""
    rows = json.loads((DOCS / "benchmarks.json").read_text("utf-8"))[family]
    return dict(sorted(((row["name"], row["stagec"] / row["jax"]) for row in rows), key=lambda row: row[1]))


def table(page: Path, heading: str) -> list[dict[str, str]]:
    """The rows of the first table below a heading, by the names of columns."""
    section = page.read_text("utf-8").partition(f"## {heading}\n")[2]
    first = re.search(r"(?:^\|.*\|\n)+", section, re.MULTILINE)
    assert first is not None, f"{page} has no table below {heading}"
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in first[0].splitlines()]
    return [dict(zip(head, row)) for row in rows]


def column(page: Path, heading: str, name: str) -> dict[str, float]:
    """A column of numbers, by the first one, without rows that lack a number."""
    rows = table(page, heading)
    key = next(iter(rows[0]))
    return {row[key].replace("`", ""): float(row[name]) for row in rows if row[name]}


def ratios(label: str, columns: dict[str, dict[str, float]]) -> Picture:
    """Bars from 1 to each ratio on a logarithmic scale: to the left where stagec is faster, to the right where not."""
    picture, right, y = Picture(label), 660, 8
    left = 30 + 7.3 * max(len(name) for rows in columns.values() for name in rows)
    most = max(1.0, *(abs(math.log2(ratio)) for rows in columns.values() for ratio in rows.values()))
    middle, unit = (left + right) / 2, (right - left) / 2 / math.ceil(most)
    for title, rows in columns.items():
        if title:
            picture.text(8, y + 12, title, "strong")
            y += 20
        top = y
        for name, ratio in rows.items():
            end = middle + unit * math.log2(ratio)
            picture.text(left - 12, y + 12, name, anchor="end")
            picture.box(min(middle, end), y + 2, max(abs(end - middle), 1), 11, "faster" if ratio <= 1 else "slower")
            picture.text(right + 12, y + 12, f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}")
            y += 17
        picture.line((middle, top - 2), (middle, y))
        y += 8
    picture.text(middle, y + 10, "time over JAX's; to the left, stagec is faster", "dim", "middle")
    return picture


def memory() -> Picture:
    """Ranges of ratios of memory, with their geometric means."""
    rows = table(BENCHMARKING, "Memory beside JAX")
    picture, left, unit, y = Picture("Memory of a process with stagec over that with JAX"), 310, 125, 8
    for row in rows:
        least, most = map(float, row["Ratio"].split(" to "))
        words, line = row["Programs"].split(), ""
        while words and len(line) + len(words[0]) < 44:
            line += words.pop(0) + " "
        picture.lines(8, y + 14, [line, " ".join(words)], "")
        picture.box(left + unit * least, y + 6, unit * (most - least), 12, "one")
        mean = left + unit * float(row["Geometric mean"])
        picture.line((mean, y + 2), (mean, y + 22))
        picture.text(570, y + 17, f"{row['Ratio']}, mean {row['Geometric mean']}", "dim")
        y += 44
    picture.line((left + unit, 4), (left + unit, y))
    picture.text(left + unit, y + 14, "as much as JAX", "dim", "middle")
    return picture


def _family(name: str) -> Callable[[], Picture]:
    return lambda: ratios(f"Times of {FAMILIES[name]} over JAX's", {"": measured(name)})


def _columns(label: str, heading: str, names: Sequence[str]) -> Callable[[], Picture]:
    def shown(name: str) -> str:
        return name if len(names) > 1 else ""

    return lambda: ratios(label, {shown(name): column(BENCHMARKING, heading, name) for name in names})


DRAWN = {
    **{name: _family(name) for name in FAMILIES},
    "compile": _columns("Times of compiles over JAX's", "Compile times beside JAX's", ["Ratio"]),
    "libraries": _columns(
        "Times of random numbers, factorizations and transforms over JAX's",
        "Random numbers, factorizations and transforms beside JAX",
        ["Steady", "First call"],
    ),
    "memory": memory,
}


def summary() -> str:
    """The table of families, with the least and the greatest ratio of each."""
    lines = ["| Programs | Number | Geometric mean | Least | Greatest |", "|---|---|---|---|---|"]
    for family, what in FAMILIES.items():
        rows = measured(family)
        names, found = list(rows), list(rows.values())
        mean = math.exp(sum(map(math.log, found)) / len(found))
        ends = [f"{found[i]:.2f}, {names[i]}" for i in (0, -1)]
        lines.append(f"| [{what}](#{what.replace(' ', '-')}) | {len(found)} | {mean:.2f} | {ends[0]} | {ends[1]} |")
    return "\n".join(lines)
