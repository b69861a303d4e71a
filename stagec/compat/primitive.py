"""Primitives that users define through JAX's interface; libraries write their rules to tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stagec.control.expansion import UserPrimitive
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.primitive import NOT_WRITTEN, MissingRule
from stagec.core.trace import bind
from stagec.core.zero import Zero, is_linear, is_zero, zero_of
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand, aval_of

# The tables of rules, which JAX's modules export: written while libraries are imported, and not after.
jvps: dict[Any, Callable[..., Any]] = {}
transposes: dict[Any, Callable[..., Any]] = {}
batchers: dict[Any, Callable[..., Any]] = {}
fancy_batchers: dict[Any, Callable[..., Any]] = {}
# By the primitive and the platform, which is None for all others.
lowerings: dict[tuple[Any, str | None], Any] = {}
# Platforms that JAX calls by a common name.
_GPUS = frozenset(("cuda", "rocm", "vulkan"))


class AxisData(NamedTuple):
    """The axis of a batch."""

    name: Any
    size: int
    spmd_name: None = None
    explicit_mesh_axis: None = None


class _AxisBatchers(dict[Any, Callable[..., Any]]):
    """Rules that get the size and the name of the axis, and not an object with both."""

    def __setitem__(self, primitive: Any, rule: Callable[..., Any]) -> None:
        super().__setitem__(primitive, rule)
        fancy_batchers[primitive] = lambda axis, *args, **params: rule(axis.size, axis.name, None, *args, **params)


axis_batchers = _AxisBatchers()


class Lowering(NamedTuple):
    """A lowering to the operations of a function of arrays."""

    function: Callable[..., Any]
    multiple: bool


def _given(value: Any) -> Any:
    """Convert an operand for a user's rule."""
    return value if is_zero(value) or is_linear(value) else as_array(value)


class Primitive(UserPrimitive):
    """An indivisible operation that a user defines.

    >>> import stagec
    >>> with stagec.compat.jax():
    ...     from jax.extend.core import Primitive
    ...     from jax.interpreters import mlir
    >>> double = Primitive("double")
    >>> _ = double.def_impl(lambda x: 2 * x), double.def_abstract_eval(lambda x: x)
    >>> _ = mlir.register_lowering(double, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> stagec.jit(double.bind)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    multiple_results = False
    effects = False
    partial = trim = python = None

    def __init__(self, name: str) -> None:
        self.name = name

    def impl(self, *args: Any, **params: Any) -> Any:
        """How it is computed outside of `jit`, until `def_impl` says so: not at all."""
        raise self._missing("implementation", "def_impl")

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        """Of which shapes and dtypes the results are, until `def_abstract_eval` says so: unknown."""
        raise self._missing("rule for shapes", "def_abstract_eval")

    def _missing(self, what: str, method: str) -> Exception:
        return location.error(
            errors.UnsupportedError, f"{self.name}: the primitive has no {what}", fix=f"give it one with {method}"
        )

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply to arrays or tracers; returns an array, or a list of them with `multiple_results`."""
        operands = [as_operand(a, f"operand {i} of {self.name}") for i, a in enumerate(args)]
        if state.trace is None and "abstract_eval" not in vars(self) and "impl" in vars(self):
            # What it computes says of which shapes its results are.
            found = self.impl(*map(as_array, operands), **params)
            found = [*map(as_operand, found)] if self.multiple else as_operand(found)
        else:
            found = bind(self, tuple(operands), params)
        return [as_array(x) for x in found] if self.multiple else as_array(found)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Say how it is computed outside of `jit`."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def def_abstract_eval(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Say of which shapes and dtypes the results are."""
        self.abstract_eval = abstract_eval  # type: ignore[method-assign]
        return abstract_eval

    # The rules of a row, by those that users have given.

    @property
    def multiple(self) -> bool:  # type: ignore[override]
        return self.multiple_results

    def shape(self, *avals: ShapedArray, **params: Any) -> Any:
        found = self.abstract_eval(*avals, **params)
        return list(found) if self.multiple else found

    def eval(self, *arrays: Any, **params: Any) -> Any:
        found = self.impl(*map(as_array, arrays), **params)
        return [np.asarray(x) for x in found] if self.multiple else np.asarray(found)

    def lower(self, cx: Any, *values: Any, **params: Any) -> Any:
        raise AssertionError("users' primitives are expanded before a program is lowered")

    def expansion(self, platform: str) -> Callable[..., Any]:
        names = (platform, "gpu", None) if platform in _GPUS else (platform, None)
        rule = next((lowerings[self, name] for name in names if (self, name) in lowerings), None)
        if rule is None:
            raise location.error(
                errors.UnsupportedError,
                f"{self.name}: the primitive has no lowering for {platform}",
                fix="register jax.interpreters.mlir.lower_fun of a function of arrays",
            )
        if not isinstance(rule, Lowering):
            from stagec.compat import emitted  # the compiler

            return emitted.function_of(self, rule, platform)

        def function(*operands: Any, **params: Any) -> list[Any]:
            found = rule.function(*map(as_array, operands), **params)
            return [as_operand(x) for x in (found if rule.multiple else [found])]

        return function

    @property
    def jvp(self) -> Any:
        rule = jvps.get(self)
        if rule is None:
            return NOT_WRITTEN

        def jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
            out, dots = rule([_given(x) for x in primals], [_given(t) for t in tangents], **params)
            if not self.multiple:
                return as_operand(out), _tangent(dots)
            return [as_operand(x) for x in out], [_tangent(t) for t in dots]

        return jvp

    @property
    def transpose(self) -> Any:
        rule = transposes.get(self)
        if rule is None:
            return MissingRule("nobody has written the rule that transposes it")

        def transpose(cts: Any, *operands: Any, **params: Any) -> Any:
            given = [_given(ct) for ct in cts] if self.multiple else _given(cts)
            found = rule(given, *map(_given, operands), **params)
            # The class stands for zeros of all operands.
            found = [None] * len(operands) if found is Zero else found
            return [None if ct is None else _tangent(ct) for ct in found]

        return transpose

    @property
    def batch(self) -> Any:
        rule, with_axis = batchers.get(self), fancy_batchers.get(self)
        if rule is None and with_axis is None:
            return NOT_WRITTEN

        def batch(primitive: Any, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
            values = [as_array(a) for a in args]
            if rule is not None:
                out, places = rule(values, dims, **params)
            else:
                assert with_axis is not None, "one of the two rules was given"
                out, places = with_axis(AxisData(size.name, int(size)), values, dims, **params)
            return ([as_operand(x) for x in out], list(places)) if self.multiple else (as_operand(out), places)

        return batch


def _tangent(value: Any) -> Any:
    if is_zero(value):
        return value
    operand = as_operand(value)
    return zero_of(aval_of(operand)) if aval_of(operand).dtype.kind == "V" else operand
