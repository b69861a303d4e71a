"""`vjp`, `jvp`, `linearize` and `linear_transpose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from stagec.api.arguments import leaf_aval
from stagec.api.flat import FlatFunction, as_tangent, is_float0, leaf_names, operand
from stagec.api.references import passed_references
from stagec.control.collective_rows import alike
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.axis import typed_axes
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Aux, R
from stagec.core.dtypes import float0
from stagec.core.functions import check_callable
from stagec.core.recording import trace_flat
from stagec.core.wrapping import shown_name
from stagec.core.zero import Linear, differentiable, is_zero, zero_of
from stagec.numpy.arguments import constrained
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref, read, returning, write
from stagec.runtime.propagation import explicit_sharding
from stagec.runtime.sharding import NamedSharding
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import LinearFunction, linearize_flat
from stagec.transforms.transpose import transpose_graph


def refuse_reduce_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    if reduce_axes:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: reduce_axes is not supported",
            fix="leave it out, and sum with stagec.lax.psum",
        )


def _only(name: str, cts: tuple[Any, ...]) -> Any:
    """The one argument of a function that takes cotangents."""
    if len(cts) != 1:
        raise location.error(
            errors.ArgumentTypeError,
            f"the function that {name} returned takes one cotangent, got {len(cts)}",
            fix="pass one cotangent with the structure of the result, such as a tuple for a tuple",
        )
    return cts[0]


class Variation:
    """Along which axes of `shard_map`s in force the arguments and results of a function differ, and how arguments are
    split along explicit axes: cotangents are split in the same way.

    Args:
      primals, outs: the values; kept where axes are in force, else only counted.
    """

    def __init__(self, primals: Sequence[Any], outs: Sequence[Any]) -> None:
        typed = bool(typed_axes())
        self._primals = list(primals) if typed else None
        self._outs = list(outs) if typed else None
        splits = list(map(explicit_sharding, primals))
        self._splits = splits if any(splits) else None

    def of_results(self, cts: Sequence[Any]) -> list[Any]:
        """Cotangents of the results, which differ where the results do."""
        return _alike(cts, self._outs)

    def of_arguments(self, cts: Sequence[Any]) -> list[Any]:
        """Cotangents of the arguments, summed along axes along which the arguments do not differ."""
        found = _alike(cts, self._primals)
        return found if self._splits is None else [_split(ct, s) for ct, s in zip(found, self._splits, strict=True)]


def _split(ct: Any, sharding: NamedSharding | None) -> Any:
    if sharding is None or ct is None or is_zero(ct) or sharding.spec.reduced or sharding.spec.unreduced:
        return ct
    return constrained(ct, sharding, "grad")


def _alike(cts: Sequence[Any], values: Sequence[Any] | None) -> list[Any]:
    if values is None:
        return list(cts)
    return [ct if ct is None or is_zero(ct) else alike(ct, v) for ct, v in zip(cts, values, strict=True)]


def pull_back(
    linear: LinearFunction, cts: Sequence[Any], avals: Sequence[ShapedArray], variation: Variation
) -> list[Any]:
    """Cotangents of all arguments, zeros where there is none.

    Args:
      cts: of all results; those of results that do not depend on the arguments are not read.
      avals: of the arguments.
    """
    cts = variation.of_results(cts)
    graph, first = linear.graph, len(linear.residuals)
    operands = [*linear.residuals, *[Linear(v.aval) for v in graph.inputs[first:]]]
    read = [ct for ct, o in zip(cts, linear.outs, strict=True) if o is None]
    found = iter(transpose_graph(graph, operands, read)[first:])
    pulled = variation.of_arguments([next(found) if used else None for used in linear.used])
    return [as_tangent(ct, aval) for ct, aval in zip(pulled, avals)]


class _Pull:
    """The function that `vjp` returns. The residuals are its first argument, so that a `Partial` holds them."""

    def __init__(
        self,
        linear: LinearFunction,
        tree: pytree.PyTreeDef,
        avals: list[ShapedArray],
        out_tree: pytree.PyTreeDef,
        out_avals: list[ShapedArray],
        variation: Variation,
    ) -> None:
        self.variation = variation
        self.graph, self.outs, self.used = linear.graph, linear.outs, linear.used
        self.tree, self.avals = tree, avals
        self.out_tree, self.out_avals = out_tree, out_avals

    @short_tracebacks
    def __call__(self, residuals: list[Any], *ct: Any) -> tuple[Any, ...]:
        cts = _checked("vjp", "cotangent", _only("vjp", ct), self.out_tree, self.out_avals)
        linear = LinearFunction(self.graph, residuals, self.outs, self.used)
        args, _ = self.tree.unflatten(pull_back(linear, cts, self.avals, self.variation))
        return tuple(args)


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
            if kind == "cotangent" and wanted is float0 and dtype == aval.dtype:
                # As JAX, so that a function's own results may be its cotangents.
                dtype, value = float0, zero_of(aval)
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


@overload
def jvp(
    fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@short_tracebacks
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun`, and its derivative in a direction.

    Args:
      primals: tuple or list of the arguments.
      tangents: of the same structure, shapes and dtypes; `float0` for integers. Those of references are references.
        Afterwards they hold what `fun` has written, and its tangents.
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
    check_callable("jvp", "stagec.jvp(f, (x,), (t,))", fun)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise location.error(
                TypeError,
                f"jvp: {name} must be a tuple or a list, got {type(given).__name__}",
                fix="give one of each for every argument, as in stagec.jvp(f, (x,), (x_dot,))",
            )
    leaves, tree = pytree.flatten((list(primals), {}))
    names = leaf_names(fun, primals)
    refs = passed_references(leaves, lambda: names)
    values = [read(v) if type(v) is Ref else operand(v, name) for v, name in zip(leaves, names)]
    avals = [aval_of(v) for v in values]
    given_tree = pytree.structure(primals)
    given_dots, dots_tree = pytree.flatten(tangents)
    dot_refs = passed_references(
        given_dots, lambda: [f"tangent{pytree.keystr(p)}" for p in pytree.leaf_paths(dots_tree)]
    )
    if dots_tree == given_tree and set(refs) != set(dot_refs):
        raise _without_reference(names[min(set(refs) ^ set(dot_refs))])
    tangents = dots_tree.unflatten([read(v) if type(v) is Ref else v for v in given_dots])
    dots = _checked("jvp", "tangent", tangents, given_tree, avals)
    flat = FlatFunction(fun, tree, has_aux)
    outs, out_dots = jvp_flat(returning(flat, list(refs)), values, dots)
    count = len(outs) - len(refs)
    for i, out, dot in zip(refs, outs[count:], out_dots[count:]):
        write(refs[i], as_array(out))
        write(dot_refs[i], as_tangent(dot, refs[i].aval))
    outs, out_dots = outs[:count], out_dots[:count]
    value = flat.out_tree.unflatten([as_array(o) for o in outs])
    tangent = flat.out_tree.unflatten([as_tangent(d, aval_of(o)) for o, d in zip(outs, out_dots)])
    return (value, tangent, flat.aux) if has_aux else (value, tangent)


def _without_reference(name: str) -> errors.ArgumentTypeError:
    what = f"jvp: of {name} and its tangent, one is a reference and the other is none"
    return location.error(errors.ArgumentTypeError, what, fix="give references a tangent made by stagec.new_ref")


def _nonzero(in_nzs: Any, primals: tuple[Any, ...]) -> list[bool] | None:
    """Which leaves of the arguments have derivatives; None for all."""
    return None if in_nzs is None else list(map(bool, pytree.broadcast_prefix(in_nzs, primals)))


@overload
def vjp(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Any] = (),
    in_nzs: Any = None,
) -> tuple[R, Callable[[R], tuple[Any, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Any] = (),
    in_nzs: Any = None,
) -> tuple[R, Callable[[R], tuple[Any, ...]], Aux]: ...
@short_tracebacks
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    in_nzs: Any = None,
) -> Any:
    """The value of `fun`, and the function that pulls cotangents back to its arguments.

    Args:
      primals: the arguments.
      has_aux: `fun` returns a pair, and the second result is passed through.
      reduce_axes: empty.
      in_nzs: bools in the upper part of the structure of `primals`, all true by default. Cotangents of arguments for
        which it is false are zero, and nothing is computed for them.

    Returns:
      `(value, pull)`, or `(value, pull, aux)`. `pull` takes a cotangent with the structure, shapes and
      dtypes of the value, and returns a tuple of one cotangent for each argument; it may be called often. It is a
      pytree of the traced values that it keeps, so that jitted functions may return it and take it.

    >>> import stagec, stagec.numpy as snp
    >>> value, pull = stagec.vjp(snp.multiply, 3.0, 4.0)
    >>> float(value), [float(ct) for ct in pull(1.0)]
    (12.0, [4.0, 3.0])
    """
    check_callable("vjp", "stagec.vjp(f, x)", fun)
    refuse_reduce_axes("vjp", reduce_axes)
    leaves, tree = pytree.flatten((list(primals), {}))
    values = [operand(v, name) for v, name in zip(leaves, leaf_names(fun, primals))]
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, values, shown_name(fun), _nonzero(in_nzs, primals))
    out_tree, out_avals = flat.out_tree, [aval_of(o) for o in outs]

    variation = Variation(values, outs)
    function = _Pull(linear, tree, [aval_of(v) for v in values], out_tree, out_avals, variation)
    pull = pytree.Partial(function, [as_array(r) for r in linear.residuals])
    value = out_tree.unflatten([as_array(o) for o in outs])
    return (value, pull, flat.aux) if has_aux else (value, pull)


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, in_nzs: Any = None
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], in_nzs: Any = None
) -> tuple[R, Callable[..., R], Aux]: ...
@short_tracebacks
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> Any:
    """The value of `fun`, and its derivative there as a linear function of tangents.

    Args:
      primals: the arguments.
      has_aux: `fun` returns a pair, and the second result is passed through.
      in_nzs: as for `vjp`: tangents of arguments for which it is false count as zero.

    Returns:
      `(value, push)`, or `(value, push, aux)`; `push` takes one tangent for each argument. What does not
      depend on the tangents has been computed once, here.

    >>> import stagec, stagec.numpy as snp
    >>> value, push = stagec.linearize(snp.square, 3.0)
    >>> [float(push(t)) for t in (1.0, 10.0)]
    [6.0, 60.0]
    """
    check_callable("linearize", "stagec.linearize(f, x)", fun)
    leaves, tree = pytree.flatten((list(primals), {}))
    values = [operand(v, name) for v, name in zip(leaves, leaf_names(fun, primals))]
    avals = [aval_of(v) for v in values]
    flat = FlatFunction(fun, tree, has_aux)
    outs, linear = linearize_flat(flat, values, shown_name(fun), _nonzero(in_nzs, primals))
    out_tree, out_avals = flat.out_tree, [aval_of(o) for o in outs]
    given_tree = pytree.structure(primals)

    @short_tracebacks
    def push(*tangents: Any) -> Any:
        found = linear(_checked("linearize", "tangent", tangents, given_tree, avals))
        return out_tree.unflatten([as_tangent(d, a) for d, a in zip(found, out_avals)])

    value = out_tree.unflatten([as_array(o) for o in outs])
    return (value, push, flat.aux) if has_aux else (value, push)


def linear_transpose(
    fun: Callable[..., R], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[R], tuple[Any, ...]]:
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
    check_callable("linear_transpose", "stagec.linear_transpose(f, x)", fun)
    refuse_reduce_axes("linear_transpose", reduce_axes)
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
    graph, captured = trace_flat(flat, avals, name=shown_name(fun))
    out_tree, out_avals = flat.out_tree, graph.out_avals

    @short_tracebacks
    def transposed(*ct: Any) -> tuple[Any, ...]:
        cts = _checked("linear_transpose", "cotangent", _only("linear_transpose", ct), out_tree, out_avals)
        found = transpose_graph(graph, [*captured, *[Linear(a) for a in avals]], cts)[len(captured) :]
        args, _ = tree.unflatten([as_tangent(c, a) for c, a in zip(found, avals)])
        return tuple(args)

    return transposed
