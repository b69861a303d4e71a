"""Free-threaded builds of Python: compiles are refused, where they would never end; files run."""

import sysconfig

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import mlir


@pytest.fixture
def free_threaded(monkeypatch):
    """Lets this Python pass for a free-threaded build whose compiler is not loaded yet."""
    plain = sysconfig.get_config_var
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else plain(name))
    monkeypatch.setattr(mlir, "_loaded", set())


def test_a_compile_is_refused_with_the_line_and_the_fix(free_threaded):
    with stagec.config.override(enable_cache=False), pytest.raises(stagec.errors.UnsupportedError) as caught:
        stagec.jit(lambda x: x * 3 + 0.25)(np.ones(8, np.float32))
    said = str(caught.value)
    assert "this Python is a free-threaded build, and the compiler does not work in it" in said
    assert "test_free_threading.py" in said
    assert "Fix: use a build with the GIL (PYTHON_GIL=1 is not enough), or stagec.load a file that was" in said


def test_so_is_lowering(free_threaded):
    with pytest.raises(stagec.errors.UnsupportedError, match="free-threaded"):
        stagec.jit(lambda x: x * 3 + 0.25).lower(np.ones(8, np.float32)).as_text()


def test_files_are_loaded_and_run(monkeypatch, request, tmp_path):
    stagec.export(lambda x: x * 3 + 0.25)("f32[8]").save(tmp_path / "f.stagec")
    request.getfixturevalue("free_threaded")
    loaded = stagec.load(tmp_path / "f.stagec")
    np.testing.assert_array_equal(loaded(np.ones(8, np.float32)), np.full(8, 3.25, np.float32))
    np.testing.assert_array_equal(snp.ones(3) + 1, np.full(3, 2, np.float32))
