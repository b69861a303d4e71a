"""Arguments on which every primitive is checked, in one list for each family of rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [BFLOAT16, np.dtype("float16"), np.dtype("float32"), np.dtype("float64")]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]
SIGNED = [np.dtype(f"int{n}") for n in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{n}") for n in (8, 16, 32, 64)]
INTEGERS = SIGNED + UNSIGNED
BOOL = np.dtype(bool)
ALL = [BOOL, *INTEGERS, *FLOATS, *COMPLEX]


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of a primitive.

    Attributes:
      name: of the primitive.
      args: arrays of the dtypes that the row accepts; 64-bit ones are kept.
      params: its parameters, canonical.
      ulps: how far the compiled result may be from the evaluated one, in units
        in the last place of the result's dtype; 0 asks for equal bits, NaN
        and the sign of zero apart. Half precision does not ask it: see
        `comparison`.
      atol: an absolute difference that is accepted as well, beyond half precision.
      compiled: why the row cannot be compiled, where it cannot.
    """

    name: str
    args: list[Any]
    params: dict[str, Any] = dataclasses.field(default_factory=dict)
    ulps: float = 0
    atol: float = 0.0
    compiled: str = ""

    def __str__(self) -> str:
        shapes = ",".join(f"{np.asarray(a).dtype.name}{list(np.shape(a))}" for a in self.args)
        return f"{self.name}({shapes})" + (f"[{self.params}]" if self.params else "")


def rng(seed: int = 0) -> np.random.Generator:
    """The generator that cases draw from."""
    return np.random.default_rng(seed)


def sample(shape: tuple[int, ...], dtype: Any, seed: int = 0, low: float = -3.0, high: float = 3.0) -> Any:
    """Values of a dtype, spread between `low` and `high` where it has them."""
    dtype = np.dtype(dtype)
    generator = rng(seed)
    if dtype == BOOL:
        return generator.random(shape) < 0.5
    if dtype.kind in "iu":
        floor = max(0 if dtype.kind == "u" else low, np.iinfo(dtype).min)
        return generator.integers(int(floor), max(int(high), int(floor) + 1), shape, endpoint=True).astype(dtype)
    if dtype.kind == "c":
        parts = generator.uniform(low, high, (2, *shape))
        return (parts[0] + 1j * parts[1]).astype(dtype)
    return generator.uniform(low, high, shape).astype(dtype)


def edges(dtype: Any) -> Any:
    """The values of a dtype where mistakes hide: zeros, ones, limits, infinities, NaN."""
    dtype = np.dtype(dtype)
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min]
        return np.array(values + ([-1, -2, -7] if dtype.kind == "i" else [5, 6, 8]), dtype)
    if dtype.kind == "c":
        return np.array([0, 1, -1, 1j, -1j, 2 + 3j, -2.5 + 0.5j, 0.25 - 4j], dtype)
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.25, np.inf, -np.inf, np.nan]
    return np.array([*values, float(info.max), float(info.min), float(info.tiny)]).astype(dtype)


def pairs(values: Any, others: Any = None) -> list[Any]:
    """Every value beside every other, as two flat arrays."""
    others = values if others is None else others
    x, y = np.meshgrid(values, others)
    return [x.ravel(), y.ravel()]
