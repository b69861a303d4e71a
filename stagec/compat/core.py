"""`jax.core`: classes of traced programs and types, and the evaluation of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.api.stages import ClosedGraph as ClosedJaxpr
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph as Jaxpr, Literal, Var, replay
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand

__all__ = [
    "AbstractValue",
    "ArrayOperators",
    "ClosedJaxpr",
    "Jaxpr",
    "Literal",
    "ShapedArray",
    "Tracer",
    "Var",
    "eval_jaxpr",
]

# There is one kind of type.
AbstractValue = ShapedArray


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Array]:
    """The results of a traced program for flat arguments.

    >>> import stagec, stagec.numpy as snp
    >>> made = stagec.make_jaxpr(lambda x: snp.sin(x) + 1)(0.0)
    >>> eval_jaxpr(made.jaxpr, made.consts, 0.0)
    [Array(1., dtype=float32, weak_type=True)]
    """
    return [as_array(x) for x in replay(jaxpr, [as_operand(x) for x in (*consts, *args)])]
