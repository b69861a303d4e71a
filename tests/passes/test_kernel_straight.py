"""Straight-line programs as kernels: what becomes one kernel, what stays outside, and that nothing else changes."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from guarded import guarded
from pass_helpers import RUNNING_SUMS

import stagec
import stagec.numpy as snp
from passes import bindings, kernels, pipeline
from passes.kernels import regions
from passes.kernels.elements import RefusedError
from passes.kernels.record import Recorder
from passes.kernels.straight import shares, writing
from passes.match import functions, operations_in
from passes.pipeline import PassOptions
from passes.simplify.constants import computed
from stagec import lax
from stagec.compiler import log

OPTIONS = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))
# Spread over workgroups, in vectors with and without a rest, and in a few elements.
SHAPES = [(3, 50, 70), (7, 64), (5,)]


def formed(text):
    """A module of StableHLO with kernels."""
    module = bindings.ir.Module.parse(text, bindings.new_context())
    pipeline.run(module, "values", options=OPTIONS)
    kernels.form(module, OPTIONS, straight_line=True)
    return module


def comments(function, *operands):
    """The comments at the head of the module with kernels."""
    lines = stagec.jit(function).lower(*operands).as_text("kernels").splitlines()
    return [line.removeprefix("// ") for line in lines if line.startswith("// ")]


def plan(function, *operands):
    """The kind of each kernel, or why there is none."""
    return [line for line in comments(function, *operands) if "not in the kernel" not in line]


def apart(function, *operands):
    """Why kernels are not one with those that they read from."""
    lines = [line for line in comments(function, *operands) if "not in the kernel" in line]
    return [line.partition("that it reads from (")[2].removesuffix(")") for line in lines]


def kinds(function, *operands):
    return [
        line.split()[0] if "a kernel of" in line else line.rpartition(": ")[2] for line in plan(function, *operands)
    ]


def spec(*shape, dtype="float32"):
    return stagec.ShapeDtypeStruct(shape, dtype)


def softmax(x):
    e = snp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / snp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def entropy(x):
    p = softmax(x)
    return -(p * snp.log(p + 1e-9)).sum(-1)


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("elements", lambda x: 1.05 * snp.where(x > 0, x, 1.67 * snp.exp(x) - 1.67)),
        ("elements", lambda x: (x + 1, snp.tanh(x + 1), x > 0)),
        ("elements", lambda x: snp.concatenate([x * 2, snp.pad(x[1:], ((0, 1), (0, 0)))], 1)),
        ("rows", softmax),
        ("rows", normalized),
        ("rows", lambda x: (x.sum(1), x.max(1), snp.argmax(x, 1), x.std(1))),
        ("rows", lambda x: stagec.nn.logsumexp(x, -1) - x[:, 0]),
        ("columns", lambda x: x.std(0)),
        ("columns", lambda x: (x - x.mean(0)) / x.std(0)),
        ("sums", lambda x: (x.sum(), x.max(), snp.sqrt((x * x).sum()))),
    ],
)
def test_what_shares_a_space_is_one_kernel(kind, function):
    assert kinds(function, spec(40, 70)) == [kind]


def test_workgroups_share_a_sum_and_one_combines_their_parts():
    text = stagec.jit(lambda x: x.sum() + (x * x).sum()).lower(spec(1000, 1000)).as_text("kernels")
    assert text.count("a kernel of") == 2
    assert "stream.dispatch.workgroup.id" in text and "tensor<1000x1000xf32>) -> (tensor<" in text


def test_workgroups_have_shares_that_are_fixed_when_compiling():
    """Sums are the same in every run, on either queue and with any number of threads."""
    x = np.random.default_rng(0).normal(size=(700, 900)).astype(np.float32)
    found = [np.asarray(stagec.jit(lambda x: (x.sum(), x.sum(0), x.sum(1)))(x)[0]) for _ in range(3)]
    assert len({float(y) for y in found}) == 1


def test_a_large_reduction_is_not_read_by_the_kernel_that_computes_it():
    def centered(x):
        return x - x.mean()

    assert kinds(centered, spec(1000, 1000)) == ["sums", "sums", "elements"]
    assert apart(centered, spec(1000, 1000))[0] == "it combines the partial results of all workgroups"


def test_rows_that_are_too_long_for_the_stack_are_kept_in_memory():
    (line,) = plan(softmax, spec(3, 50_000))
    assert ", 0 bytes of scratch" in line
    (line,) = plan(softmax, spec(3, 5_000))
    assert ", 20000 bytes of scratch" in line


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("kind", "function", "shape"),
    [
        ("rows", lambda x: snp.exp(x[:, ::9]).sum(1), (40, 3600)),
        ("rows", lambda x: snp.tanh(x.T[::3]).sum(1), (300, 310)),
        ("columns", lambda x: stagec.nn.logsumexp(x[..., ::5], 1), (16, 30, 311)),
    ],
)
def test_elements_that_lie_apart_are_gathered_where_they_are_reduced(kind, function, shape, dtype):
    x = snp.asarray(np.random.default_rng(0).normal(size=shape), dtype)
    assert kind in kinds(function, x) and not any("stays outside" in line for line in plan(function, x))
    with stagec.disable_jit():
        expected = function(x)
    found = stagec.jit(function)(x)
    few = float(snp.finfo(dtype).eps) * 8
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=few, atol=few * 40)


def test_transposes_are_turned_in_registers_with_what_reads_them():
    text = stagec.jit(lambda x, y: snp.tanh(x.T) + y).lower(spec(400, 300), spec(300, 400)).as_text("kernels")
    assert text.count("a kernel of") == 1
    assert "vector.shuffle" in text and "vector.from_elements" not in text


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "float64"])
def test_axes_come_in_any_order(dtype):
    """Whole squares and what is left over, of every width, on memory that ends at a guarded page."""
    with stagec.enable_x64():
        orders = list(itertools.permutations(range(4)))
        arrays = [guarded(np.arange(n * 35 * 3 * 2 * 18).reshape(n, 35, 6, 18).astype(dtype)) for n in (1, 5, 16)]
        found = stagec.jit(lambda arrays: [[x.transpose(order) for order in orders] for x in arrays])(arrays)
        for x, results in zip(arrays, found, strict=True):
            for order, result in zip(orders, results, strict=True):
                np.testing.assert_array_equal(np.asarray(result), x.transpose(order), err_msg=f"{order}")


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_every_second_third_and_fourth_element_is_read_in_vectors_that_end_with_the_last(dtype):
    with stagec.enable_x64():
        arrays = [guarded(np.arange(n).astype(dtype)) for n in (37, 100, 1000)]
        steps = (2, 3, 4, 5)
        function = stagec.jit(lambda arrays: [[x[start::step] for step in steps for start in (0, 1)] for x in arrays])
        assert "vector.shuffle" in function.lower(arrays).as_text("kernels")
        for x, results in zip(arrays, function(arrays), strict=True):
            expected = [x[start::step] for step in steps for start in (0, 1)]
            for want, result in zip(expected, results, strict=True):
                np.testing.assert_array_equal(np.asarray(result), want)


def test_rows_of_a_transposed_array_may_be_taken():
    """Where a square begins is read from memory."""
    x, i = np.arange(6 * 40 * 30, dtype=np.float32).reshape(6, 40, 30), np.array([5, 0, 9, -1, -9], np.int32)
    found = stagec.jit(lambda x, i: x.transpose(0, 2, 1)[i])(guarded(x), i)
    np.testing.assert_array_equal(np.asarray(found), x.transpose(0, 2, 1)[[5, 0, 5, 5, 0]])


def test_squares_are_not_written_over_what_they_read():
    """What is left over is computed twice, so an argument that was given up is still needed."""
    x, y = (np.random.default_rng(n).normal(size=(70, 70)).astype(np.float32) for n in range(2))
    found = stagec.jit(lambda x, y: x.T + y, donate_argnums=1)(snp.array(x), snp.array(y))
    np.testing.assert_array_equal(np.asarray(found), x.T + y)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: (x[::-1], x[3:, 2:], snp.pad(x, 1), x.T, x[0]),
        lambda x, i: snp.pad(x, 2).T @ snp.pad(x, 2)[::-1],
        lambda x, i: (x[i], x[:, i], lax.dynamic_slice(x, (i[0], i[1]), (3, 4))),
        lambda x, i: snp.split(x, 2),
    ],
)
def test_programs_of_moves_take_the_short_way(function):
    log.clear()
    with stagec.config.override(enable_cache=False):
        stagec.jit(function).lower(spec(20, 30), spec(5, dtype="int32")).compile()
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]


def test_a_large_product_that_stays_keeps_kernels_away():
    reason = "stays outside (a large product, for which the compiler packs operands)"

    def function(z, x):
        # Kernels have no code for such a sum.
        return lax.dot(z, z, preferred_element_type=np.dtype(np.float64)), x + 1

    with stagec.enable_x64():
        assert reason in kinds(function, spec(200, 200, dtype="float16"), spec(40, 70))
        assert "elements" in kinds(function, spec(20, 20, dtype="float16"), spec(40, 70))


def test_what_has_effects_keeps_its_order():
    module = formed("""
      func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %a = stablehlo.custom_call @first(%x) {has_side_effect = true} : (tensor<64x64xf32>) -> tensor<64x64xf32>
        %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
          : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
        %b = stablehlo.custom_call @second(%s) {has_side_effect = true} : (tensor<64xf32>) -> tensor<64xf32>
        %w = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
        %y = stablehlo.add %x, %w : tensor<64x64xf32>
        %c = stablehlo.custom_call @third(%y) {has_side_effect = true} : (tensor<64x64xf32>) -> tensor<64x64xf32>
        %z = stablehlo.multiply %c, %a : tensor<64x64xf32>
        return %z, %b : tensor<64x64xf32>, tensor<64xf32>
      }""")
    assert module.operation.verify()
    calls = [op for op in operations_in(module.operation) if op.name in ("stablehlo.custom_call", "flow.dispatch")]
    names = [str(op.attributes["call_target_name"]).strip('"') for op in calls if op.name == "stablehlo.custom_call"]
    assert names == ["first", "second", "third"] and len(calls) == 6


def test_a_result_is_still_written_over_a_donated_argument():
    def step(w, m, g):
        m = m * 0.9 + g
        return w - 0.1 * snp.tanh(m), m

    def text(function):
        return stagec.jit(function, donate_argnums=0).lower(*[spec(300, 70)] * 3).as_text("kernels")

    assert "iree.abi.output = 0" in text(step) and "flow.dispatch" in text(step)
    # Not where an element of it is needed after another one is written.
    assert "iree.abi.output" not in text(lambda w, m, g: (w[::-1] + m, g))
    w, m, g = (np.random.default_rng(i).normal(size=(300, 70)).astype(np.float32) for i in range(3))
    found = stagec.jit(step, donate_argnums=0)(snp.array(w), m, g)
    np.testing.assert_allclose(found[0], w - 0.1 * np.tanh(m * 0.9 + g), rtol=1e-5, atol=1e-5)


def test_operations_in_a_kernel_keep_the_users_lines():
    text = stagec.jit(lambda x: softmax(x)).lower(spec(40, 70)).as_text("stablehlo", locations=True)
    module = bindings.ir.Module.parse(text, bindings.new_context())
    pipeline.run(module, "values", options=OPTIONS)
    assert kernels.form(module, OPTIONS, straight_line=True) == {"straight": 1}
    found = [op for op in operations_in(module.operation) if op.name in ("arith.divf", "math.exp", "arith.maximumf")]
    assert found and all("test_kernel_straight.py" in str(op.location) for op in found)


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:aarch64"])
def test_every_kind_of_cpu_has_kernels(target):
    with stagec.config.override(target=target):
        lowered = stagec.jit(lambda x: (softmax(x), x.std(0), x.sum())).lower(spec(40, 70))
        assert lowered.as_text("kernels").count("a kernel of") == 3
        assert lowered.as_text("asm")


SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-3, 3.7e9, -1e20, 0.5]


@pytest.mark.parametrize("shape", SHAPES)
def test_special_numbers_are_reduced_as_by_numpy(shape, monkeypatch):
    monkeypatch.setattr(shares, "SHARE", 1)
    rng = np.random.default_rng(0)
    x = rng.choice([0.0, -0.0, 1.0, -2.5, 4.0], size=shape).astype(np.float32)
    for number, special in enumerate([np.nan, np.inf, -np.inf]):
        x.reshape(-1)[(number * 17 + 3) % x.size] = special

    def function(m, x):
        for axis in (None, 0, -1):
            yield from (m.max(x, axis), m.min(x, axis), m.sum(x, axis), m.any(x > 2, axis), m.all(x < 9, axis))
            yield m.prod(m.sign(x) + (x != x), axis)
            yield m.argmax(x, axis)
            yield m.argmin(-abs(x), axis)

    with np.errstate(all="ignore"):
        expected = list(function(np, x))
    for number, (got, want) in enumerate(zip(stagec.jit(lambda x: list(function(snp, x)))(x), expected, strict=True)):
        np.testing.assert_array_equal(np.asarray(got), want, err_msg=f"result {number}")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint32", "bool", "float64"])
def test_every_dtype_is_evaluated_as_by_numpy(dtype, monkeypatch):
    monkeypatch.setattr(shares, "SHARE", 1)
    rng = np.random.default_rng(1)
    if dtype == "float64":
        x, y = (rng.choice(SPECIAL, size=(9, 131)) for _ in range(2))
    else:
        info = np.iinfo(dtype) if dtype != "bool" else None
        some = [info.min, info.max, 0, 1, 2, 7, info.max - 1] if info else [False, True]
        x, y = (rng.choice(np.array(some, dtype), size=(9, 131)) for _ in range(2))

    def function(x, y):
        found = [x == y, x < y, snp.where(x > y, x, y), lax.max(x, y), lax.min(x, y), snp.concatenate([x, y], 1)]
        found += [
            z for axis in (0, 1, None) for z in (x.max(axis), y.min(axis), (x != y).any(axis), x.astype(bool).all(axis))
        ]
        if dtype != "bool":
            found += [x + y, x - y, x * y, lax.sign(x), lax.div(x, y), lax.rem(x, y)]
        if dtype not in ("bool", "float64"):
            found += [z for axis in (0, 1, None) for z in (snp.sum(x, axis), snp.prod(x | 1, axis))]
            found += [lax.shift_left(x, y), lax.shift_right_logical(x, y), (x & y) ^ ~x, lax.population_count(x)]
        return [*found, *(x.astype(t) for t in ("int32", "float32", "bool", "uint8") if dtype != "float64")]

    with stagec.enable_x64():
        with stagec.disable_jit():
            expected = function(snp.array(x), snp.array(y))
        found = stagec.jit(function)(x, y)
    for number, (got, want) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=f"result {number}")


@pytest.mark.parametrize("function", [softmax, normalized, lambda x: stagec.nn.logsumexp(x, -1), entropy])
@pytest.mark.parametrize("size", [64, 130])
def test_rows_keep_their_special_numbers_and_have_the_derivatives_of_differences(function, size):
    x = np.random.default_rng(0).normal(size=(12, size))
    with stagec.enable_x64():

        def loss(x):
            return (function(x) ** 3).sum()

        slope = np.asarray(stagec.jit(stagec.grad(loss))(x))
        direction = np.random.default_rng(1).normal(size=x.shape)
        near = [float(loss(snp.asarray(x + sign * 1e-5 * direction))) for sign in (1, -1)]
        np.testing.assert_allclose((slope * direction).sum(), (near[0] - near[1]) / 2e-5, rtol=1e-5)
    x[1, 0], x[4, -1], x[7, size // 2], x[9] = np.nan, np.inf, -np.inf, -np.inf
    x = x.astype(np.float32)
    with stagec.disable_jit(), np.errstate(all="ignore"):
        expected = np.asarray(function(snp.asarray(x)))
    np.testing.assert_allclose(stagec.jit(function)(x), expected, rtol=1e-4, atol=1e-6)


def test_empty_arrays_and_single_numbers():
    def function(m, x, empty):
        return m.exp(x) + 1, x.sum() * 2, x[None, None] * 3, empty * 2, m.sum(empty), m.sum(empty, 0) + x

    x, empty = np.float32(0.25), np.zeros((0, 3), np.float32)
    expected = function(np, np.asarray(x), empty)
    for got, want in zip(stagec.jit(lambda x, e: function(snp, x, e))(x, empty), expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
        assert got.shape == np.shape(want)


def test_the_option_leaves_them_to_the_compiler():
    with stagec.config.override(straight_kernels=False):
        assert kinds(softmax, spec(40, 70)) == []
    assert kinds(softmax, spec(40, 70)) == ["rows"]


def test_equal_kernels_are_one():
    x = spec(40, 70)
    text = stagec.jit(lambda *xs: [snp.tanh(x) for x in xs]).lower(*itertools.repeat(x, 3)).as_text("kernels")
    assert text.count("stream.executable private") == 1 and text.count("flow.dispatch") == 3


def test_of_a_barrier_a_group_takes_what_it_reads():
    text = """func.func @main(%x: tensor<9xf32>, %w: tensor<9x9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
      %a = stablehlo.exponential %x : tensor<9xf32>
      %p = stablehlo.custom_call @opaque(%a, %w) : (tensor<9xf32>, tensor<9x9xf32>) -> tensor<9xf32>
      %b:2 = stablehlo.optimization_barrier %a, %p : tensor<9xf32>, tensor<9xf32>
      %c = stablehlo.exponential %b#0 : tensor<9xf32>
      %m = stablehlo.multiply %c, %a : tensor<9xf32>
      return %m, %b#1 : tensor<9xf32>, tensor<9xf32>
    }"""
    module = bindings.ir.Module.parse(text, bindings.new_context())
    assert kernels.form(module, OPTIONS, straight_line=True) == {"straight": 1}
    assert module.operation.verify()
    names = [op.operation.name for op in module.body.operations[-1].operation.regions[0].blocks[0].operations]
    assert names == ["flow.dispatch", "stablehlo.custom_call", "stablehlo.optimization_barrier", "func.return"]


def test_no_kernel_needs_what_depends_on_it_through_elements_without_a_form():
    """One kernel of the first and the last sum would need its own result: there are no floats of 8 bits in kernels."""
    module = formed("""func.func @main(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
      %a = stablehlo.exponential %x : tensor<9xf32>
      %z = stablehlo.convert %a : (tensor<9xf32>) -> tensor<9xf8E5M2>
      %s = stablehlo.multiply %z, %z : tensor<9xf8E5M2>
      %r = stablehlo.convert %s : (tensor<9xf8E5M2>) -> tensor<9xf32>
      %b = stablehlo.add %r, %a : tensor<9xf32>
      %c = stablehlo.exponential %b : tensor<9xf32>
      return %a, %c : tensor<9xf32>, tensor<9xf32>
    }""")
    assert module.operation.verify()
    assert [op.name for op in operations_in(module.operation)].count("flow.dispatch") == 2


def test_no_kernel_needs_what_depends_on_it_through_a_view_of_its_result():
    """The slice is one of the argument, too, until its transpose is a result: then padding waits for its kernel."""
    module = formed("""func.func @main(%x: tensor<3x2xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) {
      %one = stablehlo.constant dense<1.0> : tensor<f64>
      %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x2xf64>) -> tensor<2x3xf64>
      %cut = stablehlo.slice %t [0:2, 0:2] : (tensor<2x3xf64>) -> tensor<2x2xf64>
      %pad = stablehlo.pad %cut, %one, low = [0, 1], high = [0, 0], interior = [0, 0]
        : (tensor<2x2xf64>, tensor<f64>) -> tensor<2x3xf64>
      %product = stablehlo.multiply %pad, %t : tensor<2x3xf64>
      return %t, %pad, %product : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>
    }""")
    assert module.operation.verify()
    assert [op.name for op in operations_in(module.operation)].count("flow.dispatch") == 3


def test_a_view_of_a_result_is_read_from_its_memory():
    """An element of another row of the kernel's own result would be a reason to stay outside."""
    module = formed("""func.func @main(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
      %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
      %r = stablehlo.reverse %t, dims = [0] : tensor<4x3xf32>
      return %t, %r : tensor<4x3xf32>, tensor<4x3xf32>
    }""")
    assert module.operation.verify()
    assert [op.name for op in operations_in(module.operation)].count("flow.dispatch") == 2


def test_no_kernel_needs_what_depends_on_it_through_a_part_that_it_does_not_read():
    """The first half of the joined array is that of the argument, but the sorted one is an operand of the kernel."""
    module = bindings.ir.Module.parse(
        """func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<8xf32>) {
      %a = stablehlo.exponential %x : tensor<8xf32>
      %r = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %c = stablehlo.concatenate %x, %r, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
      %n = stablehlo.negate %c : tensor<16xf32>
      %s = stablehlo.slice %n [0:8] : (tensor<16xf32>) -> tensor<8xf32>
      %b = stablehlo.add %s, %a : tensor<8xf32>
      %d = stablehlo.multiply %n, %n : tensor<16xf32>
      return %a, %b, %d, %r : tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<8xf32>
    }""",
        bindings.new_context(),
    )
    assert kernels.form(module, OPTIONS, straight_line=True) == {"straight": 4}
    assert module.operation.verify()


def test_what_stays_outside_takes_of_a_barrier_what_it_reads(monkeypatch):
    """If the rows waited for the whole barrier, the kernel would for itself."""
    write = writing.Writing.write

    def refuses_rows(self):
        if self.group.kept:
            raise RefusedError("rows")
        return write(self)

    monkeypatch.setattr(writing.Writing, "write", refuses_rows)
    square, wide = "tensor<400x400xf32>", "tensor<400x3600xf32>"
    text = f"""func.func @main(%x: {square}, %w: {wide}) -> (tensor<400xf32>, {square}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %a = stablehlo.exponential %x : {square}
      %p = stablehlo.custom_call @opaque(%a) : ({square}) -> {square}
      %b:2 = stablehlo.optimization_barrier %w, %p : {wide}, {square}
      %s = stablehlo.slice %b#0 [0:400, 0:3600:9] : ({wide}) -> {square}
      %e = stablehlo.exponential %s : {square}
      %g = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
        : ({square}, tensor<f32>) -> tensor<400xf32>
      %v = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<400xf32>) -> {square}
      %h = stablehlo.add %v, %a : {square}
      return %g, %h : tensor<400xf32>, {square}
    }}"""
    module = bindings.ir.Module.parse(text, bindings.new_context())
    assert kernels.form(module, OPTIONS, straight_line=True) == {"straight": 1}
    assert module.operation.verify()


@pytest.mark.parametrize("shape", [(300, 17), (300, 31), (5, 3), (70, 10), (2, 9, 33), (3, 1000)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_what_is_left_over_of_a_vector_is_reduced_once(shape, axis):
    """The last vector of a row or strip overlaps the one before it."""
    rng = np.random.default_rng(len(shape))
    x = rng.integers(1, 4, size=shape).astype(np.float32)

    def function(m, x):
        return (x.sum(axis), (x * x).sum(axis), m.prod(x - 1, axis) * 0 + x.min(axis), m.argmax(x, axis))

    with stagec.config.override(enable_cache=False):
        for got, want in zip(stagec.jit(lambda x: function(snp, x))(x), function(np, x), strict=True):
            np.testing.assert_array_equal(np.asarray(got), want)


def test_what_is_left_over_of_a_row_takes_one_vector():
    """Not an element at a time, which made the softmax of rows of 31 take five times as long."""
    text = stagec.jit(softmax).lower(spec(40, 127)).as_text("kernels")
    assert text.count("math.exp") == text.count("math.exp %") and " : f32 loc" not in text
    assert not [line for line in text.splitlines() if "math.exp" in line and "vector<" not in line]


def test_few_columns_are_summed_in_several_sets():
    """So that additions need not wait for one another: 32 columns are two vectors, of which there are two sets."""
    with stagec.config.override(target="cpu:x86-64-v4"):
        text = stagec.jit(lambda x: x.sum(0)).lower(spec(200, 32)).as_text("kernels")
    (loop,) = [line for line in text.splitlines() if "scf.for" in line and "iter_args" in line]
    assert loop.count("vector<16xf32>") == 4


def test_many_short_rows_that_are_costly_are_lanes():
    def vectors(rows, size, function=softmax):
        text = stagec.jit(function).lower(spec(rows, size)).as_text("kernels")
        assert "rows (" in text.partition("module")[0]
        return {line.rpartition(" ")[2] for line in text.splitlines() if "math.exp" in line}

    with stagec.config.override(target="cpu:x86-64-v4"):
        assert vectors(40_000, 10) == vectors(40_000, 8) == {"vector<16xf32>"}
        # One vector, and a narrow one for what is left over, where that is little.
        assert vectors(20, 10) == {"vector<8xf32>"}


REDUCTIONS = {
    "sum": lambda x: x.sum(-1),
    "distances": lambda x: snp.sqrt(((x - x[::-1]) ** 2).sum(-1)),
    "argmax": lambda x: snp.argmax(x, -1),
    "extremes": lambda x: (x.min(-1), x.max(-1), (x == x.max(-1, keepdims=True)).any(-1)),
    "centred": lambda x: x - x.mean(-1, keepdims=True),
    "unit": lambda x: x / (1 + abs(x).max(-1, keepdims=True)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "complex64"])
@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_short_rows(name, size, dtype):
    if dtype == "complex64" and name not in ("sum", "centred"):
        pytest.skip("no order of complex numbers")
    x = np.random.default_rng(size).integers(-9, 9, (3, 2741, size)).astype(dtype)
    x[1, 17, 1] = np.nan if dtype.startswith("float") else 5
    with stagec.enable_x64():
        found = stagec.tree.leaves(stagec.jit(REDUCTIONS[name])(x))
        wanted = stagec.tree.leaves(REDUCTIONS[name](snp.asarray(x)))
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(got, "complex64"), np.asarray(want, "complex64"), rtol=2e-3, atol=1e-5)


COLUMNS = {
    "times a row": lambda x, s: x * snp.arange(1, x.shape[-1] + 1).astype(x.dtype),
    "times a column": lambda x, s: x * s[..., None],
    "outer": lambda x, s: s[..., None] + snp.arange(x.shape[-1]).astype(x.dtype),
    "reversed": lambda x, s: x[..., ::-1] + x,
    "stacked": lambda x, s: snp.stack([s * n for n in range(x.shape[-1])], -1),
    "padded": lambda x, s: snp.pad(x, ((0, 0), (0, 0), (0, 1))),
    "joined": lambda x, s: snp.concatenate([s[..., None], x + x], -1),
    "turned": lambda x, s: x[:, ::-1] + s[..., None],
    "matrices": lambda x, s: snp.stack([snp.stack([s + n, s * m], -1) for n, m in ((1, 2), (3, 1), (2, 3))], -2),
    "mixed": lambda x, s: snp.stack([x[..., 0] * x[..., 1] - s, x[..., 1] + x[..., 0] * s, s, x[..., 1]], -1),
    "classes": lambda x, s: (s[..., None] == snp.arange(x.shape[-1]).astype(x.dtype)).astype(x.dtype),
    "several": lambda x, s: (x * s[..., None], x[..., ::-1] - s[..., None]),
    "transposed": lambda x, s: snp.swapaxes(x.reshape(x.shape[0], x.shape[2], x.shape[1]), 1, 2) + x,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "complex64"])
@pytest.mark.parametrize("size", [2, 3, 4, 6])
@pytest.mark.parametrize("name", COLUMNS)
def test_few_columns(name, size, dtype):
    rng = np.random.default_rng(size)
    x, s = (
        rng.integers(-5, 5, shape).astype(getattr(ml_dtypes, dtype, dtype)) for shape in ((2, 1203, size), (2, 1203))
    )
    with stagec.enable_x64():
        found = stagec.tree.leaves(stagec.jit(COLUMNS[name])(x, s))
        wanted = stagec.tree.leaves(COLUMNS[name](snp.asarray(x), snp.asarray(s)))
    for got, want in zip(found, wanted, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("size", [2, 3])
def test_rows_that_are_lanes_may_be_written_over_what_they_read(size):
    x = np.random.default_rng(0).normal(size=(5003, size)).astype(np.float32)
    step = stagec.jit(lambda x: x * snp.arange(1.0, 1 + size, dtype=np.float32), donate_argnums=0)
    with stagec.config.override(target="cpu:x86-64-v4"):
        assert "vector.shuffle" in stagec.jit(step).lower(spec(*x.shape)).as_text("kernels")
    assert np.array_equal(step(snp.array(x)), x * np.arange(1, 1 + size, dtype=np.float32))


@pytest.mark.parametrize("shape", [(9000, 5), (4, 3001, 7), (20_000, 3)])
def test_functions_of_rows_that_are_lanes(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def function(x):
        return softmax(x), entropy(x), snp.argmax(snp.exp(x), -1), stagec.nn.logsumexp(x, -1) - x[..., 0]

    log.clear()
    with stagec.config.override(enable_cache=False):
        found = stagec.jit(function)(guarded(x))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for got, want in zip(found, function(snp.asarray(x)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-5)


def test_rows_of_few_columns_are_shared_apart_from_their_reductions():
    def function(x):
        return x / x.sum(0)

    assert kinds(function, spec(100_000, 10)) == ["columns", "elements"]
    assert apart(function, spec(100_000, 10)) == ["they range over different elements, or reduce different axes"]
    assert apart(function, spec(1000, 10)) == []
    assert kinds(function, spec(1000, 10)) == kinds(function, spec(1000, 1000)) == ["columns"]


@pytest.mark.parametrize(
    ("function", "shapes", "reason"),
    [
        (lambda x, w: (x @ w).sum(0) / 3, [(64, 64), (64, 64)], "that is for a product, a convolution or a loop alone"),
        (lambda x: snp.cumsum(x, 1) * 2, [(40, 300)], "that is for reduce_window alone"),
        (
            lambda x: (snp.exp(x) + snp.exp(x)[:, ::-1]) * snp.exp(x).sum(1, keepdims=True),
            [(40, 300)],
            "it reads other elements than the one that has just been computed",
        ),
    ],
)
def test_a_kernel_says_why_it_is_not_one_with_what_it_reads(function, shapes, reason):
    assert reason in apart(function, *[spec(*shape) for shape in shapes])


def test_an_operation_that_has_no_form_for_its_dtype_is_a_reason():
    module = bindings.ir.Module.parse(
        """func.func @main(%x: tensor<9xf64>) -> tensor<9xf64> {
      %a = stablehlo.sine %x : tensor<9xf64>
      return %a : tensor<9xf64>
    }""",
        bindings.new_context(),
    )
    assert kernels.form(module, OPTIONS, straight_line=True) == {}
    assert "sine of f64" in str(module.operation)


def test_axes_are_one_only_where_every_reshape_on_the_way_allows_it():
    # Elements 96 i + j of the tiled array are in place, but 96 * 0 + k is not where 48 i + j = k is.
    x = np.arange(48 * 48, dtype=np.float32).reshape(48, 48)
    np.testing.assert_array_equal(stagec.jit(lambda x: snp.tile(x, 2)[:, :48] * 2)(x), x * 2)

    def loop(x):
        return lax.fori_loop(0, 2, lambda i, s: snp.tile(s, 2)[:, :48] * 2 + i, x)

    np.testing.assert_array_equal(stagec.jit(loop)(x), x * 4 + 1)


def test_a_padded_element_is_chosen_where_it_is_read():
    def gradient(x):
        return stagec.grad(lambda x: -stagec.nn.log_softmax(x, -1)[:, 3].mean())(x)

    assert kinds(gradient, spec(40, 70)) == ["rows"]
    x = np.random.default_rng(0).normal(size=(6, 37)).astype(np.float32)
    for low in (0, 3, 8, 36):
        for take in (lambda x: x[:, :1], lambda x: x[:1, :1] * 2 + snp.zeros((6, 1))):

            def padded(x, low=low, take=take):
                wide = snp.pad(take(x), ((0, 0), (low, 36 - low)), constant_values=7)
                return wide - x, (wide * x).sum(1), wide[:, ::-1] + 1, wide.T * 2

            with stagec.disable_jit():
                expected = padded(snp.asarray(x))
            for got, want in zip(stagec.jit(padded)(x), expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_a_group_that_was_written_before_is_not_written_again(monkeypatch):
    seen, write = [], writing.Writing.write
    monkeypatch.setattr(writing.Writing, "write", lambda self: seen.append(self.group) or write(self))

    def layers(x, w):
        for i in range(4):
            x = softmax(x @ w) if i < 3 else softmax(x @ w) * 2
        return x

    text = stagec.jit(layers).lower(spec(6, 24), spec(24, 24)).as_text("kernels")
    assert len(seen) == 2 and text.count("flow.dispatch @rows") == 4


def test_equal_regions_with_other_constants_from_outside_are_told_apart():
    text = """func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %a = stablehlo.constant dense<2.0> : tensor<f32>
      %b = stablehlo.constant dense<3.0> : tensor<f32>
      %y = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({ ^bb0(%e: tensor<f32>):
        %s = stablehlo.add %e, %a : tensor<f32>
        stablehlo.return %s : tensor<f32> }) : (tensor<64xf32>) -> tensor<64xf32>
      %z = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({ ^bb0(%e: tensor<f32>):
        %s = stablehlo.add %e, %b : tensor<f32>
        stablehlo.return %s : tensor<f32> }) : (tensor<64xf32>) -> tensor<64xf32>
      return %y, %z : tensor<64xf32>, tensor<64xf32>
    }"""
    written = str(formed(text))
    assert "dense<2.000000e+00>" in written and "dense<3.000000e+00>" in written


def test_the_cost_of_equal_regions_is_counted_once(monkeypatch):
    seen, write = [], regions._written
    monkeypatch.setattr(regions, "_written", lambda k, builder, *rest: seen.append(builder) or write(k, builder, *rest))

    def steps(n):
        seen.clear()
        stagec.jit(lambda x: [x := snp.sin(x) + i for i in range(n)]).lower(spec(64)).as_text("kernels")
        return sum(isinstance(builder, Recorder) for builder in seen)

    assert steps(2) <= steps(6) <= steps(2) + 2


@pytest.mark.parametrize(
    ("count", "function"),
    [
        (2, lambda m, x: (x * 2).ravel().sum()),
        (4, lambda m, x: m.argmax(m.clip(x * 2, -1, x + 3) - 1)),
        (4, lambda m, x: m.argmin(abs(x).astype(np.float16))),
        (6, lambda m, x: m.argmax(m.tanh(x)) + m.sum(x)),
        # What repeats elements is read where it is.
        (1, lambda m, x: (x - x[0]).reshape(-1) * 2),
    ],
)
def test_what_is_flattened_is_computed_of_flattened_arrays(count, function):
    x = np.random.default_rng(0).normal(size=(500, 600)).astype(np.float32)
    made = kinds(lambda x: function(snp, x), spec(500, 600))
    assert len(made) <= count and not any(kind.startswith("stays") for kind in made)
    np.testing.assert_allclose(stagec.jit(lambda x: function(snp, x))(x), function(np, x), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("columns", lambda x: snp.maximum(snp.transpose(x, (0, 3, 1, 2)), 0.5).sum((2, 3))),
        ("columns", lambda x: (abs(snp.transpose(x, (0, 3, 1, 2))) * snp.transpose(x, (0, 3, 1, 2))).max((2, 3))),
        ("columns", lambda x: snp.where(snp.transpose(x, (0, 3, 1, 2)) > 0.5, 1.0, 0.0).sum((2, 3))),
        # The axes that are left are in another order, or other kernels need the array transposed.
        ("rows", lambda x: snp.transpose(x, (3, 0, 1, 2)).sum((2, 3))),
        ("rows", lambda x: (y := snp.transpose(x, (0, 3, 1, 2)) * 2, y.sum((2, 3)))),
    ],
)
def test_what_is_transposed_is_reduced_where_it_lies(kind, function):
    x = np.random.default_rng(0).normal(size=(2, 6, 7, 16)).astype(np.float32)
    lowered = stagec.jit(function).lower(x)
    lines = [line for line in lowered.as_text("kernels").splitlines() if line.startswith("// ")]
    assert any(line.startswith(f"// {kind} ") for line in lines)
    expected, actual = (stagec.tree.leaves(f(x)) for f in (function, lowered.compile()))
    for e, a in zip(expected, actual, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-4, atol=1e-4)


def test_a_mask_that_several_kernels_read_is_computed_while_compiling():
    def attention(x, y):
        n = x.shape[0]
        mask = snp.tril(snp.ones((n, n), bool)) & (snp.arange(n) % 3 != 1)
        return softmax(snp.where(mask, x, -1e9)) @ snp.where(mask, y, 0)

    x, y = np.random.default_rng(0).normal(size=(2, 24, 24)).astype(np.float32)
    lowered = stagec.jit(attention).lower(x, y)
    text = lowered.as_text("kernels")
    assert "stablehlo.iota" not in text and "stays" not in text
    np.testing.assert_allclose(np.asarray(lowered.compile()(x, y)), attention(x, y), rtol=1e-5, atol=1e-6)


def test_what_the_compiler_would_round_on_its_own_is_not_computed_ahead():
    text = """func.func @main() -> (tensor<9xf32>, tensor<9xi32>) {
      %i = stablehlo.iota dim = 0 : tensor<9xi32>
      %two = stablehlo.constant dense<2> : tensor<9xi32>
      %m = stablehlo.multiply %i, %two : tensor<9xi32>
      %f = stablehlo.convert %i : (tensor<9xi32>) -> tensor<9xf32>
      %e = stablehlo.exponential %f : tensor<9xf32>
      return %e, %m : tensor<9xf32>, tensor<9xi32>
    }"""
    module = bindings.ir.Module.parse(text, bindings.new_context())
    first, second = list(functions(module)["main"].regions[0].blocks[0].operations)[-1].operands
    assert computed(first, 100) is None and computed(second, 8) is None
    assert computed(second, 9).tolist() == list(range(0, 18, 2))


def test_workgroups_share_images_rather_than_parts_of_each_pixel():
    """Where parts meet along other axes, none of them is shared."""
    pad = [(0, 0), (1, 1), (1, 1), (0, 0)]
    text = stagec.jit(lambda x: snp.pad(x, pad), target="cpu:x86-64-v3").lower(spec(7, 56, 56, 64)).as_text("kernels")
    count = text.partition("workgroups() ->")[2].partition("stream.return")[0]
    assert "arith.constant 7 : index" in count


def test_what_is_put_together_of_single_elements_waits_for_them():
    """Elements that were read where they are joined were not known to be needed: kernels waited for one another."""
    x = np.random.default_rng(0).normal(size=(1, 3)).astype(np.float32)
    assert "no kernels" not in stagec.jit(snp.linalg.svd).lower(x).as_text("kernels")
    _, found, _ = stagec.jit(snp.linalg.svd)(x)
    np.testing.assert_allclose(found, [np.sqrt((x * x).sum())], rtol=1e-6)


def test_running_sums_of_one_number_are_kernels():
    assert "stablehlo.reduce_window" not in str(formed(RUNNING_SUMS))


def test_what_follows_from_constants_alone_is_computed_while_compiling():
    def function(x):
        return x * 2, snp.arange(40) * 3, snp.arange(40)[::-1]

    assert kinds(function, spec(40, 40)) == ["elements"]
    x = np.ones((40, 40), np.float32)
    for found, expected in zip(stagec.jit(function)(x), (x * 2, np.arange(40) * 3, np.arange(40)[::-1]), strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_elements_are_taken_from_joined_and_padded_arrays():
    x = np.random.default_rng(0).normal(size=(7, 9)).astype(np.float32)
    i = np.array([[0, 5], [11, 3], [4, 10]], np.int32)

    def function(x, i):
        joined = snp.concatenate([x[:, :4] * 2, x, x[:, 1:3]], 1)
        padded = snp.pad(x, ((1, 2), (0, 3)), constant_values=0.5)
        return joined[:, i], padded[i % 3, i], snp.insert(x[0], 3, 7.0), snp.pad(x[0, :1], 1)[i % 3]

    log.clear()
    with stagec.config.override(enable_cache=False):
        found = stagec.jit(function)(guarded(x), guarded(i))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for got, want in zip(found, function(snp.asarray(x), snp.asarray(i)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)


def test_constants_from_outside_of_a_loop_are_in_the_kernels_of_its_rounds():
    # A sine has an operation with a region of its own, for large numbers, which uses some, too.
    loop = stagec.jit(lambda x: lax.fori_loop(0, 5, lambda i, x: snp.sin(x), x))
    text = loop.lower(spec(10**7)).as_text("kernels")
    (call,) = [line for line in text.splitlines() if "flow.dispatch" in line]
    assert call.count("%iterArg") == 1 and "%c" not in call


def test_an_element_that_all_workgroups_read_is_not_written_over(monkeypatch):
    monkeypatch.setattr(shares, "SHARE", 1)
    x = np.linspace(-1, 1, 50_000, dtype=np.float32)
    x[20_000] = 3

    @stagec.jit
    def after_largest(x):
        a = x / (1 + x * x)
        return a + a[snp.argmax(x)] * 0.5

    added = stagec.jit(lambda x, i: x + x[i] * 0.5, donate_argnums=0)
    a = x / (1 + x * x)
    with stagec.config.override(enable_cache=False):
        np.testing.assert_allclose(after_largest(x), a + a[20_000] * 0.5, rtol=0, atol=1e-6)
        np.testing.assert_allclose(added(snp.array(x), np.int32(20_000)), x + x[20_000] * 0.5, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "shape, axis",
    [((20_000, 40), 0), ((20_000, 3), 0), ((90, 300, 17), (0, 1)), ((3, 70_000), 1), ((2_000_000,), None)],
)
def test_long_sums_are_rounded_little(shape, axis):
    x = np.full(shape, 0.7371, np.float32)
    results = stagec.jit(lambda x: [snp.sum(x, axis), snp.sum(x * 1j, axis)])(x)
    exact = x.astype(np.float64).sum(axis)
    # One after another, the numbers of the first shape are off by 2e-4.
    for actual, expected in zip(results, (exact, exact * 1j)):
        np.testing.assert_allclose(np.asarray(actual), expected, rtol=3e-6)


@pytest.mark.parametrize("n", [127, 128, 129, 191, 4096, 8193, 8257])
def test_blocks_of_sums_of_any_length_have_each_element_once(n):
    def sums(x):
        return [x.sum(0), x.T.sum(1), x[:, :3].sum(0), x.ravel().sum(), (x * x).sum(), x[::-1].sum(0)]

    # Whole numbers, whose sums are exact.
    x = np.arange(n * 18, dtype=np.float32).reshape(n, 18) * 7 % 5
    for actual, expected in zip(stagec.jit(sums)(x), sums(x)):
        np.testing.assert_array_equal(np.asarray(actual), expected)


@pytest.mark.parametrize("share", [1, 20_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_logarithms_of_rows_are_computed_in_vectors_after_the_rows(share, dtype, monkeypatch):
    monkeypatch.setattr(shares, "SHARE", share)
    stagec.clear_caches()

    def function(x, y, k):
        largest = x.max(-1)
        total = snp.exp(x - largest[..., None]).sum(-1)
        picked = snp.take_along_axis(x, k[..., None], -1)[..., 0]
        return snp.log(total) + largest, total, snp.log(total) * y - picked

    with stagec.enable_x64(), stagec.config.override(enable_cache=False):
        for shape in [(40, 13), (9, 100), (7, 33), (1000, 5), (3, 50, 17)]:
            numbers = np.random.default_rng(0)
            x, y = (numbers.normal(size=s).astype(dtype) for s in (shape, shape[:-1]))
            k = numbers.integers(0, shape[-1], shape[:-1], np.int32)
            wide = x.astype(np.float64)
            total = np.exp(wide - wide.max(-1, keepdims=True)).sum(-1)
            expected = np.log(total) + wide.max(-1), total
            third = np.log(total) * y - np.take_along_axis(wide, k[..., None], -1)[..., 0]
            found = stagec.jit(function)(guarded(x), guarded(y), k)
            for got, want in zip(found, (*expected, third), strict=True):
                close = 2e-2 if dtype == "float16" else 1e-5
                np.testing.assert_allclose(np.asarray(got), want, rtol=close, atol=close)
    # Workgroups of less than a vector of rows compute them one by one.
    text = stagec.jit(lambda x: snp.log(snp.exp(x).sum(1))).lower(spec(64, 32)).as_text("kernels")
    (logarithm,) = [line for line in text.splitlines() if "math.log %" in line]
    assert ("vector" in logarithm) == (share > 1)


def test_a_barrier_on_a_number_that_the_kernel_computes_is_read_in_it():
    def function(x):
        total = x.sum()
        held = lax.optimization_barrier(total)
        return total, x * snp.tanh(held), held * 2

    x = np.arange(4, dtype=np.float32) / 8
    assert kinds(function, x) == ["sums"]
    total, scaled, twice = stagec.jit(function)(x)
    assert (float(total), float(twice)) == (0.75, 1.5)
    np.testing.assert_allclose(scaled, x * np.tanh(np.float32(0.75)), rtol=1e-6)


def test_what_a_reduction_reads_is_recorded_after_its_operands_got_memory(monkeypatch):
    def function(x):
        sums = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x * 0 + 0.9, x))[1]
        return (snp.where(snp.isfinite(sums), sums, 0) * snp.cos(snp.arange(x.size))).sum()

    count, get = 0, Recorder.get

    def counted(self, value, index):
        nonlocal count
        count += 1
        return get(self, value, index)

    monkeypatch.setattr(Recorder, "get", counted)
    # Each of twelve levels joins two arrays that both read the level before.
    plan(lambda x: lax.scan(lambda c, _: (c + function(x), None), 0.0, None, length=3)[0], spec(5000))
    assert 0 < count < 100_000
