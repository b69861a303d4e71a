"""Run time of programs before and after fusion passes and features_last: `python tests/passes/bench_fusion.py`."""

import time

import iree.runtime as rt
import numpy as np
from pass_helpers import ELEMENTS, MEMORY, USAGE, aligned, compile_text, parse

import passes


def tensor(*shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def products(rows, size, count):
    x, w = tensor(rows, size), tensor(size, size)
    arguments = ", ".join([f"%x: {x}"] + [f"%w{i}: {w}" for i in range(count)])
    body = "\n".join(
        f"%{i} = stablehlo.dot_general %x, %w{i}, contracting_dims = [1] x [0] : ({x}, {w}) -> {x}"
        for i in range(count)
    )
    types, names = ", ".join([x] * count), ", ".join(f"%{i}" for i in range(count))
    return f"func.func @main({arguments}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"


def reductions(rows, columns, axis):
    x, out = tensor(rows, columns), tensor(columns if axis == 0 else rows)
    lines = ""
    for i, (name, start) in enumerate([("add", "0.0"), ("maximum", "0xFF800000"), ("minimum", "0x7F800000")]):
        lines += f"%c{i} = stablehlo.constant dense<{start}> : tensor<f32>\n"
        lines += f"%{i} = stablehlo.reduce(%x init: %c{i}) applies stablehlo.{name} across dimensions = [{axis}] : "
        lines += f"({x}, tensor<f32>) -> {out}\n"
    return f"func.func @main(%x: {x}) -> ({out}, {out}, {out}) {{\n{lines}return %0, %1, %2 : {out}, {out}, {out}\n}}"


def softmax(rows, columns):
    x, row = tensor(rows, columns), tensor(rows)
    return f"""func.func @main(%x: {x}) -> {x} {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : {x}
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : ({x}, tensor<f32>) -> {row}
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : ({row}) -> {x}
  %0 = stablehlo.divide %e, %b : {x}
  return %0 : {x}
}}"""


def transposed(size):
    x = tensor(size, size)
    return f"""func.func @main(%x: {x}, %w: {x}) -> {x} {{
  %0 = stablehlo.transpose %w, dims = [1, 0] : ({x}) -> {x}
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : ({x}, {x}) -> {x}
  return %1 : {x}
}}"""


def convolution(batch, inputs, outputs, size):
    x, w, out = tensor(batch, inputs, size, size), tensor(outputs, inputs, 3, 3), tensor(batch, outputs, size, size)
    return f"""func.func @main(%x: {x}, %w: {w}) -> {out} {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
       window = {{stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]}}
       {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {w}) -> {out}
  return %0 : {out}
}}"""


def microseconds(text, repeats=100):
    """The best of many runs on local-sync."""
    config = rt.Config("local-sync")
    module = rt.VmModule.copy_buffer(config.vm_instance, compile_text(text))
    hal = rt.create_hal_module(config.vm_instance, config.device)
    context = rt.VmContext(config.vm_instance, [hal, module])
    function = module.lookup_function("main")
    rng = np.random.default_rng(0)
    arrays, views = [], []
    types = parse_types(text)
    for shape in types:
        arrays.append(aligned(rng.standard_normal(shape).astype(np.float32)))
        buffer = config.device.allocator.import_host_allocation(arrays[-1], memory_type=MEMORY, allowed_usage=USAGE)
        views.append(rt.HalBufferView(buffer, shape=list(shape), element_type=ELEMENTS["f4"]))
    best = np.inf
    for _ in range(repeats):
        arguments, results = rt.VmVariantList(len(views)), rt.VmVariantList(4)
        for view in views:
            arguments.push_ref(view)
        started = time.perf_counter()
        context.invoke(function, arguments, results)
        best = min(best, time.perf_counter() - started)
    return best * 1e6


def parse_types(text):
    module = parse(text)
    block = module.body.operations[0].operation.regions[0].blocks[0]
    return [tuple(argument.type.shape) for argument in block.arguments]


CASES = {
    "merge_dots 1x64": ("merge_dots", products(1, 64, 3)),
    "merge_dots 128x128": ("merge_dots", products(128, 128, 3)),
    "merge_reductions 256x256 rows": ("merge_reductions", reductions(256, 256, 1)),
    "merge_reductions 256x256 columns": ("merge_reductions", reductions(256, 256, 0)),
    "merge_reductions 2048x512 rows": ("merge_reductions", reductions(2048, 512, 1)),
    "compute_once 2048x1024": ("compute_once", softmax(2048, 1024)),
    "compute_once 1000x1000": ("compute_once", softmax(1000, 1000)),
    "dot_transposes 256": ("dot_transposes", transposed(256)),
    "features_last 64x16x8x8": ("legalize", convolution(64, 16, 32, 8)),
    "features_last 8x64x28x28": ("legalize", convolution(8, 64, 64, 28)),
}

if __name__ == "__main__":
    for label, (pipeline, text) in CASES.items():
        module = parse(text)
        passes.run(module, pipeline)
        before, after = microseconds(text), microseconds(str(module))
        print(f"{label:<36}{before:9.1f} us -> {after:9.1f} us   {before / after:.2f}x")
