"""Converts what users pass to operations into operands that primitives accept."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, check_numbers
from stagec.core.foreign import from_foreign
from stagec.core.graph import Literal
from stagec.core.lossy import refuse_lossy
from stagec.core.operators import ArrayOperators
from stagec.core.primitive import Primitive
from stagec.core.zero import Linear
from stagec.primitives.dimension import dimension_size

Operand = Any  # Array, Tracer, Literal, or np.ndarray of a canonical dtype


def is_array_like(value: Any) -> bool:
    """Whether `value` is an array or a number, and not a container of them."""
    return isinstance(value, (ArrayOperators, Literal, np.ndarray, np.generic, int, float, complex)) or hasattr(
        value, "__jax_array__"
    )


def as_operand(value: Any, name: str = "argument") -> Operand:
    """An operand with an `aval` or a canonical NumPy dtype.

    Python scalars become weakly typed literals; NumPy arrays are narrowed to
    32 bits unless `enable_x64` is set.
    """
    if isinstance(value, (ArrayOperators, Literal)):
        return value
    kind = dtypes.python_scalar_kind(type(value))
    if kind is not None:
        dtype, weak = dtypes.python_scalar_dtype(kind)
        # Members of an IntEnum, and other subclasses, count as their base.
        return literal(value if type(value) is kind else kind(value), dtype, weak)
    if isinstance(value, (np.ndarray, np.generic)):
        if type(value) is not np.ndarray:
            refuse_lossy(value, name)
        if value.dtype.hasobject:
            check_numbers(value)
        dtype = dtypes.canonicalize(value.dtype)
        if value.ndim == 0:
            return Literal(np.asarray(value).astype(dtype), ShapedArray.of((), dtype))
        return np.asarray(value, dtype)
    if type(value) is Dim:
        return dimension_size(value)
    if hasattr(value, "__jax_array__"):
        return as_operand(value.__jax_array__(), name)
    if type(value) is Linear:
        raise not_linear("it combines two values that both depend on it")
    refuse_lossy(value, name)
    foreign = from_foreign(value, name)
    if foreign is not None:
        return as_operand(foreign, name)
    raise location.error(
        errors.ArgumentTypeError,
        f"{name}: expected an array or a number, got {type(value).__name__}: {errors.brief(value)}",
        fix=_from_list(value, name)
        if isinstance(value, (list, tuple))
        else conversion(value, "x") or _not_numbers(value),
    )


Primitive.operand = staticmethod(as_operand)


def not_linear(reason: str) -> errors.UnsupportedError:
    """The error for a function that is transposed though it is not linear."""
    return location.error(
        errors.UnsupportedError,
        f"this is not linear in what is transposed: {reason}",
        fix="close over one of the two, or use stagec.vjp, which differentiates functions that are not linear",
    )


def check_matrix(*parts: Any) -> None:
    """Check that a solution, which is transposed, is a function of the right-hand side, not of the matrix."""
    if any(type(part) is Linear for part in parts):
        raise not_linear("the solution of a system is no linear function of the matrix")


def promotable(value: Any, name: str = "argument") -> Operand:
    """An operand whose dtype is decided next: a Python int that the default dtype cannot hold is not refused yet.

    The conversion of the literal to the final dtype checks the range of that dtype.
    """
    if isinstance(value, (ArrayOperators, Literal)):
        return value
    if is_wide(value):
        return Literal(np.asarray(int(value), object), ShapedArray.of((), dtypes.default_int(), True))
    return as_operand(value, name)


def is_wide(value: Any) -> bool:
    """Whether `value` is a Python int that the default integer dtype cannot hold."""
    if not isinstance(value, int):
        return False
    return (value if value >= 0 else ~value).bit_length() >= 8 * dtypes.default_int().itemsize


def _not_numbers(value: Any) -> str:
    return "pass an array or a number; a function without return returns None" if value is None else NOT_NUMBERS


NOT_NUMBERS = "keep values that are not numbers outside of arrays"
SAME_LENGTH = "give every row the same length, as by padding short rows"


def conversion(value: Any, name: str) -> str:
    """How to convert a value of another library, or a list, to an array; empty if there is no way."""
    if is_foreign_array(value):
        return f"convert it with numpy.asarray({name})"
    return f"convert it with {name}.to_numpy()" if hasattr(value, "to_numpy") else ""


def _from_list(value: Any, name: str) -> str:
    # A function's `*args` take arrays one by one.
    if name.startswith("*") and any(isinstance(v, (ArrayOperators, np.ndarray)) for v in value):
        return "pass the arrays one by one, as in f(a, b) or f(*arrays)"
    try:
        found = np.asarray(value)
    except errors.StagecError:  # tracers
        return "wrap it in stagec.numpy.array"
    except ValueError:
        return SAME_LENGTH
    return NOT_NUMBERS if found.dtype.kind in "OSUV" else "wrap it in stagec.numpy.array"


def is_foreign_array(value: Any) -> bool:
    """Whether `value` is an array of another library, which NumPy can read."""
    return hasattr(type(value), "__array__") and hasattr(value, "dtype") and hasattr(value, "shape")


def is_own_array(operand: Operand) -> TypeGuard[Array]:
    """Whether an operand may be returned as it is: literals and NumPy arrays go through a primitive first."""
    return isinstance(operand, ArrayOperators)


def literal(value: Any, dtype: np.dtype[Any], weak_type: bool = False) -> Operand:
    """A rank-0 constant, or the size of an open dimension. Python integers out of the dtype's range are an error."""
    if type(value) is Dim:
        return dimension_size(value, dtype, weak_type)
    if isinstance(value, int) and not isinstance(value, bool) and dtypes.is_integer(dtype):
        check_range(value, dtype)
    with np.errstate(all="ignore"):
        return Literal(np.asarray(value).astype(dtype), ShapedArray.of((), dtype, weak_type))


def check_range(value: int, dtype: np.dtype[Any], name: str = "") -> None:
    """Raise OverflowError for a Python integer that an integer dtype does not hold; `name` is the function called."""
    low, high = dtypes.integer_range(dtype)
    if low <= value <= high:
        return
    fix = "write it as a float, or use a wider dtype"
    if value < 0 and dtypes.is_unsigned(dtype):
        fix = "use a signed dtype, such as int32"
    elif dtype.itemsize == 4 and dtypes.default_int() == dtypes.int32:
        fix = (
            "write it as a float, or use a wider dtype; "
            "stagec.enable_x64() and STAGEC_ENABLE_X64=1 enable those of 64 bits"
        )
    prefix = f"{name}: " if name else ""
    raise location.error(OverflowError, f"{prefix}Python integer {value} does not fit {dtype.name}", fix=fix)


def aval_of(operand: Operand) -> ShapedArray:
    """Shape, dtype and weak type of an operand."""
    if isinstance(operand, (ArrayOperators, Literal)):
        return operand.aval
    return ShapedArray.of(operand.shape, operand.dtype)


def promote_weak_scalars(*values: Any) -> list[Operand]:
    """Operands for one primitive: Python scalars take the dtype of the arrays among them.

    Nothing else is promoted and nothing is broadcast, as in `jax.lax`.
    """
    if _of_one_dtype(values):
        return list(values)
    operands = [promotable(v, f"operand {i}") for i, v in enumerate(values)]
    avals = [aval_of(o) for o in operands]
    strong = next((a.dtype for a in avals if not a.weak_type), None)
    if strong is None:
        strong, _ = dtypes.lattice_result([(a.dtype, a.weak_type) for a in avals])
    out: list[Operand] = []
    for original, operand, aval in zip(values, operands, avals):
        scalar = isinstance(operand, Literal) and aval.weak_type
        if scalar and (aval.dtype != strong or operand.value.dtype == object) and scalar_fits(aval.dtype, strong):
            operand = literal(original.value[()] if isinstance(original, Literal) else original, strong, False)
        out.append(operand)
    return out


def _of_one_dtype(values: tuple[Any, ...]) -> bool:
    """Whether these are operands of one dtype already, such as those that `stagec.numpy` has promoted."""
    dtype = None
    for value in values:
        if isinstance(value, ArrayOperators) or (type(value) is Literal and value.value.dtype != object):
            found = value.aval.dtype
        else:
            return False
        if dtype is None:
            dtype = found
        elif found != dtype:
            return False
    return True


def scalar_fits(scalar: np.dtype[Any], array: np.dtype[Any]) -> bool:
    """Whether a Python scalar, whose own dtype is given, takes the dtype of an array that it is combined with."""
    return dtypes.lattice_result([(array, False), (scalar, scalar != dtypes.bool_)])[0] == array
