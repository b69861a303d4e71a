"""Checks and conversions of the arguments of SciPy's functions."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.numpy.arguments import to_array
from stagec.numpy.arithmetic import dtype_of, reject
from stagec.numpy.promotion import promote_floating

location.assists(__file__)


def real_operands(name: str, *values: Any) -> list[Any]:
    """Operands of one floating dtype and one shape (or rank 0); complex ones are refused."""
    operands = promote_floating(name, *values)
    if dtypes.is_complex(dtype_of(operands[0])):
        raise reject(name, dtype_of(operands[0]), "take the parts with real() and imag() first")
    return operands


def real_arrays(name: str, *values: Any) -> list[Array]:
    """As `real_operands`; numbers become arrays, which have operators."""
    return [to_array(o) for o in real_operands(name, *values)]
