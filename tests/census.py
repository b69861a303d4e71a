"""Counts which laws of the passes fire while tests run: `python -m tests.census [argument of pytest ...]`.

By default these are the tests that compile real programs: the examples, the documentation, modules that JAX exported,
and random calls of the public functions. Programs of other processes are not counted. A law that fires nowhere should
go, or its docstring should say what it is for.
"""

import collections
import sys
from pathlib import Path

import pytest

from passes import patterns

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests/passes"))  # the modules of tests are not a package

from law_examples import ALL  # noqa: E402

PROGRAMS = ("test_examples.py", "test_docs.py", "foreign/test_modules_of_jax.py", "functions/test_random_calls.py")


def census(arguments):
    """How often each law fires in the tests of these arguments of pytest, by its name."""
    hits, applied = collections.Counter(), patterns._applied

    def counted(module, laws, unmatched):
        found = applied(module, laws, unmatched)
        hits.update(found)
        return found

    patterns._applied = counted
    try:
        pytest.main(["-q", "-p", "no:cacheprovider", *arguments])
    finally:
        patterns._applied = applied
    return hits


def report(hits):
    """Lines of text: the laws that fire, most often first, then those that never do."""
    names = dict.fromkeys(law.name for law in ALL)
    fired = [f"{count:8} {name}" for name, count in hits.most_common() if name in names]
    return [*fired, f"{len(names) - len(fired)} of {len(names)} laws never fire:", *(n for n in names if not hits[n])]


if __name__ == "__main__":
    found = census(sys.argv[1:] or [str(ROOT / "tests" / name) for name in PROGRAMS])
    print("\n".join(report(found)))
