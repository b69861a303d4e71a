"""Forward mode: tangents are pushed along with the values they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.errors import StagecError
from stagec.core.graph import Literal
from stagec.core.location import error as located_error
from stagec.core.primitive import NOT_DIFFERENTIABLE, MissingRule, Primitive
from stagec.core.trace import Trace, Tracer, current, leaked, under
from stagec.core.zero import is_zero, zero_of
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import no_rule


class JvpTracer(Tracer):
    """A value and its tangent. Where the value is known, Python may ask for it."""

    __slots__ = ("primal", "tangent")
    _trace: JvpTrace

    def __init__(self, trace: JvpTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = aval_of(primal)

    def __bool__(self) -> bool:
        return bool(_value(self.primal))

    def __int__(self) -> int:
        return int(_value(self.primal))

    def __index__(self) -> int:
        return _value(self.primal).__index__()

    def __float__(self) -> float:
        return float(_value(self.primal))

    def __complex__(self) -> complex:
        return complex(_value(self.primal))

    def __format__(self, spec: str) -> str:
        return format(_value(self.primal), spec)

    def item(self, *args: Any) -> Any:
        return _value(self.primal).item(*args)

    def tolist(self) -> Any:
        return _value(self.primal).tolist()

    def _concretization(self, kind: type[StagecError], wanted: str, fix: str) -> StagecError:
        if isinstance(self.primal, Tracer):
            return self.primal._concretization(kind, wanted, fix)
        return located_error(
            kind,
            f"the {wanted} of {self.aval.long()} was asked for while it is differentiated: NumPy's result would have "
            "no derivative",
            fix="call the function of the same name in stagec.numpy, "
            "or take numpy.asarray(stagec.lax.stop_gradient(x))",
        )

    def __repr__(self) -> str:
        return f"JvpTracer<{self.aval.short()}> with primal {self.primal!r}"

    def origin(self) -> str:
        return self.primal.origin() if isinstance(self.primal, Tracer) else ""

    def arguments(self) -> list[tuple[str, ShapedArray]]:
        return self.primal.arguments() if isinstance(self.primal, Tracer) else []


def _value(primal: Any) -> Any:
    """The value of a primal; a tracer, which raises when its value is used, is returned as it is."""
    return primal.value[()] if isinstance(primal, Literal) else primal


class JvpTrace(Trace):
    """Runs each primitive on the values, and its derivative on the tangents, under the parent."""

    def __init__(self) -> None:
        self.parent = state.trace

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        pairs = [self.split(a) for a in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with current(self.parent):
            if all(map(is_zero, tangents)) or primitive.jvp is NOT_DIFFERENTIABLE:
                return primitive(*primals, **params)
            if isinstance(primitive.jvp, MissingRule):
                raise no_rule(primitive, "differentiated", primitive.jvp)
            out, out_dot = primitive.jvp(primitive, primals, tangents, params)
        if primitive.multiple:
            return [self.join(o, d) for o, d in zip(out, out_dot, strict=True)]
        return self.join(out, out_dot)

    def split(self, value: Any) -> tuple[Any, Any]:
        """A value and its tangent; those of other traces have the tangent zero."""
        if type(value) is JvpTracer and value._trace is self:
            if self.ended:
                raise leaked(value)
            return value.primal, value.tangent
        return value, zero_of(aval_of(value))

    def join(self, primal: Any, tangent: Any) -> Any:
        return primal if is_zero(tangent) else JvpTracer(self, primal, tangent)


def jvp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results of a flat function and their tangents.

    Args:
      tangents: of `primals`; a `Zero` where a value is not differentiated.
    """
    trace = JvpTrace()
    try:
        outs = under(trace, lambda: function(*[trace.join(p, t) for p, t in zip(primals, tangents, strict=True)]))
        pairs = [trace.split(o) for o in outs]
    finally:
        trace.ended = True
    return [p for p, _ in pairs], [t for _, t in pairs]
