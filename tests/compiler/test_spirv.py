"""Kernels that race, and what is stored so that they do not."""

import numpy as np
import pytest
from iree.compiler import ir

import passes
import stagec
import stagec.numpy as snp
from passes import bindings
from passes.legalize.disable_fusion import disable_fusion, read_sorted
from passes.numeric.interpreter import interpret
from stagec import lax
from stagec.backends import Target
from stagec.compiler import driver, ready
from stagec.compiler.driver import compile_module
from stagec.compiler.flags import CompileOptions, ladder
from stagec.compiler.session import serialize
from stagec.compiler.spirv import racing_kernels
from stagec.core.errors import CompileError

VULKAN = Target.parse("vulkan")
# Rows are dealt out to the threads for the conversion, columns for the sum.
RACE = """func.func @main(%x: tensor<64x32xi8>) -> (tensor<32xi32>, tensor<64xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %wide = stablehlo.convert %x : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %0 = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64x32xi32>, tensor<i32>) -> tensor<32xi32>
  %1 = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x32xi32>, tensor<i32>) -> tensor<64xi32>
  return %0, %1 : tensor<32xi32>, tensor<64xi32>
}"""
UPDATES = """func.func @main(%x: tensor<6xi32>, %i: tensor<i32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<3x2xi32>) {
  %y = stablehlo.add %x, %x : tensor<6xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %z = stablehlo.reshape %y : (tensor<6xi32>) -> tensor<3x2xi32>
  %s = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  %u = stablehlo.dynamic_update_slice %y, %one, %i : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>
  return %s, %u, %z : tensor<6xi32>, tensor<6xi32>, tensor<3x2xi32>
}"""


def plain(text):
    flag_set = ladder(VULKAN)[0]
    source = serialize(driver.prepared(text.encode(), VULKAN, "main"))
    vmfb, _ = driver.run(source, flag_set)
    return vmfb


def parsed(text):
    return ir.Module.parse(text, bindings.new_context())


def test_a_kernel_that_reads_what_other_threads_write_is_found():
    assert racing_kernels(plain(RACE)) == ["main_dispatch_0_reduction_32x64_i32"]


def test_a_kernel_whose_threads_wait_for_one_another_is_not():
    text = """func.func @main(%x: tensor<8x4096xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<8x4096xf32>, tensor<f32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert racing_kernels(plain(text)) == []


def test_shared_memory_that_each_thread_uses_for_itself_is_no_race():
    text = """func.func @main(%x: tensor<300x300xf32>) -> tensor<300x300xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
        : (tensor<300x300xf32>, tensor<300x300xf32>) -> tensor<300x300xf32>
      %1 = stablehlo.tanh %0 : tensor<300x300xf32>
      return %1 : tensor<300x300xf32>
    }"""
    assert compile_module(text, VULKAN).flags == "plain"


def test_a_damaged_kernel_ends_the_look_at_it():
    vmfb = plain(RACE)
    start = vmfb.index(b"\x03\x02\x23\x07")
    assert racing_kernels(vmfb[: start + 100]) == []
    assert racing_kernels(vmfb[: start + 24] + bytes(len(vmfb) - start - 24)) == []


def test_a_race_leads_to_kernels_of_one_operation():
    compiled = compile_module(RACE, VULKAN)
    assert [(a.flag_set, a.ok) for a in compiled.attempts] == [("plain", False), ("separate", True)]
    assert "left out a barrier between threads in main_dispatch_0" in compiled.attempts[0].error
    assert racing_kernels(compiled.vmfb) == []


def test_a_race_that_nothing_mends_is_an_error():
    with pytest.raises(CompileError, match="left out a barrier between threads"):
        compile_module(RACE, VULKAN, options=CompileOptions(flag_set="plain"))


def test_separate_programs_mean_the_same():
    module = parsed(UPDATES)
    arguments = np.array([3, 1, 2, 9, 8, 7], np.int32), np.array(2, np.int32)
    before = interpret(module, *arguments)
    with module.context:
        assert disable_fusion(module) == 4
    assert module.operation.verify()
    for expected, actual in zip(before, interpret(module, *arguments), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_separate_programs_do_not_write_over_what_others_read(vulkan, monkeypatch):
    monkeypatch.setattr(ready, "ladder", lambda *a, **k: [r for r in ladder(*a, **k) if r.disables_fusion])

    def program(x):
        y = x // 3
        flat = y.reshape(-1)
        sets = y.at[0].set(5), flat.at[2].set(7), y.at[snp.array([1])].add(2)
        return y, flat, snp.sort(flat), snp.sort(y, 0), snp.argsort(flat), *sets

    x = np.array([[-8, 5], [1, 70], [100, -9]], np.int32)
    for actual, expected in zip(stagec.jit(program, device=vulkan)(x), program(snp.asarray(x)), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_loops_and_choices_are_separated_inside():
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0:1 = stablehlo.while(%a = %x) : tensor<4xf32>
      cond {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %c = stablehlo.compare LT, %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %b = stablehlo.add %a, %a : tensor<4xf32>
        stablehlo.return %b : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }"""
    module = parsed(text)
    with module.context:
        assert disable_fusion(module) == 3
    assert str(module).count("optimization_barrier") == 3
    compiled = compile_module(text, VULKAN, options=CompileOptions(flag_set="separate"))
    assert compiled.flags == "separate"


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_a_widened_array_with_several_readers_is_right(vulkan, dtype):
    x = (np.arange(64 * 32).reshape(64, 32) % 13 - 5).astype(dtype)

    def program(a):
        wide = a.astype(np.float32 if dtype == "float16" else np.int64)
        sums = wide.T, wide.sum(0), wide.sum(1), wide.sum()
        return sums if dtype == "float16" else (*sums, snp.sort(wide, 1), snp.argsort(wide, 0))

    with stagec.enable_x64():
        run = stagec.jit(program, device=vulkan)
        expected = program(snp.asarray(x))
        # The memory of the first calls is new: what a race reads from it is never right by chance.
        for _ in range(4):
            for actual, want in zip(run(x), expected, strict=True):
                np.testing.assert_array_equal(actual, want)


@pytest.mark.parametrize("shape", [(6,), (64, 32)])
def test_a_sort_whose_positions_nobody_reads_compiles(shape):
    rows = "x".join(map(str, shape))
    text = f"""func.func @main(%x: tensor<{rows}xf32>) -> tensor<{rows}xf32> {{
      %i = stablehlo.iota dim = 0 : tensor<{rows}xi32>
      %0:2 = "stablehlo.sort"(%x, %i) <{{dimension = {len(shape) - 1} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) : (tensor<{rows}xf32>, tensor<{rows}xi32>) -> (tensor<{rows}xf32>, tensor<{rows}xi32>)
      return %0#0 : tensor<{rows}xf32>
    }}"""
    module = parsed(text)
    passes.run(module, "legalize", options=passes.PassOptions(laws="spirv"))
    once = str(module)
    passes.run(module, "legalize", options=passes.PassOptions(laws="spirv"))
    # Before and after it, for the positions and for those that keep equal elements in order.
    assert once.count("stablehlo.select") == str(module).count("stablehlo.select") == 4
    assert compile_module(module, VULKAN).flags == "plain"


def test_a_sort_with_positions_is_right_at_every_call(vulkan):
    x = (np.arange(64 * 32).reshape(64, 32) % 13 - 5).astype(np.float32)

    def program(a):
        return a.T, snp.argsort(a, 0), snp.sort(a, 1)

    run = stagec.jit(program, device=vulkan)
    expected = program(snp.asarray(x))
    for _ in range(3):
        for actual, want in zip(run(x), expected, strict=True):
            np.testing.assert_array_equal(actual, want)


def test_separate_programs_do_not_write_over_donated_memory():
    text = UPDATES.replace("%x: tensor<6xi32>,", "%x: tensor<6xi32> {iree.abi.output = 0 : index},")
    module = parsed(text)
    assert "iree.abi.output" in str(module)
    with module.context:
        disable_fusion(module)
    assert "iree.abi.output" not in str(module)


@pytest.mark.parametrize("ignored", ["complex<f32>", "i1", "f16", "ui8"])
def test_what_a_sort_moves_along_may_have_any_dtype(ignored):
    text = f"""func.func @main(%x: tensor<6xf32>, %y: tensor<6x{ignored}>) -> tensor<6xf32> {{
      %0:2 = "stablehlo.sort"(%x, %y) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<{ignored}>, %d: tensor<{ignored}>):
        %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) : (tensor<6xf32>, tensor<6x{ignored}>) -> (tensor<6xf32>, tensor<6x{ignored}>)
      return %0#0 : tensor<6xf32>
    }}"""
    module = parsed(text)
    with module.context:
        assert read_sorted(module) == {"read_sorted": 1}
    assert module.operation.verify()
    x = np.array([3, 1, 2, -5, 0, 9], np.float32)
    kinds = {"complex<f32>": np.complex64, "i1": np.bool_, "f16": np.float16, "ui8": np.uint8}
    (result,) = interpret(module, x, np.ones(6, kinds[ignored]))
    np.testing.assert_array_equal(result, np.sort(x))


@pytest.mark.parametrize("even", [2, 1])
def test_what_a_choice_passes_on_is_still_there_afterwards(vulkan, even):
    def program(x, i):
        rounded = snp.rint(x)
        one = lax.cond(i % 2 == 0, lambda a: a, lambda a: -a, rounded)
        return rounded, snp.floor(snp.concatenate([one, one.at[-1].set(3), rounded]))

    x = np.array([4.5, 3, -3, -1], np.float32)
    rounded, joined = stagec.jit(program, device=vulkan)(x, np.int32(even))
    np.testing.assert_array_equal(rounded, np.rint(x))
    one = np.rint(x) if even == 2 else -np.rint(x)
    np.testing.assert_array_equal(joined, np.concatenate([one, [*one[:3], 3], np.rint(x)]))


@pytest.mark.parametrize("shapes", [((64, 32), (32, 64)), ((5, 7), (7, 3)), ((2, 8, 8), (2, 8, 8))])
def test_products_of_bfloat16_compile_and_are_rounded_once(vulkan, shapes):
    rng = np.random.default_rng(len(shapes[0]))
    a, b = (rng.integers(-9, 9, shape).astype(snp.bfloat16) for shape in shapes)
    product = stagec.jit(lambda a, b: a @ b, device=vulkan)(a, b)
    assert product.dtype == snp.bfloat16
    np.testing.assert_array_equal(product, (a.astype(np.float64) @ b.astype(np.float64)).astype(snp.bfloat16))
