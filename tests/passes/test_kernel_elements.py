"""Element types in kernels: what is loaded, computed, rounded and stored is what NumPy has, bit for bit."""

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes import bindings, kernels, pipeline
from passes.kernels.elements import ELEMENTS, Element
from passes.pipeline import PassOptions
from passes.types import numpy_dtype
from stagec import lax

NARROW = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
PLAIN = PassOptions(target="cpu", machine="x86_64", features=frozenset())


def everything(dtype):
    """All numbers of a type of 16 bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


def next_to_everything(dtype):
    """Numbers of float32 that lie in the middle of two of a type of 16 bits, and to both sides of it."""
    found = everything(dtype).astype(np.float32)
    found = np.sort(found[np.isfinite(found)])
    with np.errstate(over="ignore"):
        middle = (found[1:].astype(np.float64) + found[:-1]).astype(np.float64) / 2
    middle = middle.astype(np.float32)
    sides = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    large = np.array([65519.9, 65520, 70000, 3.39e38, np.inf, np.nan], np.float32)
    found = np.concatenate([found, middle, *sides, large, -large])
    # Compiled code takes subnormal numbers of float32 for zero.
    return found[~((abs(found) < np.finfo(np.float32).tiny) & (found != 0))]


def normal(x):
    """Subnormal numbers of float32 as zero, which they are in compiled code; and the number next to them."""
    wide = x.astype(np.float32)
    return np.where(abs(wide) <= np.finfo(np.float32).tiny, np.copysign(np.float32(0), wide), wide)


def same(found, wanted):
    """Equal bits, but that NaN is NaN."""
    for f, w in zip(found, wanted, strict=True):
        f, w = np.asarray(f), np.asarray(w)
        assert f.dtype == w.dtype and f.shape == w.shape
        if w.dtype.kind in "fV":
            kept = (normal(w) == w) & ~np.isnan(w)
            f, w = normal(f), normal(w)
            np.testing.assert_array_equal(np.signbit(f)[kept], np.signbit(w)[kept])
        np.testing.assert_array_equal(f, w)


def lines(function, *operands):
    text = stagec.jit(function).lower(*operands).as_text("kernels")
    return [line for line in text.splitlines() if line.startswith("// ")]


def test_an_element_is_known_by_its_name():
    for name, element in ELEMENTS.items():
        assert Element.parse(name) is element
        assert element.size == numpy_dtype(name).itemsize
    assert [Element.parse(n).memory(4) for n in ("i1", "ui8", "f16", "bf16")] == [
        "vector<4xi8>",
        "vector<4xi8>",
        "vector<4xf16>",
        "vector<4xi16>",
    ]
    with pytest.raises(Exception, match="elements of type f8E5M2"):
        Element.parse("f8E5M2")


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64", "cpu:x86-64-v3"])
@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_every_narrow_float_is_widened_and_rounded_as_numpy_does(dtype, target):
    narrow, wide = everything(dtype), next_to_everything(dtype)
    convert = stagec.jit(lambda x, y: (x.astype("float32"), y.astype(dtype), -x), target=target)
    assert convert.lower(narrow, wide).as_text("kernels").count("stablehlo.") == 0
    with np.errstate(over="ignore"):
        same(convert(narrow, wide), (narrow.astype(np.float32), wide.astype(dtype), -narrow))


OPERATIONS = {
    "sum": lambda m, x, y: x + y,
    "difference": lambda m, x, y: (x + y) - x,
    "product": lambda m, x, y: x * y,
    "half": lambda m, x, y: x * x.dtype.type(0.5),
    "quotient": lambda m, x, y: x / y,
    "root": lambda m, x, y: m.sqrt(abs(x)),
    "larger": lambda m, x, y: m.maximum(x, y),
    "smaller": lambda m, x, y: m.minimum(x, -y),
    "chosen": lambda m, x, y: m.where(x > y, x, y),
    "rounded": lambda m, x, y: m.floor(x),
    "to whole numbers": lambda m, x, y: m.clip(x, -99, 99).astype(np.int32),
    "from whole numbers": lambda m, x, y: (m.clip(x, -99, 99).astype(np.int32) * 3001).astype(x.dtype),
    "to booleans": lambda m, x, y: x.astype(bool),
    "from booleans": lambda m, x, y: (x > y).astype(x.dtype),
}


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_operations_on_narrow_floats_are_rounded_one_by_one(dtype):
    numbers = np.random.default_rng(0)
    x, y = (numbers.choice(everything(dtype), 20_001) for _ in range(2))
    x, y = (np.where(np.isfinite(a.astype(np.float32)), a, 1).astype(dtype) for a in (x, y))
    x[:3] = np.array([np.nan, np.inf, -np.inf])
    # A bfloat16 that is subnormal is a subnormal float32.
    x, y = normal(x).astype(dtype), normal(y).astype(dtype)
    y[y == 0] = 1  # NumPy's maximum of two zeros may be either
    function = stagec.jit(lambda x, y: [f(snp, x, y) for f in OPERATIONS.values()])
    assert function.lower(x, y).as_text("kernels").count("stablehlo.") == 0
    outside = snp.array(x), snp.array(y)
    same(function(*outside), [f(snp, *outside) for f in OPERATIONS.values()])


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_the_bits_of_narrow_floats_are_kept(dtype):
    bits = np.arange(1 << 16, dtype=np.uint16)
    back = stagec.jit(lambda u: lax.bitcast_convert_type(lax.bitcast_convert_type(u, dtype) * dtype.type(1), np.uint16))
    numbers = stagec.jit(lambda u: lax.bitcast_convert_type(u + np.uint16(1), dtype))
    same([numbers(bits)], [(bits + np.uint16(1)).view(dtype)])
    keep = ~np.isnan(bits.view(dtype).astype(np.float32)) & (normal(bits.view(dtype)) == bits.view(dtype))
    np.testing.assert_array_equal(np.asarray(back(bits))[keep], bits[keep])


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize("inside", ["loop", "straight"])
def test_sums_of_narrow_floats_are_accumulated_in_float32(dtype, inside):
    """Were each sum rounded, that of ones would stop at 256 or 2048."""
    x = np.ones((300, 400), dtype)
    zero = dtype.type(0)

    def sums(x):
        return [lax.reduce(x, zero, lax.add, axes) for axes in ((0, 1), (0,), (1,))]

    def looped(x):
        return lax.fori_loop(0, 2, lambda i, s: sums(x), sums(x))

    function = {"loop": looped, "straight": sums}[inside]
    assert all("a kernel of" in line for line in lines(function, x))
    wanted = [np.full((), 120_000), np.full(400, 300), np.full(300, 400)]
    with np.errstate(over="ignore"):
        same(stagec.jit(function)(x), [w.astype(dtype) for w in wanted])


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_a_range_of_narrow_floats_is_counted_where_it_is_read(dtype):
    x = np.ones((40, 3000), dtype)
    (line,) = lines(lambda x: x + snp.arange(3000, dtype=dtype), x)
    assert "a kernel of" in line
    found = stagec.jit(lambda x: x + snp.arange(3000, dtype=dtype))(x)
    same([found], [x + np.arange(3000).astype(np.float32).astype(dtype)])


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_loops_over_narrow_floats_round_each_round(dtype):
    numbers = np.random.default_rng(0)
    x, y = (numbers.normal(size=(9, 37)).astype(dtype) for _ in range(2))
    half = dtype.type(0.5)

    def rows(x, y):
        return lax.fori_loop(0, 8, lambda i, x: x.at[i + 1].set(x[i] * y[i] + half), x)

    def number(x, y):
        return lax.while_loop(lambda s: s < 20, lambda s: s + abs(x[0, 0]) + half, half)

    assert len(lines(lambda x, y: (rows(x, y), number(x, y)), x, y)) == 1
    found = stagec.jit(lambda x, y: (rows(x, y), number(x, y)))(x, y)
    wanted = x.copy()
    for i in range(8):
        wanted[i + 1] = wanted[i] * y[i] + half
    s = half
    while s < 20:
        s = s + abs(x[0, 0]) + half
    if dtype == np.float16:
        # Processors with arithmetic in float16 may round a product and a sum once.
        np.testing.assert_allclose(np.asarray(found[0]), wanted, rtol=2e-3, atol=2e-3)
        found, wanted = found[1:], [s]
    else:
        wanted = [wanted, s]
    same(found, [np.asarray(w, dtype) for w in wanted])


def test_kernels_of_narrow_floats_hold_vectors():
    """Of as many lanes as fill a register when they are loaded; in float32 they are in two."""
    module = bindings.ir.Module.parse(
        """func.func @main(%x: tensor<999xbf16>) -> tensor<999xbf16> {
          %0 = stablehlo.add %x, %x : tensor<999xbf16>
          return %0 : tensor<999xbf16>
        }""",
        bindings.new_context(),
    )
    pipeline.run(module, "values", options=PLAIN)
    kernels.form(module, PLAIN, straight_line=True)
    assert "vector.load" in str(module) and "vector<8xi16>" in str(module)
    assert "arith.addf" in str(module) and "vector<8xf32>" in str(module)
