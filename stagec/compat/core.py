"""What libraries read of `jax.core`: the class of tracers, and of types."""

from stagec.api.stages import ClosedGraph as ClosedJaxpr
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph as Jaxpr, Literal, Var
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer

__all__ = ["ArrayOperators", "ClosedJaxpr", "Jaxpr", "Literal", "ShapedArray", "Tracer", "Var"]
