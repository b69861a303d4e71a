"""The functions that users pass to others: whether they are functions, and whether they take their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stagec.core import errors, location


class Role(NamedTuple):
    """What a function is passed as (`fori_loop: body_fun`), and what it is called with."""

    name: str
    parameters: Sequence[str]


def check_callable(name: str, example: str, *functions: Any) -> None:
    """Raise `ArgumentTypeError` unless all are functions; `example` is a valid call."""
    for f in functions:
        if not callable(f):
            raise location.error(
                errors.ArgumentTypeError,
                f"{name} takes {'functions' if len(functions) > 1 else 'a function'}, got {type(f).__name__}",
                fix=f"pass the function itself, as in {example}, not its result",
            )


def call(function: Callable[..., Any], args: Sequence[Any], role: Role) -> Any:
    """`function(*args)`.

    Raises:
      ArgumentTypeError: it does not take that many arguments.
    """
    try:
        return function(*args)
    except TypeError as error:
        # Raised by the call itself: by a frame inside it, it is the function's own error.
        entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        taken = None if entered else _refusing(function, len(args))
        if taken is None:
            raise
        count = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise location.error(
            errors.ArgumentTypeError,
            f"{role.name}, {location.of_function(function)}, does not take {count}",
            [("takes", taken, ""), ("called with", f"({', '.join(role.parameters)})", "")],
            f"define it as a function of {', '.join(role.parameters)}"
            if role.parameters
            else "pass its arguments after the functions",
        ) from None


def _refusing(function: Callable[..., Any], count: int) -> str | None:
    """The parameters of a function that does not take `count` arguments by position; None if it does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*range(count))
    except TypeError:
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        return str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return None
