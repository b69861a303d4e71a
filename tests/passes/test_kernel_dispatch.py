"""Kernels that stagec writes itself: how they come into a module, and that they run as written."""

import iree.runtime as rt
import numpy as np
import pytest
from pass_helpers import RUNNING_SUMS

from passes import PassOptions, bindings, kernels
from passes.analysis.aliases import mutated_arguments, returned_arguments
from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.processor import Processor
from passes.kernels.writer import Buffer, Writer
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler import direct, driver, log, ready
from stagec.compiler.flags import CompileOptions

CPU = Target.parse("cpu")


def copying(size, element, name="copy"):
    """A kernel that copies its input, in two workgroups."""
    w = Writer()
    source, target = (Buffer(name, size, ELEMENTS[element].stored) for name in ("%x", "%y"))
    half = size // 2
    with w.at('loc("user.py":7:3)'):
        start = w.mul(w.workgroup(0, 2), half)

        def body(i, _):
            w.store(w.load(source, i), target, i)

        w.loop(start, w.add(start, half), 1, body)
    return Kernel.written(name, w, [source], [target], [2])


def copy_negations(table, processor):
    """A former for these tests: it turns every negation, and every `not`, into a copy."""
    found = [op for op in operations_in(table.module.operation) if op.name in ("stablehlo.negate", "stablehlo.not")]
    for op in found:
        type_ = op.results[0].type
        with bindings.ir.InsertionPoint(op), op.location:
            kernel = copying(int(np.prod(type_.shape)), str(type_.element_type))
            (result,) = table.dispatch(kernel, [op.operands[0]], [type_])
        op.results[0].replace_all_uses_with(result)
        op.erase()
    return {"copies": len(found)} if found else {}


@pytest.fixture
def copies(monkeypatch):
    monkeypatch.setattr(kernels, "_FORMERS", (copy_negations,))


def program(element, body=None, size=8):
    t = f"tensor<{size}x{element}>"
    body = body or f'%0 = stablehlo.negate %x : {t} loc("model.py":4:1)'
    return f"func.func @main(%x: {t}) -> {t} {{ {body} return %0 : {t} }}"


def formed(text):
    module = bindings.ir.Module.parse(text, bindings.new_context())
    return module, kernels.form(module, PassOptions())


def execute(vmfb, *arguments):
    context = rt.SystemContext(config=rt.Config("local-task"))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, vmfb))
    function = next(module for name, module in context.modules.items() if name != "hal")["main"]
    return function(*arguments).to_host()


@pytest.mark.parametrize("element", ["f32", "i8", "f64"])
def test_a_kernel_takes_the_place_of_an_operation(copies, element):
    compiled = driver.compile_module(program(element), CPU)
    x = np.arange(8).astype({"f32": "float32", "i8": "int8", "f64": "float64"}[element])
    assert compiled.flags == "direct"
    np.testing.assert_array_equal(execute(compiled.vmfb, x), x)


def test_booleans_and_unsigned_integers_cross_the_border(copies):
    text = """func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {
      %limit = stablehlo.constant dense<3> : tensor<8xi32>
      %p = stablehlo.compare GT, %x, %limit : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %q = stablehlo.not %p : tensor<8xi1>
      %u = stablehlo.convert %x : (tensor<8xi32>) -> tensor<8xui32>
      %v = stablehlo.negate %u : tensor<8xui32>
      %w = stablehlo.convert %v : (tensor<8xui32>) -> tensor<8xi32>
      %r = stablehlo.select %q, %w, %limit : tensor<8xi1>, tensor<8xi32>
      return %r : tensor<8xi32>
    }"""
    compiled = driver.compile_module(text, CPU)
    x = np.arange(8, dtype=np.int32)
    np.testing.assert_array_equal(execute(compiled.vmfb, x), np.where(x > 3, x, 3))


def test_equal_kernels_are_emitted_once_and_names_are_unique(copies):
    body = """%a = stablehlo.negate %x : tensor<8xf32>
      %b = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<4x2xf32>
      %c = stablehlo.negate %b : tensor<4x2xf32>
      %d = stablehlo.slice %c [0:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
      %e = stablehlo.negate %d : tensor<2x2xf32>
      %f = stablehlo.concatenate %e, %e, dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
      %0 = stablehlo.reshape %f : (tensor<4x2xf32>) -> tensor<8xf32>"""
    module, hits = formed(program("f32", body))
    assert hits == {"copies": 3}
    names = [op.attributes["sym_name"].value for op in module.body.operations]
    assert sorted(names) == ["copy", "copy_1", "main"]
    assert module.operation.verify()


def test_calls_of_kernels_are_operations_that_their_context_knows(copies):
    # The compiler crashes on those of a dialect that was loaded later; they are printed in quotes.
    text = str(formed(program("f32"))[0])
    assert "flow.dispatch @" in text and '"flow.dispatch"' not in text


def test_every_operation_of_a_kernel_has_a_line_of_the_users(copies):
    module, _ = formed(program("f32"))
    executable = module.body.operations[0].operation
    # MLIR adds the ends of executables itself.
    inside = [op for op in operations_in(executable) if op.name != "stream.executable.end"]
    assert len(inside) > 10
    # A kernel's own ops say what the writer was told; the call has the line of the operation that it replaces.
    assert {str(op.location) for op in inside} == {'loc("user.py":7:3)'}
    (call,) = (op for op in operations_in(module.operation) if op.name == "flow.dispatch")
    assert str(call.location) == 'loc("model.py":4:1)'


def test_a_dispatch_neither_overwrites_nor_returns_its_operands(copies):
    module, _ = formed(program("f32"))
    assert mutated_arguments(module) == () and returned_arguments(module) == ()


def test_a_donated_argument_of_a_kernel_is_not_written_over(copies):
    text = program("f32").replace("%x: tensor<8xf32>", "%x: tensor<8xf32> {iree.abi.output = 0 : index}")
    module, _ = formed(text)
    assert "iree.abi.output" not in str(module)


def test_what_the_compiler_refuses_is_compiled_without_kernels(monkeypatch):
    def unknown_function(table, processor):
        (op,) = (op for op in operations_in(table.module.operation) if op.name == "stablehlo.negate")
        w = Writer()
        buffers = [Buffer("%x", 8, "f64"), Buffer("%y", 8, "f64")]
        with w.at(op.location):
            w.store(w.op("math.cbrt", (w.load(buffers[0], 0),), "f64"), buffers[1], 0)
        kernel = Kernel.written("cube_root", w, buffers[:1], buffers[1:], [1])
        with bindings.ir.InsertionPoint(op), op.location:
            (result,) = table.dispatch(kernel, [op.operands[0]], [op.results[0].type])
        op.results[0].replace_all_uses_with(result)
        op.erase()
        return {"cube_root": 1}

    monkeypatch.setattr(kernels, "_FORMERS", (unknown_function,))
    compiled = driver.compile_module(program("f64"), CPU)
    assert [attempt.flag_set for attempt in compiled.attempts] == ["kernels", "plain"]
    np.testing.assert_array_equal(execute(compiled.vmfb, np.ones(8)), -np.ones(8))


def test_a_fault_in_forming_kernels_leaves_the_program_without(monkeypatch):
    def fails(table, processor):
        raise KeyError("an operation")

    monkeypatch.setattr(kernels, "_FORMERS", (fails,))
    compiled = driver.compile_module(program("f64"), CPU)
    assert compiled.flags == "plain"
    np.testing.assert_array_equal(execute(compiled.vmfb, np.ones(8)), -np.ones(8))
    assert [r.message for r in log.records("compile") if "KeyError" in r.message] == [
        "no kernels: KeyError: 'an operation'"
    ]
    log.clear()


def test_a_fault_of_the_short_way_leaves_the_long_one(monkeypatch, copies):
    def fails(module):
        raise KeyError("an operation")

    monkeypatch.setattr(direct.reading, "read", fails)
    compiled = driver.compile_module(program("f64"), CPU)
    assert compiled.flags == "kernels"
    np.testing.assert_array_equal(execute(compiled.vmfb, np.ones(8)), np.ones(8))
    assert [r.message for r in log.records("compile") if "KeyError" in r.message] == [
        "no direct compilation: KeyError: 'an operation'"
    ]
    log.clear()


def test_kernels_can_be_switched_off(copies):
    compiled = driver.compile_module(program("f32"), CPU, options=CompileOptions(kernels=False))
    assert compiled.flags == "plain"


def test_other_backends_have_no_kernels_of_ours(copies):
    module = bindings.ir.Module.parse(program("f32"), bindings.new_context())
    assert kernels.form(module, PassOptions(laws="spirv")) == {}
    assert driver.compile_module(program("f32"), Target.parse("vulkan")).flags == "plain"


@pytest.mark.parametrize(
    ("target", "width", "registers"),
    [("cpu:x86-64", 16, 16), ("cpu:x86-64-v3", 32, 16), ("cpu:x86-64-v4", 64, 32), ("cpu:aarch64", 16, 32)],
)
def test_a_processor_is_modelled_after_its_target(target, width, registers):
    options = ready.pass_options(Target.parse(target))
    model = Processor.of(options.machine, options.features)
    assert (model.vector_bytes, model.registers) == (width, registers)


@pytest.mark.parametrize("flags", ["direct", "kernels"])
def test_kernels_of_constants_alone_are_right_beside_others(flags):
    x = np.arange(1, 7, dtype=np.float32)
    compiled = driver.compile_module(RUNNING_SUMS, CPU, options=CompileOptions(flag_set=flags))
    np.testing.assert_array_equal(execute(compiled.vmfb, x), 2 * x * x)
