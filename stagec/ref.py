"""Mutable references, by the names of `jax.ref`."""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.primitives.references import Ref as Ref, freeze as freeze, new_ref as new_ref, write as _write
from stagec.typing import ArrayLike

__all__ = ["Ref", "addupdate", "freeze", "get", "new_ref", "set", "swap"]


def get(ref: Ref, idx: Any = ...) -> Array:
    """`ref[idx]`.

    >>> from stagec import numpy as snp, ref
    >>> ref.get(ref.new_ref(snp.array([1.0, 2.0])), 1)
    Array(2., dtype=float32)
    """
    return ref[idx]


def set(ref: Ref, idx: Any, value: ArrayLike) -> None:
    """`ref[idx] = value`.

    >>> from stagec import numpy as snp, ref
    >>> r = ref.new_ref(snp.array([1.0, 2.0]))
    >>> ref.set(r, 1, 5.0)
    >>> r[...]
    Array([1., 5.], dtype=float32)
    """
    ref[idx] = value


def swap(ref: Ref, idx: Any, value: ArrayLike) -> Array:
    """Write `ref[idx] = value`, and return what was there.

    >>> from stagec import numpy as snp, ref
    >>> r = ref.new_ref(snp.array([1.0, 2.0]))
    >>> ref.swap(r, 0, 5.0), r[...]
    (Array(1., dtype=float32), Array([5., 2.], dtype=float32))
    """
    before = ref[idx]
    ref[idx] = value
    return before


def addupdate(ref: Ref, idx: Any, x: ArrayLike) -> None:
    """Add to the elements at `idx`; where an array of indices names one twice, both numbers are added.

    >>> from stagec import numpy as snp, ref
    >>> r = ref.new_ref(snp.array([1.0, 2.0]))
    >>> ref.addupdate(r, snp.array([0, 0]), 1.0)
    >>> r[...]
    Array([3., 2.], dtype=float32)
    """
    _write(ref, ref[...].at[idx].add(ref._accepted(x)))


def __dir__() -> list[str]:
    return _exported(globals())


_publish(globals())
