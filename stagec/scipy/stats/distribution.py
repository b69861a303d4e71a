"""A distribution as one row: the formulas that it needs, from which its public functions follow."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeAlias

from stagec import numpy as snp
from stagec.core import boundary
from stagec.core.array import Array
from stagec.runtime.plans import cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

P = ParamSpec("P")
Formula: TypeAlias = Callable[..., Any]
# A number, count or probability; a tuple of the shape parameters; the location and the scale, where there are any.
Arguments: TypeAlias = tuple[Any, ...]

# What a function without a formula follows from: the first of these that has one.
_DERIVED: dict[str, list[tuple[str, Formula]]] = {
    "pdf": [("logpdf", snp.exp)],
    "pmf": [("logpmf", snp.exp)],
    "cdf": [("logcdf", snp.exp), ("logsf", st.one_minus_exp)],
    "sf": [("logsf", snp.exp), ("logcdf", st.one_minus_exp)],
    "logcdf": [("cdf", st.log_of), ("logsf", st.log_one_minus_exp)],
    "logsf": [("sf", st.log_of), ("logcdf", st.log_one_minus_exp)],
}
# The functions of -x that symmetric distributions have for a function of x.
_MIRRORED = {"cdf": "sf", "logcdf": "logsf"}
# What densities are outside of the support.
_OUTSIDE = {"logpdf": -math.inf, "logpmf": -math.inf, "pdf": 0.0, "pmf": 0.0}
_SENTENCES = {
    "logpdf": "The logarithm of the density of {noun}.",
    "pdf": "The density of {noun}.",
    "logpmf": "The logarithm of the probability of `k`, of {noun}.",
    "pmf": "The probability of `k`, of {noun}.",
    "cdf": "The probability of a number up to `{x}`, of {noun}.",
    "logcdf": "The logarithm of `cdf`, accurate where it is small.",
    "sf": "The probability of a number above `{x}`, accurate where it is small.",
    "logsf": "The logarithm of `sf`.",
    "ppf": "The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].",
    "isf": "The inverse of `sf`; NaN outside of [0, 1].",
}


class Distribution:
    """The row of a distribution.

    Formulas have the names of functions. They take arrays of one floating dtype: the number, with the location
    subtracted and divided by the scale, or the probability; for densities, also the scale, if there is one; and the
    shape parameters.

    Args:
      name: that of its module.
      noun: what docstrings call it.
      support: of the number and the shape parameters; where the density is not 0.
      anchor: a number at which the density's formula and its derivatives are finite, in place of those outside.
      valid: of the shape parameters; functions are NaN where it is false.
      symmetric: whether the density is, about the location. Then `cdf` and `ppf` are enough for `sf` and `isf`.
    """

    def __init__(
        self,
        name: str,
        noun: str,
        *,
        support: Formula | None = None,
        anchor: float = 0,
        valid: Formula | None = None,
        symmetric: bool = False,
        **formulas: Formula,
    ) -> None:
        self._name, self._noun = name, noun
        self._support, self._anchor, self._valid = support, anchor, valid
        self._formulas = formulas
        if symmetric:
            self._formulas = {
                **{_MIRRORED[f]: _of_negative(formula) for f, formula in formulas.items() if f in _MIRRORED},
                "isf": lambda q: -formulas["ppf"](q),
                **formulas,
            }

    def functions(self, arguments: Callable[P, Arguments], example: str, **shown: float) -> list[Callable[P, Array]]:
        """The public functions with the names of `shown`, in their order.

        Args:
          arguments: has their signature, and returns the arguments of a call as `Arguments` has them.
          example: the arguments of the calls in their docstrings.
          shown: the results of these calls, rounded to four digits.
        """
        return [self._function(name, arguments, f"{name}({example})", result) for name, result in shown.items()]

    def _function(self, name: str, arguments: Callable[P, Arguments], call: str, result: float) -> Callable[P, Array]:
        source: Any = arguments
        # Python's own errors about the arguments of a call have this name.
        bind = FunctionType(source.__code__, source.__globals__, name, source.__defaults__)
        bind.__qualname__ = name

        def function(*args: P.args, **kwargs: P.kwargs) -> Array:
            return self._value(name, *bind(*args, **kwargs))

        function.__name__ = function.__qualname__ = name
        function.__module__ = f"stagec.scipy.stats.{self._name}"
        signature = inspect.signature(source).replace(return_annotation="Array")
        vars(function)["__signature__"] = signature
        function.__annotations__ = {**source.__annotations__, "return": "Array"}
        sentence = _SENTENCES[name].format(noun=self._noun, x=next(iter(signature.parameters)))
        function.__doc__ = f"{sentence}\n\n>>> round(float({call}), 4)\n{result}\n"
        return function

    def _value(self, name: str, x: Any, shapes: tuple[Any, ...], *place: Any) -> Array:
        """A function's value, by its formula or by the function that it follows from."""
        formula = self._formulas.get(name)
        if formula is None:
            source, derived = next((s, d) for s, d in _DERIVED[name] if s in self._formulas)
            value: Array = derived(self._value(source, x, shapes, *place))
            return value
        z, *others = real_arrays(f"{self._name}.{name}", x, *place, *shapes)
        location, parameters = others[: len(place)], others[len(place) :]
        scale = [snp.where(s > 0, s, math.nan) for s in location[1:]]
        if name in ("ppf", "isf"):
            value = formula(z, *parameters)
            value = value * scale[0] + location[0] if scale else value
        else:
            z = z - location[0] if location else z
            z = z / scale[0] if scale else z
            if name not in _OUTSIDE:
                value = formula(z, *parameters)
            elif self._support is None:
                value = formula(z, *scale, *parameters)
            else:
                inside = self._support(z, *parameters)
                value = st.within(inside, z, lambda y: formula(y, *scale, *parameters), _OUTSIDE[name], self._anchor)
        return value if self._valid is None else st.valid(self._valid(*parameters), value)


def _of_negative(formula: Formula) -> Formula:
    return lambda z, *parameters: formula(-z, *parameters)


def of_number(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    """Arguments of the functions of a number, for distributions without shape parameters."""
    return x, (), loc, scale


def of_probability(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    """Arguments of the functions of a probability, for distributions without shape parameters."""
    return q, (), loc, scale


def publish(namespace: dict[str, Any]) -> None:
    """Publish the functions of a distribution's module, at its end: all that have no underscore."""
    own = {name: v for name, v in namespace.items() if getattr(v, "__module__", None) == namespace["__name__"]}
    functions = {name: v for name, v in own.items() if isinstance(v, FunctionType) and name[0] != "_"}
    assert all(v.__name__ == name for name, v in functions.items()), "names in the order of their examples"
    names = namespace["__all__"] = sorted(functions)
    namespace["__dir__"] = lambda: list(names)
    cover(namespace)
    boundary.publish(namespace)
