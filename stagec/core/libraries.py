"""Libraries that need not be installed."""

from __future__ import annotations

import functools
import importlib.util


@functools.cache
def has_scipy() -> bool:
    """Whether SciPy is installed. It takes long to import, so it is imported where it is first needed.

    >>> has_scipy() == has_scipy()
    True
    """
    try:
        return importlib.util.find_spec("scipy") is not None
    except ValueError:  # somebody has put None in its place, so that it cannot be imported
        return False
