"""Which tests a change concerns: `python -m tests.changed [REVISION]` runs them, on all cores.

What has changed is what differs from REVISION (`main`), committed or not. A changed test file runs itself. For a module
`stagec/numpy/sorting.py`, the tests run whose file's name ends in its name, or that import it; if there are none, those
of its folder, `tests/numpy`. The examples of a module and of a page run, too. Those of the structure always run, and
last.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import subprocess
import sys
from collections.abc import Iterable

from tests.revisions import ROOT as ROOT

ALWAYS = ["tests/test_structure.py"]
# Tests of all modules of a folder, beside their own.
_OF_FOLDERS = {
    "passes/legalize": "tests/passes/test_pass_laws.py",
    "passes/simplify": "tests/passes/test_pass_laws.py",
    "stagec/commands": "tests/test_cli.py",
}
EXAMPLES = "tests/test_docs.py::test_the_examples_of_a_"


def changed_files(revision: str) -> list[str]:
    """The files that differ from a revision, and are still there."""
    against = ["git", "diff", "--name-only", "--diff-filter=d", "--merge-base", revision]
    new = ["git", "ls-files", "--others", "--exclude-standard"]
    lists = [subprocess.run(c, cwd=ROOT, check=True, capture_output=True, text=True).stdout for c in (against, new)]
    return sorted({line for text in lists for line in text.splitlines()})


def tests_of(files: Iterable[str]) -> list[str]:
    """The tests for files, as arguments of pytest.

    >>> tests_of(["docs/how-to/cache.md", "CHANGELOG.md"])
    ['tests/test_docs.py::test_the_examples_of_a_page_run[docs/how-to/cache.md]', 'tests/test_structure.py']
    """
    found: dict[str, None] = {}
    for file in map(pathlib.PurePosixPath, files):
        if file.suffix == ".md":
            if file.parts[0] == "docs" or str(file) in ("README.md", "CONTRIBUTING.md"):
                found[f"{EXAMPLES}page_run[{file}]"] = None
        elif file.parts[0] == "tests" and file.name.startswith("test_") and file.suffix == ".py":
            found[str(file)] = None
        elif file.parts[0] in ("stagec", "passes") and file.suffix == ".py":
            found |= dict.fromkeys(_of_module(file))
            if file.stem != "__main__":
                found[f"{EXAMPLES}module_run[{_name(file)}]"] = None
    folders = [path for path in found if (ROOT / path).is_dir()]
    single = [path for path in found if not any(path.startswith(f"{folder}/") for folder in folders)]
    return [*(path for path in single if path not in ALWAYS), *ALWAYS]


def _name(file: pathlib.PurePosixPath) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def _of_module(file: pathlib.PurePosixPath) -> list[str]:
    module = _name(file)
    named = [path for path in _test_files() if path.endswith(f"_{file.stem}.py")]
    importing = [path for path in _test_files() if module in _imports(path)]
    folder = pathlib.PurePosixPath("tests", *file.parts[file.parts[0] == "stagec" : -1])
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    shared = [path for place, path in _OF_FOLDERS.items() if str(file).startswith(f"{place}/")]
    if named or importing or shared:
        return sorted({*named, *importing, *shared})
    return [str(folder)] if folder.name != "tests" else []


@functools.cache
def _test_files() -> tuple[str, ...]:
    return tuple(str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py")))


@functools.cache
def _imports(path: str) -> frozenset[str]:
    """The modules that a file imports, and what it imports from them."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def main() -> int:
    """The command line."""
    files = changed_files(sys.argv[1] if len(sys.argv) > 1 else "main")
    chosen = tests_of(files)
    print(f"{len(files)} changed files: {' '.join(chosen)}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", *chosen]
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
