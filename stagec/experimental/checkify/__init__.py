"""Errors as values: checks in programs, whose first failure is a result, as in `jax.experimental.checkify`."""

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.experimental.checkify.failures import *
from stagec.experimental.checkify.functionalize import checkify as checkify


def __dir__() -> list[str]:
    return _exported(globals())


_publish(globals())
