"""`functools.wraps` for what users pass, which may be an object with a state of its own, and the names of functions."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

from stagec.core.callables import Function, P, R
from stagec.core.location import is_internal

# The attribute of functions that transformations make.
_SHOWN = "_stagec_shown_name"


def wraps(function: Callable[P, R], transformation: str = "") -> Callable[[Callable[..., Any]], Function[P, R]]:
    """`functools.wraps`, which copies the public attributes alone of what is no plain function.

    A jitted function keeps its loaded programs in private ones: they belong to it, and cannot be pickled.

    Args:
      transformation: what is done to the function, if it becomes another one: `shown_name` then has its name, too.
        The attribute `__name__` stays that of the function, as in JAX.

    >>> wraps(len)(lambda x: 0).__name__
    'len'
    """

    def decorate(wrapper: Any) -> Any:
        update_wrapper(wrapper, function, private=isinstance(function, types.FunctionType))
        if transformation:
            vars(wrapper)[_SHOWN] = f"{transformation}({shown_name(function)})"
        return wrapper

    return decorate


def update_wrapper(wrapper: Any, function: Any, private: bool = True) -> None:
    """`functools.update_wrapper`, for objects whose `__name__` is no text, too."""
    for name in functools.WRAPPER_ASSIGNMENTS:
        with contextlib.suppress(AttributeError, TypeError):
            setattr(wrapper, name, getattr(function, name))
    state = getattr(function, "__dict__", {})
    vars(wrapper).update({n: v for n, v in state.items() if private or not n.startswith("_")}, __wrapped__=function)


def shown_name(function: Any) -> str:
    """What messages, tables and programs call a function.

    >>> import stagec
    >>> shown_name(stagec.grad(abs))
    'grad(abs)'
    """
    code = getattr(function, "__code__", None)
    # A user's wrapper around a gradient may have its attributes, and is another function.
    if code is None or is_internal(code.co_filename):
        shown: str = getattr(function, _SHOWN, "")
        if shown:
            return shown
    if isinstance(function, functools.partial):
        return shown_name(function.func)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name else type(function).__name__
