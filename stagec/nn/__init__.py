"""Activations and other functions for neural networks, by the names of `jax.nn`."""

import typing as _typing

from stagec.core.boundary import publish as _publish
from stagec.lax.scaled import scaled_matmul as scaled_matmul
from stagec.nn.attention import dot_product_attention as dot_product_attention
from stagec.nn.axes import *
from stagec.nn.functions import *
from stagec.runtime.plans import cover as _cover

if _typing.TYPE_CHECKING:
    from stagec.nn import initializers as initializers

_cover(globals())


_publish(globals(), "initializers")
