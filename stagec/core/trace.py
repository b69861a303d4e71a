"""Traces interpret primitives; tracers stand for their values.

There is no stack of levels. A thread has one current trace, each
transformation's trace holds its parent, and a tracer belongs to a trace iff
`tracer._trace is trace`. Rules run with the parent current.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stagec.core import advice, errors, location, replaced
from stagec.core.aval import ShapedArray
from stagec.core.boundary import shorten
from stagec.core.cached import cached_property
from stagec.core.config import state
from stagec.core.exports import without
from stagec.core.operators import ArrayOperators

if TYPE_CHECKING:
    from stagec.core.primitive import Primitive

T = TypeVar("T")


class Trace:
    """An interpreter of primitives."""

    parent: Trace | None = None
    ended = False
    # The axis of the batch that the trace runs over, an `Axis`.
    axis: Any = None
    # The axis of another trace whose values count as this one's.
    resumed: Any = None
    # The trace that records what this one does not know, a `GraphTrace`: its values count as this one's.
    unknown: Any = None
    # Whether the function's arguments can be made static: those of a loop's body cannot.
    static_arguments = True

    @cached_property
    def made(self) -> dict[int, Any]:
        """Values that change in place and were made in the trace, by id."""
        return {}

    @property
    def main(self) -> Trace:
        """The trace itself, under an older name of JAX's."""
        return self

    @property
    def of_own_code(self) -> bool:
        """Whether only stagec's code runs under it, so that the user's line is that of the current equation."""
        return self.parent is not None and self.parent.of_own_code

    def has_values_of(self, other: Trace) -> bool:
        """Whether the other trace's values count as this one's."""
        return self is other or self.unknown is other or (other.axis is not None and self.resumed is other.axis)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply `primitive`; returns one value, or a list if `primitive.multiple`."""
        return self.process_primitive(primitive, args, params)

    def process_primitive(self, primitive: Primitive, tracers: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The same, under the name by which users' traces define it."""
        raise AssertionError(f"{type(self).__name__} does not interpret primitives")


class Tracer(ArrayOperators):
    """Stands for an array that has a shape and a dtype but no value yet."""

    __slots__ = ("__weakref__", "_trace", "aval")
    # Not `trace`: that is NumPy's sum along a diagonal.
    _trace: Trace
    aval: ShapedArray

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self._trace = trace
        self.aval = aval

    def origin(self) -> str:
        """Where the value comes from, in the user's words."""
        return ""

    def __dir__(self) -> list[str]:
        return without(self, "arguments", "origin")

    def __repr__(self) -> str:
        return f"Tracer<{self.aval.short()}>"

    def __hash__(self) -> int:
        raise location.error(
            TypeError,
            "unhashable type: a traced array cannot be hashed, since it has no value while tracing",
            [("value", self.aval.long(), self.origin())],
            "use Python values as keys of dicts, elements of sets and static arguments, and keep arrays in lists",
        )

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __reduce__(self) -> Any:
        raise location.error(
            TypeError,
            "a traced array cannot be pickled, since it has no value while tracing",
            [("value", self.aval.long(), self.origin())],
            "return it from the function, and pickle the result",
        )

    def arguments(self) -> list[tuple[str, ShapedArray]]:
        """Name and aval of the function's arguments that the value depends on, where the trace knows them."""
        return []

    def _of_constants(self) -> bool:
        """Whether the value is known not to depend on any argument."""
        return False

    def __bool__(self) -> bool:
        raise self._concretization(errors.TracerBoolConversionError, "truth value", advice.conditional(self.aval.dtype))

    def __int__(self) -> int:
        raise self._concretization(errors.TracerIntegerConversionError, "int() value", advice.integer())

    def __float__(self) -> float:
        raise self._concretization(errors.ConcretizationError, "float() value", advice.number("float"))

    def __complex__(self) -> complex:
        raise self._concretization(errors.ConcretizationError, "complex() value", advice.number("complex"))

    def __index__(self) -> int:
        raise self._concretization(errors.TracerIntegerConversionError, "integer value", advice.integer())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._concretization(errors.TracerArrayConversionError, "NumPy array", advice.array(self.aval.dtype))

    def __format__(self, spec: str) -> str:
        if spec:
            raise self._concretization(
                errors.ConcretizationError,
                "formatted value",
                f'print it when the program runs, with stagec.debug.print("{{x:{spec}}}", x=x)',
            )
        return repr(self)

    def item(self, *args: Any) -> Any:
        raise self._concretization(
            errors.ConcretizationError, "item() value", "leave .item() out: an array without axes is a number"
        )

    def tolist(self) -> Any:
        raise self._concretization(
            errors.ConcretizationError, "tolist() value", "use list(x), whose elements are arrays"
        )

    def block_until_ready(self) -> Tracer:
        """Nothing to wait for while tracing."""
        return self

    def _concretization(self, kind: type[errors.StagecError], wanted: str, fix: str) -> errors.StagecError:
        if self._trace.ended:
            return leaked(self)
        if self._of_constants():
            ways = [advice.CONSTANT]
        else:
            static = advice.static(self.arguments())
            if not self._trace.static_arguments:
                static = "decide outside the function, by values that are known while tracing"
            ways = [static, fix] if fix == advice.SHAPE else [fix, static]
        error = location.error(
            kind,
            f"the {wanted} of a traced array was asked for: {self.aval.long()} has no value while tracing",
            [("value", self.aval.long(), self.origin())],
            ", or ".join(filter(None, ways)) or advice.WITHOUT_VALUE,
        )
        return replaced.remember(error)


shorten(
    Tracer,
    "__hash__ __reduce__ __bool__ __int__ __float__ __complex__ __index__ __array__ __format__ item tolist",
)
_base: Trace


def set_base(trace: Trace) -> None:
    """Name the trace that runs when no transformation is in force."""
    global _base
    _base = trace


def base_trace() -> Trace:
    """The trace that runs when no transformation is in force."""
    return _base


def bind(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Hand a primitive to the current trace."""
    trace = state.trace
    if trace is None:
        return _base.process(primitive, args, params)
    return trace.process(primitive, args, params)


class current:
    """Make `trace` the current one for a block; `None` is the base.

    A signal's handler may raise before the exit has begun. Then `under`, further out, sets things right; a
    generator would set them wrong again, when it is finalized.
    """

    __slots__ = ("_before", "_trace")

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._before = state.trace
        state.trace = self._trace
        state.refresh()

    def __exit__(self, *_: object) -> None:
        state.trace = self._before
        state.refresh()


def under(trace: Trace | None, function: Callable[..., T], *args: Any) -> T:
    """`function(*args)` with `trace` as the current one, whatever a signal's handler raises meanwhile."""
    before = state.trace
    try:
        state.trace = trace
        state.refresh()
        return function(*args)
    except (TypeError, ValueError) as error:
        original = replaced.original(error)
        if original is not None:
            raise original from None
        raise
    finally:
        # Nothing is called here, so no handler runs.
        state.trace = before
        state.plain = before is None and not state.overrides


class KnownFirst(Trace):
    """Computes what has no traced operand, and leaves the rest to the trace that was in force."""

    def __init__(self, parent: Trace) -> None:
        self.parent: Trace = parent

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        with current(self.of(args)):
            return primitive(*args, **params)

    def of(self, args: Sequence[Any]) -> Trace | None:
        """The trace in which an operation on `args` is."""
        return self.parent if any(isinstance(a, Tracer) for a in args) else None


def trace_of(args: Sequence[Any]) -> Trace | None:
    """The trace that an operation on `args` is for."""
    return state.trace.of(args) if isinstance(state.trace, KnownFirst) else state.trace


def ensure_compile_time_eval() -> current:
    """Compute what is known in the block while tracing, instead of recording it.

    Results that are computed from known values alone are arrays, whose values Python may read. Operations on traced
    values are recorded.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def f(x):
    ...     with stagec.ensure_compile_time_eval():
    ...         steps = int(snp.ceil(snp.log2(x.size)))
    ...     return x * steps
    >>> f(snp.ones(5)).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    return current(None if state.trace is None else KnownFirst(state.trace))


def with_operands(error: errors.StagecError, args: Sequence[Any]) -> errors.StagecError:
    """An error of a primitive's shape rule, with what the primitive was given and where that came from."""
    return errors.with_values(error, operand_rows(args))


def operand_rows(operands: Sequence[Any], names: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Rows of a message: the operands by name or by number, each with its aval and origin."""
    if not names:
        names = [f"operand {i}" for i in range(len(operands))] if len(operands) > 1 else ["operand"]
    rows = []
    for name, operand in zip(names, operands):
        aval = getattr(operand, "aval", None) or ShapedArray.of(operand.shape, operand.dtype)
        origin = getattr(operand, "origin", None)
        rows.append((name, aval.long(), origin() if origin is not None else ""))
    return rows


def leaked(tracer: Tracer) -> errors.LeakedTracerError:
    """The error for a tracer that outlived its function."""
    return location.error(
        errors.LeakedTracerError,
        f"a traced value {tracer.aval.long()} was used after its function had returned",
        [("value", tracer.aval.long(), tracer.origin())],
        "return the value from the function instead of storing it in a global, an attribute or a closure",
    )


def closed_over(value: Any) -> errors.UnsupportedError:
    """The error for what is used where it has no value: a tracer, or an array whose parts other processes have."""
    traced = isinstance(value, Tracer)
    return location.error(
        errors.UnsupportedError,
        f"{'a traced value' if traced else 'an array of several processes'} {value.aval.long()} was used by a function "
        "that runs outside of the trace",
        [("value", value.aval.long(), value.origin() if traced else "")],
        "pass the value to that function as an argument; it may be a callback, or have a derivative of its own",
    )
