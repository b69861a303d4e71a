"""Functions of SciPy, on arrays that may be traced."""

from stagec.scipy import special as special
