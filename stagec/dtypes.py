"""Dtypes and their promotion, by the names of `jax.dtypes`.

>>> from stagec import dtypes
>>> dtypes.promote_types("int32", "bfloat16")
dtype(bfloat16)
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from stagec.core.boundary import publish as _publish
from stagec.core.dtype_info import finfo, iinfo, isdtype, issubdtype
from stagec.core.dtypes import (
    canonicalize as canonicalize_dtype,
    extended,
    float0,
    itemsize_bits,
    prng_key,
    promote_types,
    result_type,
    scalar_type_of,
)
from stagec.core.errors import DtypeError

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "isdtype",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "promote_types",
    "result_type",
    "scalar_type_of",
]

bfloat16: type[Any] = ml_dtypes.bfloat16
# What promotion raises, under JAX's name.
TypePromotionError = DtypeError


def __dir__() -> list[str]:
    return sorted(__all__)


_publish(globals())
