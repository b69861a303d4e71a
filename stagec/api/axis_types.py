"""Functions in which axes of the mesh in force are of another type than around them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.api.flat import operand
from stagec.api.sharded import reshard
from stagec.core import location, pytree
from stagec.core.wrapping import wraps
from stagec.primitives.constraint import sharding_constraint_p
from stagec.runtime.mesh import UNCONSTRAINED, AbstractMesh, Axes, AxisType, Mesh, PartitionSpec, current_mesh, in_force
from stagec.runtime.propagation import explicit_mesh, follow
from stagec.runtime.sharding import NamedSharding


def auto_axes(f: Any = None, /, *, axes: str | Sequence[str] | None = None, out_sharding: Any = None) -> Any:
    """A function in which the compiler chooses how values are split along axes of the mesh in force.

    In it, `typeof` says nothing of these axes. It takes `out_sharding` as a further keyword argument, too.

    Args:
      f: the function; without it, the result is a decorator.
      axes: names of axes of the mesh; by default all of them.
      out_sharding: how its results are split: a `PartitionSpec` or a `NamedSharding`, or a pytree prefix of these.

    Raises:
      TypeError: there is no `out_sharding`.
      ValueError: no mesh is in force, or it has no such axis.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.sharding import PartitionSpec as P, auto_axes
    >>> with stagec.set_mesh(stagec.make_mesh((1,), ("x",))):
    ...     print(auto_axes(lambda x: x * 2, out_sharding=P("x"))(snp.ones(4)).sharding.spec)
    P('x',)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def wrapped(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        _check_given("auto_axes", "out_sharding", "results", out_sharding)
        leaves = [*pytree.leaves((args, kwargs)), *pytree.leaves(out_sharding)]
        with in_force(_mesh_of("auto_axes", axes, AxisType.Auto, leaves)):
            result = f(*args, **kwargs)
        return reshard(result, out_sharding)

    return wrapped


def explicit_axes(f: Any = None, /, *, axes: str | Sequence[str] | None = None, in_sharding: Any = None) -> Any:
    """A function in which `typeof` says how values are split along axes of the mesh in force.

    It takes `in_sharding` as a further keyword argument, too.

    Args:
      f: the function; without it, the result is a decorator.
      axes: names of axes of the mesh; by default all of them.
      in_sharding: how its positional arguments are split: a `PartitionSpec` or a `NamedSharding` for all, or a tuple
        with one, or a pytree prefix of these, for each.

    Raises:
      TypeError: there is no `in_sharding`.
      ValueError: no mesh is in force, or it has no such axis.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.sharding import AxisType, PartitionSpec as P, explicit_axes
    >>> @explicit_axes(in_sharding=P("x"))
    ... def shown(x):
    ...     print(stagec.typeof(x).sharding.spec)
    ...     return x * 2
    >>> with stagec.set_mesh(stagec.make_mesh((1,), ("x",), axis_types=AxisType.Auto)):
    ...     _ = stagec.jit(shown)(snp.ones(4))
    P('x',)
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def wrapped(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        _check_given("explicit_axes", "in_sharding", "arguments", in_sharding)
        with in_force(_mesh_of("explicit_axes", axes, AxisType.Explicit, pytree.leaves(in_sharding))):
            args = reshard(args, in_sharding)
            for leaf in pytree.leaves(args):
                follow(leaf)
            result = f(*args, **kwargs)
        mesh = current_mesh()
        return pytree.map_leaves(lambda leaf: _as_it_is(leaf, mesh), result)

    return wrapped


def _as_it_is(value: Any, mesh: Any) -> Any:
    """A value as it is split, along the axes of a mesh."""
    free = PartitionSpec(*[UNCONSTRAINED] * np.ndim(value))
    return sharding_constraint_p(operand(value, "a result"), mesh=mesh, spec=Axes.of(free, np.ndim(value)))


def _check_given(what: str, name: str, split: str, sharding: Any) -> None:
    if sharding is None:
        raise location.error(TypeError, f"{what}: no {name}", fix=f"say how {split} are split, as in {name}=P('x')")


def _mesh_of(what: str, axes: str | Sequence[str] | None, kind: AxisType, leaves: Sequence[Any]) -> Mesh | AbstractMesh:
    """The mesh in force, else that of a value or a sharding, with axes of another type."""
    mesh = current_mesh()
    for leaf in leaves if mesh is None else ():
        mesh = mesh or (leaf.mesh if isinstance(leaf, NamedSharding) else explicit_mesh(leaf))
    if mesh is None:
        raise location.error(
            ValueError, f"{what}: no mesh is in force", fix="call it under `with stagec.set_mesh(mesh):`"
        )
    names = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise location.error(
            ValueError,
            f"{what}: the mesh in force has no axis {unknown[0]!r}",
            fix=f"name some of its axes, {', '.join(map(repr, mesh.axis_names))}",
        )
    kinds = [kind if name in names else known for name, known in zip(mesh.axis_names, mesh.axis_types)]
    return mesh.update(axis_types=tuple(kinds))
