"""Signals: convolution, trends and spectra, by the names of `scipy.signal`."""

from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.convolutions import *
from stagec.scipy.spectra import *

_cover(globals())
_publish(globals())
