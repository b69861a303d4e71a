"""Mutable references, by the names of `jax.ref`."""

from __future__ import annotations

from typing import Any

from stagec.control.callback import Described
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.creation import zeros
from stagec.primitives.references import (
    AbstractRef as AbstractRef,
    Ref as Ref,
    freeze as freeze,
    new_ref as new_ref,
    write as _write,
)
from stagec.typing import ArrayLike

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]


def empty_ref(ty: Described, memory_space: None = None) -> Ref:
    """A reference that holds zeros until it is written; JAX leaves open what it holds.

    Args:
      ty: has a shape and a dtype, as a `ShapeDtypeStruct` has.
      memory_space: None; for code written for JAX.

    >>> import stagec
    >>> from stagec import ref
    >>> ref.empty_ref(stagec.ShapeDtypeStruct((2,), "float32"))
    Ref([0., 0.], dtype=float32)
    """
    return new_ref(zeros(ty.shape, ty.dtype), memory_space=memory_space)


def free_ref(ref: Ref) -> None:
    """Give up a reference, which must not be used any more.

    >>> from stagec import ref
    >>> ref.free_ref(ref.new_ref(1.0))
    """
    freeze(ref)


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


_publish(globals())
