"""The largest elements of long rows, by a kernel that keeps no others."""

import os
import random

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest
from guarded import guarded

import stagec
from passes.kernels import selection
from stagec import lax
from stagec.compiler import build, log

# A longer hunt: STAGEC_FUZZ=1000 python -m pytest tests/passes/test_kernel_selection.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
DTYPES = "int8 uint8 int16 uint32 int64 uint64 float16 bfloat16 float32 float64".split()
SHAPES = [(49,), (64, 64), (3, 200), (1, 513), (2, 3, 1030), (5000,), (7, 1, 257), (100, 65), (2, 20_000), (70_000,)]
KS = [1, 2, 5, 16, 17, 40, 300, 513, 2000, 3000]


@pytest.fixture(autouse=True)
def nothing_cached():
    stagec.clear_caches()
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        yield


def compiled(cases):
    """The largest elements of several arrays, compiled directly, of memory that ends at a guarded page."""
    log.clear()
    found = stagec.jit(lambda *arrays: [lax.top_k(x, k) for x, (_, k) in zip(arrays, cases)])(
        *[guarded(x) for x, _ in cases]
    )
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    return found


def check(cases, message=""):
    for (x, k), (values, places) in zip(cases, compiled(cases), strict=True):
        key = x.astype(np.float32) if "float16" in x.dtype.name else x
        # A stable descending order: reversed twice.
        n = x.shape[-1]
        order = n - 1 - np.argsort(key[..., ::-1], -1, kind="stable")[..., ::-1][..., :k]
        what = f"{message} {x.dtype}{list(x.shape)}, {k}"
        np.testing.assert_array_equal(np.asarray(places), order, err_msg=what)
        want = np.take_along_axis(x, order, -1)
        np.testing.assert_array_equal(np.asarray(values).view(f"V{x.itemsize}"), want.view(f"V{x.itemsize}"), what)


def sample(numbers, shape, dtype):
    """Few numbers, each many times, or many; the extremes, both zeros and NaN among them."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = np.array([info.min, info.min + 1, 1, 2, 3, 100, info.max - 1, info.max], dtype)
        many = numbers.integers(info.min, info.max, shape, dtype, endpoint=True)
    else:
        some = np.array([-np.inf, -1.5, -0.0, 0.0, 2, 3.25, 100, np.inf, np.nan]).astype(dtype)
        many = numbers.normal(size=shape).astype(dtype)
    return np.where(numbers.random(shape) < numbers.choice([0.02, 0.5, 1]), numbers.choice(some, shape), many)


@pytest.mark.parametrize("seed", range(FUZZ or 6))
def test_random_selections_are_those_of_numpy(seed, monkeypatch):
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    queue = rng.choice(["local-sync", "local-task"])
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    cases = []
    for _ in range(6):
        shape = rng.choice(SHAPES)
        k = rng.choice([k for k in KS if k <= shape[-1]] + [shape[-1]])
        cases.append((sample(numbers, shape, rng.choice(DTYPES)), k))
    check(cases, str(seed))


@pytest.mark.parametrize("k", [8, 100])
def test_orders_in_which_every_element_is_taken_or_none(k):
    rising = np.arange(20_000, dtype=np.int32)
    check([(rising, k), (rising[::-1].copy(), k), (rising * 0, k), (rising % 7, k), (-(rising % 1000), k)])


def test_which_selections_are_kernels():
    def kernels(k, shape=(3, 5000)):
        spec = stagec.ShapeDtypeStruct(shape, "float32")
        plan = stagec.jit(lambda x: lax.top_k(x, k)).lower(spec).as_text("kernels")
        return [name for name in ("@top_k(", "@sort(") if f"flow.dispatch {name.rstrip('(')}::" in plan]

    assert kernels(5) == kernels(500) == kernels(2000) == ["@top_k("]
    # As much is wanted as is sorted at a time.
    assert kernels(3000) == ["@sort("]
    assert selection.capacity(3000, 5000) is None


def test_the_first_of_all_positions_are_selected():
    x = sample(np.random.default_rng(1), (3, 4, 5000), "float32")

    def function(x):
        _, places = lax.sort((x, lax.broadcasted_iota(np.int32, x.shape, 2)), num_keys=1)
        return places[..., 2:9], places[1, :, :4], places[..., 7]

    plan = stagec.jit(function).lower(x).as_text("kernels")
    assert "flow.dispatch @top_k::" in plan and "flow.dispatch @sort::" not in plan
    expected = np.argsort(x, -1, kind="stable")
    wanted = expected[..., 2:9], expected[1, :, :4], expected[..., 7]
    for found, want in zip(stagec.jit(function)(x), wanted):
        np.testing.assert_array_equal(np.asarray(found), want)


def test_without_kernels_the_elements_are_the_same():
    x = sample(np.random.default_rng(0), (2, 100), "float32")
    with stagec.config.override(cpu_kernels=False):
        values, places = stagec.jit(lambda x: lax.top_k(x, 7))(x)
    expected = lax.top_k(x, 7)
    np.testing.assert_array_equal(np.asarray(places), np.asarray(expected[1]))
    np.testing.assert_array_equal(np.asarray(values), np.asarray(expected[0]))
