"""Every example in the documentation runs: Python blocks in the order of the page, in one namespace."""

import contextlib
import doctest
import importlib.util
import inspect
import io
import pathlib
import pkgutil
import re

import pytest
from platforms import is_required

import stagec
from stagec.backends import BACKENDS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as the current directory is for an interpreter
    namespace = {"__name__": "__main__"}
    text = page.read_text()
    left_out = []
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        flags, code = block.group(1), block.group(2)
        needed = re.findall(r"needs=(\w+)", flags)
        if not all(map(is_here, needed)):
            left_out += needed
            continue
        if "file=" in flags:
            (tmp_path / re.search(r"file=(\S+)", flags).group(1)).write_text(code)
        elif ">>>" in code:
            run_session(code, namespace, page, line)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + code, str(page), "exec"), namespace)
    if left_out:
        pytest.skip(f"the examples that need {', '.join(dict.fromkeys(left_out))}; the others ran")


def is_here(name):
    """Whether this machine has a kind of device, or a package."""
    if name not in BACKENDS:
        return importlib.util.find_spec(name) is not None
    try:
        return bool(stagec.devices(name))
    except stagec.errors.DeviceError:
        return is_required(name)  # the example fails


def run_session(code, namespace, page, line):
    test = doctest.DocTestParser().get_doctest(code, namespace, page.name, str(page), line)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report = io.StringIO()
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    assert runner.failures == 0, report.getvalue()


def module_names():
    for package in ("stagec", "passes"):
        yield package
        for found in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not found.name.endswith("__main__"):
                yield found.name


class Finder(doctest.DocTestFinder):
    """Finds the examples of functions where they are defined, not where they are wrapped."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object))


@pytest.mark.parametrize("name", list(module_names()))
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in Finder(exclude_empty=True).find(module, name):
        test.globs.setdefault("__name__", "__main__")
        runner.run(test, out=report.write)
    assert runner.failures == 0, report.getvalue()
