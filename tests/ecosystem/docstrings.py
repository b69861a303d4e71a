"""A plugin of pytest: the examples in docstrings, as tests, read from the source without an import of its modules.

So they run with whatever `import jax` means. Each docstring is a test, which has the names that JAX's own run of its
examples defines. Numbers may differ in what rounding changes, and arrays in how they are aligned. Where an exception is
expected, one of a subclass will do.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import doctest
import math
import re
import textwrap

import pytest
from _pytest.doctest import DoctestItem, _get_runner, get_optionflags

_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NUMBER = re.compile(r"(?:[+-]|(?<![\w.]))\d+\.?\d*(?:e[+-]?\d+)?(?=j|\W|$)")


def _close(want, got):
    """Whether two numbers are the same, but for rounding and for the digits that are not written."""
    _, _, digits = want.partition("e")[0].partition(".")
    written = 10.0 ** -len(digits) * 10.0 ** int(want.partition("e")[2] or 0) if "." in want and digits else 0.0
    return math.isclose(float(want), float(got), rel_tol=1e-5, abs_tol=max(1e-6, written))


class Checker(doctest.OutputChecker):
    """Compares text but for spaces, and numbers by their values."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        texts = [re.sub(r"\s+", "", _NUMBER.sub("0", text)) for text in (want, got)]
        numbers = [_NUMBER.findall(text) for text in (want, got)]
        same = texts[0] == texts[1] and len(numbers[0]) == len(numbers[1])
        # Of whole numbers, every digit counts.
        return same and all(w == g or ("." in w + g and _close(w, g)) for w, g in zip(*numbers))


@contextlib.contextmanager
def _raises(name):
    """A block that has to raise an exception of a class of Python's or of `jax.errors`."""
    import jax

    with pytest.raises(getattr(builtins, name, None) or getattr(jax.errors, name)):
        yield


def _examples(found):
    """The examples, those that raise in a block that says what."""
    for example in found.examples:
        if example.exc_msg is not None:
            name = example.exc_msg.partition(":")[0].strip().rpartition(".")[2]
            source = f"with _raises({name!r}):\n{textwrap.indent(example.source, ' ')}"
            example = doctest.Example(source, "", None, example.lineno, example.indent, example.options)
        yield example


def _docstrings(node, name=""):
    """Each docstring below a node, with the line that it begins at and the name of what it describes."""
    text = ast.get_docstring(node, clean=False)
    if text is not None:
        yield name or "module", text, node.body[0].lineno - 1
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _DOCUMENTED):
            yield from _docstrings(child, f"{name}.{child.name}" if name else child.name)


class File(pytest.File):
    def collect(self):
        runner = _get_runner(checker=Checker(), optionflags=get_optionflags(self.config))
        for name, text, line in _docstrings(ast.parse(self.path.read_text("utf-8"))):
            found = doctest.DocTestParser().get_doctest(text, {"_raises": _raises}, name, str(self.path), line)
            if found.examples:
                found.examples = list(_examples(found))
                yield DoctestItem.from_parent(self, name=name, runner=runner, dtest=found)


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".py" and ">>> " in file_path.read_text("utf-8"):
        return File.from_parent(parent, path=file_path)


def pytest_collect_directory(path, parent):
    """Folders that are no packages, whose `__init__` would be imported."""
    return pytest.Dir.from_parent(parent, path=path)


@pytest.fixture(autouse=True)
def _names(doctest_namespace):
    import jax
    import numpy

    doctest_namespace.update(jax=jax, lax=jax.lax, jnp=jax.numpy, np=numpy)
