"""`pmap`: a function of one element, applied to the elements of a batch on as many devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.api.arguments import ArgumentRules
from stagec.api.batching import Division, axes_of_leaves, mapped_over
from stagec.api.jit import jit
from stagec.core import errors, location, pytree
from stagec.core.axis import Axis
from stagec.core.callables import Function, P, R
from stagec.core.functions import check_callable
from stagec.core.wrapping import wraps
from stagec.numpy.arguments import constrained
from stagec.runtime.devices import Device, devices as devices_of
from stagec.runtime.mesh import Mesh, PartitionSpec
from stagec.runtime.sharding import NamedSharding

# The axis of the mesh of a function whose batch has no name.
_UNNAMED = "_pmap_axis"


def pmap(
    fun: Callable[P, R],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Function[P, R]:
    """A compiled function that applies `fun` to the elements of a batch, one on each device.

    It is `jit(vmap(fun))`, with results that are split among devices; at most as many elements as there are devices.

    Args:
      fun: a function of pytrees of arrays, written for one element.
      axis_name: a name for `lax.psum`, `lax.axis_index` and the like, inside `fun`.
      in_axes, out_axes: as those of `vmap`; None in `out_axes` takes the first element's result.
      static_broadcasted_argnums: positional arguments that are Python values, the same for all elements.
      devices: which devices; by default those of `backend`.
      axis_size: the number of elements; needed only where no argument has the axis.
      donate_argnums: as that of `jit`.

    Raises:
      DeviceError: there are more elements than devices.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(snp.array([2.0]))
    Array([1.], dtype=float32)
    """
    check_callable("pmap", "stagec.pmap(f)(x)", fun)
    rules = ArgumentRules(fun, static_broadcasted_argnums)
    name = _UNNAMED if axis_name is None else axis_name

    def mapped(*args: Any, **kwargs: Any) -> Any:
        meshes: list[Mesh] = []

        def axis(size: int) -> Axis:
            _check(fun, size, devices, backend)
            meshes.append(Mesh(np.array(_chosen(devices, backend)[:size], dtype=object), (name,)))
            return Axis(size, division=Division(meshes[0]))

        static = {i: a for i, a in enumerate(args) if i in rules.static_nums}
        dynamic = [a for i, a in enumerate(args) if i not in static]

        def one(*given: Any, **named: Any) -> Any:
            rest = iter(given)
            return fun(*[static[i] if i in static else next(rest) for i in range(len(args))], **named)

        axes = in_axes
        if isinstance(in_axes, (tuple, list)):
            axes = tuple([a for i, a in enumerate(in_axes) if i not in static])
        leaves, tree = pytree.flatten(out_axes, lambda a: a is None)
        whole = tree.unflatten([0 if a is None else a for a in leaves])
        outs = mapped_over(wraps(fun)(one), axes, whole, name, axis_size, axis)(*dynamic, **kwargs)
        values, out_tree = pytree.flatten(outs)
        wanted = axes_of_leaves("out_axes", out_axes, outs)
        return out_tree.unflatten([_split(v, a, meshes[0], name) for v, a in zip(values, wanted)])

    made = jit(wraps(fun, "pmap")(mapped), static_argnums=tuple(rules.static_nums), donate_argnums=donate_argnums)
    return made


def _split(value: Any, axis: int | None, mesh: Mesh, name: Any) -> Any:
    if axis is None:
        return constrained(value[0], NamedSharding(mesh, PartitionSpec()), "pmap")
    spec = PartitionSpec(*[None] * (axis % value.ndim), name)
    return constrained(value, NamedSharding(mesh, spec), "pmap")


def _chosen(devices: Sequence[Device] | None, backend: str | None) -> list[Device]:
    return list(devices_of(backend) if devices is None else devices)


def _check(fun: Any, size: int, devices: Sequence[Device] | None, backend: str | None) -> None:
    count = len(_chosen(devices, backend))
    if devices is not None and size < count:
        raise location.error(
            errors.DeviceError,
            f"pmap of {location.of_function(fun)}: {size} elements for the {count} devices that were passed",
            fix=f"pass {size} devices",
        )
    if size > count:
        raise location.error(
            errors.DeviceError,
            f"pmap of {location.of_function(fun)} requires {size} devices, but only {count} "
            f"{'is' if count == 1 else 'are'} available",
            fix=f"divide the CPU with stagec.config.update('num_cpu_devices', {size}), or use stagec.vmap",
        )
