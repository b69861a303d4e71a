"""Checks of derivatives against differences, for tests: the names of `jax.test_util`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.api.derivatives import jvp, vjp
from stagec.api.flat import is_float0
from stagec.core import dtypes, pytree
from stagec.core.boundary import publish as _publish
from stagec.primitives.operand import as_operand, aval_of

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# The tolerance of derivatives, absolute and relative: differences lose digits.
_TOLERANCES = {
    "float16": 1e-2,
    "bfloat16": 1e-1,
    "float32": 2e-3,
    "complex64": 1e-3,
    "float64": 1e-5,
    "complex128": 1e-5,
}
_STEP = 1e-4
# One number for all dtypes, or a number for each of some dtypes.
Tolerance = float | dict[Any, float] | None


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a forward derivative with differences, in one direction that is drawn at random.

    Args:
      f: the function.
      f_jvp: `(primals, tangents) -> (result, tangent)`, as `functools.partial(stagec.jvp, f)` is.
      args: where: arrays, numbers, and pytrees of them.
      atol, rtol: a number, or a dictionary of numbers by dtype.
      eps: the step of the differences.
      err_msg: what the message begins with.

    Raises:
      AssertionError: they differ.

    >>> import functools, stagec, stagec.numpy as snp
    >>> from stagec import test_util
    >>> test_util.check_jvp(snp.sin, functools.partial(stagec.jvp, snp.sin), (1.0,))
    """
    args = tuple(args)
    tangents = _drawn(np.random.RandomState(0), args)
    value, slope = f_jvp(args, tangents)
    compare(value, f(*args), atol, rtol, f"{err_msg} value".strip())
    compare(slope, _differences(f, args, tangents, eps), atol, rtol, f"{err_msg} tangent".strip())


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a backward derivative with differences, in one direction that is drawn at random.

    Args:
      f: the function.
      f_vjp: `args -> (result, pull)`, as `functools.partial(stagec.vjp, f)` is.
      args, atol, rtol, eps, err_msg: as for `check_jvp`.

    Raises:
      AssertionError: they differ.

    >>> import functools, stagec, stagec.numpy as snp
    >>> from stagec import test_util
    >>> test_util.check_vjp(snp.sin, functools.partial(stagec.vjp, snp.sin), (1.0,))
    """
    args, random = tuple(args), np.random.RandomState(0)
    value, pull = f_vjp(*args)
    compare(value, f(*args), atol, rtol, f"{err_msg} value".strip())
    tangents = _drawn(random, args)
    slope = _differences(f, args, tangents, eps)
    cotangents = _drawn(random, value)
    pulled = _conjugate(pull(_conjugate(cotangents)))
    compare(_product(tangents, pulled), _product(slope, cotangents), atol, rtol, f"{err_msg} cotangent".strip())


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives with differences, in directions that are drawn at random.

    Args:
      f: the function.
      args: where: arrays, numbers, and pytrees of them.
      order: up to which order.
      modes: `"fwd"`, `"rev"`, or both.
      atol, rtol, eps: as for `check_jvp`.

    Raises:
      AssertionError: they differ.

    >>> import stagec.numpy as snp
    >>> from stagec import test_util
    >>> test_util.check_grads(lambda x: snp.sin(x) * x, (1.0,), order=2)
    """
    step = _STEP if eps is None else eps

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, what: str) -> None:
        if "fwd" in modes:
            forward = functools.partial(jvp, f)
            check_jvp(f, forward, args, atol, rtol, step, f"jvp of {what}")
            if order > 1:
                check(forward, (args, args), order - 1, f"jvp of {what}")
        if "rev" in modes:
            check_vjp(f, functools.partial(vjp, f), args, atol, rtol, step, f"vjp of {what}")
            if order > 1:
                check(functools.partial(_pulled, f), args, order - 1, f"vjp of {what}")

    check(f, tuple(args), order, getattr(f, "__name__", "the function"))


def _pulled(f: Callable[..., Any], *args: Any) -> Any:
    """The cotangents of the arguments, where the cotangent of the result is the result itself."""
    value, pull = vjp(f, *args)
    return pull(value)


def _dtype(leaf: Any) -> np.dtype[Any]:
    return np.dtype(leaf.dtype) if is_float0(leaf) else aval_of(as_operand(leaf)).dtype


def _drawn(random: np.random.RandomState, tree: Any) -> Any:
    """Normal numbers of the shapes and dtypes of a tree's leaves; no tangent where there is no derivative."""

    def draw(leaf: Any) -> Any:
        dtype, shape = _dtype(leaf), np.shape(leaf)
        if not dtypes.is_inexact(dtype):
            return np.zeros(shape, dtypes.float0)
        real = random.standard_normal(shape)
        return np.asarray(real + 1j * random.standard_normal(shape) if dtypes.is_complex(dtype) else real).astype(dtype)

    return pytree.map_leaves(draw, tree)


def _differences(f: Callable[..., Any], args: tuple[Any, ...], tangents: Any, step: float) -> Any:
    """The central difference quotient of `f` in a direction."""

    def moved(by: float) -> Any:
        def move(x: Any, t: Any) -> Any:
            return x if is_float0(t) else (np.asarray(x) + by * np.asarray(t)).astype(_dtype(x))

        return f(*pytree.map_leaves(move, args, tangents))

    def quotient(high: Any, low: Any) -> Any:
        dtype = _dtype(high)
        if not dtypes.is_inexact(dtype):
            return np.zeros(np.shape(high), dtypes.float0)
        high, low = np.asarray(high), np.asarray(low)
        # Where both are the same infinity, it does not change.
        change = np.where(high == low, 0, high - low)
        return (change * (0.5 / step)).astype(dtype)

    with np.errstate(invalid="ignore"):
        return pytree.map_leaves(quotient, moved(step), moved(-step))


def _conjugate(tree: Any) -> Any:
    return pytree.map_leaves(lambda x: x if is_float0(x) else np.conj(np.asarray(x)), tree)


def _product(xs: Any, ys: Any) -> Any:
    """The real part of the inner product of two trees."""
    parts = [
        np.real(np.vdot(np.asarray(x), np.asarray(y)))
        for x, y in zip(pytree.leaves(xs), pytree.leaves(ys), strict=True)
        if not (is_float0(x) or is_float0(y))
    ]
    return functools.reduce(np.add, parts, np.float32(0))


def compare(actual: Any, expected: Any, atol: Tolerance, rtol: Tolerance, what: str) -> None:
    pytree.map_leaves(lambda a, e: _compare_leaf(a, e, atol, rtol, what), actual, expected)


def _compare_leaf(actual: Any, expected: Any, atol: Tolerance, rtol: Tolerance, what: str) -> None:
    if is_float0(actual) and is_float0(expected):
        return
    a, e = np.asarray(actual), np.asarray(expected)
    assert a.shape == e.shape, f"{what}: shapes {a.shape} and {e.shape} differ"
    absolute, relative = (max(_tolerance(a.dtype, t), _tolerance(e.dtype, t)) for t in (atol, rtol))
    wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(e) else np.float64
    # Errors add up in large arrays.
    np.testing.assert_allclose(
        a.astype(wide), e.astype(wide), rtol=relative * e.size, atol=absolute * a.size, err_msg=what
    )


def _tolerance(dtype: np.dtype[Any], given: Tolerance) -> float:
    if given is not None and not isinstance(given, dict):
        return given
    found = {np.dtype(d).name: t for d, t in (given or {}).items()}
    return found.get(dtype.name, _TOLERANCES.get(dtype.name, 0.0))


_publish(globals())
