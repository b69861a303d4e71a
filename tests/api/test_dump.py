"""`STAGEC_DUMP`: every stage of every compile, as files."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import stagec
import stagec.numpy as snp

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def folder(tmp_path):
    """Compile a function with dumps on; the folder it wrote."""
    stagec.clear_caches()

    def wave(x, scale):
        return snp.exp(x) * scale + (x + 0.0)

    with stagec.config.override(dump=str(tmp_path / "dumps")):
        stagec.jit(wave)(snp.ones(64), snp.float32(3))
    (made,) = (tmp_path / "dumps").iterdir()
    return made


def test_the_folder_is_named_after_function_and_key(folder):
    name, key = folder.name.split("-")
    assert name == "wave"
    assert len(key) == 12


def test_every_stage_is_a_file(folder):
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert {"graph.txt", "stablehlo.mlir", "optimized.mlir", "passes.txt", "passes/01-forms.mlir"} <= set(names)
    assert {"iree/main.01-input.mlir", "iree/main.06-flow.mlir", "iree/main.12-vm.mlir", "iree/main.asm"} <= set(names)
    assert all((folder / name).stat().st_size for name in names)


def test_each_file_holds_its_stage(folder):
    assert (folder / "graph.txt").read_text().startswith("{ lambda ; a:f32[64] b:f32[]. let")
    assert "stablehlo.exponential" in (folder / "stablehlo.mlir").read_text()
    assert "flow.dispatch" in (folder / "iree" / "main.06-flow.mlir").read_text()
    assert ".text" in (folder / "iree" / "main.asm").read_text()


def test_stablehlo_names_the_users_line(folder):
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "snp.exp(x)" in text)
    for name in ("stablehlo.mlir", "optimized.mlir"):
        assert f'test_dump.py":{line}' in (folder / name).read_text()
    phases = sorted((folder / "iree").glob("main.*-*.mlir"))[1:]
    assert len(phases) == 12
    for path in phases:
        assert f'test_dump.py":{line}' in path.read_text(), path.name


def test_the_graph_names_the_users_line_in_each_step(folder):
    steps = [text for text in (folder / "graph.txt").read_text().splitlines() if " = " in text]
    assert any(" = exp " in text for text in steps)
    function = "folder.wave" if sys.version_info >= (3, 11) else "wave"
    assert all(re.search(rf"  # test_dump\.py:\d+ in {re.escape(function)}$", text) for text in steps)


def test_phases_come_without_lines_where_the_compilers_command_is_missing(tmp_path, monkeypatch):
    from iree.compiler.tools import binaries

    def missing(name):
        raise ValueError(f"no {name} here")

    monkeypatch.setattr(binaries, "find_tool", missing)
    with stagec.config.override(dump=str(tmp_path)):
        assert stagec.jit(lambda x: snp.sin(x) + 12.5)(1.0) > 12
    assert len(list(tmp_path.glob("*/iree/main.*-*.mlir"))) == 13


def test_the_reports_of_the_passes_are_kept(folder):
    assert "simplify" in (folder / "passes.txt").read_text()


def test_a_program_on_disk_is_compiled_and_dumped_again(tmp_path):
    f = stagec.jit(lambda x: snp.exp(x) - 3)
    with stagec.config.override(cache_dir=str(tmp_path / "cache")):
        f(snp.ones(3))
        stagec.clear_caches()
        with stagec.config.override(dump=str(tmp_path / "dumps")):
            f(snp.ones(3))
    (made,) = (tmp_path / "dumps").iterdir()
    assert made.name.startswith("_lambda_-")


def test_a_name_that_is_no_file_name_is_made_one(tmp_path):
    def f(x):
        return x * 3

    f.__name__ = "../../etc/passwd"
    stagec.clear_caches()
    with stagec.config.override(dump=str(tmp_path / "dumps")):
        stagec.jit(f)(snp.ones(3))
    assert [p.name.partition("-")[0] for p in (tmp_path / "dumps").iterdir()] == ["______etc_passwd"]


def test_the_environment_variable_turns_it_on(tmp_path):
    code = "import stagec, stagec.numpy as snp\nf = stagec.jit(lambda x: x * 2)\nprint(f(snp.ones(3)))"
    environment = {**os.environ, "STAGEC_DUMP": str(tmp_path / "dumps"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[2. 2. 2.]", done.stderr
    (made,) = (tmp_path / "dumps").iterdir()
    assert (made / "optimized.mlir").exists()


def test_without_it_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stagec.clear_caches()
    stagec.jit(lambda x: x * 9)(snp.ones(3))
    assert list(tmp_path.iterdir()) == []
