"""`jax._src.dispatch`: what libraries call of it."""

from __future__ import annotations

import functools
from typing import Any

from stagec.api.environment import effects_barrier as wait_for_tokens
from stagec.api.jit import jit
from stagec.compat.primitive import Primitive

__all__ = ["apply_primitive", "wait_for_tokens"]


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compute a primitive by a program of its own: an implementation for those that have a lowering."""
    return _program(prim, **params)(*args)


@functools.cache
def _program(prim: Primitive, **params: Any) -> Any:
    return jit(functools.partial(prim.bind, **params))
