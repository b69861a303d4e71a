"""Pytree structures as JSON values and back, without importing or running the user's code."""

from __future__ import annotations

import collections
import functools
import keyword
import sys
from typing import Any

import numpy as np

from stagec.core import containers, dtypes
from stagec.core.errors import ArtifactError, PytreeError, message
from stagec.core.treedef import LEAF, NONE, PyTreeDef, make

_DEPTH = 100
_SEQUENCES: dict[str, type] = {"tuple": tuple, "list": list}
# What a defaultdict may make of a missing key.
_FACTORIES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (int, float, complex, bool, str, bytes, list, dict, set, tuple)},
    "None": None,
}


class Malformed(Exception):
    """A JSON value was not written by `encode`; the caller adds the file's name."""


class ClassMissing(Exception):
    """A structure holds a class that this process has not registered; `args` are what is missing, and the fix."""


# ---------------------------------------------------------------- structures


def encode(definition: PyTreeDef) -> Any:
    """A structure as a JSON value.

    Raises:
      PytreeError: static data of a class has no JSON form.

    >>> from stagec.core import pytree
    >>> encode(pytree.structure({"w": (1, 2)}))
    {'dict': [['w'], [{'tuple': ['*', '*']}]]}
    """
    if definition is LEAF:
        return "*"
    kind: Any = definition._type
    data, children = definition._data, [encode(c) for c in definition._children]
    if kind is type(None):
        return None
    if kind is tuple or kind is list:
        return {kind.__name__: children}
    if kind is dict:
        return {"dict": [[_encoded(k, kind) for k in data], children]}
    if kind is collections.OrderedDict:
        return {"ordered": [[_encoded(k, kind) for k in data], children]}
    if kind is collections.defaultdict:
        name = next((n for n, f in _FACTORIES.items() if f is data[0]), None)
        if name is None:
            raise _no_form(kind, data[0], f"use one of {', '.join(_FACTORIES)} as the default factory")
        return {"default": [name, [_encoded(k, kind) for k in data[1]], children]}
    path = [kind.__module__, kind.__qualname__]
    if containers.is_named_tuple(kind):
        return {"named": [*path, list(kind._fields), children]}
    return {"class": [*path, _encoded(data, kind), children]}


def decode(value: Any, depth: int = 0) -> PyTreeDef:
    """The structure that `encode` was given.

    Raises:
      Malformed: `value` is no structure.
      ClassMissing: it holds a class that is not registered here.
    """
    if value == "*" and type(value) is str:
        return LEAF
    if value is None:
        return NONE
    if depth > _DEPTH or not (isinstance(value, dict) and len(value) == 1):
        raise Malformed("a pytree structure")
    ((tag, parts),) = value.items()
    if not isinstance(parts, list):
        raise Malformed("a pytree structure")
    if tag in _SEQUENCES:
        return make(_SEQUENCES[tag], None, _children(parts, depth))
    if tag in ("dict", "ordered"):
        keys, below = _sized(parts, 2)
        return _mapping(dict if tag == "dict" else collections.OrderedDict, keys, below, depth)
    if tag == "default":
        name, keys, below = _sized(parts, 3)
        if not isinstance(name, str) or name not in _FACTORIES:
            raise Malformed("the default factory of a defaultdict")
        plain = _mapping(dict, keys, below, depth)
        return make(collections.defaultdict, (_FACTORIES[name], plain._data), plain._children)
    if tag == "named":
        module, name, fields, below = _sized(parts, 4)
        children = _children(below, depth)
        if len(children) != len(fields if isinstance(fields, list) else ()):
            raise Malformed("a named tuple")
        kind = _named_tuple(module, name, fields)
        containers.node_of(kind)  # makes it known as a container
        return make(kind, None, children)
    if tag == "class":
        module, name, data, below = _sized(parts, 4)
        children, static = _children(below, depth), _decoded(data)
        return make(_registered(module, name), static, children)
    raise Malformed("a pytree structure")


def _sized(parts: list[Any], count: int) -> list[Any]:
    if len(parts) != count:
        raise Malformed("a pytree structure")
    return parts


def _children(values: Any, depth: int) -> tuple[PyTreeDef, ...]:
    if not isinstance(values, list):
        raise Malformed("a pytree structure")
    return tuple([decode(v, depth + 1) for v in values])


def _mapping(kind: type, keys: Any, below: Any, depth: int) -> PyTreeDef:
    children = _children(below, depth)
    if not isinstance(keys, list):
        raise Malformed("the keys of a dict")
    found = tuple([_decoded(k) for k in keys])
    try:
        distinct = len(set(found)) == len(found) == len(children)
        in_order = kind is not dict or list(found) == sorted(found)
    except TypeError:
        raise Malformed("the keys of a dict") from None
    if not (distinct and in_order):
        raise Malformed("the keys of a dict")
    return make(kind, found, children)


def _named_tuple(module: Any, name: Any, fields: Any) -> type:
    """The class of that name if it is here, else one like it."""
    names = (module, name, *fields)
    if not all(isinstance(n, str) and len(n) <= 1000 for n in names):
        raise Malformed("a named tuple")
    if len(set(fields)) != len(fields) or not all(
        f.isascii() and f.isidentifier() and not keyword.iskeyword(f) and not f.startswith("_") for f in fields
    ):
        raise Malformed("the fields of a named tuple")
    found = _loaded_class(module, name)
    if found is not None and containers.is_named_tuple(found) and found._fields == tuple(fields):
        return found
    own = name.rsplit(".", 1)[-1]
    # Local classes are called `f.<locals>.Point`.
    return _made_named_tuple(own if own.isidentifier() and not keyword.iskeyword(own) else "Tuple", tuple(fields))


@functools.lru_cache(maxsize=1024)
def _made_named_tuple(name: str, fields: tuple[str, ...]) -> type:
    return collections.namedtuple(name, fields)


def _registered(module: Any, name: Any) -> type:
    """The registered class of that name; a class is never imported for a file."""
    if not (isinstance(module, str) and isinstance(name, str)):
        raise Malformed("the name of a class")
    for kind in list(containers._registered):
        if kind.__qualname__ == name and kind.__module__ == module:
            return kind
    if containers.Partial.__qualname__ == name and containers.Partial.__module__ == module:
        return containers.Partial
    shown = f"{module}.{name}"[:200]
    if not shown.isprintable():
        raise Malformed("the name of a class")
    if module == "__main__":
        fix = f"move {name[:100]} from the script into a module, which both sides import, and export again"
    else:
        fix = f"import the module first, so that the class is registered as a pytree: import {module[:100]}"
    raise ClassMissing(f"its signature holds the class {shown}, which this process has not registered", fix)


def _loaded_class(module: str, name: str) -> Any:
    """A class that is in memory, found by look-ups alone: attribute access could run a module's code."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        if found is None or not isinstance(found, (type, type(sys))):
            return None
        found = vars(found).get(part)
    return found if isinstance(found, type) else None


# ---------------------------------------------------------------- static data


def _no_form(kind: type, value: Any, fix: str) -> PytreeError:
    text = " ".join(repr(value).split())
    return PytreeError(
        message(
            f"the structure of a signature cannot be saved: {kind.__name__} holds a {type(value).__name__}",
            values=[("value", text if len(text) <= 80 else text[:77] + "...", f"static data of {kind.__name__}")],
            fix=fix,
        )
    )


def _encoded(value: Any, kind: type) -> Any:
    """Static data as a JSON value: values of JSON as they are, others as a list of a tag and text."""
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if abs(value) < 1 << 53 else ["int", str(value)]
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if type(value) is tuple:
        return ["tuple", *[_encoded(v, kind) for v in value]]
    if type(value) is frozenset:
        return ["frozenset", *sorted((_encoded(v, kind) for v in value), key=repr)]
    if isinstance(value, np.dtype) and value in dtypes.ALL:
        return ["dtype", value.name]
    raise _no_form(
        kind, value, "static data can be None, bool, int, float, complex, str, bytes, a dtype, and tuples of these"
    )


def _decoded(value: Any, depth: int = 0) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if depth > _DEPTH or not (isinstance(value, list) and value and isinstance(value[0], str)):
        raise Malformed("static data")
    tag, *parts = value
    if tag in ("tuple", "frozenset"):
        items = [_decoded(p, depth + 1) for p in parts]
        return tuple(items) if tag == "tuple" else frozenset(items)
    if not all(isinstance(p, str) and len(p) <= 4000 for p in parts) or len(parts) != (2 if tag == "complex" else 1):
        raise Malformed("static data")
    try:
        if tag == "int":
            return int(parts[0])
        if tag == "float":
            return float.fromhex(parts[0])
        if tag == "complex":
            return complex(float.fromhex(parts[0]), float.fromhex(parts[1]))
        if tag == "bytes":
            return bytes.fromhex(parts[0])
        if tag == "dtype":
            return next(d for d in dtypes.ALL if d.name == parts[0])
    except (ValueError, OverflowError, StopIteration):
        pass
    raise Malformed("static data")


def check_depth(definition: PyTreeDef) -> None:
    """Refuse to write a structure that could not be read back.

    Raises:
      ArtifactError: the structure is nested too deeply.
    """
    level = [definition]
    for _ in range(_DEPTH + 1):
        level = [child for parent in level for child in parent._children]
        if not level:
            return
    raise ArtifactError(message(f"a signature is nested more than {_DEPTH} deep", fix="flatten the arguments"))
