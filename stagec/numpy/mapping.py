"""`vectorize`, `fromfunction` and `apply_along_axis`: functions of elements, or of vectors, over whole arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from stagec.core import errors, location
from stagec.core.array import Array, Shape
from stagec.core.wrapping import wraps
from stagec.numpy.arguments import requested_dtype
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import broadcast_shapes, check_ranks
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.primitives.convert import as_array
from stagec.primitives.iota import broadcasted_iota
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.shape import expand_dims, reshape
from stagec.transforms.batch import batch_front
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "vectorize"]

_DIMENSIONS = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_LIST = rf"\s*{_DIMENSIONS}(?:\s*,\s*{_DIMENSIONS})*\s*"
_SIGNATURE = re.compile(rf"^(?:{_LIST})?->{_LIST}$")

Core = tuple[str, ...]


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = (), signature: str | None = None
) -> Callable[..., Any]:
    """A function of arrays that applies `pyfunc` to their elements, by NumPy's rules of broadcasting.

    It runs as one batch, not as a loop.

    Args:
      pyfunc: a function of scalars, or of arrays as `signature` describes them.
      excluded: positions and names of arguments that are passed as they are.
      signature: as of generalized ufuncs, such as `"(m,n),(n)->(m)"`.

    Raises:
      ShapeError: the arguments do not fit the signature, or each other.

    >>> import stagec.numpy as snp
    >>> dot = snp.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
    >>> dot(snp.ones((2, 3)), snp.arange(3))
    Array([3., 3.], dtype=float32)
    """
    kept = frozenset(excluded)
    if any(not isinstance(e, (int, str)) for e in kept) or any(isinstance(e, int) and e < 0 for e in kept):
        fix = "give positions from 0, and names"
        raise location.error(ValueError, f"vectorize: excluded={excluded!r}", fix=fix)
    parsed = None if signature is None else _parse(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        positions = [i for i in range(len(args)) if i not in kept]
        names = [k for k in kwargs if k not in kept]
        values = [as_operand(args[i], f"argument {i}") for i in positions]
        values += [as_operand(kwargs[k], k) for k in names]
        core_dims: list[Core] = [()] * len(values) if parsed is None else parsed[0]
        if len(core_dims) != len(values):
            raise location.error(
                errors.ShapeError,
                f"vectorize: the signature {signature} has {len(core_dims)} arguments, but {len(values)} are given",
                fix="give as many arguments as the signature names, or exclude some",
            )
        sizes: dict[str, int] = {}
        outer = [_outer(value, core, sizes, i) for i, (value, core) in enumerate(zip(values, core_dims))]
        check_ranks("vectorize", values, [len(core) for core in core_dims])
        whole = broadcast_shapes(*outer)
        results: list[Any] = []

        def element(*parts: Any) -> list[Any]:
            full, keywords = list(args), dict(kwargs)
            for i, part in zip(positions, parts):
                full[i] = part
            keywords.update(zip(names, parts[len(positions) :]))
            result = pyfunc(*full, **keywords)
            results.append(result)
            outs = list(result) if isinstance(result, (tuple, list)) else [result]
            outs = [as_operand(o, "result") for o in outs]
            if parsed is not None:
                _check_results(outs, parsed[1], sizes, signature)
            return outs

        outs = _mapped(element, values, outer, whole)
        found = [as_array(o) for o in outs]
        return tuple(found) if isinstance(results[-1], (tuple, list)) else found[0]

    return vectorized


def _parse(signature: str) -> tuple[list[Core], list[Core]]:
    if not _SIGNATURE.match(signature):
        fix = 'write it like "(m,n),(n)->(m)"'
        raise location.error(ValueError, f"vectorize: {signature!r} is not a signature", fix=fix)
    inputs, outputs = (
        [tuple(re.findall(r"\w+", part)) for part in re.findall(_DIMENSIONS, side)] for side in signature.split("->")
    )
    return inputs, outputs


def _outer(value: Any, core: Core, sizes: dict[str, int], i: int) -> tuple[int, ...]:
    """Return the leading axes of an argument; record the sizes of those that the signature names in `sizes`."""
    aval = aval_of(value)
    if aval.ndim < len(core):
        raise location.error(
            errors.ShapeError,
            f"vectorize: argument {i} is {aval.long()}, but the signature gives it the axes ({','.join(core)})",
            fix=f"pass an array with at least {len(core)} axes",
        )
    split = aval.ndim - len(core)
    for name, n in zip(core, aval.shape[split:]):
        expected = int(name) if name.isdigit() else sizes.setdefault(name, n)
        if n != expected:
            raise location.error(
                errors.ShapeError,
                f"vectorize: axis {name} of argument {i} has size {n}, but {expected} elsewhere",
                [(f"argument {i}", aval.long(), f"({','.join(core)})")],
                "pass arrays whose axes of one name have one size",
            )
    return aval.shape[:split]


def _mapped(
    function: Callable[..., list[Any]], values: list[Any], outer: list[tuple[int, ...]], whole: tuple[int, ...]
) -> list[Any]:
    """Map a flat function over the leading axes, the first of them outermost."""
    if not whole:
        return function(*[as_array(v) for v in values])
    ready, dims, remaining = [], [], []
    for value, shape in zip(values, outer):
        has_axis = len(shape) == len(whole)
        mapped = has_axis and shape[0] == whole[0]
        if has_axis and not mapped:  # of size 1: broadcast
            aval = aval_of(value)
            value = reshape(value, aval.shape[1:])
        ready.append(value)
        dims.append(0 if mapped else None)
        remaining.append(shape[1:] if has_axis else shape)
    return batch_front(lambda *parts: _mapped(function, list(parts), remaining, whole[1:]), ready, dims, whole[0])


def _check_results(outs: list[Any], core_dims: list[Core], sizes: dict[str, int], signature: str | None) -> None:
    if len(outs) != len(core_dims):
        raise location.error(
            errors.ShapeError,
            f"vectorize: the signature {signature} has {len(core_dims)} results, but the function returned {len(outs)}",
            fix="return a tuple with as many arrays as the signature names",
        )
    for out, core in zip(outs, core_dims):
        aval = aval_of(out)
        wanted = [int(c) if c.isdigit() else sizes.get(c, n) for c, n in zip(core, aval.shape)]
        if aval.ndim != len(core) or list(aval.shape) != wanted:
            raise location.error(
                errors.ShapeError,
                f"vectorize: the signature {signature} gives a result the axes ({','.join(core)}), but the function "
                f"returned {aval.long()}",
                fix="return arrays with the axes of the signature",
            )


def fromfunction(function: Callable[..., Any], shape: Shape, *, dtype: DTypeLike = float, **kwargs: Any) -> Array:
    """`function` of the indices of each element of `shape`.

    As in JAX, the function gets scalars, and axes of its result come last. It runs as one batch, not as a loop.

    >>> fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    Array([[0, 1],
           [1, 2]], dtype=int32)
    """
    sizes = as_shape(shape, "fromfunction")
    wanted = requested_dtype(dtype, "fromfunction")
    indices = [broadcasted_iota(wanted, sizes, axis) for axis in range(len(sizes))]
    found: Array = vectorize(functools.partial(function, **kwargs))(*indices)
    return found


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Apply a function of vectors to every vector along an axis, as one batch.

    Args:
      func1d: a function of an array with one axis, and of `args` and `kwargs` as they are.
      axis: the axis of the vectors; the axes of the results replace it.

    Raises:
      AxisError: the axis is out of range.

    >>> import stagec.numpy as snp
    >>> snp.apply_along_axis(lambda v: v - v.mean(), 1, snp.array([[1.0, 3.0], [5.0, 9.0]]))
    Array([[-1.,  1.],
           [-2.,  2.]], dtype=float32)
    """
    value = as_operand(arr, "arr")
    rank = aval_of(value).ndim
    if not -rank <= axis < rank:
        raise location.error(
            errors.AxisError,
            f"apply_along_axis: axis {axis} of {aval_of(value).long()}",
            fix=f"give an axis from {-rank} to {rank - 1}" if rank else "give an array with axes",
        )
    axis %= rank
    front = moveaxis(value, axis, -1)
    outer = aval_of(front).shape[:-1]
    (out,) = _mapped(lambda v: [as_operand(func1d(v, *args, **kwargs), "result")], [front], [outer], outer)
    extra = aval_of(out).ndim - len(outer)
    positions = list(range(len(outer), len(outer) + extra))
    return as_array(moveaxis(out, positions, [axis + k for k in range(extra)]))


def apply_over_axes(func: Callable[[Any, int], Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """Apply a function of an array and an axis for one axis after the other.

    Args:
      func: such as a reduction; an axis that it removes is restored with size 1.
      a: an array.
      axes: an axis, or several.

    Raises:
      ShapeError: the function changes the rank in another way.

    >>> import stagec.numpy as snp
    >>> snp.apply_over_axes(snp.sum, snp.ones((2, 3, 4)), (0, 2)).ravel()
    Array([8., 8., 8.], dtype=float32)
    """
    value = as_array(as_operand(a, "a"))
    for axis in axes if isinstance(axes, (tuple, list)) else [axes]:
        axis = canonical_axis(axis, value.ndim, "apply_over_axes")
        out = func(value, axis)
        if aval_of(out).ndim == value.ndim - 1:
            out = expand_dims(out, (axis,))
        if aval_of(out).ndim != value.ndim:
            raise location.error(
                errors.ShapeError,
                f"apply_over_axes: the function returned {aval_of(out).long()} for {value.aval.long()}",
                fix="keep the axis, or remove it",
            )
        value = as_array(out)
    return value
