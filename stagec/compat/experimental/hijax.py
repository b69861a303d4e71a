"""`jax.experimental.hijax`: types and primitives of values that are not arrays, which a program defines.

Programs have no equations for such values. A primitive is computed when it is bound, by the rule that lowers it: on
arrays, or on the tracers that a value holds in a traced function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from stagec.compat.ad_util import Zero
from stagec.compat.core import AbstractValue, Effect, ShapedArray, pytype_aval_mappings
from stagec.compat.interpreters.ad import instantiate_zeros, is_undefined_primal
from stagec.primitives import hitypes
from stagec.primitives.references import AbstractRef

__all__ = [
    "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive", "HiType", "MutableHiType",
    "ShapedArray", "Zero", "aval_method", "aval_property", "control_flow_allowed_effects", "instantiate_zeros",
    "is_undefined_primal", "register_hitype",
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
        """Compute, by the rule `impl`, or by `to_lojax` if there is no such rule."""
        rule: Callable[..., Any] = getattr(self, "impl", None) or getattr(self, "to_lojax")  # noqa: B009
        return hitypes.expand(rule, args, params)

    def __repr__(self) -> str:
        return self.name


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
