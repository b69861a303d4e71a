"""packbits and unpackbits: bits as elements, eight to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.numpy.padding import pad
from stagec.primitives.axes import canonical_axis
from stagec.typing import ArrayLike

__all__ = ["packbits", "unpackbits"]


def _shifts(name: str, bitorder: str) -> np.ndarray[Any, Any]:
    if bitorder not in ("big", "little"):
        raise location.error(
            ValueError, f"{name}: bitorder is {bitorder!r}", fix="use bitorder='big' or bitorder='little'"
        )
    shifts = np.arange(8, dtype=np.uint8)
    return shifts[::-1] if bitorder == "big" else shifts


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack each eight elements into a byte; an element that is not 0 becomes a set bit.

    Args:
      a: integers or bools.
      axis: along which elements are packed; `None` packs all of them.
      bitorder: `"big"` if the first element is the highest bit, `"little"` if it is the lowest.

    Raises:
      DtypeError: `a` is not of integers or bools.

    >>> import stagec.numpy as snp
    >>> snp.packbits(snp.array([1, 0, 1]))
    Array([160], dtype=uint8)
    """
    shifts = _shifts("packbits", bitorder)
    x = array_argument(a, "packbits")
    if not (dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype)):
        raise location.error(
            errors.DtypeError, f"packbits does not accept {x.dtype.name}", fix="compare it with 0 first, as in x != 0"
        )
    x, axis = (ravel(x), 0) if axis is None else (x, canonical_axis(axis, x.ndim, "packbits"))
    bits = moveaxis((x != 0).astype("uint8"), axis, -1)
    bits = pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, -bits.shape[-1] % 8)])
    groups = bits.reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8)
    return moveaxis((groups << shifts).sum(-1, dtype="uint8"), -1, axis)


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes, as elements that are 0 or 1.

    Args:
      a: an array of uint8.
      axis: the bits of a byte follow each other along this axis; `None` unpacks all bytes as a vector.
      count: how many bits to return; missing ones are 0. If it is negative, how many to leave out at the end.
      bitorder: `"big"` if the first element is the highest bit, `"little"` if it is the lowest.

    Raises:
      DtypeError: `a` is not of dtype uint8.

    >>> import stagec.numpy as snp
    >>> snp.unpackbits(snp.array([160], "uint8"), count=4)
    Array([1, 0, 1, 0], dtype=uint8)
    """
    shifts = _shifts("unpackbits", bitorder)
    x = array_argument(a, "unpackbits")
    if x.dtype != np.uint8:
        raise location.error(
            errors.DtypeError, f"unpackbits does not accept {x.dtype.name}", fix="convert it with astype('uint8')"
        )
    x, axis = (ravel(x), 0) if axis is None else (x, canonical_axis(axis, x.ndim, "unpackbits"))
    x = moveaxis(x, axis, -1)
    bits = (x[..., None] >> shifts) & 1
    bits = bits.reshape(*x.shape[:-1], x.shape[-1] * 8)
    if count is not None:
        bits = bits[..., :count]
        bits = pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, max(count - bits.shape[-1], 0))])
    return moveaxis(bits, -1, axis)
