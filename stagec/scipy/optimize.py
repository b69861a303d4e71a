"""Minimization, by the names of `scipy.optimize`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import array_argument
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.scipy import minimizers

__all__ = ["OptimizeResults", "minimize"]

_LBFGS = ("l-bfgs", "l-bfgs-experimental-do-not-rely-on-this")
_OPTIONS: dict[Any, dict[str, Any]] = {
    "bfgs": {"maxiter": None, "norm": math.inf, "gtol": 1e-5, "line_search_maxiter": 10},
    "l-bfgs": {
        "maxiter": None,
        "maxfun": math.inf,
        "maxgrad": math.inf,
        "norm": math.inf,
        "maxcor": 10,
        "ftol": 2.220446049250313e-09,
        "gtol": 1e-5,
        "maxls": 20,
    },
}


class OptimizeResults(NamedTuple):
    """The result of `minimize`.

    Args:
      x: the solution.
      success: whether the gradient is small enough there.
      status: 0 if so, 1 after `maxiter` steps, 2 after `maxfun` calls, 3 if the function decreases no more or is not
        finite, 4 if it decreased by less than `ftol`, 5 if the line search found no step in its number of trials.
      fun, jac: the value and the gradient at `x`.
      hess_inv: the estimate of the inverse Hessian of BFGS; None for L-BFGS.
      nfev, njev: how often the function and its gradient were computed.
      nit: the number of steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Find a local minimum of a function of a vector, with gradients from automatic differentiation.

    The whole minimization is one loop, which `jit` compiles and `vmap` batches. It is not differentiated in reverse
    mode; `stagec.lax.custom_root` around it is.

    Args:
      fun: `fun(x, *args)`, a real number.
      x0: a vector of real numbers, where it begins.
      args: pytrees of arrays.
      method: "BFGS", or "L-BFGS" for many variables.
      tol: the gradient's tolerance, where `options` has no `gtol`.
      options: `maxiter`, `gtol` and `norm` (the order of the gradient's norm) for both; `line_search_maxiter` for
        BFGS; `maxcor`, `ftol`, `maxfun`, `maxgrad` and `maxls` for L-BFGS.

    >>> import stagec.numpy as snp
    >>> from stagec.scipy.optimize import minimize
    >>> def rosenbrock(x):
    ...     return snp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> found = minimize(rosenbrock, snp.zeros(2), method="BFGS")
    >>> found.x.round(2)
    Array([1., 1.], dtype=float32)
    """
    name = method.lower() if isinstance(method, str) else method
    kind = "l-bfgs" if name in _LBFGS else name
    if kind not in _OPTIONS:
        raise location.error(ValueError, f"minimize: method={method!r}", fix="use 'BFGS' or 'L-BFGS'")
    chosen: dict[str, Any] = {**_OPTIONS[kind], **({} if tol is None else {"gtol": tol})}
    for option in options or {}:
        if option not in chosen:
            raise location.error(
                TypeError,
                f"minimize: {method} has no option {option!r}",
                fix=f"its options are {', '.join(_OPTIONS[kind])}",
            )
    chosen.update(options or {})
    (x,) = promote_inexact(array_argument(x0, "x0"))
    aval = aval_of(x)
    if aval.ndim != 1 or dtypes.is_complex(aval.dtype):
        raise location.error(
            errors.ShapeError if aval.ndim != 1 else errors.DtypeError,
            f"minimize: x0 must be a vector of real numbers, got {aval.long()}",
            fix="stagec.flatten_util.ravel_pytree makes a vector of any arrays",
        )

    def objective(v: Array) -> Array:
        (value,) = promote_inexact(array_argument(fun(v, *args), "fun"))
        own = aval_of(value)
        if own.shape or dtypes.is_complex(own.dtype):
            raise location.error(
                errors.ShapeError if own.shape else errors.DtypeError,
                f"minimize: {location.of_function(fun)} must return a real number, got {own.long()}",
                fix="add up its result with .sum()",
            )
        return value

    steps = aval.size * 200 if chosen["maxiter"] is None else chosen["maxiter"]
    x = as_array(x).astype(aval.dtype)
    order, gtol = chosen["norm"], chosen["gtol"]
    memory = None
    if kind == "bfgs":
        last, memory, status = minimizers.bfgs(objective, x, steps, gtol, order, chosen["line_search_maxiter"])
    else:
        calls = min(chosen["maxfun"], chosen["maxgrad"])
        last, status = minimizers.lbfgs(
            objective, x, steps, calls, order, chosen["maxcor"], chosen["ftol"], gtol, chosen["maxls"]
        )
    return OptimizeResults(
        last.x, last.converged, status, last.value, last.gradient, memory, last.calls, last.calls, last.steps
    )


_publish(globals())
