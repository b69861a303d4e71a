"""In kernels, what is chosen in rare cases is computed in a branch, and is right in each element of a vector."""

import math

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import rare
from passes.kernels.instructions import CLOSE, OPEN
from stagec import lax

LARGE = [1e9, -1e10, 16367173 * 2.0**72, 1e20]
PROGRAMS = {
    "sin": snp.sin,
    "tan": snp.tan,
    "sin and cos": lambda x: (snp.sin(x), snp.cos(x) + 1),
    "two angles": lambda x: snp.sin(x) * snp.sin(2 * x),
    "sum": lambda x: snp.sin(x).sum(),
    "rows": lambda x: (snp.cos(x) * x).sum(-1),
    "transposed": lambda x: snp.sin(x.T) + 1,
    "complex": lambda x: snp.exp(lax.complex(x, x)),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, v: snp.sin(v) * 1e10, x),
    "number": lambda x: lax.fori_loop(0, 3, lambda i, v: snp.sin(v), x[0, 0]),
    "gradient": stagec.grad(lambda x: snp.sin(x * x).sum()),
}


@pytest.fixture
def counted(monkeypatch):
    """For each kernel, how many branches were made, and how many comparisons still choose between values."""
    found = []
    branched = rare.branched

    def noted(body):
        after = branched(body)
        bounds = {i.results[0] for i in body if i.name == "arith.constant" and rare._is_bound(i)}
        if bounds:
            comparisons = {i.results[0] for i in after if i.name == "arith.cmpf" and bounds & set(i.operands)}
            regions, choosing = [], 0
            for i in after:
                closed = regions.pop() if i.name in CLOSE else ""
                if i.name == "arith.select" and i.operands[0] in comparisons:
                    choosing += not any(name.startswith("%rare") for name in regions)
                if i.name in OPEN:
                    regions.append(closed or "".join(i.results[:1]))
            found.append((sum(i.name == "scf.if" for i in after) - sum(i.name == "scf.if" for i in body), choosing))
        return after

    monkeypatch.setattr(rare, "branched", noted)
    return found


@pytest.mark.parametrize("dtype, target", [("float32", "cpu:x86-64-v4"), ("float64", "cpu:x86-64-v2")])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_kernel_computes_both_ways(counted, name, dtype, target):
    with stagec.enable_x64():
        stagec.jit(PROGRAMS[name], target=target).lower(snp.ones((40, 50), dtype)).as_text("kernels")
    assert counted and all(made and not left for made, left in counted), counted


def test_a_kernel_without_angles_is_not_searched(counted):
    stagec.jit(lambda x: snp.exp(x) + 1).lower(snp.ones(100)).as_text("kernels")
    assert counted == []


@pytest.mark.parametrize("size", [1, 7, 16, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_and_small_angles_stand_side_by_side(size, dtype):
    rng = np.random.default_rng(size)
    x = rng.uniform(-10, 10, size)
    x = np.where(rng.uniform(size=size) < 0.2, rng.choice(LARGE, size), x).astype(dtype)
    x[-1] = dtype(LARGE[1])
    with stagec.enable_x64():
        actual = stagec.jit(lambda x: (snp.sin(x), snp.cos(x), snp.tan(x)))(x)
    for name, found in zip(("sin", "cos", "tan"), actual):
        expected = np.array([getattr(math, name)(v) for v in x.tolist()])
        np.testing.assert_allclose(np.asarray(found), expected, rtol=4 * float(np.finfo(dtype).eps))


def test_angles_become_large_within_a_loop():
    def run(x):
        return lax.fori_loop(0, 4, lambda i, s: (s[0] * 3e4, s[1] + snp.sin(s[0])), (x, snp.zeros_like(x)))[1]

    with stagec.enable_x64():
        x = np.linspace(0.5, 1.5, 19)
        actual = np.asarray(stagec.jit(run)(x))
    expected = np.zeros(19)
    for _ in range(4):
        expected += [math.sin(v) for v in x]
        x = x * 3e4
    np.testing.assert_allclose(actual, expected, rtol=1e-14, atol=1e-15)


def test_a_choice_by_the_same_number_in_a_program_is_right():
    bound = float(np.nextafter(np.float32(2.0**25), np.float32(0)))

    def chosen(x):
        other = snp.exp(-abs(x) * 1e-9) * 3 + 1
        return snp.where(abs(x) < bound, x, other), other.sum(), snp.where(abs(x) < bound, other, x)

    x = np.array([1, 1e9, -3e9, 4, 5, 6, 7, bound, -bound, 1e3] * 5, np.float32)
    other = np.exp(-abs(x) * np.float32(1e-9)) * 3 + 1
    expected = np.where(abs(x) < bound, x, other), other.sum(), np.where(abs(x) < bound, other, x)
    for found, wanted in zip(stagec.jit(chosen)(x), expected):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)
