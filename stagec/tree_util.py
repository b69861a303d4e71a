"""Functions on pytrees, by the names of `jax.tree_util`.

>>> tree_map(lambda x: 2 * x, {"w": (1, 2)})
{'w': (2, 4)}
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stagec.core import location, pytree
from stagec.core.boundary import publish as _publish
from stagec.core.callables import R
from stagec.core.errors import PytreeError, a_kind
from stagec.core.pytree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Key as KeyEntry,
    Partial,
    Path as KeyPath,
    PyTreeDef,
    SequenceKey,
    all_leaves,
    children_with_keys,
    is_leaf_type,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    treedef_tuple,
)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef", "SequenceKey",
    "all_leaves", "default_registry", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten", "treedef_children",
    "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

_NOTHING: Any = object()
IsLeaf = Callable[[Any], bool]

tree_map = pytree.map_leaves
tree_leaves = pytree.leaves
tree_structure = pytree.structure
tree_flatten = pytree.flatten
tree_flatten_with_path = pytree.flatten_with_path
tree_unflatten = pytree.unflatten
tree_transpose = pytree.transpose


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its path.

    >>> tree_leaves_with_path([7])
    [((SequenceKey(idx=0),), 7)]
    """
    return pytree.flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """The tree of `f(path, leaf, *parts)`; as `tree_map`, and `f` gets each leaf's path first.

    >>> tree_map_with_path(lambda path, x: keystr(path), {"w": [0, 0]})
    {'w': ["['w'][0]", "['w'][1]"]}
    """
    pairs, definition = pytree.flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    parts = [definition.flatten_up_to(other) for other in rest]
    return definition.unflatten([f(path, leaf, *row) for (path, leaf), *row in zip(pairs, *parts)])


def tree_reduce(
    function: Callable[[Any, Any], R], tree: Any, initializer: Any = _NOTHING, is_leaf: IsLeaf | None = None
) -> R:
    """Combine the leaves from left to right.

    Raises:
      PytreeError: the tree has no leaves, and no initializer was given.

    >>> tree_reduce(lambda a, b: a + b, {"a": 1, "b": (2, 3)})
    6
    """
    leaves = pytree.leaves(tree, is_leaf)
    if initializer is _NOTHING:
        if not leaves:
            raise location.error(PytreeError, "tree_reduce: the tree has no leaves", fix="pass an initializer")
        initializer, *leaves = leaves
    reduced: R = functools.reduce(function, leaves, initializer)
    return reduced


def tree_reduce_associative(
    operation: Callable[[Any, Any], R], tree: Any, *, identity: Any = _NOTHING, is_leaf: IsLeaf | None = None
) -> R:
    """Combine the leaves pairwise, in a balanced tree, which shortens the chain of operations.

    Raises:
      PytreeError: the tree has no leaves, and no identity was given.

    >>> tree_reduce_associative(lambda a, b: a + b, [1, 2, 3])
    6
    """
    values: list[Any] = pytree.leaves(tree, is_leaf)
    if not values:
        if identity is _NOTHING:
            raise location.error(PytreeError, "tree_reduce_associative: the tree has no leaves", fix="pass an identity")
        values = [identity]
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [operation(a, b) for a, b in zip(values[::2], values[1::2])] + odd
    reduced: R = values[0]
    return reduced


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true.

    >>> tree_all({"a": True, "b": 0})
    False
    """
    return all(pytree.leaves(tree, is_leaf))


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree of the structure of `full_tree`, in which each leaf of `prefix_tree` is repeated for all leaves below it.

    Raises:
      PytreeError: `prefix_tree` is not the upper part of `full_tree`.

    >>> tree_broadcast((1, 2), ({"a": 0, "b": 0}, 0))
    ({'a': 1, 'b': 1}, 2)
    """
    values = pytree.broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return pytree.structure(full_tree, is_leaf).unflatten(values)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is that of one leaf."""
    return treedef.num_nodes == 1


def is_tree_node(typ: type) -> bool:
    """Whether instances of a class are containers.

    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    return not is_leaf_type(typ)


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """The children of a tree's root, each with its key, and the root's static data.

    Raises:
      PytreeError: the tree is a leaf.

    >>> flatten_one_level_with_keys({"a": [1, 2]})
    ([(DictKey(key='a'), [1, 2])], ('a',))
    """
    found = children_with_keys(tree)
    if found is None:
        raise location.error(
            PytreeError, f"{a_kind(type(tree))} has no children, it is a leaf", fix="pass a container of a pytree"
        )
    pairs, data = found
    return pairs, data


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children of a tree's root, and the root's static data.

    Raises:
      PytreeError: the tree is a leaf.

    >>> flatten_one_level({"a": [1, 2], "b": {"c": 3}})
    ([[1, 2], {'c': 3}], ('a', 'b'))
    """
    pairs, data = flatten_one_level_with_keys(tree)
    return [child for _, child in pairs], data


class _Registry:
    """The classes that are containers. There is one registry, so there is one object of this class."""

    flatten = staticmethod(pytree.flatten)
    flatten_with_path = staticmethod(pytree.flatten_with_path)
    is_node = staticmethod(is_tree_node)

    def __contains__(self, typ: type) -> bool:
        return is_tree_node(typ)

    def flatten_one_level(self, tree: Any) -> tuple[list[Any], Any] | None:
        """As the function, and None for a leaf."""
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any] | None:
        """As the function, and None for a leaf."""
        return children_with_keys(tree)


default_registry = _Registry()


_publish(globals())
