"""Functions and classes that JAX has and stagec has not: they can be looked up, and calling them is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from stagec.core import errors, location


def refused(name: str, why: str, fix: str) -> Callable[..., NoReturn]:
    """A function that only raises `UnsupportedError`."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise location.error(errors.UnsupportedError, f"{name}: {why}", fix=fix)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises `UnsupportedError`: {why}."
    return function


class Absent:
    """A class of JAX without instances, for annotations and `isinstance`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise location.error(
            errors.UnsupportedError, f"stagec has no {type(self).__name__}", fix="leave it out; the compiler chooses"
        )
