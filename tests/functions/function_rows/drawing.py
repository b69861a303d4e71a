"""Random arguments of functions, from one number.

A `Draw` has two generators. One decides shapes, dtypes and options; the other fills arrays. A second draw with
the same structure and other values is another row of a batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

KINDS = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32"],
    "u": ["uint8", "uint16", "uint32"],
    "h": ["float16", "bfloat16"],
    "f": ["float32"],
    "c": ["complex64"],
}
WIDE = {"i": ["int64"], "u": ["uint64"], "f": ["float64"], "c": ["complex128"]}
HALF = (np.dtype("float16"), np.dtype(ml_dtypes.bfloat16))


@dataclasses.dataclass
class Call:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        return ", ".join([*map(_text, self.args), *(f"{k}={_text(v)}" for k, v in self.kwargs.items())])


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, '{value.dtype}').reshape({value.shape})"
    return repr(value)


class Draw:
    """Random choices.

    Args:
      structure: seed of shapes, dtypes and options.
      values: seed of what is in arrays.
      wide: 64-bit dtypes are among those drawn.
      smooth: floats of 64 bits, away from infinities, for derivatives.
    """

    def __init__(self, structure: int, values: int, wide: bool = False, smooth: bool = False) -> None:
        self.rng = np.random.default_rng(structure)
        self.values = np.random.default_rng(values)
        self.wide = wide
        self.smooth = smooth
        self.edges = not smooth and self.rng.random() < 0.5

    # Structure

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def whole(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low: int = 0, high: int = 4, empty: bool = True, size: int = 4) -> tuple[int, ...]:
        none = 0.06 if empty and not self.smooth else 0.0
        rest = np.array([0.2, 0.3, 0.3, 0.2][:size])
        sizes = self.rng.choice(size + 1, self.whole(low, high), p=[none, *(rest / rest.sum() * (1 - none))])
        return tuple(sizes.tolist())

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts to another one."""
        start = self.rng.integers(0, len(shape) + 1) if self.chance(0.6) else 0
        return tuple(self.one_of(n, n, n, 1) for n in shape[start:])

    def kind(self, letters: str = "biuhfc") -> np.dtype[Any]:
        """A dtype; one of 64 bits among those of 32 where they are enabled."""
        if self.smooth and set(letters) & set("fc"):
            return np.dtype("complex128" if "f" not in letters or ("c" in letters and self.chance(0.3)) else "float64")
        letter = self.one_of(*letters)
        name = self.one_of(*KINDS[letter], *(WIDE.get(letter, []) * 2 if self.wide else []))
        return HALF[1] if name == "bfloat16" else np.dtype(name)

    def axis(self, rank: int, several: bool = False, none: bool = True) -> Any:
        if none and (not rank or self.chance(0.3)):
            return None
        if several and self.chance(0.3):
            return tuple(self.rng.permutation(rank)[: self.whole(1, rank)].tolist())
        return int(self.rng.integers(-rank, rank))

    def number(self, letters: str = "if") -> Any:
        """A Python number."""
        letter = self.one_of(*letters)
        value = self.whole(-3, 3)
        return {"b": value > 0, "i": value, "u": abs(value), "f": value / 2, "c": complex(value / 2, 1)}[letter]

    # Values

    def array(
        self,
        shape: Sequence[int] = (),
        dtype: Any = "float32",
        low: float | None = None,
        high: float | None = None,
        edges: bool | None = None,
    ) -> np.ndarray[Any, Any]:
        """Random elements, from `low` to `high` if given; else small ones, and sometimes extreme ones."""
        dtype, v = np.dtype(dtype), self.values
        if self.smooth and dtype == np.float32:
            dtype = np.dtype("float64")
        shape = tuple(shape)
        edges = (self.edges if edges is None else edges) and low is None and high is None
        if dtype.kind == "b":
            return v.random(shape) < 0.5
        if dtype.kind in "iu":
            lowest = 0 if dtype.kind == "u" else -5
            x = v.integers(lowest if low is None else int(low), 6 if high is None else int(high) + 1, shape).astype(
                dtype
            )
            ends = np.iinfo(dtype)
            return self._replace(x, [ends.min, ends.max, 0]) if edges else x
        if dtype.kind == "c":
            x = np.empty(shape, dtype)
            part = np.dtype(f"f{dtype.itemsize // 2}")
            x.real, x.imag = self.array(shape, part, low, high, edges), self.array(shape, part, low, high, edges)
            return x
        if low is not None or high is not None:
            low, high = -3.0 if low is None else low, 3.0 if high is None else high
            return np.asarray(v.uniform(low, high, shape)).astype(dtype)
        if self.smooth:
            return np.asarray(v.uniform(-2, 2, shape)).astype(dtype)
        x = np.asarray(v.normal(size=shape).round(1) * 3).astype(dtype)
        info = ml_dtypes.finfo(dtype)
        specials = [0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max), float(info.eps), 1.0, -1.0]
        return self._replace(x, specials) if edges else x

    def _replace(self, x: np.ndarray[Any, Any], specials: list[Any]) -> np.ndarray[Any, Any]:
        for _ in range(min(x.size, 1 + x.size // 6)):
            x.flat[self.values.integers(x.size)] = specials[self.values.integers(len(specials))]
        return x

    def index(self, size: int, shape: Sequence[int] = (), negative: bool = True) -> np.ndarray[Any, Any]:
        """Positions inside an axis."""
        return self.values.integers(-size if negative else 0, max(size, 1), tuple(shape)).astype(np.int32)

    def permutation(self, n: int) -> np.ndarray[Any, Any]:
        return self.values.permutation(n).astype(np.int32)


def call(*args: Any, **kwargs: Any) -> Call:
    return Call(args, kwargs)


Generator = Callable[[Draw], Call]
