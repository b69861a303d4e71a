"""Every example in the documentation runs: Python blocks in the order of the page, in one namespace."""

import contextlib
import doctest
import importlib.util
import inspect
import io
import pathlib
import pkgutil
import re
import shutil
import sys

import pytest
from platforms import is_required

import stagec
from stagec.backends import BACKENDS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(?:python|(?:c|cpp|js|rust|toml)(?= file=))([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_EXAMPLE_FILE = re.compile(r"<doctest (\S+)\[\d+\]>")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class ErrorText(str):
    """The text that an example shows of an error, from the error's type on."""


class Checker(doctest.OutputChecker):
    """Compares outputs as doctest does, and errors line by line.

    The first line is the error's type and headline, and must match whole. Each further line that the example shows
    must be a later line of the message, in this order; the example may leave out the other ones. The file of an example
    is called by the page's name.
    """

    def check_output(self, want, got, optionflags):
        if not isinstance(want, ErrorText):
            return super().check_output(want, got, optionflags)
        first, *later = want.splitlines()
        headline, *rest = _EXAMPLE_FILE.sub(r"\1", got).splitlines()
        lines = iter(rest)
        return self._is_same(first, headline, optionflags) and all(
            any(self._is_same(shown, line, optionflags) for line in lines) for shown in later if shown.strip() != "..."
        )

    def _is_same(self, shown, line, optionflags):
        return super().check_output(shown + "\n", line + "\n", optionflags)


def run_examples(test, clear_globs=True):
    """Run the examples of a `DocTest`; the report of those that failed, empty if none did."""
    for example in test.examples:
        if example.exc_msg is not None:
            example.exc_msg = ErrorText(example.exc_msg)
    runner = doctest.DocTestRunner(Checker(), optionflags=OPTIONS)
    report = io.StringIO()
    runner.run(test, out=report.write, clear_globs=clear_globs)
    return report.getvalue()


_MESSAGE = "add: 2 and 3\n  model.py:4 in f:  x + y\n    x  float32[2]\n  Fix: pad x"


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        (f"stagec.errors.ShapeError: {_MESSAGE}\n", True),
        ("stagec.errors.ShapeError: add: 2 and 3\n", True),
        ("stagec.errors.ShapeError: add: ... and 3\n  ...\n  Fix: pad x\n", True),
        ("stagec.errors.ShapeError: add: 2\n", False),
        ("stagec.errors.ShapeError: add: 3 and 2\n", False),
        ("stagec.errors.DtypeError: add: 2 and 3\n", False),
        ("ShapeError: add: 2 and 3\n", False),
        ("stagec.errors.ShapeError: add: 2 and 3\n  Fix: pad y\n", False),
        ("stagec.errors.ShapeError: add: 2 and 3\n  Fix: pad\n", False),
        ("stagec.errors.ShapeError: add: 2 and 3\n  Fix: pad x\n    x  float32[2]\n", False),
        ("stagec.errors.ShapeError: add: 2 and 3\n  Fix: pad x\n  Fix: pad x\n", False),
    ],
)
def test_what_an_example_shows_of_an_error_is_compared(shown, is_right):
    example = f">>> raise stagec.errors.ShapeError({_MESSAGE!r})\nTraceback (most recent call last):\n  ...\n{shown}"
    test = doctest.DocTestParser().get_doctest(example, {"stagec": stagec}, "page", "page.md", 0)
    assert (run_examples(test) == "") is is_right


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
        needed = re.findall(r"needs=([\w+-]+)", flags)
        if not all(map(is_here, needed)):
            left_out += needed
            continue
        if "file=" in flags:
            file = tmp_path / re.search(r"file=(\S+)", flags).group(1)
            monkeypatch.delitem(sys.modules, file.stem, raising=False)  # another page's
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code)
        elif ">>>" in code:
            run_session(code, namespace, page, line)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + code, str(page), "exec"), namespace)
    if left_out:
        pytest.skip(f"the examples that need {', '.join(dict.fromkeys(left_out))}; the others ran")


def is_here(name):
    """Whether this machine has a kind of device, a package, or a program."""
    if name not in BACKENDS:
        return bool(importlib.util.find_spec(name) or shutil.which(name))
    try:
        return bool(stagec.devices(name))
    except stagec.errors.DeviceError:
        return is_required(name)  # the example fails


def run_session(code, namespace, page, line):
    test = doctest.DocTestParser().get_doctest(code, namespace, page.name, str(page), line)
    report = run_examples(test, clear_globs=False)
    namespace.update(test.globs)
    assert not report, report


def module_names():
    for package in ("stagec", "passes"):
        yield package
        for found in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not found.name.endswith("__main__"):
                yield found.name


class Finder(doctest.DocTestFinder):
    """Finds the examples of functions in the modules that define them, not where they are wrapped or made."""

    def _from_module(self, module, object):
        function = inspect.unwrap(object)
        return super()._from_module(module, function) or getattr(function, "__module__", None) == module.__name__


@pytest.mark.parametrize("name", list(module_names()))
def test_the_examples_of_a_module_run(name, monkeypatch):
    if name == "stagec.compat":  # it takes the place of JAX, which other tests may have imported
        for loaded in [m for m in sys.modules if m.split(".")[0] in ("jax", "jaxlib")]:
            monkeypatch.delitem(sys.modules, loaded)
    module = importlib.import_module(name)
    report = ""
    # Checks open all devices, and some keep a core busy from then on; a page about Vulkan runs last.
    alone = name.startswith("stagec.differential")
    with stagec.config.override(platforms="cpu") if alone else contextlib.nullcontext():
        for test in Finder(exclude_empty=True).find(module, name):
            test.globs.setdefault("__name__", "__main__")
            report += run_examples(test)
    assert not report, report
