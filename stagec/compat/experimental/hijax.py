"""`jax.experimental.hijax`: types and primitives of values that are not arrays, which a program defines.

Programs have no equations for such values. A primitive is computed when it is bound, by the rule that lowers it: on
arrays, or on the tracers that a value holds in a traced function.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable
from typing import Any

from stagec.api.custom_jvp import custom_jvp
from stagec.api.custom_rule import SymbolicZero
from stagec.api.custom_vjp import custom_vjp
from stagec.compat.ad_util import Zero
from stagec.compat.core import AbstractValue, Effect, ShapedArray, pytype_aval_mappings
from stagec.compat.interpreters.ad import instantiate_zeros, is_undefined_primal
from stagec.core import location, pytree
from stagec.core.config import state
from stagec.primitives import hitypes
from stagec.primitives.broadcast import zeros
from stagec.primitives.references import AbstractRef

__all__ = [
    "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive", "HiType", "MutableHiType",
    "ShapedArray", "VJPHiPrimitive", "Zero", "aval_method", "aval_property", "control_flow_allowed_effects",
    "instantiate_zeros", "is_undefined_primal", "register_hitype",
]  # fmt: skip


class HiType:
    """The type of values that do not change."""

    is_high = True
    has_qdd = False


class MutableHiType:
    """The type of values that change, and may have a state with a type of its own."""

    is_high = True
    has_qdd = True


@dataclasses.dataclass(frozen=True)
class AvalQDD:
    """A type, and that of the state."""

    aval: Any
    qdd: Any
    is_high = has_qdd = True


@dataclasses.dataclass(frozen=True)
class AvalMutableQDD:
    """A type, and that of the state, which a rule may update."""

    aval: Any
    mutable_qdd: Any


@dataclasses.dataclass(frozen=True)
class aval_method:
    """In the class of a type, a method that its values have while they are traced."""

    fun: Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class aval_property:
    """In the class of a type, a property that its values have while they are traced."""

    fget: Callable[..., Any]


class HiPrimitive:
    """An operation on values of such types.

    >>> class Pair(HiPrimitive):
    ...     def impl(self, x, *, times):
    ...         return (x,) * times
    >>> Pair("pair").bind(3, times=2)
    (3, 3)
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Compute, by the rule `impl`, or by `to_lojax` if there is no such rule.

        An operation on arrays whose results are arrays has the derivative that the rule `jvp` says, if there is one.
        """
        rule: Callable[..., Any] = getattr(self, "impl", None) or getattr(self, "to_lojax")  # noqa: B009
        result = hitypes.expand(rule, args, params)
        made = result if self.multiple_results else [result]
        if state.trace is None or not hasattr(self, "jvp") or any(type(x) in hitypes.types for x in (*args, *made)):
            return result
        function: Any = custom_jvp(lambda *xs: rule(*xs, **params))
        function.defjvp(lambda primals, tangents: self.jvp(primals, tangents, **params))
        return function(*args)

    def __repr__(self) -> str:
        return self.name


class _Cotangents:
    """Takes what a rule says that the cotangents of one argument are."""

    def __init__(self) -> None:
        self.sum: Any = None

    def accum(self, ct: Any) -> None:
        self.sum = ct if self.sum is None else pytree.map_leaves(operator.add, self.sum, ct)


class VJPHiPrimitive:
    """An operation on arrays with derivatives of its own, which `expand` computes.

    A subclass sets `in_avals`, a tuple of types of the arguments; `out_aval`, that of the result; and `params`, which
    become attributes. Derivatives are those of `jvp` if it is defined; else of `vjp_fwd` with `vjp_bwd_retval` or
    `vjp_bwd`; else of `lin` and `linearized`. A batch is what `expand` makes of it.

    >>> import stagec
    >>> class Twice(VJPHiPrimitive):
    ...     def __init__(self, x):
    ...         self.in_avals, self.out_aval, self.params = (stagec.typeof(x),), stagec.typeof(x), {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return 2 * x
    ...     def vjp_fwd(self, nzs_in, x):
    ...         return self(x), None
    ...     def vjp_bwd_retval(self, res, ct):
    ...         return (20 * ct,)
    >>> float(stagec.grad(lambda x: Twice(x)(x))(1.0))
    20.0
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                fix = f"set self.{name} before super().__init__()"
                raise location.error(AttributeError, f"{type(self).__name__} has no {name}", fix=fix)
        if self._has("vjp_bwd") and self._has("vjp_bwd_retval"):
            what = f"{type(self).__name__} defines both vjp_bwd and vjp_bwd_retval"
            raise location.error(AttributeError, what, fix="define one of them")
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    def _has(self, *names: str) -> bool:
        return any(getattr(type(self), name, None) is not getattr(VJPHiPrimitive, name, None) for name in names)

    def check(self, *arg_tys: Any) -> None:
        """Raise an error if the arguments have types that the operation does not take."""

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        for accumulator, ct in zip(arg_accums, self.vjp_bwd_retval(res, outgrad)):  # type: ignore[attr-defined]
            accumulator.accum(ct)

    def __call__(self, *args: Any) -> Any:
        expand: Any = self.expand  # type: ignore[attr-defined]
        function: Any = expand
        if self._has("jvp"):
            function = custom_jvp(expand)
            function.defjvp(self.jvp)  # type: ignore[attr-defined]
        elif self._has("vjp_fwd"):
            function = custom_vjp(expand)
            function.defvjp(self._forward, self._backward, symbolic_zeros=True)
        elif self._has("lin"):
            function = custom_jvp(expand)
            function.defjvp(self._linearized)
        return function(*args)

    def _forward(self, *args: Any) -> Any:
        primals = pytree.map_leaves(lambda x: x.value, args)
        nonzero = pytree.map_leaves(lambda x: x.perturbed, args)
        return self.vjp_fwd(nonzero, *primals)[:2]  # type: ignore[attr-defined]

    def _backward(self, residuals: Any, ct: Any) -> Any:
        accumulators = [_Cotangents() for _ in self.in_avals]
        self.vjp_bwd(residuals, pytree.map_leaves(_instantiated, ct), *accumulators)
        return tuple([accumulator.sum for accumulator in accumulators])

    def _linearized(self, primals: Any, tangents: Any) -> Any:
        nonzero = pytree.map_leaves(lambda x: True, primals)
        result, residuals, *_ = self.lin(nonzero, *primals)  # type: ignore[attr-defined]
        return result, self.linearized(residuals, *tangents)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.params.items()), self.effects))

    def __eq__(self, other: object) -> bool:
        mine = type(self), self.params, self.effects
        return isinstance(other, VJPHiPrimitive) and mine == (type(other), other.params, other.effects)


def _instantiated(ct: Any) -> Any:
    return zeros(ct.aval) if isinstance(ct, SymbolicZero) else ct


class EffectTypeSet:
    """Classes of effects."""

    def __init__(self) -> None:
        self._classes: set[type[Effect]] = set()

    def add_type(self, effect_type: type[Effect]) -> None:
        self._classes.add(effect_type)

    def contains(self, eff: Effect) -> bool:
        return isinstance(eff, tuple(self._classes))

    def filter_in(self, effects: Iterable[Effect]) -> set[Effect]:
        return {e for e in effects if self.contains(e)}

    def filter_not_in(self, effects: Iterable[Effect]) -> set[Effect]:
        return {e for e in effects if not self.contains(e)}


control_flow_allowed_effects = EffectTypeSet()


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Say of which types the values of a class are."""
    pytype_aval_mappings[val_cls] = hitypes.types[val_cls] = typeof_fn
