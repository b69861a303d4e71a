"""Compiles for AMD GPUs: in a process of their own, as the compiler crashes on some programs."""

import pytest
from click.testing import CliRunner

from stagec.backends import Target
from stagec.cli import cli
from stagec.compiler import outside
from stagec.compiler.driver import PHASES, CompilerResult
from stagec.compiler.flags import CompileOptions
from stagec.core.errors import CompileError

ROCM = Target.parse("rocm:gfx942")
SMALL = """func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.sqrt %x : tensor<5xf32>
  return %0 : tensor<5xf32>
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
    options = CompileOptions(dump=str(tmp_path), flag_set="plain")
    with pytest.raises(CompileError) as caught:
        if stage:
            outside.stage_text(PRODUCT, ROCM, stage, options, "f")
        else:
            outside.compile_module(PRODUCT, ROCM, options=options, name="f")
    headline, line, *rows, fix = str(caught.value).splitlines()
    assert headline == "f was not compiled: the compiler crashed (SIGSEGV) on stablehlo.dot_general"
    assert line.strip() == "model.py:4"
    assert [row.split()[0] for row in rows] == ["target", "flags", "module"]
    assert fix.startswith("  Fix: use another operation, dtype or shape for rocm:gfx942, or compute it outside jit; ")
    (saved,) = tmp_path.iterdir()
    assert saved.read_text() == PRODUCT


def test_after_a_crash_the_other_flag_sets_are_tried(monkeypatch):
    tried = []

    def call(function, program, source, target, *, options=None, **rest):
        tried.append(options.flag_set)
        if options.flag_set != "separate":
            raise outside._CrashError("SIGSEGV")
        return CompilerResult(b"code", options.flag_set, 1.0, ())

    monkeypatch.setattr(outside, "call", call)
    assert outside.compile_module(SMALL, ROCM).vmfb == b"code"
    assert tried == ["", "separate"]


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
    assert outside._crash(status) == said


def test_a_crash_on_windows_is_an_error_that_says_so(monkeypatch):
    class Done:
        returncode, stderr = 0xC00000FD, b""

    monkeypatch.setattr(outside.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(CompileError, match=r"the compiler crashed \(stack overflow\)"):
        outside.compile_module(SMALL, ROCM, options=CompileOptions(flag_set="plain"), name="f")


def test_a_refusal_is_the_same_error_as_in_this_process():
    with pytest.raises(CompileError, match="f is not a valid module"):
        outside.compile_module("func.func @main() { nonsense }", ROCM, name="f")


def test_all_stages_are_written_by_the_other_process(tmp_path):
    written = outside.dump_all(SMALL, ROCM, str(tmp_path), prefix="f")
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
