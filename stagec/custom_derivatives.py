"""What JAX keeps in `jax.custom_derivatives`, under the same names."""

from stagec.api.custom_jvp import custom_jvp as custom_jvp
from stagec.api.custom_rule import *
from stagec.api.custom_vjp import *
from stagec.control.linear_call import linear_call as linear_call
from stagec.core.boundary import publish as _publish

_publish(globals())
