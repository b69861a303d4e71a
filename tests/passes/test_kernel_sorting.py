"""Sorts by comparison are kernels: rows of any length and place, several operands, any plain comparison."""

import os
import random

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.straight import merging, shares
from passes.legalize import sort_network
from stagec import lax
from stagec.compiler import build, log
from stagec.primitives import sort

# A longer hunt: STAGEC_FUZZ=1000 python -m pytest tests/passes/test_kernel_sorting.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
DTYPES = "int8 uint8 int16 uint32 int64 uint64 float16 bfloat16 float32 float64 bool complex64".split()
SHAPES = [
    *((10,), (48,), (9, 33), (33, 10), (40, 17), (3, 48, 5), (2, 25, 31), (1, 20, 3), (5, 4, 13), (70, 12), (16, 64)),
    *((100,), (3, 257), (129, 4), (2, 1000, 3), (7, 8), (2, 2), (1025, 1), (20_000,), (3, 9_000)),
]


@pytest.fixture(autouse=True)
def by_comparison(monkeypatch):
    """Long rows too, which are lowered to a radix sort otherwise."""
    stagec.clear_caches()
    monkeypatch.setattr(sort_network, "LONG", 1 << 30)
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        yield
    stagec.clear_caches()


def compiled(function, *arrays):
    """What a function returns, compiled directly, of memory that ends at a guarded page."""
    log.clear()
    found = stagec.jit(function)(*map(guarded, arrays))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    return stagec.tree.map(np.asarray, found)


def sample(numbers, shape, dtype):
    """Few numbers, each many times, with both zeros, NaN and the infinities among them."""
    if dtype == "bool":
        return numbers.random(shape) < 0.5
    if dtype == "complex64":
        return (numbers.integers(-2, 3, shape) - 1j * numbers.integers(0, 3, shape)).astype(dtype)
    if "f" in dtype:
        some = np.array([-np.inf, -1.5, -0.0, 0.0, 2, 3.25, 100, np.inf, np.nan])
        return numbers.choice(some, shape).astype(dtype)
    info = np.iinfo(dtype)
    return numbers.choice(np.array([info.min, info.min + 1, 1, 2, 3, 100, info.max], dtype), shape)


def bits(x):
    return np.ascontiguousarray(x).view(f"V{x.dtype.itemsize}")


@pytest.mark.parametrize("seed", range(FUZZ or 8))
def test_random_sorts_are_those_of_numpy(seed, monkeypatch):
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    monkeypatch.setattr(shares, "SHARE", rng.choice([1, 100, 20_000]))
    monkeypatch.setattr(merging, "_STACK", rng.choice([1, 128 << 10]))
    queue = rng.choice(["local-sync", "local-task"])
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    cases = []
    for _ in range(4):
        shape = rng.choice(SHAPES)
        arrays = [sample(numbers, shape, rng.choice(DTYPES)) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
        arrays.append(np.arange(arrays[0].size, dtype=rng.choice(["int32", "float64"])).reshape(shape))
        axis = rng.choice([d for d, n in enumerate(shape) if n > 1])
        cases.append((arrays, axis, rng.randint(1, len(arrays) - 1), rng.randrange(4)))

    def function(groups):
        found = []
        for arrays, (_, axis, keys, form) in zip(groups, cases):
            if form == 0:
                found.append((snp.sort(arrays[0], axis), snp.argsort(arrays[0], axis)))
            elif form == 1:
                found.append(lax.sort(arrays, axis, num_keys=keys)[-1:])
            else:
                found.append(lax.sort(arrays, axis, num_keys=keys))
        return found

    found = compiled(lambda *flat: function(_grouped(flat, cases)), *[x for arrays, *_ in cases for x in arrays])
    for number, ((arrays, axis, keys, form), got) in enumerate(zip(cases, found, strict=True)):
        message = f"{seed}, sort {number}: {[(x.dtype, x.shape) for x in arrays]}, axis {axis}, {keys} keys, {form}"
        for one, other in zip(got, _expected(arrays, axis, keys, form), strict=True):
            assert (bits(one) == bits(np.asarray(other))).all(), message


def _grouped(flat, cases):
    left = iter(flat)
    return [[next(left) for _ in arrays] for arrays, *_ in cases]


def _keys(x):
    return [x.real, x.imag] if x.dtype.kind == "c" else [x.astype(np.float32) if "float16" in x.dtype.name else x]


def _expected(arrays, axis, keys, form):
    """In the order of NumPy's stable sort, bit by bit."""
    order = np.lexsort([key for x in arrays[: 1 if form == 0 else keys] for key in _keys(x)][::-1], axis)
    moved = [np.take_along_axis(x, order, axis) for x in arrays]
    return (moved[0], order) if form == 0 else moved[-1:] if form == 1 else moved


@pytest.mark.parametrize("n", [7, 30, 300])
def test_any_comparison_sorts(n, monkeypatch):
    """The squares decide, the largest first; those that are equal stay in their order."""
    x = np.random.default_rng(0).integers(-9, 10, (20, n)).astype(np.int32)

    def by_squares(xs, ys):
        (x,), (y,) = xs, ys
        return lax.gt(lax.mul(x, x), lax.mul(y, y))

    monkeypatch.setattr(sort, "sorts_before", by_squares)
    # Without a position as the last key: the kernel itself keeps the order.
    (found,) = compiled(lambda x: [lax.sort(x, 1, is_stable=False)], x)
    np.testing.assert_array_equal(found, np.take_along_axis(x, np.argsort(-x * x, 1, kind="stable"), 1))


def test_memory_of_long_rows_is_not_on_the_stack():
    x = np.random.default_rng(0).normal(size=(2, 40_000)).astype(np.float32)
    lowered = stagec.jit(lambda x: snp.sort(x, 1)).lower(x).as_text("kernels")
    plan = lowered.partition("module")[0]
    assert "bytes of scratch" in plan and int(plan.split(", ")[1].split()[0]) >= 2 * 2 * 40_000 * 4, plan
    (found,) = compiled(lambda x: [snp.sort(x, 1)], x)
    np.testing.assert_array_equal(found, np.sort(x, 1))


def test_sorts_in_a_loop_that_stays_are_kernels():
    x = np.random.default_rng(0).normal(size=(40, 20)).astype(np.float32)

    def function(x):
        return lax.fori_loop(0, 3, lambda i, x: snp.sort(x, 1) * -0.5, x)

    assert "sort (" in stagec.jit(function).lower(x).as_text("kernels").partition("module")[0]
    expected = x
    for _ in range(3):
        expected = np.sort(expected, 1) * np.float32(-0.5)
    np.testing.assert_array_equal(np.asarray(stagec.jit(function)(x)), expected)
