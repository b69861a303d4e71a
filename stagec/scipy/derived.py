"""Functions that are computed by loops and series, and have derivatives by formulas.

A reverse derivative of a loop that ends when it has converged does not exist, and that of a polynomial is less exact
than a formula. So a value is computed without derivatives, and a primitive attaches them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.primitive import NOT_LINEAR, SinglePrimitive
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, aval_of
from stagec.primitives.rules import each
from stagec.primitives.special import no_derivative as no_derivative
from stagec.primitives.table import batch_elementwise

Slope = Callable[..., Any]


class _Derived(SinglePrimitive):
    """A value that is the first operand, and has derivatives by the others."""

    function: Callable[..., Array]
    count: int

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply to the function's operands alone, as in JAX, or to those of an equation."""
        if len(args) == self.count:
            return self.function(*map(SinglePrimitive.operand, args), **params)
        return super().bind(*args, **params)


Row = TypeVar("Row", bound=SinglePrimitive)


def value_with_slopes(kind: type[Row], name: str, *slopes: Slope) -> Row:
    """A row whose result is its first operand, with derivatives by the others: `(value, *operands, **params)`."""

    def times(slope: Slope) -> Slope:
        # The result, which further derivatives go through, and not the operand of its value.
        return lambda out, value, *rest, **params: (
            slope(*map(to_array, (out, *rest[:-1])), **params) * to_array(rest[-1])
        )

    return kind(
        name,
        shape=lambda value, *operands, **params: value.strip_weak_type(),
        eval=lambda value, *operands, **params: value,
        lower=lambda cx, value, *operands, **params: value,
        jvp=each(None, *[times(s) for s in slopes], result=True),
        transpose=NOT_LINEAR,
        batch=batch_elementwise,
    )


def derived(
    *slopes: Slope, name: str = "", keep_weak: bool = False
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """A decorator of elementwise functions of real or complex operands of one dtype.

    The function gets operands of one shape, in float32 at least, without derivatives, and static parameters.

    Args:
      slopes: `(value, *operands, **params) -> derivative by the operand`, for each of them.
      name: of the function, for graphs and messages.
      keep_weak: results of weak operands are weak, as of operations; else no result is.
    """

    def decorate(function: Callable[..., Array]) -> Callable[..., Array]:
        row = value_with_slopes(_Derived, name or function.__name__, *slopes)

        @functools.wraps(function)
        def call(*operands: Operand, **params: Any) -> Array:
            avals = [aval_of(o) for o in operands]
            shape = next((a.shape for a in avals if a.shape), ())
            dtype = avals[0].dtype
            work = dtypes.float32 if dtype.itemsize < 4 else dtype
            ready = [to_array(broadcast_to_shape(convert_element_type(o, work), shape)) for o in operands]
            value = function(*[stop_gradient(o) for o in ready], **params)
            weak = keep_weak and all(a.weak_type for a in avals)
            return convert_element_type(row(value, *ready, **params), dtype, weak)

        row.function, row.count = call, len(slopes)
        return call

    return decorate
