"""Tables that no one chose: each contraction of two arrays, and each operation along each axis, of each dtype."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.case import Call, Case
from tests.benchmarks.libraries import Library

GROUPS = ("contractions", "axes")
_DTYPES = ("float32", "float64", "complex64", "bfloat16", "float16", "int32", "int8")
# Elements along each axis, by how many different axes a contraction has.
_SIZES = {1: 200_000, 2: 600, 3: 90, 4: 40, 5: 18, 6: 12}
_SHAPES = ((64, 64, 64), (3, 1000, 100), (1000, 100, 3), (100, 3, 1000), (7, 11, 3001))


def _numbers(lib: Library, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "float64":
        lib.doubles()
    rng = np.random.default_rng(len(shape))
    found = np.round(rng.standard_normal(shape) * 3)
    return lib.array(found + 1j * rng.permutation(found) if dtype == "complex64" else found).astype(dtype)


def forms() -> list[str]:
    """Einsums of two arrays of up to three axes, those that differ in the names of axes left out."""
    return sorted(set(_forms()))


def _forms() -> Iterator[str]:
    for left, rank in itertools.product(("a", "ab", "abc"), (1, 2, 3)):
        for count in range(min(len(left), rank) + 1):
            for shared in itertools.combinations(left, count):
                new = "xyz"[: rank - count]
                for right in itertools.permutations((*shared, *new)):
                    if "".join(c for c in right if c in new) != new:
                        continue
                    for summed in itertools.chain.from_iterable(
                        itertools.combinations(shared, n) for n in range(count + 1)
                    ):
                        kept = [c for c in left if c not in summed]
                        if len(kept) + len(new) <= 4:
                            yield f"{left},{''.join(right)}->{''.join(kept)}{new}"


def _contraction(form: str, dtype: str, lib: Library, tiny: bool) -> Call:
    left, right = form.partition("->")[0].split(",")
    size = 3 if tiny else _SIZES[len({*left, *right})]
    x, y = (_numbers(lib, (size,) * len(names), dtype) for names in (left, right))
    jitted = lib.jit(lambda x, y: lib.np.einsum(form, x, y))
    return lambda: lib.wait(jitted(x, y))


_NAMES = """
all any argmax argmin argsort cumprod cumsum diff flip max mean median nansum prod ptp sort std sum var
""".split()
_ALONG: dict[str, Callable[[Library, Any, int], Any]] = {
    **{name: lambda lib, x, axis, name=name: getattr(lib.np, name)(x, axis=axis) for name in _NAMES},
    "concatenate": lambda lib, x, axis: lib.np.concatenate([x, x], axis),
    "gradient of a sum of squares": lambda lib, x, axis: _gradient(lib, lambda x: (x.sum(axis) ** 2).sum(), x),
    "gradient of max": lambda lib, x, axis: _gradient(lib, lambda x: x.max(axis).sum(), x),
    "half of it reversed": lambda lib, x, axis: lib.np.take(x, lib.np.arange(0, x.shape[axis], 2)[::-1], axis=axis),
    "isin": lambda lib, x, axis: (lib.np.moveaxis(x, axis, -1)[..., None] == lib.np.arange(9).astype(x.dtype)).any(-1),
    "less the largest": lambda lib, x, axis: x - x.max(axis, keepdims=True),
    "moved to the front": lambda lib, x, axis: lib.np.moveaxis(x, axis, 0) + x,
    "normalized": lambda lib, x, axis: (x - x.mean(axis, keepdims=True)) / lib.np.sqrt(x.var(axis, keepdims=True) + 1),
    "pad": lambda lib, x, axis: lib.np.pad(x, [(2, 1) if d == axis else (0, 0) for d in range(3)]),
    "repeat": lambda lib, x, axis: lib.np.repeat(x, 2, axis),
    "roll": lambda lib, x, axis: lib.np.roll(x, 5, axis),
    "softmax": lambda lib, x, axis: importlib.import_module(lib.name).nn.softmax(x, axis),
    "stack": lambda lib, x, axis: lib.np.stack([x, x], axis),
}
_FLOATING = ("gradient of a sum of squares", "gradient of max", "normalized", "softmax")
_WITHOUT_ORDER = {
    "all",
    "any",
    "concatenate",
    "cumprod",
    "cumsum",
    "diff",
    "flip",
    "mean",
    "pad",
    "prod",
    "repeat",
    "roll",
}


def _gradient(lib: Library, f: Callable[[Any], Any], x: Any) -> Any:
    return importlib.import_module(lib.name).grad(f)(x)


def _along(name: str, shape: tuple[int, ...], axis: int, dtype: str, lib: Library, tiny: bool) -> Call:
    x = _numbers(lib, tuple(min(size, 4) for size in shape) if tiny else shape, dtype)
    jitted = lib.jit(lambda x: _ALONG[name](lib, x, axis))
    return lambda: lib.wait(jitted(x))


def _takes(name: str, dtype: str) -> bool:
    if dtype == "complex64":
        return name in _WITHOUT_ORDER
    return name not in _FLOATING or "float" in dtype


_OTHERS = ("jax", "stagec")
CONTRACTIONS = [
    Case("contractions", f"{dtype} {form}", partial(_contraction, form, dtype), None, _OTHERS)
    for dtype in _DTYPES
    for form in forms()
]
AXES = [
    Case("axes", f"{dtype} {name} {shape} axis {axis}", partial(_along, name, shape, axis, dtype), None, _OTHERS)
    for dtype in _DTYPES
    for name in sorted(_ALONG)
    if _takes(name, dtype)
    for shape in _SHAPES
    for axis in range(3)
]
