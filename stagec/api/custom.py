"""`custom_jvp`, `custom_vjp`, `custom_gradient` and `closure_convert`: derivatives that users write."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stagec.api.flat import given, is_float0, operand, short_tracebacks
from stagec.control.custom import Rule, call, custom_jvp_p, custom_vjp_p
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.graph import replay, trace_flat
from stagec.core.trace import Tracer
from stagec.core.zero import differentiable, is_zero, no_tangent, zero_of
from stagec.primitives.arithmetic import add
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import instantiate


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, for rules that ask for them (`symbolic_zeros=True`)."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.long()})"


class CustomVJPPrimal:
    """What a forward function gets with `symbolic_zeros=True`: a value, and whether it is differentiated."""

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


class _Custom:
    """A function with a rule of its own: what `custom_jvp` and `custom_vjp` share."""

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Iterable[int] = (), nondiff_argnames: Iterable[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._name: str = getattr(fun, "__name__", type(fun).__name__)
        try:
            self._signature: inspect.Signature | None = inspect.signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        given_nums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        names = list(self._signature.parameters) if self._signature else []
        self._nondiff = frozenset(
            [n % len(names) if n < 0 and names else n for n in given_nums] + [names.index(n) for n in nondiff_argnames]
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a subclass says how it is called")

    def _derive(self, used: Use) -> Callable[..., Any]:
        raise AssertionError("a subclass gives the rule")

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included."""
        if self._signature is None:
            if kwargs:
                raise TypeError(f"{self._name}: keyword arguments need a signature\n  Fix: pass them by position")
            return args
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise location.error(
                TypeError,
                f"{self._name}: keyword-only arguments {', '.join(bound.kwargs)} cannot pass a rule of its own",
                fix="make them positional, and name those that are no arrays in nondiff_argnums",
            )
        return bound.args

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], primitive: Any) -> Any:
        everything = self._positional(args, kwargs)
        static = [a for i, a in enumerate(everything) if i in self._nondiff]
        dynamic = [a for i, a in enumerate(everything) if i not in self._nondiff]
        found, tree = pytree.flatten_with_path(tuple(dynamic))
        names = list(self._signature.parameters) if self._signature else []
        places = [i for i in range(len(everything)) if i not in self._nondiff]
        labels = [
            (names[places[path[0].idx]] if places[path[0].idx] < len(names) else f"argument {places[path[0].idx]}")
            + pytree.keystr(path[1:])
            for path, _ in found
        ]
        values = [operand(v, name) for (_, v), name in zip(found, labels)]
        used = Use(self, static, everything, tree)
        outs = call(primitive, Rule(self._name, used.function, self._derive(used)), values)
        assert used.out_tree is not None, "the function or its rule ran"
        return used.out_tree.unflatten([as_array(o) for o in outs])


class Use:
    """One call of a function with a rule: its structures."""

    def __init__(self, owner: _Custom, static: list[Any], everything: tuple[Any, ...], tree: pytree.PyTreeDef) -> None:
        self.owner = owner
        self.static = static
        self.everything = everything
        self.tree = tree
        self.out_tree: pytree.PyTreeDef | None = None

    def join(self, dynamic: Sequence[Any]) -> list[Any]:
        """All arguments in their places."""
        rest = iter(dynamic)
        return [a if i in self.owner._nondiff else next(rest) for i, a in enumerate(self.everything)]

    def function(self, *leaves: Any) -> list[Any]:
        result = self.owner.fun(*self.join(self.tree.unflatten([given(v) for v in leaves])))
        return self.results(result, self.owner.fun)

    def results(self, result: Any, function: Any) -> list[Any]:
        """The leaves of what the function, or a rule for it, returned."""
        found, tree = pytree.flatten_with_path(result)
        if self.out_tree is not None and tree != self.out_tree:
            raise location.error(
                errors.PytreeError,
                f"{location.of_function(function)} must return the structure that {self.owner._name} returns",
                [("function", str(self.out_tree), ""), ("rule", str(tree), "")],
                "return the same containers",
            )
        self.out_tree = tree
        return [operand(v, f"result{pytree.keystr(path)} of {self.owner._name}") for path, v in found]


def _user_tangent(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    if not differentiable(aval):
        return no_tangent(aval)
    if is_zero(tangent):
        return SymbolicZero(aval.strip_weak_type()) if symbolic else as_array(instantiate(tangent))
    return as_array(tangent)


def _is_zero_leaf(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, SymbolicZero) or is_zero(leaf) or is_float0(leaf)


class custom_jvp(_Custom):
    """A function whose derivative is given, not derived.

    Args:
      fun: the function; Python decides in it as anywhere.
      nondiff_argnums: positions of arguments that are not differentiated, which may be anything; the rule
        gets them first.

    `defjvp(rule)` takes `rule(*nondiff, primals, tangents) -> (result, tangent)`. `defjvps(*rules)` takes one
    for each argument, `rule(tangent, result, *primals) -> tangent`, or None where it contributes nothing.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.custom_jvp
    ... def log1pexp(x):
    ...     return snp.log(1.0 + snp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + snp.exp(x))) * x_dot
    >>> float(stagec.grad(log1pexp)(100.0))
    1.0
    """

    jvp: Callable[..., Any] | None = None
    symbolic_zeros = False

    @short_tracebacks
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise _no_rule("custom_jvp", "defjvp", self)
        return self._call(args, kwargs, custom_jvp_p)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule; usable as a decorator. With `symbolic_zeros`, zero tangents come as `SymbolicZero`."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule for each argument: `(tangent, result, *primals) -> tangent`, or None."""
        if self._nondiff:
            raise TypeError("defjvps: there are nondiff_argnums\n  Fix: give one rule with defjvp")

        def rule(primals: Any, tangents: Any) -> Any:
            result = self(*primals)
            parts = [f(t, result, *primals) for f, t in zip(jvps, tangents) if f is not None]
            if not parts:
                return result, pytree.map_leaves(lambda r: instantiate(zero_of(aval_of(r))), result)
            return result, functools.reduce(lambda a, b: pytree.map_leaves(add, a, b), parts)

        self.jvp = rule

    def _derive(self, used: Use) -> Callable[..., Any]:
        rule, symbolic = self.jvp, self.symbolic_zeros
        assert rule is not None, "checked by the call"

        def derive(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            xs = used.tree.unflatten([given(p) for p in primals])
            dots = used.tree.unflatten([_user_tangent(t, aval_of(p), symbolic) for p, t in zip(primals, tangents)])
            result = rule(*used.static, tuple(xs), tuple(dots))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise location.error(
                    errors.OutputTypeError,
                    f"the jvp rule of {self._name}, {location.of_function(rule)}, must return (result, tangent)",
                    [("returned", errors.brief(result), "")],
                    "return a pair",
                )
            outs = used.results(result[0], rule)
            return outs, _result_tangents(self._name, rule, outs, used.out_tree, result[1])

        return derive


def _no_rule(kind: str, method: str, owner: _Custom) -> AttributeError:
    return location.error(
        AttributeError,
        f"{kind} function {owner._name} has no rule",
        fix=f"give it one with {owner._name}.{method}(...)",
    )


def _result_tangents(name: str, rule: Any, outs: list[Any], tree: Any, tangents: Any) -> list[Any]:
    found, definition = pytree.flatten(tangents)
    if definition != tree:
        raise location.error(
            errors.PytreeError,
            f"the jvp rule of {name} must return a tangent with the structure of its result",
            [("result", str(tree), ""), ("tangent", str(definition), "")],
            "return the same containers for both",
        )
    dots = []
    for out, leaf, path in zip(outs, found, pytree.leaf_paths(tree)):
        aval = aval_of(out).strip_weak_type()
        if _is_zero_leaf(leaf) or not differentiable(aval):
            dots.append(zero_of(aval))
            continue
        dots.append(_fitted(leaf, aval, f"tangent{pytree.keystr(path)}", f"the jvp rule of {name}", rule))
    return dots


def _fitted(leaf: Any, aval: ShapedArray, name: str, what: str, rule: Any) -> Any:
    """What a rule returned for a value, with the value's aval."""
    value = operand(leaf, name)
    own = aval_of(value)
    if own.shape != aval.shape or (own.dtype != aval.dtype and not own.weak_type):
        kind: type[errors.StagecError] = errors.ShapeError if own.shape != aval.shape else errors.DtypeError
        raise location.error(
            kind,
            f"{what}, {location.of_function(rule)}, must return {aval.long()}, but returned {own.long()}",
            [(name, own.long(), f"for {aval.long()}")],
            "sum over broadcast axes" if own.shape != aval.shape else f"convert it with astype({aval.dtype.name!r})",
        )
    return value if own.dtype == aval.dtype else convert_element_type(value, aval.dtype)


class custom_vjp(_Custom):
    """A function whose reverse-mode derivative is given, not derived. It has no forward mode.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated, which may be anything; the
        backward function gets them first, the forward one in their places.

    `defvjp(fwd, bwd)` takes `fwd(*args) -> (result, residuals)` and
    `bwd(*nondiff, residuals, ct) -> tuple of one cotangent for each argument`, None for zero.

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

    @short_tracebacks
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None:
            raise _no_rule("custom_vjp", "defvjp", self)
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
            result = fwd(*used.join(used.tree.unflatten(xs)))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise location.error(
                    errors.OutputTypeError,
                    f"the forward function of {self._name}, {location.of_function(fwd)}, must return "
                    "(result, residuals)",
                    [("returned", errors.brief(result), "")],
                    "return a pair; residuals may be None",
                )
            outs = used.results(result[0], fwd)
            out_tree, out_avals = used.out_tree, [aval_of(o) for o in outs]
            found, residual_tree = pytree.flatten_with_path(result[1])
            residuals = [operand(v, f"residuals{pytree.keystr(path)} of {self._name}") for path, v in found]
            avals = [aval_of(p) for p in primals]

            def pull(values: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
                assert out_tree is not None, "the forward function ran"
                ct = out_tree.unflatten([_user_tangent(c, a, symbolic) for c, a in zip(cts, out_avals)])
                returned = bwd(*used.static, residual_tree.unflatten([given(v) for v in values]), ct)
                return _argument_cotangents(self._name, bwd, returned, used.tree, avals)

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
            [("returned", errors.brief(returned), f"a {type(returned).__name__}")],
            "return a tuple, (ct,) for one argument; None stands for zero",
        )
    found: list[Any] = []
    rest = iter(zip(avals, pytree.leaf_paths(tree)))
    for definition, part in zip(tree.children(), returned):
        if part is None:
            leaves: list[Any] = [None] * definition.num_leaves
        else:
            flat, own = pytree.flatten(part, lambda x: x is None)
            whole, expected = pytree.flatten(definition.unflatten(range(definition.num_leaves)), lambda x: x is None)
            if own != expected:
                raise location.error(
                    errors.PytreeError,
                    f"{what}, {location.of_function(bwd)}, must return cotangents with the structure of the arguments",
                    [("argument", str(definition), ""), ("returned", str(own), "")],
                    "return the same containers; None stands for zero",
                )
            leaves = [leaf for leaf, kept in zip(flat, whole) if kept is not None]
        for leaf in leaves:
            aval, path = next(rest)
            if _is_zero_leaf(leaf) or not differentiable(aval):
                found.append(None)
            else:
                found.append(_fitted(leaf, aval.strip_weak_type(), f"cotangents{pytree.keystr(path)}", what, bwd))
    return found


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns its result and, beside it, how cotangents are pulled back.

    Args:
      fun: returns `(result, pull)`; `pull(ct)` returns a cotangent for each argument, or just one for one.

    >>> import stagec
    >>> @stagec.custom_gradient
    ... def f(x):
    ...     return x**2, lambda ct: (ct * x,)
    >>> float(f(3.0)), float(stagec.grad(f)(3.0))
    (9.0, 3.0)
    """

    @functools.wraps(fun)
    def plain(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> Any:
        result, pull = fun(*args)
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

    made = custom_vjp(plain)
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


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A function without the traced values that it closes over, and these values.

    Args:
      example_args: arguments like those of later calls.

    Returns:
      `(converted, values)`: `converted(*args, *values)` is `fun(*args)`. `custom_vjp` functions use it to
      differentiate with respect to what a function argument closes over.
    """
    leaves, in_tree = pytree.flatten(example_args)
    values = [operand(v, "example_args") for v in leaves]
    out_tree = pytree.LEAF

    def flat(*tracers: Any) -> list[Any]:
        nonlocal out_tree
        found, out_tree = pytree.flatten(fun(*in_tree.unflatten(tracers)))
        return [operand(v, "result") for v in found]

    graph, captured = trace_flat(flat, [aval_of(v) for v in values], name=getattr(fun, "__name__", "function"))
    hoisted = [isinstance(c, Tracer) and dtypes.is_inexact(c.aval.dtype) for c in captured]

    @functools.wraps(fun)
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
        rest = iter(args_and_values[split:])
        leading = [next(rest) if h else c for c, h in zip(captured, hoisted)]
        operands = [operand(v, "argument") for v in (*leading, *given_leaves)]
        return out_tree.unflatten([as_array(v) for v in replay(graph, operands)])

    return converted, [c for c, h in zip(captured, hoisted) if h]
