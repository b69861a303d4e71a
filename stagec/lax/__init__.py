"""Operations as the compiler knows them: no promotion, no broadcasting, JAX's `jax.lax` names."""

from stagec.primitives.convert import convert_element_type as convert_element_type
from stagec.primitives.shape import (
    broadcast as broadcast,
    broadcast_in_dim as broadcast_in_dim,
    concatenate as concatenate,
    expand_dims as expand_dims,
    pad as pad,
    reshape as reshape,
    rev as rev,
    squeeze as squeeze,
    transpose as transpose,
)
