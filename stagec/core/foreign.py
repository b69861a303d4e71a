"""Arrays of other libraries: tensors, by DLPack, and the columns of pandas."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.operators import ArrayOperators

_NUMBERS = "biufc"
# Classes whose objects become arrays, and how. Libraries add their own.
conversions: dict[type, Callable[[Any], np.ndarray[Any, Any]]] = {np.ndarray: np.asarray}


def from_foreign(value: Any, name: str = "") -> np.ndarray[Any, Any] | None:
    """A tensor, a Series, an Index or a DataFrame as a NumPy array, without a copy where that can be.

    Args:
      name: what messages call the value, if anything.

    Returns:
      None for everything else.

    Raises:
      ArgumentTypeError: a tensor that the host cannot read, or that has a gradient.
      DtypeError: columns that hold no numbers, or not of one dtype.
    """
    cls: Any = type(value)
    convert = conversions.get(cls)
    if convert is not None:
        return convert(value)
    kind = _pandas_class(cls)
    if kind == "DataFrame":
        return _from_frame(value, name)
    if kind:
        _check_column(value.dtype, _title(name, f"a pandas {kind}"), "x")
        column: np.ndarray[Any, Any] = value.to_numpy()
        return column
    if hasattr(cls, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic, ArrayOperators)):
        return import_tensor(value, name)
    return None


def import_tensor(value: Any, name: str = "") -> np.ndarray[Any, Any]:
    """A tensor's memory as a NumPy array.

    Raises:
      ArgumentTypeError: the host cannot read it, or it has a gradient.
    """
    from stagec.core.dlpack import import_array  # needed for tensors only

    try:
        return import_array(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        what = _title(name, f"a {type(value).__name__}")
        fix = "pass a dense array of numbers that is on the CPU"
        if getattr(value, "requires_grad", False) is True:
            fix = "x.detach() leaves the gradient out, which stagec could not continue"
        raise location.error(
            errors.ArgumentTypeError,
            f"{what} cannot be read through DLPack: {(str(error).splitlines() or [type(error).__name__])[0]}",
            fix=fix,
        ) from None


@functools.lru_cache(256)
def _pandas_class(kind: type) -> str:
    """Which of the three classes of pandas a class is, or is derived from; else an empty string."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "pandas" and base.__name__ in ("Series", "Index", "DataFrame"):
            return base.__name__
    return ""


def _title(name: str, what: str) -> str:
    return f"{name}: {what}" if name else what


def _from_frame(frame: Any, name: str) -> np.ndarray[Any, Any]:
    columns = list(zip(frame.columns, frame.dtypes))
    for column, dtype in columns:
        _check_column(dtype, _title(name, f"column {column!r} of a DataFrame"), f"x[{column!r}]")
    if len({str(dtype) for _, dtype in columns}) > 1:
        rows = [(str(column), str(dtype), "") for column, dtype in columns[:8]]
        rows += [("...", f"{len(columns) - 8} more", "")] if len(columns) > 8 else []
        raise location.error(
            errors.DtypeError,
            _title(name, "a DataFrame whose columns have several dtypes is not an array"),
            rows,
            "x.to_numpy('float32') makes one array; {c: x[c] for c in x} is a dict of arrays",
        )
    numbers: np.ndarray[Any, Any] = frame.to_numpy()
    return numbers


def _check_column(dtype: Any, title: str, x: str) -> None:
    """Raise unless a column's dtype is one that NumPy computes with; the message calls the column `x`."""
    if isinstance(dtype, np.dtype) and (dtype.kind in _NUMBERS or dtype == dtypes.bfloat16):
        return
    text = str(dtype)
    if text == "category":
        fix = f"{x}.cat.codes are the categories' numbers"
    elif text.startswith(("datetime", "timedelta", "period")):
        fix = f"{x}.astype('int64') counts its units of time; subtract the first one, since 32 bits hold few"
    elif text.startswith("Sparse"):
        fix = f"{x}.sparse.to_dense() has all elements"
    elif getattr(dtype, "na_value", None) is not None and getattr(dtype, "kind", "O") in _NUMBERS:
        fix = f"{x}.to_numpy('float32', na_value=float('nan')) has NaN where a value is missing"
    else:
        fix = f"{x}.astype('float32') reads numbers; {x}.astype('category').cat.codes numbers the different values"
    raise location.error(errors.DtypeError, f"{title} has dtype {text}, which arrays cannot have", fix=fix)
