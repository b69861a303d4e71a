"""How much work a program has, and how much of it threads can share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stagec.compiler.cost import MOVES
from stagec.compiler.estimate import terms
from stagec.core import dtypes
from stagec.core.dims import is_open
from stagec.core.graph import Equation, Graph, inner_graphs

# Estimated element operations from which spreading over threads pays: about 0.1 ms of one core's time,
# where the parallel queue's extra 20 to 50 us a call are won back by a second core.
_ENOUGH = 3 << 18
# Smaller operations run as one workgroup, so they add no work that threads can share.
_PIECE = 1 << 14
# Rounds with so much work for threads are one dispatch of kernels (`passes.kernels.cost`), for whose rounds no thread
# sleeps.
_ROUND = 300_000
# Operations that do nothing by themselves; and those with inner graphs, except `scan`.
_NO_WORK = ("uninitialized", "reshape", "sharding_constraint")
# How many rounds a loop is taken to have whose number is not known.
_ROUNDS = 100


def is_worth_it(graph: Graph) -> bool:
    """Whether threads should share the work of a graph."""
    return sum(amount for amount in _amounts(graph) if amount >= _PIECE) >= _ENOUGH


def _amounts(graph: Graph, in_loop: bool = False) -> Iterator[float]:
    """What threads can share of each operation, those of inner graphs included."""
    for equation in graph.equations:
        name = equation.primitive.name
        if in_loop and name == "dynamic_update_slice":
            yield equation.inputs[1].aval.size  # state is updated in place
        elif name == "scan" or not (name in _NO_WORK or inner_graphs(equation)):
            yield _shared(equation)
        for inner in inner_graphs(equation):
            yield from _amounts(inner, in_loop or name in ("scan", "while"))


def total(graph: Graph) -> float:
    """A rough count of the element operations of a graph, those of all rounds of its loops included.

    What only moves elements does not count. Loops whose number of rounds is not known are taken to have a hundred.

    >>> import stagec, stagec.numpy as snp
    >>> total(stagec.make_graph(lambda x: snp.sin(x) + 1)(snp.ones(1000)).graph)
    2500.0
    """
    return float(sum(map(total_of, graph.equations)))


def total_of(equation: Equation) -> float:
    """The same for one operation."""
    name = equation.primitive.name
    inner = [total(part) for part in inner_graphs(equation)]
    if inner:
        rounds = equation.params["length"] if name == "scan" else _ROUNDS if name == "while" else 1
        return sum(inner) * float(rounds)
    return 0.0 if name in MOVES else float(_amount(equation))


def _shared(equation: Equation) -> float:
    params = equation.params
    if equation.primitive.name == "scan" and params["num_carry"] == 0 and not is_open(params["length"]):
        return total_of(equation)  # its rounds do not depend on one another
    if equation.primitive.name == "scan" and not is_open(params["length"]):
        (body,) = inner_graphs(equation)
        round_ = sum(amount for amount in map(_shared, body.equations) if amount >= _PIECE)
        if round_ >= _ROUND:
            return float(round_ * params["length"])
    return _amount(equation)


def _amount(equation: Equation) -> int:
    out = sum(v.aval.size for v in equation.outputs)
    name = equation.primitive.name
    # A part of a large array costs what the part costs.
    parts = name in ("slice", "dynamic_slice", "gather", "split")
    size = out if parts else max([out] + [a.aval.size for a in equation.inputs])
    if name in ("dot_general", "conv_general_dilated"):
        # A vectorised multiply-add is several times cheaper than an elementwise step.
        return out * terms(equation) * equation.outputs[0].aval.dtype.itemsize // 64
    if name.startswith("reduce_"):
        # It takes as long as reading the array, and writes next to nothing.
        return size * equation.inputs[0].aval.dtype.itemsize // 8
    if name == "transpose":
        return size
    if name in ("argmax", "argmin"):
        return 2 * size
    if any(dtypes.is_inexact(v.aval.dtype) for v in equation.outputs) and _is_costly(equation.primitive):
        return 2 * size
    return size // 2


def _is_costly(primitive: Any) -> bool:
    """Whether an element takes dozens of instructions, by the operation that the primitive is lowered to."""
    from passes import operations

    if primitive.name in ("atan2", "sort"):  # lowered to several
        return True
    return isinstance(primitive.lower, str) and operations.of(primitive.lower).cost is operations.Cost.COSTLY
