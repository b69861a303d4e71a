"""Comparisons, bit operations, and selects."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from passes.numeric import elementwise as meaning
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtypes import ALL, COMPLEX, ELEMENTS, FLOATING, INTEGER, KEY, SMALL
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive, SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives.axes import shape_error
from stagec.primitives.broadcast import instantiate, spread_to, zeros
from stagec.primitives.checks import check_dtype, elementwise_shape, same_dtype
from stagec.primitives.operand import as_operand, aval_of, promote_weak_scalars
from stagec.primitives.rules import each, unbroadcast
from stagec.primitives.table import batch_elementwise, elementwise, spread
from stagec.typing import ArrayLike

__all__ = [
    "and_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clamp", "clamp_p", "clz", "clz_p", "eq",
    "eq_p", "ge", "ge_p", "gt", "gt_p", "is_finite", "is_finite_p", "le", "le_p", "lt", "lt_p", "ne", "ne_p",
    "not_p", "or_p", "population_count", "population_count_p", "select", "select_n", "select_n_p", "shift_left",
    "shift_left_p", "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "xor_p",
]  # fmt: skip

ORDERED = ALL - COMPLEX
BITS = INTEGER | dtypes.BOOL


def _compare(name: str, evaluate: np.ufunc, accepts: frozenset[np.dtype[Any]]) -> SinglePrimitive:
    direction = {"comparison_direction": f"#stablehlo<comparison_direction {name.upper()}>"}

    def lower(cx: Any, x: Any, y: Any) -> Any:
        return cx.emit("stablehlo.compare", spread(cx, [x, y]), direction)

    operator_ = getattr(operator, name)
    return elementwise(
        name,
        accepts=accepts,
        # NumPy's ufuncs do not take random keys; the operators do.
        eval=lambda x, y: operator_(x, y) if x.dtype == KEY else evaluate(x, y),
        ufunc=lambda dtype: None if dtype == KEY else evaluate,
        lower=lower,
        result=dtypes.bool_,
        jvp=NOT_DIFFERENTIABLE,
        transpose=NOT_LINEAR,
    )


eq_p = _compare("eq", np.equal, ELEMENTS)
ne_p = _compare("ne", np.not_equal, ELEMENTS)
lt_p = _compare("lt", np.less, ORDERED)
le_p = _compare("le", np.less_equal, ORDERED)
gt_p = _compare("gt", np.greater, ORDERED)
ge_p = _compare("ge", np.greater_equal, ORDERED)


def _bits(
    name: str,
    evaluate: Callable[..., Any],
    lower: Any,
    accepts: frozenset[np.dtype[Any]] = BITS,
    numpy_ns: float = 0.3,
    ufunc: Callable[..., np.ufunc | None] | None = None,
) -> SinglePrimitive:
    return elementwise(
        name,
        accepts=accepts,
        eval=evaluate,
        lower=lower,
        jvp=NOT_DIFFERENTIABLE,
        transpose=NOT_LINEAR,
        ufunc=ufunc,
        numpy_ns=numpy_ns,
    )


not_p = _bits("not", np.invert, "stablehlo.not")
and_p = _bits("and", np.bitwise_and, "stablehlo.and")
or_p = _bits("or", np.bitwise_or, "stablehlo.or")
xor_p = _bits("xor", np.bitwise_xor, "stablehlo.xor")


def _shift_lower(op: str) -> Callable[..., Any]:
    def lower(cx: Any, x: Any, y: Any) -> Any:
        return _guarded_shift(cx, op, *spread(cx, [x, y]))

    return lower


def _guarded_shift(cx: Any, op: str, x: Any, y: Any) -> Any:
    # Shifts by the width or more are undefined in the machine code; here they give 0, or the sign.
    (out,) = cx.out_avals
    width = 8 * out.dtype.itemsize
    unsigned = out.update(dtype=np.dtype(f"uint{width}"))
    flag = out.update(dtype=dtypes.bool_, weak_type=False)
    distance = y
    if not dtypes.is_unsigned(out.dtype):
        distance = cx.emit("stablehlo.bitcast_convert", [y], avals=[unsigned])
    last = cx.constant(width - 1, unsigned)
    direction = {"comparison_direction": "#stablehlo<comparison_direction GT>"}
    too_far = cx.emit("stablehlo.compare", [distance, last], direction, [flag])
    safe = cx.emit("stablehlo.select", [too_far, cx.constant(width - 1, out), y])
    shifted = cx.emit(f"stablehlo.{op}", [x, safe])
    if op == "shift_right_arithmetic":
        return shifted
    return cx.emit("stablehlo.select", [too_far, cx.constant(0, out), shifted])


def _shift(name: str, evaluate: Callable[..., Any], ufunc: np.ufunc, kinds: str) -> SinglePrimitive:
    """A row that `ufunc` computes for NumPy's own dtypes of some kinds: it shifts by any amount as the row does."""
    known = lambda dtype: ufunc if dtype.isbuiltin == 1 and dtype.kind in kinds else None  # noqa: E731
    return _bits(name, evaluate, _shift_lower(name), INTEGER, ufunc=known)


shift_left_p = _shift("shift_left", meaning.shift_left, np.left_shift, "iu")
shift_right_logical_p = _shift("shift_right_logical", meaning.shift_right_logical, np.right_shift, "u")
shift_right_arithmetic_p = _shift("shift_right_arithmetic", meaning.shift_right_arithmetic, np.right_shift, "i")


population_count_p = _bits("population_count", meaning.popcnt, "stablehlo.popcnt", INTEGER, 0.4)
clz_p = _bits("clz", meaning.count_leading_zeros, "stablehlo.count_leading_zeros", INTEGER - SMALL, 2.2)


is_finite_p = elementwise(
    "is_finite",
    accepts=FLOATING,
    eval=np.isfinite,
    lower="stablehlo.is_finite",
    result=dtypes.bool_,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)


def _select_n_shape(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if which.dtype not in (dtypes.bool_, dtypes.int32):
        check_dtype("select_n's first operand", which.dtype, frozenset({dtypes.bool_, dtypes.int32}))
    if not cases or (which.dtype == dtypes.bool_ and len(cases) > 2):
        raise location.error(
            errors.ShapeError,
            f"select_n: {len(cases)} cases for {which.long()}",
            fix="give two cases for a bool; select among more by an int32",
        )
    dtype = same_dtype("select_n", cases)
    weak = all(c.weak_type for c in cases)
    return ShapedArray.of(elementwise_shape("select_n", (which, *cases)), dtype, weak)


# From this many elements on, bits are combined block by block.
_MANY = 4096
_BLOCK = 1 << 14
_INTEGERS = {n: np.dtype(f"int{8 * n}") for n in (1, 2, 4, 8)}


def _where(which: Any, yes: Any, no: Any) -> Any:
    """NumPy's `where`, of cases of one dtype.

    NumPy branches for each element, which costs ten times as much where the processor cannot predict `which`.
    """
    kind = _INTEGERS.get(yes.dtype.itemsize)
    if which.size < _MANY or kind is None or not all(v.flags.c_contiguous for v in (which, yes, no) if v.ndim):
        return np.where(which, yes, no)
    out = np.empty(which.shape, yes.dtype)
    flat, flags = out.reshape(-1).view(kind), which.reshape(-1).view(np.int8)
    ones, zeros = [v.reshape(-1).view(kind) for v in (yes, no)]
    mask = np.empty(_BLOCK, kind)
    for start in range(0, which.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        target = flat[part]
        chosen = np.negative(flags[part], mask[: target.size], dtype=kind)
        b = zeros[part] if zeros.size > 1 else zeros
        np.bitwise_xor(ones[part] if ones.size > 1 else ones, b, target)
        np.bitwise_and(target, chosen, target)
        np.bitwise_xor(target, b, target)
    return out


def _select_n_eval(which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return np.broadcast_to(cases[0], np.broadcast_shapes(which.shape, cases[0].shape))
    if which.dtype == np.bool_:
        return _where(which, cases[1], cases[0])
    if len(cases) == 2:
        return np.where(which > 0, cases[1], cases[0])
    out = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        out = np.where(which <= i, cases[i], out)
    return out


def _select_n_python(code: Any, which: Any, *cases: Any) -> Any:
    (out,) = code.out_avals
    if code.in_avals[0].dtype != dtypes.bool_ or len(cases) != 2:
        return None
    no, yes = cases
    if code.in_avals[0].shape:
        names = [code.array(v) if v.aval.shape else code.broadcastable(v) for v in (which, yes, no)]
        if out.size < _MANY:
            # NumPy's `where` takes twice as long.
            for i, other, mask in ((2, 1, names[0]), (1, 2, f"~{names[0]}")):
                if code.is_free((which, yes, no)[i], out) and names[i] != names[0]:
                    code.lines.append(f"{code.constant(np.copyto)}({names[i]}, {names[other]}, where={mask})")
                    return code.assign(names[i], fresh=True)
        where = np.where if out.size < _MANY else _where
        return code.assign(f"{code.constant(where)}({', '.join(names)})", fresh=True)
    name = code.array if out.shape else code.scalar
    if any(a.shape != out.shape for a in code.in_avals[1:]):
        return None
    no.fresh = yes.fresh = False
    return code.assign(f"{name(yes)} if {code.scalar(which)} else {name(no)}", scalar=not out.shape)


def _select_n_lower(cx: Any, which: Any, *cases: Any) -> Any:
    which, *spread_cases = spread(cx, [which, *cases])
    if len(spread_cases) == 1:
        return spread_cases[0]
    if cx.in_avals[0].dtype == dtypes.bool_:
        return cx.emit("stablehlo.select", [which, spread_cases[1], spread_cases[0]])
    (out,) = cx.out_avals
    index = out.update(dtype=dtypes.int32, weak_type=False)
    flag = out.update(dtype=dtypes.bool_, weak_type=False)
    direction = {"comparison_direction": "#stablehlo<comparison_direction LE>"}
    value = spread_cases[-1]
    for i in range(len(spread_cases) - 2, -1, -1):
        chosen = cx.emit("stablehlo.compare", [which, cx.constant(i, index)], direction, [flag])
        value = cx.emit("stablehlo.select", [chosen, spread_cases[i], value])
    return value


def _select_n_jvp(primitive: Primitive, primals: Any, tangents: Any, params: Any) -> Any:
    which, *_ = primals
    out = primitive(*primals)
    return out, primitive(which, *[spread_to(instantiate(t), aval_of(out).shape) for t in tangents[1:]])


def _select_n_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    cts: list[Any] = [None]
    for i, case in enumerate(cases):
        if not is_linear(case):
            cts.append(None)
            continue
        nothing = zeros(aval_of(ct))
        cts.append(unbroadcast(select_n_p(which, *[ct if k == i else nothing for k in range(len(cases))]), case))
    return cts


select_n_p = SinglePrimitive(
    "select_n",
    shape=_select_n_shape,
    eval=_select_n_eval,
    lower=_select_n_lower,
    python=_select_n_python,
    jvp=_select_n_jvp,
    transpose=_select_n_transpose,
    batch=batch_elementwise,
    numpy_ns=1.4,
)


def _clamp_eval(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _clamp_lower(cx: Any, low: Any, x: Any, high: Any) -> Any:
    low, x, high = spread(cx, [low, x, high])
    return cx.emit("stablehlo.minimum", [cx.emit("stablehlo.maximum", [x, low]), high])


def _chosen(where: Any, x: Any, t: Any) -> Any:
    """A bound's tangent where the bound is the result."""
    t = spread_to(t, aval_of(x).shape)
    return select_n_p(where, zeros(aval_of(t)), t)


def _between(low: Any, x: Any, high: Any, t: Any) -> Any:
    inside = and_p(gt_p(x, low), lt_p(x, high))
    return select_n_p(inside, zeros(aval_of(t)), t)


clamp_p = elementwise(
    "clamp",
    accepts=ORDERED,
    eval=_clamp_eval,
    lower=_clamp_lower,
    jvp=each(
        lambda low, x, high, t: _chosen(gt_p(low, x), x, t),
        _between,
        lambda low, x, high, t: _chosen(lt_p(high, x), x, t),
    ),
    transpose=NOT_LINEAR,
    numpy_ns=0.9,
)


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """`x == y` for each element."""
    return eq_p(*promote_weak_scalars(x, y))


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """`x != y` for each element; true where either is NaN."""
    return ne_p(*promote_weak_scalars(x, y))


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x < y` for each element."""
    return lt_p(*promote_weak_scalars(x, y))


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """`x <= y` for each element."""
    return le_p(*promote_weak_scalars(x, y))


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x > y` for each element."""
    return gt_p(*promote_weak_scalars(x, y))


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >= y` for each element."""
    return ge_p(*promote_weak_scalars(x, y))


def bitwise_not(x: ArrayLike) -> Array:
    """Every bit of each element flipped; logical not for bools."""
    return not_p(as_operand(x))


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits that are set in both; logical and for bools."""
    return and_p(*promote_weak_scalars(x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits that are set in either; logical or for bools."""
    return or_p(*promote_weak_scalars(x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits that are set in one only."""
    return xor_p(*promote_weak_scalars(x, y))


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """`x << y` for each element; 0 where `y` is negative or not less than the width."""
    return shift_left_p(*promote_weak_scalars(x, y))


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >> y` for each element, filled with zero bits; 0 where `y` is not less than the width."""
    return shift_right_logical_p(*promote_weak_scalars(x, y))


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >> y` for each element, filled with the sign bit."""
    return shift_right_arithmetic_p(*promote_weak_scalars(x, y))


def population_count(x: ArrayLike) -> Array:
    """How many bits of each element are set."""
    return population_count_p(as_operand(x))


def clz(x: ArrayLike) -> Array:
    """How many bits of each element lie above its highest set bit."""
    return clz_p(as_operand(x))


def is_finite(x: ArrayLike) -> Array:
    """Whether each element is neither infinite nor NaN."""
    return is_finite_p(as_operand(x))


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """`cases[which]` for each element.

    Args:
      which: bool (between two cases) or int32, of the cases' shape or of rank 0.
      cases: operands of one dtype.

    Raises:
      ShapeError: shapes differ, or the number of cases does not fit `which`.
    """
    if not cases:
        raise shape_error("select_n", "there are no cases", "pass the arrays to choose from after which")
    return select_n_p(as_operand(which, "which"), *promote_weak_scalars(*cases))


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """`on_true` where `pred` holds, `on_false` elsewhere."""
    return select_n(pred, on_false, on_true)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """`x` limited to the interval from `min` to `max`; NaN stays."""
    return clamp_p(*promote_weak_scalars(min, x, max))
