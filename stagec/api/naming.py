"""`named_scope` and `named_call`: names for parts of a program, in its locations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from stagec.core import location
from stagec.core.callables import Function, P, R
from stagec.core.wrapping import shown_name, wraps


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Prefix the locations of the operations in a block with a name. Blocks nest, and it is a decorator, too.

    The names are in the StableHLO (`jit(f).lower(x).as_text(locations=True)`), before the function's own.

    >>> import stagec
    >>> @stagec.named_scope("norm")
    ... def norm(x):
    ...     return (x * x).sum() ** 0.5
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope: the name must be a string, got {type(name).__name__}")
    before = location.ambient.scope
    location.ambient.scope = f"{before}/{name}" if before else name
    try:
        yield
    finally:
        location.ambient.scope = before


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Function[P, R]:
    """A function whose operations are under `named_scope(name)`, by default its own name."""
    chosen = name if name is not None else shown_name(fun)

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        with named_scope(chosen):
            return fun(*args, **kwargs)

    return call
