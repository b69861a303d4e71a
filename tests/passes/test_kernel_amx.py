"""Products by the matrix unit of x86 processors: where it is used, and that it computes what NumPy computes.

Code for it is compiled on every machine, and run where Linux lets the process use it.
"""

import ml_dtypes  # noqa: F401  (names bfloat16)
import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.processor import Processor
from passes.kernels.products.shapes import Matrix, Product
from passes.kernels.products.tiles import tiling
from stagec import lax
from stagec.backends import Target, cpu, host

UNIT = "cpu:x86-64-v4+amx-bf16+amx-int8+amx-tile"
HERE = not Target.parse(UNIT).missing_here()
runs = pytest.mark.skipif(not HERE, reason="the processor has no AMX, or Linux does not let this process use it")
FEATURES = Target.parse(UNIT).required_features()
INSTRUCTIONS = {
    ("bfloat16", "bfloat16"): "tdpbf16ps",
    ("int8", "int8"): "tdpbssd",
    ("uint8", "uint8"): "tdpbuud",
}
# m, n, k, batch.
EXTENTS = [
    *((64, 64, 64, ()), (32, 32, 256, ()), (33, 31, 200, ()), (9, 100, 151, ()), (130, 17, 77, ())),
    *((40, 50, 70, (3,)), (64, 32, 128, (2, 2)), (300, 290, 16, ()), (32, 40, 1025, ())),
]


def product(m, n, k, element="bf16", computed="f32"):
    return Product(m, n, k, (), Matrix(element, m * k, k, 1), Matrix(element, n * k, n, 1), computed, element)


def multiplied(x, y, result=None):
    batch = tuple(range(x.ndim - 2))
    return lax.dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (batch, batch)), preferred_element_type=result)


def sample(shape, dtype, seed):
    numbers = np.random.default_rng(seed)
    if dtype == "bfloat16":
        return numbers.normal(size=shape).astype(dtype)
    return numbers.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def test_the_targets_features_decide_about_the_unit():
    wanted = product(64, 64, 64)
    assert tiling(wanted, Processor.of("x86_64", FEATURES)).form == "amx"
    for level in ("x86-64", "x86-64-v3", "x86-64-v4"):
        assert not Processor.of("x86_64", cpu._level_features(level)).matrices
    # The tiles alone multiply nothing, and what multiplies them is of no use without.
    assert not Processor.of("x86_64", FEATURES - {"amx_tile"}).matrices
    assert Processor.of("x86_64", FEATURES - {"amx_bf16"}).matrices == {"i8", "ui8"}
    assert tiling(wanted, Processor.of("x86_64", FEATURES - {"amx_bf16"})).form == "tiled"


def test_small_and_thin_products_are_not_brought_into_its_order():
    unit = Processor.of("x86_64", FEATURES)
    assert tiling(product(16, 16, 16), unit).form != "amx"
    assert tiling(product(1, 4096, 4096), unit).form != "amx"
    assert tiling(product(256, 256, 256, "f16"), unit).form == "tiled"


def test_a_left_operand_of_whole_tiles_is_read_where_it_lies():
    unit = Processor.of("x86_64", FEATURES)
    assert not tiling(product(64, 70, 96), unit).pack_lhs
    assert tiling(product(65, 70, 96), unit).pack_lhs and tiling(product(64, 70, 97), unit).pack_lhs


@pytest.mark.parametrize("pair", INSTRUCTIONS)
def test_a_product_is_compiled_to_its_instruction(pair):
    x, y = (sample((64, 64), dtype, 0) for dtype in pair)
    f = stagec.jit(lambda x, y: multiplied(x, y, np.float32 if pair[0] == "bfloat16" else np.int32), target=UNIT)
    lowered = f.lower(x, y)
    assert f"llvm.x86.{INSTRUCTIONS[pair]}" in lowered.as_text("kernels")
    # The long way through the compiler takes it too.
    assert INSTRUCTIONS[pair] in lowered.as_text("asm")


@runs
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize(
    ("dtype", "result"), [("bfloat16", "float32"), ("int8", "int32"), ("int8", "int8"), ("uint8", "int32")]
)
def test_products_of_the_unit_are_those_of_numpy(dtype, result, turned):
    pairs = []
    for number, (m, n, k, batch) in enumerate(EXTENTS):
        x = sample((*batch, k, m) if "a" in turned else (*batch, m, k), dtype, number)
        pairs.append((x, sample((*batch, n, k) if "b" in turned else (*batch, k, n), dtype, -number - 1 & 99)))

    def products(m, pairs, multiply):
        for x, y in pairs:
            x = m.swapaxes(x, -1, -2) if "a" in turned else x
            yield multiply(x, m.swapaxes(y, -1, -2) if "b" in turned else y)

    f = stagec.jit(
        lambda pairs: list(products(snp, pairs, lambda x, y: multiplied(x, y, np.dtype(result)))), target=UNIT
    )
    with stagec.config.override(enable_cache=False):
        text = f.lower(pairs).as_text("kernels")
        # Beyond each array is memory that nobody may read, and before that NaN.
        results = f([(guarded(x), guarded(y)) for x, y in pairs])
    assert text.count(", amx") == len(EXTENTS) and "dot_general" not in text
    wide = np.float64 if dtype == "bfloat16" else np.int64
    for found, wanted in zip(results, products(np, pairs, lambda x, y: x.astype(wide) @ y.astype(wide)), strict=True):
        if dtype == "bfloat16":
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=np.abs(wanted).max() * 2e-6)
        else:
            np.testing.assert_array_equal(np.asarray(found), wanted.astype(result))


@runs
@pytest.mark.parametrize("queue", ["local-sync", "local-task"])
def test_what_follows_a_product_of_the_unit_is_part_of_its_kernel(queue, monkeypatch):
    monkeypatch.setattr("stagec.compiler.build.choose_driver", lambda graph, target: queue)
    x, w, b = (sample(shape, "bfloat16", i) for i, shape in enumerate(((300, 200), (200, 270), (270,))))
    f = stagec.jit(lambda x, w, b: (snp.maximum(x @ w + b, 0), (x @ w).T), target=UNIT)
    with stagec.config.override(enable_cache=False):
        text = f.lower(x, w, b).as_text("kernels")
        found, turned = f(x, w, b)
    assert "amx" in text and "stablehlo.add" not in text
    exact = x.astype(np.float64) @ w.astype(np.float64)
    wanted = np.maximum(exact + b.astype(np.float64), 0)
    assert found.dtype == np.dtype("bfloat16")
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), wanted, rtol=2e-2, atol=0.1)
    np.testing.assert_allclose(np.asarray(turned).astype(np.float64), exact.T, rtol=2e-2, atol=0.1)


@runs
def test_nan_and_infinity_of_bfloat16_stay_in_their_rows_and_columns():
    x, y = np.ones((70, 90), "bfloat16"), np.ones((90, 50), "bfloat16")
    x[3, 5], y[7, 44], y[8, 0], x[60, 1] = np.nan, np.inf, np.nan, -np.inf
    # What a subnormal number adds is less than a rounding; it may be taken for zero.
    x[5, 5] = 1e-40
    found = np.asarray(stagec.jit(lambda x, y: multiplied(x, y, np.float32), target=UNIT)(x, y))
    with np.errstate(invalid="ignore"):
        wanted = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_array_equal(found, wanted)


def test_a_process_that_linux_does_not_let_use_the_unit_has_none(monkeypatch):
    flags = {"flags": "avx512f amx_tile amx_bf16 amx_int8"}
    monkeypatch.setattr(host, "_cpuinfo", lambda: flags)
    plain = host.cpu_features.__wrapped__
    monkeypatch.setattr(host, "_may_use_amx", lambda: False)
    assert plain() == {"avx512f"}
    monkeypatch.setattr(host, "_may_use_amx", lambda: True)
    assert plain() == set(flags["flags"].split())
