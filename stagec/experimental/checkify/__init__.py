"""Errors as values: checks in programs, whose first failure is a result, as in `jax.experimental.checkify`."""

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.experimental.checkify.failures import (
    Error as Error,
    ErrorCategory as ErrorCategory,
    JaxRuntimeError as JaxRuntimeError,
    all_checks as all_checks,
    automatic_checks as automatic_checks,
    check as check,
    check_error as check_error,
    debug_check as debug_check,
    div_checks as div_checks,
    float_checks as float_checks,
    index_checks as index_checks,
    init_error as init_error,
    nan_checks as nan_checks,
    user_checks as user_checks,
)
from stagec.experimental.checkify.functionalize import checkify as checkify


def __dir__() -> list[str]:
    return _exported(globals())


_publish(globals())
