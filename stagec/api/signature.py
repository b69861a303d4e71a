"""A call's signature, described at the lowest cost: the key of the fast path of a call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, forking, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.containers import node_of
from stagec.core.errors import StagecError
from stagec.core.foreign import from_foreign
from stagec.core.treedef import make
from stagec.runtime import memory
from stagec.runtime.array import Array, borrow
from stagec.runtime.devices import cpu


class Unusual(Exception):
    """The call holds something that only the slow path handles: tracers, odd values, objects that are not arrays."""


class _Scalar:
    """How Python numbers of one type enter a program under the options in force."""

    __slots__ = ("aval", "largest", "smallest")

    def __init__(self, kind: type) -> None:
        dtype, weak = dtypes.python_scalar_dtype(kind)
        self.aval = ShapedArray.of((), dtype, weak)
        # Beyond these, the slow path raises an error, or rounds to infinity without a warning.
        self.smallest: float | None = None
        self.largest: float | None = None
        if kind is int:
            self.smallest, self.largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        elif kind is float:
            self.smallest, self.largest = float(np.finfo(dtype).min), float(np.finfo(dtype).max)


class _Known:
    """What is known of numbers and of NumPy's arrays under the options in force.

    Attributes:
      scalars: by the type of a Python number.
      numpy_avals: by shape and dtype.
    """

    __slots__ = ("numpy_avals", "scalars")

    def __init__(self) -> None:
        self.scalars = {kind: _Scalar(kind) for kind in (bool, int, float, complex)}
        self.numpy_avals: dict[tuple[Any, Any], ShapedArray] = {}


with config.plain():
    _plain = _Known()


def _known() -> _Known:
    if not state.overrides:
        return _plain
    if state.scope is None:
        raise Unusual
    found: _Known | None = state.scope.learned.get("numbers")
    if found is None:
        found = state.scope.learned["numbers"] = _Known()
    return found


def _learn() -> None:
    global _plain
    _plain = _Known()


config.on_update(_learn)


# dicts' keys in the order of their leaves; programs have few sets of keys.
_orders: dict[tuple[Any, ...], tuple[Any, ...]] = {}


def _sorted_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    given = tuple(tree)
    found = _orders.get(given)
    if found is None:
        try:
            found = tuple(sorted(given))
        except TypeError:
            raise Unusual from None
        if len(_orders) < 1024:
            _orders[given] = found
    return found


def _described_numpy(value: Any, leaves: list[Any], known: _Known) -> ShapedArray:
    leaves.append(value)
    found = known.numpy_avals.get((value.shape, value.dtype))
    if found is None:
        found = ShapedArray.of(value.shape, dtypes.canonicalize(value.dtype))
        if len(known.numpy_avals) < 4096:
            known.numpy_avals[value.shape, value.dtype] = found
    return found


def _foreign(value: Any) -> np.ndarray[Any, Any]:
    """An array of another library as NumPy sees it."""
    try:
        found = from_foreign(value)
    except StagecError:
        # The slow path raises it again, with the argument's name.
        raise Unusual from None
    if found is None:
        raise Unusual
    return found


def describe(value: Any, leaves: list[Any]) -> Any:
    """A hashable that is equal for values of one structure and equal avals; the leaves are appended to `leaves`.

    Arrays and numbers are described by their aval alone, containers by a tuple
    that begins with their class.

    Raises:
      Unusual: there is no short description.
    """
    kind = type(value)
    if kind is Array:
        leaves.append(value)
        return value.signature
    known = _known()
    scalar = known.scalars.get(kind)
    if scalar is not None:
        low = scalar.smallest
        if low is not None and not low <= value <= scalar.largest:
            raise Unusual
        leaves.append(value)
        return scalar.aval
    if kind is np.ndarray or issubclass(kind, np.generic):
        return _described_numpy(value, leaves, known)
    if kind is dict:
        keys = _sorted_keys(value)
        description: list[Any] = [dict, keys]
        for k in keys:
            v = value[k]
            if type(v) is Array:
                leaves.append(v)
                description.append(v.signature)
            else:
                description.append(describe(v, leaves))
        return tuple(description)
    if kind is tuple or kind is list:
        return (kind, *[describe(v, leaves) for v in value])
    if value is None:
        return None
    node = node_of(kind)
    if node is None:
        return _described_numpy(_foreign(value), leaves, known)
    children, data = node.flatten(value)
    try:
        hash(data)
    except TypeError:
        data = make(kind, data, ())  # which can be compared
    return (kind, data, *[describe(v, leaves) for v in children])


# Smaller NumPy arrays are cheaper to copy than to borrow.
_COPIED_BYTES = 1 << 14


@functools.cache
def _copier() -> Callable[[Any, ShapedArray], Any]:
    copy, device = cpu().allocator.allocate_buffer_copy, cpu().hal_device()
    kind, usage = memory.host_options()
    elements = memory.element_types()
    return lambda value, aval: copy(kind, usage, device, value, elements[aval.dtype])


def transient_array(leaf: Any, aval: ShapedArray) -> Array:
    """A described leaf that is not an Array, as an array that lasts for one call."""
    kind = type(leaf)
    if kind is np.ndarray:
        if leaf.dtype != aval.dtype:
            leaf = leaf.astype(aval.dtype, order="C")
        elif not leaf.flags.c_contiguous:
            leaf = leaf.copy(order="C")
        return _copied(leaf, aval) if leaf.nbytes <= _COPIED_BYTES else borrow(leaf)
    if kind in _plain.scalars:
        # Zeros, and parts of complex numbers, have signs that equality does not see.
        same = leaf and kind is not complex
        return _number_array(leaf, aval) if same else _copied(aval.dtype.type(leaf), aval)
    return _copied(np.asarray(leaf).astype(aval.dtype), aval)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    if _copier.cache_info().currsize:
        forking.leak(_copier())
        _copier.cache_clear()


@functools.lru_cache(512, typed=True)
def _number_array(value: Any, aval: ShapedArray) -> Array:
    return _copied(aval.dtype.type(value), aval)


def _copied(value: Any, aval: ShapedArray) -> Array:
    made = object.__new__(Array)
    made.aval = made.signature = aval
    made._view = _copier()(value, aval)
    made._numpy = made._state = None
    made._exposed = False
    return made


def builder(tree: pytree.PyTreeDef) -> Callable[[Sequence[Any]], Any]:
    """A function that builds the tree from a list of leaves: `tree.unflatten`, compiled to Python code."""
    constants: dict[str, Any] = {"__builtins__": {}}
    text = _expression(tree, itertools.count(), constants)
    return tree.unflatten if text is None else eval(f"lambda v: {text}", constants)


def _expression(tree: pytree.PyTreeDef, position: Any, constants: dict[str, Any]) -> str | None:
    """Python code that builds `tree` from the list `v`; None if the tree has a user's class."""
    root = tree.node_data()
    if root is None:
        return f"v[{next(position)}]"
    parts = [_expression(child, position, constants) for child in tree.children()]
    if None in parts:
        return None
    kind, data = root
    if kind is type(None):
        return "None"
    if kind is tuple:
        return f"({''.join(f'{p}, ' for p in parts)})"
    if kind is list:
        return f"[{', '.join(map(str, parts))}]"
    if kind is not dict:
        return None
    names = [f"k{len(constants) + i}" for i in range(len(data))]
    constants.update(zip(names, data))
    return f"{{{', '.join(f'{n}: {p}' for n, p in zip(names, parts))}}}"
