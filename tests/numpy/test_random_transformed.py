"""Functions of `stagec.numpy` on random arrays under jit, vmap and derivatives, which loops and differences check.

Ranks 0 to 4, axes of size 0, broadcasting. More of them: STAGEC_FUZZ=100.
"""

import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from test_random_functions import BINARY, REDUCTIONS, RUNNING, UNARY, Sample

import stagec
import stagec.numpy as snp

EXAMPLES = 40 * int(os.environ.get("STAGEC_FUZZ", "1"))
seeds = given(st.integers(0, 2**32 - 1))
# Without a derivative, or whose derivative differences do not show: they jump.
FLAT = set(
    """
    ceil floor trunc rint sign signbit isnan isinf isfinite logical_not bitwise_count any all argmax argmin
    count_nonzero heaviside fmod copysign ldexp gcd lcm modf
    """.split()
)
DOMAINS = {
    **dict.fromkeys(("arcsin", "asin", "arccos", "acos", "arctanh", "atanh"), (-0.9, 0.9)),
    **dict.fromkeys(("arccosh", "acosh"), (1.2, 4.0)),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "reciprocal"), (0.3, 4.0)),
}


def calls(s, kinds):
    """A random function as one of arrays, its arrays, and its name."""
    family = s.one_of("unary", "binary", "reduction", "running")
    shape, kind = s.shape(), s.one_of(*kinds)
    if family == "unary":
        name = str(s.rng.choice(UNARY))
        return name, getattr(snp, name), [s.array(shape, kind)]
    if family == "binary":
        name = str(s.rng.choice(BINARY))
        return name, getattr(snp, name), [s.array(shape, kind), s.array(s.broadcast(shape), kind)]
    name = str(s.rng.choice((REDUCTIONS if family == "reduction" else RUNNING).split()))
    axis = s.axis(len(shape), False)
    if family == "running" and name in ("sort", "diff", "flip"):
        axis = -1 if axis is None and len(shape) else axis
    options = {} if axis is None else {"axis": axis}
    return name, lambda x: getattr(snp, name)(x, **options), [s.array(shape, kind)]


def attempt(function, arrays):
    """The results as NumPy's arrays; None where the function refuses the dtype or an empty axis."""
    try:
        found = function(*arrays)
    except (TypeError, ValueError):
        return None
    return [np.asarray(v) for v in (found if isinstance(found, (tuple, list)) else [found])]


def close(found, expected, tolerance, message):
    """Parts apart: NumPy compares complex numbers with an infinite part as a whole."""
    for part in (np.real, np.imag) if expected.dtype.kind == "c" else (np.asarray,):
        np.testing.assert_allclose(part(found), part(expected), tolerance, tolerance, err_msg=message)


@seeds
@settings(max_examples=EXAMPLES)
def test_vmap_is_a_loop(seed):
    s = Sample(seed)
    for _ in range(4):
        name, function, arrays = calls(s, ("bool", "int32", "float32", "complex64"))
        size = s.one_of(1, 2, 3)
        mapped = [s.rng.random() < 0.7 for _ in arrays]
        mapped[0] = True
        axes = [int(s.rng.integers(0, a.ndim + 1)) if m else None for a, m in zip(arrays, mapped)]
        stacks = [
            a if d is None else np.stack([s.array(a.shape, a.dtype.name) for _ in range(size)], d)
            for a, d in zip(arrays, axes)
        ]
        rows = [[a if d is None else np.take(a, i, d) for a, d in zip(stacks, axes)] for i in range(size)]
        expected = [attempt(function, row) for row in rows]
        if any(e is None for e in expected):
            continue
        found = attempt(stagec.vmap(function, in_axes=axes), stacks)
        assert found is not None, (name, stacks, axes)
        for column, f in zip(zip(*expected), found, strict=True):
            e = np.stack(column)
            assert (f.shape, f.dtype) == (e.shape, e.dtype), (name, stacks, axes)
            close(f, e, 1e-5, f"{name} {stacks} {axes}")


@seeds
@settings(max_examples=EXAMPLES)
def test_derivatives_are_those_of_differences(seed):
    s = Sample(seed)
    with stagec.enable_x64():
        for _ in range(3):
            name, function, arrays = calls(s, ("float64",))
            if name in FLAT or (name.endswith("std") and arrays[0].size < 2):
                continue
            low, high = DOMAINS.get(name, (-2.0, 2.0))
            arrays = [s.rng.uniform(low, high, a.shape) for a in arrays]
            directions = [s.rng.normal(size=a.shape) for a in arrays]
            if attempt(function, arrays) is None:
                continue
            first = lambda *xs, f=function: f(*xs)[0] if isinstance(f(*xs), tuple) else f(*xs)  # noqa: E731
            value, tangent = stagec.jvp(first, tuple(arrays), tuple(directions))
            if np.asarray(value).dtype != np.float64 or not np.isfinite(np.asarray(value)).all():
                continue
            h = 1e-6
            up, down = (np.asarray(first(*[a + k * h * d for a, d in zip(arrays, directions)])) for k in (1, -1))
            message = f"{name} {arrays} {directions}"
            np.testing.assert_allclose(tangent, (up - down) / (2 * h), 1e-4, 1e-5, err_msg=message)
            ct = s.rng.normal(size=np.shape(value))
            pulled = stagec.vjp(first, *arrays)[1](snp.asarray(ct))
            inner = sum(float(np.sum(np.asarray(p) * d)) for p, d in zip(pulled, directions))
            assert inner == pytest.approx(float(np.sum(ct * np.asarray(tangent))), rel=1e-8, abs=1e-8), message


@pytest.mark.parametrize("seed", range(3 * int(os.environ.get("STAGEC_FUZZ", "1"))))
def test_compiled_results_are_those_outside_of_jit(seed):
    """Forty calls in one program."""
    s, chosen = Sample(seed), []
    while len(chosen) < 40:
        name, function, arrays = calls(s, ("bool", "int8", "int32", "uint8", "float32", "complex64"))
        expected = attempt(function, arrays)
        # Programs with arrays without elements are not compiled.
        if expected is not None and all(a.size for a in [*arrays, *expected]):
            chosen.append((name, function, arrays, expected))

    @stagec.jit
    def run(groups):
        return [f(*arrays) for (_, f, _, _), arrays in zip(chosen, groups)]

    for (name, _, arrays, expected), found in zip(chosen, run([c[2] for c in chosen])):
        for e, f in zip(expected, found if isinstance(found, (tuple, list)) else [found], strict=True):
            f = np.asarray(f)
            assert (f.shape, f.dtype) == (e.shape, e.dtype), (name, arrays)
            close(f, e, 2e-5, f"{name} {arrays}")


def test_complex_numbers_are_updated_and_accumulated():
    """Their kernels are written, or refused: the fixture of all tests finds one that the compiler does not take."""
    x = (np.arange(24.0) + 1j).astype("complex64").reshape(4, 6)

    def run(x):
        return x.at[1:3, 2:4].set(2j), x.at[np.array([0, 2])].add(1j), snp.cumsum(x, 1), snp.cumprod(x[:, :2], 0)

    for found, expected in zip(stagec.jit(run)(x), run(snp.asarray(x))):
        close(np.asarray(found), np.asarray(expected), 1e-4, "")
