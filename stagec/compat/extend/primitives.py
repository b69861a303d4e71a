"""`jax.extend.core.primitives`: the primitives by JAX's names."""

from __future__ import annotations

import functools

import stagec.api.remat
import stagec.lax.linalg
import stagec.random
import stagec.scipy.special  # noqa: F401  all rows are there before the first is looked up
from stagec.compat.primitive import Primitive
from stagec.core import primitive as rows

# Those of stagec's that have other names.
_RENAMED = {
    "add_jaxvals": "add",
    "linear_solve": "custom_linear_solve",
    "regularized_incomplete_beta": "betainc",
    "remat": "checkpoint",
}


@functools.cache
def __getattr__(name: str) -> rows.Primitive:
    """The row of a primitive's name, which ends in `_p`; of those that JAX alone has, one that no equation has."""
    short = name.removesuffix("_p")
    if short == name or name.startswith("_"):
        raise AttributeError(f"jax.extend.core.primitives has no {name}; names of primitives end in _p")
    return rows.Primitive.registry.get(_RENAMED.get(short, short)) or Primitive(short)
