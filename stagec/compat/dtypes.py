"""`jax._src.dtypes`: the names that libraries use."""

from typing import Any

import ml_dtypes
from numpy import dtype as DType

from stagec.core.dtype_info import finfo as _limits
from stagec.core.errors import DtypeError as TypePromotionError
from stagec.core.key_dtype import ExtendedDtype as ExtendedDType, extended
from stagec.typing import DTypeLike

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "extended", "finfo", "to_complex_dtype"]


def finfo(dtype: Any) -> Any:
    """The limits of a floating dtype, as scalars of it; those of `stagec.numpy.finfo` are Python floats."""
    limits: Any = ml_dtypes.finfo
    return limits(_limits(dtype).dtype)


def to_complex_dtype(dtype: DTypeLike) -> DType:
    """The complex dtype that holds the numbers of `dtype`, whether 64-bit types are enabled or not.

    >>> to_complex_dtype("float64"), to_complex_dtype("bfloat16")
    (dtype('complex128'), dtype('complex64'))
    """
    given = DType(dtype)
    wide = given == "complex128" or (given.itemsize == 8 and given.kind in "iuf")
    return DType("complex128" if wide else "complex64")
