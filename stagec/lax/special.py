"""Incomplete gamma and beta functions, as operations: no promotion, no broadcasting.

What computes them is imported when one is first called: few programs use them, and each that uses `stagec.lax` would
wait for it.
"""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.core.dtypes import FLOATING
from stagec.numpy.arguments import array_argument
from stagec.primitives.checks import check_dtype, elementwise_shape, same_dtype
from stagec.primitives.operand import aval_of, promote_weak_scalars
from stagec.typing import ArrayLike

__all__ = ["betainc", "igamma", "igamma_grad_a", "igammac", "random_gamma_grad"]


def _operands(name: str, *values: Any) -> list[Any]:
    operands = [array_argument(o, name) for o in promote_weak_scalars(*values)]
    avals = tuple(aval_of(o) for o in operands)
    check_dtype(name, same_dtype(name, avals), FLOATING)
    elementwise_shape(name, avals)
    return operands


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function, differentiable by both operands.

    >>> round(float(igamma(2.0, 3.0)), 4)
    0.8009
    """
    from stagec.scipy import incomplete_gamma

    found: Array = incomplete_gamma.lower(*_operands("igamma", a, x))
    return found


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function, `1 - igamma(a, x)`.

    >>> round(float(igammac(2.0, 3.0)), 4)
    0.1991
    """
    from stagec.scipy import incomplete_gamma

    found: Array = incomplete_gamma.upper(*_operands("igammac", a, x))
    return found


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of `igamma` by `a`.

    >>> round(float(igamma_grad_a(2.0, 3.0)), 4)
    -0.1974
    """
    from stagec.scipy import incomplete_gamma

    found: Array = incomplete_gamma.slope_by_parameter(*_operands("igamma_grad_a", a, x))
    return found


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of a gamma number `x` by the parameter `a` that it was drawn with.

    >>> round(float(random_gamma_grad(2.0, 3.0)), 4)
    1.3218
    """
    from stagec.scipy import gamma_grad

    found: Array = gamma_grad.random_gamma_grad(*_operands("random_gamma_grad", a, x))
    return found


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function, differentiable by `x`.

    >>> round(float(betainc(2.0, 3.0, 0.5)), 4)
    0.6875
    """
    from stagec.scipy import incomplete_beta

    found: Array = incomplete_beta.regularized(*_operands("betainc", a, b, x))
    return found
