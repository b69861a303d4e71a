"""Counts the arithmetic of a graph, and the bytes that its operations read and write."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from stagec.compiler.estimate import TRANSFORMS
from stagec.core.graph import Equation, Graph, inner_graphs

# Operations that move or name elements, and compute nothing.
MOVES = frozenset(
    """
    all_gather axis_index bitcast_convert_type broadcast_in_dim concatenate convert_element_type copy debug_callback
    dimension_size dynamic_slice dynamic_update_slice gather imag io_callback iota lu_pivots_to_permutation name
    optimization_barrier pad platform_index pure_callback real remat_barrier reshape rev scatter slice split squeeze
    stop_gradient transpose
    """.split()
)
# Functions of an element that take many operations; they are counted on their own, as by XLA.
_TRANSCENDENTAL = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1
    lgamma log log1p logistic polygamma pow rsqrt sin sinh sqrt tan tanh zeta
    """.split()
)
# By the leading terms of the usual algorithms, where the last axes have the sizes m <= n: how often m * m * n.
_FACTORIZATIONS = {
    "cholesky": 1 / 3,
    "det": 2 / 3,
    "eig": 25.0,
    "eigh": 9.0,
    "eigvalsh": 4 / 3,
    "geqrf": 4 / 3,
    "hessenberg": 10 / 3,
    "lu": 2 / 3,
    "pinv": 22.0,
    "qr": 8 / 3,
    "schur": 25.0,
    "svd": 22.0,
    "tridiagonal": 4 / 3,
}


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a program computes.

    Attributes:
      flops: additions, multiplications, comparisons and the like, of all dtypes.
      transcendentals: values of exponentials, logarithms, roots and the like.
      bytes: read and written by the operations, each on its own.
    """

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*[a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))])

    def times(self, count: int) -> Cost:
        return Cost(*[a * count for a in dataclasses.astuple(self)])


def cost(graph: Graph) -> Cost:
    """What a graph computes. A loop whose number of rounds is not known counts as one round.

    >>> import stagec, stagec.numpy as snp
    >>> x = snp.ones((2, 3))
    >>> cost(stagec.make_graph(lambda x: snp.exp(x @ x.T))(x).graph)
    Cost(flops=24.0, transcendentals=4.0, bytes=144.0)
    """
    return sum(map(_of_equation, graph.equations), Cost())


def _of_equation(equation: Equation) -> Cost:
    inner = [cost(part) for part in inner_graphs(equation)]
    name = equation.primitive.name
    if name == "scan":
        return sum(inner, Cost()).times(equation.params["length"])
    if name == "cond":
        return max(inner, key=lambda c: (c.flops, c.transcendentals))
    if inner:
        return sum(inner, Cost())
    values = [a.aval for a in (*equation.inputs, *equation.outputs)]
    flops = float(_flops(equation))
    few = (0.0, flops) if name in _TRANSCENDENTAL else (flops, 0.0)
    return Cost(*few, float(sum(aval.nbytes for aval in values)))


def _flops(equation: Equation) -> float:
    name, params = equation.primitive.name, equation.params
    out = sum(v.aval.size for v in equation.outputs)
    operand = equation.inputs[0].aval if equation.inputs else None
    if name in MOVES or operand is None:
        return 0
    if name in _FACTORIZATIONS:
        *batch, m, n = operand.shape
        return math.prod(batch) * _FACTORIZATIONS[name] * min(m, n) ** 2 * max(m, n)
    if name == "triangular_solve":
        return equation.inputs[1].aval.size * operand.shape[-1]
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        return 2 * out * math.prod(operand.shape[axis] for axis in contracted)
    if name == "conv_general_dilated":
        return _of_convolution(equation)
    if name.startswith("reduce_window"):
        return out * (math.prod(params.get("window_dimensions", ())) - 1)
    if name == "reduce_precision":
        return out
    if name.startswith("reduce") or name in ("argmax", "argmin"):
        return sum(a.aval.size for a in equation.inputs[: len(equation.outputs)]) - out
    if name.startswith("scatter"):
        return equation.inputs[-1].aval.size
    if name in ("sort", "top_k"):
        return operand.size * math.ceil(math.log2(max(operand.shape[params.get("dimension", -1)], 2)))
    if name in TRANSFORMS:
        # As is usual for the fast transform of n numbers.
        return 5 * out * math.log2(max(operand.shape[params.get("axis", -1)], 2))
    return out


def _of_convolution(equation: Equation) -> float:
    """Multiplications and additions of elements, of which padding has none."""
    lhs, rhs = (a.aval for a in equation.inputs)
    params = equation.params
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    pairs = 1
    for i, (axis, kernel_axis) in enumerate(zip(lhs_spec[2:], rhs_spec[2:])):
        out = equation.outputs[0].aval.shape[out_spec[2 + i]]
        steps = [params[key][i] for key in ("window_strides", "rhs_dilation", "lhs_dilation")]
        pairs *= _pairs(lhs.shape[axis], rhs.shape[kernel_axis], out, params["padding"][i][0], steps)
    return 2 * lhs.shape[lhs_spec[0]] * rhs.shape[rhs_spec[0]] * rhs.shape[rhs_spec[1]] * pairs


def _pairs(size: int, kernel: int, out: int, low: int, steps: Sequence[int]) -> int:
    """How many pairs of a result and an element of the kernel meet an element of the operand, along one axis."""
    stride, spread, dilation = steps
    places = (i * stride + k * spread - low for i in range(out) for k in range(kernel))
    return sum(p >= 0 and p % dilation == 0 and p // dilation < size for p in places)
