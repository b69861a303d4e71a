"""`jax._src.dtypes`: the names that libraries use."""

from numpy import dtype as DType

from stagec.core.dtypes import ExtendedDtype as ExtendedDType, complex_dtype, extended, parse
from stagec.core.errors import DtypeError as TypePromotionError
from stagec.typing import DTypeLike

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "extended", "to_complex_dtype"]


def to_complex_dtype(dtype: DTypeLike) -> DType:
    """The complex dtype that holds the numbers of `dtype`."""
    return complex_dtype(parse(dtype))
