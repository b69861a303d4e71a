"""Sparse arrays, as JAX has them in `jax.experimental.sparse`: `BCOO`, `BCSR`, `COO`, `CSR` and `CSC`."""

from stagec.core.boundary import publish as _publish
from stagec.experimental.sparse import linalg as linalg
from stagec.experimental.sparse.arithmetic import *
from stagec.experimental.sparse.arrangement import *
from stagec.experimental.sparse.bcoo import *
from stagec.experimental.sparse.bcsr import *
from stagec.experimental.sparse.common import *
from stagec.experimental.sparse.creation import *
from stagec.experimental.sparse.layout import *
from stagec.experimental.sparse.matrices import *
from stagec.experimental.sparse.sparsify import *

_publish(globals())
