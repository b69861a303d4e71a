"""Random keys as arguments of functions that move elements, such as stack and where, or ask whether they are equal.

An array of keys is two arrays of 32-bit words. Such a function is applied to each of the two.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from stagec.core.array import Array
from stagec.core.operators import ArrayOperators
from stagec.random.key_array import PRNGKeyArray, one_word

# Functions of `stagec.numpy` and `stagec.lax`, and the positions of the parameters whose elements they move.
_FIRST = (
    "array asarray atleast_1d atleast_2d atleast_3d block broadcast broadcast_arrays broadcast_in_dim broadcast_to "
    "collapse column_stack concatenate copy delete diagonal dstack dynamic_index_in_dim dynamic_slice "
    "dynamic_slice_in_dim array_split empty_like expand_dims flip fliplr flipud hsplit hstack index_in_dim "
    "matrix_transpose meshgrid moveaxis ones_like ravel repeat reshape resize rev roll rollaxis rot90 "
    "slice_ slice_in_dim split dsplit vsplit squeeze stack swapaxes take take_along_axis tile transpose unstack vstack "
    "zeros_like"
).split()
_MOVED: dict[str, tuple[int, ...]] = dict.fromkeys(_FIRST, (0,)) | {
    "append": (0, 1),
    "choose": (1,),
    "compress": (1,),
    "dynamic_update_index_in_dim": (0, 1),
    "dynamic_update_slice": (0, 1),
    "dynamic_update_slice_in_dim": (0, 1),
    "full": (1,),
    "full_like": (0, 1),
    "insert": (0, 2),
    "select": (1, 2),
    "select_n": (1,),
    "where": (1, 2),
}
# Functions that compare, and how the answers for the two words are combined.
_COMPARED = dict.fromkeys(("array_equal", "eq", "equal"), operator.and_) | dict.fromkeys(
    ("ne", "not_equal"), operator.or_
)
_MODULES = ("stagec.numpy", "stagec.lax", "stagec.primitives")


def _has_keys(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_keys, value))
    return isinstance(value, PRNGKeyArray)


def _joined(first: Array, second: Array) -> Array:
    """Combine both words' results to keys; results that are not arrays, such as shapes, are the same for both."""
    if isinstance(first, (list, tuple)):
        return type(first)([_joined(a, b) for a, b in zip(first, second, strict=True)])
    return PRNGKeyArray(first, second) if isinstance(first, ArrayOperators) else first


def on_each_word(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a function that refused keys to each of their words, if it moves or compares elements; else return None."""
    name = function.__name__
    moved = (0, 1) if name in _COMPARED else _MOVED.get(name)
    if moved is None or not function.__module__.startswith(_MODULES) or not _has_keys((*args, *kwargs.values())):
        return None
    bound = inspect.signature(function).bind(*args, **kwargs)
    names = [name for i, name in enumerate(bound.signature.parameters) if i in moved and name in bound.arguments]
    if not any(_has_keys(bound.arguments[name]) for name in names):
        return None
    try:
        return _COMPARED.get(name, _joined)(*_applied(function, bound, names))
    except Exception as error:
        raise error from None  # instead of the error about keys


def _applied(function: Callable[..., Any], bound: inspect.BoundArguments, names: list[str]) -> list[Any]:
    """Return the results of the function for each word of the keys in these arguments."""
    parts = []
    for number in range(2):
        part = inspect.BoundArguments(bound.signature, type(bound.arguments)(bound.arguments))
        part.arguments |= {name: one_word(bound.arguments[name], number, function.__name__) for name in names}
        parts.append(function(*part.args, **part.kwargs))
    return parts
