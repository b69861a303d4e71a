"""`jax.api_util`: functions of pytrees as functions of their leaves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from stagec.api.environment import typeof
from stagec.compat.extend.linear_util import WrappedFun, transformation_with_aux
from stagec.compat.util import safe_map
from stagec.core import pytree
from stagec.core.wrapping import shown_name

__all__ = [
    "argnums_partial", "debug_info", "donation_vector", "flatten_axes", "flatten_fun", "flatten_fun_nokwargs",
    "infer_argnums_and_argnames", "rebase_donate_argnums", "safe_map", "shaped_abstractify",
]  # fmt: skip

shaped_abstractify = typeof


class DebugInfo(NamedTuple):
    """What a function is traced for, and its name."""

    traced_for: str
    func_name: str


def debug_info(traced_for: str, fun: Callable[..., Any], args: Any, kwargs: Any, **more: Any) -> DebugInfo:
    """What `linear_util.wrap_init` takes; messages do not use it."""
    return DebugInfo(traced_for, shown_name(fun))


@transformation_with_aux
def flatten_fun(in_tree: pytree.PyTreeDef, *args_flat: Any) -> Any:
    """A function of the leaves of `(args, kwargs)`, which returns leaves; and the structure of its last result."""
    args, kwargs = in_tree.unflatten(args_flat)
    result = yield args, kwargs
    yield pytree.flatten(result)


@transformation_with_aux
def flatten_fun_nokwargs(in_tree: pytree.PyTreeDef, *args_flat: Any) -> Any:
    """The same of the leaves of `args`."""
    result = yield in_tree.unflatten(args_flat), {}
    yield pytree.flatten(result)


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], require_static_args_hashable: bool = True
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A function of some of the arguments, and these arguments; the others are fixed."""
    chosen = [dyn_argnums] if isinstance(dyn_argnums, int) else [n % len(args) for n in dyn_argnums]

    def call(*given: Any, **kwargs: Any) -> Any:
        remaining = dict(zip(chosen, given, strict=True))
        return f.call_wrapped(*[remaining.get(i, a) for i, a in enumerate(args)], **kwargs)

    return f.within(call), tuple([args[n] for n in chosen])


def donation_vector(
    donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: pytree.PyTreeDef, kws: bool = True
) -> tuple[bool, ...]:
    """Whether each leaf belongs to a donated argument, for the structure of `(args, kwargs)`."""
    args, *named = in_tree.children() if kws else [in_tree]
    counts = [(i in donate_argnums, child.num_leaves) for i, child in enumerate(args.children())]
    for tree in named:
        data = tree.node_data()
        assert data is not None, "keyword arguments are a dict"
        counts += [(k in donate_argnames, child.num_leaves) for k, child in zip(data[1], tree.children())]
    return tuple([donated for donated, count in counts for _ in range(count)])


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the names of some parameters, of which one is given, or both.

    >>> infer_argnums_and_argnames(inspect.signature(lambda x, y, *, z: x), None, ["y", "z"])
    ((1,), ('y', 'z'))
    """
    numbers = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    placed = [(i, n) for i, (n, p) in enumerate(sig.parameters.items()) if p.kind is p.POSITIONAL_OR_KEYWORD]
    if argnums is None:
        numbers = tuple([i for i, n in placed if n in names])
    elif argnames is None:
        names = tuple([n for i, n in placed if i in numbers])
    return numbers, names


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int]) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static."""
    static = set(static_argnums)
    return tuple([i - sum(s < i for s in static) for i in sorted(donate_argnums) if i not in static])


def flatten_axes(name: str, treedef: pytree.PyTreeDef, axis_tree: Any) -> list[Any]:
    """A tree of axes as one axis for each leaf of a structure, of which it is the upper part."""
    whole = treedef.unflatten([0] * treedef.num_leaves)
    return pytree.broadcast_prefix(axis_tree, whole, is_leaf=lambda axis: axis is None)
