"""Small draws outside `jit` share programs: an element depends on the key and its position alone.

So the draw of one shape is the beginning of any larger one, and a program for a power of two serves all smaller sizes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.dtypes import KEY
from stagec.runtime.array import Array

# The smallest size that is drawn by a program, and the largest that is drawn from a larger one.
_LEAST, _MOST = 16, 1 << 12
_KEY = ShapedArray.of((), KEY)
_PLAIN = (type(None), str, float, type, np.dtype)


def sharing(draw: Callable[..., Array], in_numpy: bool) -> Callable[..., Array]:
    """`draw`, a function of a key, a shape, and parameters that are the same for all elements.

    Args:
      in_numpy: whether NumPy computes small draws of the default dtype to the same bits.
    """

    @functools.wraps(draw)
    def call(key: Any, shape: Any = (), *args: Any, **kwargs: Any) -> Array:
        size = _size(key, shape)
        if not 0 < size <= _MOST or not all([isinstance(v, _PLAIN) for v in (*args, *kwargs.values())]):  # noqa: C419
            return draw(key, shape, *args, **kwargs)
        least = 1 if in_numpy and not args and not kwargs else _LEAST
        whole = draw(key, (max(least, 1 << (size - 1).bit_length()),), *args, **kwargs)
        if whole.signature is not whole.aval:  # on another device
            return draw(key, shape, *args, **kwargs)
        made = whole.evaluated()[:size].reshape(shape)
        return Array.of(made, whole.aval.update(shape=made.shape))

    return call


def _size(key: Any, shape: Any) -> int:
    """The number of elements, for a key and a shape of known numbers outside `jit`; else 0."""
    if state.trace is not None or config.watches_calls() or config.disable_jit:
        return 0
    if type(key) is not Array or key.aval != _KEY:
        return 0
    return math.prod(shape) if type(shape) is tuple and all([type(n) is int for n in shape]) else 0  # noqa: C419
