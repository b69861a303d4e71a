"""Stand-ins for `jax.experimental.checkify`: names that libraries look up when they are imported.

Calling one of the functions raises `UnsupportedError`.
"""

from __future__ import annotations

import enum

from stagec.compat.refusals import refused

_WHY = "stagec has no checks that a transformation collects"
_FIX = "leave it out; stagec.debug_nans() and stagec.debug_infs() raise where a result is not finite"


class ErrorCategory(enum.Enum):
    """What a check looks for."""

    NAN = enum.auto()
    DIV = enum.auto()
    OOB = enum.auto()
    USER = enum.auto()


class Error:
    """The errors that checks found, for annotations and `isinstance`; it has no instances."""


class JaxRuntimeError(ValueError):
    """The exception of a failed check in JAX, for `except`; nothing raises it here."""


user_checks = frozenset({ErrorCategory.USER})
nan_checks = frozenset({ErrorCategory.NAN})
div_checks = frozenset({ErrorCategory.DIV})
index_checks = frozenset({ErrorCategory.OOB})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks
check = refused("jax.experimental.checkify.check", _WHY, _FIX)
check_error = refused("jax.experimental.checkify.check_error", _WHY, _FIX)
checkify = refused("jax.experimental.checkify.checkify", _WHY, _FIX)
debug_check = refused("jax.experimental.checkify.debug_check", _WHY, _FIX)
