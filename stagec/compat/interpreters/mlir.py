"""`jax.interpreters.mlir`: lowerings of primitives that users define, as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.compat.primitive import Lowering, Primitive, lowerings
from stagec.core import errors, location

__all__ = ["lower_fun", "register_lowering"]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Lowering:
    """A lowering to the operations of a function of arrays.

    Args:
      multiple_results: the function returns a sequence of arrays, and not one.
    """
    return Lowering(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, **options: Any) -> Any:
    """Say how a primitive is lowered.

    Raises:
      UnsupportedError: `platform` is given.
    """
    if platform is not None:
        raise location.error(
            errors.UnsupportedError,
            f"jax.interpreters.mlir.register_lowering: a lowering for platform={platform!r} alone",
            fix="leave the platform out; stagec.lax.platform_dependent chooses in a function",
        )
    lowerings[prim] = rule
    return rule
