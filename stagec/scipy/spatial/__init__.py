"""Rotations, by the names of `scipy.spatial`."""

import typing as _typing

from stagec.core.boundary import publish as _publish

if _typing.TYPE_CHECKING:
    from stagec.scipy.spatial import transform as transform


_publish(globals(), "transform")
