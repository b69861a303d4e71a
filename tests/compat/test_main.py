"""Programs and tests that are written for JAX run as they are: `python -m stagec.compat`, and a plugin of pytest."""

import os
import pathlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
import helper
import jax

if __name__ == "__main__":
    print(sys.argv[1:], jax.jit.__module__, float(jax.jit(helper.double)(3.0)))
"""
HELPER = """
import jax.numpy as jnp


def double(x):
    return jnp.add(x, x)
"""
TESTS = """
import jax
import helper


def test_it():
    assert jax.jit.__module__ == "stagec" and helper.double(2.0) == 4
"""


def run(*arguments, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=environment)


@pytest.fixture
def folder(tmp_path):
    for name, text in {"script.py": SCRIPT, "helper.py": HELPER, "test_it.py": TESTS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_script_or_a_module_runs_as_python_runs_it(folder):
    for arguments, cwd in (([folder / "script.py", "-x", "1"], None), (["-m", "script", "-x", "1"], folder)):
        done = run("-m", "stagec.compat", *arguments, cwd=cwd)
        assert done.stdout == "['-x', '1'] stagec 6.0\n", done.stderr
    done = run("-m", "stagec.compat", "-c", "import sys, jax; print(sys.argv, jax.__version__)", "y")
    assert done.stdout == "['-c', 'y'] 0.10.2\n", done.stderr


def test_without_a_program_there_is_a_usage():
    assert run("-m", "stagec.compat", "--help").stdout.startswith("usage: python -m stagec.compat script.py")
    for arguments in ([], ["-m"]):
        done = run("-m", "stagec.compat", *arguments)
        assert done.returncode == 2 and "usage" in done.stdout + done.stderr


def test_tests_run_with_a_plugin(folder):
    done = run("-m", "pytest", "-p", "stagec.compat.plugin", "-q", "test_it.py", cwd=folder)
    assert (
        "1 passed" in done.stdout
        and "jax: stagec, as JAX 0.10.2"
        in run("-m", "pytest", "-p", "stagec.compat.plugin", "test_it.py", cwd=folder).stdout
    ), done.stdout + done.stderr


@pytest.mark.skipif(find_spec("jaxlib") is None, reason="JAX is not installed")
def test_jax_and_stagec_are_not_mixed():
    done = run("-c", "import jaxlib, stagec; stagec.compat.install()")
    assert "JAX itself is imported already" in done.stderr and "jaxlib  /" in done.stderr
    done = run("-c", "import jaxlib, stagec\nwith stagec.compat.jax():\n    import jaxlib")
    assert "ModuleNotFoundError: stagec has no module jaxlib" in done.stderr
    done = run("-m", "stagec.compat", "-c", "import jaxlib.xla_client")
    assert "ModuleNotFoundError: stagec has no module jaxlib" in done.stderr
    done = run(
        "-m", "stagec.compat", "-c", "import importlib.util, sys; print(importlib.util.find_spec('jaxlib') is None)"
    )
    assert done.returncode == 0 and "jaxlib" not in done.stderr
