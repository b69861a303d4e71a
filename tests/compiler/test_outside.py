"""Where the compiler may crash, it runs in a process of its own: for AMD GPUs, for loops, and after a refusal."""

import pytest
from click.testing import CliRunner

import stagec
from stagec.backends import Target
from stagec.cli import cli
from stagec.compiler import driver, outside, process, stages
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.compiler.driver import PHASES
from stagec.compiler.flags import CompileOptions
from stagec.core.errors import CompileError

ROCM = Target.parse("rocm:gfx942")
CPU = Target.parse("cpu")
SMALL = """func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.sqrt %x : tensor<5xf32>
  return %0 : tensor<5xf32>
}"""
LOOPS = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %y: tensor<f32>)
    -> (tensor<i32>, tensor<4xf32>, tensor<f32>) {
  %0:3 = stablehlo.while(%i = %n, %a = %x, %s = %y) : tensor<i32>, tensor<4xf32>, tensor<f32>
  cond {
    %most = stablehlo.constant dense<100.0> : tensor<f32>
    %1 = stablehlo.compare LT, %s, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.add %a, %a : tensor<4xf32>
    %2:3 = stablehlo.while(%j = %zero, %b = %a, %c = %1) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %5 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %j, %one : tensor<i32>
      %6 = stablehlo.add %b, %c : tensor<4xf32>
      %7 = stablehlo.add %c, %c : tensor<4xf32>
      stablehlo.return %5, %6, %7 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.add %i, %2#0 : tensor<i32>
    %4 = stablehlo.reduce(%2#2 init: %none) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %3, %2#1, %4 : tensor<i32>, tensor<4xf32>, tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<i32>, tensor<4xf32>, tensor<f32>
}"""
# The passes would make products of real numbers of it.
PRODUCT = """func.func @main(%x: tensor<3x4xcomplex<f32>>, %y: tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
  %0 = stablehlo.add %x, %x : tensor<3x4xcomplex<f32>> loc("model.py":3:5)
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]
    : (tensor<3x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> loc("model.py":4:9)
  return %1 : tensor<3x2xcomplex<f32>>
}"""


@pytest.mark.parametrize("stage", ["", "asm"])
def test_a_crash_is_an_error_that_names_the_operation_and_the_line(stage, tmp_path):
    options = CompileOptions(flag_set="plain")
    cached = stagec.config.override(enable_cache=True, cache_dir=str(tmp_path))
    with cached, pytest.raises(CompileError) as caught:
        if stage:
            stages.stage_text(PRODUCT, ROCM, stage, options, "f")
        else:
            outside.compile_module(PRODUCT, ROCM, options=options, name="f")
    headline, line, *rows, fix = str(caught.value).splitlines()
    assert headline == "f was not compiled: the compiler crashed (SIGSEGV) on stablehlo.dot_general"
    assert line.strip() == "model.py:4"
    assert [row.split()[0] for row in rows] == ["target", "flags", "module"]
    assert fix.startswith("  Fix: use another operation, dtype or shape for rocm:gfx942, or compute it outside jit; ")
    (saved,) = (tmp_path / "refused").iterdir()
    assert saved.read_text() == PRODUCT


def test_after_a_crash_the_other_flag_sets_are_tried(monkeypatch):
    tried = []

    def call(function, program, source, flag_set, **rest):
        tried.append(flag_set.name)
        if flag_set.name != "separate":
            raise process.CrashError("SIGSEGV")
        return b"code", Attempt(flag_set.name, 1.0, True)

    monkeypatch.setattr(process, "call", call)
    assert outside.compile_module(SMALL, ROCM).vmfb == b"code"
    assert tried == ["plain", "separate"]


def test_after_a_refusal_the_compiler_cannot_crash_this_process(monkeypatch):
    """IREE has crashed on modules that it had refused with other flags."""

    def run(source, flag_set, *, link):
        return b"", Attempt(flag_set.name, 1.0, False, (Diagnostic("error", "no form"),))

    def call(function, program, source, flag_set, **rest):
        raise process.CrashError("SIGSEGV")

    monkeypatch.setattr(driver, "run", run)
    monkeypatch.setattr(process, "call", call)
    with pytest.raises(CompileError, match="no form") as caught:
        outside.compile_module(SMALL, CPU, options=CompileOptions(kernels=False), name="f")
    assert "the compiler crashed (SIGSEGV)" in str(caught.value)


def test_a_crash_on_loops_is_an_error():
    """The passes would rewrite these loops; IREE crashes on them as they are."""
    options = CompileOptions(kernels=False)
    with pytest.raises(CompileError, match=r"f was not compiled: the compiler crashed \(SIG[A-Z]+\)"):
        outside.compile_module(LOOPS, CPU, options=options, name="f")
    with pytest.raises(CompileError, match=r"f was not compiled: the compiler crashed \(SIG[A-Z]+\)"):
        stages.stage_text(LOOPS, CPU, "vm", options, "f")


@pytest.mark.parametrize(
    "status, said",
    [
        (0, ""),
        (1, ""),
        (-11, "SIGSEGV"),
        (-200, "signal 200"),
        (0xC0000005, "access violation"),
        (0xC0000006, "status 0xc0000006"),
    ],
)
def test_a_crash_is_known_by_the_status_on_every_system(status, said):
    assert process._crash(status) == said


def test_a_crash_on_windows_is_an_error_that_says_so(monkeypatch):
    class Done:
        returncode, stderr = 0xC00000FD, b""

    monkeypatch.setattr(process.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(CompileError, match=r"the compiler crashed \(stack overflow\)"):
        outside.compile_module(SMALL, ROCM, options=CompileOptions(flag_set="plain"), name="f")


def test_a_refusal_is_the_same_error_as_in_this_process():
    with pytest.raises(CompileError, match="f is not a valid module"):
        outside.compile_module("func.func @main() { nonsense }", ROCM, name="f")


def test_all_stages_are_written_by_the_other_process(tmp_path):
    written = stages.dump_all(SMALL, ROCM, str(tmp_path), name="f")
    assert len(written) == len(PHASES) + 2
    assert ".amdgcn_target" in (tmp_path / "f.asm").read_text()


def test_the_command_compiles_a_file_for_amd_gpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text("def double(x):\n    return x * 2\n")
    target = ["--target", "rocm:gfx1100"]
    done = CliRunner().invoke(cli, ["compile", "doubling.py:double", "f32[5]", "-o", "out.stagec", *target])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(cli, ["inspect", "out.stagec", "--check"]).output
    assert "rocm:gfx1100" in shown and "for rocm devices" in shown
