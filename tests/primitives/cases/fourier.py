"""Cases of the Fourier transforms: a matrix, factors, a convolution; even and odd numbers of real elements."""

from __future__ import annotations

import numpy as np

from cases import Case, sample

CASES = [
    *(
        Case(
            "fft",
            [sample((2, n, 3)[: 3 - (axis == -1)], np.dtype(dtype), n)],
            {"inverse": inverse, "axis": axis},
            ulps=64,
            atol=2e-5 if "64" in dtype else 1e-12,
        )
        for dtype in ("complex64", "complex128")
        for n, inverse, axis in ((5, False, -1), (36, True, -1), (131, False, -1), (36, True, -2))
    ),
    *(
        Case("rfft", [sample((2, n), np.dtype(dtype), n)], ulps=64, atol=2e-5 if dtype == "float32" else 1e-12)
        for dtype in ("float32", "float64")
        for n in (1, 2, 9, 40)
    ),
    *(
        Case(
            "irfft",
            [sample((2, n // 2 + 1), np.dtype(dtype), n)],
            {"n": n},
            ulps=64,
            atol=2e-5 if dtype == "complex64" else 1e-12,
        )
        for dtype in ("complex64", "complex128")
        for n in (1, 2, 9, 40)
    ),
]
