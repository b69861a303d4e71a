"""`sharding_constraint`: a value as it is, with what is known of how it is split among devices."""

from __future__ import annotations

from typing import Any

from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.primitives.broadcast import linear

__all__ = ["sharding_constraint_p"]


def _batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    (x,), (dim,) = args, dims
    return primitive(x, mesh=params["mesh"], spec=params["spec"].batched(dim, getattr(size, "spmd", ()))), dim


def _transpose(ct: Any, x: Any, *, mesh: Any, spec: Any) -> list[Any]:
    mesh, spec = spec.of_cotangent(mesh)
    return [sharding_constraint_p(ct, mesh=mesh, spec=spec)]


# `mesh` is the devices, and `spec`, which is `runtime.mesh.Axes`, has the names of axes for each dimension.
sharding_constraint_p: SinglePrimitive = SinglePrimitive(
    "sharding_constraint",
    shape=lambda x, *, mesh, spec: x,
    eval=lambda x, *, mesh, spec: x,
    lower=lambda cx, x, *, mesh, spec: x,
    jvp=linear(),
    transpose=_transpose,
    batch=_batch,
    numpy_ns=0,
)
