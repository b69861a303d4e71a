"""Functions of float16 are rounded once: of every number, on each kind of device."""

from __future__ import annotations

import numpy as np
import pytest
from platforms import first_device

import stagec
import stagec.numpy as snp

NAMES = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cos", "cosh", "exp", "exp2", "expm1", "log"),
    *("log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)
NUMBERS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
NUMBERS = NUMBERS[np.isfinite(NUMBERS)]


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_functions_of_halves_are_rounded_once(device: str) -> None:
    found = stagec.jit(lambda x: [getattr(snp, name)(x) for name in NAMES], device=first_device(device))(NUMBERS)
    wrong = {}
    for name, ours in zip(NAMES, map(np.asarray, found)):
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(NUMBERS.astype(np.float64))
            rounded = exact.astype(np.float16)
            # A few float32 roundings may decide between two neighbors that are equally far away.
            units = abs(ours - exact) / np.spacing(abs(rounded)).astype(np.float64)
        inside = np.isfinite(rounded) & (abs(exact) < 65504)
        if (error := float(units[inside].max())) > 0.51:
            wrong[name] = error
        np.testing.assert_array_equal(ours[np.isnan(exact)], np.nan)
    assert wrong == {}
