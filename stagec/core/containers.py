"""The classes that are containers in pytrees, how each is flattened, and the keys of paths into them."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from stagec.core import location
from stagec.core.errors import PytreeError, brief

# ---------------------------------------------------------------- paths


@dataclass(frozen=True)
class SequenceKey:
    """A step of a path into a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclass(frozen=True)
class DictKey:
    """A step of a path into a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """A step of a path into an object, by the name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """A step of a path into a registered class that names no keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


Key: TypeAlias = Any  # one of the four above, or what a registered class gives
Path: TypeAlias = tuple[Key, ...]


def keystr(keys: Sequence[Key], *, simple: bool = False, separator: str = "") -> str:
    """A path as text, as it would be written after the tree's name.

    Args:
      keys: a path.
      simple: bare keys, without brackets and quotes.
      separator: what stands between two keys.

    >>> keystr((DictKey("w"), SequenceKey(0)))
    "['w'][0]"
    >>> keystr((DictKey("w"), SequenceKey(0)), simple=True, separator="/")
    'w/0'
    """
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: Key) -> str:
    for attribute in ("idx", "key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


# ---------------------------------------------------------------- the registry

_registered: set[type] = set()


class Node(NamedTuple):
    """How one class of containers is taken apart and put together."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Any]] | None = None


def sorted_keys(tree: dict[Any, Any]) -> list[Any]:
    """The keys of a dict in the order of its leaves."""
    try:
        return sorted(tree)
    except TypeError:
        kinds = ", ".join(sorted({type(key).__name__ for key in tree}))
        raise location.error(
            PytreeError,
            f"the keys of a dict cannot be put in order, so it is not a pytree (keys of type {kinds})",
            [("dict", brief(tree), "")],
            "use keys of one type, such as str, or an OrderedDict, whose own order is taken",
        ) from None


def _flatten_dict(tree: dict[Any, Any]) -> tuple[list[Any], Any]:
    keys = sorted_keys(tree)
    return [tree[key] for key in keys], tuple(keys)


def _flatten_default_dict(tree: Any) -> tuple[list[Any], Any]:
    children, keys = _flatten_dict(tree)
    return children, (tree.default_factory, keys)


def _items(tree: Any) -> Iterator[tuple[Key, Any]]:
    return ((DictKey(key), tree[key]) for key in sorted_keys(tree))


def _enumerated(tree: Any) -> Iterator[tuple[Key, Any]]:
    return ((SequenceKey(i), child) for i, child in enumerate(tree))


REGISTRY: dict[type, Node] = {
    tuple: Node(lambda x: (x, None), lambda _, xs: tuple(xs), lambda x: (_enumerated(x), None)),
    list: Node(lambda x: (x, None), lambda _, xs: list(xs), lambda x: (_enumerated(x), None)),
    dict: Node(_flatten_dict, lambda keys, xs: dict(zip(keys, xs)), lambda x: (_items(x), _flatten_dict(x)[1])),
    type(None): Node(lambda x: ((), None), lambda _, xs: None),
    collections.OrderedDict: Node(
        lambda x: (tuple(x.values()), tuple(x)),
        lambda keys, xs: collections.OrderedDict(zip(keys, xs)),
        lambda x: ([(DictKey(key), child) for key, child in x.items()], tuple(x)),
    ),
    collections.defaultdict: Node(
        _flatten_default_dict,
        lambda data, xs: collections.defaultdict(data[0], zip(data[1], xs)),
        lambda x: (_items(x), _flatten_default_dict(x)[1]),
    ),
}


def _named_tuple_node(cls: Any) -> Node:
    fields = cls._fields
    return Node(
        lambda x: (x, None),
        lambda _, xs: cls(*xs),
        lambda x: ([(GetAttrKey(name), child) for name, child in zip(fields, x)], None),
    )


def is_named_tuple(cls: type) -> bool:
    """Whether `cls` is a container because it is a named tuple, not by registration."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and cls not in _registered


def node_of(cls: type) -> Node | None:
    """How instances of `cls` are taken apart, or None where they are leaves."""
    node = REGISTRY.get(cls)
    if node is None and issubclass(cls, tuple) and is_named_tuple(cls):
        # Remembered, since the search through base classes is slow.
        node = REGISTRY[cls] = _named_tuple_node(cls)
    return node


def register(cls: type, node: Node) -> None:
    """Make `cls` a container; a class is registered once.

    Raises:
      PytreeError: `cls` is not a class, or is registered already.
    """
    if not isinstance(cls, type):
        raise location.error(
            PytreeError, f"{cls!r} is not a class, so it cannot be registered", fix="pass the class itself"
        )
    if cls in _registered or (cls in REGISTRY and not is_named_tuple(cls)):
        raise location.error(
            PytreeError, f"{cls.__name__} is registered as a pytree already", fix="remove the second registration"
        )
    _registered.add(cls)
    REGISTRY[cls] = node


def children_with_keys(tree: Any) -> tuple[list[tuple[Key, Any]], Any] | None:
    """The root's children, each with its key, and its static data; None for a leaf."""
    node = node_of(type(tree))
    if node is None:
        return None
    if node.flatten_with_keys is None:
        children, data = node.flatten(tree)
        return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)], data
    pairs, data = node.flatten_with_keys(tree)
    return list(pairs), data


# ---------------------------------------------------------------- registration

T = TypeVar("T")
C = TypeVar("C", bound=type)


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Any]] | None = None,
) -> None:
    """Make a class a container, by two functions.

    Args:
      nodetype: the class; its subclasses stay leaves.
      flatten_func: `object -> (children, static data)`; the data is hashable and has `==`.
      unflatten_func: `(static data, children) -> object`. The children can be any objects,
        such as tracers, None or shapes. It should not convert or check them.
      flatten_with_keys_func: `object -> ((key, child) pairs, static data)`.

    Raises:
      PytreeError: the class is registered already.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xs: Point(*xs))
    """
    register(nodetype, Node(flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a container whose children have keys; `flatten_func` is the faster way without keys."""

    def without_keys(tree: Any) -> tuple[list[Any], Any]:
        pairs, data = flatten_with_keys(tree)
        return [child for _, child in pairs], data

    register(nodetype, Node(flatten_func or without_keys, unflatten_func, flatten_with_keys))


def register_pytree_node_class(cls: C) -> C:
    """Make a class with `tree_flatten` and the class method `tree_unflatten` a container; a decorator."""
    kind: Any = cls
    register_pytree_node(cls, lambda x: x.tree_flatten(), kind.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: C) -> C:
    """As `register_pytree_node_class`, for a class that has `tree_flatten_with_keys` too."""
    kind: Any = cls
    flatten = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), kind.tree_unflatten, flatten)
    return cls


def register_static(cls: C) -> C:
    """Make a class a container without leaves: its hashable instances belong to the structure; a decorator."""
    register(cls, Node(lambda x: ((), x), lambda x, _: x, lambda x: ((), x)))
    return cls


@overload
def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]: ...
@overload
def register_dataclass(
    nodetype: None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Callable[[type[T]], type[T]]: ...
def register_dataclass(
    nodetype: Any = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Make a dataclass, or a class whose `__init__` takes its fields by name, a container; a decorator.

    Args:
      nodetype: the class.
      data_fields: names of the fields that are children.
      meta_fields: names of the fields that are static: hashable and with `==`.
        Where neither is given, `dataclasses.field(metadata={"static": True})` marks these,
        and the other fields of `__init__` are children.
      drop_fields: names of fields left out, which get their defaults.

    Raises:
      PytreeError: the names are not exactly the dataclass's fields, or a field is named twice.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = dataclasses.field(metadata={"static": True})
    """
    if nodetype is None:
        return functools.partial(
            register_dataclass, data_fields=data_fields, meta_fields=meta_fields, drop_fields=drop_fields
        )
    data, meta = _split_fields(nodetype, data_fields, meta_fields, drop_fields)
    keys = tuple(GetAttrKey(name) for name in data)
    names = (*data, *meta)
    children_of, static_of = _attributes(data), _attributes(meta)

    def flatten(x: Any) -> tuple[tuple[Any, ...], Any]:
        return children_of(x), static_of(x)

    def flatten_with_keys(x: Any) -> tuple[Iterable[tuple[Key, Any]], Any]:
        children, static = flatten(x)
        return zip(keys, children), static

    def unflatten(static: Any, children: Any) -> Any:
        return nodetype(**dict(zip(names, (*children, *static))))

    register(nodetype, Node(flatten, unflatten, flatten_with_keys))
    return nodetype


def _attributes(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the attributes of an object with these names."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda x: tuple([getattr(x, name) for name in names])


def _split_fields(
    cls: Any, data_fields: Sequence[str] | None, meta_fields: Sequence[str] | None, drop_fields: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    name = getattr(cls, "__name__", repr(cls))
    is_dataclass = isinstance(cls, type) and dataclasses.is_dataclass(cls)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            fix = "put @dataclasses.dataclass below @register_dataclass, or pass data_fields and meta_fields"
            raise location.error(PytreeError, f"register_dataclass: {name} is not a dataclass", fix=fix)
        fields = [f for f in dataclasses.fields(cls) if f.init and f.name not in drop_fields]
        if data_fields is None and meta_fields is None:
            meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        given = data_fields if meta_fields is None else meta_fields
        others = [f.name for f in fields if f.name not in (given or ())]
        data_fields, meta_fields = (data_fields, others) if meta_fields is None else (others, meta_fields)
    assert data_fields is not None and meta_fields is not None, "both are filled in above"
    named = [*data_fields, *meta_fields, *drop_fields]
    problem = ""
    if repeated := {field for field in named if named.count(field) > 1}:
        problem = f"{', '.join(sorted(repeated))} is named twice"
    elif is_dataclass:
        expected = {f.name for f in dataclasses.fields(cls) if f.init}
        if missing := expected - set(named):
            problem = f"{', '.join(sorted(missing))} is in none of data_fields, meta_fields and drop_fields"
        elif unknown := set(named) - {f.name for f in dataclasses.fields(cls)}:
            problem = f"{', '.join(sorted(unknown))} is not a field"
    if problem:
        fix = "name each field of __init__ once"
        raise location.error(PytreeError, f"register_dataclass: {problem} of {name}", fix=fix)
    return tuple(data_fields), tuple(meta_fields)


class _Callable:
    """A partial function that hashes and compares by what it holds, and is not merged into another partial."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _key(self) -> tuple[Any, ...]:
        function = self.function
        if isinstance(function, functools.partial):
            return (function.func, function.args, tuple(sorted(function.keywords.items())))
        return (function,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Callable) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):  # type: ignore[type-arg]  # as Python 3.10 has it
    """`functools.partial` as a pytree: the bound arguments are children, the function is static.

    >>> add = Partial(lambda x, y: x + y, 1)
    >>> add(2)
    3
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        # functools.partial would merge an inner partial's arguments into ours, and they would become leaves.
        if isinstance(func, functools.partial):
            func = _Callable(func)
        return super().__new__(cls, func, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
