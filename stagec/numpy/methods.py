"""The functions behind the operators and methods of arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stagec.core import operators

# Operators and methods that are the function of the same name, with the array as first argument.
NAMES = (
    "add subtract multiply true_divide floor_divide remainder divmod power matmul bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift equal not_equal less less_equal greater greater_equal negative positive abs bitwise_not "
    "round matrix_transpose real imag all any argmax argmin argpartition argsort astype choose clip conj conjugate "
    "copy cumprod cumsum diagonal dot max mean min nonzero partition prod ptp ravel repeat searchsorted sort squeeze "
    "std sum swapaxes take trace var"
).split()


def install(namespace: Mapping[str, Callable[..., Any]]) -> None:
    """Hand the functions of `stagec.numpy` over to the array classes.

    Args:
      namespace: name -> function.
    """
    operators.install({name: namespace[name] for name in NAMES if name in namespace})
