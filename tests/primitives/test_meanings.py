"""A primitive that is one operation means what the operation means, outside `jit` and in the interpreter of passes."""

import itertools

import numpy as np
import pytest

import stagec.lax  # noqa: F401 (it has all primitives)
from passes import operations
from passes.numeric import special
from stagec import StagecError
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive

FLOATS = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-3, -700, 6e4, np.inf, -np.inf, np.nan, 0.3, 1e-310, 20.25])
VALUES = {
    "float64": FLOATS,
    "float32": FLOATS,
    "int32": np.array([0, 1, -1, 5, -7, 2**31 - 1, -(2**31), 33]),
    "uint8": np.array([0, 1, 2, 7, 100, 127, 128, 255]),
    "bool": np.array([0, 1]),
    "complex64": FLOATS[:10] * (1 + 0.5j),
}
# Lowered by functions, which add what the compiler needs.
LOWERED = {
    "div": "stablehlo.divide",
    "rem": "stablehlo.remainder",
    "sign": "stablehlo.sign",
    "shift_left": "stablehlo.shift_left",
    "shift_right_logical": "stablehlo.shift_right_logical",
    "shift_right_arithmetic": "stablehlo.shift_right_arithmetic",
    "polygamma": "chlo.polygamma",
    "zeta": "chlo.zeta",
    "bessel_i1e": "chlo.bessel_i1e",
}
# Outside `jit` these are NumPy's own functions, or differ in steps of the type: the interpreter's are rounded once,
# and IEEE's extremes tell zeros apart.
NUMPYS = {"cbrt", "expm1", "log1p", "logistic", "max", "min", "rsqrt"}


def pairs():
    rows = {name: p.lower for name, p in Primitive.registry.items() if isinstance(p.lower, str)} | LOWERED
    return sorted((name, row) for name, row in rows.items() if operations.of(row).numpy and name not in NUMPYS)


@pytest.mark.parametrize(("name", "operation"), pairs())
def test_a_primitive_is_evaluated_as_its_operation(name, operation):
    primitive, row = Primitive.registry[name], operations.of(operation)
    compared = 0
    for dtype, values in VALUES.items():
        count = len(row.operands.split())
        try:
            primitive.shape(*[ShapedArray.of((), np.dtype(dtype))] * count)
        except StagecError:
            continue
        columns = np.array(list(itertools.product(values, repeat=count)), dtype).T
        with np.errstate(all="ignore"):
            expected, actual = np.asarray(primitive.eval(*columns)), np.asarray(row.numpy(*columns))
        assert expected.dtype == actual.dtype
        np.testing.assert_array_equal(expected, actual)
        if expected.dtype.kind == "f":
            signs = np.signbit(expected) == np.signbit(actual)
            assert (signs | np.isnan(expected)).all()
        compared += 1
    assert compared


def test_special_functions_have_the_digits_of_float64():
    """Values with 17 digits, by summation with 60."""
    close = {"rtol": 2e-15, "atol": 0}
    np.testing.assert_allclose(special.polygamma(9.0, 1.198690588609575), 59391.43090294148, **close)
    np.testing.assert_allclose(special.bessel_i1e(13.075454519181381), 0.10708149423847406, **close)
    np.testing.assert_allclose(special.bessel_e(0, 13.075454519181381), 0.11143117237620514, **close)
    np.testing.assert_allclose(
        special.erf_inv(np.array([1e-5, 0.5, 0.999])),
        [8.8622692547595945e-6, 0.47693627620446987, 2.3267537655135245],
        **close,
    )
    np.testing.assert_allclose(
        special.lgamma(np.array([0.9998, 2.0002])), [0.00011547603486754889, 8.4569765162235595e-5], **close
    )
    with np.errstate(all="ignore"):
        edges = special.digamma(np.array([1e300, -1e-320]))
    np.testing.assert_allclose(edges, [690.77552789821371, np.inf], **close)
