"""Printing of arrays. The options are NumPy's own, so they apply to NumPy's arrays, too."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from stagec.numpy.arguments import array_argument
from stagec.typing import ArrayLike

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]


def _options(max_line_width: int | None, precision: int | None, suppress_small: bool | None) -> dict[str, Any]:
    given = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    return {name: value for name, value in given.items() if value is not None}


def array_repr(
    arr: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return `repr` of an array with the given printing options.

    >>> import stagec.numpy as snp
    >>> snp.array_repr(snp.array([1.23456]), precision=2)
    'Array([1.23], dtype=float32)'
    """
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return repr(array_argument(arr, "array_repr"))


def array_str(
    a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return `str` of an array with the given printing options.

    >>> import stagec.numpy as snp
    >>> snp.array_str(snp.array([1.23456]), precision=2)
    '[1.23]'
    """
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return str(array_argument(a, "array_str"))


def get_printoptions() -> dict[str, Any]:
    """Return the current printing options.

    >>> get_printoptions()["precision"]
    8
    """
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Change printing options, as `numpy.set_printoptions` does: precision, threshold, linewidth and others.

    >>> set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """Printing options for a `with` block.

    >>> import stagec.numpy as snp
    >>> with snp.printoptions(precision=2):
    ...     print(snp.array([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)
