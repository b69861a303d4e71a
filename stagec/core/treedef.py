"""The structure of a pytree: how it is found, compared, and filled with leaves again."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stagec.core import location
from stagec.core.containers import REGISTRY, Key, children_with_keys, is_named_tuple, keystr, node_of
from stagec.core.errors import PytreeError, a_kind, brief


class _Leaf:
    """The type of a `PyTreeDef` that is one leaf."""


class PyTreeDef:
    """The structure of a pytree: all of it but its leaves.

    Structures compare equal, and hash equal, when the containers and what they
    hold besides leaves (dict keys, static fields) are equal. What they hold
    need not be hashable.

    >>> structure_of({"b": 1, "a": (2, 3)}, [])
    PyTreeDef({'a': (*, *), 'b': *})
    """

    __slots__ = ("_children", "_data", "_hash", "_plain", "_type", "num_leaves", "num_nodes")

    num_leaves: int
    num_nodes: int
    _plain: bool

    def __init__(self, node_type: type, data: Any, children: tuple[PyTreeDef, ...]) -> None:
        self._type = node_type
        self._data = data
        self._children = children
        self._hash: int | None = None
        leaves, nodes = 0, 1
        plain = True
        for child in children:
            leaves += child.num_leaves
            nodes += child.num_nodes
            plain = plain and child is LEAF
        self.num_leaves = leaves
        self.num_nodes = nodes
        # All children are leaves: such a structure is put together without recursion.
        self._plain = plain

    def children(self) -> list[PyTreeDef]:
        """The structures of the root's children."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The root's class and what it holds besides children; None for a leaf."""
        return None if self is LEAF else (self._type, list(self._data) if self._type is dict else self._data)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put leaves together to a tree of this structure.

        Raises:
          PytreeError: there are not `num_leaves` leaves.
        """
        leaves = leaves if isinstance(leaves, list | tuple) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise location.error(
                PytreeError,
                f"unflatten: {len(leaves)} leaves were given for a structure of {self.num_leaves}",
                values=[("structure", str(self), "")],
                fix="pass as many leaves as `num_leaves` says",
            )
        if self._plain:
            return REGISTRY[self._type].unflatten(self._data, leaves)
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self is LEAF:
            return next(leaves)
        children = [next(leaves) if child is LEAF else child._build(leaves) for child in self._children]
        return REGISTRY[self._type].unflatten(self._data, children)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` that stand where this structure has its leaves.

        Raises:
          PytreeError: this structure is not the upper part of `tree`.

        >>> structure_of((0, 0), []).flatten_up_to(([1, 2], 3))
        [[1, 2], 3]
        """
        out: list[Any] = []
        try:
            _flatten_up_to(self, tree, out)
        except _Mismatch as mismatch:
            raise mismatch.error(self, tree) from None
        return out

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` in place of each leaf."""
        if self is LEAF:
            return inner
        return PyTreeDef(self._type, self._data, tuple(child.compose(inner) for child in self._children))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self._type is other._type
            and self.num_nodes == other.num_nodes
            and self._children == other._children
            and _same_data(self, other._data)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            try:
                data = _hash_of(self._data)
            except TypeError:
                raise location.error(
                    PytreeError,
                    f"the static data of {self._type.__name__} is not hashable",
                    values=[("data", brief(self._data), "")],
                    fix="keep arrays among its children (data fields)",
                ) from None
            self._hash = hash((self._type, data, self._children))
        return self._hash

    def __reduce__(self) -> Any:
        return (_leaf, ()) if self is LEAF else (PyTreeDef, (self._type, self._data, self._children))

    def __str__(self) -> str:
        return f"PyTreeDef({_show(self)})"

    __repr__ = __str__


def _leaf() -> PyTreeDef:
    return LEAF


LEAF = PyTreeDef(_Leaf, None, ())
LEAF.num_leaves = 1
LEAF._plain = False
NONE = PyTreeDef(type(None), None, ())


def _hash_of(data: Any) -> int:
    """A hash of static data: of lists as of tuples, of a dict by its keys; what has none is only compared."""
    if isinstance(data, dict):
        return hash(frozenset(data))
    if type(data) in (tuple, list):
        return hash(tuple([_hash_of(part) for part in data]))
    try:
        return hash(data)
    except TypeError:
        if hasattr(data, "__array__"):
            raise
        return hash(type(data))


def _same_data(definition: PyTreeDef, data: Any) -> bool:
    if definition._data is data:
        return True
    try:
        return bool(definition._data == data)
    except ValueError:
        raise location.error(
            PytreeError,
            f"the static data of {definition._type.__name__} cannot be compared",
            values=[("data", brief(data), "")],
            fix="keep arrays among its children (data fields), not in its static data",
        ) from None


def _show(d: PyTreeDef) -> str:
    shown = [_show(child) for child in d._children]
    if d is LEAF:
        return "*"
    if d._type is type(None):
        return "None"
    if d._type is tuple:
        return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"
    if d._type is list:
        return f"[{', '.join(shown)}]"
    if d._type is dict:
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in zip(d._data, shown)) + "}"
    if is_named_tuple(d._type):
        return f"CustomNode(namedtuple[{d._type.__name__}], [{', '.join(shown)}])"
    return f"CustomNode({d._type.__name__}[{d._data}], [{', '.join(shown)}])"


# ---------------------------------------------------------------- flattening

# Structures of flat tuples and lists by length, so that the usual argument lists share one object.
_flat: dict[type, list[PyTreeDef]] = {
    kind: [PyTreeDef(kind, None, (LEAF,) * n) for n in range(65)] for kind in (tuple, list)
}
# Those of registered classes, such as random keys.
_flat_others: dict[tuple[type, int], PyTreeDef] = {}


def structure_of(tree: Any, leaves: list[Any]) -> PyTreeDef:
    """The structure of `tree`, whose leaves are appended to `leaves`."""
    cls = type(tree)
    node = REGISTRY.get(cls)
    if node is None and (not isinstance(tree, tuple) or (node := node_of(cls)) is None):
        leaves.append(tree)
        return LEAF
    children, data = node.flatten(tree)
    definitions = []
    for child in children:
        kind = type(child)
        if kind in REGISTRY or isinstance(child, tuple):
            definitions.append(structure_of(child, leaves))
        else:
            leaves.append(child)
            definitions.append(LEAF)
    return make(cls, data, tuple(definitions))


def make(cls: type, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """A structure; those of flat containers without data are shared."""
    if cls is tuple or cls is list:
        known = _flat[cls]
        count = len(children)
        if count < len(known) and children == known[count]._children:
            return known[count]
    elif cls is type(None):
        return NONE
    elif data is None and cls in REGISTRY:
        found = _flat_others.get((cls, len(children)))
        if found is not None and children == found._children:
            return found
        found = PyTreeDef(cls, None, children)
        if found._plain and len(children) < len(_flat[tuple]):
            _flat_others[cls, len(children)] = found
        return found
    return PyTreeDef(cls, data, children)


def structure_until(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> PyTreeDef:
    """As `structure_of`, stopping where `is_leaf` says so."""
    node = None if is_leaf(tree) else node_of(type(tree))
    if node is None:
        leaves.append(tree)
        return LEAF
    children, data = node.flatten(tree)
    return make(type(tree), data, tuple([structure_until(child, leaves, is_leaf) for child in children]))


# ---------------------------------------------------------------- mismatches


class _Mismatch(Exception):
    """A position where a tree differs from a structure; `keys` grow from the inside out."""

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = reason
        self.fix = fix
        self.keys: list[Key] = []

    def error(self, definition: PyTreeDef, tree: Any) -> PytreeError:
        where = f"at {keystr(self.keys[::-1])}" if self.keys else "at the root"
        return location.error(
            PytreeError,
            f"pytrees differ {where}: {self.reason}",
            values=[("expected", _cut(definition), ""), ("found", _cut(structure_of(tree, [])), "")],
            fix=self.fix,
        )


def difference(definition: PyTreeDef, tree: Any) -> tuple[str, str, str] | None:
    """Where a tree has another structure, how it differs, and what to do; None where it has this one.

    >>> difference(structure_of({"w": (1, 2)}, []), {"w": (1,)})
    ("['w']", 'a tuple of length 1 instead of 2', 'pass 2 elements there')
    >>> difference(LEAF, [1])
    ('', 'a list instead of an array', 'pass an array there')
    """
    parts: list[Any] = []
    try:
        _flatten_up_to(definition, tree, parts)
    except _Mismatch as mismatch:
        return keystr(mismatch.keys[::-1]), mismatch.reason, mismatch.fix
    for at, part in enumerate(parts):
        if structure_of(part, []) is not LEAF:
            numbered = definition.unflatten(range(definition.num_leaves))
            return _path_of(numbered, at), f"{a_kind(type(part))} instead of an array", "pass an array there"
    return None


def _path_of(tree: Any, leaf: int) -> str:
    """The path to a leaf of a tree whose leaves are their numbers."""
    pairs = children_with_keys(tree)
    for key, child in pairs[0] if pairs is not None else ():
        below: list[Any] = []
        structure_of(child, below)
        if leaf in below:
            return keystr((key,)) + _path_of(child, leaf)
    return ""


def _cut(definition: PyTreeDef) -> str:
    text = str(definition)
    return text if len(text) <= 200 else text[:197] + "..."


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def _check_root(definition: PyTreeDef, children: list[Any], data: Any) -> None:
    """Raise a _Mismatch unless a root with these children and data fits the root of `definition`."""
    name = definition._type.__name__
    if not _same_data(definition, data):
        expected, found = definition._data, data
        by_key = definition._type in (dict, collections.OrderedDict)
        if definition._type is collections.defaultdict and expected[0] == found[0]:
            expected, found, by_key = expected[1], found[1], True
        missing = [repr(key) for key in expected if key not in found] if by_key else []
        extra = [repr(key) for key in found if key not in expected] if by_key else []
        if missing or extra:
            parts = [f"no key {_few(missing)}"] * bool(missing)
            parts += [f"an unexpected key {_few(extra)}"] * bool(extra)
            raise _Mismatch(f"{a_kind(definition._type)} with " + " and ".join(parts), "give both trees the same keys")
        reason = f"the static data of {name} is {brief(found)} instead of {brief(expected)}"
        raise _Mismatch(reason, "give both trees equal static data, such as fields and the order of keys")
    count = len(definition._children)
    if len(children) != count:
        raise _Mismatch(
            f"{a_kind(definition._type)} of length {len(children)} instead of {count}", f"pass {count} elements there"
        )


def _flatten_up_to(definition: PyTreeDef, tree: Any, out: list[Any]) -> None:
    if definition is LEAF:
        out.append(tree)
        return
    cls = type(tree)
    if cls is not definition._type:
        wanted, given = a_kind(definition._type), a_kind(cls)
        raise _Mismatch(f"{given} instead of {wanted}", f"pass {wanted} there")
    node = REGISTRY[cls]
    children, data = node.flatten(tree)
    children = list(children)
    _check_root(definition, children, data)
    for index, (below, child) in enumerate(zip(definition._children, children)):
        if below is LEAF:
            out.append(child)
            continue
        try:
            _flatten_up_to(below, child, out)
        except _Mismatch as mismatch:
            pairs = children_with_keys(tree)
            assert pairs is not None, "the tree was taken apart above"
            mismatch.keys.append(pairs[0][index][0])
            raise
