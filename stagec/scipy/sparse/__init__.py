"""Equations with matrices that are functions, by the names of `scipy.sparse`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from stagec.core.boundary import publish as _publish

if _TYPE_CHECKING:
    from stagec.scipy.sparse import linalg as linalg


def __dir__() -> list[str]:
    return ["linalg"]


_publish(globals(), "linalg")
