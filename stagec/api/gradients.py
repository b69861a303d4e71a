"""`grad` and `value_and_grad`.

Their types: the gradient with respect to an array or a number is an Array, with respect to another first argument what
that is. Which argument `argnums` names otherwise, a type cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, overload

from stagec.api.derivatives import Variation, pull_back, refuse_reduce_axes
from stagec.api.flat import FlatFunction, leaf_names, operand, positions
from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Aux, Function, P, X
from stagec.core.functions import check_callable
from stagec.core.wrapping import shown_name, wraps
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of, literal
from stagec.transforms.linearize import linearize_flat
from stagec.typing import ArrayLike


@overload
def value_and_grad(
    fun: Callable[Concatenate[Array, P], Any] | Callable[Concatenate[float, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[ArrayLike, P], tuple[Array, Array]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[X, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[X, P], tuple[Array, X]]: ...
@overload
def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[P, tuple[Array, Any]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[Array, P], tuple[Any, Aux]] | Callable[Concatenate[float, P], tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[ArrayLike, P], tuple[tuple[Array, Aux], Array]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[X, P], tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[X, P], tuple[tuple[Array, Aux], X]]: ...
@overload
def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[P, Any]: ...
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Any:
    """A function that returns `fun`'s value and its gradient.

    Args:
      fun: a function that returns a scalar, or with `has_aux` a pair of a scalar and anything else.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: `fun` returns a pair, and its second result is passed through.
      holomorphic: differentiate a complex function that is promised to be holomorphic.
      allow_int: let integers among the arguments; their gradients are of dtype `float0`, without data.
      reduce_axes: empty.

    Returns:
      A function with the same arguments that returns `(value, gradient)`; the gradient has the
      structure of the argument, or is a tuple of such for several. With `has_aux` it returns
      `((value, aux), gradient)`.

    Raises:
      DtypeError: an argument or the result has no derivative.
      ShapeError: the result is not a scalar.

    The gradient of a real function of complex numbers is the conjugate of the direction in which
    it grows most, as in JAX.

    >>> import stagec
    >>> value, slope = stagec.value_and_grad(lambda x: x**2)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    check_callable("value_and_grad", "stagec.value_and_grad(f)(x)", fun)
    refuse_reduce_axes("grad", reduce_axes)

    @short_tracebacks
    @wraps(fun, "value_and_grad")
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("grad", fun, args, kwargs, argnums)
        chosen.check(holomorphic, allow_int)
        flat = FlatFunction(chosen.function, chosen.tree, has_aux)
        outs, linear = linearize_flat(flat, chosen.primals, chosen.name)
        value = _check_scalar(fun, outs, flat.out_tree, holomorphic)
        ones = [literal(1, aval_of(value).dtype)]
        found = pull_back(linear, ones, [aval_of(p) for p in chosen.primals], Variation(chosen.primals, outs))
        result = as_array(value)
        return ((result, flat.aux) if has_aux else result), chosen.gradient(found)

    return value_and_gradient


@overload
def grad(
    fun: Callable[Concatenate[Array, P], Any] | Callable[Concatenate[float, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[ArrayLike, P], Array]: ...
@overload
def grad(
    fun: Callable[Concatenate[X, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[X, P], X]: ...
@overload
def grad(
    fun: Callable[Concatenate[Array, P], tuple[Any, Aux]] | Callable[Concatenate[float, P], tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[ArrayLike, P], tuple[Array, Aux]]: ...
@overload
def grad(
    fun: Callable[Concatenate[X, P], tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[Concatenate[X, P], tuple[X, Aux]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function[P, Any]: ...
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Any:
    """A function that returns the gradient of `fun`, or `(gradient, aux)`; see `value_and_grad`.

    >>> import stagec, stagec.numpy as snp
    >>> float(stagec.grad(snp.tanh)(0.0))
    1.0
    """
    check_callable("grad", "stagec.grad(f)(x)", fun)
    both: Any = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @short_tracebacks
    @wraps(fun, "grad")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


class Chosen:
    """The arguments of a call that are differentiated, and the function of them alone."""

    def __init__(
        self, what: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any
    ) -> None:
        self.what = what
        self.single = not isinstance(argnums, (tuple, list))
        nums = positions(argnums, len(args), what)
        self.name: str = shown_name(fun)
        leaves, self.tree = pytree.flatten(([args[n] for n in nums], {}))
        self.names = leaf_names(fun, args, nums)
        self.primals = [operand(v, name) for v, name in zip(leaves, self.names)]

        @wraps(fun)
        def of_chosen(*values: Any) -> Any:
            full = list(args)
            for n, v in zip(nums, values):
                full[n] = v
            return fun(*full, **kwargs)

        self.function = of_chosen

    @property
    def avals(self) -> list[ShapedArray]:
        return [aval_of(p) for p in self.primals]

    def check(self, holomorphic: bool, allow_int: bool, real: bool = False) -> None:
        """Raise a DtypeError unless all arguments have derivatives of the kind that is asked for."""
        for name, aval in zip(self.names, self.avals):
            kind = "complex" if holomorphic else "real floating" if real else "real or complex floating"
            if holomorphic:
                fine = dtypes.is_complex(aval.dtype)
            else:
                fine = dtypes.is_float(aval.dtype) or (dtypes.is_complex(aval.dtype) and not real)
            if fine or (allow_int and not dtypes.is_inexact(aval.dtype)):
                continue
            fix = "pass a float (3.0 instead of 3), leave it out of argnums, or pass allow_int=True"
            if holomorphic:
                fix = "convert it with astype(complex)"
            elif real:
                fix = (
                    "pass a float (3.0 instead of 3); for a complex function that is holomorphic, pass holomorphic=True"
                )
            raise location.error(
                errors.DtypeError,
                f"{self.what} requires {kind} arguments, got {aval.long()}",
                [(name, aval.long(), "")],
                fix,
            )

    def gradient(self, found: Sequence[Any]) -> Any:
        """Derivatives, one for each leaf, as `argnums` was given."""
        args, _ = self.tree.unflatten(found)
        return args[0] if self.single else tuple(args)


def _check_scalar(fun: Any, outs: list[Any], tree: Any, holomorphic: bool) -> Any:
    where = location.of_function(fun)
    if tree == pytree.structure(None):
        raise location.error(
            errors.OutputTypeError,
            f"gradient only defined for scalar-output functions: {where} returned None",
            fix="end the function with return, and the value to differentiate",
        )
    if len(outs) != 1 or tree != pytree.LEAF:
        raise location.error(
            errors.OutputTypeError,
            f"gradient only defined for scalar-output functions: {where} returned a container of {len(outs)} arrays",
            [("result", str(tree), "")],
            "return one scalar, with has_aux=True for the rest, or use stagec.jacrev",
        )
    aval = aval_of(outs[0])
    if aval.shape:
        raise location.error(
            errors.ShapeError,
            f"gradient only defined for scalar-output functions: {where} returned {aval.long()}",
            fix="reduce it with .sum() or .mean(), or use stagec.jacrev or stagec.vjp",
        )
    check_result_dtype("grad", fun, aval, holomorphic)
    return outs[0]


def check_result_dtype(what: str, fun: Any, aval: ShapedArray, holomorphic: bool) -> None:
    """Raise a DtypeError unless a result is real, or with `holomorphic` complex."""
    if not (dtypes.is_complex(aval.dtype) if holomorphic else dtypes.is_float(aval.dtype)):
        kind = "complex" if holomorphic else "real floating"
        fix = "return a complex number" if holomorphic else "return a float; holomorphic=True is for complex functions"
        raise location.error(
            errors.DtypeError,
            f"{what} requires {kind} results: {location.of_function(fun)} returned {aval.long()}",
            fix=fix,
        )
