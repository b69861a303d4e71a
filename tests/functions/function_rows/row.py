"""What a row of the table says, and families of rows that are alike."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import stagec.numpy as snp
from function_rows.drawing import HALF, Call, Draw, Generator, call
from stagec.core import dtypes

Oracle = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Row:
    """A public function, its arguments, and what computes the same.

    Args:
      name: the function, below `stagec`.
      draw: makes the arguments of a call. NumPy's arrays among them become arrays; all else is static.
      oracle: the function that has the same values; None for JAX's of the same name.
      derivative: "compared" with differences, "refused" with an error, or the reason why it is another one.
      fixed: positions of arguments by which derivatives are not compared: they are whole, or refused.
      loose: factor of the tolerances.
      scaled: absolute tolerances grow with the largest element, as rounding errors of sums do.
      zeros: whether signs of zeros are compared.
      concrete: values decide shapes, so the function is not traced.
      batched: whether `vmap` of it is a loop.
      static: the result is Python's and known while tracing, or depends on shapes only.
      costly: most compiles are for hunts, as they take longer than all else.
      invariant: what is compared in place of the results, where those are not unique.
      like_jax: whether dtypes are those of JAX's function of the same name.
      note: where the meaning is deliberately not the oracle's.
    """

    name: str
    draw: Generator
    oracle: Oracle | None = None
    derivative: str = "compared"
    fixed: tuple[int, ...] = ()
    loose: float = 1.0
    scaled: bool = False
    zeros: bool = False
    concrete: bool = False
    batched: bool = True
    static: bool = False
    costly: bool = False
    invariant: Callable[..., Any] | None = None
    like_jax: bool = True
    note: str = ""

    def function(self, library: str = "stagec") -> Callable[..., Any]:
        """The function of stagec, or of another library with the same modules."""
        return found(f"{library}.{self.name}")


def found(path: str) -> Any:
    """What a dotted path names."""
    first, *parts = path.split(".")
    value, so_far = importlib.import_module(first), first
    for part in parts:
        so_far = f"{so_far}.{part}"
        # A module of the same name must not stand in for a function.
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(so_far)
    return value


def raised(x: Any) -> Any:
    """Halves as float32: NumPy rounds after each step what is computed in one."""
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype in HALF else x


def plain(function: Oracle) -> Oracle:
    return lambda *args, **kwargs: function(*(map_arrays(raised, args)), **map_arrays(raised, kwargs))


def promoted(function: Oracle, inexact: bool = False) -> Oracle:
    """NumPy's function after JAX's promotion of dtypes."""

    def run(*args: Any, **kwargs: Any) -> Any:
        common = snp.result_type(*args)
        if inexact:
            common = dtypes.to_inexact(common)
        return function(*(raised(np.asarray(a, common)) for a in args), **kwargs)

    return run


def map_arrays(f: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return f(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map_arrays(f, v) for v in value)
    if isinstance(value, dict):
        return {k: map_arrays(f, v) for k, v in value.items()}
    return value


def unary(
    module: str,
    names: str,
    kinds: str = "biuhfc",
    low: float | None = None,
    high: float | None = None,
    inexact: bool = False,
    oracle: Any = np,
    **options: Any,
) -> Iterator[Row]:
    """Functions of one array's elements."""

    def draw(s: Draw) -> Call:
        if s.chance(0.1) and not s.smooth and module == "numpy":
            return call(s.number("if" if "i" in kinds else "f"))
        bounds = (low, high) if s.smooth or (low is not None and s.chance(0.5)) else (None, None)
        return call(s.array(s.shape(), s.kind(kinds), *bounds))

    for name in names.split():
        same = getattr(oracle, name, None) if oracle is not None else None
        yield Row(f"{module}.{name}", draw, same and promoted(same, inexact), **{"zeros": name != "sign", **options})


def binary(
    module: str,
    names: str,
    kinds: str = "biuhfc",
    low: float | None = None,
    high: float | None = None,
    inexact: bool = False,
    mixed: bool = True,
    oracle: Any = np,
    **options: Any,
) -> Iterator[Row]:
    """Functions of two arrays' elements, which broadcast."""

    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind(kinds)
        other = s.kind(kinds) if mixed and not s.smooth and s.chance(0.5) else kind
        bounds = (low, high) if s.smooth or (low is not None and s.chance(0.5)) else (None, None)
        pair = [s.array(shape, kind, *bounds), s.array(s.broadcast(shape) if mixed else shape, other, *bounds)]
        if mixed and s.chance(0.15):
            # A negative number and an unsigned array are refused.
            pair[1] = 1.25 if low is not None else s.number("u" if kind.kind == "u" else "if")
        return call(*(pair if s.chance(0.5) else pair[::-1]))

    for name in names.split():
        same = getattr(oracle, name, None) if oracle is not None else None
        yield Row(f"{module}.{name}", draw, same and promoted(same, inexact), **{"zeros": name != "sign", **options})
