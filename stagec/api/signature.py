"""A call's signature, told as cheaply as it can be: what the short way of a jitted call looks up."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.containers import node_of
from stagec.core.treedef import structure_of
from stagec.runtime import device as _device
from stagec.runtime.array import Array, borrow


class Unusual(Exception):
    """The call holds something that only the long way treats: tracers, odd values, what is no array at all."""


class _Scalar:
    """How Python numbers of one type enter a program under the options in force."""

    __slots__ = ("aval", "largest", "make", "smallest")

    def __init__(self, kind: type) -> None:
        dtype, weak = dtypes.python_scalar_dtype(kind)
        self.aval = ShapedArray.of((), dtype, weak)
        self.make = dtype.type
        # Beyond these the long way knows what to say, or rounds to infinity without a warning.
        self.smallest: float | None = None
        self.largest: float | None = None
        if kind is int:
            self.smallest, self.largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        elif kind is float:
            self.smallest, self.largest = float(np.finfo(dtype).min), float(np.finfo(dtype).max)


@functools.cache
def _scalars() -> dict[type, _Scalar]:
    return {kind: _Scalar(kind) for kind in (bool, int, float, complex)}


config.on_update(_scalars.cache_clear)


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
        return value.aval
    if kind is dict:
        try:
            keys = sorted(value)
        except TypeError:
            raise Unusual from None
        return (dict, *keys, *[describe(value[k], leaves) for k in keys])
    if kind is tuple or kind is list:
        return (kind, *[describe(v, leaves) for v in value])
    if value is None:
        return None
    if kind is np.ndarray or issubclass(kind, np.generic):
        dtype = dtypes.canonicalize(value.dtype)
        leaves.append(value)
        return ShapedArray.of(value.shape, dtype)
    scalar = _scalars().get(kind)
    if scalar is not None:
        low = scalar.smallest
        if low is not None and not low <= value <= scalar.largest:
            raise Unusual
        leaves.append(value)
        return scalar.aval
    if node_of(kind) is None:
        raise Unusual
    inner: list[Any] = []
    return (structure_of(value, inner), *[describe(v, leaves) for v in inner])


# Smaller NumPy arrays are cheaper to copy than to lend.
_COPIED_BYTES = 1 << 14


@functools.cache
def _copier() -> tuple[Callable[..., Any], int, int, Any, dict[Any, int]]:
    cpu = _device.cpu()
    return cpu.allocator.allocate_buffer_copy, *_device._import_options(), cpu.hal_device("local-sync"), _device._element_types()


def place(leaf: Any) -> Array:
    """A leaf as an array that lasts for one call."""
    kind = type(leaf)
    if kind is Array:
        return leaf
    if kind is np.ndarray:
        aval = ShapedArray.of(leaf.shape, dtypes.canonicalize(leaf.dtype))
        if leaf.dtype != aval.dtype:
            leaf = leaf.astype(aval.dtype)
        if aval.nbytes > _COPIED_BYTES:
            return borrow(leaf)
    elif kind in (float, int, bool, complex):
        scalar = _scalars()[kind]
        aval, leaf = scalar.aval, scalar.make(leaf)
    else:
        leaf = np.asarray(leaf)
        aval = ShapedArray.of((), dtypes.canonicalize(leaf.dtype))
        leaf = leaf.astype(aval.dtype)
    copy, memory, usage, device, elements = _copier()
    made = object.__new__(Array)
    made.aval = aval
    made._numpy = made._taken = None
    made._view = copy(memory, usage, device, leaf, elements[aval.dtype])
    made._exposed = False
    return made


def builder(tree: pytree.PyTreeDef) -> Callable[[Sequence[Any]], Any]:
    """A function that puts a list of leaves together: `tree.unflatten` without its interpretation."""
    constants: dict[str, Any] = {"__builtins__": {}}
    text = _expression(tree, itertools.count(), constants)
    return tree.unflatten if text is None else eval(f"lambda v: {text}", constants)


def _expression(tree: pytree.PyTreeDef, position: Any, constants: dict[str, Any]) -> str | None:
    """Python code that makes `tree` of the list `v`; None where a class of the user's takes part."""
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
