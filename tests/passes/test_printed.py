"""Texts that MLIR prints are read, and other texts are refused by what was expected and what was printed."""

import importlib.metadata

import ml_dtypes
import numpy as np
import pytest

from passes import bindings, match, printed

DTYPES = {"complex<f32>": np.dtype("c8"), "complex<f64>": np.dtype("c16")}
DTYPES |= {"bf16": np.dtype(ml_dtypes.bfloat16), "i4": np.dtype(ml_dtypes.int4)}
# reader: texts that a release could print instead
OTHER_TEXTS = {
    printed.enumeration: ["#stablehlo.comparison_direction<LT>", "LT", "#stablehlo<comparison_direction LT, GT>"],
    printed.dimension_numbers: [
        "#stablehlo.dot<[1] x [0]>",
        "#stablehlo.dot<lhs_contracting = [1]>",
        "#stablehlo.dot<lhs_contracting_dimensions: [1]>",
        "#stablehlo.dot<lhs_contracting_dimensions = [1] rhs_contracting_dimensions = [0]>",
        "#stablehlo.gather<offset_dims = 0..2, index_vector_dim = 1>",
        "#stablehlo.scatter<offset_dims = [0]>",
        "#stablehlo.windows<offset_dims = [0]>",
    ],
    printed.convolution: [
        "#stablehlo.conv<batch = 0, feature = 1>",
        "#stablehlo.conv<[n, 0, c]x[0, i, o]->[n, 0, c]>",
        "#stablehlo.conv<[b, 1, f]x[1, i, o]->[b, 1, f]>",
        "#stablehlo.conv<[b, 0, f]x[0, i, o]>",
    ],
    printed.mesh_sizes: ["#stablehlo.mesh<axes=[]>", "#stablehlo.mesh<axes=[<name = x, size = 2>]>", "@mesh"],
    printed.constant: ["%0 = stablehlo.constant dense<1>", "stablehlo.constant array<i64: 1> : tensor<1xi64>"],
    printed.resources: ["builtin = {", 'w: "04000000FF00"'],
    printed.location: ['loc("user.py" line 3)', 'location("user.py")', "user.py", ""],
    printed.lines: ['loc(fused["user.py" line 3])'],
    printed.located: ['"f"() loc(a(b(c(d))))', '"f"() : () -> () #loc1', '"f"()loc(unknown)'],
    printed.executable_target: ['#hal.executable.target<backend = "rocm", format = "rocm-hsaco-fb">', "module {}"],
    printed.pipeline_dialect: ["#iree_codegen.translation<CPUDefault>", "#iree_codegen.translation_info<CPUDefault>"],
}
DENSE = ["dense_resource<x> : tensor<2xf32>", "dense<[1.0, 2.0, 3.0]> : tensor<2xf32>", "dense<one> : tensor<2xf32>"]
DENSE += ["dense<[1.0; 2.0]> : tensor<2xf32>", "dense<> : tensor<2xf32>", '#blob<"0x00000000"> : tensor<1xf32>']


def refused(read, text):
    with pytest.raises(printed.PrintedError) as caught:
        read(text)
    first, expected, found, fix = str(caught.value).splitlines()
    assert importlib.metadata.version("iree-base-compiler") in first
    assert expected.split()[0] == "expected" and len(expected.split()) > 1
    assert found.split(maxsplit=1)[1:] == ([text] if text else [])
    assert "passes/printed.py" in fix


@pytest.mark.parametrize(("read", "text"), [(read, text) for read, texts in OTHER_TEXTS.items() for text in texts])
def test_text_in_another_form_is_refused(read, text):
    refused(read, text)


@pytest.mark.parametrize("text", DENSE)
def test_a_constant_in_another_form_is_refused(text):
    refused(lambda given: printed.dense(given, np.dtype(np.float32), (2,)), text)


def test_every_reader_is_tested():
    readers = {v for v in vars(printed).values() if callable(v) and getattr(v, "__module__", "") == printed.__name__}
    readers -= {printed.PrintedError, printed.Line, printed.ExecutableTarget, printed.dense}
    assert {r for r in readers if not r.__name__.startswith("_")} == set(OTHER_TEXTS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"user.py":3:4', "user.py:3:4"),
        ('"sum"("user.py":3:4)', "user.py:3:4"),
        ('"user.py":3:4 to 5:6', "user.py:3:4"),
        ('fused["a.py":1:2, "b.py":3:4]', "a.py:1:2"),
        ('callsite("f"("a.py":1:2) at "b.py":3:4)', "a.py:1:2"),
        ('callsite("f" at fused["g", unknown])', ""),
        ('"a name, line 3"', ""),
        ("unknown", ""),
    ],
)
def test_lines_are_read_from_every_kind_of_location(text, found):
    module = bindings.ir.Module.parse(f"module {{}} loc({text})", bindings.new_context())
    assert str(printed.location(module.operation.location) or "") == found


@pytest.mark.parametrize("size", [0, 1, 2, 5000])
@pytest.mark.parametrize("element", DTYPES)
def test_constants_of_all_sizes_are_read_as_the_bindings_print_them(element, size):
    dtype = DTYPES[element]
    numbers = (np.arange(size) % 7 - 3).astype(np.float32)
    wanted = numbers.astype(dtype) * (1 - 2j) if dtype.kind == "c" else numbers.astype(dtype)
    items = ", ".join(f"({v.real}, {v.imag})" if dtype.kind == "c" else str(v) for v in wanted.tolist())
    text = f"func.func @main() {{ %0 = stablehlo.constant dense<[{items}]> : tensor<{size}x{element}> return }}"
    module = bindings.ir.Module.parse(text, bindings.new_context())
    (constant,) = match.operations_in(module, "stablehlo.constant")
    np.testing.assert_array_equal(match.constant_of(constant.results[0]), wanted.astype(dtype))
