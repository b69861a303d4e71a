"""What all tests share: one compile cache for every worker and every run."""

import os
import pathlib

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# Before stagec is imported anywhere. Entries are keyed by the sources' content, so old ones are never used.
os.environ.setdefault("STAGEC_CACHE_DIR", str(_ROOT / ".pytest_cache" / "stagec"))

import contextlib  # noqa: E402

import pytest  # noqa: E402


@pytest.fixture
def compiles():
    """A context manager that lists the programs compiled, or fetched from disk, inside it."""
    from stagec.compiler import log

    @contextlib.contextmanager
    def watch():
        made = []
        log.clear()
        yield made
        made += [r for r in log.records() if r.kind == "compile" or "disk" in r.message]

    return watch
