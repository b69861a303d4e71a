"""A plugin of pytest: one case of each parametrized test, in a mixed order, and no further test after a time.

`ECOSYSTEM_ALL_CASES` keeps all cases; `ECOSYSTEM_SECONDS` is the time. The order is the same in each run, and mixed so
that the tests that ran until the time was over are a sample of all.
"""

from __future__ import annotations

import inspect
import os
import time
import zlib

import pytest


@pytest.hookimpl(trylast=True)  # after pytest's -k
def pytest_collection_modifyitems(config, items):
    """Keep the first case of each test: of pytest's parameters, and of the methods that Abseil makes of one."""
    items.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
    if os.environ.get("ECOSYSTEM_ALL_CASES"):
        return
    first = {}
    for item in items:
        function = inspect.unwrap(getattr(item, "obj", item))
        code = getattr(getattr(function, "__func__", function), "__code__", item)
        first.setdefault((item.path, getattr(item, "cls", None), code), item)
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_sessionstart(session):
    session.ends = time.monotonic() + float(os.environ.get("ECOSYSTEM_SECONDS", "inf"))


def pytest_runtest_teardown(item):
    if time.monotonic() > item.session.ends:
        item.session.shouldstop = "the time for this library is over"
