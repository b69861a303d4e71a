"""`grad`, `value_and_grad`, `vjp`, `jvp`, `linearize` and Jacobians."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.arguments import leaf_value
from stagec.core import dtypes, errors, location, pytree
from stagec.core.zero import Linear
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.rules import instantiate, spread_to, zeros
from stagec.transforms.linearize import LinearFunction, linearize_flat
from stagec.transforms.transpose import transpose_graph


class FlatFunction:
    """A function of pytrees as one of flat operands.

    Args:
      tree: of `(args, kwargs)`.
      has_aux: the second of its two results is kept beside, as `aux`.
    """

    def __init__(self, function: Callable[..., Any], tree: pytree.PyTreeDef, has_aux: bool = False) -> None:
        self.function = function
        self.tree = tree
        self.has_aux = has_aux
        self.aux: Any = None
        self.out_tree: pytree.PyTreeDef | None = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.tree.unflatten(leaves)
        result = self.function(*args, **kwargs)
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise location.error(
                    errors.OutputTypeError,
                    f"has_aux=True needs {location.of_function(self.function)} to return (result, aux)",
                    fix="return a pair, or leave has_aux out",
                )
            result, self.aux = result
        found, self.out_tree = pytree.flatten(result)
        return [operand(v) for v in found]


def operand(leaf: Any) -> Any:
    """A leaf of an argument or a result as an operand.

    Raises:
      ArgumentTypeError: it is not an array or a number.
    """
    value = leaf_value(leaf)
    if value is None:
        raise location.error(
            errors.ArgumentTypeError,
            f"expected arrays and numbers, got {type(leaf).__name__}: {errors.brief(leaf)}",
            fix="pass other values through functools.partial or a closure",
        )
    return value


def positions(argnums: int | Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """`argnums` as positions counted from the front.

    Raises:
      ValueError: there are fewer arguments.
    """
    given = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in given:
        if not -count <= n < count:
            raise location.error(
                ValueError,
                f"{name}: argnums={argnums} needs more positional arguments than the {count} given",
                fix="pass differentiated arguments by position",
            )
    return tuple([n % count for n in given])


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns `fun`'s value and its gradient.

    Args:
      fun: a function that returns a scalar, or with `has_aux` a pair of a scalar and anything else.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: pass the second result through, beside the value.
      holomorphic: differentiate a complex function that is promised to be holomorphic.

    Returns:
      A function with the same arguments that returns `(value, gradient)`; the gradient has the
      structure of the argument, or is a tuple of such for several.

    Raises:
      DtypeError: an argument or the result has no derivative.
      ShapeError: the result is not a scalar.

    >>> import stagec
    >>> value, slope = stagec.value_and_grad(lambda x: x**2)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        nums = positions(argnums, len(args), "grad")

        def of_chosen(*values: Any) -> Any:
            full = list(args)
            for n, v in zip(nums, values):
                full[n] = v
            return fun(*full, **kwargs)

        leaves, tree = pytree.flatten(([args[n] for n in nums], {}))
        primals = [operand(v) for v in leaves]
        for p in primals:
            _check_input(aval_of(p), holomorphic)
        flat = FlatFunction(of_chosen, tree, has_aux)
        outs, linear = linearize_flat(flat, primals, getattr(fun, "__name__", "function"))
        value = _check_scalar(fun, outs, flat.out_tree, holomorphic)
        aval = aval_of(value)
        found, _ = tree.unflatten(pull_back(linear, [literal(1, aval.dtype)], primals))
        gradient = found[0] if isinstance(argnums, int) else tuple(found)
        return ((as_array(value), flat.aux) if has_aux else as_array(value)), gradient

    return value_and_gradient


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`; see `value_and_grad`.

    >>> import stagec, stagec.numpy as snp
    >>> float(stagec.grad(snp.tanh)(0.0))
    1.0
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _check_input(aval: Any, holomorphic: bool) -> None:
    if dtypes.is_complex(aval.dtype) or (dtypes.is_float(aval.dtype) and not holomorphic):
        return
    kind, fix = "real or complex floating", "pass a float (3.0 instead of 3), or leave it out of argnums"
    if holomorphic:
        kind, fix = "complex", "convert it with astype(complex)"
    raise location.error(errors.DtypeError, f"grad requires {kind} arguments, got {aval.long()}", fix=fix)


def _check_scalar(fun: Any, outs: list[Any], tree: Any, holomorphic: bool) -> Any:
    where = location.of_function(fun)
    if len(outs) != 1 or tree != pytree.LEAF:
        raise location.error(
            errors.OutputTypeError,
            f"gradient of {where}, which returned {'a container of ' if outs else ''}{len(outs)} arrays",
            fix="return one scalar, or use has_aux=True for the rest, or jacrev",
        )
    aval = aval_of(outs[0])
    if aval.shape:
        raise location.error(
            errors.ShapeError,
            f"gradient only defined for scalar-output functions: {where} returned {aval.long()}",
            fix="reduce it (sum or mean), or use jacrev or vjp",
        )
    if not (dtypes.is_complex(aval.dtype) if holomorphic else dtypes.is_float(aval.dtype)):
        fix = "return a complex number" if holomorphic else "return a float; holomorphic=True is for complex functions"
        raise location.error(errors.DtypeError, f"gradient of {where}, which returned {aval.long()}", fix=fix)
    return outs[0]


def pull_back(linear: LinearFunction, cts: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    """Cotangents of all arguments, zeros where there is none."""
    graph, first = linear.graph, len(linear.residuals)
    operands = [*linear.residuals, *[Linear(v.aval) for v in graph.inputs[first:]]]
    given = [ct for ct, o in zip(cts, linear.outs, strict=True) if o is None]
    found = iter(transpose_graph(graph, operands, given)[first:])
    pulled = [next(found) if used else None for used in linear.used]
    return [
        as_array(zeros(aval_of(p)) if ct is None else spread_to(instantiate(ct), aval_of(p).shape))
        for ct, p in zip(pulled, primals)
    ]
