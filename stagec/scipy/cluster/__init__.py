"""Clusters of points, by the names of `scipy.cluster`."""

import typing as _typing

from stagec.core.boundary import publish as _publish

if _typing.TYPE_CHECKING:
    from stagec.scipy.cluster import vq as vq


_publish(globals(), "vq")
