"""Activations and other functions of neural networks, by the names of `jax.nn`."""

from stagec.nn.functions import (
    celu as celu,
)
from stagec.nn.functions import (
    elu as elu,
)
from stagec.nn.functions import (
    gelu as gelu,
)
from stagec.nn.functions import (
    glu as glu,
)
from stagec.nn.functions import (
    hard_sigmoid as hard_sigmoid,
)
from stagec.nn.functions import (
    hard_silu as hard_silu,
)
from stagec.nn.functions import (
    hard_swish as hard_swish,
)
from stagec.nn.functions import (
    hard_tanh as hard_tanh,
)
from stagec.nn.functions import (
    identity as identity,
)
from stagec.nn.functions import (
    leaky_relu as leaky_relu,
)
from stagec.nn.functions import (
    log1mexp as log1mexp,
)
from stagec.nn.functions import (
    log_sigmoid as log_sigmoid,
)
from stagec.nn.functions import (
    log_softmax as log_softmax,
)
from stagec.nn.functions import (
    logmeanexp as logmeanexp,
)
from stagec.nn.functions import (
    logsumexp as logsumexp,
)
from stagec.nn.functions import (
    mish as mish,
)
from stagec.nn.functions import (
    one_hot as one_hot,
)
from stagec.nn.functions import (
    relu as relu,
)
from stagec.nn.functions import (
    relu6 as relu6,
)
from stagec.nn.functions import (
    selu as selu,
)
from stagec.nn.functions import (
    sigmoid as sigmoid,
)
from stagec.nn.functions import (
    silu as silu,
)
from stagec.nn.functions import (
    soft_sign as soft_sign,
)
from stagec.nn.functions import (
    softmax as softmax,
)
from stagec.nn.functions import (
    softplus as softplus,
)
from stagec.nn.functions import (
    sparse_plus as sparse_plus,
)
from stagec.nn.functions import (
    sparse_sigmoid as sparse_sigmoid,
)
from stagec.nn.functions import (
    squareplus as squareplus,
)
from stagec.nn.functions import (
    standardize as standardize,
)
from stagec.nn.functions import (
    swish as swish,
)
from stagec.nn.functions import (
    tanh as tanh,
)
