"""The files that compiles leave on disk."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import stagec
from stagec.backends import Target
from stagec.compiler import outside, refused, scratch, stages
from stagec.compiler.cache import DiskCache
from stagec.compiler.driver import compile_module
from stagec.compiler.flags import CompileOptions
from stagec.core.errors import CompileError

CPU, ROCM = Target.parse("cpu"), Target.parse("rocm:gfx942")
REFUSED = 'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = "no.op"(%x)\n'
# The compiler crashes on it, for AMD GPUs.
PRODUCT = """func.func @main(%x: tensor<3x4xcomplex<f32>>, %y: tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<3x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  return %0 : tensor<3x2xcomplex<f32>>
}"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, of this process and of those that it starts."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(path))
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture
def cache_dir(tmp_path):
    with stagec.config.override(enable_cache=True, cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"


def test_a_compile_leaves_no_temporary_files(temporary, cache_dir):
    stagec.jit(lambda x: stagec.numpy.sort(x * 3.25) @ x)(np.ones(7, np.float32))
    assert list(temporary.iterdir()) == []
    assert not (cache_dir / "refused").exists()


def test_a_refused_module_is_kept_once_in_the_cache(temporary, cache_dir):
    saved = set()
    for _ in range(2):
        with pytest.raises(CompileError) as caught:
            compile_module(REFUSED, CPU, name="f")
        saved |= {row.split()[1] for row in str(caught.value).splitlines() if row.split()[0] == "module"}
    (path,) = (cache_dir / "refused").iterdir()
    assert {str(path)} == saved and path.read_text() == REFUSED
    assert list(temporary.iterdir()) == []
    assert DiskCache(cache_dir, max_bytes=1 << 20).clear() == 0
    assert not path.parent.exists()


def test_without_a_cache_a_refused_module_is_kept_once_among_temporary_files(temporary):
    with stagec.config.override(enable_cache=False):
        for _ in range(2):
            with pytest.raises(CompileError, match="not a valid module"):
                compile_module(REFUSED, CPU, name="f")
    (path,) = temporary.iterdir()
    assert path.read_text() == REFUSED


def test_a_module_that_another_process_refuses_is_kept_in_the_same_cache(temporary, cache_dir):
    with pytest.raises(CompileError):
        outside.compile_module(REFUSED, CPU, name="f")
    (path,) = (cache_dir / "refused").iterdir()
    assert path.read_text() == REFUSED
    assert list(temporary.iterdir()) == []


def test_a_crash_of_the_compiler_leaves_the_module_alone(temporary, cache_dir):
    with pytest.raises(CompileError, match="the compiler crashed"):
        stages.stage_text(PRODUCT, ROCM, "asm", CompileOptions(flag_set="plain"), "f")
    (path,) = (cache_dir / "refused").iterdir()
    assert path.read_text() == PRODUCT
    assert list(temporary.iterdir()) == []


def test_only_the_newest_modules_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(refused, "_MOST_FILES", 3)
    (tmp_path / "notes.txt").write_text("the user's own")
    for i in range(5):
        path = refused.keep(f"module {i}".encode(), "f", str(tmp_path))
        os.utime(path, (i, i))
        refused.trim(str(tmp_path))
    assert {p.read_text() for p in tmp_path.glob("*.mlir")} == {"module 2", "module 3", "module 4"}
    monkeypatch.setattr(refused, "_MOST_BYTES", 10)
    refused.trim(str(tmp_path))
    assert [p.read_text() for p in tmp_path.glob("*.mlir")] == ["module 4"]
    refused.clear(str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_process_that_ends_during_a_compile_leaves_nothing(temporary):
    script = """
import threading
from stagec.compiler import scratch
def compile():
    with scratch.folder("link"):
        ready.set()
        threading.Event().wait()
ready = threading.Event()
threading.Thread(target=compile, daemon=True).start()
ready.wait()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_folders_of_its_parent(temporary):
    entered, left = threading.Event(), threading.Event()

    def compile():
        with scratch.folder():
            entered.set()
            left.wait()

    thread = threading.Thread(target=compile)
    thread.start()
    entered.wait()
    child = os.fork()
    if not child:
        scratch._remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(temporary.iterdir())) == 1
    left.set()
    thread.join()
    assert list(temporary.iterdir()) == []
