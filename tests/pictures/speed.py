"""The chart of the README: times of five libraries, which `python -m tests.benchmarks front` wrote to docs/speed.json.

Bars are times over JAX's, and their labels are the times.
"""

from __future__ import annotations

import json
from typing import Any

from tests.pictures.plots import DOCS
from tests.pictures.svg import Picture

NAMES = {"numpy": "NumPy", "numba": "Numba", "torch": "PyTorch", "jax": "JAX", "stagec": "stagec"}
STYLE = """
.numpy { fill: #9aa5b1 } .numba { fill: #2a9d8f } .torch { fill: #c8553d }
.jax { fill: #e0a030 } .stagec { fill: #3f51b5 }
.small { font-size: 11px }
@media (prefers-color-scheme: dark) { .stagec { fill: #8c9eff } }
"""
# What the rows are called, and which times are in each column, of which programs.
LABELS = {
    "perceptron": "training step, perceptron",
    "convolutions": "training step, convolutions",
    "softmax": "softmax, 2048 x 1024",
    "sum": "sum(x*x + sin(x)), a million",
    "product": "product of matrices, 1024",
    "sort": "sort, 100,000 numbers",
    "filter": "y[i] = a*y[i-1] + x[i], a million",
}
FEW = ("perceptron", "filter")
COLUMNS = (
    [("Later calls", "steady", tuple(LABELS))],
    [
        ("First call, with nothing on disk", "first", FEW),
        ("First process, from start to first result", "cold start", FEW),
        ("Second process, from start to first result", "start", FEW),
    ],
)
# Bars beyond this many times JAX's are cut, and their labels say how many times it is.
CUT, WIDTH, BAR = 2.5, 340, 12


def duration(seconds: float) -> str:
    """Two significant digits with a unit."""
    unit, scale = next(((u, s) for u, s in (("s", 1), ("ms", 1e-3)) if seconds >= 0.95 * s), ("µs", 1e-6))
    digits = float(f"{seconds / scale:.2g}")
    return f"{digits:g} {unit}"


def chart(measured: dict[str, Any]) -> Picture:
    """The chart of what was measured."""
    picture = Picture("Times of NumPy, Numba, PyTorch, JAX and stagec", 2 * WIDTH + 60, STYLE)
    unit, bottom = (WIDTH - 70) / CUT, 0.0
    for i, (library, name) in enumerate(NAMES.items()):
        picture.box(10 + 100 * i, 8, 12, 12, library)
        picture.text(28 + 100 * i, 18, name)
    for i, column in enumerate(COLUMNS):
        left, y = 10 + i * (WIDTH + 40), 32.0
        for title, kind, programs in column:
            picture.text(left, y + 14, title, "strong")
            y += 24
            for program in programs:
                picture.text(left, y + 12, LABELS[program])
                y, top = y + 18, y + 16
                times = {library: measured["rows"][program][library][kind] for library in _there(measured, program)}
                for library, seconds in times.items():
                    over = seconds / times["jax"]
                    picture.box(left, y, max(unit * min(over, CUT), 1), BAR - 2, library)
                    text = duration(seconds) + (f" ({over:.0f}x)" if over > CUT else "")
                    picture.text(left + unit * min(over, CUT) + 5, y + BAR - 3, text, "small dim")
                    y += BAR
                picture.line((left + unit, top), (left + unit, y))
                y += 6
            y += 8
        bottom = max(bottom, y)
    versions = ", ".join(f"{NAMES[name]} {text}" for name, text in measured["versions"].items() if text)
    picture.text(10, bottom + 6, f"The line is at JAX's time; shorter is faster. {measured['machine']};", "small dim")
    picture.text(10, bottom + 22, f"{versions}; float32.", "small dim")
    return picture


def _there(measured: dict[str, Any], program: str) -> list[str]:
    return [library for library in NAMES if library in measured["rows"][program]]


def speed() -> Picture:
    """The chart of the times that are in the repository."""
    return chart(json.loads((DOCS / "speed.json").read_text("utf-8")))
