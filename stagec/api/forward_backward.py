"""`fwd_and_bwd`: the two halves of reverse mode as two programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.derivatives import vjp
from stagec.api.flat import positions
from stagec.api.jit import jit
from stagec.core.functions import check_callable


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of a function, compiled once each.

    Args:
      fun: a function of arrays.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: `fun` returns a pair, and its second result is passed through.
      jitted: jit both functions.

    Returns:
      `(fwd, bwd)`. `fwd(*args)` returns `(value, residuals)`, or `(value, residuals, aux)`; `bwd(residuals, ct)`
      returns the cotangents of the arguments at `argnums`: one for an integer, else a tuple.

    >>> import stagec, stagec.numpy as snp
    >>> fwd, bwd = stagec.fwd_and_bwd(snp.multiply, argnums=(0, 1))
    >>> value, residuals = fwd(3.0, 4.0)
    >>> [float(ct) for ct in bwd(residuals, 1.0)]
    [4.0, 3.0]
    """
    check_callable("fwd_and_bwd", "stagec.fwd_and_bwd(f, 0)", fun)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        chosen = positions(argnums, len(args), "fwd_and_bwd")

        def part(*given: Any) -> Any:
            everything = list(args)
            for i, value in zip(chosen, given):
                everything[i] = value
            return fun(*everything, **kwargs)

        # mypy wants to know which of the two overloads it is.
        return vjp(part, *[args[i] for i in chosen], has_aux=has_aux)  # type: ignore[call-overload]

    def bwd(residuals: Any, ct: Any) -> Any:
        found = residuals(ct)
        return found[0] if isinstance(argnums, int) else found

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
