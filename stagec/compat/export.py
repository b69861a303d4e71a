"""`jax.export`: symbolic dimensions, and stand-ins: `stagec.export` writes files in a format of its own instead.

Calling one of the stand-ins raises `UnsupportedError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.compat.refusals import refused
from stagec.core.dims import is_open as is_symbolic_dim
from stagec.core.dims_text import Scope as SymbolicScope

__all__ = [
    "Exported",
    "SymbolicScope",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]

_WHY = "stagec has files of its own"
_FIX = "compile the function for its shapes with stagec.export, write it with stagec.save, and read it with stagec.load"


class Exported:
    """A function that JAX exported, for annotations and `isinstance`; it has no instances."""


deserialize = refused("jax.export.deserialize", _WHY, _FIX)
export = refused("jax.export.export", _WHY, _FIX)
symbolic_args_specs = refused("jax.export.symbolic_args_specs", _WHY, _FIX)
register_namedtuple_serialization = refused("jax.export.register_namedtuple_serialization", _WHY, _FIX)
register_pytree_node_serialization = refused("jax.export.register_pytree_node_serialization", _WHY, _FIX)


def symbolic_shape(
    shape_spec: str, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None, like: Any = None
) -> tuple[Any, ...]:
    """A shape with open dimensions, for `jax.ShapeDtypeStruct`.

    Args:
      shape_spec: sizes, as in `"b, 2*b, 784"`; `_` and `...` stand for sizes of `like`.
      constraints: bounds of symbols, as in `"b >= 8"`.
      scope: holds bounds of symbols.
      like: a shape.

    >>> symbolic_shape("(b, _, ...)", constraints=["b >= 8"], like=(1, 2, 3, 4))
    (b, 2, 3, 4)
    """
    scope = SymbolicScope() if scope is None else scope
    for text in constraints:
        scope.shape(text)
    found, known = list(scope.shape(shape_spec)), tuple(like or ())
    if ... in found:
        at = found.index(...)
        found[at : at + 1] = known[at : len(known) - len(found) + at + 1]
    return tuple([known[i] if size is None else size for i, size in enumerate(found)])
