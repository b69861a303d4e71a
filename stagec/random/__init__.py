"""Random numbers, by the names of `jax.random` and with the same bits.

Keys are made by `key`, and made into new ones by `split` and `fold_in`; a draw is a function of its key alone.
"""

from stagec.core.boundary import publish as _publish
from stagec.random.choices import *
from stagec.random.continuous import *
from stagec.random.discrete import *
from stagec.random.draws import *
from stagec.random.gammas import *
from stagec.random.keys import *
from stagec.random.matrices import *
from stagec.random.sharing import sharing as _sharing
from stagec.runtime.plans import cover as _cover

_cover(globals(), exactly=True)
for _name in ("bits", "cauchy", "exponential", "gumbel", "laplace", "logistic", "normal", "rademacher", "uniform"):
    globals()[_name] = _sharing(globals()[_name], in_numpy=_name in ("bits", "uniform"))
_publish(globals())
