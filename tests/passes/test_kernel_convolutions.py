"""Convolutions as kernels: how each is read and cut, and that gradients need no transposes."""

import re

import numpy as np
import pytest
from guarded import guarded
from pass_helpers import run_iree

import stagec
import stagec.numpy as snp
from passes import PassOptions, bindings, kernels
from passes.kernels.convolutions.shapes import Axis, read
from passes.kernels.convolutions.tiles import tiling
from passes.kernels.processor import Processor
from passes.match import operations_in
from stagec import lax
from stagec.backends import Target
from stagec.compiler.build import choose_driver

WIDE = Processor.of("x86_64", frozenset({"avx2", "fma", "avx512f", "avx512vl", "avx512dq", "avx512bw"}))
LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolution(x, w, **options):
    return lax.conv_general_dilated(
        x, w, **{"window_strides": (1, 1), "padding": "SAME", **options}, dimension_numbers=LAYOUT
    )


def parsed(function, *shapes):
    specs = [stagec.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    text = stagec.jit(function).lower(*specs).as_text("optimized", locations=True)
    return bindings.ir.Module.parse(text, bindings.new_context())


def found(function, *shapes):
    module = parsed(function, *shapes)
    return [read(op.opview) for op in operations_in(module.operation) if op.name == "stablehlo.convolution"], module


def test_a_row_of_the_window_is_one_axis():
    ((conv,), _module) = found(convolution, (2, 8, 9, 4), (3, 3, 4, 32))
    (part,) = conv.convolution.parts
    # Rows of the padded image have 11 pixels of 4; three pixels of the window follow one another.
    assert part.pixels == (Axis(2, 10 * 44, 72 * 32), Axis(8, 44, 9 * 32), Axis(9, 4, 32))
    assert part.window == (Axis(3, 44, 12 * 32), Axis(12, 1, 32))
    assert conv.edges.low == (0, 1, 1, 0) and not any(conv.edges.between)


def test_tiles_of_pixels_are_even():
    ((conv,), _module) = found(convolution, (2, 8, 20, 4), (3, 3, 4, 32))
    assert tiling(conv.convolution, WIDE).pixels == ((1, 1, 10),)
    assert tiling(conv.convolution, WIDE).vectors == 2


def test_the_gradient_of_a_strided_convolution_multiplies_no_zeros():
    def gradient(x, w, ct):
        return stagec.vjp(lambda x: convolution(x, w, window_strides=(2, 2)), x)[1](ct)[0]

    ((conv,), _module) = found(gradient, (2, 8, 8, 16), (3, 3, 16, 32), (2, 4, 4, 32))
    places = [[axis.extent for axis in part.window] for part in conv.convolution.parts]
    assert len(places) == 4 and not any(conv.edges.between)
    # Every product of the forward pass is one of the backward pass.
    assert sum(int(np.prod(p)) for p in places) == 9 * 32


def test_the_gradient_of_weights_reads_images_as_they_lie():
    def gradient(x, w, ct):
        return stagec.vjp(lambda w: convolution(x, w), w)[1](ct)[0]

    shapes = (4, 8, 8, 16), (3, 3, 16, 32), (4, 8, 8, 32)
    options = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))
    ((conv,), module) = found(gradient, *shapes)
    assert conv.lhs.order == (3, 1, 2, 0) and conv.rhs.order == (1, 2, 0, 3)
    assert kernels.form(module, options) == {"convolutions": 1}


def test_few_columns_take_vectors_along_the_features():
    ((conv,), _module) = found(
        lambda x, w, ct: stagec.vjp(lambda x: convolution(x, w), x)[1](ct)[0],
        (2, 8, 8, 3),
        (3, 3, 3, 32),
        (2, 8, 8, 32),
    )
    assert conv.convolution.column_stride == 32 and tiling(conv.convolution, WIDE).vectors == 0


def test_each_channel_by_itself_is_read_in_vectors():
    ((conv,), _module) = found(lambda x, w: convolution(x, w, feature_group_count=32), (2, 8, 8, 32), (3, 3, 1, 32))
    assert conv.convolution.channelwise and conv.convolution.columns == 32


@pytest.mark.parametrize("layout", [LAYOUT, ("NCHW", "OIHW", "NCHW")])
def test_each_channel_by_itself_is_read_in_vectors_in_any_layout_and_by_gradients(layout):
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=32)

    def gradient(x, w, ct):
        return stagec.vjp(conv, x, w)[1](ct)

    image, kernel = ((2, 8, 8, 32), (3, 3, 1, 32)) if layout is LAYOUT else ((2, 32, 8, 8), (32, 1, 3, 3))
    (forward,), _ = found(conv, image, kernel)
    both, _ = found(gradient, image, kernel, image)
    assert len(both) == 2
    for conv in (forward, *both):
        assert conv.convolution.channelwise and conv.convolution.columns == 32


def test_a_window_may_be_reversed():
    def strided(x, w):
        return convolution(x, w, window_strides=(1, 2), padding=[(1, 2), (0, 1)], lhs_dilation=(2, 1))

    x, w = (
        np.random.default_rng(i).normal(size=s).astype(np.float32) for i, s in enumerate([(2, 5, 6, 3), (3, 2, 3, 8)])
    )
    text = stagec.jit(strided).lower(x, w).as_text("optimized")
    reversed_ = re.sub("lhs_dilate = .2, 1.", r"\g<0>, reverse = [true, false]", text)
    module = bindings.ir.Module.parse(reversed_, bindings.new_context())
    assert kernels.form(module, PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))) == {
        "convolutions": 1
    }
    (found,) = run_iree(str(module), guarded(x), guarded(w))
    np.testing.assert_allclose(found, np.asarray(strided(x, w[::-1])), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_and_backward_agree_with_float64(dtype):
    cases = {
        "plain": ((3, 9, 11, 20), (3, 3, 20, 35), {}),
        "strided": ((2, 13, 10, 17), (3, 3, 17, 20), {"window_strides": (2, 3)}),
        "few": ((2, 12, 12, 3), (5, 5, 3, 18), {"window_strides": (2, 2)}),
        "one pixel": ((5, 4, 4, 8), (4, 4, 8, 40), {"padding": "VALID"}),
        "channels": ((2, 7, 7, 37), (3, 3, 1, 37), {"feature_group_count": 37}),
        "groups": ((2, 7, 6, 12), (3, 2, 4, 15), {"feature_group_count": 3}),
        "groups of the batch": ((6, 7, 6, 5), (3, 2, 5, 18), {"batch_group_count": 3}),
    }
    numbers = np.random.default_rng(0)
    arrays = []
    for x, w, _ in cases.values():
        arrays += [numbers.normal(size=x).astype(dtype), numbers.normal(size=w).astype(dtype)]

    def everything(*arrays):
        results = []
        for (_, _, options), x, w in zip(cases.values(), arrays[::2], arrays[1::2]):
            out, pull = stagec.vjp(lambda x, w, options=options: convolution(x, w, **options), x, w)
            results += [out, *pull(out * 0.5)]
        return results

    with stagec.config.override(enable_x64=True, enable_cache=False):
        compiled = stagec.jit(everything)(*map(guarded, arrays))
        with stagec.disable_jit():
            exact = everything(*(snp.asarray(a.astype(np.float64)) for a in arrays))
    for i, (got, wanted) in enumerate(zip(compiled, exact, strict=True)):
        wanted = np.asarray(wanted)
        scale = np.abs(wanted).max() * (1e-5 if dtype == "float32" else 1e-13)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=scale, err_msg=f"{list(cases)[i // 3]}, result {i % 3}")


def test_what_follows_a_convolution_is_part_of_its_kernel():
    def layer(x, w, bias):
        return snp.maximum(convolution(x, w) + bias, 0)

    shapes = (2, 6, 6, 8), (3, 3, 8, 24), (24,)
    arrays = [np.random.default_rng(i).normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)]
    text = stagec.jit(layer).lower(*arrays).as_text("kernels")
    main = text[text.index("func.func public @main") :]
    # The image is padded by a kernel of its own.
    assert re.findall(r"flow.dispatch @(\w+)", main) == ["elements", "convolution"] and "stablehlo" not in main
    with stagec.disable_jit():
        exact = layer(*arrays)
    np.testing.assert_allclose(stagec.jit(layer)(*arrays), exact, atol=1e-4)


@pytest.mark.parametrize("columns", [3, 24, 40])
def test_the_edges_of_the_image_share_one_epilogue(columns):
    """The last tile along an axis has fewer pixels, and sums of its own, but not code of its own for what follows."""

    def layer(x, w):
        return snp.tanh(convolution(x, w))

    module = parsed(layer, (3, 13, 13, 16), (3, 3, 16, columns))
    options = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))
    kernels.form(module, options)
    # Code for whole panels of columns, and for those that are left over.
    assert 1 <= str(module).count("math.tanh") <= 2 * 3


def test_a_cheap_epilogue_of_a_small_window_stays_in_registers():
    def layer(x, w):
        return snp.maximum(convolution(x, w), 0)

    options = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))
    found = []
    for features in (1, 16):
        module = parsed(layer, (4, 28, 28, features), (3, 3, features, 16))
        kernels.form(module, options)
        found.append("memref.alloca" in str(module))
    assert found == [False, True]


def test_every_operation_of_a_convolutions_kernel_has_the_users_line():
    module = parsed(convolution, (2, 8, 9, 4), (3, 3, 4, 32))
    options = PassOptions(machine="x86_64", features=frozenset({"avx2", "fma"}))
    kernels.form(module, options)
    inside = [
        op for op in operations_in(module.operation) if op.name.startswith(("vector.", "memref.", "arith.", "scf."))
    ]
    assert len(inside) > 50
    assert all("test_kernel_convolutions.py" in str(op.location) for op in inside)


def test_the_terms_of_a_convolution_count_as_its_work():
    def queue(window):
        shapes = (4, 48, 48, 16), (*window, 16, 16)
        specs = [stagec.ShapeDtypeStruct(shape, "float32") for shape in shapes]
        return choose_driver(stagec.jit(convolution).trace(*specs)._trace.graph, Target.parse("cpu"))

    assert queue((1, 1)) == "local-sync" and queue((3, 3)) == "local-task"


@pytest.mark.parametrize(
    ("shape", "window", "options"),
    [
        ((1, 40, 1), (31,), {"padding": [(15, 15)]}),
        ((3, 17, 1), (4,), {"padding": [(2, -1)], "rhs_dilation": (3,)}),
        ((2, 9, 11, 1), (3, 5), {"padding": "SAME"}),
        ((1, 4, 5, 6, 1), (2, 3, 2), {"padding": "VALID"}),
        ((2, 9, 11, 1), (3, 3), {"padding": "SAME", "window_strides": (2, 2)}),
    ],
)
@pytest.mark.parametrize("channels", ["last", "first"])
def test_convolutions_of_one_feature_are_sums_of_shifted_arrays(shape, window, options, channels):
    rank = len(window)
    axes = "DHW"[-rank:]
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C") if channels == "last" else (f"NC{axes}", f"OI{axes}", f"NC{axes}")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape).astype("f"), rng.normal(size=(*window, 1, 1)).astype("f")
    if channels == "first":
        x, w = np.moveaxis(x, -1, 1), np.moveaxis(w, (-1, -2), (0, 1))

    def filtered(x, w):
        given = {"window_strides": (1,) * rank, **options}
        return lax.conv_general_dilated(x, w, **given, dimension_numbers=layout) * 2

    compiled = stagec.jit(filtered).lower(x, w)
    kept = "window_strides" in options
    assert bool(re.search(r"^// convolution .*: a kernel of", compiled.as_text("kernels"), re.MULTILINE)) == kept
    np.testing.assert_allclose(compiled.compile()(x, w), filtered(snp.asarray(x), snp.asarray(w)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
@pytest.mark.parametrize(
    ("images", "window", "options"),
    [
        ((48, 20, 20, 3), (3, 3, 3, 16), {"window_strides": (2, 2)}),
        ((48, 18, 21, 2), (2, 3, 2, 5), {"padding": "VALID"}),
        ((30, 16, 16, 4), (5, 1, 4, 8), {"rhs_dilation": (1, 2)}),
    ],
)
def test_workgroups_share_the_sums_of_a_small_gradient(images, window, options, dtype):
    def gradient(x, w):
        out, pulled = stagec.vjp(lambda w: convolution(x, w, **options), w)
        return pulled(out)[0] * 2 + w

    with stagec.enable_x64():
        rng = np.random.default_rng(0)
        x, w = (snp.asarray((rng.normal(size=shape) / 4).astype(dtype)) for shape in (images, window))
        compiled = stagec.jit(gradient).lower(x, w)
        if dtype == "float32":
            counts = re.findall(
                r"@convolution\w* workgroups.*?stream.return (\S+), (\S+), (\S+) :", compiled.as_text("kernels"), re.S
            )
            assert any(third != "%c1" for _, _, third in counts), "the last counts the shares"
        found = compiled.compile()(x, w)
        exact = np.complex128 if dtype == "complex64" else np.float64
        wanted = gradient(x.astype(exact), w.astype(exact))
        scale = abs(np.asarray(wanted)).max()
        tolerance = {"float16": 3e-3, "float64": 1e-13}.get(dtype, 5e-6)
        assert found.dtype == dtype
        np.testing.assert_allclose(found / scale, wanted / scale, atol=tolerance)


def test_a_layer_and_the_gradient_of_its_kernel_read_one_padded_image():
    def gradient(x, w):
        return stagec.grad(lambda w: (convolution(x, w) ** 2).sum())(w)

    text = stagec.jit(gradient).lower(snp.ones((8, 16, 16, 3)), snp.ones((3, 3, 3, 16))).as_text("kernels")
    assert text.count("-> tensor<8x18x18x3xf32>") == 1 and "tensor<8x18x18x3xf32>, tensor<8x18x18x3xf32>)" not in text


@pytest.mark.parametrize("padding", [[(-1, 1), (0, 2)], [(-2, -1), (-1, 0)]])
def test_negative_padding_leaves_out_edges_of_the_image(padding):
    x, w = (np.random.default_rng(0).normal(size=shape).astype("float32") for shape in ((2, 7, 8, 4), (3, 2, 4, 6)))
    function = stagec.jit(lambda x, w: convolution(x, w, padding=padding))
    assert "stablehlo.pad" not in function.lower(x, w).as_text("kernels")
    image = np.pad(x, [(0, 0), *((max(low, 0), max(high, 0)) for low, high in padding), (0, 0)])
    rows, columns = (slice(max(-low, 0), n + min(high, 0)) for n, (low, high) in zip(image.shape[1:], padding))
    expected = convolution(image[:, rows, columns], w, padding="VALID")
    np.testing.assert_allclose(np.asarray(function(x, w)), np.asarray(expected), atol=1e-5)
