"""`vmap`: a function of one element becomes a function of a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.arguments import ArgumentRules
from stagec.api.flat import operand
from stagec.api.references import passed_references
from stagec.control import apart
from stagec.core import errors, location, pytree
from stagec.core.axis import Axis, as_names, check_name
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Function, P, R
from stagec.core.wrapping import wraps
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref, read, returning, write
from stagec.primitives.shape import transpose
from stagec.runtime.mesh import UNCONSTRAINED, AbstractMesh, Axes, Mesh, PartitionSpec
from stagec.transforms.batch import batch_flat


def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Function[P, R]:
    """A function that applies `fun` to all elements of a batch at once.

    Args:
      fun: a function of pytrees of arrays, written for one element.
      in_axes: which axis of the arguments counts the elements; None for an argument that all of them share.
        An integer for all arguments, or a tuple with one entry for each, which may be the upper part of the
        argument's pytree. Keyword arguments count along axis 0.
        A mapped reference holds one part for each element, which `fun` reads and writes.
      out_axes: the position of that axis in the results: an integer, or the upper part of the result's pytree. None for
        a result that does not depend on the element.
      axis_name: a name for `lax.psum`, `lax.axis_index` and the like, inside `fun`.
      axis_size: the number of elements; needed only where no argument has the axis.
      spmd_axis_name: an axis of a mesh, or a tuple of axes, along which `shard_map` and `with_sharding_constraint`
        inside of `fun` split the batch.

    Returns:
      A function with the arguments of `fun`, with one more axis.

    Raises:
      ShapeError: the arguments' axes differ in size, or an argument has too few axes.
      AxisError: `in_axes` or `out_axes` do not fit.

    >>> import stagec, stagec.numpy as snp
    >>> batched_dot = stagec.vmap(snp.dot, in_axes=(0, None))
    >>> batched_dot(snp.array([[1.0, 2.0], [3.0, 4.0]]), snp.array([1.0, 1.0]))
    Array([3., 7.], dtype=float32)
    """
    spmd = () if spmd_axis_name is None else as_names(spmd_axis_name)
    return mapped_over(
        fun, in_axes, out_axes, axis_name, axis_size, lambda size: Axis(size, spmd=spmd) if spmd else size
    )


def mapped_over(
    fun: Callable[P, R], in_axes: Any, out_axes: Any, axis_name: Any, axis_size: int | None, axis: Callable[[int], int]
) -> Function[P, R]:
    """As `vmap`.

    Args:
      axis: from the size of the batch to what more is known of it, an `Axis`.
    """
    if not callable(fun):
        raise location.error(
            TypeError,
            f"vmap takes a function, got {type(fun).__name__}",
            fix="write stagec.vmap(f)(x), not stagec.vmap(f(x))",
        )
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_spec("in_axes", in_axes)
    _check_spec("out_axes", out_axes)
    check_name(axis_name)

    @short_tracebacks
    @wraps(fun, "vmap")
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytree.flatten((args, kwargs))
        _refuse_own_batching(fun, tree)
        names = ArgumentRules(fun).leaf_names(args, kwargs)
        axes = _in_axes(fun, in_axes, args, kwargs)
        mapped = [i for i, v in enumerate(leaves) if type(v) is Ref and axes[i] is not None]
        if mapped:
            passed_references(leaves, lambda: names)
        refs = [leaves[i] for i in mapped]
        for i, ref in zip(mapped, refs):
            leaves[i] = read(ref)
        values = [v if a is None else operand(v, name) for v, a, name in zip(leaves, axes, names, strict=True)]
        dims = [a if a is None else _dimension(v, a, name) for v, a, name in zip(values, axes, names)]
        size = axis(_size(fun, values, dims, names, axis_size))
        division = getattr(size, "division", None)
        if division is not None:
            values = [v if d is None else division(v, d, axis_name) for v, d in zip(values, dims)]
        out_tree = pytree.LEAF

        def flat(*elements: Any) -> list[Any]:
            nonlocal out_tree
            call_args, call_kwargs = tree.unflatten(elements)
            found, out_tree = pytree.flatten_with_path(fun(*call_args, **call_kwargs))
            _refuse_own_batching(fun, out_tree)
            return [operand(leaf, f"result{pytree.keystr(path)} of vmap's function") for path, leaf in found]

        outs, out_dims = batch_flat(returning(flat, mapped), values, dims, size, axis_name)
        count = len(outs) - len(refs)
        for i, ref, o, d in zip(mapped, refs, outs[count:], out_dims[count:]):
            write(ref, _placed(fun, o, d, dims[i], size, ()))
        outs = outs[:count]
        wanted = axes_of_leaves("out_axes", out_axes, out_tree.unflatten([0] * len(outs)))
        paths = pytree.leaf_paths(out_tree)
        moved = [_placed(fun, o, d, w, size, p) for o, d, w, p in zip(outs, out_dims, wanted, paths)]
        return out_tree.unflatten(moved)

    return batched


@dataclasses.dataclass(frozen=True)
class Division:
    """How the devices of a mesh divide a batch; see `stagec.core.axis.Axis`."""

    mesh: Mesh | AbstractMesh

    def __call__(self, x: Any, dim: int, name: Any) -> Any:
        rank = aval_of(x).ndim
        entries: list[Any] = [UNCONSTRAINED] * rank
        entries[dim] = name
        return sharding_constraint_p(x, mesh=self.mesh, spec=Axes.of(PartitionSpec(*entries), rank))

    batch = staticmethod(apart.batch)


# Pytrees that libraries want to be mapped in a way of their own, instead of leaf by leaf.
own_batching: set[type] = set()


def _refuse_own_batching(fun: Callable[..., Any], tree: pytree.PyTreeDef) -> None:
    data = tree.node_data() if own_batching else None
    if data is not None and data[0] in own_batching:
        raise location.error(
            errors.UnsupportedError,
            f"vmap: {location.of_function(fun)} takes or returns {errors.a_kind(data[0])}, which was registered with "
            "jax.interpreters.batching.register_vmappable",
            fix="leave the registration out, and stagec.vmap maps over its leaves",
        )
    for child in tree.children() if own_batching else ():
        _refuse_own_batching(fun, child)


def _check_spec(name: str, axes: Any) -> None:
    for leaf in pytree.leaves(axes):
        if not isinstance(leaf, int) or isinstance(leaf, bool):
            raise location.error(
                TypeError,
                f"vmap: {name} must hold integers and None, got {errors.brief(leaf)}",
                fix="write 0 for the first axis, None for what all elements share",
            )


def axes_of_leaves(name: str, axes: Any, tree: Any) -> list[int | None]:
    """One entry of `axes` for each leaf of `tree`, of which it is the upper part."""
    values, definition = pytree.flatten(axes, lambda x: x is None)
    try:
        parts = definition.flatten_up_to(tree)
    except errors.PytreeError as error:
        raise errors.PytreeError(f"vmap: {name} does not fit what it describes: {error}") from None
    return [value for value, part in zip(values, parts) for _ in pytree.leaves(part)]


def _in_axes(fun: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    if not isinstance(in_axes, (int, tuple, type(None))) or (isinstance(in_axes, tuple) and len(in_axes) != len(args)):
        count = f" of length {len(in_axes)}" if isinstance(in_axes, tuple) else ""
        raise location.error(
            errors.AxisError,
            f"vmap: in_axes must be an integer, None, or a tuple with one entry for each of the {len(args)} positional "
            f"arguments of {location.of_function(fun)}, got {type(in_axes).__name__}{count}: {errors.brief(in_axes)}",
            fix=f"give one entry for each argument, as in in_axes={(0,) * len(args)}",
        )
    return axes_of_leaves("in_axes", in_axes, args) + [0] * len(pytree.leaves(kwargs))


def _dimension(value: Any, axis: int, name: str) -> int:
    aval = aval_of(value)
    if not -aval.ndim <= axis < aval.ndim:
        raise location.error(
            errors.ShapeError,
            f"vmap: axis {axis} of {name} is mapped, but it is {aval.long()} with {aval.ndim} axes",
            [(name, aval.long(), f"in_axes {axis}")],
            f"pass an array with that axis, or None for {name} in in_axes",
        )
    return axis % aval.ndim


def _size(
    fun: Any, values: Sequence[Any], dims: Sequence[int | None], names: Sequence[str], axis_size: int | None
) -> int:
    rows = [(n, aval_of(v), d) for n, v, d in zip(names, values, dims) if d is not None]
    sizes = [aval.shape[d] for _, aval, d in rows]
    if not sizes and axis_size is None:
        raise location.error(
            errors.ShapeError,
            f"vmap of {location.of_function(fun)}: no argument has an axis to map",
            fix="give an axis for at least one argument in in_axes, or give axis_size",
        )
    size = sizes[0] if axis_size is None else axis_size
    if any(s != size for s in sizes):
        given = [] if axis_size is None else [("axis_size", str(axis_size), "")]
        raise location.error(
            errors.ShapeError,
            f"vmap got inconsistent sizes for array axes to be mapped: {', '.join(map(str, dict.fromkeys(sizes)))}"
            + (f" where axis_size is {axis_size}" if given else ""),
            given + [(n, aval.long(), f"axis {d} has size {aval.shape[d]}") for n, aval, d in rows],
            "pass batches of one size, or None in in_axes for what all elements share",
        )
    return size


def _placed(fun: Any, out: Any, dim: int | None, axis: int | None, size: int, path: pytree.Path) -> Any:
    name = f"result{pytree.keystr(path)}"
    aval = aval_of(out)
    if axis is None:
        if dim is not None:
            raise location.error(
                errors.AxisError,
                f"vmap: out_axes is None for {name} of {location.of_function(fun)}, which differs between elements",
                [(name, aval.long(), f"batched along axis {dim}")],
                "give the axis where the elements are to be, or reduce it with stagec.lax.psum or stagec.lax.pmean",
            )
        return as_array(out)
    rank = aval.ndim + (dim is None)
    if not -rank <= axis < rank:
        raise location.error(
            errors.AxisError,
            f"vmap: out_axes {axis} is out of bounds for {name} of {location.of_function(fun)}, which has {rank} axes "
            "with the mapped one",
            fix=f"give an axis from {-rank} to {rank - 1}",
        )
    axis %= rank
    if dim == axis:
        return as_array(out)
    front = moveaxis_to_front(out, dim, size)
    order = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    return as_array(transpose(front, order) if axis else front)
