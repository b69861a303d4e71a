"""`jax.extend.linear_util`: functions under transformations that generators describe."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping
from typing import Any

from stagec.core.wrapping import shown_name

# Yields the inner function's arguments and keywords, gets its result, and yields the outer one's.
Transformation = Callable[..., Generator[Any, Any, None]]


class WrappedFun:
    """A function, which `call_wrapped` calls with the transformations around it."""

    def __init__(self, f: Callable[..., Any], call: Callable[..., Any] | None = None, debug_info: Any = None) -> None:
        self.f = f
        self.call_wrapped = call or f
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return shown_name(self.f)

    def within(self, call: Callable[..., Any]) -> WrappedFun:
        """The function with one more transformation: what `call` does with its arguments."""
        return WrappedFun(self.f, call, self.debug_info)


def wrap_init(f: Callable[..., Any], params: Mapping[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without transformations.

    Args:
      params: keywords of every call.
    """
    return WrappedFun(f, functools.partial(f, **params) if params else f, debug_info)


def transformation(gen: Transformation, *rest: Any) -> Any:
    """A function under one more transformation.

    Args:
      gen: takes the static arguments and those of the outer function. As a decorator, `transformation` takes it alone.
      rest: the function, and static arguments.

    >>> @transformation
    ... def doubled(times, x):
    ...     y = yield (times * x,), {}
    ...     yield 2 * y
    >>> doubled(wrap_init(lambda x: x + 1), 10).call_wrapped(3)
    62
    """
    if not rest:
        return functools.partial(transformation, gen)
    fun, *static = rest

    def call(*args: Any, **kwargs: Any) -> Any:
        steps = gen(*static, *args, **kwargs)
        given, named = next(steps)
        return steps.send(fun.call_wrapped(*given, **named))

    return fun.within(call)


def transformation_with_aux(gen: Transformation, *rest: Any) -> Any:
    """As `transformation`, for generators that yield a pair of the result and something else.

    Returns:
      The function, and one without arguments that returns the other thing, after a call.
    """
    if not rest:
        return functools.partial(transformation_with_aux, gen)
    inner = transformation(gen, *rest)
    found: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        result, aux = inner.call_wrapped(*args, **kwargs)
        found[:] = [aux]
        return result

    return inner.within(call), lambda: found[0]


def transformation2(function: Callable[..., Any], *rest: Any) -> Any:
    """As `transformation`, for a function whose first argument is the inner one."""
    if not rest:
        return functools.partial(transformation2, function)
    fun, *static = rest
    return fun.within(functools.partial(function, fun.call_wrapped, *static))
