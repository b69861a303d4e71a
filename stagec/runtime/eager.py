"""What runs outside `jit`: NumPy evaluates each primitive at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.primitive import Primitive
from stagec.core.trace import Trace, Tracer, leaked, set_base
from stagec.runtime.array import Array


class EagerTrace(Trace):
    """The trace in force when no transformation is."""

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values: list[np.ndarray[Any, Any]] = []
        avals: list[ShapedArray] = []
        for a in args:
            if type(a) is Array:
                values.append(a.numpy())
                avals.append(a.aval)
            elif type(a) is Literal:
                values.append(a.value)
                avals.append(a.aval)
            elif isinstance(a, Tracer):
                raise leaked(a)
            else:
                array = np.asarray(a)
                values.append(array)
                avals.append(ShapedArray.of(array.shape, array.dtype))
        out = primitive.shape(*avals, **params)
        with np.errstate(all="ignore"):
            result = primitive.eval(*values, **params)
        if primitive.multiple:
            return [_wrap(r, a, values, primitive) for r, a in zip(result, out, strict=True)]
        return _wrap(result, out, values, primitive)


def _wrap(result: Any, aval: ShapedArray, inputs: list[np.ndarray[Any, Any]], primitive: Primitive) -> Array:
    if type(result) is Array:
        return result
    array = np.asarray(result)
    if array.dtype != aval.dtype:
        array = array.astype(aval.dtype)
    assert array.shape == aval.shape, f"{primitive}: eval gave shape {array.shape}, the shape rule {aval.shape}"
    # An operation may give back its operand, or a view of it: what the caller can write to is copied.
    if any(i.flags.writeable and (array is i or np.may_share_memory(array, i)) for i in inputs):
        array = array.copy()
    return Array.of(array, aval)


set_base(EagerTrace())
