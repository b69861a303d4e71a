"""Calls of Python functions: `pure_callback`, `io_callback`, `debug_callback`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.host import HostCallback
from stagec.core.primitive import NOT_LINEAR, NOT_WRITTEN, Primitive
from stagec.core.trace import current
from stagec.primitives.convert import as_array


def _shape(*avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **params: Any) -> list[ShapedArray]:
    return list(result_avals)


def _eval(*arrays: Any, callback: HostCallback, **params: Any) -> list[np.ndarray[Any, Any]]:
    with current(None):
        leaves = [_array(x, a) for x, a in zip(arrays, callback.in_avals, strict=True)]
    # What evaluates rows turns NumPy's warnings off. These are for the user: NumPy's own setting.
    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        return [np.array(r) for r in callback(leaves)]


def _array(value: Any, aval: ShapedArray) -> Any:
    """A private copy, as what runs outside of programs makes arrays."""
    copy = np.array(value)
    copy.flags.writeable = False
    return as_array(Literal(copy, aval))


def _lower(cx: Any, *values: Any, callback: HostCallback, **params: Any) -> Sequence[Any]:
    return cx.call_host(callback, values)


def _row(name: str, effects: bool) -> Primitive:
    return Primitive(
        name,
        shape=_shape,
        eval=_eval,
        lower=_lower,
        jvp=NOT_WRITTEN,
        transpose=NOT_LINEAR,
        batch=NOT_WRITTEN,
        multiple=True,
        effects=effects,
    )


# Parameters: `callback`, `result_avals`; `vmap_method` of the first, `ordered` of the others.
pure_callback_p = _row("pure_callback", effects=False)
io_callback_p = _row("io_callback", effects=True)
debug_callback_p = _row("debug_callback", effects=True)
