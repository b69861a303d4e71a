"""Structures of pytrees as `jax.export` serializes them, and the classes that users register for it."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stagec.core import errors, location, pytree
from stagec.core.containers import REGISTRY
from stagec.foreign.damaged import Damaged
from stagec.foreign.flatbuffer import Fields

_KIND, _CHILDREN, _NAMES, _CLASS, _DATA = range(5)
_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
_KINDS: dict[type, int] = {type(None): _NONE, tuple: _TUPLE, list: _LIST, dict: _DICT}
# Limits on the parts and the depth of a structure: damaged ones may contain cycles.
_PARTS = 100_000
_DEEP = 100


class _Registered(NamedTuple):
    """A class whose instances may be in a serialized structure."""

    cls: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any]


_by_class: dict[type, _Registered] = {}
_by_name: dict[str, _Registered] = {}


def register(
    cls: type,
    name: str,
    write: Callable[[Any], bytes],
    read: Callable[[bytes], Any],
    build: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> None:
    """Let instances of a registered pytree class be in serialized structures.

    Args:
      name: stands for the class in files.
      write: what an instance holds besides its children, as bytes.
      read: the inverse of `write`.
      build: makes an instance of what `read` returned and the children; by default, as the class is registered.

    Raises:
      ValueError: the class, or the name, is registered already; or the class is no pytree.
    """
    if build is None:
        node = REGISTRY.get(cls)
        if node is None:
            fix = "call jax.tree_util.register_pytree_node for it first, or pass from_children"
            raise location.error(ValueError, f"{cls.__name__} is not registered as a pytree", fix=fix)
        build = node.unflatten
    if cls in _by_class or name in _by_name:
        what = f"the class {cls.__name__}" if cls in _by_class else f"the name {name!r}"
        raise location.error(ValueError, f"{what} is registered for serialization already", fix="register it once")
    _by_class[cls] = _by_name[name] = _Registered(cls, name, write, read, build)


def register_named_tuple(cls: Any, name: str) -> None:
    """As `register`, for a class of named tuples, whose fields are written."""

    def write(_: Any) -> bytes:
        return json.dumps(cls._fields).encode()

    register(cls, name, write, json.loads, lambda fields, children: cls(**dict(zip(fields, children))))


def _written_keys(keys: Sequence[Any]) -> bytes:
    _check_keys(keys)
    return json.dumps(keys).encode()


def _check_keys(keys: Sequence[Any]) -> None:
    for key in keys:
        if not isinstance(key, str):
            what = f"a dictionary has the key {errors.brief(key)}, and files of jax.export hold texts"
            raise location.error(TypeError, what, fix="convert the keys to str")


register(
    collections.OrderedDict,
    "collections.OrderedDict",
    _written_keys,
    json.loads,
    lambda keys, children: collections.OrderedDict(zip(keys, children)),
)


def written(tree: pytree.PyTreeDef) -> Fields:
    """A structure as the fields of a table.

    Raises:
      ValueError: it holds objects of a class that is not registered.
      TypeError: the keys of a dictionary are no texts.
    """
    data = tree.node_data()
    if data is None:
        return {_KIND: ("b", _LEAF)}
    cls, held = data
    fields: Fields = {_CHILDREN: [written(child) for child in tree.children()]}
    if cls in _KINDS:
        fields[_KIND] = ("b", _KINDS[cls])
        if cls is dict:
            _check_keys(held)
            fields[_NAMES] = list(held)
        return fields
    found = _by_class.get(cls)
    if found is None:
        raise location.error(
            ValueError,
            f"the arguments or results hold objects of the class {cls.__name__}, which is not registered for "
            "serialization",
            fix="call jax.export.register_pytree_node_serialization or register_namedtuple_serialization for it",
        )
    return {**fields, _KIND: ("b", _CUSTOM), _CLASS: found.name, _DATA: bytes(found.write(held))}


class Reader:
    """Reads serialized structures of the file `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts = 0

    def structure(self, table: Any) -> pytree.PyTreeDef:
        return pytree.structure(self._example(table, _DEEP))

    def _example(self, tree: Any, room: int) -> Any:
        """An object with a structure, with zeros for leaves; raises if it is nested deeper than `room`."""
        self._parts += 1
        if not room or self._parts > _PARTS:
            raise self._invalid("holds a structure of too many parts", "flatten what the function takes and returns")
        kind = tree.number(_KIND, "b")
        if kind == _LEAF:
            return 0
        if kind == _NONE:
            return None
        children = [self._example(child, room - 1) for child in tree.tables(_CHILDREN)]
        if kind == _TUPLE:
            return tuple(children)
        if kind == _LIST:
            return children
        if kind == _DICT:
            names = tree.strings(_NAMES)
            if len(names) != len(children):
                raise Damaged("a dictionary has more values than names, or fewer")
            return dict(zip(names, children))
        name = tree.bytes(_CLASS).decode(errors="replace")
        found = _by_name.get(name)
        if found is None:
            raise self._invalid(
                f"takes or returns objects of the class {name or 'unknown'}, which is not registered here",
                "register it with jax.export.register_pytree_node_serialization of stagec.compat, "
                "or export a function of tuples, lists and dictionaries",
            )
        try:
            return found.build(found.read(tree.bytes(_DATA)), children)
        except Exception as error:  # of the user's function, or of damaged data
            raise self._invalid(f"holds data of {name} that cannot be read: {error}", "export it again") from error

    def _invalid(self, what: str, fix: str) -> errors.ArtifactError:
        return location.error(errors.ArtifactError, f"{self._name} {what}", fix=fix)
