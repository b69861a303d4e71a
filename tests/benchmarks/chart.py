"""A bar chart of times: `python -m tests.benchmarks kernels steps start/mlp --json | python -m tests.benchmarks.chart`.

It reads the seconds of each case and library, and writes an SVG that follows the reader's light or dark theme. Bars are
times over JAX's: shorter is faster.
"""

from __future__ import annotations

import json
import platform
import sys
from html import escape
from typing import Any

# The cases that are shown, and what they are called.
SHOWN = {
    "start/mlp": "first result of a new process, MLP",
    "steps/MLP": "training step, MLP",
    "steps/convolutional network": "training step, convolutions",
    "steps/transformer": "training step, transformer",
    "steps/recurrent network": "training step, recurrent",
    "kernels/softmax 2048x1024": "softmax, 2048 x 1024",
    "kernels/sum(x*x+sin(x)) 1e6": "sum(x*x + sin(x)), a million",
    "kernels/matmul 1024": "product of matrices, 1024",
    "kernels/sort 1e5": "sort, 100,000 numbers",
}
COLORS = {"numpy": "#9aa5b1", "jax": "#e0a030", "stagec": "#3f51b5"}
NAMES = {"numpy": "NumPy", "jax": "JAX", "stagec": "stagec"}
# Bars beyond this many times JAX's are cut, and say so.
CUT = 3.0
WIDTH, LEFT, BAR, GAP = 720, 250, 13, 16
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #333 } .small { font-size: 11px; fill: #666 }
line { stroke: #999; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .small { fill: #aaa } }
"""


def bars(rows: list[dict[str, Any]], libraries: list[str], machine: str) -> str:
    """The chart of the rows that have a time of JAX's."""
    unit = (WIDTH - LEFT - 60) / CUT
    parts, y = [], 34
    for x, name in zip(range(LEFT, WIDTH, 90), libraries):
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{x + 17}" y="18">{NAMES[name]}</text>')
    top = y
    for row in rows:
        parts.append(f'<text x="{LEFT - 10}" y="{y + 22}" text-anchor="end">{escape(row["label"])}</text>')
        for name in libraries:
            if name in row["seconds"]:
                over = row["seconds"][name] / row["seconds"]["jax"]
                shown = f"{over:.2f}" if over < 10 else f"{over:.0f}"
                width = unit * min(over, CUT)
                parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLORS[name]}"/>')
                parts.append(f'<text class="small" x="{LEFT + width + 5:.1f}" y="{y + 10}">{shown}</text>')
            y += BAR
        y += GAP
    parts.append(f'<line x1="{LEFT + unit:.1f}" y1="{top - 4}" x2="{LEFT + unit:.1f}" y2="{y - GAP + 4}"/>')
    parts.append(
        f'<text class="small" x="{LEFT}" y="{y + 4}">time over JAX\'s; shorter is faster. {escape(machine)}</text>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 16}" role="img" '
        f'aria-label="Times of {", ".join(NAMES[n] for n in libraries)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def main() -> None:
    """Read the measurements from standard input, and print the chart."""
    measured = json.load(sys.stdin)
    found = {f"{row['group']}/{row['name']}": row for row in measured["rows"] if "jax" in row["seconds"]}
    rows = [{**found[key], "label": label} for key, label in SHOWN.items() if key in found]
    missing = sorted(set(SHOWN) - set(found))
    if missing:
        sys.exit(f"not measured: {', '.join(missing)}")
    import jax

    machine = f"JAX {jax.__version__}, Python {platform.python_version()}, {platform.machine()}"
    print(bars(rows, measured["libraries"], machine), end="")


if __name__ == "__main__":
    main()
