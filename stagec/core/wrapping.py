"""`functools.wraps` for what users pass, which may be an object with a state of its own."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from stagec.core.callables import Function, P, R


def wraps(function: Callable[P, R]) -> Callable[[Callable[..., Any]], Function[P, R]]:
    """`functools.wraps`, which copies the public attributes alone of what is no plain function.

    A jitted function keeps its loaded programs in private ones: they belong to it, and cannot be pickled.

    >>> wraps(len)(lambda x: 0).__name__
    'len'
    """

    def decorate(wrapper: Any) -> Any:
        functools.update_wrapper(wrapper, function, updated=())
        plain = isinstance(function, types.FunctionType)
        state = getattr(function, "__dict__", {})
        vars(wrapper).update({name: v for name, v in state.items() if plain or not name.startswith("_")})
        vars(wrapper)["__wrapped__"] = function
        return wrapper

    return decorate
