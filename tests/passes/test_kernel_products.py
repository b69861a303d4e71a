"""Products as kernels: which form each takes, what becomes part of it, and that only its own memory is read."""

import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes import PassOptions, bindings, kernels
from passes.kernels import products
from passes.kernels.processor import Processor
from passes.kernels.products import shapes, tiled
from passes.kernels.products.tiles import tiling
from passes.kernels.writer import spelled_float
from passes.match import constant_of, operations_in
from passes.types import numpy_dtype
from stagec import lax
from stagec.backends import Target
from stagec.backends.cpu import cpu_levels
from stagec.compiler import log
from stagec.compiler.driver import compile_module

WIDE = Processor.of("x86_64", frozenset({"avx2", "fma", "avx512f", "avx512vl", "avx512dq", "avx512bw"}))


def dot(left, right, result, dims, element="f32"):
    """A module with one product."""
    types = [f"tensor<{s}x{element}>" for s in (left, right, result)]
    return f"""func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
      %0 = stablehlo.dot_general %a, %b, {dims} : ({types[0]}, {types[1]}) -> {types[2]} loc("model.py":4:1)
      return %0 : {types[2]}
    }}"""


def product_of(text):
    module = bindings.ir.Module.parse(text, bindings.new_context())
    (op,) = (op for op in operations_in(module.operation) if op.name == "stablehlo.dot_general")
    return shapes.read(op.opview)


def formed(text, *features):
    options = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma", *features}))
    module = bindings.ir.Module.parse(text, bindings.new_context())
    return kernels.form(module, options), module


def test_operands_are_read_in_whatever_order_they_lie():
    product = product_of(dot("4x7x5", "7x4x3", "4x5x3", "batching_dims = [0] x [1], contracting_dims = [1] x [0]"))
    assert (product.m, product.n, product.k, product.batch) == (5, 3, 7, (4,))
    assert (product.lhs.row, product.lhs.column, product.lhs.batch) == (1, 5, (35,))
    assert (product.rhs.row, product.rhs.column, product.rhs.batch) == (12, 1, (3,))


def test_neighbouring_axes_are_one():
    product = product_of(dot("2x3x4x5", "4x5x6", "2x3x6", "contracting_dims = [2, 3] x [0, 1]"))
    assert (product.m, product.n, product.k, product.batch) == (6, 6, 20, ())


def test_axes_that_are_no_matrix_are_put_in_order():
    # The rows are two axes with the sum's between them.
    text = dot("2x4x3", "4x6", "2x3x6", "contracting_dims = [1] x [0]")
    assert product_of(text) is None and formed(text)[0] == {"products": 1}


def test_elements_that_kernels_do_not_add_up_in_stay_with_the_compiler():
    text = dot("4x3", "3x6", "4x6", "contracting_dims = [1] x [0]", "f16").replace("4x6xf16", "4x6xf64")
    assert product_of(text) is None and formed(text)[0] == {}


def test_a_matrix_times_a_vector_is_a_row_times_a_matrix():
    product = product_of(dot("40x30", "30", "40", "contracting_dims = [1] x [0]"))
    assert product.exchanged and (product.m, product.n, product.k) == (1, 40, 30)
    assert (product.rhs.row, product.rhs.column) == (1, 30)


# m, n, k, whether each operand is transposed, and what is expected of the tiling.
FORMS = {
    "unpacked": (100, 100, 100, 0, 0, {"form": "tiled", "pack_lhs": False, "pack_rhs": ""}),
    "panels here": (32, 700, 300, 0, 0, {"pack_lhs": False, "pack_rhs": "here"}),
    "panels ahead": (130, 260, 70, 0, 0, {"pack_lhs": False, "pack_rhs": "ahead"}),
    "rows in one set of the cache": (64, 300, 1024, 0, 0, {"pack_lhs": True, "pack_rhs": "ahead"}),
    "the right one packed": (200, 450, 330, 0, 0, {"pack_lhs": False, "pack_rhs": "ahead"}),
    "the left one turned": (200, 450, 330, 1, 0, {"pack_lhs": True, "pack_rhs": "ahead"}),
    "both turned": (200, 450, 330, 1, 1, {"pack_lhs": True, "pack_rhs": "ahead"}),
    "blocks of the sum": (60, 400, 2100, 0, 1, {"pack_lhs": False, "depth": 512, "prefetch": True}),
    "blocks of both turned": (60, 400, 1100, 1, 1, {"pack_lhs": True, "depth": 512, "prefetch": True}),
    "blocks of panels": (20, 300, 3000, 0, 0, {"pack_rhs": "here", "depth": 1024}),
    "one row": (1, 500, 300, 0, 0, {"form": "tiled", "rows": 1, "depth": 16}),
    "few rows": (7, 333, 301, 0, 0, {"form": "tiled", "rows": 7, "depth": 32}),
    "rows of both": (1, 301, 333, 0, 1, {"form": "dots"}),
    "few columns": (301, 5, 333, 0, 1, {"form": "dots"}),
    "narrow": (33, 9, 50, 0, 0, {"form": "tiled", "vectors": 1}),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_taken(name):
    m, n, k, left, right, expected = FORMS[name]
    operands = [f"{k}x{m}" if left else f"{m}x{k}", f"{n}x{k}" if right else f"{k}x{n}"]
    product = product_of(dot(*operands, f"{m}x{n}", f"contracting_dims = [{1 - left}] x [{right}]"))
    found = tiling(product, WIDE)
    assert {key: getattr(found, key) for key in expected} == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_form_computes_what_numpy_computes(dtype):
    numbers = np.random.default_rng(0)
    arrays = []
    for m, n, k, left, right, _ in FORMS.values():
        arrays.append(numbers.normal(size=(k, m) if left else (m, k)).astype(dtype))
        arrays.append(numbers.normal(size=(n, k) if right else (k, n)).astype(dtype))

    def products(m, *arrays):
        found = []
        for (_, _, _, left, right, _), a, b in zip(FORMS.values(), arrays[::2], arrays[1::2]):
            found.append(m.matmul(a.T if left else a, b.T if right else b))
        return found

    # Beyond each array is memory that nobody may read, and before that NaN.
    with stagec.config.override(enable_x64=True, enable_cache=False):
        compiled = stagec.jit(lambda *arrays: products(snp, *arrays))
        lowered = compiled.lower(*arrays).as_text("kernels")
        results = compiled(*map(guarded, arrays))
    assert "dot_general" not in lowered
    exact = products(np, *(a.astype(np.float64) for a in arrays))
    for name, found, wanted in zip(FORMS, results, exact, strict=True):
        scale = np.abs(wanted).max() * (2e-6 if dtype == "float32" else 1e-14)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=scale, err_msg=name)


@pytest.mark.parametrize("target", ["cpu:aarch64", "cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4"])
def test_the_same_product_compiles_for_every_processor(target):
    text = dot("130x70", "260x70", "130x260", "contracting_dims = [1] x [1]", "f64")
    compiled = compile_module(text, Target.parse(target))
    assert compiled.flags == "direct" and [attempt.ok for attempt in compiled.attempts] == [True]


def test_what_follows_a_product_is_part_of_its_kernel():
    def layer(x, w, bias, residual, scale):
        hidden = lax.dot_general(x, w, (((1,), (0,)), ((), ())))
        return snp.maximum(hidden + bias, 0) * scale + residual, hidden > 0

    shapes_ = [(20, 30), (30, 40), (40,), (20, 40), ()]
    arrays = [np.random.default_rng(i).normal(size=s).astype(np.float32) for i, s in enumerate(shapes_)]
    text = stagec.jit(layer).lower(*arrays).as_text("kernels")
    main = text[text.index("func.func public @main") :]
    assert main.count("flow.dispatch") == 1
    assert not any(f"stablehlo.{name}" in main for name in ("add", "maximum", "multiply", "compare"))
    value, positive = stagec.jit(layer)(*arrays)
    hidden = arrays[0].astype(np.float64) @ arrays[1]
    np.testing.assert_allclose(value, np.maximum(hidden + arrays[2], 0) * arrays[4] + arrays[3], atol=1e-5)
    np.testing.assert_array_equal(positive, hidden > 0)


def followed(operation, m, n, k):
    """A module with one product and an operation on its result, as kernels for AVX-512."""
    x, y, z = (f"tensor<{a}x{b}xf32>" for a, b in ((m, k), (k, n), (m, n)))
    text = f"""func.func @main(%a: {x}, %b: {y}, %c: {z}) -> {z} {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({x}, {y}) -> {z} loc("model.py":4:1)
      %1 = stablehlo.{operation} : {z} loc("model.py":5:1)
      return %1 : {z}
    }}"""
    return str(formed(text, "avx512f", "avx512vl", "avx512dq", "avx512bw")[1])


def test_a_costly_epilogue_is_written_once_for_each_vector_of_a_row():
    """Not once for each of the sums in registers: whole and remaining rows by whole and remaining columns."""
    product = product_of(dot("101x70", "70x203", "101x203", "contracting_dims = [1] x [0]"))
    tile = tiling(product, WIDE)
    assert product.m % tile.rows and product.n % tile.width
    left = -(-(product.n % tile.width) // tile.lanes)
    assert followed("tanh %0", 101, 203, 70).count("math.tanh") == tile.vectors + left


@pytest.mark.parametrize(("m", "n", "k", "memory"), [(256, 256, 16, False), (256, 256, 128, True), (64, 64, 16, True)])
def test_a_cheap_epilogue_of_many_short_sums_stays_in_registers(m, n, k, memory):
    """The way through memory would take a tenth of the time."""
    assert followed("add %0, %c", m, n, k).count("memref.alloca") == memory


def test_the_rows_of_a_matrix_by_a_vector_share_their_epilogue():
    def layer(x, w):
        return snp.tanh(x @ w)

    text = stagec.jit(layer).lower(np.ones((300, 200), "f"), np.ones(200, "f")).as_text("kernels")
    assert text.count("math.tanh") <= 2
    text = stagec.jit(lambda x, w: snp.tanh(x @ w.T)).lower(np.ones((300, 200), "f"), np.ones((5, 200), "f"))
    assert text.as_text("kernels").count("math.tanh") <= 2


def test_what_a_product_keeps_in_memory_is_in_the_plan():
    text = stagec.jit(lambda x, w: snp.tanh(x @ w)).lower(np.ones((64, 64), "f"), np.ones((64, 64), "f"))
    line = text.as_text("kernels").splitlines()[0]
    assert line.startswith("// product 64x64x64, tiled") and " 0 bytes of scratch" not in line


COMPLEX = [
    *(("ij,jk->ik", (5, 6), (6, 4)), ("ij,jk->ki", (5, 6), (6, 4)), ("ij,kj->ik", (70, 40), (90, 40))),
    *(("ij,j->i", (5, 7), (7,)), ("i,ij->j", (5,), (5, 7)), ("ij,jk->ik", (1, 6), (6, 4)), ("i,j->ij", (4,), (5,))),
    *(("ijk,kj->i", (3, 4, 5), (5, 4)), ("ji,ijk->k", (4, 3), (3, 4, 5)), ("ij,ij->", (5, 7), (5, 7))),
    *(("bij,bjk->bik", (2, 5, 7), (2, 7, 3)), ("bij,bj->bi", (2, 5, 7), (2, 7)), ("bij,j->bi", (2, 5, 7), (7,))),
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_complex_numbers_are_products_of_their_parts_or_sums(dtype):
    numbers = np.random.default_rng(0)

    def sample(shape):
        return (numbers.normal(size=shape) + 1j * numbers.normal(size=shape)).astype(dtype)

    pairs = [(sample(left), sample(right)) for _, left, right in COMPLEX]

    def function(pairs):
        return [snp.einsum(text, x, y) for (text, _, _), (x, y) in zip(COMPLEX, pairs)]

    with stagec.enable_x64():
        text = stagec.jit(function).lower(pairs).as_text("kernels")
        found = stagec.jit(function)(pairs)
    assert "dot_general" not in text
    tolerance = 1e-12 if dtype == "complex128" else 1e-4
    for (text, _, _), (x, y), got in zip(COMPLEX, pairs, found, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.einsum(text, x, y), tolerance, tolerance, err_msg=text)


def test_a_matrix_of_complex_numbers_times_a_vector_is_one_kernel():
    text = stagec.jit(lambda x, y: x @ y).lower(np.ones((40, 30), "complex64"), np.ones(30, "complex64"))
    assert text.as_text("kernels").count("a kernel of") == 1


def test_sums_of_integers_are_scaled_in_their_kernel():
    """What a quantized layer does: products of bytes in 32 bits, converted and scaled."""
    numbers = np.random.default_rng(0)
    x, w = (numbers.integers(-100, 100, shape).astype(np.int8) for shape in ((33, 40), (40, 37)))
    scale = np.linspace(0.5, 1, 37).astype(np.float32)

    def layer(x, w, scale):
        sums = lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=np.int32)
        return snp.maximum(sums.astype(np.float32) * scale, 0), sums > 5

    lowered = stagec.jit(layer).lower(x, w, scale)
    assert lowered.as_text("kernels").count("a kernel of") == 1
    sums = x.astype(np.int32) @ w
    found = lowered.compile()(x, w, scale)
    np.testing.assert_array_equal(found[0], np.maximum(sums.astype(np.float32) * scale, 0))
    np.testing.assert_array_equal(found[1], sums > 5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float64_is_rounded_to_a_narrow_type_as_numpy_does(dtype):
    """Once to float16: by way of float32, numbers near the middle of two others would become the wrong one."""
    x = np.random.default_rng(0).normal(size=(50, 1))
    # Slightly above the middle of two neighbours, by less than float32 can tell.
    one = np.ones((1, 40))
    x[:3, 0] = 1 + np.array([2.0**-11, 2.0**-8, -(2.0**-12)]) + 2.0**-40
    x[3:6, 0] = [np.inf, np.nan, 1e300]
    narrow = stagec.jit(lambda x, y: (x @ y).astype(dtype))
    with stagec.enable_x64(), np.errstate(over="ignore"):
        assert narrow.lower(x, one).as_text("kernels").count("stablehlo.convert") == 0
        found, wanted = np.asarray(narrow(x, one)), (x @ one).astype(dtype)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


def test_operands_are_widened_where_they_are_loaded():
    def f(x, w):
        return x @ w.astype(np.float32)

    x = np.random.default_rng(0).normal(size=(20, 70)).astype(np.float32)
    w = np.random.default_rng(1).normal(size=(70, 300)).astype(np.float16)
    # With narrower vectors, the operand is packed and widened first.
    text = stagec.jit(f, target="cpu:x86-64-v4").lower(x, w).as_text("kernels")
    main = text[text.index("func.func public @main") :]
    assert "(%arg0, %arg1) : (tensor<20x70xf32>, tensor<70x300xf16>)" in main
    np.testing.assert_allclose(stagec.jit(f)(x, w), x.astype(np.float64) @ w, atol=1e-4)


def test_the_plan_says_what_became_of_each_product():
    x, w, z = (np.ones(shape, np.float32) for shape in ((20, 30), (30, 40), (20, 20)))

    def wide(z):
        return lax.dot(z.astype(np.float16), z.astype(np.float16), preferred_element_type=np.dtype(np.float64))

    with stagec.enable_x64():
        text = stagec.jit(lambda x, w, z: (x @ w, wide(z))).lower(x, w, z).as_text("kernels")
    lines = [line for line in text.splitlines() if line.startswith("// product")]
    assert [line.split(" (")[0] for line in lines] == ["// product 20x40x30, tiled", "// product"]
    assert "a kernel of" in lines[0] and "stays outside (element types" in lines[1]


def test_what_is_read_before_the_epilogue_ends_stays_outside():
    def f(x, w):
        z = x @ w
        early = snp.sort(z, axis=0)
        return z + early, early

    x, w = (np.random.default_rng(i).normal(size=(24, 24)).astype(np.float32) for i in range(2))
    found, early = stagec.jit(f)(x, w)
    z = x.astype(np.float64) @ w
    np.testing.assert_allclose(found, z + np.sort(z, 0), atol=1e-4)
    np.testing.assert_allclose(early, np.sort(z, 0), atol=1e-4)


def test_products_that_need_each_other_in_loops_and_branches_are_numpys():
    def f(m, repeat, choose, x, w, b):
        first = m.maximum(x @ w + b, 0)
        # Its epilogue needs the other product, which needs the first one's.
        second = (first @ w.T) * 0.1 + first @ w
        third = repeat(3, lambda c: m.tanh(c @ w + second), x)
        return first, second, third, choose(b[0] > 0, lambda: third @ first.T, lambda: (x @ x.T) * 2), -third

    def choose(test, yes, no):
        return yes() if test else no()

    def repeat(count, body, c):
        for _ in range(count):
            c = body(c)
        return c

    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) / 6 for s in ((35, 35), (35, 35), (35,))]
    with stagec.config.override(enable_x64=True, enable_cache=False):
        loop = lambda count, body, c: lax.fori_loop(0, count, lambda _, c: body(c), c)  # noqa: E731
        results = stagec.jit(lambda *arrays: f(snp, loop, lax.cond, *arrays))(*arrays)
    for found, wanted in zip(results, f(np, repeat, choose, *arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


def test_nan_and_infinity_stay_in_their_rows_and_columns():
    a, b = np.ones((21, 37), np.float32), np.ones((37, 45), np.float32)
    a[3, 5], b[7, 44], b[8, 0] = np.nan, np.inf, np.nan
    result = np.asarray(stagec.jit(snp.matmul)(a, b))
    expected = a.astype(np.float64) @ b
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))


def test_bfloat16_is_rounded_after_each_operation():
    bfloat16 = np.dtype("bfloat16")
    x = np.concatenate([np.linspace(-3, 3, 300), [1e38, -1e30, np.inf, -np.inf, np.nan]]).astype(np.float32)[:, None]
    one = np.ones((1, 33), np.float32)

    def f(z):
        narrow = z.astype(bfloat16)
        return narrow.astype(np.float32), narrow * bfloat16.type(1.5) - bfloat16.type(0.3), -z.astype(bfloat16)

    compiled = stagec.jit(lambda x, one: f(x @ one))
    text = compiled.lower(x, one).as_text("kernels")
    assert text[text.index("@main") :].count("stablehlo.") == 0
    for found, wanted in zip(compiled(x, one), f(x * one), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(found).astype(np.float32), wanted.astype(np.float32))


def test_every_operation_of_a_products_kernel_has_the_users_line():
    hits, module = formed(dot("130x70", "70x260", "130x260", "contracting_dims = [1] x [0]"))
    assert hits == {"products": 1}
    inside = [
        op for op in operations_in(module.operation) if op.name.startswith(("vector.", "memref.", "arith.", "scf."))
    ]
    assert len(inside) > 100
    assert {str(op.location) for op in inside} == {'loc("model.py":4:1)'}


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -2.5e-30, 1e30, np.inf, -np.inf, np.nan])
def test_numbers_are_written_so_that_they_are_read_again(element, value):
    number = spelled_float(value, element)
    text = f"func.func @f() {{ %0 = stablehlo.constant dense<{number}> : tensor<1x{element}> return }}"
    module = bindings.ir.Module.parse(text, bindings.new_context())
    (constant,) = (op for op in operations_in(module.operation) if op.name == "stablehlo.constant")
    dtype = numpy_dtype(constant.results[0].type.element_type)
    found = np.asarray(constant_of(constant.results[0])).astype(np.float64)
    with np.errstate(over="ignore"):
        wanted = np.asarray([value]).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(found, wanted)
    assert np.signbit(found[0]) == np.signbit(wanted[0]) or np.isnan(value)


def test_equal_operands_are_packed_by_one_kernel(monkeypatch):
    seen, write = [], products.packing
    monkeypatch.setattr(products, "packing", lambda *args: seen.append(args) or write(*args))
    shapes_ = [(64, 512), (512, 512), (512, 512)]
    x, v, w = (np.random.default_rng(n).normal(size=s).astype(np.float32) / 20 for n, s in enumerate(shapes_))
    lowered = stagec.jit(lambda x, v, w: snp.tanh(x @ v) @ w).lower(x, v, w)
    assert lowered.as_text("kernels").count("flow.dispatch @pack") == 2 and len(seen) == 1
    np.testing.assert_allclose(np.asarray(lowered.compile()(x, v, w)), np.tanh(x @ v) @ w, rtol=1e-4, atol=1e-5)


def test_equal_products_are_written_once_and_others_are_told_apart(monkeypatch):
    seen, write = [], tiled.Tiled.kernel
    monkeypatch.setattr(tiled.Tiled, "kernel", lambda self, location: seen.append(self) or write(self, location))

    def layers(x, w, b):
        for _ in range(3):
            x = snp.tanh(x @ w + b) * 2
        # One with another number, and one whose bias is added along the other axis.
        return snp.tanh(x @ w + b) * 3, snp.tanh(w @ w + b[:, None]) * 2

    x, w = (np.random.default_rng(i).normal(size=(32, 32)).astype(np.float32) / 6 for i in range(2))
    b = np.linspace(-1, 1, 32, dtype=np.float32)
    lowered = stagec.jit(layers).lower(x, w, b)
    assert lowered.as_text("kernels").count("flow.dispatch @product") == 5 and len(seen) == 3
    for expected, actual in zip(layers(x, w, b), lowered.compile()(x, w, b), strict=True):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_axes_in_another_order_are_moved(dtype):
    cases = [
        ("abc,bd->acd", (2, 3, 4), (3, 5)),
        ("abcd,bed->ace", (2, 3, 4, 5), (3, 6, 5)),
        ("abcd,dab->c", (2, 3, 4, 5), (5, 2, 3)),
        ("gabc,gbdc->gad", (2, 3, 4, 5), (2, 4, 6, 5)),
        ("abc,bad->cd", (33, 2, 40), (2, 33, 50)),
    ]
    rng = np.random.default_rng(0)
    pairs = [[(rng.normal(size=shape) * 4).astype(dtype) for shape in shapes] for _, *shapes in cases]
    log.clear()
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        function = stagec.jit(lambda *pairs: [snp.einsum(text, *p) + 1 for (text, *_), p in zip(cases, pairs)])
        found = function(*([guarded(x) for x in pair] for pair in pairs))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for (text, *_), pair, got in zip(cases, pairs, found, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.einsum(text, *pair) + 1, rtol=1e-4, atol=1e-3, err_msg=text)


@pytest.mark.parametrize("level", cpu_levels())
@pytest.mark.parametrize("columns", [129, 161])
def test_a_last_column_of_its_own_leaves_the_next_row_alone(columns, level):
    numbers = np.random.default_rng(columns)
    x, y = (numbers.integers(-100, 100, shape).astype(np.int8) for shape in ((31, 5), (columns, 5)))
    found = stagec.jit(lambda x, y: x @ y.T, target=f"cpu:{level}")(x, y)
    np.testing.assert_array_equal(np.asarray(found), x @ y.T)
