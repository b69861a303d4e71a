"""Looking into running programs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from stagec.core import errors, location
from stagec.core.trace import is_tracing


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print values, formatted with `str.format`.

    Args:
      fmt: a format string, such as `"x = {x}"`.
      ordered: accepted for JAX's sake; outside `jit` printing is in order.

    Raises:
      UnsupportedError: inside a function that is being traced. Compiled
        programs cannot call back into Python yet.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.debug.print("x = {x}", x=snp.arange(3))
    x = [0 1 2]
    """
    _not_traced("debug.print")
    builtins.print(fmt.format(*args, **kwargs))


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a Python function for its side effects.

    Raises:
      UnsupportedError: inside a function that is being traced.

    >>> import stagec
    >>> seen = []
    >>> stagec.debug.callback(seen.append, 3)
    >>> seen
    [3]
    """
    _not_traced("debug.callback")
    callback(*args, **kwargs)


def _not_traced(name: str) -> None:
    if is_tracing():
        raise location.error(
            errors.UnsupportedError,
            f"{name} cannot run inside a compiled function",
            fix="return the value and print it outside, run under stagec.disable_jit(), or use print() to see "
            "shapes while tracing",
        )
