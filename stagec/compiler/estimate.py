"""How long a call keeps the thread that makes it, estimated from the graph."""

from __future__ import annotations

import math

from stagec.core.duration import Duration
from stagec.core.graph import Equation, Graph, all_equations, inner_graphs
from stagec.core.host import LibraryCall

# Element operations of a call that keeps its thread for some milliseconds, tenths of a second at worst.
_QUICK = 1 << 22
# Element operations of a call that returns within some seconds.
_BOUNDED = 1 << 32
# What the launch of a kernel costs, in element operations.
_LAUNCH = 1 << 10
# Operations that read only as much of an array as they return.
_PARTS = ("slice", "dynamic_slice", "gather")
# Operations that the host waits for, or repeats.
_HOST = ("cond", "while", "scan", "sort", "top_k", "gcd")


def duration(graph: Graph, queued: bool) -> Duration:
    """How long a call may keep the thread that makes it.

    Args:
      queued: the program runs on a queue of its own, so that only the host's part counts.
    """
    count = operations(graph)
    is_quick = count <= _QUICK
    if queued:
        is_quick = not any(e.primitive.name in _HOST for e in all_equations(graph))
    return Duration.QUICK if is_quick else Duration.BOUNDED if count <= _BOUNDED else Duration.OPEN


def operations(graph: Graph) -> float:
    """Element operations of a call, those of loops included; infinite if the number of their rounds is not known.

    >>> import stagec, stagec.numpy as snp
    >>> x = snp.ones((100, 100))
    >>> graph = stagec.jit(lambda x: x @ x).trace(x).jaxpr.graph
    >>> 1e6 < operations(graph) < 2e6
    True
    """
    return sum(map(_of_equation, graph.equations))


def _of_equation(equation: Equation) -> float:
    name, params = equation.primitive.name, equation.params
    if name == "while":
        return math.inf
    inner = [operations(part) for part in inner_graphs(equation)]
    if name == "scan":
        return float(params["length"] * (sum(inner) + _LAUNCH))
    if name == "cond":
        return max(inner) + _LAUNCH
    out = sum(v.aval.size for v in equation.outputs)
    size = out if name in _PARTS else max([out] + [a.aval.size for a in equation.inputs])
    # Scalars, such as counters and indices, need no launch of their own: each round of a loop counts as one.
    return (_LAUNCH if size > 1 else 0) + size * _steps(equation, out) + sum(inner)


def _steps(equation: Equation, out: int) -> float:
    """Steps for each element of the largest operand or result."""
    name, params = equation.primitive.name, equation.params
    if name == "fft":
        return 16.0
    if isinstance(params.get("callback"), LibraryCall):
        # A factorization is some loops of three levels.
        return 8.0 * max(equation.inputs[0].aval.shape[-2:])
    if name == "dot_general":
        (contract, _), _ = params["dimension_numbers"]
        left = equation.inputs[0].aval
        size = max(out, left.size, equation.inputs[1].aval.size)
        return out * math.prod(left.shape[axis] for axis in contract) / max(size, 1)
    if name == "conv_general_dilated":
        # Each element of the result reads no more of the kernel than all of it.
        return float(equation.inputs[1].aval.size)
    if name.startswith("reduce_window"):
        return float(math.prod(params.get("window_dimensions", (64,))))
    if name in ("sort", "top_k") or name.startswith("cum"):
        return 64.0
    return 1.0
