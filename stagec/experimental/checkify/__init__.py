"""Errors as values: checks in programs, whose first failure is a result, as in `jax.experimental.checkify`."""

from stagec.core.boundary import publish as _publish
from stagec.experimental.checkify.failures import *
from stagec.experimental.checkify.functionalize import checkify as checkify

_publish(globals())
