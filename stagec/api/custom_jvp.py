"""`custom_jvp`: a function whose forward-mode derivative the user writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stagec.api.custom_rule import CustomRule, Use, fitted, is_zero_leaf, no_rule, pair, user_tangent
from stagec.api.flat import given
from stagec.control.custom import custom_jvp_p
from stagec.core import errors, location, pytree
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import P, R_co
from stagec.core.functions import Role, call
from stagec.core.zero import differentiable, zero_of
from stagec.primitives.arithmetic import add
from stagec.primitives.broadcast import instantiate
from stagec.primitives.operand import aval_of

F = TypeVar("F", bound=Callable[..., Any])


class custom_jvp(CustomRule[P, R_co]):
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
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if self.jvp is None:
            raise no_rule("custom_jvp", "defjvp", self)
        return self._call(args, kwargs, custom_jvp_p)

    def defjvp(self, jvp: F, symbolic_zeros: bool = False) -> F:
        """Give the rule; usable as a decorator. With `symbolic_zeros`, zero tangents come as `SymbolicZero`."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule for each argument: `(tangent, result, *primals) -> tangent`, or None."""
        if self._nondiff:
            raise location.error(TypeError, "defjvps: there are nondiff_argnums", fix="give one rule with defjvp")

        function: Callable[..., Any] = self

        def rule(primals: Any, tangents: Any) -> Any:
            result = function(*primals)
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
            dots = used.tree.unflatten([user_tangent(t, aval_of(p), symbolic) for p, t in zip(primals, tangents)])
            role = Role(f"the jvp rule of {self._name}", (*used.static_names, "primals", "tangents"))
            returned = call(rule, (*used.static, tuple(xs), tuple(dots)), role)
            result, dot = pair(returned, f"the jvp rule of {self._name}", rule, "(result, tangent)", "return a pair")
            outs = used.results(result, rule)
            return outs, _result_tangents(self._name, rule, outs, used.out_tree, dot)

        return derive


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
        if is_zero_leaf(leaf) or not differentiable(aval):
            dots.append(zero_of(aval))
            continue
        dots.append(fitted(leaf, aval, f"tangent{pytree.keystr(path)}", f"the jvp rule of {name}", rule))
    return dots
