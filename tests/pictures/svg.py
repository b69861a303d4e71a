"""Drawings as SVG that follow the reader's light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

# Text and lines have the contrast that WCAG asks for (AA) on white and on the site's dark background.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .dim { fill: #59626c } .strong { font-weight: 700 }
.code { font: 12px ui-monospace, monospace; white-space: pre }
.box { fill: #f4f6f9; stroke: #8a939e } .one { fill: #c9d4f7; stroke: #3f51b5 } .two { fill: #fbe0b4; stroke: #a86a00 }
.line { stroke: #59626c; fill: none } .head { fill: #59626c } .faster { fill: #3f51b5 } .slower { fill: #d07a00 }
.screen { fill: #14171b; stroke: #59626c } .out { fill: #d5dae0 } .typed { fill: #8fc7ff }
@media (prefers-color-scheme: dark) {
text { fill: #e2e6ea } .dim { fill: #a9b2bc } .out { fill: #d5dae0 } .typed { fill: #8fc7ff }
.box { fill: #262b33; stroke: #6f7884 } .one { fill: #333f78; stroke: #9fb0ff } .two { fill: #5e4210; stroke: #f0b24a }
.line { stroke: #a9b2bc } .head { fill: #a9b2bc } .faster { fill: #8c9eff } .slower { fill: #f0a030 }
}
"""


class Picture:
    """A drawing of a width in pixels, with further rules of CSS; its height follows from what is drawn."""

    def __init__(self, label: str, width: int = 720, style: str = "") -> None:
        self.label, self.width, self.height, self.parts = label, width, 0.0, list[str]()
        self.style = STYLE + style

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """One line, with its baseline at y."""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._add(f'<text x="{x:g}" y="{y:g}" class="{kind}"{place}>{escape(text)}</text>', y + 6)

    def lines(self, x: float, y: float, lines: Sequence[str], kind: str = "code") -> None:
        """Lines one below the other, the first one's baseline at y."""
        for i, line in enumerate(lines):
            self.text(x, y + 16 * i, line, kind)

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        """A rectangle."""
        self._add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>', y + height + 2)

    def line(self, *points: tuple[float, float]) -> None:
        """A line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._add(f'<polyline points="{path}" class="line"/>', max(y for _, y in points) + 2)

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line through points, with a head at the last one."""
        self.line(*points)
        (a, b), (x, y) = points[-2:]
        turn = math.degrees(math.atan2(y - b, x - a))
        self._add(f'<path d="M0 0-8-4v8z" class="head" transform="translate({x:g} {y:g}) rotate({turn:g})"/>', y + 4)

    def _add(self, part: str, bottom: float) -> None:
        self.parts.append(part)
        self.height = max(self.height, bottom)

    def __str__(self) -> str:
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height + 6:g}" '
            f'width="{self.width}" role="img" aria-label="{escape(self.label)}">\n'
            f"<style>{self.style}</style>\n{body}\n</svg>\n"
        )
