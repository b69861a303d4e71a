"""NumPy's implicit conversions: promotion of dtypes, broadcasting of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.graph import Literal
from stagec.core.trace import operand_rows
from stagec.primitives.axes import shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, aval_of, literal, promotable
from stagec.primitives.shape import broadcast_in_dim

location.assists(__file__)


def check_dtypes(pairs: Sequence[tuple[np.dtype[Any], bool]]) -> None:
    """Raise for dtypes, with their weak types, of the user's operands that strict promotion refuses."""
    if dtypes.is_strict() and location.is_called_by_user():
        dtypes.check_strict(pairs)


def check_ranks(name: str, operands: Sequence[Operand], cores: Sequence[int] = ()) -> None:
    """Warn of operands of the user's that differ in their number of axes, or refuse them, where that is asked for.

    Args:
      cores: how many trailing axes of each operand are not broadcast.
    """
    if not config.checks_promotion() or config.numpy_rank_promotion == "allow":
        return
    avals = [aval_of(o) for o in operands]
    if (
        len({a.ndim - core for a, core in zip(avals, cores or [0] * len(avals)) if a.ndim}) < 2
        or not location.is_called_by_user()
    ):
        return
    error = location.error(
        errors.ShapeError,
        f"{name}: {' and '.join(v.long() for v in avals)} differ in their number of axes",
        operand_rows(operands),
        "add axes with x[None], or allow it with stagec.numpy_rank_promotion('allow')",
    )
    if config.numpy_rank_promotion == "raise":
        raise error
    location.warn(str(error), UserWarning)


def promote_dtypes(*values: Any) -> list[Array]:
    """Convert operands to one dtype, by the promotion lattice."""
    operands = [promotable(v, f"operand {i}") for i, v in enumerate(values)]
    avals = [aval_of(o) for o in operands]
    pairs = [(a.dtype, a.weak_type) for a in avals]
    dtype, weak = dtypes.lattice_result(pairs)
    check_dtypes(pairs)
    return [_as_dtype(o, a, dtype, weak) for o, a in zip(operands, avals)]


def promote_inexact(*values: Any) -> list[Array]:
    """Convert operands to one floating or complex dtype; integers become the default float."""
    operands = promote_dtypes(*values)
    aval = aval_of(operands[0])
    if dtypes.is_inexact(aval.dtype):
        return operands
    dtype = dtypes.to_inexact(aval.dtype)
    weak = all(aval_of(o).weak_type for o in operands)
    return [_as_dtype(o, aval_of(o), dtype, weak) for o in operands]


def _as_dtype(operand: Operand, aval: ShapedArray, dtype: np.dtype[Any], weak: bool) -> Operand:
    wide = isinstance(operand, Literal) and operand.value.dtype == object
    if aval.dtype == dtype and (aval.weak_type == weak or not aval.weak_type) and not wide:
        return operand
    if isinstance(operand, Literal) and aval.weak_type:
        return literal(operand.value.item(), dtype, weak)
    return convert_element_type(operand, dtype, weak)


def truth(x: Operand) -> Array:
    """`x != 0` for each element."""
    return convert_element_type(x, dtypes.bool_)


def stretches_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether an array of one shape broadcasts to the other."""
    return len(shape) <= len(target) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(target)))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that NumPy broadcasts `shapes` to.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    rank = max((len(s) for s in shapes), default=0)
    out = []
    for axis in range(-rank, 0):
        sizes = {s[axis] for s in shapes if len(s) >= -axis}
        sizes.discard(1)
        if len(sizes) > 1:
            a, b = sorted(sizes, key=str)[:2]
            raise location.error(
                errors.ShapeError,
                f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast (axis {axis}: {a} vs {b})",
                fix="reshape one of them; axes are matched from the last, and only size 1 stretches",
            )
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def broadcast_to_shape(x: Array, shape: Sequence[int], name: str = "broadcast_to") -> Array:
    """Broadcast to `shape`, adding axes in front as needed.

    Args:
      name: the function's name in the error.
    """
    shape = tuple(shape)
    aval = aval_of(x)
    have = aval.shape
    if have == shape:
        return x
    if not stretches_to(have, shape):
        raise shape_error(
            name,
            f"{aval.long()} does not broadcast to {shape}",
            "only axes of size 1 stretch, and new axes come first; reshape it, as with x[:, None]",
        )
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - len(have), len(shape))))


def broadcast_together(name: str, operands: Sequence[Operand]) -> list[Operand]:
    """Broadcast operands to one shape, except those of rank 0, which primitives broadcast."""
    avals = [aval_of(o) for o in operands]
    shapes = {a.shape for a in avals if a.shape}
    if len(shapes) <= 1:
        return list(operands)
    try:
        shape = broadcast_shapes(*[a.shape for a in avals])
    except errors.ShapeError:
        raise _mismatch(name, operands, avals) from None
    return [o if not a.shape else broadcast_to_shape(o, shape) for o, a in zip(operands, avals)]


def _mismatch(name: str, operands: Sequence[Operand], avals: Sequence[ShapedArray]) -> errors.ShapeError:
    a, b = avals[0].shape, avals[1].shape
    for x, y in ((x, y) for x in avals for y in avals):
        clash = [(i, m, n) for i, (m, n) in enumerate(zip(x.shape[::-1], y.shape[::-1])) if m != n and 1 not in (m, n)]
        if clash:
            a, b = x.shape, y.shape
            axis, m, n = -clash[0][0] - 1, clash[0][1], clash[0][2]
            break
    fix = "reshape one operand; axes are matched from the last, and only size 1 stretches"
    if len(b) == 1 and len(a) > 1 and b[0] in a[:-1]:
        fix = "add an axis with operand[:, None], so that rows are matched instead of columns"
    headline = f"{name}: {' and '.join(v.long() for v in avals)} do not broadcast (axis {axis}: {m} vs {n})"
    return location.error(errors.ShapeError, headline, operand_rows(operands), fix)


def _broadcast_checked(name: str, operands: Sequence[Operand]) -> list[Operand]:
    check_ranks(name, operands)
    return broadcast_together(name, operands)


def promote(name: str, *values: Any) -> list[Array]:
    """Convert operands to one dtype and one shape (or rank 0)."""
    return _broadcast_checked(name, promote_dtypes(*values))


def promote_numeric(name: str, *values: Any) -> list[Array]:
    """Convert operands to one dtype other than bool, and one shape (or rank 0); bools become integers."""
    operands = promote_dtypes(*values)
    if aval_of(operands[0]).dtype == dtypes.bool_:
        operands = [convert_element_type(o, dtypes.default_int()) for o in operands]
    return _broadcast_checked(name, operands)


def promote_floating(name: str, *values: Any) -> list[Array]:
    """Convert operands to one floating or complex dtype, and one shape (or rank 0)."""
    return _broadcast_checked(name, promote_inexact(*values))
