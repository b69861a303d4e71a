"""`jax.interpreters.mlir`: lowerings of primitives that users define: functions of arrays, or of MLIR's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import bindings, build
from passes.types import element_type
from stagec.compat.extend.mlir import ir as ir
from stagec.compat.primitive import Lowering, Primitive, lowerings
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray

__all__ = ["aval_to_ir_type", "dtype_to_ir_type", "ir_constant", "lower_fun", "register_lowering"]


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


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Lowering:
    """A lowering to the operations of a function of arrays.

    Args:
      multiple_results: the function returns a sequence of arrays, and not one.
    """
    return Lowering(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, **options: Any) -> Any:
    """Say how a primitive is lowered.

    Raises:
      UnsupportedError: `platform` is given.
    """
    if platform is not None:
        raise location.error(
            errors.UnsupportedError,
            f"jax.interpreters.mlir.register_lowering: a lowering for platform={platform!r} alone",
            fix="leave the platform out; stagec.lax.platform_dependent chooses in a function",
        )
    lowerings[prim] = rule
    return rule
