"""Reads what `jax.export` serializes, without JAX: the module, and the structure of its arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.backends import BACKENDS
from stagec.core import errors, location, pytree
from stagec.foreign.damaged import Damaged
from stagec.foreign.flatbuffer import Table

# Fields of the tables, by their numbers in JAX's schema (jax/_src/export/serialization.fbs). Fields keep their numbers.
_NAME, _IN_TREE, _OUT_TREE, _DEVICES_SHORT, _PLATFORMS, _ORDERED_EFFECTS = 1, 2, 4, 6, 9, 10
_MODULE, _KEPT, _DEVICES = 13, 15, 18
_KIND, _CHILDREN, _NAMES, _CLASS = 0, 1, 2, 3
_LEAF, _NONE, _TUPLE, _LIST, _DICT = range(5)
# Limits on the parts and the depth of a structure: damaged ones may contain cycles.
_PARTS = 100_000
_DEEP = 100
_AGAIN = "export it again, or copy the file again, in binary mode"


class Exported(NamedTuple):
    """A function of `jax.export`.

    Attributes:
      name: the function's name.
      module: StableHLO's portable artifact.
      in_tree: the structure of `(args, kwargs)`.
      out_tree: the structure of the results.
      platforms: the platforms that it was exported for.
      kept: which leaves of the arguments the module takes.
    """

    name: str
    module: bytes
    in_tree: pytree.PyTreeDef
    out_tree: pytree.PyTreeDef
    platforms: tuple[str, ...]
    kept: tuple[int, ...]

    def call(self, flat: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call the module, as a function of as many arrays, with the function's own arguments."""
        leaves, tree = pytree.flatten((tuple(args), kwargs))
        if tree != self.in_tree:
            raise location.error(
                errors.ArgumentTypeError,
                f"{self.name} was exported for arguments of another structure",
                [("given", str(tree), ""), ("exported", str(self.in_tree), "")],
                "pass the containers that it was exported with",
            )
        values = [leaves[i] for i in self.kept]
        if len(self.platforms) > 1:
            # The first parameter of a module for several platforms is the index of the platform.
            here = next((self.platforms.index(name) for name in BACKENDS if name in self.platforms), 0)
            values.insert(0, np.asarray(here, np.int32))
        found = flat(*values)
        results = list(found) if isinstance(found, tuple) else [found]
        return self.out_tree.unflatten(results)

    def arguments(self, parameters: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The function's arguments from descriptions of the module's; zeros stand for arguments that the
        module does not take.
        """
        leaves: list[Any] = [0.0] * self.in_tree.num_leaves
        for i, parameter in zip(self.kept, parameters[len(self.platforms) > 1 :]):
            leaves[i] = parameter
        args, kwargs = self.in_tree.unflatten(leaves)
        return args, kwargs


def read(data: bytes, name: str) -> Exported | None:
    """The function that these bytes hold; None if they are something else.

    Raises:
      ArtifactError: they are such a file, but cannot be used here.
    """
    try:
        root = Table.root(data)
        module = root.bytes(_MODULE)
    except Damaged:
        return None
    if not module.startswith(b"ML\xefR"):
        return None
    try:
        return _read(root, module, name)
    except (Damaged, UnicodeDecodeError) as error:
        raise _refuse(name, f"is damaged: {error}") from None


def _read(root: Table, module: bytes, name: str) -> Exported:
    trees = [root.table(field) for field in (_IN_TREE, _OUT_TREE)]
    if None in trees:
        raise _refuse(name, "lacks the structure of its function's arguments and results")
    in_tree, out_tree = (pytree.structure(_Structure(name).example(tree, _DEEP)) for tree in trees)
    devices = root.number(_DEVICES, "I") or root.number(_DEVICES_SHORT, "h", 1)
    if devices > 1:
        raise _refuse(name, f"was exported for {devices} devices", "export it for one")
    if list(root.tables(_ORDERED_EFFECTS)):
        raise _refuse(name, "has ordered effects, such as prints of JAX", "export the function without them")
    function = root.bytes(_NAME).decode()
    kept = tuple(root.numbers(_KEPT, "H"))
    if any(i >= in_tree.num_leaves for i in kept):
        raise _refuse(name, "is damaged: it takes an argument that it does not have")
    return Exported(function or name, module, in_tree, out_tree, tuple(root.strings(_PLATFORMS)), kept)


class _Structure:
    """Reads a serialized structure."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts = 0

    def example(self, tree: Any, room: int) -> Any:
        """An object with a structure, with zeros for leaves; raises if it is nested deeper than `room`."""
        self._parts += 1
        if not room or self._parts > _PARTS:
            raise _refuse(
                self._name, "holds a structure of too many parts", "flatten what the function takes and returns"
            )
        kind = tree.number(_KIND, "b")
        if kind == _LEAF:
            return 0
        if kind == _NONE:
            return None
        children = [self.example(child, room - 1) for child in tree.tables(_CHILDREN)]
        if kind == _TUPLE:
            return tuple(children)
        if kind == _LIST:
            return children
        if kind == _DICT:
            names = tree.strings(_NAMES)
            if len(names) != len(children):
                raise Damaged("a dictionary has more values than names, or fewer")
            return dict(zip(names, children))
        raise _refuse(
            self._name,
            f"takes or returns objects of the class {tree.bytes(_CLASS).decode(errors='replace') or 'unknown'}, "
            "which stagec does not make from a file",
            "export a function of tuples, lists and dictionaries",
        )


def _refuse(name: str, what: str, fix: str = _AGAIN) -> errors.ArtifactError:
    return location.error(errors.ArtifactError, f"{name} {what}", fix=fix)
