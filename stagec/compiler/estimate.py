"""How long a call keeps the thread that makes it, and how long NumPy takes for it, estimated from the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stagec.core import dtypes
from stagec.core.duration import Duration
from stagec.core.graph import Atom, Equation, Graph, Literal, all_equations, inner_graphs
from stagec.core.host import LibraryCall
from stagec.primitives.checks import HALF

# Element operations of a call that keeps its thread for some milliseconds, tenths of a second at worst.
_QUICK = 1 << 22
# Element operations of a call that returns within some seconds.
_BOUNDED = 1 << 32
# How much longer than its shortest call a bounded program may take. After a short call, others take tenths of a second.
_VARIES = 16
# What the launch of a kernel costs, in element operations.
_LAUNCH = 1 << 10
# Operations that read only as much of an array as they return.
_PARTS = ("slice", "dynamic_slice", "gather")
# Operations that write parts of their first operand.
_UPDATES = ("dynamic_update_slice", "scatter")
# Steps of functions that are loops or series in compiled code, and of memory that is not written.
_SERIES = {"digamma": 16.0, "gcd": 64.0, "lgamma": 16.0, "polygamma": 64.0, "zeta": 16.0, "uninitialized": 0.0}
# What a round of a loop takes besides its operations, and what Python takes to go from one of these to the next.
_ROUND_SECONDS, _STEP_SECONDS = 2e-6, 8e-6
# Up to this many nanoseconds an element, compiled code is not much quicker: in one thread, and in several.
QUICK_NS, _QUICK_NS_IN_THREADS = 4.0, 0.3
# Compiled operations of at least so many elements are shared among threads.
_IN_THREADS = 1 << 18
# From so many multiply-adds on, the compile of a product is won back within ten calls or so where BLAS has slower code
# for the processor: half as fast, on one with AVX-512 that is not Intel's.
_LARGE_PRODUCT = 1 << 28
# Compiled code selects the largest of so many elements, which NumPy sorts.
_SELECTED = 1 << 11
# Compiled code counts the digits of so many elements along an axis, NumPy those of 8 and 16 bits alone.
_SORTED = 1 << 12
# NumPy sorts several arrays by one, indices and complex numbers in a slower way.
_SLOW_SORT = 10.0
# How much longer NumPy takes for elements that processors do not compute with, and for products without BLAS.
_SLOW_DTYPES, _WITHOUT_BLAS = 15.0, 20.0
# Nanoseconds for a quotient of integers, whose divisor may be zero.
_OF_INTEGERS = 9.0
_OF_BLAS = {dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128}
# NumPy's loops run along the last axis. If that is as short as this, each row takes so many nanoseconds of an operation
# that looks along it, or whose operand is a view that has other strides; from so many seconds on, compiled code pays.
_SHORT_ROW, _ROW_NS, _ROW_SECONDS = 8, 15.0, 5e-5
# Rows that are padded are slow up to so many elements.
_PADDED_ROW = 32
# Nanoseconds for an element of an array that is copied.
_COPY_NS = 0.3
# Operations whose results are views in NumPy.
_VIEWS = ("broadcast_in_dim", "rev", "slice", "squeeze", "transpose")
# Fast transforms, of several steps for each element.
TRANSFORMS = ("fft", "rfft", "irfft")
# Operations whose graphs Python evaluates, one operation after the other.
_IN_PYTHON = ("cond", "while", "scan")
# Operations that the host waits for, or repeats.
_HOST = ("cond", "while", "scan", "sort", "top_k", "gcd")


def duration(graph: Graph, queued: bool) -> Duration:
    """How long a call may keep the thread that makes it.

    Args:
      queued: the program runs on a queue of its own, so that only the host's part counts.
    """
    key = duration, queued
    found: Duration | None = graph.derived.get(key)
    if found is None:
        found = graph.derived[key] = _duration(graph, queued)
    return found


def _duration(graph: Graph, queued: bool) -> Duration:
    count = operations(graph)
    if not any(e.primitive.name in _HOST for e in all_equations(graph)) if queued else count <= _QUICK:
        return Duration.QUICK
    is_bounded = count <= _BOUNDED and count <= _VARIES * operations(graph, min)
    return Duration.BOUNDED if is_bounded else Duration.OPEN


def is_quick(graph: Graph, rounds: int) -> bool:
    """Whether a call keeps its thread for some milliseconds, where loops of unknown length have so many rounds."""
    return operations(graph, rounds=rounds, in_kernel=True) <= _QUICK


def operations(
    graph: Graph, of_branches: Callable[[list[float]], float] = max, rounds: float = math.inf, in_kernel: bool = False
) -> float:
    """Element operations of a call, those of loops included; infinite if the number of their rounds is not known.

    Args:
      of_branches: which of the branches of a conditional count: the longest, or the shortest.
      rounds: the number of rounds of a loop for which it is not known.
      in_kernel: all is one kernel, in which nothing is launched, and updates write what changes.

    >>> import stagec, stagec.numpy as snp
    >>> x = snp.ones((100, 100))
    >>> graph = stagec.jit(lambda x: x @ x).trace(x).jaxpr.graph
    >>> 1e6 < operations(graph) < 2e6
    True
    """
    return sum(_of_equation(equation, of_branches, rounds, in_kernel) for equation in graph.equations)


def numpy_seconds(graph: Graph) -> float:
    """How long NumPy takes to evaluate a graph, about; infinite if the number of a loop's rounds is not known.

    >>> import stagec, stagec.numpy as snp
    >>> graph = stagec.jit(lambda x: snp.sin(x) + 1).trace(snp.ones(1_000_000)).jaxpr.graph
    >>> 1e-4 < numpy_seconds(graph) < 1e-2
    True
    """
    return sum(map(numpy_seconds_of, graph.equations))


def numpy_seconds_of(equation: Equation, of_views: bool = False) -> float:
    """The same for one operation.

    Args:
      of_views: whether an operand is a view (`is_view`).
    """
    inner = _inner(equation, numpy_seconds, _ROUND_SECONDS, math.inf)
    if inner is not None:
        return inner
    is_scatter = equation.primitive.name.startswith("scatter")
    size, steps = _work(equation, is_scatter)
    seconds = 1e-6 * equation.primitive.numpy_us + 1e-9 * size * steps * _numpy_ns(equation)
    if is_scatter:
        seconds += 1e-9 * _COPY_NS * equation.inputs[0].aval.size
    return max(seconds, _seconds_of_rows(equation, of_views))


def python_seconds_of(equation: Equation) -> float:
    """How long Python takes to go through the operations in the loops and branches of an operation, one by one."""
    step = _STEP_SECONDS if equation.primitive.name in _IN_PYTHON else 0.0
    steps = lambda graph: sum(step + python_seconds_of(e) for e in graph.equations)  # noqa: E731
    return _inner(equation, steps, step, math.inf) or 0.0


def is_view(equation: Equation) -> bool:
    """Whether the result of an operation is a view with short rows, whose strides are not those of an array."""
    if equation.primitive.name not in _VIEWS:
        return False
    shape = equation.outputs[0].aval.shape
    return len(shape) > 1 and shape[-1] <= _SHORT_ROW


def _seconds_of_rows(equation: Equation, of_views: bool) -> float:
    """What NumPy takes for short rows, one after another; 0 if it takes the arrays as one row each."""
    name, params = equation.primitive.name, equation.params
    pads = name == "pad" and any(params["padding_config"][-1])
    arrays = equation.inputs[:1] if pads else (*equation.inputs, *equation.outputs)
    shape = max((a.aval.shape for a in arrays), key=math.prod, default=())
    if len(shape) < 2 or not 1 < shape[-1] <= (_PADDED_ROW if pads else _SHORT_ROW) or name in (*_VIEWS, "iota"):
        return 0.0
    axes = params.get("axes", (params.get("axis", params.get("dimension")),))
    along = len(shape) - 1 in axes and len(axes) < len(shape)
    if not (of_views or along or pads):
        return 0.0
    return 1e-9 * _ROW_NS * math.prod(shape[:-1])


def is_quick_in_numpy(equation: Equation, spreads: bool = False, of_views: bool = False) -> bool:
    """Whether NumPy computes each element of an operation about as quickly as compiled code does.

    Args:
      spreads: whether an operand is an array that is repeated along axes.
      of_views: whether an operand is a view (`is_view`).
    """
    if inner_graphs(equation) or _seconds_of_rows(equation, of_views) > _ROW_SECONDS:
        return False
    size, steps = _work(equation)
    if equation.primitive.name.startswith("scatter"):
        # Little is written into a copy.
        return _work(equation, True)[0] * _numpy_ns(equation) <= _COPY_NS * size
    if equation.primitive.name == "top_k":
        return size < _SELECTED
    if equation.primitive.name == "sort" and len(equation.inputs) == 1:
        aval = equation.inputs[0].aval
        counted = not dtypes.is_inexact(aval.dtype) and aval.dtype.itemsize <= 2
        if not counted and not _SHORT_ROW < aval.shape[equation.params["dimension"]] < _SORTED:
            return False
    if equation.primitive.name == "dot_general" and (size * steps >= _LARGE_PRODUCT or not _has_blas(equation)):
        return False
    if size < _IN_THREADS or steps > 1:
        return _numpy_ns(equation) <= QUICK_NS
    in_one_pass = not spreads and not equation.primitive.name.startswith("reduce_")
    return in_one_pass and _numpy_ns(equation) <= _QUICK_NS_IN_THREADS


def is_of_library(equation: Equation) -> bool:
    """Whether an operation takes many steps for each element: a product, a transform, a sort, a factorization.

    Compiled code does not combine it with others.
    """
    return not inner_graphs(equation) and _work(equation)[1] > 1


def _has_blas(equation: Equation) -> bool:
    """Whether BLAS has a product of the dtypes of an operation."""
    return {a.aval.dtype for a in (*equation.inputs, *equation.outputs)} <= _OF_BLAS


def _numpy_ns(equation: Equation) -> float:
    dtypes_of = {a.aval.dtype for a in (*equation.inputs, *equation.outputs)}
    real, complex_ = equation.primitive.numpy_ns
    is_complex = any(dtypes.is_complex(dtype) for dtype in dtypes_of)
    if equation.primitive.name == "sort" and (is_complex or len(equation.inputs) > 1):
        return real * _SLOW_SORT
    if is_complex:
        return complex_
    if equation.primitive.name == "dot_general" and not _has_blas(equation):
        return _WITHOUT_BLAS * real
    if equation.primitive.name == "div" and all(map(dtypes.is_integer, dtypes_of)):
        return _OF_INTEGERS
    return real * _SLOW_DTYPES if dtypes_of & HALF else real


class Counter(NamedTuple):
    """State of a `while_loop` that grows by a constant in each round, and ends the loop when it reaches a bound, or
    passes it.

    Attributes:
      operand: the number of its first value among the operands.
      bound: an operand, which does not change in the loop, or a constant.
      passes: whether there is a round for the bound, too.
    """

    operand: int
    step: int
    bound: Atom
    passes: bool


def counter_of(equation: Equation) -> Counter | None:
    """The counter of a `while_loop` with the condition `counter < bound` or `counter <= bound`."""
    cond, body, asked, consts = [equation.params[k] for k in ("cond", "body", "cond_consts", "body_consts")]
    test = cond.equations[0] if len(cond.equations) == 1 else None
    if test is None or test.primitive.name not in ("lt", "le") or test.outputs != cond.outputs:
        return None
    counter, bound = test.inputs
    if counter not in cond.inputs[asked:] or not dtypes.is_integer(counter.aval.dtype):
        return None
    at = cond.inputs.index(counter) - asked
    made = next((e for e in body.equations if e.outputs == [body.outputs[at]] and e.primitive.name == "add"), None)
    steps = [int(a.value) for a in made.inputs if isinstance(a, Literal)] if made is not None else []
    if made is None or body.inputs[consts + at] not in made.inputs or not steps or steps[0] <= 0:
        return None
    if bound in cond.inputs:
        i = cond.inputs.index(bound)
        if i >= asked and body.outputs[i - asked] is not body.inputs[consts + i - asked]:
            return None
        bound = equation.inputs[i if i < asked else i + consts]
    return Counter(asked + consts + at, steps[0], bound, test.primitive.name == "le")


def rounds_of(equation: Equation) -> int | None:
    """How many rounds a `while_loop` has; None where arguments decide."""
    counter = counter_of(equation)
    if counter is None:
        return None
    start, bound = equation.inputs[counter.operand], counter.bound
    if not isinstance(start, Literal) or not isinstance(bound, Literal):
        return None
    rounds = max(0, -(-(int(bound.value) + counter.passes - int(start.value)) // counter.step))
    # Beyond the range of its dtype, the counter would begin again.
    last = int(start.value) + rounds * counter.step
    return rounds if last <= np.iinfo(start.aval.dtype).max else None


def _inner(
    equation: Equation,
    of: Callable[[Graph], float],
    call: float,
    unknown: float,
    of_branches: Callable[[list[float]], float] = max,
) -> float | None:
    """The estimate for an operation that runs graphs, by the estimates for these; None for any other.

    Args:
      unknown: the number of rounds of a loop for which it is not known.
    """
    inner = [of(part) for part in inner_graphs(equation)]
    if equation.primitive.name == "while":
        rounds = rounds_of(equation)
        return float((unknown if rounds is None else rounds) * (sum(inner) + call))
    if equation.primitive.name == "scan":
        return float(equation.params["length"] * (sum(inner) + call))
    if equation.primitive.name == "cond":
        return of_branches(inner) + call
    return None if not inner else sum(inner) + call


def _of_equation(
    equation: Equation, of_branches: Callable[[list[float]], float], rounds: float, in_kernel: bool
) -> float:
    launch = 0 if in_kernel else _LAUNCH
    inner = _inner(equation, lambda part: operations(part, of_branches, rounds, in_kernel), launch, rounds, of_branches)
    if inner is not None:
        return inner
    size, steps = _work(equation, in_kernel)
    # Scalars, such as counters and indices, need no launch of their own: each round of a loop counts as one.
    return (launch if size > 1 else 0) + size * steps * _SERIES.get(equation.primitive.name, 1.0)


def _work(equation: Equation, in_place: bool = False) -> tuple[int, float]:
    """The elements of the largest operand or result, and the steps for each.

    Args:
      in_place: an array that is updated in part is not copied.
    """
    out = sum(v.aval.size for v in equation.outputs)
    name, sizes = equation.primitive.name, [a.aval.size for a in equation.inputs]
    if in_place and name.startswith(_UPDATES):
        return max(sizes[1:]), 1.0
    return out if name in _PARTS else max([out, *sizes]), _steps(equation, out)


def _steps(equation: Equation, out: int) -> float:
    """Steps for each element of the largest operand or result."""
    name, params = equation.primitive.name, equation.params
    if name in TRANSFORMS:
        return 16.0
    if isinstance(params.get("callback"), LibraryCall) or equation.primitive.matrix_ranks:
        # A factorization is some loops of three levels.
        return 8.0 * max(equation.inputs[0].aval.shape[-2:])
    if name in ("dot_general", "conv_general_dilated"):
        size = max(out, *(a.aval.size for a in equation.inputs))
        return out * terms(equation) / max(size, 1)
    if name.startswith("reduce_window"):
        return float(math.prod(params.get("window_dimensions", (64,))))
    if name in ("sort", "top_k"):
        return 64.0
    return 1.0


def terms(equation: Equation) -> int:
    """The terms of each sum of a product or a convolution."""
    lhs, rhs = (a.aval.shape for a in equation.inputs)
    if equation.primitive.name == "dot_general":
        (contract, _), _ = equation.params["dimension_numbers"]
        return math.prod(lhs[axis] for axis in contract)
    _, (features, *_), _ = equation.params["dimension_numbers"]
    return math.prod(size for axis, size in enumerate(rhs) if axis != features)
