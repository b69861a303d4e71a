"""What IREE overwrites is among what the analysis says it may overwrite."""

import numpy as np
import pytest
from pass_helpers import aligned, parse, run_iree

from passes.analysis.aliases import has_same_bytes, memory, mutated_arguments, returned_arguments
from passes.match import functions, operations_in

T = "tensor<64xf32>"
U = "tensor<8xf32>"
SORT = f""""stablehlo.sort"(%s) ({{ ^bb0(%l: tensor<f32>, %g: tensor<f32>):
  %q = stablehlo.compare LT, %l, %g : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %q : tensor<i1> }}) {{dimension = 0 : i64}} : ({T}) -> {T}"""
UPDATE = f"stablehlo.dynamic_update_slice %s, %u, %i : ({T}, {U}, tensor<i32>) -> {T}"
SCATTER = f""""stablehlo.scatter"(%s, %j, %u) ({{ ^bb0(%o: tensor<f32>, %n: tensor<f32>):
  stablehlo.return %n : tensor<f32> }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
  scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : ({T}, tensor<8x1xi32>, {U}) -> {T}"""
# How the argument %a becomes %s, which is written to.
PATHS = {
    "directly": "%s = stablehlo.reshape %a : (T) -> T",
    "through reshapes": "%0 = stablehlo.reshape %a : (T) -> tensor<8x8xf32>\n"
    "%s = stablehlo.reshape %0 : (tensor<8x8xf32>) -> T",
    "through adding negative zero": "%z = stablehlo.constant dense<-0.0> : T\n%s = stablehlo.add %a, %z : T",
    "through a select": "%p = stablehlo.constant dense<true> : tensor<64xi1>\n"
    "%s = stablehlo.select %p, %a, %b : tensor<64xi1>, T",
    "through a barrier": "%s = stablehlo.optimization_barrier %a : T",
    "through a whole slice": "%s = stablehlo.slice %a [0:64] : (T) -> T",
    "through a call": "%s = func.call @same(%a) : (T) -> T",
    "behind a sine": "%s = stablehlo.sine %a : T",
    "behind a sum of arguments": "%s = stablehlo.add %a, %b : T",
    "behind doubling": "%z = stablehlo.constant dense<2.0> : T\n%s = stablehlo.multiply %a, %z : T",
    "behind a conversion": "%0 = stablehlo.convert %a : (T) -> tensor<64xf16>\n"
    "%s = stablehlo.convert %0 : (tensor<64xf16>) -> T",
}
MUST = {"directly", "through reshapes", "through adding negative zero", "through a select", "through a barrier"}
SAFE = {"behind a sine", "behind a sum of arguments", "behind doubling", "behind a conversion"}


def program(path, write):
    body = f"{PATHS[path]}\n%r = {write}".replace("T\n", f"{T}\n").replace("(T)", f"({T})").replace("-> T", f"-> {T}")
    body = body.replace(": T", f": {T}").replace(", T", f", {T}")
    return (
        f"func.func @main(%a: {T}, %b: {T}, %u: {U}, %i: tensor<i32>, %j: tensor<8x1xi32>) -> {T} {{\n{body}\n"
        f"return %r : {T}\n}}\nfunc.func private @same(%x: {T}) -> {T} {{ return %x : {T} }}"
    )


@pytest.mark.parametrize("path", PATHS)
def test_whatever_iree_overwrites_was_foretold(path):
    for write in (SORT, UPDATE, SCATTER):
        text = program(path, write)
        foretold = mutated_arguments(parse(text))
        arrays = [
            aligned(np.linspace(3, -3, 64, dtype=np.float32)),
            aligned(np.linspace(1, 2, 64, dtype=np.float32)),
            aligned(np.arange(8, dtype=np.float32)),
            aligned(np.array(3, np.int32)),
            aligned(np.arange(8, dtype=np.int32).reshape(8, 1)),
        ]
        before = [array.copy() for array in arrays]
        run_iree(text, *arrays)
        overwritten = {i for i, (a, b) in enumerate(zip(before, arrays)) if a.tobytes() != b.tobytes()}
        assert overwritten <= set(foretold), text


@pytest.mark.parametrize("path", sorted(MUST | {"through a whole slice", "through a call"}))
def test_argument_that_is_only_moved_before_a_write_is_foretold(path):
    assert mutated_arguments(parse(program(path, UPDATE))) in ((0,), (0, 1))


@pytest.mark.parametrize("path", sorted(SAFE))
def test_argument_behind_a_computation_is_not_copied_for_nothing(path):
    assert mutated_arguments(parse(program(path, SORT))) == ()


def test_program_without_in_place_ops_needs_no_copies():
    text = f"func.func @main(%a: {T}) -> {T} {{ %0 = stablehlo.reverse %a, dims = [0] : {T} return %0 : {T} }}"
    assert mutated_arguments(parse(text)) == ()


def test_write_inside_a_loop_reaches_the_initial_value():
    text = f"""func.func @main(%a: {T}, %u: {U}, %i: tensor<i32>) -> {T} {{
  %r:2 = stablehlo.while(%s = %a, %k = %i) : {T}, tensor<i32> cond {{
    %p = stablehlo.compare LT, %k, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %n = {UPDATE}
    stablehlo.return %n, %k : {T}, tensor<i32>
  }}
  return %r#0 : {T}
}}"""
    assert 0 in mutated_arguments(parse(text))


def test_a_function_of_the_host_reads_its_operands_only():
    text = f"""func.func private @host.f({T}) -> {T}
func.func @main(%a: {T}, %u: {U}, %i: tensor<i32>) -> {T} {{
  %s = func.call @host.f(%a) : ({T}) -> {T}
  %r = {UPDATE}
  return %r : {T}
}}"""
    assert mutated_arguments(parse(text)) == ()
    assert mutated_arguments(parse(text.replace("host.f", "other.f"))) == (0,)


def test_a_loop_may_exchange_the_memory_of_its_state():
    text = f"""func.func @main(%a: {T}, %b: {T}, %c: {T}, %u: {U}, %i: tensor<i32>) -> ({T}, {T}) {{
  %r:3 = stablehlo.while(%s = %a, %t = %b, %k = %i) : {T}, {T}, tensor<i32> cond {{
    %p = stablehlo.compare LT, %k, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %n = {UPDATE}
    stablehlo.return %n, %t, %k : {T}, {T}, tensor<i32>
  }}
  %d = stablehlo.sine %c : {T}
  return %r#1, %d : {T}, {T}
}}"""
    module = parse(text)
    assert mutated_arguments(module) == returned_arguments(module) == (0, 1, 3, 4)
    # Without the compiler's doing, each value is that of its place.
    first, second = functions(module)["main"].regions[0].blocks[0].arguments[:2]
    (loop,) = operations_in(module, "stablehlo.while")
    assert second in memory(loop.results[1]) and first not in memory(loop.results[1])


def test_a_write_in_a_function_reaches_the_argument_of_its_call():
    text = f"""func.func private @f(%x: {T}, %s: {T}, %u: {U}, %i: tensor<i32>) -> ({T}, {T}) {{
  %n = {UPDATE}
  return %n, %x : {T}, {T}
}}
func.func @main(%a: {T}, %b: {T}, %u: {U}, %i: tensor<i32>) -> {T} {{
  %r:2 = func.call @f(%a, %b, %u, %i) : ({T}, {T}, {U}, tensor<i32>) -> ({T}, {T})
  return %r#1 : {T}
}}"""
    assert mutated_arguments(parse(text)) == (1,)
    assert returned_arguments(parse(text)) == (0,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>", True),
        ("stablehlo.optimization_barrier %a : tensor<4xf32>", True),
        ("stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi32>", True),
        ("stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4x2xi16>", False),
        ("stablehlo.transpose %a, dims = [0] : (tensor<4xf32>) -> tensor<4xf32>", False),
        ("stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>", False),
    ],
)
def test_only_names_of_the_same_bytes_have_the_same_bytes(text, expected):
    module = parse(f"func.func @main(%a: tensor<4xf32>) {{ %0 = {text} return }}")
    assert has_same_bytes(operations_in(module)[1]) is expected
