"""Run libraries on stagec and on JAX: `python -m tests.ecosystem [library ...] [--folder F] [--all-cases] [--page]`.

The libraries of `libraries.py`, JAX and stagec are installed by pip into a virtual environment in the folder, and the
tests of their source distributions run there, once with JAX and once with `stagec.compat`. Of a parametrized test, the
first case runs. The table says, of the tests that pass with JAX, how many pass with stagec; those that fail are listed.
Results are kept in the folder, and `--page` writes those that are there to docs/reference/ecosystem.md, which keeps
those of other libraries.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import venv
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Any

from tests.ecosystem.libraries import JAX, LIBRARIES
from tests.ecosystem.library import Library
from tests.ecosystem.quickstart import agree, run, times

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reference" / "ecosystem.md"
BEGIN, END = "<!-- begin: written by tests/ecosystem -->", "<!-- end -->"
# The options of pytest.
SIDES: dict[str, list[str]] = {"jax": [], "stagec": ["-p", "stagec.compat.plugin"]}
TEST_FILES = "*_test.py test_*.py"
Result = dict[str, Any]


def environment(folder: pathlib.Path, libraries: list[Library]) -> pathlib.Path:
    """The Python of a virtual environment with the libraries, JAX and stagec."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    wanted = [JAX, "pytest", "pytest-timeout", *(w for lib in libraries for w in (lib.requirement, *lib.needs))]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-e", ROOT, *dict.fromkeys(wanted)], check=True)
    return python


def sources(folder: pathlib.Path, python: pathlib.Path, library: Library) -> pathlib.Path:
    """The unpacked source distribution of a library."""
    there = folder / "src" / library.requirement
    if not there.exists():
        archives = folder / "sdist" / library.requirement
        get = [
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            library.distribution,
            "--dest",
            archives,
            library.requirement,
        ]
        subprocess.run([python, "-m", "pip", *get], check=True)
        with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
            archive.extractall(there, filter="data")
    return next(path for path in there.iterdir() if path.is_dir())


def outcomes(report: pathlib.Path) -> dict[str, tuple[str, str]]:
    """How each test of a report by pytest ended: "passed", "failed" or "skipped", and the first line of its message."""
    found = {}
    for case in ET.parse(report).iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        outcome = "failed" if bad is not None else "skipped" if case.find("skipped") is not None else "passed"
        message = "" if bad is None else str(bad.get("message")).partition("\n")[0]
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome, message
    return found


def run_tests(
    folder: pathlib.Path, python: pathlib.Path, library: Library, side: str, options: argparse.Namespace
) -> dict[str, tuple[str, str]]:
    """Run a library's tests."""
    root = sources(folder, python, library)
    report = folder / f"{library.name}-{side}.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *SIDES[side], "-p", "one_case_each", "-q", "--tb=short", "--color=no"]
    command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", f"--timeout={options.timeout}"]
    command += [f"--junitxml={report}"]
    command += ["-p", "docstrings", "-o", "python_files="] if library.examples else ["-o", f"python_files={TEST_FILES}"]
    command += [f"--ignore={root / name}" for name in library.omit]
    command += ["-k", library.select] if library.select else []
    variables = {
        **os.environ,
        **library.variables,
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "PYTHONPATH": str(HERE),
        "ECOSYSTEM_SECONDS": str(options.seconds),
        "ECOSYSTEM_ALL_CASES": "1" if options.all_cases else "",
    }
    with open(folder / f"{library.name}-{side}.txt", "w") as log:
        subprocess.run([*command, *library.tests], cwd=root, env=variables, stdout=log, stderr=log)
    return outcomes(report) if report.exists() else {}


def compared(on_jax: dict[str, tuple[str, str]], here: dict[str, tuple[str, str]]) -> Result:
    """How many tests that pass with JAX have run here, and those of them that fail, as do those of unreadable files."""
    # pytest reports a file that cannot be imported as a case without a class.
    unread = {name[2:]: outcome for name, outcome in here.items() if name.startswith("::")}
    count, failed = 0, {}
    for name, (outcome, _) in on_jax.items():
        file = next((f for f in unread if name.startswith((f"{f}.", f"{f}::"))), None)
        found = here.get(name) or (unread[file] if file else None)
        if outcome == "passed" and found is not None:
            count += 1
            if found[0] != "passed":
                failed[name] = found[1]
    return {"tests": count, "failed": failed}


def measure(folder: pathlib.Path, python: pathlib.Path, library: Library, options: argparse.Namespace) -> Result:
    """Run a library on both."""
    imports = f"import jax, jax.numpy as jnp\nimport {library.module}\n"
    imports += "".join(f"import {name}\n" for name in library.needs if name in library.quickstart)
    result: Result = {"library": library.name, "version": library.version, "date": str(datetime.date.today())}
    for what, program in ("import", imports), ("quickstart", imports + library.quickstart):
        printed = {side: run(python, side, program, options.seconds, library.variables) for side in SIDES}
        result[what] = {side: text is not None for side, text in printed.items()}
    result["agree"] = None not in printed.values() and agree(*map(str, printed.values()))
    if not result["agree"]:
        print(*printed.values(), sep="\n---\n", file=sys.stderr)
    result["times"] = times(python, program, options.seconds, library.variables)
    if library.tests and not options.no_tests:
        tests = {side: run_tests(folder, python, library, side, options) for side in SIDES}
        result.update(compared(tests["jax"], tests["stagec"]))
        result["all cases"] = options.all_cases
    return result


def row(result: Result, old: dict[str, str]) -> str:
    """A row of the table: what works on stagec; "not on JAX either" where it does not.

    Of a result without tests, `old` has what the page said of them.
    """
    cells = [result["library"], result["version"]]
    for what in ("import", "quickstart"):
        here, there = result[what]["stagec"], result[what]["jax"]
        cells.append("yes" if here else "**no**" if there else "no, nor on JAX")
    if result["quickstart"]["stagec"] and not result["agree"]:
        cells[-1] = "**differs**"
    tests, date = old.get(TESTS, "none in its archive"), old.get("measured", result["date"])
    if "tests" in result:
        tests, date = f"{result['tests'] - len(result['failed'])} of {result['tests']}", result["date"]
    return f"| {' | '.join([*cells, tests, *speeds(result['times']), date])} |"


def speeds(spent: dict[str, list[float]]) -> list[str]:
    """Times of the quickstart divided by JAX's: the first run of all, a later one, and another in the process."""
    if not spent:
        return ["", "", ""]
    (first, _), (later, again) = spent["first"], spent["later"]
    whole, repeated = spent["jax"]
    return [f"{here / there:.2f}" for here, there in ((first, whole), (later, whole), (again, repeated))]


TESTS = "tests that pass on JAX, here"
COLUMNS = ("library", "version", "import", "quickstart", TESTS, "first run", "later run", "repeated", "measured")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def table(rows: Iterable[str]) -> str:
    """The table of rows."""
    return "\n".join([HEAD, *rows])


def failures(library: Library, names: Iterable[str]) -> str:
    """The names of the tests that fail, with the reasons that are known, as an item of a list; empty if none fail."""
    by_reason: dict[str, list[str]] = {}
    for name in sorted(names):
        reason = next((why for start, why in library.reasons.items() if name.startswith(start)), "")
        by_reason.setdefault(reason, []).append(f"`{name}`")
    parts = [", ".join(found) + (f" ({reason})" if reason else "") for reason, found in sorted(by_reason.items())]
    item = f"- {library.name}: {'; '.join(parts)}" if parts else ""
    return textwrap.fill(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def write_page(results: list[Result]) -> None:
    """Put the results into the page, among those of other libraries that it has."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    rows = {line.split(" | ")[0][2:]: line for line in old.splitlines() if line.startswith("| ")}
    items = re.finditer(r"^- (\S+): .*(?:\n  .*)*", old, re.MULTILINE)
    failing = {found[1]: set(re.findall("`(.*?)`", found[0])) for found in items}
    for result in results:
        name = result["library"]
        cells = rows.get(name, "| ")[2:-2].split(" | ")
        rows[name] = row(result, dict(zip(COLUMNS, cells)) if len(cells) == len(COLUMNS) else {})
        if "tests" in result:
            failing[name] = {test.rpartition("::")[2] for test in result["failed"]}
    with_what = f"Measured with JAX {JAX.partition('==')[2]} and Python {platform.python_version()}."
    shown = [library for library in LIBRARIES if library.name in rows]
    described = [failures(library, failing.get(library.name, ())) for library in shown]
    parts = [with_what, table(rows[library.name] for library in shown), "Tests that pass on JAX and fail here:"]
    text = "\n\n".join([*parts, "\n".join(filter(None, described))])
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem", description=__doc__)
    parser.add_argument("libraries", nargs="*", help="names, by default all")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "stagec-ecosystem"))
    parser.add_argument("--all-cases", action="store_true", help="all cases of parametrized tests")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for a test")
    parser.add_argument("--seconds", type=float, default=600, help="seconds for the tests of a library, on each side")
    parser.add_argument("--no-tests", action="store_true", help="the short programs alone; the page keeps its tests")
    parser.add_argument("--page", action="store_true", help="write the results in the folder to the documentation")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [lib for lib in LIBRARIES if lib.name in (options.libraries or [lib.name])]
    if chosen:
        python = environment(folder, list(LIBRARIES))
    for library in chosen:
        result = measure(folder, python, library, options)
        (folder / f"{library.name}.json").write_text(json.dumps(result, indent=1))
        print(
            table([row(result, {})]),
            *(f"{n}: {message}" for n, message in result.get("failed", {}).items()),
            sep="\n",
            flush=True,
        )
    if options.page:
        kept = (folder / f"{library.name}.json" for library in LIBRARIES)
        write_page([json.loads(path.read_text()) for path in kept if path.exists()])


if __name__ == "__main__":
    main()
