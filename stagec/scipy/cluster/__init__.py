"""Clusters of points, by the names of `scipy.cluster`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from stagec.core.boundary import publish as _publish

if _TYPE_CHECKING:
    from stagec.scipy.cluster import vq as vq


def __dir__() -> list[str]:
    return ["vq"]


_publish(globals(), "vq")
