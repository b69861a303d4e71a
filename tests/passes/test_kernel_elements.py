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
from stagec.compiler import log

NARROW = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
PLAIN = PassOptions(machine="x86_64", features=frozenset())


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
    return [line for line in text.splitlines() if line.startswith("// ") and "not in the kernel" not in line]


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


# Complex numbers.

COMPLEX = ["complex64", "complex128"]
PAIRS = {
    "sum": lambda m, x, y: x + y,
    "difference": lambda m, x, y: x - y,
    "product": lambda m, x, y: x * y,
    "quotient": lambda m, x, y: x / y,
    "negated": lambda m, x, y: -x,
    "conjugate": lambda m, x, y: m.conj(x) * y,
    "parts": lambda m, x, y: x.real * y.imag,
    "size": lambda m, x, y: abs(x),
    "turned by a number": lambda m, x, y: x * (0.5 + 2j) - 1j,
    "equal": lambda m, x, y: x == y,
    "different": lambda m, x, y: (x != y) | (y == y),
    "chosen": lambda m, x, y: m.where(x.real > 0, x, y),
    "of numbers": lambda m, x, y: m.where(x.imag > 0, x, m.asarray(2 - 1j, x.dtype)),
    "of real numbers": lambda m, x, y: (x.real.astype(np.float32) + (y.real > 0)).astype(x.dtype),
    "of the other precision": lambda m, x, y: x.astype(np.complex128).astype(np.complex64),
    "powers": lambda m, x, y: m.exp(x) + m.sqrt(y) + m.log(x + 3),
    "reversed": lambda m, x, y: x[:, ::-1] + y[::-1],
    "every second": lambda m, x, y: x[:, ::2] * y[:, : (y.shape[1] + 1) // 2],
    "every third": lambda m, x, y: x[:, 1::3] * 2,
    "turned": lambda m, x, y: (x * 2j).T,
    "side by side": lambda m, x, y: m.concatenate([x, y * 2], 1),
    "padded": lambda m, x, y: m.pad(x, 1),
    "counted": lambda m, x, y: x * m.arange(x.shape[1], dtype=x.dtype),
    "rows taken": lambda m, x, y: x[np.arange(7) % x.shape[0]] * 2,
    "total": lambda m, x, y: x.sum(),
    "total of rows": lambda m, x, y: (x * y).sum(1),
    "total of columns": lambda m, x, y: x.sum(0) * 2j,
    "product of rows": lambda m, x, y: m.prod(x[:, :9], 1),
    "product of columns": lambda m, x, y: m.prod(x[:5], 0),
    "mean": lambda m, x, y: x - x.mean(1, keepdims=True),
}


def pairs(shape, dtype, seed=0):
    numbers = np.random.default_rng(seed)
    found = [(numbers.normal(size=shape) + 1j * numbers.normal(size=shape)).astype(dtype) for _ in range(2)]
    found[0][0, :1] = found[1][0, :1] = 1 + 1j
    return found


@pytest.mark.parametrize("shape", [(40, 77), (3, 5), (7, 1), (300, 64)])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_pairs_in_kernels(dtype, shape):
    x, y = pairs(shape, dtype)
    with stagec.enable_x64(), np.errstate(all="ignore"):
        found = stagec.jit(lambda x, y: [f(snp, x, y) for f in PAIRS.values()])(x, y)
        tolerance = 1e-12 if dtype == "complex128" else 2e-5
        for name, got, want in zip(PAIRS, found, (f(np, x, y) for f in PAIRS.values()), strict=True):
            assert got.shape == np.shape(want), name
            np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=10 * tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["product", "quotient", "chosen", "total of rows", "turned", "powers"])
def test_programs_of_complex_numbers_need_no_other_code(dtype, name):
    with stagec.enable_x64():
        x, y = pairs((40, 77), dtype)
        text = stagec.jit(lambda x, y: PAIRS[name](snp, x, y)).lower(x, y).as_text("kernels")
    assert text.count("stablehlo.") == 0 and text.count("a kernel of") == 1


@pytest.mark.parametrize("dtype", COMPLEX)
def test_infinite_and_undefined_parts_are_those_of_numpy(dtype):
    parts = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    z = (parts[:, None] + 0j).astype(dtype)
    z.imag[:] = 0
    x = np.empty((7, 7), dtype)
    x.real, x.imag = parts[:, None], parts
    y = np.full((7, 7), 3, dtype)
    with stagec.enable_x64(), np.errstate(all="ignore"):
        found = stagec.jit(lambda x, y: (x + y, -x, snp.conj(x), x * y.real, x == x, x.T + 0))(x, y)
        wanted = (x + y, -x, np.conj(x), x * y.real.astype(dtype), x == x, x.T + 0)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_loops_over_complex_numbers_are_one_kernel(dtype):
    x, y = pairs((9, 37), dtype)
    x, y = x * 0.5, y * 0.5

    def rows(x, y):
        return lax.fori_loop(0, 8, lambda i, x: x.at[i + 1].set(x[i] * y[i] + 0.5j), x)

    def columns(x, y):
        return lax.fori_loop(0, 30, lambda i, x: x.at[:, i + 1].set(x[:, i] * 0.5j + y[:, i]), x)

    def number(x, y):
        return lax.while_loop(lambda s: abs(s) < 20, lambda s: s * (1.1 + 0.5j) + x[0, 1], y[0, 0])

    def turns(x, y):
        return lax.fori_loop(
            0, 5, lambda i, z: lax.cond(z[0, 0].real > 0, lambda z: z * 1j, lambda z: z + y + z.sum() * 0.01, z), x
        )

    def product(x, y):
        return lax.fori_loop(0, 3, lambda i, z: (y[:, :9] @ z) * 0.1 + x[0], x)

    loops = (rows, columns, number, turns, product)
    with stagec.enable_x64():
        (line,) = lines(lambda x, y: [loop(x, y) for loop in loops], x, y)
        assert "a kernel of" in line
        found = stagec.jit(lambda x, y: [loop(x, y) for loop in loops])(x, y)
    a, b, c, d, e = x.copy(), x.copy(), y[0, 0], x, x
    for i in range(8):
        a[i + 1] = a[i] * y[i] + 0.5j
    for i in range(30):
        b[:, i + 1] = b[:, i] * 0.5j + y[:, i]
    while abs(c) < 20:
        c = c * (1.1 + 0.5j) + x[0, 1]
    for _ in range(5):
        d = d * 1j if d[0, 0].real > 0 else d + y + d.sum() * 0.01
    for _ in range(3):
        e = (y[:, :9] @ e) * 0.1 + x[0]
    tolerance = 1e-12 if dtype == "complex128" else 1e-4
    for got, want in zip(found, (a, b, c, d, e), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


def test_a_loop_that_updates_complex_rows_copies_no_array():
    x = np.ones((40, 77), np.complex64)
    (line,) = lines(lambda x: lax.fori_loop(0, 39, lambda i, x: x.at[i + 1].set(x[i] * 0.5 + x[i + 1]), x), x)
    assert ", 0 bytes of scratch" in line


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_scatters_and_pads_of_complex_numbers_need_no_kernels(dtype, kernels):
    """The compiler, which fails on them, gets the parts."""
    x, y = pairs((20, 13), dtype)
    rows = np.array([3, 5, 3, 19, 40])

    def function(x, y):
        sorts = lax.fori_loop(0, 2, lambda i, x: (snp.sort(x.real) + 1j * x.imag).at[rows].add(y[:5]), x)
        return x.at[rows].add(y[:5]), x.at[rows].set(1j), x.at[1].set(x[2]), snp.pad(x, 2, constant_values=1j), sorts

    with stagec.enable_x64(), stagec.config.override(cpu_kernels=kernels):
        wanted = [np.asarray(a) for a in function(snp.array(x), snp.array(y))]
        found = stagec.jit(function)(x, y)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_constants_go_the_short_way(dtype):
    """Numbers, arrays of one number, and arrays of several."""
    x, _ = pairs((40, 77), dtype)
    several = np.array([1, 2j, 3 + 1j, -1j], dtype)

    def function(x):
        return x[0, :4] * several, snp.full((30,), 1 + 2j, x.dtype) * x[0, :30], x + (2 - 1j)

    with stagec.enable_x64(), stagec.config.override(enable_cache=False):
        log.clear()
        found = stagec.jit(function)(x)
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for got, want in zip(found, (x[0, :4] * several, (1 + 2j) * x[0, :30], x + (2 - 1j)), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [*COMPLEX, "float16", "bfloat16"])
def test_moves_updates_and_windows_of_such_elements_need_no_other_code(dtype):
    """Operations that are kernels of their own."""
    dtype = np.dtype(NARROW.get(dtype, dtype))
    numbers = np.random.default_rng(0)
    # Sums of these are exact.
    x = numbers.integers(-4, 5, (20, 70)).astype(np.float32).astype(dtype)
    x = x + (x.T.reshape(20, 70) * 1j).astype(dtype) if dtype.kind == "c" else x
    rows, zero = np.array([3, 5, 3, 19, 40]), dtype.type(0)
    functions = [
        lambda x: snp.cumsum(x, 1),
        lambda x: snp.cumsum(x, 0),
        lambda x: lax.cumsum(x, 1, reverse=True),
        lambda x: x.at[rows].add(x[5:10]),
        lambda x: x.at[rows].set(dtype.type(2)),
        lambda x: x.at[:, 2].set(x[:, 5]),
        lambda x: lax.dynamic_update_slice(x, x[5:10, :7], (2, 3)),
        lambda x: lax.reduce_window(x, zero, lax.add, (3, 3), (1, 2), "SAME"),
        lambda x: x.reshape(4, 5, 70).transpose(1, 2, 0) + x[0, 0],
    ]
    with stagec.enable_x64(), stagec.config.override(enable_cache=False):
        log.clear()
        found = stagec.jit(lambda x: [f(x) for f in functions])(x)
        assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
        for got, function in zip(found, functions, strict=True):
            got, want = (np.asarray(a).astype(np.complex128) for a in (got, function(snp.array(x))))
            np.testing.assert_array_equal(got, want)


def reductions(x):
    found = [x.sum(-1), x.max(-1), x.min(-1), x.argmax(-1), (x == x[0]).any(-1), (x * x).sum(-1), (x * x[0]).sum(0)]
    return [*found, (x * x).sum(), x - x.max(-1, keepdims=True), x + x.sum(-1, keepdims=True).astype(x.dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "int64"])
def test_reductions_of_uneven_rows_are_right(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    random = np.random.default_rng(0)
    xs = [
        (3 * random.normal(size=shape)).astype(kind) for shape in [(25, 1023), (8, 130), (3, 257), (1, 4099), (9, 512)]
    ]
    with stagec.enable_x64():
        found = stagec.jit(lambda xs: [reductions(x) for x in xs])(xs)
        expected = [reductions(snp.asarray(x)) for x in xs]
    for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
        want, got = np.asarray(want), np.asarray(got)
        assert want.dtype == got.dtype
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            eps = float(ml_dtypes.finfo(want.dtype).eps)
            wide = want.astype(np.float64)
            bound = 64 * eps * max(1.0, np.abs(wide).max())
            np.testing.assert_allclose(got.astype(np.float64), wide, rtol=64 * eps, atol=bound)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_integers_are_divided_exactly_by_floats(name):
    """All pairs of 8 bits; of the others, neighbours of multiples, where a rounded quotient would be the next one."""
    info, rng = np.iinfo(name), np.random.default_rng(0)
    if info.bits == 8:
        x, y = (v.ravel() for v in np.meshgrid(*[np.arange(info.min, info.max + 1)] * 2))
    else:
        y = np.concatenate([rng.integers(info.min, info.max, 20_000), rng.integers(max(info.min, -50), 50, 20_000)])
        x = y * (rng.integers(info.min, info.max, len(y)) // np.maximum(abs(y), 1)) + rng.integers(-1, 2, len(y))
        ends = [info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max]
        edges = [v.ravel() for v in np.meshgrid([e for e in ends if e >= info.min], ends)]
        x, y = (np.clip(np.concatenate(pair), info.min, info.max) for pair in zip((x, y), edges))
    x, y = x.astype(name), y.astype(name)
    jitted = stagec.jit(lambda x, y: (lax.div(x, y), lax.rem(x, y)))
    assert "arith.divf" in jitted.lower(x, y).as_text("kernels")
    wide, by = x.astype(np.int64), np.where(y == 0, 1, y.astype(np.int64))
    quotient = abs(wide) // abs(by) * np.sign(wide) * np.sign(by)
    same(
        jitted(x, y),
        [np.where(y == 0, -1, quotient).astype(name), np.where(y == 0, wide, wide - quotient * by).astype(name)],
    )


@pytest.mark.parametrize("name", NARROW)
def test_moves_keep_all_bits_those_of_nan_too(name):
    x = everything(NARROW[name])
    moved = stagec.jit(lambda x: (snp.repeat(x, 2), snp.flip(x), x.reshape(256, 256).T))(x)
    for found, wanted in zip(moved, (np.repeat(x, 2), x[::-1], x.reshape(256, 256).T)):
        np.testing.assert_array_equal(np.asarray(found).view(np.uint16), wanted.view(np.uint16))
