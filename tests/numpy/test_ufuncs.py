"""NumPy's elementwise functions: NumPy decides values, JAX dtypes, and compiled results are the eager ones."""

from __future__ import annotations

import contextlib
import math
import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64"]

UNARY = [
    "negative",
    "positive",
    "absolute",
    "abs",
    "fabs",
    "sign",
    "square",
    "sqrt",
    "cbrt",
    "reciprocal",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "deg2rad",
    "rad2deg",
    "radians",
    "degrees",
    "sinc",
    "i0",
    "logical_not",
    "bitwise_not",
    "invert",
    "bitwise_count",
    "isnan",
    "isfinite",
    "isinf",
    "isposinf",
    "isneginf",
    "isreal",
    "iscomplex",
    "floor",
    "ceil",
    "trunc",
    "signbit",
    "spacing",
    "frexp",
    "modf",
    "real",
    "imag",
    "conjugate",
    "conj",
    "angle",
    "nan_to_num",
    "rint",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "true_divide",
    "divide",
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "divmod",
    "power",
    "pow",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "heaviside",
    "gcd",
    "lcm",
    "logaddexp",
    "logaddexp2",
    "arctan2",
    "atan2",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "isclose",
    "copysign",
    "nextafter",
    "ldexp",
    "array_equal",
    "array_equiv",
    "allclose",
]

# What JAX does and this library, with NumPy, does not: functions of complex numbers that NumPy refuses.
WIDER_IN_JAX = {("arctan2", "complex64"), ("atan2", "complex64"), ("logaddexp2", "complex64")}


# Here JAX makes a weak type strong on the way.
STRONG_IN_JAX = {"hypot", "heaviside", "logaddexp2"}


def leaves(tree: Any) -> list[Any]:
    return list(tree) if isinstance(tree, (tuple, list)) else [tree]


def sample(dtype: str, seed: int, size: int = 12) -> Any:
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.random(size) < 0.5
    if "int" in dtype:
        return generator.integers(0 if dtype[0] == "u" else -9, 9, size).astype(dtype)
    if dtype == "complex64":
        return (generator.uniform(-2, 2, size) + 1j * generator.uniform(-2, 2, size)).astype(dtype)
    return generator.uniform(-3, 3, size).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def operands(name: str, dtype: str) -> list[Any]:
    if name == "ldexp":
        return [sample(dtype, 1), sample("int32", 2)]
    return [sample(dtype, i) for i in range(1 if name in UNARY else 2)]


def result(module: Any, name: str, args: list[Any]) -> Any:
    """What a function gives, or `None` where it refuses its operands."""
    with contextlib.suppress(TypeError, ValueError), np.errstate(all="ignore"):
        return leaves(getattr(module, name)(*args))
    return None


def assert_close(expected: Any, actual: Any, dtype: Any, where: str) -> None:
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    tolerance = {"bfloat16": 3e-2, "float16": 4e-3}.get(np.dtype(dtype).name, 2e-5)
    np.testing.assert_allclose(
        np.asarray(actual).astype(wide), np.asarray(expected).astype(wide), tolerance, tolerance, err_msg=where
    )


@pytest.mark.parametrize("name", UNARY + BINARY)
def test_results_have_the_dtypes_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")

    def kinds(outs: list[Any]) -> list[Any]:
        weak = name not in STRONG_IN_JAX
        return [(np.dtype(o.dtype).name, weak and o.dtype != np.bool_ and bool(o.weak_type)) for o in outs]

    for dtype in DTYPES:
        if (name, dtype) in WIDER_IN_JAX:
            continue
        args: list[list[Any]] = [operands(name, dtype)]
        if name in BINARY and name != "ldexp" and dtype in ("int8", "uint32", "float16"):
            args += [[args[0][0], 2], [args[0][0], 1.5], [2, args[0][1]], [args[0][0], sample("int32", 3)]]
        for a in args:
            expected = None
            with contextlib.suppress(TypeError, ValueError):
                arrays = [i for i, v in enumerate(a) if isinstance(v, np.ndarray)]

                def call(*values: Any, a: list[Any] = a, arrays: list[int] = arrays) -> Any:
                    full = list(a)
                    for i, v in zip(arrays, values):
                        full[i] = v
                    return leaves(getattr(jax.numpy, name)(*full))

                expected = kinds(jax.eval_shape(call, *[a[i] for i in arrays]))
            outs = result(snp, name, a)
            what = f"{name} of {[v.dtype.name if isinstance(v, np.ndarray) else v for v in a]}"
            assert (what, None if outs is None else kinds(outs)) == (what, expected)


@pytest.mark.parametrize("name", UNARY + BINARY)
def test_values_are_those_of_numpy(name: str) -> None:
    compared = 0
    for dtype in ("bool", "int32", "uint8", "float16", "float32", "complex64"):
        args = operands(name, dtype)
        # JAX's meaning, which differs: integers by zero, integers to negative powers, gaps of bools.
        if dtype in ("int32", "uint8") and name in ("floor_divide", "divmod", "power", "pow"):
            args[1] = np.abs(args[1]) + np.array(1, args[1].dtype)
        if "float" not in dtype and name in ("reciprocal", "spacing"):
            continue
        if dtype == "bool" and name in ("power", "pow", "floor_divide", "divmod", "bitwise_count", "float_power"):
            continue
        ours, expected = result(snp, name, args), result(np, name, args)
        if ours is None or expected is None:
            continue
        for a, e in zip(ours, expected):
            coarse = "float16" if np.asarray(e).dtype == np.float16 else a.dtype
            assert_close(e, a, coarse, f"{name} {dtype}")
            compared += 1
    assert compared


def test_compiled_results_are_the_eager_ones() -> None:
    once = {getattr(snp, name): name for name in UNARY + BINARY}  # some have several names
    calls = [
        (name, operands(name, dtype))
        for name in once.values()
        for dtype in ("int32", "float32", "complex64")
        if result(snp, name, operands(name, dtype)) is not None
    ]
    for start in range(0, len(calls), 60):
        bundle = calls[start : start + 60]

        def run(arguments: list[list[Any]]) -> list[Any]:
            return [getattr(snp, name)(*args) for (name, _), args in zip(bundle, arguments)]  # noqa: B023

        outs = stagec.jit(run)([args for _, args in bundle])
        for (name, args), out in zip(bundle, outs):
            for a, e in zip(leaves(out), leaves(getattr(snp, name)(*args))):
                assert (a.dtype, a.shape) == (e.dtype, e.shape), name
                assert_close(e.numpy(), a.numpy(), a.dtype, name)


def test_mixed_operands_broadcast() -> None:
    x, y = np.arange(3, dtype=np.float32)[:, None], np.arange(4, dtype=np.int32)
    assert_close(x + y, snp.add(x, y), np.float32, "add")
    assert snp.add(x, y).shape == (3, 4)
    assert_close(np.maximum(x, 1), snp.maximum(x, 1), np.float32, "maximum")


def test_shapes_that_do_not_fit_name_the_operands() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        snp.add(np.zeros((3, 4), np.float32), np.zeros(3, np.float32))
    text = str(caught.value)
    assert "add: float32[3,4] and float32[3] do not broadcast (axis -1: 4 vs 3)" in text
    assert "test_ufuncs.py" in text and "Fix: " in text


def test_lists_are_refused_with_the_fix() -> None:
    with pytest.raises(errors.ArgumentTypeError, match=r"snp\.array"):
        snp.add([1, 2], 3)
    with pytest.raises(errors.ArgumentTypeError, match=r"snp\.array"):
        snp.sin([1.0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: snp.subtract(np.True_, np.True_), "use logical_xor"),
        (lambda: snp.bitwise_and(1.5, 2), "bitwise_and does not accept float32"),
        (lambda: snp.floor_divide(1j, 2), "real() and imag()"),
        (lambda: snp.gcd(1.5, 2), "astype(int)"),
        (lambda: snp.power(np.int32(2), -1), "astype(float)"),
        (lambda: snp.ldexp(1.0, 2.0), "astype(int)"),
        (lambda: snp.round(1.5, out=np.zeros(())), "arrays are immutable"),
    ],
)
def test_a_refusal_says_what_to_do(call: Any, text: str) -> None:
    with pytest.raises((errors.DtypeError, errors.UnsupportedError)) as caught:
        call()
    assert text in str(caught.value) and "Fix: " in str(caught.value)


def test_division_of_integers_follows_python() -> None:
    x = np.array([7, -7, 7, -7, 0], np.int32)
    y = np.array([2, 2, -2, -2, 5], np.int32)
    quotient, rest = snp.divmod(x, y)
    assert quotient.tolist() == [3, -4, -4, 3, 0]
    assert rest.tolist() == [1, 1, -1, -1, 0]
    assert snp.fmod(x, y).tolist() == [1, -1, 1, -1, 0]
    assert snp.remainder(x, np.int32(0)).tolist() == [0] * 5


def test_float_floor_division_handles_zero_and_infinity() -> None:
    x = np.array([1.0, -1.0, 0.0, 5.0, 7.5], np.float32)
    y = np.array([0.0, 0.0, 0.0, np.inf, -2.0], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(snp.floor_divide(x, y)), np.floor_divide(x, y))
        np.testing.assert_array_equal(np.asarray(snp.remainder(x, y)), np.remainder(x, y))


def test_remainder_has_a_derivative_where_it_is_zero() -> None:
    slopes = [stagec.grad(snp.remainder, (0, 1))(x, y) for x, y in ((2.0, 1.0), (-2.0, 1.0), (0.0, -1.0))]
    assert [[float(v) for v in pair] for pair in slopes] == [[1, -2], [1, 2], [1, 0]]


def test_maximum_keeps_nan_and_fmax_does_not() -> None:
    x, y = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
    np.testing.assert_array_equal(np.asarray(snp.maximum(x, y)), [np.nan, np.nan, 3])
    np.testing.assert_array_equal(np.asarray(snp.fmax(x, y)), [1, 1, 3])
    np.testing.assert_array_equal(np.asarray(snp.fmin(x, y)), [1, 1, 2])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_frexp_and_ldexp_are_inverse_to_the_last_bit(dtype: Any) -> None:
    info = ml_dtypes.finfo(dtype)
    x = np.array([0.0, -0.0, 1.0, -3.5, 0.1, float(info.max), float(info.tiny), float(info.tiny) / 4, np.inf]).astype(
        dtype
    )
    mantissa, exponent = snp.frexp(x)
    expected_mantissa, expected_exponent = np.frexp(x.astype(np.float64))
    np.testing.assert_array_equal(mantissa.numpy().astype(np.float64), expected_mantissa)
    np.testing.assert_array_equal(np.asarray(exponent)[:-1], expected_exponent[:-1])
    np.testing.assert_array_equal(snp.ldexp(mantissa, exponent).numpy(), x)


def test_ldexp_rounds_once_and_saturates() -> None:
    x = np.array([1.1, 1.1, 1.1, -1.1, 3.0], np.float32)
    e = np.array([-140, -149, 1000, 128, -1000], np.int32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(snp.ldexp(x, e)), np.ldexp(x, e))


@pytest.mark.parametrize("decimals", [-1, 0, 1, 3])
def test_round_matches_numpy(decimals: int) -> None:
    x = np.array([0.5, 1.5, -2.5, 12.345, -98.765, 15.0, 25.0, np.nan, np.inf], np.float32)
    assert_close(np.round(x, decimals), snp.round(x, decimals), np.float32, "round")
    n = np.array([0, 4, 5, 6, 15, 25, -15, -26, 123], np.int32)
    assert snp.round(n, decimals).tolist() == np.round(n, decimals).tolist()


def test_nan_to_num_replaces_what_it_is_told() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 2.0], np.float32)
    np.testing.assert_array_equal(np.asarray(snp.nan_to_num(x)), np.nan_to_num(x))
    np.testing.assert_array_equal(
        np.asarray(snp.nan_to_num(x, nan=7, posinf=1, neginf=-1)), np.nan_to_num(x, nan=7, posinf=1, neginf=-1)
    )


def test_where_promotes_and_broadcasts() -> None:
    condition, x = np.array([[True], [False]]), np.array([1, 2, 3], np.int32)
    out = snp.where(condition, x, 0.5)
    assert (out.dtype, out.shape) == (np.float32, (2, 3))
    np.testing.assert_array_equal(np.asarray(out), np.where(condition, x, 0.5))


def test_select_takes_the_first_condition_that_holds() -> None:
    x = np.arange(6, dtype=np.int32)
    expected = np.select([x < 2, x < 4], [x, x**2], -1)
    assert snp.select([x < 2, x < 4], [x, x**2], -1).tolist() == expected.tolist()
    with pytest.raises(errors.ShapeError, match="2 conditions for 1 choices"):
        snp.select([x < 2, x < 4], [x])


def test_conditions_of_piecewise_may_be_scalars() -> None:
    x = np.arange(-4, 5)
    found = snp.piecewise(x, np.array([False, True, False]), [lambda v: v * 0, lambda v: v * 10, lambda v: v * 100])
    np.testing.assert_array_equal(found, x * 10)


def test_derivatives_of_sinc_are_right_at_zero_and_near_it() -> None:
    f = snp.sinc
    # The coefficients of the power series of sin(pi x) / (pi x), times the factorial.
    for order in range(7):
        wanted = (-1) ** (order // 2) * math.pi**order / (order + 1) if order % 2 == 0 else 0.0
        np.testing.assert_allclose(f(0.0), wanted, rtol=1e-5, atol=1e-6)
        slope = (-1) ** (order // 2 + 1) * math.pi ** (order + 1) / (order + 2) * 1e-4 if order % 2 else 0.0
        np.testing.assert_allclose(f(1e-4), wanted + slope, rtol=1e-4, atol=1e-6)
        f = stagec.grad(f)
    x = np.linspace(-3, 3, 41)
    with stagec.enable_x64():
        angle = np.pi * np.where(x, x, 1)
        slope = np.where(x, (angle * np.cos(angle) - np.sin(angle)) / angle**2 * np.pi, 0)
        np.testing.assert_allclose(stagec.vmap(stagec.grad(snp.sinc))(x), slope, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(stagec.jit(snp.sinc)(x), np.sinc(x), rtol=1e-14, atol=1e-15)


def test_piecewise_matches_numpy() -> None:
    x = np.linspace(-2, 2, 9).astype(np.float32)
    ours = snp.piecewise(x, [x < 0, x > 1], [lambda v: -v, 5.0, lambda v: v * 2])
    expected = np.piecewise(x, [x < 0, x > 1], [lambda v: -v, 5.0, lambda v: v * 2])
    np.testing.assert_array_equal(np.asarray(ours), expected)


def test_clip_takes_one_bound_or_two() -> None:
    x = np.array([-2, 0, 5], np.int32)
    assert snp.clip(x, 0).tolist() == [0, 0, 5]
    assert snp.clip(x, None, 3).tolist() == [-2, 0, 3]
    assert snp.clip(x, min=-1, max=1).tolist() == [-1, 0, 1]


def test_closeness_and_equality_reduce_to_one_bool() -> None:
    x = np.array([1.0, np.nan, np.inf], np.float32)
    assert not bool(snp.allclose(x, x))
    assert bool(snp.allclose(x, x, equal_nan=True))
    assert bool(snp.array_equal(x[2:], x[2:])) and not bool(snp.array_equal(x, x[:2]))
    assert bool(snp.array_equiv(np.ones((2, 3)), np.ones(3))) and not bool(snp.array_equiv(np.ones(2), np.ones(3)))


def test_operators_are_the_functions() -> None:
    x, y = snp.array([5, -3, 8]), snp.array([2, 2, 3])
    assert (x + y).tolist() == [7, -1, 11] and (x - 1).tolist() == [4, -4, 7] and (2 * x).tolist() == [10, -6, 16]
    assert (x // y).tolist() == [2, -2, 2] and (x % y).tolist() == [1, 1, 2] and (x**2).tolist() == [25, 9, 64]
    assert (x / y).dtype == np.float32 and (-x).tolist() == [-5, 3, -8] and abs(x).tolist() == [5, 3, 8]
    assert (x > y).tolist() == [True, False, True] and (~(x > y)).tolist() == [False, True, False]
    assert (x & 1).tolist() == [1, 1, 0] and (x << 1).tolist() == [10, -6, 16] and (x >> 1).tolist() == [2, -2, 4]
    assert divmod(x, y)[1].tolist() == [1, 1, 2] and (x == y).tolist() == [False] * 3


def test_dtype_names_make_arrays() -> None:
    one = snp.float32(1)
    assert (one.dtype, one.shape) == (np.float32, ())
    assert np.dtype(snp.bfloat16) == ml_dtypes.bfloat16 and np.zeros(2, snp.int8).dtype == np.int8
    assert snp.float32 == np.float32 and snp.float32 == np.dtype("float32") and snp.float32 != np.float64
    assert snp.finfo(snp.float32).bits == 32 and snp.iinfo(snp.int8).max == 127
    assert snp.issubdtype(snp.float32, snp.floating) and not snp.issubdtype(snp.int8, snp.floating)


def test_constants_are_those_of_numpy() -> None:
    for name in ("pi", "e", "euler_gamma", "inf", "newaxis"):
        assert getattr(snp, name) == getattr(np, name)
    assert np.isnan(snp.nan)


@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
def test_ldexp_by_exponents_beyond_int32_overflows(dtype: str) -> None:
    with stagec.enable_x64():
        large = np.array(4_000_000_000, dtype)
        assert float(snp.ldexp(1.0, large)) == np.inf
        if dtype == "int64":
            assert float(snp.ldexp(1.0, -large)) == 0


def test_ldexp_broadcasts_both_ways() -> None:
    x, n = np.array([[0.0], [-0.0], [1.5], [np.inf], [np.nan]], np.float32), np.array([-3, 0, 200], np.int32)
    for f in (snp.ldexp, stagec.jit(snp.ldexp)):
        np.testing.assert_array_equal(np.asarray(f(x, n)), np.ldexp(x, n))


def test_angle_of_a_real_number_counts_the_sign_of_zero() -> None:
    x = np.array([0.0, -0.0, -2.0, 3.0, np.nan, -np.inf], np.float32)
    for f in (snp.angle, stagec.jit(snp.angle)):
        np.testing.assert_allclose(np.asarray(f(x)), np.angle(x), rtol=1e-6)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32"])
def test_an_integer_outside_of_the_range_of_a_dtype_compares_by_its_value(compare, dtype):
    x = np.array([0, 1], dtype)
    for number in (-200, -1, 300, 2**40, -(2**40)):
        for f in (lambda v: compare(v, number), lambda v: compare(number, v)):  # noqa: B023
            expected = f(x)
            for way in (f, f, lambda v: stagec.eval_shape(f, v) and stagec.vmap(f)(v)):  # noqa: B023
                found = np.asarray(way(snp.array(x)))
                assert found.dtype == bool and found.tolist() == expected.tolist()


def test_a_traced_comparison_with_an_integer_outside_of_the_range_is_a_constant():
    found = stagec.jit(lambda x: (x == 300, x > -200))(snp.ones(2, "int8"))
    assert [v.tolist() for v in found] == [[False, False], [True, True]]


def test_complex_functions_take_arrays_without_axes() -> None:
    z = 0.25 - 0.5j
    for name in ("expm1", "log1p", "exp2"):
        for _ in range(3):  # the third call runs by a plan
            found = getattr(snp, name)(snp.array(z))
        np.testing.assert_allclose(found, getattr(np, name)(z), rtol=1e-6)
    assert abs(complex(snp.log1p(1e-6 + 0j)) - np.log1p(1e-6)) < 1e-12


@pytest.mark.parametrize("name", ["minimum", "maximum", "fmin", "fmax"])
def test_nan_in_an_imaginary_part_is_nan_whatever_the_real_parts_say(name: str) -> None:
    low, high = np.complex64(-3 - 3j), np.complex64(3 + 1j)
    unknown = np.complex64(complex(0, math.nan))
    for pair in ((low, unknown), (unknown, low), (high, unknown), (unknown, high)):
        found, expected = getattr(snp, name)(*pair), getattr(np, name)(*pair)
        np.testing.assert_array_equal(np.asarray(found), expected, err_msg=str(pair))


def test_the_compiled_divisor_of_the_least_integer_is_positive() -> None:
    least = np.iinfo(np.int32).min
    x, y = np.array([least, 127, least, -12, 0], np.int32), np.array([127, least, 6, 18, -5], np.int32)
    np.testing.assert_array_equal(np.asarray(stagec.jit(snp.gcd)(x, y)), np.gcd(x, y))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_powers_of_one_half_are_powers_and_no_square_roots(dtype):
    values = [4.0, 2.25, np.nan, -3.0] if dtype == "complex64" else [-np.inf, -0.0, 0.0, 4.0, np.nan, -3.0, np.inf]
    x = np.array(values).astype(snp.dtype(dtype))
    expected = np.asarray(stagec.jit(lambda x: x**0.5)(x))
    for found in (snp.array(x) ** 0.5, snp.power(x, snp.full(x.shape, 0.5, x.dtype)), snp.power(x[:, None], 0.5)[:, 0]):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if dtype != "complex64":
            numbers = ~np.isnan(expected)
            assert np.array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def test_compiled_signs_of_subnormal_numbers_are_those_of_zeros():
    x = np.float32([1e-40, -1e-40, 0.0, -0.0, np.nan, 3.0, -np.inf])
    found = stagec.jit(snp.sign)(x)
    np.testing.assert_array_equal(found, np.float32([0, 0, 0, 0, np.nan, 1, -1]))
    assert list(np.signbit(found)) == [False, True, False, True, False, False, True]
