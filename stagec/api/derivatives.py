"""`grad`, `value_and_grad`, `vjp`, `jvp`, `linearize` and `linear_transpose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.arguments import leaf_aval
from stagec.api.flat import (
    FlatFunction,
    as_tangent,
    is_float0,
    leaf_names,
    operand,
    positions,
)
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.boundary import short_tracebacks
from stagec.core.graph import trace_flat
from stagec.core.wrapping import wraps
from stagec.core.zero import Linear, differentiable, float0, zero_of
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of, literal
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import LinearFunction, linearize_flat
from stagec.transforms.transpose import transpose_graph


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns `fun`'s value and its gradient.

    Args:
      fun: a function that returns a scalar, or with `has_aux` a pair of a scalar and anything else.
      argnums: which positional arguments to differentiate with respect to.
      has_aux: pass the second result through, beside the value.
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
    _check_callable("value_and_grad", fun)
    _refuse_reduce_axes("grad", reduce_axes)

    @short_tracebacks
    @wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("grad", fun, args, kwargs, argnums)
        chosen.check(holomorphic, allow_int)
        flat = FlatFunction(chosen.function, chosen.tree, has_aux)
        outs, linear = linearize_flat(flat, chosen.primals, chosen.name)
        value = _check_scalar(fun, outs, flat.out_tree, holomorphic)
        found = pull_back(linear, [literal(1, aval_of(value).dtype)], chosen.primals)
        result = as_array(value)
        return ((result, flat.aux) if has_aux else result), chosen.gradient(found)

    return value_and_gradient


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`, or `(gradient, aux)`; see `value_and_grad`.

    >>> import stagec, stagec.numpy as snp
    >>> float(stagec.grad(snp.tanh)(0.0))
    1.0
    """
    _check_callable("grad", fun)
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @short_tracebacks
    @wraps(fun)
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
        self.name: str = getattr(fun, "__name__", "function")
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


def _refuse_reduce_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    if reduce_axes:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: reduce_axes is not supported",
            fix="leave it out, and sum with stagec.lax.psum",
        )


def _check_callable(name: str, fun: Any) -> None:
    if not callable(fun):
        raise location.error(
            TypeError,
            f"{name} takes a function, got {type(fun).__name__}",
            fix=f"write stagec.{name}(f)(x), not stagec.{name}(f(x))"
            if name in ("grad", "value_and_grad")
            else "pass the function itself",
        )


def _check_scalar(fun: Any, outs: list[Any], tree: Any, holomorphic: bool) -> Any:
    where = location.of_function(fun)
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


def pull_back(linear: LinearFunction, cts: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    """Cotangents of all arguments, zeros where there is none.

    Args:
      cts: of all results; those of results that do not depend on the arguments are not read.
    """
    graph, first = linear.graph, len(linear.residuals)
    operands = [*linear.residuals, *[Linear(v.aval) for v in graph.inputs[first:]]]
    read = [ct for ct, o in zip(cts, linear.outs, strict=True) if o is None]
    found = iter(transpose_graph(graph, operands, read)[first:])
    pulled = [next(found) if used else None for used in linear.used]
    return [as_tangent(ct, aval_of(p)) for ct, p in zip(pulled, primals)]


def _checked(what: str, kind: str, tree: Any, expected: pytree.PyTreeDef, avals: Sequence[ShapedArray]) -> list[Any]:
    """The leaves of a tree of tangents or cotangents that must fit values.

    Args:
      kind: what the tree holds.
      expected: structure of the values.

    Raises:
      PytreeError: the structure is another.
      ShapeError, DtypeError: a leaf does not fit its value.
    """
    found, definition = pytree.flatten_with_path(tree)
    if definition != expected:
        raise location.error(
            errors.PytreeError,
            f"{what}: the {kind}s have another structure than the values they belong to",
            [("expected", str(expected), ""), ("got", str(definition), "")],
            f"give one {kind} for each value, in the same containers",
        )
    leaves = []
    for (path, leaf), aval in zip(found, avals):
        name = f"{kind}{pytree.keystr(path)}"
        wanted = aval.dtype if differentiable(aval) else float0
        if is_float0(leaf):
            shape, dtype, value = leaf.shape, float0, zero_of(aval)
        else:
            value = operand(leaf, name)
            shape, dtype = aval_of(value).shape, aval_of(value).dtype
        if shape != aval.shape:
            raise location.error(
                errors.ShapeError,
                f"{what}: a {kind} has shape {shape}, but the value it belongs to {aval.shape}",
                [(name, f"shape {shape}", f"for {aval.long()}")],
                f"give a {kind} of shape {aval.shape}",
            )
        if dtype != wanted:
            fix = f"convert it with astype({aval.dtype.name!r})"
            if wanted is float0:
                fix = f"integers have no derivatives: give numpy.zeros({aval.shape}, stagec.dtypes.float0)"
            raise location.error(
                errors.DtypeError,
                f"{what}: a {kind} has dtype {_dtype_name(dtype)}, but {aval.long()} needs {_dtype_name(wanted)}",
                [(name, _dtype_name(dtype), f"for {aval.long()}")],
                fix,
            )
        leaves.append(value)
    return leaves


def _dtype_name(dtype: Any) -> str:
    return "float0" if dtype == float0 else dtype.name


@short_tracebacks
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun`, and its derivative in a direction.

    Args:
      primals: tuple or list of the arguments.
      tangents: of the same structure, shapes and dtypes; `float0` for integers.
      has_aux: `fun` returns a pair, and the second result is passed through.

    Returns:
      `(value, tangent)`, or `(value, tangent, aux)`.

    Raises:
      PytreeError, ShapeError, DtypeError: the tangents do not fit the arguments.

    >>> import stagec
    >>> value, slope = stagec.jvp(lambda x: x**2, (3.0,), (10.0,))
    >>> float(value), float(slope)
    (9.0, 60.0)
    """
    _check_callable("jvp", fun)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise location.error(
                TypeError,
                f"jvp: {name} must be a tuple or a list, got {type(given).__name__}",
                fix="give one of each for every argument, as in stagec.jvp(f, (x,), (x_dot,))",
            )
    leaves, tree = pytree.flatten((list(primals), {}))
    values = [operand(v, name) for v, name in zip(leaves, leaf_names(fun, primals))]
    avals = [aval_of(v) for v in values]
    given_tree = pytree.structure(primals)
    dots = _checked("jvp", "tangent", tangents, given_tree, avals)
    flat = FlatFunction(fun, tree, has_aux)
    outs, out_dots = jvp_flat(flat, values, dots)
    value = flat.out_tree.unflatten([as_array(o) for o in outs])
    tangent = flat.out_tree.unflatten([as_tangent(d, aval_of(o)) for o, d in zip(outs, out_dots)])
    return (value, tangent, flat.aux) if has_aux else (value, tangent)


@short_tracebacks
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()) -> Any:
    """The value of `fun`, and the function that pulls cotangents back to its arguments.

    Args:
      primals: the arguments.
      has_aux: `fun` returns a pair, and the second result is passed through.
      reduce_axes: empty.

    Returns:
      `(value, pull)`, or `(value, pull, aux)`. `pull` takes a cotangent with the structure, shapes and
      dtypes of the value, and returns a tuple of one cotangent for each argument; it may be called often.

    >>> import stagec, stagec.numpy as snp
    >>> value, pull = stagec.vjp(snp.multiply, 3.0, 4.0)
    >>> float(value), [float(ct) for ct in pull(1.0)]
    (12.0, [4.0, 3.0])
    """
    _check_callable("vjp", fun)
    _refuse_reduce_axes("vjp", reduce_axes)
    leaves, tree = pytree.flatten((list(primals), {}))
    values = [operand(v, name) for v, name in zip(leaves, leaf_names(fun, primals))]
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, values, getattr(fun, "__name__", "function"))
    out_tree, out_avals = flat.out_tree, [aval_of(o) for o in outs]

    @short_tracebacks
    def pull(ct: Any) -> tuple[Any, ...]:
        cts = _checked("vjp", "cotangent", ct, out_tree, out_avals)
        args, _ = tree.unflatten(pull_back(linear, cts, values))
        return tuple(args)

    value = out_tree.unflatten([as_array(o) for o in outs])
    return (value, pull, flat.aux) if has_aux else (value, pull)


@short_tracebacks
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun`, and its derivative there as a linear function of tangents.

    Returns:
      `(value, push)`, or `(value, push, aux)`; `push` takes one tangent for each argument. What does not
      depend on the tangents has been computed once, here.

    >>> import stagec, stagec.numpy as snp
    >>> value, push = stagec.linearize(snp.square, 3.0)
    >>> [float(push(t)) for t in (1.0, 10.0)]
    [6.0, 60.0]
    """
    _check_callable("linearize", fun)
    leaves, tree = pytree.flatten((list(primals), {}))
    values = [operand(v, name) for v, name in zip(leaves, leaf_names(fun, primals))]
    avals = [aval_of(v) for v in values]
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, values, getattr(fun, "__name__", "function"))
    out_tree, out_avals = flat.out_tree, [aval_of(o) for o in outs]
    given_tree = pytree.structure(primals)

    @short_tracebacks
    def push(*tangents: Any) -> Any:
        found = linear(_checked("linearize", "tangent", tangents, given_tree, avals))
        return out_tree.unflatten([as_tangent(d, a) for d, a in zip(found, out_avals)])

    value = out_tree.unflatten([as_array(o) for o in outs])
    return (value, push, flat.aux) if has_aux else (value, push)


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The transpose of a function that is promised to be linear.

    Args:
      primals: arguments, of which only shapes and dtypes are read: `ShapeDtypeStruct`s will do.
      reduce_axes: empty.

    Returns:
      A function of a cotangent with the structure of `fun`'s result; it returns a tuple of one for each argument.

    Raises:
      UnsupportedError: `fun` applies something to its arguments that is not linear.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.linear_transpose(lambda x: 3 * x[:2], snp.ones(3))(snp.array([1.0, 2.0]))
    (Array([3., 6., 0.], dtype=float32),)
    """
    _check_callable("linear_transpose", fun)
    _refuse_reduce_axes("linear_transpose", reduce_axes)
    leaves, tree = pytree.flatten((list(primals), {}))
    avals = []
    for leaf, name in zip(leaves, leaf_names(fun, primals)):
        aval = leaf_aval(leaf if hasattr(leaf, "weak_type") else operand(leaf, name))
        if not differentiable(aval):
            raise location.error(
                errors.DtypeError,
                f"linear_transpose requires real or complex floating arguments, got {aval.long()}",
                [(name, aval.long(), "")],
                "close over integers, as with functools.partial",
            )
        avals.append(aval)
    flat = FlatFunction(fun, tree)
    graph, captured = trace_flat(flat, avals, name=getattr(fun, "__name__", "function"))
    out_tree, out_avals = flat.out_tree, graph.out_avals

    @short_tracebacks
    def transposed(ct: Any) -> tuple[Any, ...]:
        cts = _checked("linear_transpose", "cotangent", ct, out_tree, out_avals)
        found = transpose_graph(graph, [*captured, *[Linear(a) for a in avals]], cts)[len(captured) :]
        args, _ = tree.unflatten([as_tangent(c, a) for c, a in zip(found, avals)])
        return tuple(args)

    return transposed
