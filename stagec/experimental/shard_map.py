"""`shard_map` as `jax.experimental.shard_map` had it, before it became `jax.shard_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.api.shard_map import shard_map as _shard_map
from stagec.core.boundary import publish as _publish
from stagec.runtime.mesh import Mesh

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Any] = frozenset(),
) -> Callable[..., Any]:
    """`stagec.shard_map` by older names.

    Args:
      check_rep: `check_vma`.
      auto: the axes of the mesh that `f` does not know of.

    >>> import stagec, stagec.numpy as snp
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> shard_map(lambda x: x * 2, mesh, stagec.P("x"), stagec.P("x"))(snp.arange(2))
    Array([0, 2], dtype=int32)
    """
    names = set(mesh.axis_names) - set(auto)
    mapped: Callable[..., Any] = _shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=names, check_vma=check_rep
    )
    return mapped


_publish(globals())
