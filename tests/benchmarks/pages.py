"""The documentation's examples beside JAX: `python -m tests.benchmarks pages [part of a name ...] [--repeat N]`.

Each page of the tutorial and of the how-tos is a program: its examples are run one after the other in a process without
caches, in JAX with the imports changed. Examples that fail in one of the libraries, as those of its own features do,
are left out for all. The time is that from the start of the process to the end of the last example, over JAX's: below
1, stagec is the faster one. Processes take turns, and the fastest one counts.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

_DOCS = pathlib.Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENVIRONMENT = {
    "tiers": {"STAGEC_CACHE": "0", "STAGEC_TIERED": "1"},
    "stagec": {"STAGEC_CACHE": "0", "STAGEC_TIERED": "0"},
    "jax": {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"},
}
# A page with fewer shows next to nothing of a library that JAX has, too.
_LEAST = 5


def examples(page: pathlib.Path) -> Iterator[tuple[str, str]]:
    """The examples of a page, and whether each is to be run as in an interpreter (`single`) or as a file (`exec`)."""
    for flags, code in _BLOCK.findall(page.read_text()):
        if "file=" in flags or "needs=" in flags:
            continue
        if ">>>" in code:
            yield from ((example.source, "single") for example in doctest.DocTestParser().get_examples(code))
        else:
            yield code, "exec"


def for_jax(code: str) -> str:
    """The code with its imports changed."""
    code = re.sub(r"\bstagec\.numpy\b", "jax.numpy", code)
    return re.sub(r"\bstagec\b", "jax", code)


def serve(library: str, page: str, chosen: Sequence[int] | None) -> None:
    """Run the examples of a page, or those with these numbers, and print which ran, and the time when they had."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = []
    found = list(examples(pathlib.Path(page)))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, (code, mode) in enumerate(found):
            if chosen is not None and number not in chosen:
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(for_jax(code) if library == "jax" else code, "<example>", mode), namespace)
            except Exception:  # examples show errors, and features that JAX lacks
                continue
            ran.append(number)
        os.chdir(_DOCS)
    print(json.dumps(ran), flush=True)


def measure(library: str, page: pathlib.Path, chosen: Sequence[int] | None = None) -> tuple[float, list[int]]:
    """Seconds from the start of a process to the end of the examples, and the numbers of those that ran."""
    command = [sys.executable, "-m", "tests.benchmarks.pages", "jax" if library == "jax" else "stagec", str(page)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, json.dumps(chosen)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **_ENVIRONMENT[library]},
    )
    assert process.stdout is not None, "it is a pipe"
    line = process.stdout.readline()
    seconds = time.perf_counter() - started
    process.communicate()
    return seconds, json.loads(line or "[]")


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks pages", description=__doc__)
    parser.add_argument("page", nargs="*", help="a part of a page's name")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each library; the best one counts")
    options = parser.parse_args(arguments)
    table = Table(title="examples of a page, from the start of a process")
    for column in ("page", "examples", "tiers over jax", "stagec over jax", "tiers ms", "jax ms"):
        table.add_column(column, justify="left" if column == "page" else "right", no_wrap=True)
    ratios = []
    for page in sorted([*_DOCS.glob("tutorial/*.md"), *_DOCS.glob("how-to/*.md")]):
        name = str(page.relative_to(_DOCS))
        if options.page and not any(part in name for part in options.page):
            continue
        ran = [set(measure(library, page)[1]) for library in _ENVIRONMENT]
        chosen = sorted(set.intersection(*ran))
        if len(chosen) < _LEAST:
            continue
        best = dict.fromkeys(_ENVIRONMENT, math.inf)
        for _ in range(options.repeat):
            for library in best:
                best[library] = min(best[library], measure(library, page, chosen)[0])
        ratios.append(best["tiers"] / best["jax"])
        cells = (ratios[-1], best["stagec"] / best["jax"])
        milliseconds = (f"{best[library] * 1e3:.0f}" for library in ("tiers", "jax"))
        table.add_row(name, str(len(chosen)), *(f"{cell:.2f}" for cell in cells), *milliseconds)
    Console(width=120).print(table)
    if ratios:
        print(f"geometric mean of tiers over jax: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
