"""`jax._src.dtypes`: the names that libraries use."""

from numpy import dtype as DType

from stagec.core.dtypes import ExtendedDtype as ExtendedDType, extended
from stagec.core.errors import DtypeError as TypePromotionError

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "extended"]
