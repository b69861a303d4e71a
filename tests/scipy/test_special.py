"""`stagec.scipy.special` against SciPy, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec
import stagec.scipy.special as ours
from stagec import errors

special = pytest.importorskip("scipy.special")

POSITIVE = np.array([0.05, 0.3, 0.5, 1.0, 1.5, 2.0, 3.7, 8.0, 20.0])
WIDE = np.array([-20.0, -7.3, -2.5, -1.2, -0.4, 0.0, 0.3, 1.0, 2.5, 9.0, 25.0])
UNIT = np.array([1e-10, 0.003, 0.02, 0.11, 0.3, 0.5, 0.72, 0.93, 0.999])

UNARY = {
    **dict.fromkeys(["gammaln", "gamma", "digamma", "entr", "factorial"], POSITIVE),
    **dict.fromkeys(["erf", "erfc", "expit", "ndtr", "log_ndtr", "i0e", "i1e", "gammasgn"], WIDE),
    **dict.fromkeys(["i0", "i1"], WIDE / 5),
    **dict.fromkeys(["logit", "ndtri"], UNIT),
    "erfinv": 2 * UNIT - 1,
    "erfcinv": np.concatenate([2 * UNIT, [0.0, 1e-30, 2.0]]),
}
TWO = {
    "betaln": (POSITIVE, POSITIVE[::-1]),
    "beta": (POSITIVE, POSITIVE[::-1]),
    "xlogy": (np.append(0.0, POSITIVE), np.append(0.0, POSITIVE[::-1])),
    "xlog1py": (np.append(0.0, POSITIVE), np.append(-1.0, POSITIVE[::-1])),
    "rel_entr": (np.append(0.0, POSITIVE), np.append(1.0, POSITIVE[::-1])),
    "kl_div": (np.append(0.0, POSITIVE), np.append(1.0, POSITIVE[::-1])),
    "polygamma": (np.array([0.0, 1, 2, 3, 4]), np.array([0.5, 1, 2.5, 4, 9])),
    "zeta": (np.array([1.5, 2, 3, 5]), np.array([0.5, 1, 2.5, 4])),
    "poch": (POSITIVE, np.arange(9.0)),
    "boxcox": (POSITIVE, np.linspace(-1, 1, 9)),
    "boxcox1p": (POSITIVE, np.linspace(-1, 1, 9)),
    "huber": (POSITIVE, np.linspace(-8, 8, 9)),
}
CALLS = [(name, (x,)) for name, x in UNARY.items()] + list(TWO.items())


def compare(name: str, actual: Any, args: Any, tolerance: float) -> None:
    expected = getattr(special, name)(*args)
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize(("name", "args"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_values_are_those_of_scipy_in_float32(name: str, args: Any) -> None:
    narrow = [a.astype(np.float32) for a in args]
    compare(name, getattr(ours, name)(*narrow), [a.astype(np.float64) for a in narrow], 3e-5)


@pytest.mark.parametrize(("name", "args"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_values_are_those_of_scipy_in_float64(name: str, args: Any) -> None:
    with stagec.enable_x64():
        loose = 1e-6 if name == "log_ndtr" else 2e-11  # three terms of an asymptotic series
        compare(name, getattr(ours, name)(*args), args, loose)


@pytest.mark.parametrize("x64", [False, True])
def test_compiled_values_are_those_of_scipy(x64: bool) -> None:
    @stagec.jit
    def run(arguments: list[Any]) -> list[Any]:
        return [getattr(ours, name)(*args) for (name, _), args in zip(CALLS, arguments)]

    with stagec.enable_x64(x64):
        kind = np.float64 if x64 else np.float32
        outs = run([[a.astype(kind) for a in args] for _, args in CALLS])
        for (name, args), out in zip(CALLS, outs):
            exact = [a.astype(kind).astype(np.float64) for a in args]
            compare(name, out, exact, 1e-6 if x64 and name == "log_ndtr" else 1e-9 if x64 else 1e-4)


def test_gamma_functions_know_their_poles() -> None:
    x = np.array([0.0, -0.0, -1.0, -2.0, np.inf, -1.5], np.float32)
    np.testing.assert_array_equal(np.asarray(ours.gammaln(x))[:5], [np.inf] * 5)
    np.testing.assert_allclose(np.asarray(ours.gamma(x)), special.gamma(x), rtol=1e-6)


def test_ndtri_gives_the_ends_and_refuses_the_rest() -> None:
    p = np.array([0.0, 1.0, 0.5, -0.1, 1.1, np.nan], np.float32)
    np.testing.assert_allclose(np.asarray(ours.ndtri(p)), special.ndtri(p.astype(np.float64)), atol=1e-7)


def test_huber_takes_infinities_and_a_negative_delta_as_scipy_does() -> None:
    numbers = np.array([-np.inf, -2.0, -0.0, 0.0, 1.0, 3e38, np.inf, np.nan], np.float32)
    delta, r = np.meshgrid(numbers, numbers)
    with np.errstate(over="ignore"):
        expected = special.huber(delta.astype(np.float64), r.astype(np.float64)).astype(np.float32)
    for huber in (ours.huber, stagec.jit(ours.huber)):
        np.testing.assert_allclose(np.asarray(huber(delta, r)), expected, rtol=1e-6)
    assert ours.huber(1, np.zeros((0, 2), np.int32)).shape == (0, 2)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_matches_scipy(axis: Any, keepdims: bool) -> None:
    x = np.array([[1.0, 900.0, -3.0], [-np.inf, 5.0, 2.0]], np.float32)
    weights = np.array([1.0, 0.5, 2.0], np.float32)
    for b in (None, weights):
        expected = special.logsumexp(x, axis=axis, b=b, keepdims=keepdims)
        actual = ours.logsumexp(x, axis=axis, b=b, keepdims=keepdims)
        np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)


def test_logsumexp_of_infinities_and_signs() -> None:
    nothing = np.full(3, -np.inf, np.float32)
    assert float(ours.logsumexp(nothing)) == -np.inf
    assert float(ours.logsumexp(np.array([np.inf, 1], np.float32))) == np.inf
    size, sign = ours.logsumexp(np.zeros(2, np.float32), b=np.array([1.0, -3.0], np.float32), return_sign=True)
    assert (float(sign), round(float(size), 5)) == (-1.0, round(float(np.log(2)), 5))
    masked = ours.logsumexp(np.array([1.0, 50.0], np.float32), where=np.array([True, False]))
    assert float(masked) == 1.0


def test_softmax_is_taken_over_all_elements_by_default() -> None:
    x = np.array([[1.0, 2.0], [3.0, 400.0]], np.float32)
    np.testing.assert_allclose(np.asarray(ours.softmax(x)), special.softmax(x), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ours.log_softmax(x, axis=1)), special.log_softmax(x, axis=1), rtol=1e-6)


def test_multigammaln_matches_scipy() -> None:
    a = np.array([3.0, 4.5, 10.0], np.float32)
    np.testing.assert_allclose(np.asarray(ours.multigammaln(a, 3)), special.multigammaln(a, 3), rtol=1e-5)


def test_complex_numbers_are_refused_with_the_fix() -> None:
    with pytest.raises(errors.DtypeError, match=r"erf does not accept complex64(.|\n)*Fix: "):
        ours.erf(1j)
    with pytest.raises(errors.UnsupportedError, match=r"math\.factorial"):
        ours.factorial(3, exact=True)
