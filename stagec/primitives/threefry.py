"""The block cipher of `stagec.random`: Threefry-2x32 with 20 rounds.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MultiplePrimitive
from stagec.primitives.checks import check_dtype, elementwise_shape
from stagec.primitives.table import batch_elementwise_results, spread

# How far each of four rounds rotates the second word; the two rows take turns.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF
# Up to so many blocks, Python's integers are faster than arrays.
_FEW = 12
# Elements evaluated at a time: the eight temporary arrays of 32 KiB stay in a core's own cache.
_BLOCK = 1 << 13


def _threefry_shape(*avals: ShapedArray) -> list[ShapedArray]:
    for aval in avals:
        check_dtype("threefry2x32", aval.dtype, frozenset({dtypes.uint32}))
    return [ShapedArray.of(elementwise_shape("threefry2x32", avals), dtypes.uint32)] * 2


def _threefry_eval(*words: Any) -> list[Any]:
    every = np.broadcast(*words)
    if every.size <= _FEW:
        pairs = np.array([_encrypted(*map(int, row)) for row in every], np.uint32).reshape(every.size, 2)
        return [pairs[:, i].reshape(every.shape) for i in (0, 1)]
    columns = [np.reshape(w, -1) for w in words]
    out = [np.empty(every.size, np.uint32) for _ in (0, 1)]
    for start in range(0, out[0].size, _BLOCK):
        part = slice(start, start + _BLOCK)
        key1, key2, x0, x1 = (c if c.size == 1 and out[0].size != 1 else c[part] for c in columns)
        a, b = out[0][part], out[1][part]
        a[...], b[...] = x0, x1
        _encrypt(key1, key2, a, b)
    return [o.reshape(every.shape) for o in out]


def _encrypted(key1: int, key2: int, a: int, b: int) -> tuple[int, int]:
    """The encrypted block `(a, b)`, of Python's integers."""
    keys = (key1, key2, key1 ^ key2 ^ _PARITY)
    a, b = (a + key1) & _WORD, (b + key2) & _WORD
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            a = (a + b) & _WORD
            b = (b << distance & _WORD | b >> (32 - distance)) ^ a
        a = (a + keys[(group + 1) % 3]) & _WORD
        b = (b + keys[(group + 2) % 3] + group + 1) & _WORD
    return a, b


def _encrypt(key1: Any, key2: Any, a: Any, b: Any) -> None:
    """Encrypt the block `(a, b)` in place."""
    keys = (key1, key2, key1 ^ key2 ^ np.uint32(_PARITY))
    high = np.empty_like(b)
    a += keys[0]
    b += keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            a += b
            np.right_shift(b, np.uint32(32 - distance), out=high)
            np.left_shift(b, np.uint32(distance), out=b)
            b |= high
            b ^= a
        a += keys[(group + 1) % 3]
        b += keys[(group + 2) % 3]
        b += np.uint32(group + 1)


def _threefry_lower(cx: Any, *words: Any) -> list[Any]:
    (aval, _) = cx.out_avals

    def e(name: str, x: Any, y: Any) -> Any:
        operands = [cx.constant(v, aval) if isinstance(v, int) else v for v in (x, y)]
        return cx.emit(f"stablehlo.{name}", operands, avals=[aval])

    key1, key2, a, b = spread(cx, words)
    keys = (key1, key2, e("xor", e("xor", key1, key2), _PARITY))
    a, b = e("add", a, key1), e("add", b, key2)
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            a = e("add", a, b)
            b = e("xor", e("or", e("shift_left", b, distance), e("shift_right_logical", b, 32 - distance)), a)
        a = e("add", a, keys[(group + 1) % 3])
        b = e("add", b, e("add", keys[(group + 2) % 3], group + 1))
    return [a, b]


threefry2x32_p = MultiplePrimitive(
    "threefry2x32",
    shape=_threefry_shape,
    eval=_threefry_eval,
    lower=_threefry_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=batch_elementwise_results,
    numpy_ns=1200,  # of few blocks; for each of the two results
)


def threefry2x32(key1: Any, key2: Any, x0: Any, x1: Any) -> list[Any]:
    """Encrypt blocks of two 32-bit words.

    Args:
      key1, key2: uint32; the key.
      x0, x1: uint32; the blocks. All four have one shape, or rank 0.

    Returns:
      The two words of the encrypted blocks.

    >>> import numpy as np
    >>> threefry2x32(*np.zeros(4, np.uint32))
    [Array(1797259609, dtype=uint32), Array(2579123966, dtype=uint32)]
    """
    return threefry2x32_p(key1, key2, x0, x1)
