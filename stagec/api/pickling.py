"""How jitted functions are pickled: by name, as the functions that they stand for, or by value with cloudpickle."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from stagec.core import errors, location


def found_by_name(value: Any) -> bool:
    """Whether the module and the qualified name of a function lead to it, so that pickle can store these."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is value


def by_cloudpickle() -> bool:
    """Whether the pickler at work is cloudpickle's, or one that is made of it, such as joblib's.

    A `__reduce_ex__` is not told which pickler calls it. In another process `__main__` is another module, which
    cloudpickle allows for and pickle does not.
    """
    frame = sys._getframe(1)
    here = frame.f_globals["__package__"]
    while frame.f_back is not None and frame.f_globals.get("__package__") == here:
        frame = frame.f_back
    while frame.f_back is not None and frame.f_globals.get("__name__") == "pickle":
        frame = frame.f_back
    return "cloudpickle" in str(frame.f_globals.get("__name__"))


def reduced(
    jitted: Any, function: Any, make: Callable[[Any, dict[str, Any]], Any], arguments: dict[str, Any]
) -> str | tuple[Any, ...]:
    """What `__reduce__` returns for a jitted function.

    Args:
      function: what was jitted.
      make: jits a function with keyword arguments of `jit`, in the process that loads a copy by value.
      arguments: those keyword arguments.

    Raises:
      PicklingError: pickle would not find the function.
    """
    own_name = found_by_name(jitted)
    if by_cloudpickle():
        by_value = not own_name or jitted.__module__ == "__main__"
    else:
        # What is no plain function has its own way to be pickled.
        by_value = not own_name and (not isinstance(function, types.FunctionType) or found_by_name(function))
        if not own_name and not by_value:
            raise _lost(function)
    return (make, (function, arguments)) if by_value else jitted.__qualname__


def _lost(function: Any) -> pickle.PicklingError:
    name = f"{function.__module__}.{function.__qualname__}"
    if "<" in name.removeprefix("__main__"):
        why, fix = "it has no name that another process could find it by", "define it with def at the top of a module"
    else:
        why = f"{name} is something else"
        fix = (
            f"give the jitted function the name of the function: {function.__name__} = stagec.jit({function.__name__})"
        )
    return pickle.PicklingError(
        errors.message(
            f"jit of {location.of_function(function)} cannot be pickled: {why}",
            fix=f"{fix}; or pickle it by value, with cloudpickle.dumps",
        )
    )
