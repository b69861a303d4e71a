"""Products by instructions for narrow elements: where they are used, and that they compute what NumPy computes.

Code for them is compiled on every machine, and run where the processor has them, and Linux lets the process use them.
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
from stagec.compiler.driver import compile_module

UNIT = "cpu:x86-64-v4+amx-bf16+amx-int8+amx-tile"
PAIRS, PLAIN = "cpu:x86-64-v4+avx512bf16+avx512vnni", "cpu:x86-64-v4"


def runs(target, *more):
    missing = sorted(Target.parse(target).missing_here())
    return pytest.param(target, *more, marks=pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)} here"))


FEATURES = Target.parse(UNIT).required_features()
INSTRUCTIONS = {
    **{(UNIT, "bfloat16"): "tdpbf16ps", (UNIT, "int8"): "tdpbssd", (UNIT, "uint8"): "tdpbuud"},
    **{(PAIRS, "bfloat16"): "vdpbf16ps", (PAIRS, "int8"): "vpdpwssd", (PAIRS, "uint8"): "vpdpwssd"},
    **{(PLAIN, "int8"): "vpmaddwd", (PLAIN, "int16"): "vpmaddwd"},
}
# m, n, k, batch, and which operands are transposed.
EXTENTS = [
    *((32, 32, 256, (), 0, 1), (33, 31, 200, (), 1, 0), (9, 100, 151, (), 1, 1), (40, 50, 70, (3,), 0, 0)),
    *((64, 32, 128, (2, 2), 1, 1), (96, 128, 130, (), 0, 0), (32, 40, 1025, (), 0, 1), (97, 121, 132, (), 1, 1)),
]
# Products of so many multiply-adds are of pairs where these do not do twice as much as other instructions.
LARGE = sum(m * n * k >= 1 << 20 for m, n, k, *_ in EXTENTS)


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


def test_pairs_are_multiplied_where_there_is_no_matrix_unit():
    def processor(target):
        return Processor.of("x86_64", Target.parse(target).required_features())

    integers = {"i8", "ui8", "i16"}
    assert not processor("cpu:x86-64-v3").pairs
    assert processor(PLAIN).pairs == integers and processor(PAIRS).pairs == integers | {"bf16"}
    assert processor(UNIT + "+avx512bf16").pairs == integers
    assert tiling(product(64, 64, 64, "i8", "i32"), processor(PLAIN)).form == "pairs"
    # Bytes whose sums are bytes again are as fast without, where a pair takes two instructions.
    assert tiling(product(128, 128, 128, "i8", "i16"), processor(PLAIN)).form == "tiled"
    assert tiling(product(128, 128, 128, "i8", "i16"), processor(PAIRS)).form == "pairs"
    assert tiling(product(128, 128, 128, "i16", "i16"), processor(PAIRS)).form == "tiled"


def test_small_and_thin_products_are_not_brought_into_its_order():
    unit = Processor.of("x86_64", FEATURES)
    assert tiling(product(16, 16, 16), unit).form != "amx"
    assert tiling(product(1, 4096, 4096), unit).form != "amx"
    assert tiling(product(256, 256, 256, "f16"), unit).form == "tiled"


def test_float16_is_widened_by_the_processors_conversion_and_once():
    x = np.ones((256, 256), np.float16)
    lowered = stagec.jit(lambda x: x @ x, target="cpu:x86-64-v3").lower(x)
    assert "vcvtph2ps" in lowered.as_text("asm")
    narrow, wide = (tiling(product(256, 256, 256, e), Processor.of("x86_64", FEATURES)) for e in ("f16", "f32"))
    assert narrow.pack_lhs and not wide.pack_lhs


def test_a_left_operand_of_whole_tiles_is_read_where_it_lies():
    unit = Processor.of("x86_64", FEATURES)
    assert not tiling(product(64, 70, 96), unit).pack_lhs
    assert tiling(product(65, 70, 96), unit).pack_lhs and tiling(product(64, 70, 97), unit).pack_lhs


@pytest.mark.parametrize(("target", "dtype"), INSTRUCTIONS)
def test_a_product_is_compiled_to_its_instruction(target, dtype):
    x = sample((128, 128), dtype, 0)
    f = stagec.jit(lambda x: multiplied(x, x, np.float32 if dtype == "bfloat16" else np.int32), target=target)
    lowered = f.lower(x)
    # Compiled through all phases.
    assert INSTRUCTIONS[target, dtype] in lowered.as_text("asm")
    # And the short one.
    module = lowered.as_text("optimized")
    assert compile_module(module, Target.parse(target)).flags == "direct"


@pytest.mark.parametrize(
    ("target", "dtype", "result"),
    [
        *(runs(t, "bfloat16", "float32") for t in (UNIT, PAIRS)),
        *(runs(t, dtype, "int32") for t in (UNIT, PAIRS) for dtype in ("int8", "uint8")),
        *(runs(t, "int8", "int8") for t in (UNIT, PAIRS)),
        *((runs(PLAIN, dtype, "int32")) for dtype in ("int8", "int16")),
    ],
)
def test_products_of_groups_are_those_of_numpy(dtype, result, target):
    pairs = []
    for number, (m, n, k, batch, left, right) in enumerate(EXTENTS):
        x = sample((*batch, k, m) if left else (*batch, m, k), dtype, number)
        pairs.append((x, sample((*batch, n, k) if right else (*batch, k, n), dtype, 99 - number)))

    def products(m, pairs, multiply):
        for (*_, left, right), (x, y) in zip(EXTENTS, pairs, strict=True):
            yield multiply(m.swapaxes(x, -1, -2) if left else x, m.swapaxes(y, -1, -2) if right else y)

    def multiply(x, y):
        return multiplied(x, y, np.dtype(result))

    f = stagec.jit(lambda pairs: list(products(snp, pairs, multiply)), target=target)
    with stagec.config.override(enable_cache=False):
        text = f.lower(pairs).as_text("kernels")
        # Beyond each array is memory that nobody may read, and before that NaN.
        results = f([(guarded(x), guarded(y)) for x, y in pairs])
    taken = text.count(", amx (") + text.count(", pairs (")
    assert taken == (LARGE if target == PAIRS and result != "int32" else len(EXTENTS))
    wide = np.float64 if dtype == "bfloat16" else np.int64
    for found, wanted in zip(results, products(np, pairs, lambda x, y: x.astype(wide) @ y.astype(wide)), strict=True):
        if dtype == "bfloat16":
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=np.abs(wanted).max() * 2e-6)
        else:
            np.testing.assert_array_equal(np.asarray(found), wanted.astype(result))


@pytest.mark.parametrize("target", [runs(UNIT), runs(PAIRS)])
@pytest.mark.parametrize("queue", ["local-sync", "local-task"])
def test_what_follows_a_product_of_groups_is_part_of_its_kernel(queue, target, monkeypatch):
    monkeypatch.setattr("stagec.compiler.build.choose_driver", lambda graph, target: queue)
    x, w, b = (sample(shape, "bfloat16", i) for i, shape in enumerate(((300, 200), (200, 270), (270,))))
    f = stagec.jit(lambda x, w, b: (snp.maximum(x @ w + b, 0), (x @ w).T), target=target)
    with stagec.config.override(enable_cache=False):
        text = f.lower(x, w, b).as_text("kernels")
        found, turned = f(x, w, b)
    assert ", pairs (" in text or ", amx (" in text
    assert "stablehlo.add" not in text
    exact = x.astype(np.float64) @ w.astype(np.float64)
    wanted = np.maximum(exact + b.astype(np.float64), 0)
    assert found.dtype == np.dtype("bfloat16")
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), wanted, rtol=2e-2, atol=0.1)
    np.testing.assert_allclose(np.asarray(turned).astype(np.float64), exact.T, rtol=2e-2, atol=0.1)


@pytest.mark.parametrize("target", [runs(UNIT), runs(PAIRS)])
def test_nan_and_infinity_of_bfloat16_stay_in_their_rows_and_columns(target):
    x, y = np.ones((170, 190), "bfloat16"), np.ones((190, 50), "bfloat16")
    x[3, 5], y[7, 44], y[8, 0], x[60, 1] = np.nan, np.inf, np.nan, -np.inf
    # What a subnormal number adds is less than a rounding; it may be taken for zero.
    x[5, 5] = 1e-40
    found = np.asarray(stagec.jit(lambda x, y: multiplied(x, y, np.float32), target=target)(x, y))
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
