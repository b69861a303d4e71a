"""Pytrees: nested containers, and the arrays at their ends.

`flatten` takes a tree apart into its leaves and a `PyTreeDef`, which puts leaves
together again. Tuples, lists, dicts, named tuples, `OrderedDict`, `defaultdict`
and None are containers (None has no leaves); other classes become containers by
registration, and everything else is a leaf.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from stagec.core import location
from stagec.core.containers import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Key,
    Partial,
    Path,
    SequenceKey,
    children_with_keys,
    keystr,
    node_of,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from stagec.core.errors import PytreeError, a_kind
from stagec.core.treedef import LEAF, PyTreeDef, make, structure_of, structure_until

if TYPE_CHECKING:
    from stagec.typing import ArrayLike

K = TypeVar("K")
R = TypeVar("R")
Leaf = TypeVar("Leaf", bound="ArrayLike")

__all__ = [
    "LEAF", "DictKey", "FlattenedIndexKey", "GetAttrKey", "Key", "Partial", "Path", "PyTreeDef", "SequenceKey",
    "all_leaves", "broadcast_prefix", "children_with_keys", "flatten", "flatten_with_path", "is_leaf_type", "keystr",
    "leaf_paths", "leaves", "map_leaves", "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "structure", "transpose",
    "treedef_tuple", "unflatten",
]  # fmt: skip


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """Take a tree apart.

    Args:
      tree: any pytree.
      is_leaf: says of each part of the tree, root first, whether to stop there.

    Returns:
      The leaves from left to right (dicts by sorted keys), and the structure.

    Raises:
      PytreeError: a dict's keys have no order, or the tree contains itself.

    >>> flatten({"b": 1, "a": (2, None)})
    ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    leaves: list[Any] = []
    try:
        if is_leaf is None:
            return leaves, structure_of(tree, leaves)
        return leaves, structure_until(tree, leaves, is_leaf)
    except RecursionError:
        _explain_recursion(tree)
        raise


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[Path, Any]], PyTreeDef]:
    """As `flatten`, with each leaf's path.

    Args:
      tree: any pytree.
      is_leaf: says of each part of the tree, root first, whether to stop there.
      is_leaf_takes_path: call `is_leaf(path, part)`.

    >>> [(keystr(path), leaf) for path, leaf in flatten_with_path({"w": [1, 2]})[0]]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    found: list[tuple[Path, Any]] = []
    try:
        return found, _structure_with_path(tree, (), found, is_leaf, is_leaf_takes_path)
    except RecursionError:
        _explain_recursion(tree)
        raise


def _structure_with_path(
    part: Any, path: Path, found: list[tuple[Path, Any]], is_leaf: Callable[..., bool] | None, takes_path: bool
) -> PyTreeDef:
    """The structure of a part of a tree, whose leaves are appended."""
    stop = is_leaf is not None and (is_leaf(path, part) if takes_path else is_leaf(part))
    below = None if stop else children_with_keys(part)
    if below is None:
        found.append((path, part))
        return LEAF
    pairs, data = below
    children = [_structure_with_path(child, (*path, key), found, is_leaf, takes_path) for key, child in pairs]
    return make(type(part), data, tuple(children))


def leaf_paths(definition: PyTreeDef) -> list[Path]:
    """The path of each leaf of a structure.

    >>> [keystr(path) for path in leaf_paths(structure({"w": (1, 2)}))]
    ["['w'][0]", "['w'][1]"]
    """
    return [path for path, _ in flatten_with_path(definition.unflatten(range(definition.num_leaves)))[0]]


def _explain_recursion(tree: Any) -> None:
    """Raise a PytreeError when `tree` contains itself or is nested too deeply; return when neither is so."""
    limit = sys.getrecursionlimit()
    stack: list[tuple[Any, Path, tuple[int, ...]]] = [(tree, (), ())]
    while stack:
        part, path, above = stack.pop()
        below = children_with_keys(part)
        if below is None:
            continue
        shown = keystr(path) if len(path) < 10 else keystr(path[:10]) + "..."
        if id(part) in above:
            again = keystr(path[: above.index(id(part))]) or "the tree itself"
            raise location.error(
                PytreeError,
                f"{a_kind(type(part))} contains itself, so it is not a pytree",
                values=[("tree" + shown, "is the same object as", again)],
                fix="break the cycle; a pytree ends in leaves",
            )
        if len(path) >= limit:
            raise location.error(
                PytreeError,
                f"a pytree is nested more than {limit} levels deep",
                values=[("tree" + shown, type(part).__name__, "")],
                fix="flatten the nesting, for example by stacking the levels into one array",
            )
        stack += [(child, (*path, key), (*above, id(part))) for key, child in below[0]]


def broadcast_prefix(prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """One value for each leaf of `full`: the leaf of `prefix` that stands there or above it.

    Args:
      prefix: a tree that is the upper part of `full`.
      full: any pytree, or its `PyTreeDef`.
      is_leaf: what counts as a leaf, in both trees.

    Raises:
      PytreeError: `prefix` is not the upper part of `full`.

    >>> broadcast_prefix((1, 2), ({"a": 0, "b": 0}, 0))
    [1, 1, 2]
    """
    if isinstance(full, PyTreeDef):
        full = full.unflatten([object()] * full.num_leaves)
    values, definition = flatten(prefix, is_leaf)
    out: list[Any] = []
    for value, part in zip(values, definition.flatten_up_to(full)):
        out += [value] * len(flatten(part, is_leaf)[0])
    return out


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put leaves together to a tree; the inverse of `flatten`."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, from left to right."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


@overload
def map_leaves(f: Callable[..., R], tree: Leaf, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> R: ...
@overload
def map_leaves(
    f: Callable[..., R], tree: dict[K, Leaf], *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> dict[K, R]: ...
@overload
def map_leaves(
    f: Callable[..., R], tree: list[Leaf], *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[R]: ...
@overload
def map_leaves(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any: ...
def map_leaves(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree of `f(leaf, *parts)`, where each part is at the leaf's position in one of `rest`.

    Raises:
      PytreeError: `tree` is not the upper part of each of `rest`.

    >>> map_leaves(lambda x, y: x + y, {"a": 1}, {"a": 2})
    {'a': 3}
    """
    first, definition = flatten(tree, is_leaf)
    if not rest:
        return definition.unflatten([f(leaf) for leaf in first])
    return definition.unflatten([f(*row) for row in zip(first, *map(definition.flatten_up_to, rest))])


def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out.

    Args:
      outer_treedef: structure whose leaves `pytree_to_transpose` replaces by trees of structure `inner_treedef`.
      inner_treedef: None takes it from the first of them.
      pytree_to_transpose: the tree.

    Raises:
      PytreeError: the tree does not have the structure.

    >>> transpose(structure([0, 0]), None, [(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    outer, inner, parts = outer_treedef, inner_treedef, outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner is None:
        inner = structure(parts[0]) if parts else LEAF
    columns = zip(*(inner.flatten_up_to(part) for part in parts)) if parts else [()] * inner.num_leaves
    return inner.unflatten([outer.unflatten(column) for column in columns])


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures."""
    return make(tuple, None, tuple(treedefs))


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether each value is a leaf, not a container."""
    return all((is_leaf is not None and is_leaf(value)) or node_of(type(value)) is None for value in iterable)


def is_leaf_type(cls: type) -> bool:
    """Whether instances of `cls` are leaves."""
    return node_of(cls) is None
