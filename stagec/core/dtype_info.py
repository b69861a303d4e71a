"""Properties of dtypes: their kinds, and the limits of their numbers."""

from __future__ import annotations

import functools
from typing import Any, cast

import ml_dtypes
import numpy as np

from stagec.core import location
from stagec.core.dtypes import (
    BOOL,
    COMPLEX,
    FLOATING,
    INEXACT,
    INTEGER,
    NUMERIC,
    SIGNED,
    SMALL_FLOAT,
    SMALL_INTEGER,
    UNSIGNED,
    DtypeLike,
    ExtendedDtype,
    parse,
)
from stagec.core.errors import DtypeError


def _scalar_type(x: Any) -> type:
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    if isinstance(x, ExtendedDtype):
        return x.type
    found = getattr(x, "dtype", None)
    if isinstance(found, ExtendedDtype):
        return found.type
    try:
        dtype: np.dtype[Any] = np.dtype(x)
    except TypeError:
        dtype = parse(x)
    return dtype.type


# Floats and integers that NumPy does not place in its hierarchy.
_FLOATS = {ml_dtypes.bfloat16, *(dtype.type for dtype in SMALL_FLOAT)}
_INTEGERS = {dtype.type: np.signedinteger if dtype in SIGNED else np.unsignedinteger for dtype in SMALL_INTEGER}


def issubdtype(arg1: DtypeLike, arg2: DtypeLike) -> bool:
    """Whether `arg1` lies under `arg2` in NumPy's hierarchy of scalar types; bfloat16 is a floating type.

    >>> issubdtype("bfloat16", np.floating)
    True
    """
    a, b = _scalar_type(arg1), _scalar_type(arg2)
    if a in _FLOATS:
        return b is a or b in (np.floating, np.inexact, np.number, np.generic)
    if a in _INTEGERS:
        return b is a or b in (_INTEGERS[a], np.integer, np.number, np.generic)
    return issubclass(a, b)


_KINDS: dict[str, frozenset[np.dtype]] = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGER,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def isdtype(dtype: DtypeLike, kind: DtypeLike | str | tuple[Any, ...]) -> bool:
    """Whether `dtype` is of a kind named as in the Python array API standard.

    Args:
      dtype: the dtype to ask about.
      kind: `"bool"`, `"signed integer"`, `"unsigned integer"`, `"integral"`, `"real floating"`,
        `"complex floating"`, `"numeric"`, a dtype, or a tuple of these.

    >>> isdtype("int32", ("integral", "real floating"))
    True
    """
    found = parse(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if found in _KINDS[one] if isinstance(one, str) and one in _KINDS else found == parse(one):
            return True
    return False


def _of(x: Any) -> Any:
    """The dtype that an array has, or that `x` stands for."""
    return parse(x if isinstance(x, type) else getattr(x, "dtype", x))


class FloatInfo:
    """The limits of a floating dtype. Those that are floating numbers are Python floats, which adopt other dtypes.

    Attributes:
      dtype: the dtype; for complex numbers, that of their parts.
      bits: the number of bits.
      eps, epsneg: the distances from 1 to the next larger and the next smaller number.
      max, min: the largest and the smallest number.
      smallest_normal, tiny: the smallest positive number of full precision.
      smallest_subnormal: the smallest positive number.
      precision: the number of reliable decimal digits.
      resolution: the smallest difference of numbers near 1 with that many digits.
      nmant, nexp, iexp, machep, negep, maxexp, minexp: as of `numpy.finfo`.
    """

    dtype: np.dtype[Any]
    bits: int
    eps: float
    epsneg: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    smallest_subnormal: float
    resolution: float
    precision: int
    nmant: int
    nexp: int
    iexp: int
    machep: int
    negep: int
    maxexp: int
    minexp: int

    def __init__(self, dtype: np.dtype[Any]) -> None:
        limits: Any = ml_dtypes.finfo
        info = limits(dtype)
        self.dtype = np.dtype(info.dtype)
        for name in FloatInfo.__annotations__:
            if name != "dtype":
                value = getattr(info, name)
                setattr(self, name, int(value) if isinstance(value, (int, np.integer)) else float(value))

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, dtype={self.dtype.name})"


_finfo = functools.lru_cache(maxsize=64)(FloatInfo)


def finfo(dtype: DtypeLike) -> FloatInfo:
    """The limits of a floating or complex dtype, bfloat16 included.

    >>> finfo("bfloat16").eps
    0.0078125
    """
    found = _of(dtype)
    if found not in INEXACT:
        raise location.error(DtypeError, f"finfo: {found} is not a floating dtype", fix="use iinfo for integers")
    return _finfo(found)


def iinfo(dtype: DtypeLike) -> np.iinfo:
    """The limits of an integer dtype, as `np.iinfo`.

    >>> iinfo("int8").max
    127
    """
    found = _of(dtype)
    if found in SMALL_INTEGER:
        limits: Any = ml_dtypes.iinfo
        return cast(np.iinfo, limits(found))
    if found not in INTEGER:
        raise location.error(DtypeError, f"iinfo: {found} is not an integer dtype", fix="use finfo for floating dtypes")
    return np.iinfo(found)
