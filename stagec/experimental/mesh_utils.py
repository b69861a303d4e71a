"""Arrangements of devices for meshes, by the names of `jax.experimental.mesh_utils`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location
from stagec.core.boundary import publish as _publish
from stagec.runtime.devices import Device, devices as devices_of

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


def create_device_mesh(
    mesh_shape: int | Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """The devices as an array of a shape, for `Mesh`.

    Args:
      mesh_shape: as many elements as there are devices; a number for one axis.
      devices: by default those of the default platform.
      contiguous_submeshes, allow_split_physical_axes: for accelerators with a network; accepted, and without effect.

    Raises:
      ShapeError: the shape has another number of elements.

    >>> import stagec
    >>> create_device_mesh((1, 1), stagec.devices("cpu")[:1]).shape
    (1, 1)
    """
    known = list(devices_of() if devices is None else devices)
    mesh_shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    if math.prod(mesh_shape) != len(known):
        raise location.error(
            errors.ShapeError,
            f"create_device_mesh: Number of devices {len(known)} must equal the product of mesh_shape {mesh_shape}",
            fix="give a shape with one element for each device, or pass some of the devices",
        )
    return np.array([*known, None], dtype=object)[:-1].reshape(mesh_shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """The devices of several machines as an array; here all are of one, whose `dcn_mesh_shape` is of ones.

    >>> import stagec
    >>> create_hybrid_device_mesh((1,), (1,), stagec.devices("cpu")[:1]).shape
    (1,)
    """
    if math.prod(dcn_mesh_shape) != 1:
        raise location.error(
            errors.ShapeError,
            f"create_hybrid_device_mesh: dcn_mesh_shape={tuple(dcn_mesh_shape)}, and there is one process",
            fix="give ones for dcn_mesh_shape",
        )
    return create_device_mesh(mesh_shape, devices)


_publish(globals())
