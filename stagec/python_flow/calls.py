"""Calls inside rewritten functions: of the user's functions, of NumPy's, of Python's own, and of libraries."""

from __future__ import annotations

import builtins
import functools
import math
import os
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec import debug, numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.operators import ArrayOperators
from stagec.primitives.convert import convert_element_type
from stagec.python_flow import parts, sequences
from stagec.python_flow.source import converted
from stagec.python_flow.values import Buffer, Value, library, unwrapped, wrapped
from stagec.runtime.array import Array as ConcreteArray

_LIBRARIES = tuple(
    os.path.join(path, "") for path in {sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")}
)
runtime: Any = None


def called(function: Any) -> Any:
    """What a call of `function` calls."""
    kind = type(function)
    owner = getattr(function, "__self__", None)
    if type(owner).__module__.startswith("numpy.random"):
        raise location.error(
            errors.UnsupportedError,
            f"numpy.random.{function.__name__} would be called while tracing, and always return the same",
            fix="pass random numbers as an argument, or use stagec.random with a key",
        )
    if kind is types.FunctionType:
        if is_users(function):
            return _converted(function)
        return library(function) if _root(function) in ("stagec", "jax") else _numpy(function)
    if kind is types.MethodType:
        inner = function.__func__
        if type(inner) is types.FunctionType and is_users(inner):
            return types.MethodType(_converted(inner), function.__self__)
        return library(function) if isinstance(function.__self__, ArrayOperators) else function
    if kind is functools.partial:
        return functools.partial(called(function.func), *function.args, **function.keywords)
    own = getattr(function, "_python_function", None)
    if own is not None:
        return called(own)
    try:
        replacement = _PYTHONS.get(function)
    except TypeError:
        return function
    if replacement is not None:
        return replacement
    if _root(type(owner)) == "numpy" or isinstance(function, np.ufunc) or _root(function) == "numpy":
        return _numpy(function)
    return library(function) if _root(kind) == "stagec" and not isinstance(function, Value) else function


def _root(function: Any) -> str:
    return str(getattr(function, "__module__", None) or "").partition(".")[0]


def is_users(function: types.FunctionType) -> bool:
    """Whether a function is the user's own, and not of stagec, of Python or of an installed package."""
    file = function.__code__.co_filename
    return not (location.is_internal(file) or file.startswith(_LIBRARIES) or "site-packages" in file)


def _converted(function: types.FunctionType) -> Any:
    flags = function.__code__.co_flags
    if function.__code__.co_name.endswith("?") or flags & 0x2A0 or getattr(function, "_stagec_rewritten", False):
        return function
    if "stagec?" in function.__code__.co_freevars:  # inside a rewritten function
        return function
    return converted(function, runtime)


def _is_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_traced, value))
    return isinstance(value, (Value, ArrayOperators))


# Constructors that the program runs, so that it holds no large constants.
_MAKE = {np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange, np.linspace, np.tri}
_MAKE |= {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
_SMALL = 64


def _numpy(function: Any) -> Callable[..., Any]:
    """A function of NumPy by the one of stagec, if it is given traced values."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _of_ufunc(owner, function.__name__)
    if isinstance(owner, np.ndarray) and not owner.dtype.hasobject:
        return getattr(wrapped(owner), function.__name__)  # type: ignore[no-any-return]
    if _root(function) != "numpy" and not isinstance(function, np.ufunc):
        return function  # type: ignore[no-any-return]

    def call(*args: Any, **kwargs: Any) -> Any:
        if function is np.copyto:
            args[0][...] = args[1]
            return None
        if not _is_traced([*args, *kwargs.values()]):
            out = function(*args, **kwargs)
            if not isinstance(out, (np.ndarray, tuple, list)):
                return out
            if function not in _MAKE or getattr(out, "size", 0) <= _SMALL:
                return wrapped(out)
        if any(isinstance(a, parts.Part) for a in args):
            return parts.called(function, args, kwargs)
        if isinstance(function, type) and issubclass(function, np.generic):
            return wrapped(snp.asarray(unwrapped(args[0])).astype(dtypes.canonicalize(np.dtype(function))))
        target = kwargs.pop("out", None)
        if isinstance(function, np.ufunc) and len(args) > function.nin:
            args, target = args[: function.nin], args[function.nin]
        out = wrapped(_replacement(function)(*unwrapped(args), **unwrapped(kwargs)))
        if target is None:
            return args[0] if function in (np.asarray, np.ascontiguousarray) and isinstance(args[0], Value) else out
        target[...] = out
        return target

    return call


def _replacement(function: Any) -> Any:
    if function is np.ndarray:
        return snp.empty
    name = function.__name__
    module = getattr(function, "__module__", None) or "numpy"
    for part in ("linalg", "fft"):
        if module.startswith(f"numpy.{part}"):
            return getattr(getattr(snp, part), name)
    return getattr(snp, name)


def _of_ufunc(ufunc: Any, method: str) -> Callable[..., Any]:
    def at(a: Any, index: Any, *values: Any) -> None:
        update = {np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.minimum: "min", np.maximum: "max"}
        name = update.get(ufunc)
        if name is None:
            what = f"numpy.{ufunc.__name__}.at is not supported"
            raise location.error(errors.UnsupportedError, what, fix="write a loop over the indices")
        given = snp.asarray(unwrapped(values[0])).astype(a.dtype)
        a.store(getattr(a.value.at[unwrapped(index)], name)(given))

    return at if method == "at" else library(getattr(getattr(snp, ufunc.__name__), method))


# Python's own functions.


def _extreme(name: str) -> Callable[..., Any]:
    plain = getattr(builtins, name)

    def extreme(*args: Any, **kwargs: Any) -> Any:
        items = args if len(args) > 1 else args[0]
        if kwargs or (len(args) == 1 and not isinstance(items, (list, tuple, Buffer))):
            return plain(*args, **kwargs)
        if isinstance(items, Buffer):
            return wrapped(getattr(items.value, name)())
        if not any(isinstance(x, (Value, ArrayOperators)) for x in items):
            return plain(items)

        def better(a: Any, b: Any) -> Any:
            a, b = unwrapped(a), unwrapped(b)
            return snp.where(b < a if name == "min" else b > a, b, a)

        return wrapped(functools.reduce(better, items))

    return extreme


def _of_value(plain: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(a, (Value, ArrayOperators)) for a in args):
            return plain(*args, **kwargs)
        return wrapped(function(*unwrapped(args), **unwrapped(kwargs)))

    return call


def _int(x: Any, *_: Any) -> Any:
    if x.size != 1:
        raise location.error(TypeError, f"int() of an array, {x.aval.long()}", fix="index it first")
    return convert_element_type(snp.trunc(x.reshape(())), dtypes.default_int(), True)


def _isinstance(value: Any, kinds: Any) -> bool:
    if not isinstance(value, Value):
        return isinstance(value, kinds)
    given = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Buffer):
        return any(k is np.ndarray or k is ConcreteArray or isinstance(value, k) for k in given)
    plain = type(np.zeros((), value.dtype).item())
    return any(
        issubclass(k, (plain, np.generic)) and isinstance(value.dtype.type(0), (k, plain))
        for k in given
        if isinstance(k, type)
    )


def _print(*args: Any, sep: str = " ", end: str = "\n", **kwargs: Any) -> None:
    if not any(isinstance(a, Value) for a in args):
        print(*args, sep=sep, end=end, **kwargs)
        return
    debug.print((sep or "").join(["{}"] * len(args)), *unwrapped(args))


def _to_float(x: Any) -> Any:
    return convert_element_type(x.reshape(()), dtypes.default_float(), True)


_PYTHONS: dict[Any, Any] = {
    range: sequences.range_,
    enumerate: sequences.enumerate_,
    zip: sequences.zip_,
    reversed: sequences.reversed_,
    min: _extreme("min"),
    max: _extreme("max"),
    sum: lambda items, start=0: (
        items.sum(axis=0) + start if isinstance(items, (Buffer, parts.Part)) else sum(items, start)
    ),
    int: _of_value(int, _int),
    float: _of_value(float, _to_float),
    bool: _of_value(bool, lambda x: x.reshape(()) != 0),
    complex: _of_value(complex, lambda *x: snp.asarray(x[0]) + 1j * (x[1] if len(x) > 1 else 0)),
    isinstance: _isinstance,
    len: lambda x: x.shape[0] if isinstance(x, parts.Part) else len(x),
    print: _print,
}
for _name, _short in {
    "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log1p": "log1p", "log2": "log2", "log10": "log10", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "hypot": "hypot", "fabs": "abs", "pow": "power", "isnan": "isnan",
    "isinf": "isinf", "isfinite": "isfinite", "copysign": "copysign", "fmod": "fmod", "degrees": "degrees",
    "radians": "radians", "gcd": "gcd", "lcm": "lcm", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}.items():  # fmt: skip
    _PYTHONS[getattr(math, _name)] = _of_value(getattr(math, _name), getattr(snp, _short))
_PYTHONS[math.log] = _of_value(math.log, lambda x, *base: snp.log(x) / snp.log(base[0]) if base else snp.log(x))


def _to_int(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: convert_element_type(function(x), dtypes.default_int(), True)


for _name in ("floor", "ceil", "trunc"):
    _PYTHONS[getattr(math, _name)] = _of_value(getattr(math, _name), _to_int(getattr(snp, _name)))
