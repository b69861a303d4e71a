"""`jax._src.public_test_util`: `jax.test_util`, and what the tests of libraries compare results by."""

from __future__ import annotations

from typing import Any

from stagec.core.boundary import publish as _publish
from stagec.test_util import Tolerance, check_grads, check_jvp, check_vjp, compare

__all__ = ["check_close", "check_grads", "check_jvp", "check_vjp"]

_TOLERANCES = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float64": 1e-15,
    "complex128": 1e-15,
}


def check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Check that the arrays of two pytrees are close.

    Args:
      atol: absolute tolerance; a dict has one for each of some dtypes. It grows with the size of an array.
      rtol: relative tolerance, in the same way.

    Raises:
      AssertionError: two arrays are not close, or have different shapes.
    """
    compare(xs, ys, _known(atol), _known(rtol), err_msg)


def _known(given: Tolerance) -> Tolerance:
    """A tolerance, with one for each dtype where none is given."""
    return {**_TOLERANCES, **(given or {})} if given is None or isinstance(given, dict) else given


_publish(globals())
