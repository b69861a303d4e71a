"""The methods of ufuncs: `outer`, `reduce`, `accumulate`, `reduceat` and `at`; and `frompyfunc`."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from types import FunctionType
from typing import Any

import numpy as np

from stagec.control.scan import scan
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import shorten
from stagec.core.wrapping import wraps
from stagec.numpy import reductions, running
from stagec.numpy.arguments import array_argument, immutable, is_traced, refuse_out, requested_dtype
from stagec.numpy.conditionals import where as choose
from stagec.numpy.creation import arange, full, ones
from stagec.numpy.joining import concatenate
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.numpy.mapping import vectorize
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.reductions import mask_like, with_axes
from stagec.numpy.values import array
from stagec.primitives import reduce as rd
from stagec.primitives.axes import canonical_axis

__all__ = ["frompyfunc", "ufunc"]

location.assists(__file__)

# Ufuncs with a reduction, a running total, or an update of their own; others take one step for each element.
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_RUNNING: dict[str, Callable[..., Any]] = {"add": running.cumsum, "multiply": running.cumprod}
_UPDATES = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
_BITWISE = {"bitwise_and": rd.reduce_and, "bitwise_or": rd.reduce_or, "bitwise_xor": rd.reduce_xor}


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        # The functions of this package stay plain functions, because calls of those are faster.
        return type.__instancecheck__(cls, value) or type.__instancecheck__(cls, getattr(value, "__ufunc__", None))


class ufunc(metaclass=_Kind):
    """A function that applies to arrays element by element; `frompyfunc` makes one.

    The functions of `stagec.numpy` that NumPy calls ufuncs are instances, and those of two arguments have the
    methods. Methods that combine elements do so in order, from the first to the last.

    >>> import stagec.numpy as snp
    >>> isinstance(snp.add, snp.ufunc), snp.add.nin
    (True, 2)
    """

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> None:
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin + nout, identity
        self._call = func
        self.__name__ = self.__qualname__ = getattr(func, "__name__", "ufunc")
        self.__doc__ = getattr(func, "__doc__", None)

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise location.error(
                TypeError,
                f"{self.__name__} takes {self.nin} arrays, got {len(args)}",
                fix="pass as many arrays as nin says",
            )
        return self._call(*args)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def _check(self, method: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise location.error(
                ValueError,
                f"{self.__name__}.{method} is for functions of two arrays with one result",
                fix="call the function itself",
            )

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of each pair of elements of `A` and `B`.

        >>> import stagec.numpy as snp
        >>> snp.multiply.outer(snp.arange(3), snp.array([1, 10]))
        Array([[ 0,  0],
               [ 1, 10],
               [ 2, 20]], dtype=int32)
        """
        self._check("outer")
        x, y = array_argument(A, "A"), array_argument(B, "B")
        return self._call(x.reshape(x.shape + (1,) * y.ndim), y.reshape((1,) * x.ndim + y.shape))

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Combine the elements along an axis into one.

        Args:
          a: an array.
          axis: which; `None` combines all elements.
          dtype: dtype of the array before anything is combined.
          keepdims: keep the reduced axis, with size 1.
          initial: the value to begin with.
          where: bools that broadcast to `a`; only these elements count. Needs an identity or `initial`.

        Raises:
          ShapeError: there are no elements, no identity and no `initial`.

        >>> import stagec.numpy as snp
        >>> int(snp.subtract.reduce(snp.array([10, 2, 3])))
        5
        """
        self._check("reduce")
        refuse_out(out, f"{self.__name__}.reduce")
        known = _REDUCTIONS.get(self.__name__)
        x = _converted(a, dtype, self.__name__)
        if known in (reductions.sum, reductions.prod):
            return known(x, axis, x.dtype if dtype is not None else None, None, keepdims, initial, where)
        if known in (reductions.max, reductions.min):
            return known(x, axis, None, keepdims, initial, where)
        if known is not None and initial is None:
            return known(x, axis, None, keepdims, where=where)
        return self._by_steps(x, axis, keepdims, initial, where)

    def _by_steps(self, x: Array, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        name, rank = self.__name__, x.ndim
        mask = None if where is None else mask_like(x, where, name)
        if axis is None:
            axis, axes, x = 0, tuple(range(rank)), ravel(x)
            mask = None if mask is None else ravel(mask)
        else:
            axis = canonical_axis(axis, rank, f"{name}.reduce")
            axes = (axis,)
        if name in _BITWISE and initial is None and mask is None and np.dtype(x.dtype).kind in "iub":
            return with_axes(_BITWISE[name](x, (axis,)), axes, keepdims)
        rows = moveaxis(x, axis, 0)
        kind = self._result_dtype(rows)
        if initial is None and mask is None and rows.shape[0]:
            first, rows = rows[0].astype(kind), rows[1:]
        elif initial is None and self.identity is None:
            raise location.error(
                errors.ShapeError,
                f"{name}.reduce: the function has no identity, for no elements or those that where leaves out",
                [("array", x.aval.long(), "")],
                "pass initial=, the value to begin with",
            )
        else:
            start = np.asarray(self.identity).astype(kind) if initial is None else initial
            first = full(rows.shape[1:], start, kind)
        masks = ones(rows.shape, bool) if mask is None else moveaxis(mask, axis, 0)

        def step(carry: Any, row: Any) -> Any:
            value, used = row
            combined = self._call(carry, value).astype(carry.dtype)
            return combined if mask is None else choose(used, combined, carry), None

        return with_axes(scan(step, first, (rows, masks))[0], axes, keepdims)

    def _result_dtype(self, rows: Array) -> Any:
        """Return the dtype of the function of two elements of `rows`."""
        one = full((), 1, rows.dtype)
        return self._call(one, one).dtype

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The partial results of `reduce` after each element along an axis.

        >>> import stagec.numpy as snp
        >>> snp.maximum.accumulate(snp.array([1, 3, 2]))
        Array([1, 3, 3], dtype=int32)
        """
        self._check("accumulate")
        refuse_out(out, f"{self.__name__}.accumulate")
        x = _converted(a, dtype, self.__name__)
        known = _RUNNING.get(self.__name__)
        axis = canonical_axis(axis, x.ndim, f"{self.__name__}.accumulate")
        if known is not None:
            return known(x, axis, x.dtype if dtype is not None else None)
        rows = moveaxis(x, axis, 0)
        if not rows.shape[0]:
            return x

        def step(carry: Any, row: Any) -> Any:
            carry = self._call(carry, row).astype(carry.dtype)
            return carry, carry

        first = rows[0].astype(self._result_dtype(rows))
        _, others = scan(step, first, rows[1:])
        return moveaxis(concatenate([first[None], others]), 0, axis)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Combine the elements from each index up to the next index.

        If the next index is not larger, the result is the element itself. The last index combines all elements from it
        on.

        Args:
          a: an array.
          indices: of rank 1; not negative, and less than the size of the axis.
          axis: the axis along which elements are combined.
          dtype: dtype of the array before anything is combined.

        Raises:
          IndexingError: an index that is not traced is out of bounds.

        >>> import stagec.numpy as snp
        >>> snp.add.reduceat(snp.arange(8), snp.array([0, 4, 1, 6]))
        Array([ 6,  4, 15, 13], dtype=int32)
        """
        self._check("reduceat")
        refuse_out(out, f"{self.__name__}.reduceat")
        x = _converted(a, dtype, self.__name__)
        axis = canonical_axis(axis, x.ndim, f"{self.__name__}.reduceat")
        rows = moveaxis(x, axis, 0)
        size = rows.shape[0]
        known = None if is_traced(indices) else np.asarray(indices)
        if known is not None and known.size and (known.min() < 0 or known.max() >= size):
            raise location.error(
                errors.IndexingError,
                f"{self.__name__}.reduceat: an index is out of bounds for axis {axis} with size {size}",
                fix=f"give indices from 0 to {size - 1}",
            )
        begin = (indices if known is None else array(known)).astype(int)
        end = concatenate([begin[1:], full((1,), size, begin.dtype)])[: begin.size]
        lead = (slice(None), *[None] * (rows.ndim - 1))

        def step(carry: Any, at_row: Any) -> Any:
            position, row = at_row
            inside = ((begin < position) & (position < end))[lead]
            return choose(inside, self._call(carry, row).astype(carry.dtype), carry), None

        first = rows[begin].astype(self._result_dtype(rows))
        totals, _ = scan(step, first, (arange(size), rows))
        return moveaxis(totals, 0, axis)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """A copy with the function applied to the elements at some indices, once for each time that an index occurs.

        Args:
          a: an array.
          indices: as in `a[indices]`.
          b: the second argument of a function of two.
          inplace: must be False.

        >>> import stagec.numpy as snp
        >>> snp.add.at(snp.zeros(3), snp.array([0, 2, 2]), 1.0, inplace=False)
        Array([1., 0., 2.], dtype=float32)
        """
        if inplace:
            raise immutable(f"{self.__name__}.at")
        x = array_argument(a, "a")
        if self.nin == 1:
            return x.at[indices].apply(self._call)
        self._check("at")
        if self.__name__ in _UPDATES:
            return getattr(x.at[indices], _UPDATES[self.__name__])(b)
        flat_indices = arange(x.size).reshape(x.shape)[indices]
        values = ravel(broadcast_to_shape(array_argument(b, "b"), flat_indices.shape))

        def step(flat: Any, pair: Any) -> Any:
            index, value = pair
            return flat.at[index].set(self._call(flat[index], value).astype(flat.dtype)), None

        return scan(step, ravel(x), (ravel(flat_indices), values))[0].reshape(x.shape)


shorten(ufunc, "__call__ outer reduce accumulate reduceat at")


def _converted(a: Any, dtype: Any, name: str) -> Array:
    x = array_argument(a, name)
    return x if dtype is None else x.astype(requested_dtype(dtype, name))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Make a ufunc of a Python function of single elements; it runs as one batch, not as a loop.

    Args:
      func: a function of `nin` numbers that can be traced.
      nin: the number of arguments.
      nout: the number of results; several are returned as a tuple.
      identity: the value that changes nothing when it is combined with another.

    >>> import stagec.numpy as snp
    >>> join = snp.frompyfunc(lambda x, y: 10 * x + y, 2, 1)
    >>> int(join.reduce(snp.array([1, 2, 3])))
    123
    """
    call = vectorize(func)
    named = wraps(func)(lambda *args: call(*args))
    return ufunc(named, nin, nout, identity=identity)


def attach(namespace: MutableMapping[str, Any]) -> None:
    """Give the functions of a namespace that NumPy calls ufuncs their methods, as attributes."""
    made: dict[Any, ufunc] = {}
    for name, function in namespace.items():
        known = getattr(np, name, None)
        if not isinstance(known, np.ufunc) or known.signature is not None or type(function) is not FunctionType:
            continue
        if function not in made:
            made[function] = ufunc(function, known.nin, known.nout, identity=known.identity)
            made[function].__name__ = known.__name__
        one = made[function]
        for attribute in ("nin", "nout", "nargs", "identity"):
            setattr(function, attribute, getattr(one, attribute))
        function.__ufunc__ = one  # type: ignore[attr-defined]
        methods = ("outer", "reduce", "accumulate", "reduceat", "at") if (one.nin, one.nout) == (2, 1) else ()
        for method in methods or ("at",) * ((one.nin, one.nout) == (1, 1)):
            setattr(function, method, getattr(one, method))
