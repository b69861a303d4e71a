"""Options for a block: a context manager each, as JAX has them."""

from __future__ import annotations

import contextlib

from stagec.core.config import config


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Turn 64-bit dtypes on (or off) for a block, in this thread.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.enable_x64():
    ...     snp.arange(3.0).dtype
    dtype('float64')
    """
    return config.override(enable_x64=new_val)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Run jitted functions operation by operation for a block, in this thread.

    >>> import stagec
    >>> with stagec.disable_jit():
    ...     stagec.jit(lambda x: x + 1)(1)
    2
    """
    return config.override(disable_jit=disable)


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Raise where a result holds NaN, for a block, in this thread.

    The error names the operation that made it, and the user's line.

    Raises:
      NonFiniteError: in the block, a `FloatingPointError` from a call whose result holds NaN.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.debug_nans():
    ...     stagec.jit(snp.log)(-1.0)
    Traceback (most recent call last):
    stagec.errors.NonFiniteError: log made NaN
    """
    return config.override(debug_nans=new_val)


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Raise where a result holds an infinity, for a block, in this thread.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.debug_infs():
    ...     1 / snp.array([1.0, 0.0])
    Traceback (most recent call last):
    stagec.errors.NonFiniteError: div made an infinity
    """
    return config.override(debug_infs=new_val)


def debug_key_reuse(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Raise where a random key is drawn from twice, for a block, in this thread.

    >>> import stagec
    >>> with stagec.debug_key_reuse():
    ...     stagec.config.debug_key_reuse
    True
    """
    return config.override(debug_key_reuse=new_val)


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Print each compile on standard error, for a block, in this thread.

    >>> import stagec
    >>> with stagec.log_compiles():
    ...     stagec.config.log
    'compile'
    """
    return config.override(log="compile" if new_val else "")


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Allow, warn of, or refuse operations on arrays that differ in their number of axes, for a block, in this thread.

    What stagec's functions do with their arguments is not judged.

    Args:
      new_val: "allow", "warn", or "raise". Arrays without axes are always allowed.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.numpy_rank_promotion("raise"):
    ...     snp.ones((2, 3)) + snp.ones(3)
    Traceback (most recent call last):
    stagec.errors.ShapeError: add: float32[2,3] and float32[3] differ in their number of axes
    """
    return config.override(numpy_rank_promotion=new_val)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Promote or refuse operands that differ in their dtypes, for a block, in this thread.

    What stagec's functions do with their arguments is not judged.

    Args:
      new_val: "standard", or "strict", which refuses them. A Python number is allowed with arrays that can hold it: an
        integer with all dtypes but bool, a float with floating and complex dtypes.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.numpy_dtype_promotion("strict"):
    ...     snp.ones(3) + snp.arange(3)
    Traceback (most recent call last):
    stagec.errors.DtypeError: float32, int32 are not promoted with numpy_dtype_promotion='strict'
    """
    return config.override(numpy_dtype_promotion=new_val)


def default_matmul_precision(new_val: str | None) -> contextlib.AbstractContextManager[None]:
    """Set the precision of products on hardware that offers several, for a block, in this thread.

    Args:
      new_val: "default", "high" or "highest", or another name of JAX's, such as "float32" or "BF16_BF16_F32_X3"; for
        products that have no `precision=` of their own.

    >>> import stagec
    >>> with stagec.default_matmul_precision("highest"):
    ...     stagec.config.default_matmul_precision
    'highest'
    """
    return config.override(default_matmul_precision=new_val)
