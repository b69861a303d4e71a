"""top_k: ties, NaN, zeros, and the order of unsigned numbers."""

from __future__ import annotations

import numpy as np
import pytest
from legalize_harness import Compiled

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
DTYPES |= {f"i{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)}
DTYPES |= {f"ui{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)}


def sample(dtype):
    if np.dtype(dtype).kind == "f":
        rows = [
            [-28, -5, -28, -28, -90, -28, -28],
            [5, np.nan, 5, np.inf, 1, -0.0, 0.0],
            [0.0, -0.0, -1, -1, -2, -np.inf, -3],
        ]
        return np.array(rows, dtype)
    info = np.iinfo(dtype)
    return np.array([[3, info.max, 7, 1, 100, 9, 100], [info.min, 5, 5, info.max, 1, 5, 2], [1] * 7], dtype)


def best(row, count):
    def key(i):
        return (0, 0, i) if row[i] != row[i] else (1, -row[i], i)

    return sorted(range(len(row)), key=key)[:count]


def top_k(name, element, result):
    t, values, indices = f"tensor<3x7x{element}>", f"tensor<3x4x{element}>", "tensor<3x4xi32>"
    return (
        f"func.func @{name}(%a: {t}) -> {(values, indices)[result]} {{ %0, %1 = chlo.top_k(%a, k = 4) : {t} -> "
        f"({values}, {indices}) return %{result} : {(values, indices)[result]} }}"
    )


@pytest.fixture(scope="module")
def compiled():
    return Compiled({f"{e}{r}": top_k(f"top_{e}_{r}", e, r) for e in DTYPES for r in (0, 1)})


@pytest.mark.parametrize("element", DTYPES)
def test_top_k_puts_the_lower_index_first_among_equals(compiled, element):
    x = sample(DTYPES[element])
    expected = [best(row, 4) for row in x.tolist()]
    assert compiled(f"top_{element}_1", x).tolist() == expected
    values = compiled(f"top_{element}_0", x).view(x.dtype)
    np.testing.assert_array_equal(values, np.take_along_axis(x, np.array(expected), 1))
