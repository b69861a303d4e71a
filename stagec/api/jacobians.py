"""`jacfwd`, `jacrev` and `hessian`: derivatives of every result with respect to every argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, overload

import numpy as np

from stagec.api.derivatives import Variation, pull_back
from stagec.api.flat import FlatFunction, as_tangent
from stagec.api.gradients import Chosen, check_result_dtype
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Function, P
from stagec.core.wrapping import wraps
from stagec.core.zero import differentiable, no_tangent
from stagec.numpy.creation import eye
from stagec.primitives.convert import as_array, convert_element_type_p
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape, transpose
from stagec.primitives.slicing import slice_in_dim
from stagec.transforms.batch import batch_front
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import linearize_flat
from stagec.typing import ArrayLike


@overload
def jacfwd(
    fun: Callable[Concatenate[Array, P], Array] | Callable[Concatenate[float, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Function[Concatenate[ArrayLike, P], Array]: ...
@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function[P, Any]: ...
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """The Jacobian of `fun`, column by column in forward mode: best where there are few inputs.

    Args:
      fun: a function of and to pytrees of arrays.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: `fun` returns a pair, and the second result is passed through.
      holomorphic: arguments are complex, and `fun` is promised to be holomorphic.

    Returns:
      A function with the same arguments. Each leaf of shape `r` of `fun`'s result becomes a tree with the
      structure of the argument (a tuple of such for several), whose leaves have shape `r + a` for arguments
      of shape `a`.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.jacfwd(lambda x: x**2)(snp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """

    @short_tracebacks
    @wraps(fun, "jacfwd")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("jacfwd", fun, args, kwargs, argnums)
        chosen.check(holomorphic, False, real=True)
        flat = FlatFunction(chosen.function, chosen.tree, has_aux)
        avals = chosen.avals
        bases, total = _bases(avals)
        outs: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            outs[:], dots = jvp_flat(flat, chosen.primals, tangents)
            return [as_tangent(d, aval_of(o).strip_weak_type()) for o, d in zip(outs, dots) if _real(o)]

        pushed = iter(batch_front(push, bases, [0] * len(bases), total))
        rows = []
        for out in outs:
            shape = aval_of(out).shape
            if holomorphic:
                check_result_dtype("jacfwd", fun, aval_of(out), True)
            if not _real(out):
                columns: list[Any] = [no_tangent(a.update(shape=(*shape, *a.shape))) for a in avals]
            else:
                dot = transpose(next(pushed), [*range(1, len(shape) + 1), 0])
                columns = [
                    as_array(reshape(slice_in_dim(dot, start, start + a.size, axis=len(shape)), (*shape, *a.shape)))
                    for start, a in zip(_starts(avals), avals)
                ]
            rows.append(chosen.gradient(columns))
        result = flat.out_tree.unflatten(rows)
        return (result, flat.aux) if has_aux else result

    return jacobian_of


@overload
def jacrev(
    fun: Callable[Concatenate[Array, P], Array] | Callable[Concatenate[float, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function[Concatenate[ArrayLike, P], Array]: ...
@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function[P, Any]: ...
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """The Jacobian of `fun`, row by row in reverse mode: best where there are few results.

    Arguments and results are those of `jacfwd`; with `allow_int`, Jacobians of integers are of dtype `float0`.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.jacrev(lambda x: x.sum())(snp.array([1.0, 2.0]))
    Array([1., 1.], dtype=float32)
    """

    @short_tracebacks
    @wraps(fun, "jacrev")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("jacrev", fun, args, kwargs, argnums)
        chosen.check(holomorphic, allow_int)
        flat = FlatFunction(chosen.function, chosen.tree, has_aux)
        outs, linear = linearize_flat(flat, chosen.primals, chosen.name)
        out_avals = [aval_of(o) for o in outs]
        for aval in out_avals:
            check_result_dtype("jacrev", fun, aval, holomorphic)
        avals = chosen.avals
        active = [i for i, a in enumerate(avals) if differentiable(a)]
        variation = Variation(chosen.primals, outs)

        def pull(*cts: Any) -> list[Any]:
            found = pull_back(linear, cts, avals, variation)
            return [found[i] for i in active]

        bases, total = _bases(out_avals)
        pulled = dict(zip(active, batch_front(pull, bases, [0] * len(bases), total)))
        rows = []
        for start, out in zip(_starts(out_avals), out_avals):
            columns: list[Any] = []
            for i, a in enumerate(avals):
                shape = (*out.shape, *a.shape)
                if i in pulled:
                    part = slice_in_dim(pulled[i], start, start + out.size, axis=0)
                    columns.append(as_array(reshape(part, shape)))
                else:
                    columns.append(no_tangent(a.update(shape=shape)))
            rows.append(chosen.gradient(columns))
        result = flat.out_tree.unflatten(rows)
        return (result, flat.aux) if has_aux else result

    return jacobian_of


jacobian = jacrev


@overload
def hessian(
    fun: Callable[Concatenate[Array, P], Array] | Callable[Concatenate[float, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Function[Concatenate[ArrayLike, P], Array]: ...
@overload
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function[P, Any]: ...
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """The matrix of second derivatives: `jacfwd` of `jacrev`, whose structure it has.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.hessian(lambda x: (x**3).sum())(snp.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    rows: Any = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    found: Any = jacfwd(rows, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return wraps(fun, "hessian")(found)


def _real(value: Any) -> bool:
    return differentiable(aval_of(value))


def _starts(avals: Sequence[ShapedArray]) -> list[int]:
    """Where each array begins, with all of them laid end to end."""
    return [int(n) for n in np.cumsum([0] + [a.size for a in avals])[:-1]]


def _bases(avals: Sequence[ShapedArray]) -> tuple[list[Any], int]:
    """The unit vectors of the arrays laid end to end, as a batch for each array."""
    total = sum(a.size for a in avals)
    found = []
    for start, a in zip(_starts(avals), avals):
        # The row keeps 64-bit dtypes, which `eye` makes in a block of `enable_x64` alone.
        vectors = convert_element_type_p(eye(total, a.size, k=-start, dtype=bool), new_dtype=a.dtype, weak_type=False)
        found.append(reshape(vectors, (total, *a.shape)))
    return found, total
