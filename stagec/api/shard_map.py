"""`shard_map`: a function of the parts of arrays becomes one of the arrays.

The devices of a mesh share their memory. So the parts are the elements of a batch, one axis of the batch for each axis
of the mesh, and collective operations are those of `vmap`: one program computes all parts.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence, Set
from typing import Any, overload

from stagec.api.arguments import ArgumentRules
from stagec.api.batching import Division
from stagec.api.flat import operand
from stagec.api.jit import jit
from stagec.core import errors, location, pytree
from stagec.core.axis import Axis, typed_axes
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import P, R
from stagec.core.config import state
from stagec.core.functions import check_callable
from stagec.core.trace import Tracer
from stagec.core.wrapping import wraps
from stagec.primitives.arithmetic import mul
from stagec.primitives.broadcast import moveaxis_to_front, zeros
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.convert import as_array
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.reduce import reduce_sum
from stagec.primitives.shape import reshape, transpose
from stagec.primitives.slicing import index_in_dim
from stagec.runtime.array import Array as Value
from stagec.runtime.mesh import UNCONSTRAINED, AbstractMesh, Axes, AxisType, Mesh, PartitionSpec, current_mesh
from stagec.runtime.propagation import spec_of
from stagec.runtime.sharding import NamedSharding
from stagec.transforms.batch import batch_flat


class _Infer:
    """Stands for specs that the arguments' shardings say."""

    def __repr__(self) -> str:
        return "stagec.sharding.Infer"


Infer = _Infer()


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Any] = frozenset(),
    check_vma: bool = True,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Any] = frozenset(),
    check_vma: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that applies `f` to the parts that devices have of its arguments.

    `f` is traced once, with the shapes of a part. In it, `lax.psum`, `lax.ppermute`, `lax.axis_index` and the like
    work along the axes of the mesh.

    Args:
      f: a function of pytrees of arrays, the parts.
      out_specs: how the results are put together: a `PartitionSpec`, or a pytree prefix of the results with them. A
        result that is not split along an axis has to be the same along it.
      in_specs: how the arguments are split: a tuple with a `PartitionSpec`, or a pytree prefix with them, for each; by
        default as they are split already. With None in place of a spec, an array is whole, and `f` gets any other
        Python value itself; the program is then traced in each call.
      mesh: the devices; by default the mesh in force.
      axis_names: the axes that `f` knows of; by default all. What is split along others is whole in `f`.
      check_vma: refuse results that differ along an axis along which `out_specs` does not split them. With it, a
        gradient that `f` takes with respect to what is the same along an axis is summed over the axis, as in JAX.

    Raises:
      ShapeError: an axis cannot be split, or a spec is longer than its array has axes.
      ValueError: a spec names an unknown axis, or a result differs where it should not.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> from stagec.sharding import PartitionSpec as P
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> total = stagec.shard_map(lambda x: lax.psum(x.sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    >>> total(snp.arange(4.0))
    Array(6., dtype=float32)
    """
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names, check_vma=check_vma
        )
    check_callable("shard_map", "stagec.shard_map(f, mesh=mesh, in_specs=..., out_specs=...)(x)", f)
    function = f

    # By the mesh, and the specs of the arguments where those are inferred.
    compiled: dict[Any, Any] = {}

    @short_tracebacks
    @wraps(function, "shard_map")
    def call(*args: Any) -> Any:
        chosen, specs = mesh, in_specs
        key: Any = ()
        if type(mesh) is AbstractMesh:
            chosen = _concrete(mesh, args)
        if in_specs is Infer:
            mapped_axes = set(axis_names or _devices(chosen).axis_names)
            specs = tuple([pytree.map_leaves(functools.partial(_spec_of, mapped_axes), a) for a in args])
            key = tuple(pytree.flatten(specs)[0]), pytree.flatten(args)[1]

        def mapped(*args: Any) -> Any:
            return _Call(function, _devices(chosen), specs, out_specs, axis_names, check_vma).results(args)

        if typed_axes():  # inside of another, which is compiled, and knows along which axes the arguments differ
            return mapped(*args)
        kept = _python_values(specs, args)
        if kept:  # which are no arguments of a jitted function
            leaves, tree = pytree.flatten(args)
            arrays = [v for i, v in enumerate(leaves) if i not in kept]

            def of_arrays(*arrays: Any) -> Any:
                return mapped(*tree.unflatten(_with(kept, arrays)))

            return jit(wraps(function, "shard_map")(of_arrays))(*arrays)
        run = compiled.get((chosen, key))
        if run is None:
            run = compiled[chosen, key] = jit(wraps(function, "shard_map")(mapped))
        return run(*args)

    return call


@overload
def smap(f: Callable[P, R], /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Any) -> Callable[P, R]: ...
@overload
def smap(
    f: None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Any) -> Any:
    """`shard_map` along one axis of the mesh in force, with positions of axes in place of specs.

    Args:
      f: a function of pytrees of arrays, the parts.
      in_axes, out_axes: which axis of the arguments and results is split: an integer, None for what is whole, or a
        pytree prefix of these.
      axis_name: the axis of the mesh.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> with stagec.set_mesh(stagec.make_mesh((1,), ("x",))):
    ...     stagec.smap(lambda x: lax.psum(x, "x"), in_axes=0, out_axes=None, axis_name="x")(snp.arange(2.0))
    Array([0., 1.], dtype=float32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    mesh = current_mesh()
    if in_axes is Infer and mesh is not None and axis_name in mesh.auto_axes:
        raise location.error(
            TypeError,
            f"smap: in_axes was not given, and the axis {axis_name!r} of the mesh in force is not explicit",
            fix="pass in_axes, such as in_axes=0",
        )

    def spec(axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    def specs(axes: Any) -> Any:
        leaves, tree = pytree.flatten(axes, lambda x: x is None)
        return tree.unflatten(map(spec, leaves))

    return shard_map(
        f,
        in_specs=Infer if in_axes is Infer else specs(in_axes),
        out_specs=specs(out_axes),
        axis_names={axis_name},
    )


def _python_values(in_specs: Any, args: tuple[Any, ...]) -> dict[int, Any]:
    """Those leaves of the arguments that are no arrays and have None in place of a spec, by their numbers."""
    if in_specs is None or isinstance(in_specs, (tuple, list, dict)):
        with contextlib.suppress(errors.PytreeError):
            specs = pytree.broadcast_prefix(in_specs, args, is_leaf=lambda s: s is None)
            values = pytree.flatten(args, lambda v: v is None)[0]
            rows = [row for row in zip(specs, values) if row[1] is not None]
            return {i: v for i, (s, v) in enumerate(rows) if s is None and not hasattr(v, "dtype")}
    return {}


def _with(kept: dict[int, Any], others: Sequence[Any]) -> list[Any]:
    """Leaves of a tree of which some are known, by their numbers."""
    rest = iter(others)
    return [kept[i] if i in kept else next(rest) for i in range(len(kept) + len(others))]


def _spec_of(axes: Set[Any], value: Any) -> PartitionSpec:
    """How an argument is split along some axes of the mesh."""
    found = spec_of(value)
    if found is None:
        raise location.error(
            ValueError,
            "shard_map: how a traced argument is split is not known",
            fix="pass in_specs, or make a mesh with explicit axes the one in force around stagec.jit",
        )
    return found.update([tuple([n for n in names if n in axes]) for names in found.axes()])


def _concrete(mesh: AbstractMesh, args: Any) -> Mesh | AbstractMesh:
    """A mesh with the devices of the arguments, where none is in force."""
    if isinstance(current_mesh(), Mesh):
        return mesh
    shardings = [v.sharding for v in pytree.flatten(args)[0] if type(v) is Value]
    found = [s.mesh for s in shardings if isinstance(s, NamedSharding)]
    for other in found:
        if other.shape_tuple != mesh.shape_tuple:
            raise location.error(
                ValueError,
                f"shard_map: an argument is split along {other}, and the mesh is {mesh}",
                fix="pass the mesh of the arguments",
            )
    if not found and not any(isinstance(v, Tracer) for v in pytree.flatten(args)[0]):
        raise location.error(
            ValueError,
            f"shard_map: {mesh} has no devices, and neither has an argument a NamedSharding",
            fix="pass a Mesh, or arrays that are split",
        )
    return found[0] if found else mesh


def _devices(mesh: Mesh | AbstractMesh | None) -> Mesh | AbstractMesh:
    if isinstance(mesh, Mesh):
        return mesh
    ambient = current_mesh()
    if mesh is None or isinstance(ambient, Mesh):
        mesh = ambient
    if mesh is None:
        raise location.error(
            ValueError,
            "shard_map: no mesh was given, and none is in force",
            fix="pass mesh=stagec.make_mesh(...), or call it under `with stagec.set_mesh(mesh):`",
        )
    return mesh


class _Call:
    """One call of a mapped function.

    Args:
      axis_names: the axes that the function knows of; all if empty.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        mesh: Mesh | AbstractMesh,
        in_specs: Any,
        out_specs: Any,
        axis_names: Any,
        check_vma: bool,
    ) -> None:
        self.function = function
        self.mesh = mesh
        self.in_specs, self.out_specs = in_specs, out_specs
        self.check = check_vma
        known = set(axis_names) or set(mesh.axis_names)
        unknown = known - set(mesh.axis_names)
        if unknown:
            raise location.error(
                ValueError,
                f"shard_map: axis_names={sorted(map(str, unknown))} are not among the axes of {mesh}",
                fix=f"use {', '.join(map(repr, mesh.axis_names))}",
            )
        self.axes = [name for name in mesh.axis_names if name in known]
        self.out_tree = pytree.LEAF
        # For each axis, which results differ along it.
        self.varying: list[list[bool]] = [[] for _ in self.axes]

    def results(self, args: tuple[Any, ...]) -> Any:
        leaves, tree = pytree.flatten(args)
        names = ArgumentRules(self.function).leaf_names(args, {})
        specs = self._prefixed("in_specs", self.in_specs, args)
        kept = _python_values(self.in_specs, args)
        rows = [row for i, row in enumerate(zip(leaves, specs, names, strict=True)) if i not in kept]
        cut = [self._cut(operand(v, name), s, name) for v, s, name in rows]

        def flat(*parts: Any) -> list[Any]:
            before, state.mesh = state.mesh, self._inside()
            try:
                found, self.out_tree = pytree.flatten_with_path(self.function(*tree.unflatten(_with(kept, parts))))
            finally:
                state.mesh = before
            return [operand(v, f"result{pytree.keystr(path)} of shard_map's function") for path, v in found]

        outs = self._batched(flat, 0, [used for _, used in cut])(*[v for v, _ in cut])
        wanted = self._prefixed("out_specs", self.out_specs, self.out_tree.unflatten([0] * len(outs)))
        paths = pytree.leaf_paths(self.out_tree)
        return self.out_tree.unflatten([self._put(i, *row) for i, row in enumerate(zip(outs, wanted, paths))])

    def _inside(self) -> Mesh | AbstractMesh:
        types = [AxisType.Manual if n in self.axes else t for n, t in zip(self.mesh.axis_names, self.mesh.axis_types)]
        return self.mesh.update(axis_types=tuple(types))

    def _prefixed(self, name: str, specs: Any, tree: Any) -> list[PartitionSpec]:
        """One spec for each leaf of a tree."""
        whole = PartitionSpec()
        try:
            found = pytree.broadcast_prefix(specs, tree, is_leaf=lambda s: s is None)
            leaves = pytree.flatten(tree, lambda v: v is None)[0]
        except errors.PytreeError as error:
            raise errors.PytreeError(f"shard_map: {name} does not fit what it describes: {error}") from None
        rows = [whole if s is None else s for s, v in zip(found, leaves) if v is not None]
        for spec in rows:
            if not isinstance(spec, PartitionSpec):
                raise location.error(
                    TypeError,
                    f"shard_map: {name} must hold PartitionSpecs, got {errors.brief(spec)}",
                    fix="write P('x') for an array whose first axis is split along x, P() for a whole one",
                )
            self._check_names(name, spec)
        return rows

    def _check_names(self, name: str, spec: PartitionSpec) -> None:
        used = [n for names in spec.axes() for n in names]
        for n in used:
            if n not in self.axes:
                raise location.error(
                    ValueError,
                    f"shard_map: {name} refers to {n!r} in {spec}, which is not among the mapped axes",
                    fix=f"use {', '.join(map(repr, self.axes))}",
                )
        terms = spec.unreduced | spec.reduced
        if terms and len(self.axes) < len(self.mesh.axis_names):
            raise location.error(
                errors.UnsupportedError,
                f"shard_map: {name} {spec} has axes of terms, and the function knows of some axes of the mesh alone",
                fix="leave axis_names out",
            )
        if terms and AxisType.Auto in self.mesh.axis_types:
            raise location.error(
                ValueError,
                f"shard_map: {name} {spec} has axes of terms, and {self.mesh} has axes that are not explicit",
                fix="make the mesh with axis_types=AxisType.Explicit",
            )
        used += terms
        if len(set(used)) < len(used):
            raise location.error(
                ValueError, f"shard_map: {name}: {spec} names an axis twice", fix="split one axis along each"
            )

    def _sizes(self, names: Sequence[Any]) -> list[int]:
        return [self.mesh.shape[n] for n in names]

    def _cut(self, value: Any, spec: PartitionSpec, name: str) -> tuple[Any, list[bool]]:
        """An argument with an axis in front for each axis of the mesh that splits it, and which axes these are."""
        aval = aval_of(value)
        if len(spec) > aval.ndim:
            raise self._too_long("in_specs", spec, name, aval)
        sizes: list[int] = []
        front: dict[Any, int] = {}
        local = []
        terms = [k for k in self.axes if k in spec.unreduced]
        for k, size in zip(terms, self._sizes(terms)):
            front[k] = len(sizes)
            sizes.append(size)
        for axis, n in enumerate(aval.shape):
            names = spec.axes(aval.ndim)[axis]
            counts = self._sizes(names)
            if n % math.prod(counts):
                raise location.error(
                    errors.ShapeError,
                    f"shard_map of {location.of_function(self.function)}: axis {axis} of {name} is not evenly "
                    f"divisible: {n} by {math.prod(counts)}",
                    [(name, aval.long(), f"in_specs {spec}")],
                    f"pad the axis to a multiple of {math.prod(counts)}, or leave it whole",
                )
            for k, size in zip(names, counts):
                front[k] = len(sizes)
                sizes.append(size)
            local.append(len(sizes))
            sizes.append(n // math.prod(counts))
        used = [k in front for k in self.axes]
        value = self._constrained(value, spec, aval.ndim)
        if not front:
            return value, used
        order = [front[k] for k in self.axes if k in front] + local
        if terms:  # the first device has the value, and others zeros
            others = zeros(aval.update(shape=(math.prod(self._sizes(terms)) - 1, *aval.shape)))
            value = concatenate([reshape(value, (1, *aval.shape)), others], 0)
        split = reshape(value, sizes)
        return (split if order == sorted(order) else transpose(split, order)), used

    def _batched(self, flat: Callable[..., Any], level: int, used: list[list[bool]]) -> Callable[..., list[Any]]:
        """The function over the axes of the mesh from `level` on; results have the axes along which they differ first.

        Args:
          used: along which axes each argument is split.
        """
        if level == len(self.axes):
            return flat
        inner = self._batched(flat, level + 1, used)
        name = self.axes[level]
        dims = [0 if row[level] else None for row in used]

        def run(*values: Any) -> list[Any]:
            size = Axis(self.mesh.shape[name], division=Division(self.mesh))
            outs, found = batch_flat(inner, values, dims, size, name, typed=self.check)
            self.varying[level] = [d is not None for d in found]
            return [moveaxis_to_front(o, d) for o, d in zip(outs, found)]

        return run

    def _put(self, i: int, value: Any, spec: PartitionSpec, path: pytree.Path) -> Any:
        """A result put together: its parts have the axes along which they differ first."""
        differs = [name for name, row in zip(self.axes, self.varying) if row[i]]
        aval = aval_of(value)
        rank = aval.ndim - len(differs)
        name = f"result{pytree.keystr(path)}"
        for n in sorted(spec.unreduced, key=self.axes.index):
            if n in differs:
                value = reduce_sum(value, (differs.index(n),))
                differs.remove(n)
            elif self.check:
                raise location.error(
                    ValueError,
                    f"shard_map of {location.of_function(self.function)}: {name} is the same along {n!r}, and "
                    f"out_specs {spec} says that devices have terms of it",
                    fix="leave the axis out of unreduced",
                )
            else:
                value = mul(value, literal(self.mesh.shape[n], aval.dtype))
        if len(spec) > rank:
            raise self._too_long("out_specs", spec, name, aval.update(shape=aval.shape[len(differs) :]))
        wanted = [n for names in spec.axes() for n in names]
        extra = [n for n in differs if n not in wanted]
        if extra and self.check:
            raise location.error(
                ValueError,
                f"shard_map of {location.of_function(self.function)}: {name} differs between devices along "
                f"{', '.join(map(repr, extra))}, and out_specs {spec} says that it is the same",
                fix="split the result along the axis, as in P('x'), reduce it with stagec.lax.psum or "
                "stagec.lax.pmean, or pass check_vma=False to take the first device's",
            )
        for n in extra:
            value = index_in_dim(value, 0, differs.index(n), False)
            differs.remove(n)
        for n in [n for n in wanted if n not in differs]:
            value = moveaxis_to_front(value, None, self.mesh.shape[n])
            differs.insert(0, n)
        if differs:
            value = self._merged(value, spec, differs, rank)
        return as_array(self._constrained(value, spec, rank))

    def _constrained(self, value: Any, spec: PartitionSpec, rank: int) -> Any:
        manual: frozenset[Any] = frozenset()
        if spec.unreduced or spec.reduced:
            spec = spec.update([*spec, *[None] * (rank - len(spec))])
        if len(self.axes) < len(self.mesh.axis_names):  # along other axes, it stays split
            manual = frozenset(self.axes)
            entries = [UNCONSTRAINED if n is None else n for n in (*spec, *[None] * (rank - len(spec)))]
            spec = PartitionSpec(*entries)
        spec = NamedSharding(self.mesh, spec).filled(rank).spec
        return sharding_constraint_p(value, mesh=self.mesh, spec=Axes.of(spec, rank, manual))

    def _merged(self, value: Any, spec: PartitionSpec, differs: list[Any], rank: int) -> Any:
        count = len(differs)
        shape = aval_of(value).shape
        order: list[int] = []
        sizes = []
        for axis in range(rank):
            names = spec.axes(rank)[axis]
            order += [differs.index(n) for n in names] + [count + axis]
            sizes.append(math.prod(self._sizes(names)) * shape[count + axis])
        moved = value if order == sorted(order) else transpose(value, order)
        return reshape(moved, sizes)

    def _too_long(self, kind: str, spec: PartitionSpec, name: str, aval: Any) -> errors.StagecError:
        return location.error(
            errors.ShapeError,
            f"shard_map of {location.of_function(self.function)}: {kind} {spec} has {len(spec)} entries, and {name} "
            f"has {aval.ndim} axes",
            [(name, aval.long(), "")],
            "leave entries out, or give the array more axes, as in x[None]",
        )
