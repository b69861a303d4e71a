"""Operations as the compiler knows them: no promotion, no broadcasting, JAX's `jax.lax` names."""

# ruff: noqa: I001

import typing as _typing

from stagec.core.boundary import publish as _publish
from stagec.lax.fourier import *
from stagec.lax.composed import *
from stagec.lax.patches import *
from stagec.lax.generators import *
from stagec.lax.ragged import *
from stagec.lax.scaled import scaled_dot as scaled_dot
from stagec.lax.tokens import *
from stagec.lax.special import *
from stagec.primitives.fft import fft_p as fft_p
from stagec.primitives.arithmetic import *
from stagec.primitives.rules import *
from stagec.primitives.barrier import *
from stagec.primitives.complex import *
from stagec.primitives.convert import *
from stagec.primitives.logic import *
from stagec.primitives.special import *
from stagec.primitives.arithmetic import *
from stagec.primitives.transcendental import *

# shape, index, dot
from stagec.primitives.joining import *
from stagec.primitives.padding import *
from stagec.primitives.broadcast import *
from stagec.primitives.shape import *
from stagec.primitives.padding import *
from stagec.primitives.slicing import *
from stagec.primitives.iota import *
from stagec.primitives.gather import gather as gather
from stagec.primitives.gather_parts import *
from stagec.primitives.gather_scatter import *
from stagec.primitives.gather_scatter import *
from stagec.primitives.scatter import *
from stagec.primitives.dot import *
from stagec.primitives.precision import *
from stagec.primitives.broadcast import *
from stagec.primitives.reduce import *
from stagec.primitives.cumulative import *
from stagec.primitives.sort import *
from stagec.control.windows import *
from stagec.primitives.window import *
from stagec.primitives.conv_dimensions import *
from stagec.primitives.conv import *
from stagec.control.reduce import *
from stagec.primitives.slicing import slice_ as _slice
from stagec.numpy.promotion import broadcast_shapes as broadcast_shapes
from stagec.control.associative import associative_scan as associative_scan
from stagec.control.cond import *
from stagec.control.loops import *
from stagec.control.scan import map_ as _map, scan as scan, scan_p as scan_p
from stagec.control.collective import *
from stagec.control.exchanges import *
from stagec.control.linear_solve import custom_linear_solve as custom_linear_solve
from stagec.control.platforms import *
from stagec.control.root import custom_root as custom_root
from stagec.runtime.plans import cover as _cover

# Their modules have the builtin functions of these names.
map = _map
slice = _slice
_cover(globals())

if _typing.TYPE_CHECKING:
    from stagec.lax import linalg as linalg


_publish(globals(), "linalg")
