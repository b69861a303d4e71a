"""Linear algebra, by the names of `scipy.linalg`."""

from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.matrix_functions import *
from stagec.scipy.more_matrices import *
from stagec.scipy.qr_functions import *
from stagec.scipy.schur_functions import *
from stagec.scipy.solvers import *
from stagec.scipy.special_matrices import *
from stagec.scipy.tridiagonal import eigh_tridiagonal as eigh_tridiagonal

_cover(globals())
_publish(globals())
