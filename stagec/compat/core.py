"""`jax.core` and `jax.extend.core`: traces, types, traced programs, and primitives that users define."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.api.environment import typeof
from stagec.api.stages import ClosedGraph as ClosedJaxpr, OpenGraph
from stagec.compat.primitive import Primitive
from stagec.core import dtypes, errors
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.axis import named_axes
from stagec.core.config import state
from stagec.core.graph import Atom, Equation as JaxprEqn, Graph, Literal, Var, replay
from stagec.core.location import capture
from stagec.core.operators import ArrayOperators
from stagec.core.recording import GraphTrace
from stagec.core.trace import Trace, Tracer, base_trace, current as _current, ensure_compile_time_eval
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand
from stagec.runtime.array import Array as Value
from stagec.transforms.batch import BatchTrace
from stagec.transforms.jvp import JvpTracer

__all__ = [
    "AbstractValue", "ArrayOperators", "Atom", "ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn", "Literal",
    "Primitive", "ShapedArray", "Trace", "TraceTag", "Tracer", "Value", "Var", "concrete_or_error",
    "ensure_compile_time_eval", "eval_context", "eval_jaxpr", "find_top_trace", "get_aval",
    "get_opaque_trace_state", "is_concrete", "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval", "max_dim",
    "min_dim", "new_jaxpr_eqn", "no_effects", "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype",
    "pytype_aval_mappings", "set_current_trace", "subjaxprs", "take_current_trace", "trace_state_clean", "typeof",
    "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype",
]  # fmt: skip

# There is one kind of type.
AbstractValue = ShapedArray
get_aval = typeof
# Types of values, and the functions that return the types of such values.
pytype_aval_mappings: dict[type, Callable[[Any], ShapedArray]] = dict.fromkeys(
    (Value, np.ndarray, *np.sctypeDict.values(), bool, int, float, complex), typeof
)


class _AllGraphs(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Graph)


class Jaxpr(OpenGraph, metaclass=_AllGraphs):
    """A traced program; the class of all, and a constructor from the parts that it has in JAX."""

    __slots__ = ()

    def __init__(
        self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom], eqns: Sequence[JaxprEqn],
        effects: Any = None, debug_info: Any = None, is_high: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(Graph([*constvars, *invars], [*eqns], [*outvars]), len(constvars))


def new_jaxpr_eqn(
    invars: Sequence[Atom], outvars: Sequence[Var], primitive: Any, params: dict[str, Any],
    effects: Any = None, source_info: Any = None, ctx: Any = None,
) -> JaxprEqn:  # fmt: skip
    """A step of a program; its effects are the primitive's."""
    return JaxprEqn(primitive, [*invars], [*outvars], params, source_info or capture())


class DropVar(Var):
    """A result that nothing reads, in JAX's programs. In stagec's, such results are variables like others."""


class Effect:
    """The class of what libraries call effects of their primitives."""


no_effects: frozenset[Any] = frozenset()


class TraceTag:
    """An object of its own, by which a trace knows its tracers."""


def eval_jaxpr(jaxpr: Graph, consts: Sequence[Any], *args: Any) -> list[Array]:
    """The results of a traced program for flat arguments.

    >>> import stagec, stagec.numpy as snp
    >>> made = stagec.make_jaxpr(lambda x: snp.sin(x) + 1)(0.0)
    >>> eval_jaxpr(made.jaxpr, made.consts, 0.0)
    [Array(1., dtype=float32, weak_type=True)]
    """
    return [as_array(x) for x in replay(jaxpr, [as_operand(x) for x in (*consts, *args)])]


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr | Graph) -> Callable[..., list[Array]]:
    """A traced program as a function of flat arguments, which returns the flat results."""
    return lambda *args: eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Graph]:
    """The programs among an equation's parameters."""
    for value in params.values():
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, (Graph, ClosedJaxpr)):
                yield inner.jaxpr


def subjaxprs(jaxpr: Graph) -> Iterator[Graph]:
    """The programs among the parameters of a program's equations."""
    for equation in jaxpr.equations:
        yield from jaxprs_in_params(equation.params)


# ---------------------------------------------------------------- traces


class TraceState:
    """The current trace, to be compared with that of another time."""

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceState) and self._trace is other._trace

    __hash__ = None  # type: ignore[assignment]


def get_opaque_trace_state(convention: str | None = None) -> TraceState:
    """Return an object that is equal to another one if both were made in the same trace.

    >>> import stagec
    >>> outside = get_opaque_trace_state()
    >>> outside == get_opaque_trace_state()
    True
    >>> bool(stagec.jit(lambda x: x if outside == get_opaque_trace_state() else -x)(1.0) < 0)
    True
    """
    return TraceState(state.trace)


def find_top_trace(args: Sequence[Any] = ()) -> Trace:
    """The trace in force."""
    return base_trace() if state.trace is None else state.trace


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace]:
    """The trace in force, which is not in force in the block."""
    taken = find_top_trace()
    with set_current_trace(None):
        yield taken


def set_current_trace(trace: Trace | None) -> contextlib.AbstractContextManager[None]:
    """Make a trace the one in force for a block."""
    return _current(None if trace is base_trace() else trace)


def eval_context() -> contextlib.AbstractContextManager[None]:
    """A block in which operations are evaluated, and not traced."""
    return set_current_trace(None)


def trace_state_clean() -> bool:
    """Whether no function is being traced."""
    return state.trace is None


def _traces() -> Iterator[Trace]:
    trace = state.trace
    while trace is not None:
        yield trace
        trace = trace.parent


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being recorded."""
    return any(isinstance(trace, GraphTrace) for trace in _traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function runs on a batch."""
    return any(isinstance(trace, BatchTrace) for trace in _traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the batches' axes."""
    return [name for name, *_ in named_axes()]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether a batch's axis has a name."""
    return bool(named_axes())


# ---------------------------------------------------------------- values and types


def is_concrete(x: Any) -> bool:
    """Whether the value is known."""
    while isinstance(x, JvpTracer):
        x = x.primal
    return not isinstance(x, Tracer)


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """`force(val)`, which raises for a traced value.

    Raises:
      ConcretizationError: the value is traced.
    """
    if not is_concrete(val):
        raise val._concretization(errors.ConcretizationError, "value", context)
    return val if force is None else force(val)


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array or a number."""
    try:
        typeof(x)
    except (errors.StagecError, OverflowError, TypeError):
        return False
    return True


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> np.dtype[Any]:
    """The dtype of tangents: of integers and bools, `float0`."""
    return ShapedArray.of((), dtypes.parse(primal_dtype)).to_tangent_aval().dtype


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one element of a batch.

    >>> import numpy as np
    >>> mapped_aval(3, 0, ShapedArray((3, 2), np.float32))
    ShapedArray(float32[2])
    """
    if axis is None:
        return aval
    assert aval.shape[axis] == size, "the batch has its size"
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of a batch, from that of one element.

    >>> import numpy as np
    >>> unmapped_aval(3, 1, ShapedArray((2,), np.float32))
    ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def max_dim(d1: Any, d2: Any) -> Any:
    """The larger of two sizes."""
    return max(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """The smaller of two sizes."""
    return min(d1, d2)
