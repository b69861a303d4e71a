"""A primitive: one indivisible operation, with all of its rules in one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stagec.core import trace as _trace
from stagec.core.parameters import CONVERTED, in_own_names

if TYPE_CHECKING:
    from stagec.core.array import Array


class MissingRule:
    """Stands for a rule that does not exist.

    Args:
      reason: why there is none, for the message.
      fix: what the user can do instead.
    """

    def __init__(self, reason: str, fix: str = "") -> None:
        self.reason = reason
        self.fix = fix

    def __repr__(self) -> str:
        return self.reason


NOT_DIFFERENTIABLE = MissingRule("its results do not change smoothly")
NOT_LINEAR = MissingRule("it is not linear")
NO_OPERANDS = MissingRule("it has no operands")
NOT_WRITTEN = MissingRule("the rule is not implemented")

Rule = Any


class Primitive:
    """One row of the table; `SinglePrimitive` or `MultiplePrimitive`, where it is made.

    Args:
      name: how graphs print it.
      shape: `(*avals, **params) -> aval`, or a list of avals for several results.
      eval: the same on NumPy arrays; decides nothing about dtypes, which `shape` does.
      lower: name of a StableHLO operation, or `(cx, *values, **params) -> value(s)`.
      jvp: `(primitive, primals, tangents, params) -> (result, tangent)`; a tangent may be a `Zero`, but not all.
      transpose: `(ct, *operands, **params) -> cotangents`; a `Linear` stands for each operand that gets one.
      batch: `(primitive, args, dims, size, params) -> (result, dim)`; a dim is the batch axis, or None.
        Each of the three may be a `MissingRule`, which says why there is none.
      partial: `(trace, args, params) -> results`, how a row with inner graphs is split into known and unknown.
      python: `(code, *values, **params) -> value`, a line of NumPy for a plan; None where `eval` has to be called.
      trim: `(equation, live) -> equation`, how a row with inner graphs drops results that are not used.
      follows: `(in_avals, out_aval, params) -> list`, with an operand and one of its axes, or None, for each axis of
        the result, which is split among devices as that one is; by default the same axis, where operands of the
        result's rank have the same size.
      effects: running it matters even when its results are not used.
      numpy_ns: nanoseconds that `eval` takes for an element of the largest operand or result, about; a second number
        is for complex elements.
      numpy_us: microseconds that a call of `eval` takes, however small.
    """

    registry: dict[str, Primitive] = {}  # noqa: RUF012
    # Whether the operation has a list of results.
    multiple: bool
    numpy_ns: tuple[float, float] = (0.3, 0.9)
    numpy_us: float = 0.26
    # Of what works on each of a stack of matrices: the operands' ranks without the stack's axes, the last one also that
    # of all further operands. Each element takes as many steps as a matrix has rows.
    matrix_ranks: Sequence[int] = ()
    # What `bind` makes of an array, a number or a literal; given by `primitives/operand.py`.
    operand: Callable[[Any], Any]

    def __init__(
        self,
        name: str,
        *,
        shape: Callable[..., Any],
        eval: Callable[..., Any],
        lower: str | Callable[..., Any],
        jvp: Rule = NOT_WRITTEN,
        transpose: Rule = NOT_WRITTEN,
        batch: Rule = NOT_WRITTEN,
        partial: Callable[..., Any] | None = None,
        trim: Callable[..., Any] | None = None,
        python: Callable[..., Any] | None = None,
        follows: Callable[..., Any] | None = None,
        effects: bool = False,
        numpy_ns: float | tuple[float, float] = 0.3,
        numpy_us: float = 0.26,
    ) -> None:
        self.name = name
        self.shape = shape
        self.eval = eval
        self.lower = lower
        self.jvp = jvp
        self.transpose = transpose
        self.batch = batch
        self.partial = partial
        self.trim = trim
        self.python = python
        self.follows = follows
        self.effects = effects
        self.numpy_ns = numpy_ns if isinstance(numpy_ns, tuple) else (numpy_ns, 3.0 * numpy_ns)
        self.numpy_us = numpy_us
        self._register()

    def _register(self) -> None:
        if self.name in Primitive.registry:
            raise ValueError(f"primitive {self.name!r} exists already")
        Primitive.registry[self.name] = self

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Apply to arrays or tracers: the current trace decides what happens."""
        return _trace.bind(self, args, params)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply to what users pass: arrays, tracers, NumPy arrays, numbers and literals of a graph."""
        if not CONVERTED.isdisjoint(params):
            args, params = in_own_names(args, params)
        return self(*map(Primitive.operand, args), **params)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that `bind` takes, from those of an equation: the same."""
        return params

    def bind_with_trace(self, trace: Any, args: Any, avals: Any, params: dict[str, Any]) -> Any:
        """`bind` in another trace than the one in force."""
        with _trace.current(None if trace is _trace.base_trace() else trace):
            return self.bind(*args, **params)

    @property
    def multiple_results(self) -> bool:
        """`multiple`, under JAX's name."""
        return self.multiple

    @property
    def call_primitive(self) -> bool:
        """Whether JAX would find an inner program among the operands: it is a parameter here."""
        return False

    def __repr__(self) -> str:
        return self.name


class SinglePrimitive(Primitive):
    """A primitive with one result."""

    multiple = False
    if TYPE_CHECKING:

        def __call__(self, *args: Any, **params: Any) -> Array: ...


class MultiplePrimitive(Primitive):
    """A primitive with a list of results."""

    multiple = True
    if TYPE_CHECKING:

        def __call__(self, *args: Any, **params: Any) -> list[Array]: ...
