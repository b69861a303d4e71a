"""`custom_vjp`, `custom_gradient` and `closure_convert`: functions whose reverse-mode derivative the user writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.custom_rule import CustomRule, Use, fitted, is_zero_leaf, no_rule, pair, user_tangent
from stagec.api.flat import given, operand, with_references
from stagec.control.custom import custom_vjp_p
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Function, P, R, R_co
from stagec.core.functions import Role, call, check_callable
from stagec.core.graph import replay
from stagec.core.recording import trace_flat
from stagec.core.trace import Tracer
from stagec.core.wrapping import shown_name, wraps
from stagec.core.zero import differentiable
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref

__all__ = ["CustomVJPPrimal", "closure_convert", "custom_gradient", "custom_vjp", "custom_vjp_primal_tree_values"]


class CustomVJPPrimal:
    """What a forward function gets with `symbolic_zeros=True`: a value, and whether it is differentiated."""

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of a pytree of `CustomVJPPrimal`s, which forward functions get with `symbolic_zeros=True`."""
    leaves, definition = pytree.flatten(tree)
    for path, leaf in zip(pytree.leaf_paths(definition), leaves):
        if not isinstance(leaf, CustomVJPPrimal):
            raise location.error(
                errors.ArgumentTypeError,
                "custom_vjp_primal_tree_values takes CustomVJPPrimals",
                [(f"tree{pytree.keystr(path)}", errors.brief(leaf), errors.a_kind(type(leaf)))],
                "call it in the forward function of f.defvjp(fwd, bwd, symbolic_zeros=True), with an argument of it",
            )
    return definition.unflatten([leaf.value for leaf in leaves])


class custom_vjp(CustomRule[P, R_co]):
    """A function whose reverse-mode derivative is given, not derived. It has no forward mode.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated, which may be anything; the
        backward function gets them first, the forward function in their positions.

    `defvjp(fwd, bwd)` takes `fwd(*args) -> (result, residuals)` and
    `bwd(*nondiff, residuals, ct) -> tuple of one cotangent for each argument`, None for zero. A cotangent that is a
    float of another width than the argument is converted. Arguments and residuals may be references, whose cotangents
    are None; `bwd` may write them. Residuals that are Python numbers stay such, so `bwd` may decide by them.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (snp.clip(ct, -1, 1),))
    >>> float(stagec.grad(lambda x: 5 * clip_gradient(x))(2.0))
    1.0
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros = False
    _takes_references = True

    @short_tracebacks
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if self.fwd is None:
            raise no_rule("custom_vjp", "defvjp", self)
        return self._call(args, kwargs, custom_vjp_p)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the two functions.

        Args:
          symbolic_zeros: `fwd` gets `CustomVJPPrimal`s, which say whether they are differentiated, and `bwd`
            a `SymbolicZero` for each result that nothing depends on.
          optimize_remat: accepted, and without meaning: what is not used is removed in any case.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def _derive(self, used: Use) -> Callable[..., Any]:
        fwd, bwd, symbolic = self.fwd, self.bwd, self.symbolic_zeros
        assert fwd is not None and bwd is not None, "checked by the call"

        def derive(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
            xs: list[Any] = [given(p) for p in primals]
            if symbolic:
                xs = [CustomVJPPrimal(x, p) for x, p in zip(xs, perturbed)]
            args = used.arguments(xs)
            returned = call(fwd, args, Role(f"the forward function of {self._name}", used.names))
            what, fix = f"the forward function of {self._name}", "return a pair; residuals may be None"
            result, kept = pair(returned, what, fwd, "(result, residuals)", fix)
            outs = used.results(result, fwd)
            out_tree, out_avals = used.out_tree, [aval_of(o) for o in outs]
            found, residual_tree = pytree.flatten_with_path(kept)
            # The backward function may decide by a number, which has its value only where it is not traced.
            untraced = {i: v for i, (_, v) in enumerate(found) if type(v) in (Ref, bool, int, float, complex)}
            residuals = [
                operand(v, f"residuals{pytree.keystr(path)} of {self._name}")
                for i, (path, v) in enumerate(found)
                if i not in untraced
            ]
            avals = with_references([aval_of(p) for p in primals], {i: r.aval for i, r in used.refs.items()})

            def pull(values: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
                assert out_tree is not None, "the forward function ran"
                ct = out_tree.unflatten([user_tangent(c, a, symbolic) for c, a in zip(cts, out_avals)])
                role = Role(f"the backward function of {self._name}", (*used.static_names, "residuals", "ct"))
                back = residual_tree.unflatten(with_references([given(v) for v in values], untraced))
                returned = call(bwd, (*used.static, back, ct), role)
                pulled = _argument_cotangents(self._name, bwd, returned, used.tree, avals)
                return [ct for i, ct in enumerate(pulled) if i not in used.refs]

            return outs, residuals, pull

        return derive


def _argument_cotangents(name: str, bwd: Any, returned: Any, tree: Any, avals: Sequence[ShapedArray]) -> list[Any]:
    """One cotangent for each leaf of the arguments; None where there is none."""
    what = f"the backward function of {name}"
    count = len(tree.children())
    if not isinstance(returned, (tuple, list)) or len(returned) != count:
        raise location.error(
            errors.PytreeError,
            f"{what}, {location.of_function(bwd)}, must return a tuple of one cotangent for each of the {count} "
            "differentiable arguments",
            [("returned", errors.brief(returned), errors.a_kind(type(returned)))],
            "return a tuple, (ct,) for one argument; None stands for zero",
        )
    found: list[Any] = []
    remaining = iter(zip(avals, pytree.leaf_paths(tree)))
    for definition, part in zip(tree.children(), returned):
        # A cotangent stands for all leaves of what the argument has in its place, as None does.
        own, upper = pytree.flatten(part, lambda x: x is None)
        try:
            below = upper.flatten_up_to(definition.unflatten(range(definition.num_leaves)))
        except errors.PytreeError:
            raise location.error(
                errors.PytreeError,
                f"{what}, {location.of_function(bwd)}, must return cotangents with the structure of the arguments",
                [("argument", str(definition), ""), ("returned", str(upper), "")],
                "return the same containers; None stands for zero",
            ) from None
        leaves = [leaf for leaf, whole in zip(own, below) for _ in pytree.leaves(whole)]
        for leaf in leaves:
            aval, path = next(remaining)
            if is_zero_leaf(leaf) or not differentiable(aval):
                found.append(None)
            else:
                where = f"cotangents{pytree.keystr(path)}"
                found.append(fitted(leaf, aval.strip_weak_type(), where, what, bwd, other_floats=True))
    return found


def custom_gradient(fun: Callable[P, tuple[R, Any]]) -> Function[P, R]:
    """A function that returns its result and, in addition, a function that pulls cotangents back.

    Args:
      fun: returns `(result, pull)`; `pull(ct)` returns a cotangent for each argument, or just one for one.

    >>> import stagec
    >>> @stagec.custom_gradient
    ... def f(x):
    ...     return x**2, lambda ct: (ct * x,)
    >>> float(f(3.0)), float(stagec.grad(f)(3.0))
    (9.0, 3.0)
    """

    function: Callable[..., Any] = fun

    @wraps(function)
    def plain(*args: Any) -> Any:
        return function(*args)[0]

    def fwd(*args: Any) -> Any:
        result, pull = function(*args)
        found, tree = pytree.flatten(result)
        in_tree = pytree.structure(tuple(args))
        ct_avals = [aval_of(operand(v, "result")).strip_weak_type() for v in found]

        def flat(*cts: Any) -> list[Any]:
            pulled = pull(tree.unflatten(cts))
            pulled = pulled if isinstance(pulled, (tuple, list)) else (pulled,)
            leaves, own = pytree.flatten(tuple(pulled))
            if own != in_tree:
                raise location.error(
                    errors.PytreeError,
                    f"the function that {location.of_function(fun)} returns must give one cotangent for each argument",
                    [("arguments", str(in_tree), ""), ("returned", str(own), "")],
                    "return a tuple with the structure of the arguments",
                )
            return [operand(v, "cotangent") for v in leaves]

        graph, captured = trace_flat(flat, ct_avals, name="pull")
        return result, (list(captured), pytree.Partial(_Replayed(graph, in_tree)))

    def bwd(residuals: Any, ct: Any) -> Any:
        captured, pull = residuals
        return pull(captured, ct)

    made: custom_vjp[P, R] = custom_vjp(plain)
    made._signature = None
    made.defvjp(fwd, bwd)
    return made


class _Replayed:
    """A graph as a function of captured values and a tree."""

    def __init__(self, graph: Any, out_tree: Any) -> None:
        self.graph = graph
        self.out_tree = out_tree

    def __call__(self, captured: Sequence[Any], tree: Any) -> Any:
        leaves = [operand(v, "cotangent") for v in pytree.leaves(tree)]
        return self.out_tree.unflatten([as_array(v) for v in replay(self.graph, [*captured, *leaves])])


def closure_convert(fun: Callable[..., R], *example_args: Any) -> tuple[Callable[..., R], list[Any]]:
    """A function without the traced values that it closes over, and these values.

    Args:
      example_args: arguments like those of later calls.

    Returns:
      `(converted, values)`: `converted(*args, *values)` is `fun(*args)`. `custom_vjp` functions use it to
      differentiate with respect to what a function argument closes over.
    """
    check_callable("closure_convert", "stagec.closure_convert(f, x)", fun)
    leaves, in_tree = pytree.flatten(example_args)
    values = [operand(v, "example_args") for v in leaves]
    out_tree = pytree.LEAF

    def flat(*tracers: Any) -> list[Any]:
        nonlocal out_tree
        found, out_tree = pytree.flatten(fun(*in_tree.unflatten(tracers)))
        return [operand(v, "result") for v in found]

    graph, captured = trace_flat(flat, [aval_of(v) for v in values], name=shown_name(fun))
    hoisted = [isinstance(c, Tracer) and dtypes.is_inexact(c.aval.dtype) for c in captured]

    @wraps(fun)
    def converted(*args_and_values: Any) -> Any:
        count = sum(hoisted)
        split = len(args_and_values) - count
        given_leaves, tree = pytree.flatten(args_and_values[:split])
        if tree != in_tree:
            raise location.error(
                errors.PytreeError,
                f"{location.of_function(fun)} was converted for other arguments",
                [("converted for", str(in_tree), ""), ("called with", str(tree), "")],
                "convert it with arguments of the structure that it is called with",
            )
        values_given = iter(args_and_values[split:])
        leading = [next(values_given) if h else c for c, h in zip(captured, hoisted)]
        operands = [operand(v, "argument") for v in (*leading, *given_leaves)]
        return out_tree.unflatten([as_array(v) for v in replay(graph, operands)])

    return converted, [c for c, h in zip(captured, hoisted) if h]
