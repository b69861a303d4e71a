"""Pytrees as vectors, by the name in `jax.flatten_util`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.pytree import PyTreeDef, flatten
from stagec.numpy.arguments import array_argument
from stagec.primitives.convert import convert_element_type
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import split

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]:
    """The leaves of a pytree concatenated to one vector, and a function that turns such a vector into the pytree.

    Args:
      pytree: of arrays and numbers. The vector has the dtype that they promote to.

    Returns:
      The vector, and a function that takes a vector of the same size and dtype; if all leaves have the same dtype,
      a vector of any dtype.

    >>> vector, unravel = ravel_pytree({"a": 1.0, "b": [2.0, 3.0]})
    >>> vector
    Array([1., 2., 3.], dtype=float32)
    >>> unravel(vector * 2)["b"]
    [Array(4., dtype=float32), Array(6., dtype=float32)]
    """
    leaves, structure = flatten(pytree)
    arrays = [array_argument(leaf, "ravel_pytree") for leaf in leaves]
    if not arrays:
        return array_argument(np.zeros(0, np.float32), "ravel_pytree"), _Unravel(structure, (), (), None)
    avals = [aval_of(a) for a in arrays]
    kinds = tuple(a.dtype for a in avals)
    common, _ = dtypes.lattice_result([(kind, False) for kind in kinds])
    vector = concatenate([reshape(convert_element_type(a, common), (aval.size,)) for a, aval in zip(arrays, avals)], 0)
    same = all(kind == common for kind in kinds)
    shapes = tuple(a.shape for a in avals)
    return vector, _Unravel(structure, shapes, () if same else kinds, None if same else common)


@dataclasses.dataclass(frozen=True)
class _Unravel:
    """A function that equals those of equal structures: as a static argument, it has no new trace."""

    structure: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    kinds: tuple[Any, ...]
    common: Any

    def __call__(self, vector: Any) -> Any:
        flat = array_argument(vector, "unravel")
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        aval = aval_of(flat)
        if aval.shape != (sum(sizes),):
            raise location.error(
                errors.ShapeError, f"unravel: {aval.long()} for {sum(sizes)} numbers", fix="pass a vector of this size"
            )
        if self.common is not None and aval.dtype != self.common:
            raise location.error(
                errors.DtypeError,
                f"unravel: {aval.long()} for numbers of {self.common.name}",
                fix="convert it with astype",
            )
        parts = split(flat, sizes) if sizes else []
        leaves = [reshape(part, shape) for part, shape in zip(parts, self.shapes)]
        if self.kinds:
            leaves = [convert_element_type(leaf, kind) for leaf, kind in zip(leaves, self.kinds)]
        return self.structure.unflatten(leaves)


_publish(globals())
