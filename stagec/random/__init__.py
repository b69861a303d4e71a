"""Random numbers, by the names of `jax.random` and with the same bits.

Keys are made by `key`, and made into new ones by `split` and `fold_in`; a draw is a function of its key alone.
"""

from stagec.core.boundary import publish as _publish, retry_with as _retry_with
from stagec.core.exports import exported as _exported
from stagec.random.choices import (
    categorical as categorical,
    choice as choice,
    multinomial as multinomial,
    permutation as permutation,
)
from stagec.random.continuous import (
    cauchy as cauchy,
    double_sided_maxwell as double_sided_maxwell,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
    lognormal as lognormal,
    maxwell as maxwell,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)
from stagec.random.discrete import (
    bernoulli as bernoulli,
    binomial as binomial,
    geometric as geometric,
    poisson as poisson,
    rademacher as rademacher,
    randint as randint,
)
from stagec.random.draws import (
    bits as bits,
    normal as normal,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from stagec.random.gammas import (
    ball as ball,
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    f as f,
    gamma as gamma,
    generalized_normal as generalized_normal,
    loggamma as loggamma,
    t as t,
)
from stagec.random.keys import (
    PRNGKey as PRNGKey,
    PRNGKeyArray as PRNGKeyArray,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)
from stagec.random.matrices import (
    multivariate_normal as multivariate_normal,
    orthogonal as orthogonal,
)
from stagec.random.moving import on_each_word as _on_each_word
from stagec.random.sharing import sharing as _sharing
from stagec.runtime.plans import cover as _cover

_retry_with(_on_each_word)


def __dir__() -> list[str]:
    return _exported(globals())


_cover(globals(), exactly=True)
for _name in ("bits", "cauchy", "exponential", "gumbel", "laplace", "logistic", "normal", "rademacher", "uniform"):
    globals()[_name] = _sharing(globals()[_name])
_publish(globals())
