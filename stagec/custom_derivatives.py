"""What JAX keeps in `jax.custom_derivatives`, under the same names."""

from stagec.api.custom_jvp import custom_jvp as custom_jvp
from stagec.api.custom_rule import SymbolicZero as SymbolicZero, zero_from_primal as zero_from_primal
from stagec.api.custom_vjp import (
    CustomVJPPrimal as CustomVJPPrimal,
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
    custom_vjp as custom_vjp,
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from stagec.control.linear_call import linear_call as linear_call
from stagec.core.boundary import publish as _publish

_publish(globals())
