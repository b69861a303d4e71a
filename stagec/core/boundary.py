"""The edge between the user's code and stagec: what leaves it shows the user's frames only."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any, TypeVar

from stagec.core import errors, location, missing
from stagec.core.config import config
from stagec.core.exports import exported
from stagec.core.location import assists, is_internal

assists(__file__)

F = TypeVar("F", bound=Callable[..., Any])


def short_tracebacks(function: F, explains: bool = False) -> F:
    """Errors that leave `function` show the user's frames only.

    Args:
      explains: whether what Python raises about its arguments becomes an error that names it and the user's line.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                # Not by `call`, which would be a cycle, and keep what it refers to, such as the arrays of a `vjp`.
                about_arguments = _explained(error, _published[function]) if explains else None  # type: ignore[index]
                if about_arguments is None:
                    raise
                raise about_arguments from error
        except BaseException as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


# What Python and NumPy raise about a value in the middle of a computation.
_UNEXPLAINED = {
    TypeError: errors.ArgumentTypeError,
    **dict.fromkeys((ValueError, KeyError, IndexError, ZeroDivisionError, StopIteration), errors.ArgumentValueError),
}


# What Python says of a call whose arguments do not fit a function's parameters, the user's own function's too.
_BINDING = re.compile(r"\S+\(\) (?:takes|missing|got) ")


def _explained(error: Exception, function: Any) -> Exception | None:
    """An error about the arguments of a public function, in place of one that Python or NumPy raised inside it.

    None if the error explains itself, or the user's own code raised it.
    """
    kind = _UNEXPLAINED.get(type(error))
    if kind is None or "\n  Fix: " in str(error) or _BINDING.match(str(error)):
        return None
    inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
    if inside is None:
        return None
    while inside is not None:
        if not location.is_hidden(inside.tb_frame.f_code.co_filename):
            return None
        inside = inside.tb_next
    if _is_step():
        return None
    module, name = function.__module__, function.__qualname__
    parameters = ", ".join(inspect.signature(function).parameters)
    what = f"{name}: {type(error).__name__}: {error}" if str(error) else f"{name}: {type(error).__name__}"
    fix = f"compare the arguments with help({module}.{name}): ({parameters}); if they fit, it is a fault of stagec"
    return location.error(kind, what, fix=fix)


def _is_step() -> bool:
    """Whether the public function that raised is a step of another one, which explains its error."""
    frame = sys._getframe(2).f_back
    while frame is not None and location.is_hidden(frame.f_code.co_filename):
        if frame.f_code is _WRAPPER and frame.f_locals["explains"]:
            return True
        frame = frame.f_back
    return False


def hide_frames(error: BaseException) -> None:
    """Take stagec's frames out of an error's traceback. A bare `raise` after it adds none.

    In Python 3.10 that raises with the traceback that was caught, so the caller's own frame stays.
    """
    caught = error.__traceback__
    if config.full_tracebacks or caught is None:
        return
    if sys.version_info < (3, 11):
        caught.tb_next = user_traceback(caught.tb_next)
    else:
        error.__traceback__ = user_traceback(caught)


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
        found = _published[function] = short_tracebacks(function, explains=True)
        # What pickles by reference is looked up there.
        found.__module__, found.__qualname__ = module, name
    return found


_WRAPPER = short_tracebacks(print).__code__


def publish(namespace: dict[str, Any], *submodules: str) -> None:
    """Publish the functions in a module's namespace, at its end, and say of other names what there is instead.

    `dir()` shows what users may use.

    Args:
      submodules: names of those that are imported when they are first used, or of others that belong to the module.
    """
    module = namespace["__name__"]
    for name in namespace.get("__all__") or list(namespace):
        if not name.startswith("_"):
            namespace[name] = published(namespace[name], module, name)
    # Not written as a function of the module: type checkers would take any name to exist.
    namespace["__getattr__"] = short_tracebacks(missing.hook(namespace, submodules))
    namespace["__dir__"] = functools.partial(exported, namespace, *submodules)


def shorten(cls: type, names: str) -> None:
    """Give methods of a class short tracebacks."""
    for name in names.split():
        setattr(cls, name, short_tracebacks(vars(cls)[name]))
