"""Compile a module with IREE and run it, generate programs, and compare bits."""

import functools

import numpy as np
from iree.compiler.api import Output, Session
from iree.runtime import _binding as binding

from passes import bindings
from passes.match import functions

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-type=stablehlo",
    "--iree-input-demote-f64-to-f32=false",
)
USAGE = int(binding.BufferUsage.DEFAULT | binding.BufferUsage.MAPPING)
MEMORY = int(binding.MemoryType.HOST_LOCAL | binding.MemoryType.DEVICE_VISIBLE)
ELEMENTS = {
    "b": binding.HalElementType.BOOL_8,
    "f4": binding.HalElementType.FLOAT_32,
    "f8": binding.HalElementType.FLOAT_64,
    "f2": binding.HalElementType.FLOAT_16,
    "i1": binding.HalElementType.SINT_8,
    "i2": binding.HalElementType.SINT_16,
    "i4": binding.HalElementType.SINT_32,
    "i8": binding.HalElementType.SINT_64,
    "u1": binding.HalElementType.UINT_8,
    "u2": binding.HalElementType.UINT_16,
    "u4": binding.HalElementType.UINT_32,
    "u8": binding.HalElementType.UINT_64,
    "c8": binding.HalElementType.COMPLEX_64,
}

# The running sums of an array of one number, times the argument.
RUNNING_SUMS = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<6xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %w = "stablehlo.reduce_window"(%c, %z)
    <{window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32> }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %y = stablehlo.multiply %w, %x : tensor<6xf32>
  return %y : tensor<6xf32>
}"""


def parse(text):
    """A module, in one context for all: a new one takes longer than most laws of a small program."""
    return bindings.ir.Module.parse(text, _context())


@functools.cache
def _context():
    return bindings.new_context()


def op_names(module):
    """The names of the ops of @main in order, terminator left out, constants first."""
    block = module.body.operations[0].operation.regions[0].blocks[0]
    names = [op.operation.name.split(".", 1)[1] for op in block.operations][:-1]
    return [n for n in names if n == "constant"] + [n for n in names if n != "constant"]


def aligned(array):
    """A copy of `array` whose memory starts at a multiple of 64 bytes."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def compile_text(text):
    session = Session()
    session.set_flags(*FLAGS)
    bindings.prepare(session.context)
    invocation = session.invocation()
    invocation.enable_console_diagnostics()
    module = bindings.ir.Module.parse(text, session.context)
    invocation.import_module(module.operation)
    assert invocation.execute(), "IREE refuses the program"
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    return bytes(output.map_memory())


def run_iree(text, *arrays):
    """Compile and run on local-sync; arrays that are 64-byte aligned go in without a copy."""
    import iree.runtime as rt

    config = rt.Config("local-sync")
    context = rt.VmContext(config.vm_instance, [])
    module = rt.VmModule.copy_buffer(config.vm_instance, compile_text(text))
    context = rt.VmContext(config.vm_instance, [rt.create_hal_module(config.vm_instance, config.device), module])
    arguments = rt.VmVariantList(len(arrays))
    allocator = config.device.allocator
    keep = []
    for array in arrays:
        kind = "b" if array.dtype == bool else array.dtype.kind + str(array.dtype.itemsize)
        array = array if array.ctypes.data % 64 == 0 else aligned(array)
        keep.append(array)
        view = rt.HalBufferView(
            allocator.import_host_allocation(array, memory_type=MEMORY, allowed_usage=USAGE),
            shape=list(array.shape),
            element_type=ELEMENTS[kind],
        )
        arguments.push_ref(view)
        keep.append(view)
    results = rt.VmVariantList(8)
    context.invoke(module.lookup_function("main"), arguments, results)
    out = []
    types = functions(parse(text))["main"].attributes["function_type"].value.results
    from passes.types import numpy_dtype

    for i, type_ in enumerate(types):
        view = results.get_as_object(i, rt.HalBufferView)
        mapped = view.map().asarray(list(view.shape), numpy_dtype(type_.element_type))
        out.append(np.array(mapped))
    return out


def same_bits(expected, actual):
    """Equal bit for bit, except that all NaN are one."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return False
    if expected.dtype.kind in "fcV":
        nan = np.isnan(expected)
        if not np.array_equal(nan, np.isnan(actual)):
            return False
        expected, actual = expected[~nan], actual[~nan]
    return expected.tobytes() == actual.tobytes()
