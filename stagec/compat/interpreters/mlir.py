"""`jax.interpreters.mlir`: lowerings of primitives that users define: functions of arrays, or of MLIR's values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from passes.types import element_type
from stagec.compat.extend.mlir import ir as ir
from stagec.compat.primitive import Lowering, Primitive, lowerings
from stagec.core import dtypes
from stagec.core.aval import ShapedArray

__all__ = [
    "aval_to_ir_type", "dense_int_array", "dense_int_elements", "dtype_to_ir_type", "flatten_ir_values", "i32_attr",
    "i64_attr", "ir_constant", "lower_fun", "register_lowering",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "LoweringRuleContext":
        from stagec.compat.emitted import LoweringRuleContext  # the compiler

        return LoweringRuleContext
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of elements, in the context that is current."""
    return element_type(np.dtype(dtype))


def aval_to_ir_type(ctx: Any, aval: ShapedArray) -> Any:
    """The MLIR type of arrays, in the context that is current; `ctx` is a lowering's `module_context`."""
    return bindings.ir.RankedTensorType.get(aval.shape, dtype_to_ir_type(aval.dtype))


def ir_constant(value: Any) -> Any:
    """Emit a constant, in a lowering."""
    array = np.asarray(value)
    return build.constant(array.astype(dtypes.canonicalize(array.dtype)), loc=ir.Location.current)


def i32_attr(i: int) -> Any:
    """An attribute that is an integer of 32 bits."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """An attribute that is an integer of 64 bits."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)


def dense_int_array(xs: Sequence[int]) -> Any:
    """An attribute that is an array of integers of 64 bits, such as the dimensions of an operation."""
    return ir.DenseI64ArrayAttr.get(xs)


def dense_int_elements(xs: Sequence[int]) -> Any:
    """An attribute that is a tensor of integers of 64 bits."""
    return ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """MLIR's values that are in sequences, or results of operations."""
    from stagec.compat.emitted import values_of  # the compiler

    return list(values_of(xs))


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Lowering:
    """A lowering to the operations of a function of arrays.

    Args:
      multiple_results: the function returns a sequence of arrays, and not one.
    """
    return Lowering(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, **options: Any) -> Any:
    """Say how a primitive is lowered.

    Args:
      platform: the one that the rule is for; by default, all that have no rule of their own.
    """
    lowerings[prim, platform] = rule
    return rule
