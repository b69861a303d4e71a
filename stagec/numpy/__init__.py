"""NumPy's functions, on arrays that may be traced.

Names, signatures and results are NumPy's; dtypes follow JAX: 32 bits unless
`enable_x64` is set, and Python scalars adopt the dtype of the arrays that they are combined with.
"""

# ruff: noqa: I001

import typing as _typing

from stagec.core.boundary import publish as _publish
from stagec.numpy import fft as fft, methods
from stagec.numpy.arithmetic import *
from stagec.numpy.averages import *
from stagec.numpy.bits import *
from stagec.numpy.conditionals import *
from stagec.numpy.concatenators import *
from stagec.numpy.constants import *
from stagec.numpy.creation import *
from stagec.numpy.einsum import *
from stagec.numpy.elementary import *
from stagec.numpy.extremes import *
from stagec.numpy.files import *
from stagec.numpy.grids import *
from stagec.numpy.histograms import *
from stagec.numpy.mapping import *
from stagec.numpy.insertion import *
from stagec.numpy.interpolation import *
from stagec.numpy.joining import *
from stagec.numpy.linear import *
from stagec.numpy.diagonals import *
from stagec.numpy.logical import *
from stagec.numpy.manipulation import *
from stagec.numpy.repetition import *
from stagec.numpy.namespace import *
from stagec.numpy.nan_reductions import *
from stagec.numpy.padding import *
from stagec.numpy.phases import unwrap as unwrap
from stagec.numpy.printing import *
from stagec.numpy.polynomials import *
from stagec.numpy.positions import *
from stagec.numpy.promotion import broadcast_shapes as broadcast_shapes
from stagec.numpy.quantiles import *
from stagec.numpy.reductions import *
from stagec.numpy.rounding import *
from stagec.numpy.running import *
from stagec.numpy.selection import *
from stagec.numpy.sets import *
from stagec.numpy.sorting import *
from stagec.numpy.spacing import *
from stagec.numpy.statistics import *
from stagec.numpy.ufuncs import *
from stagec.numpy.unpacking import *
from stagec.numpy.windows import *
from stagec.numpy.values import *
from stagec.numpy.ufuncs import attach as _attach
from stagec.runtime.plans import cover as _cover

# Outside `jit`, functions run by recorded plans, which only compute. So these do not: some take data that is not an
# array yet or have side effects, a trace of `copy` is empty, and `diag_indices` returns one array several times.
_unplanned = (
    "array asarray copy array_repr array_str diag_indices fromfile get_printoptions iterable load printoptions save "
    "savez set_printoptions"
)
_cover(globals(), methods.OF_NUMBERS, _unplanned.split())
_attach(globals())
_array_methods = methods.of_arrays(globals())

if _typing.TYPE_CHECKING:
    from stagec.numpy import linalg as linalg


_publish(globals(), "fft", "linalg")
