"""The edge between the user's code and stagec: what leaves it shows the user's frames only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any, TypeVar

from stagec.core import missing
from stagec.core.config import config
from stagec.core.location import assists, is_internal

assists(__file__)

F = TypeVar("F", bound=Callable[..., Any])


# Called with a public function, its arguments and keywords where the function raised: returns another result, or None
# to let the exception pass.
_retry: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None


def retry_with(retry: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Set the function that is called where a public function raises."""
    global _retry
    _retry = retry


def short_tracebacks(function: F) -> F:
    """Errors that leave `function` show the user's frames only."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except Exception:
                found = None if _retry is None else _retry(function, args, kwargs)
                if found is None:
                    raise
                return found
        except BaseException as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


def hide_frames(error: BaseException) -> None:
    """Take stagec's frames out of an error's traceback. A bare `raise` after it adds none."""
    if not config.full_tracebacks:
        error.__traceback__ = user_traceback(error.__traceback__)


def user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames inside stagec."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    shown: TracebackType | None = None
    for t in reversed(kept):
        # An instruction at which a KeyboardInterrupt arrives may belong to no line.
        line = -1 if t.tb_lineno is None else t.tb_lineno
        shown = TracebackType(shown, t.tb_frame, t.tb_lasti, line)
    return shown


_published: dict[FunctionType, Any] = {}


def published(function: Any, module: str, name: str) -> Any:
    """A function as users get it: with short tracebacks, under its public name. Anything else is returned as it is.

    A function under several names is one object.
    """
    if type(function) is not FunctionType or not function.__module__.startswith("stagec."):
        return function
    if function.__code__ is _WRAPPER:
        return function
    found = _published.get(function)
    if found is None:
        found = _published[function] = short_tracebacks(function)
        # What pickles by reference is looked up there.
        found.__module__, found.__qualname__ = module, name
    return found


_WRAPPER = short_tracebacks(print).__code__


def publish(namespace: dict[str, Any], *submodules: str) -> None:
    """Publish the functions in a module's namespace, at its end, and say of other names what there is instead.

    Args:
      submodules: names of those that are imported when they are first used.
    """
    module = namespace["__name__"]
    for name in namespace.get("__all__") or list(namespace):
        if not name.startswith("_"):
            namespace[name] = published(namespace[name], module, name)
    # Not written as a function of the module: type checkers would take any name to exist.
    namespace["__getattr__"] = short_tracebacks(missing.hook(namespace, submodules))


def shorten(cls: type, names: str) -> None:
    """Give methods of a class short tracebacks."""
    for name in names.split():
        setattr(cls, name, short_tracebacks(vars(cls)[name]))
