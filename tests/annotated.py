"""What the tests of annotations share: the public functions, and whether a value is of a type."""

import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable

import stagec
from stagec.core.callables import Function

MODULES = (
    "stagec flatten_util image lax lax.linalg nn nn.initializers numpy numpy.fft numpy.linalg ops random tree "
    "tree_util scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage scipy.signal "
    "scipy.special scipy.stats scipy.optimize scipy.sparse.linalg ad_checkpoint custom_batching custom_derivatives "
    "debug dtypes"
).split()


def modules():
    """Name and module of each public module that holds functions."""
    for name in MODULES:
        yield name, stagec if name == "stagec" else importlib.import_module(f"stagec.{name}")
    import stagec.scipy.stats as stats

    for found in pkgutil.iter_modules(stats.__path__):
        if hasattr(stats, "__all__") and found.name not in stats.__all__:
            continue
        if found.name not in ("distribution", "standard", "summaries"):
            yield f"scipy.stats.{found.name}", importlib.import_module(f"stagec.scipy.stats.{found.name}")


def functions():
    """Each public function, by the name of a module and its own, once where it has several."""
    seen = {}
    for module_name, module in modules():
        for name in dir(module):
            function = inspect.unwrap(value) if callable(value := getattr(module, name)) else None
            if isinstance(function, types.FunctionType) and not name.startswith("_"):
                seen.setdefault(function, f"{module_name}.{name}")
    return {name: function for function, name in seen.items()}


def overloads(function):
    """The signatures of a function that has several, where Python keeps them (3.11 and later)."""
    known = getattr(typing, "get_overloads", lambda function: [])
    return known(function)


def fits(value, kind):
    """Whether a value is of a type, as far as one can tell."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any or isinstance(kind, (typing.TypeVar, str)):
        return True
    if kind is None or kind is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return value in parts
    if origin is tuple and isinstance(value, tuple):
        if parts[-1:] == (...,):
            return all(fits(v, parts[0]) for v in value)
        return len(value) == len(parts) and all(fits(v, part) for v, part in zip(value, parts))
    if origin is list and isinstance(value, list):
        return all(fits(v, parts[0]) for v in value)
    if origin is dict and isinstance(value, dict):
        return all(fits(v, parts[1]) for v in value.values())
    if origin in (Callable, Function) or getattr(kind, "_is_protocol", False):
        return callable(value)
    if kind is float:
        return isinstance(value, (int, float))
    return isinstance(value, origin or kind)
