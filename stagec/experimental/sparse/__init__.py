"""Sparse arrays, as JAX has them in `jax.experimental.sparse`: `BCOO` and `BCSR`."""

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.experimental.sparse.arithmetic import (
    bcoo_dot_general as bcoo_dot_general,
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
    bcoo_multiply_dense as bcoo_multiply_dense,
    bcoo_multiply_sparse as bcoo_multiply_sparse,
    bcoo_reduce_sum as bcoo_reduce_sum,
)
from stagec.experimental.sparse.arrangement import (
    bcoo_broadcast_in_dim as bcoo_broadcast_in_dim,
    bcoo_concatenate as bcoo_concatenate,
    bcoo_reshape as bcoo_reshape,
    bcoo_rev as bcoo_rev,
    bcoo_slice as bcoo_slice,
    bcoo_squeeze as bcoo_squeeze,
    bcoo_transpose as bcoo_transpose,
)
from stagec.experimental.sparse.bcoo import BCOO as BCOO, JAXSparse as JAXSparse, bcoo_fromdense as bcoo_fromdense
from stagec.experimental.sparse.bcsr import (
    BCSR as BCSR,
    bcsr_broadcast_in_dim as bcsr_broadcast_in_dim,
    bcsr_concatenate as bcsr_concatenate,
    bcsr_dot_general as bcsr_dot_general,
    bcsr_extract as bcsr_extract,
    bcsr_fromdense as bcsr_fromdense,
    bcsr_sum_duplicates as bcsr_sum_duplicates,
    bcsr_todense as bcsr_todense,
)
from stagec.experimental.sparse.common import (
    SparseEfficiencyError as SparseEfficiencyError,
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)
from stagec.experimental.sparse.creation import empty as empty, eye as eye, random_bcoo as random_bcoo
from stagec.experimental.sparse.layout import (
    bcoo_extract as bcoo_extract,
    bcoo_sort_indices as bcoo_sort_indices,
    bcoo_sum_duplicates as bcoo_sum_duplicates,
    bcoo_todense as bcoo_todense,
    bcoo_update_layout as bcoo_update_layout,
)
from stagec.experimental.sparse.sparsify import (
    grad as grad,
    sparsify as sparsify,
    todense as todense,
    value_and_grad as value_and_grad,
)


def __dir__() -> list[str]:
    return _exported(globals())


_publish(globals())
