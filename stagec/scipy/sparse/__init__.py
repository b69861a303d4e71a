"""Equations with matrices that are functions, by the names of `scipy.sparse`."""

import typing as _typing

from stagec.core.boundary import publish as _publish

if _typing.TYPE_CHECKING:
    from stagec.scipy.sparse import linalg as linalg


_publish(globals(), "linalg")
