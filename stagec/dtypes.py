"""Dtypes and their promotion, by the names of `jax.dtypes`.

>>> from stagec import dtypes
>>> dtypes.promote_types("int32", "bfloat16")
dtype(bfloat16)
"""

from __future__ import annotations

from typing import Any, Literal, overload

import ml_dtypes
import numpy as np

from stagec.core import dtypes as _dtypes
from stagec.core.boundary import publish as _publish
from stagec.core.dtype_info import finfo, iinfo, isdtype, issubdtype as _issubdtype
from stagec.core.dtypes import DtypeLike, float0, itemsize_bits, promote_types, scalar_type_of
from stagec.core.errors import DtypeError
from stagec.core.key_dtype import extended, prng_key
from stagec.core.location import assists as _assists

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "isdtype",
    "issubdtype", "itemsize_bits", "prng_key", "promote_types", "result_type", "scalar_type_of",
]  # fmt: skip

bfloat16: type[Any] = ml_dtypes.bfloat16
# What promotion raises, under JAX's name.
TypePromotionError = DtypeError


def canonicalize_dtype(dtype: DtypeLike | None, allow_extended_dtype: bool = False) -> np.dtype[Any]:
    """The dtype that an array gets when `dtype` is asked for.

    Without `enable_x64`, 64-bit dtypes become their 32-bit counterparts.

    Args:
      dtype: whatever `np.dtype` accepts, a Python scalar type, or `"bfloat16"`; None is float.
      allow_extended_dtype: accepted; dtypes of random keys are returned as they are in any case.

    Raises:
      DtypeError: arrays cannot have this dtype.

    >>> canonicalize_dtype(float)
    dtype('float32')
    """
    return _dtypes.canonicalize(float if dtype is None else dtype)


def issubdtype(a: DtypeLike, b: DtypeLike) -> bool:
    """Whether `a` lies under `b` in NumPy's hierarchy of scalar types; bfloat16 is a floating type.

    >>> import numpy as np
    >>> issubdtype("bfloat16", np.floating)
    True
    """
    return _issubdtype(a, b)


_assists(__file__)


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> np.dtype[Any]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[np.dtype[Any], bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> np.dtype[Any] | tuple[np.dtype[Any], bool]:
    """The dtype that arrays, scalars and dtypes promote to together.

    Args:
      return_weak_type_flag: return whether it is weak as well.

    Raises:
      DtypeError: there is no common dtype.

    >>> result_type(1, 2.5, return_weak_type_flag=True)
    (dtype('float32'), True)
    """
    return _dtypes.result_type_and_weak(*args) if return_weak_type_flag else _dtypes.result_type(*args)


_publish(globals())
