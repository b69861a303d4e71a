"""Functions of SciPy, on arrays that may be traced."""

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.scipy import fft as fft, special as special


def __dir__() -> list[str]:
    return _exported(globals(), "fft", "special")


_publish(globals())
