"""Cases of the Fourier transform: a matrix, factors, a convolution."""

from __future__ import annotations

import numpy as np

from cases import Case, sample

CASES = [
    Case(
        "fft",
        [sample((2, n), np.dtype(dtype), n)],
        {"inverse": inverse},
        ulps=64,
        atol=2e-5 if "64" in dtype else 1e-12,
    )
    for dtype in ("complex64", "complex128")
    for n, inverse in ((5, False), (36, True), (131, False))
]
