"""Draw the pictures of the documentation: `python -m tests.pictures [measured.json ...]`.

Files are what `python -m tests.benchmarks [loops] ... --json` printed; their times of stagec and JAX take the place of
the former ones in `docs/benchmarks.json`. Of several runs, the fastest time of each program and library counts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.pictures import explained, plots, speed

FOLDER = plots.DOCS / "pictures"
PAGE = plots.DOCS / "benchmarks.md"
PICTURES = {**explained.DRAWN, **plots.DRAWN, "speed": speed.speed}
_TABLE = re.compile(r"(<!-- families -->\n).*(<!-- end of families -->)", re.DOTALL)


def with_table(page: str) -> str:
    """The page on benchmarks with its table of families as it should be."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{plots.summary()}\n\n{found[2]}", page)


def stored(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """All families with the times of files that `tests.benchmarks` wrote."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        report = json.loads(Path(name).read_text("utf-8"))
        if isinstance(report, list):  # of loops
            report = {"rows": [{**row, "group": "loops", "seconds": row["steady"]} for row in report]}
        for row in report["rows"]:
            times = found.setdefault(row["group"], {}).setdefault(row["name"], row["seconds"])
            times.update({library: min(times[library], row["seconds"][library]) for library in ("stagec", "jax")})
    families: dict[str, list[dict[str, Any]]] = json.loads((plots.DOCS / "benchmarks.json").read_text("utf-8"))
    for family, rows in found.items():
        families[family] = [{"name": name, "stagec": t["stagec"], "jax": t["jax"]} for name, t in rows.items()]
    return families


def main() -> None:
    """Draw all."""
    if len(sys.argv) > 1:
        found = sorted(stored(sys.argv[1:]).items())
        families = ",\n".join(f'"{family}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for family, rows in found)
        (plots.DOCS / "benchmarks.json").write_text(f"{{\n{families}\n}}\n", "utf-8")
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(str(draw()), "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
