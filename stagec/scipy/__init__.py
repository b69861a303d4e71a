"""Functions of SciPy, on arrays that may be traced. Its modules are imported when they are first used."""

import typing as _typing

from stagec.core.boundary import publish as _publish

if _typing.TYPE_CHECKING:
    from stagec.scipy import (
        cluster as cluster,
        fft as fft,
        integrate as integrate,
        interpolate as interpolate,
        linalg as linalg,
        ndimage as ndimage,
        optimize as optimize,
        signal as signal,
        sparse as sparse,
        spatial as spatial,
        special as special,
        stats as stats,
    )

_MODULES = "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats".split()


_publish(globals(), *_MODULES)
