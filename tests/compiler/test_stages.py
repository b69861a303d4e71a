"""Every stage of the compiler can be printed and dumped."""

import os

import pytest

from stagec.backends import Target
from stagec.compiler.stages import PHASES, STAGES, dump_all, stage_text
from stagec.core.errors import CompileError

CPU = Target.parse("cpu")
TEXT = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.sqrt %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
TYPICAL = {
    **{"stablehlo": "stablehlo.sqrt", "optimized": "stablehlo.sqrt", "input": "math.sqrt", "abi": "hal.tensor.import"},
    **{
        "flow": "flow.dispatch",
        "stream": "stream.",
        "hal": "hal.executable",
        "vm": "vm.module",
        "llvm": "define ",
        "asm": "elements:",
    },
}


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path_factory, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("scratch")))


@pytest.mark.parametrize("stage", TYPICAL)
def test_a_stage_shows_its_own_operations(stage):
    assert TYPICAL[stage] in stage_text(TEXT, CPU, stage)


def test_an_unknown_stage_names_the_known_ones():
    with pytest.raises(ValueError, match="executable-sources"):
        stage_text(TEXT, CPU, "linalg")


@pytest.mark.parametrize(("target", "word"), [("cpu", "elements:"), ("cuda", ".target sm_80"), ("vulkan", "spirv.")])
def test_everything_is_dumped_in_order(tmp_path, target, word):
    written = dump_all(TEXT, Target.parse(target), str(tmp_path / "out"), name="f")
    names = [os.path.basename(path) for path in written]
    phases = [f"f.{number:02}-{phase}.mlir" for number, phase in enumerate(PHASES, start=1)]
    assert names == ["f.00-stablehlo.mlir", *phases, "f.asm"]
    assert sorted(names) == sorted(os.listdir(tmp_path / "out"))
    assert all(os.path.getsize(path) for path in written)
    with open(written[-1]) as file:
        assert word in file.read()


def test_stages_name_the_phases_in_order():
    assert ["stablehlo", "optimized", "kernels", *PHASES, "llvm", "asm"] == list(STAGES)


def test_a_program_that_does_not_compile_leaves_the_phases_it_reached(tmp_path):
    text = TEXT.replace("f32", "f64").replace("sqrt", "sine")
    names = [os.path.basename(path) for path in dump_all(text, CPU, str(tmp_path))]
    assert "main.06-flow.mlir" in names and "main.12-vm.mlir" in names


def test_a_stage_out_of_reach_is_a_compile_error():
    with pytest.raises(CompileError, match="main was not compiled"):
        stage_text(TEXT.replace("f32", "f64").replace("sqrt", "cbrt"), CPU, "hal")
