"""The driver on the real compiler: results run, refusals raise, nothing crashes or prints."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from iree.compiler import ir

import stagec
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler import diagnostics, driver, log, ready
from stagec.compiler.driver import compile_module, prepared, run
from stagec.compiler.flags import CompileOptions, ladder
from stagec.compiler.session import serialize, shares_contexts
from stagec.compiler.stages import stage_text
from stagec.core.errors import CompileError
from tests.workarounds.records import control_flow

CPU = Target.parse("cpu")
COMPILERS_OWN = CompileOptions(kernels=False)


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path_factory, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("scratch")))


def unary(operation, dtype="f32", shape="8"):
    tensor = f"tensor<{shape}x{dtype}>"
    return f"""func.func @main(%x: {tensor}) -> {tensor} {{
      %0 = {operation} %x : {tensor} loc("user.py":3:5)
      return %0 : {tensor}
    }}"""


def execute(vmfb, *arguments):
    import iree.runtime as rt

    context = rt.SystemContext(config=rt.Config("local-sync"))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, vmfb))
    function = next(module for name, module in context.modules.items() if name != "hal")["main"]
    return function(*arguments).to_host()


def test_a_compiled_program_runs():
    x = np.linspace(0, 1, 8, dtype=np.float32)
    compiled = compile_module(unary("stablehlo.sqrt"), CPU)
    np.testing.assert_allclose(execute(compiled.vmfb, x), np.sqrt(x), rtol=1e-6)
    assert compiled.flags == "direct" and [attempt.ok for attempt in compiled.attempts] == [True]
    assert compiled.seconds > 0 and not compiled.warnings


def test_float64_keeps_its_precision():
    x = np.linspace(0, 1, 8)
    np.testing.assert_array_equal(execute(compile_module(unary("stablehlo.sqrt", "f64"), CPU).vmfb, x), np.sqrt(x))


def test_text_bytecode_and_a_module_are_all_accepted():
    text = unary("stablehlo.negate")
    x = np.arange(8, dtype=np.float32)
    with ir.Context() as context:
        context.load_all_available_dialects()
        module = ir.Module.parse(text)
        before = str(module)
        for source in (module, serialize(module), text, text.encode()):
            np.testing.assert_array_equal(execute(compile_module(source, CPU).vmfb, x), -x)
        assert str(module) == before


def test_compiling_twice_gives_the_same_bytes():
    text = unary("stablehlo.negate")
    assert compile_module(text, CPU).vmfb == compile_module(text, CPU).vmfb


def test_a_refused_flag_set_leads_to_the_next_one():
    x = np.arange(4.0, dtype=np.float32)
    flag_sets = ladder(CPU)
    bad = type(flag_sets[0])("bad", ("--iree-no-such-flag",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ready, "ladder", lambda *a, **k: (bad, *flag_sets))
        compiled = compile_module(unary("stablehlo.negate", shape="4"), CPU)
    assert compiled.flags == "direct"
    assert "iree-no-such-flag" in compiled.attempts[0].error
    np.testing.assert_array_equal(execute(compiled.vmfb, x), -x)


def test_eight_threads_compile_at_once():
    results, names = {}, ["sqrt", "negate", "abs", "exponential", "floor", "ceil", "sign", "rsqrt"]

    def work(name):
        results[name] = compile_module(unary(f"stablehlo.{name}"), CPU).vmfb

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    x = np.full(8, 2.25, np.float32)
    assert execute(results["sqrt"], x)[0] == 1.5
    assert execute(results["floor"], x)[0] == 2.0
    assert len(results) == 8


def test_other_threads_run_during_a_compile():
    ticks, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    compile_module(unary("stablehlo.sqrt"), CPU, options=CompileOptions(kernels=False))  # takes a tenth of a second
    done.set()
    thread.join()
    assert ticks[0] > 5


def test_a_failed_link_is_an_error_that_says_which_function_is_missing(capfd):
    # Where the compiler's modules are read back, vectors of no elements, which it makes of these, are not.
    reason = "undefined symbol: sin" if shares_contexts() else "invalid vector type"
    with pytest.raises(CompileError, match=reason) as caught:
        compile_module(unary("stablehlo.sine", "f64"), CPU, name="wave")
    assert str(caught.value).startswith("wave was not compiled")
    assert "Fix: " in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_refused_operation_names_the_line_and_prints_nothing(capfd):
    text = unary("stablehlo.cbrt", "f64")
    with pytest.raises(CompileError) as caught:
        compile_module(text, CPU)
    assert "user.py:3" in str(caught.value)
    assert "'plain'" in str(caught.value) and "'separate'" in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("phase", [*driver.WORKAROUNDS, *driver.OPTIMIZATIONS])
def test_a_module_that_is_malformed_between_two_phases_is_refused(phase, monkeypatch):
    def spoil(module):
        for end in operations_in(module, "util.return", "func.return", "vm.return"):
            end.erase()

    source = serialize(prepared(unary("stablehlo.sqrt").encode(), CPU, "main"))
    flags = ladder(CPU)[0]
    assert run(source, flags)[1].ok
    monkeypatch.setitem(driver.WORKAROUNDS if phase in driver.WORKAROUNDS else driver.OPTIMIZATIONS, phase, spoil)
    output, attempt = run(source, flags)
    assert not output and not attempt.ok
    assert "terminator" in attempt.diagnostics[0].message


def test_a_refused_module_is_saved_in_the_cache(tmp_path):
    text = unary("stablehlo.cbrt", "f64")
    cached = stagec.config.override(enable_cache=True, cache_dir=str(tmp_path))
    with cached, pytest.raises(CompileError) as caught:
        compile_module(text, CPU, options=CompileOptions(flag_set="plain"))
    (saved,) = (tmp_path / "refused").iterdir()
    assert str(saved) in str(caught.value)
    assert saved.read_text() == text


def complex_constant(values):
    return f"""func.func @main() -> tensor<2xcomplex<f64>> {{
      %0 = stablehlo.constant dense<{values}> : tensor<2xcomplex<f64>> loc("user.py":9:1)
      return %0 : tensor<2xcomplex<f64>>
    }}"""


def test_a_complex128_constant_is_refused_before_it_ends_the_process():
    with pytest.raises(CompileError, match="complex128 constant") as caught:
        compile_module(complex_constant("[(1.0,2.0),(3.0,4.0)]"), CPU)
    assert "user.py:9" in str(caught.value)


def test_a_complex128_constant_of_one_value_compiles():
    text = """func.func @main(%x: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
      %0 = stablehlo.constant dense<(1.0,2.0)> : tensor<2xcomplex<f64>>
      %1 = stablehlo.add %x, %0 : tensor<2xcomplex<f64>>
      return %1 : tensor<2xcomplex<f64>>
    }"""
    x = np.array([1j, 2.0])
    np.testing.assert_array_equal(execute(compile_module(text, CPU).vmfb, x), x + (1 + 2j))


@pytest.mark.parametrize(
    "body",
    ['"foo.bar"() : () -> ()', '"stablehlo.no_such"() : () -> ()', '"stablehlo.add"() : () -> ()', "%0 = nonsense"],
)
def test_unknown_and_malformed_operations_are_refused(body):
    with pytest.raises(CompileError, match="not a valid module"):
        compile_module(f"func.func @main() {{ {body}\n return }}", CPU)


def test_unknown_operations_built_in_a_lenient_context_are_refused():
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse('func.func @main() { "foo.bar"() : () -> () loc("user.py":7:1)\n return }')
        with pytest.raises(CompileError, match="foo"):
            compile_module(module, CPU)


def test_truncated_bytecode_is_refused():
    with ir.Context():
        source = serialize(ir.Module.parse("func.func @main() { return }"))
    for size in range(4, len(source), 7):
        with pytest.raises(CompileError):
            prepared(source[:size], CPU, "cut")


def test_elementwise_sums_keep_their_order_inside_a_reduction():
    text = """func.func @main(%x: tensor<4x64xf32>) -> tensor<4xf32> {
      %big = stablehlo.constant dense<1.0e8> : tensor<4x64xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.add %x, %big : tensor<4x64xf32>
      %1 = stablehlo.subtract %0, %big : tensor<4x64xf32>
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(execute(compile_module(text, CPU).vmfb, np.ones((4, 64), np.float32)), np.zeros(4))


@pytest.mark.skipif(os.name != "posix", reason="links are redirected through a POSIX shell")
def test_an_installation_path_with_spaces_can_link(tmp_path, monkeypatch):
    (tmp_path / "my files").mkdir()
    linked = tmp_path / "my files" / "iree-lld"
    linked.symlink_to(diagnostics.linker_path())
    monkeypatch.setattr(diagnostics, "linker_path", lambda: str(linked))
    assert compile_module(unary("stablehlo.sqrt"), CPU).vmfb


def test_an_asynchronous_program_takes_fences():
    flag_set = ladder(CPU, CompileOptions(asynchronous=True))[0]
    output, attempt = run(unary("stablehlo.sqrt").encode(), flag_set, until="abi")
    assert attempt.ok and output.count(b"!hal.fence") >= 2


def test_compiles_are_recorded_and_silent_unless_asked_for(capfd):
    log.clear()
    compile_module(unary("stablehlo.sqrt"), CPU, name="quiet")
    (record,) = [r for r in log.records("compile") if r.fields["name"] == "quiet"]
    assert record.message == "compiled" and record.fields["flags"] == "direct" and record.fields["bytes"] > 1000
    assert capfd.readouterr() == ("", "")


def test_the_log_option_prints_events_of_its_kinds_with_times():
    code = (
        "from stagec.compiler import log; log.event('compile', 'compiled', seconds=1.23456); log.event('cache', 'hit')"
    )
    env = {**os.environ, "STAGEC_LOG": "compile"}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    (line,) = result.stderr.splitlines()
    assert line.endswith("stagec compile: compiled seconds=1.23") and line[2] == ":" and not result.stdout


def test_what_is_computed_from_complex128_constants_alone_is_right():
    """Computed once, ahead of the first call, and kept, it would read back as other numbers."""
    text = """func.func @main(%a: T, %b: T, %c: T, %d: T, %e: T, %f: T) -> T {
      %0 = stablehlo.add %e, %d : T
      %one = stablehlo.constant dense<(1.0,0.0)> : T
      %1 = stablehlo.multiply %c, %c : T
      %2 = stablehlo.divide %one, %1 : T
      %re = stablehlo.constant dense<[0.5, -0.4]> : tensor<2xf64>
      %im = stablehlo.constant dense<[0.1, -0.3]> : tensor<2xf64>
      %3 = stablehlo.complex %re, %im : T
      %4 = stablehlo.negate %3 : T
      %5 = stablehlo.multiply %4, %f : T
      %6 = stablehlo.multiply %5, %a : T
      %7 = stablehlo.multiply %6, %b : T
      %8 = stablehlo.multiply %a, %2 : T
      %9 = stablehlo.multiply %8, %0 : T
      %10 = stablehlo.negate %9 : T
      %11 = stablehlo.add %7, %10 : T
      return %11 : T
    }""".replace("T", "tensor<2xcomplex<f64>>")
    rng = np.random.default_rng(0)
    a, b, c, d, e, f = (rng.normal(size=2) + 1j * rng.normal(size=2) for _ in range(6))
    wanted = -np.array([0.5 + 0.1j, -0.4 - 0.3j]) * f * a * b - a / c**2 * (d + e)
    np.testing.assert_allclose(execute(compile_module(text, CPU).vmfb, a, b, c, d, e, f), wanted, rtol=1e-12)


ALLOCATION = """
import sys
from passes.bindings import new_context
from stagec.compiler import phase_workarounds
from stagec.compiler.mlir import ir, load_phases

load_phases()
text = '''util.func public @f(%device: !hal.device) -> !hal.buffer {
  %none = util.null : !hal.fence
  %queue = arith.constant -1 : i64
  %pool = arith.constant 0 : i64
  %size = arith.constant 8 : index
  %memory = hal.memory_type<"DeviceVisible|DeviceLocal"> : i32
  %usage = hal.buffer_usage<"Transfer"> : i32
  %buffer = hal.device.queue.alloca<%device : !hal.device> affinity(%queue) wait(%none) signal(%none) pool(%pool)
    type(%memory) usage(%usage) flags("None") : !hal.buffer{%size}
  util.return %buffer : !hal.buffer
}'''
module = ir().Module.parse(text, new_context())
assert phase_workarounds.allocate_on_host(module) == 1
assert "hal.allocator.allocate" in str(module)
"""


def test_memory_of_loops_that_nothing_is_to_wait_for_is_allocated_by_the_host():
    # In a process of its own, since a fault here is a loop without an end in MLIR.
    subprocess.run([sys.executable, "-c", ALLOCATION], check=True, timeout=60)


@pytest.mark.parametrize(("target", "waits"), [("vulkan:portable", True), ("vulkan:ampere", False)])
def test_a_vulkan_device_of_no_known_kind_is_given_work_in_order(target, waits):
    """Otherwise two threads give it work in the rounds of a loop, for which a driver of Mesa's may lose the device."""
    text = """func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
      %limit = stablehlo.constant dense<9.0> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.while(%a = %x) : tensor<5xf32> cond {
        %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
        %2 = stablehlo.compare LT, %1, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %1 = stablehlo.add %a, %a : tensor<5xf32>
        stablehlo.return %1 : tensor<5xf32>
      }
      return %0 : tensor<5xf32>
    }"""
    options = CompileOptions(asynchronous=True)
    program = stage_text(text, Target.parse(target), "hal", options).partition("@main")[2]
    calls = re.findall(r"hal\.(device\.queue\.[\w.]+|fence\.await)", program)
    work = [i for i, name in enumerate(calls) if name.startswith("device.queue.")]
    assert len(work) >= 2
    assert ("device.queue.alloca" in calls) is not waits
    assert all("fence.await" in calls[i + 1 : i + 2] for i in work[:-1]) is waits


@pytest.mark.parametrize("flag_set", ["plain", "separate"])
def test_what_is_computed_from_nothing_is_read_inside_and_outside_of_a_loop(flag_set):
    (record,) = [record for record in control_flow.WORKAROUNDS if record.id == "source-read-on-both-sides-of-a-loop"]
    made = compile_module(record.shown_by.text, CPU, options=CompileOptions(flag_set=flag_set))
    assert made.flags == flag_set
