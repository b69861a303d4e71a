"""Functions of SciPy, on arrays that may be traced."""

from stagec.scipy import fft as fft, special as special
