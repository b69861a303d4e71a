"""The ladder of flag sets: which ones a program gets, and that the compiler knows every flag."""

import pytest

from stagec.backends import Target
from stagec.compiler.driver import compile_module
from stagec.compiler.flags import FLAG_SETS, CompileOptions, ladder

CPU = Target.parse("cpu")


def test_programs_without_own_kernels_start_with_the_plain_set():
    assert [flag_set.name for flag_set in ladder(CPU)] == ["direct", "kernels", "plain", "separate"]
    assert ladder(CPU, CompileOptions(kernels=False))[0].name == "plain"


@pytest.mark.parametrize("text", ["cpu", "cpu:generic", "cpu:aarch64", "vulkan", "cuda:sm_90"])
def test_float64_is_never_demoted(text):
    for flag_set in ladder(Target.parse(text)):
        assert "--iree-input-demote-f64-to-f32=false" in flag_set.flags


def test_one_flag_set_can_be_asked_for():
    assert [flag_set.name for flag_set in ladder(CPU, CompileOptions(flag_set="plain"))] == ["plain"]


def test_an_unknown_flag_set_names_the_known_ones():
    with pytest.raises(ValueError, match="'separate'"):
        ladder(CPU, CompileOptions(flag_set="fastest"))


@pytest.mark.parametrize("flag_set", FLAG_SETS)
def test_the_compiler_accepts_every_flag_set(flag_set):
    text = """func.func @main(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      return %0 : tensor<32x32xf32>
    }"""
    assert compile_module(text, CPU, options=CompileOptions(flag_set=flag_set)).flags == flag_set


@pytest.mark.parametrize("text", ["cpu:generic", "cpu:aarch64+dotprod", "cpu:x86-64-v3+gfni", "vulkan:ampere", "cuda"])
def test_every_kind_of_target_compiles(text):
    module = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.exponential %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert compile_module(module, Target.parse(text)).flags in (
        ("direct", "kernels") if text.startswith("cpu") else ("plain",)
    )
