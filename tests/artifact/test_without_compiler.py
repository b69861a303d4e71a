"""Files run where no compiler is installed: in a virtual environment with NumPy and IREE's runtime alone."""

import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PROGRAM = """
import importlib.util, sys, time
started = time.perf_counter()
import numpy as np
import stagec
model = stagec.load("model.stagec")
out = model(np.ones((2, 40), np.float32))
seconds = time.perf_counter() - started
assert importlib.util.find_spec("iree.compiler") is None
# Arrays work as always, and so do functions outside jit.
import stagec.numpy as snp
assert (out + 1).shape == (2, 40) and snp.sin(out).dtype == np.float32
try:
    stagec.load("other.stagec")(np.ones((2, 40), np.float32))
except stagec.errors.ArtifactError as error:
    print(str(error).splitlines()[0])
print(float(np.asarray(out).sum()), round(seconds, 3))
"""


def environment(folder):
    """A bare virtual environment: its Python, and its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return python, pathlib.Path(site)


def save_models(folder):
    w = snp.asarray(np.eye(40, dtype=np.float32))
    stagec.export(lambda x: snp.tanh(x @ w))(np.ones((2, 40), np.float32)).save(folder / "model.stagec")
    stagec.export(lambda x: snp.tanh(x), "cuda")(np.ones((2, 40), np.float32)).save(folder / "other.stagec")


def check(python, folder):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "STAGEC_"))}
    done = subprocess.run([python, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    refusal, line = done.stdout.splitlines()
    assert "no variant of <lambda> that CPU_0 can run, and there is no compiler" in refusal
    assert float(line.split()[0]) == pytest.approx(80 * np.tanh(1.0), rel=1e-5)
    return float(line.split()[1])


def megabytes(site, names):
    files = (f for name in names for f in [site / name, *(site / name).rglob("*")] if f.is_file())
    return sum(f.stat().st_size for f in files if "__pycache__" not in f.parts) / 1e6


def test_numpy_and_the_runtime_are_enough(tmp_path):
    """The installed packages themselves, by links, in an environment that has nothing else."""
    python, site = environment(tmp_path / "venv")
    installed = pathlib.Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs", "ml_dtypes", "iree_base_runtime.libs"):
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    (site / "iree").mkdir()
    for package in ("_runtime", "_runtime_libs", "runtime"):
        found = importlib.util.find_spec(f"iree.{package}").submodule_search_locations[0]
        (site / "iree" / package).symlink_to(found)
    for package in ("stagec", "passes"):
        (site / package).symlink_to(ROOT / package)
    save_models(tmp_path)
    check(python, tmp_path)


@pytest.mark.slow
def test_an_installation_with_pip_is_enough(tmp_path):
    """`pip install --no-deps stagec iree-base-runtime numpy ml_dtypes`, as the how-to page says."""
    python, site = environment(tmp_path / "venv")
    names = ["numpy", "ml_dtypes", "iree-base-runtime"]
    source = tmp_path / "source"
    wanted = [f"{name}=={importlib.metadata.version(name)}" for name in names]
    try:
        for name in ("stagec", "passes"):
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source / name)
        command = [sys.executable, *("-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps")]
        subprocess.run([*command, *wanted, str(source)], check=True, capture_output=True, text=True, timeout=200)
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        pytest.skip(f"pip cannot install the packages: {reason[-1] if reason else error}")
    assert not (site / "iree" / "compiler").exists()
    save_models(tmp_path)
    check(python, tmp_path)
    size = megabytes(site, [p.name for p in site.iterdir()])
    print(f"{size:.0f} MB installed")
    compiler = pathlib.Path(importlib.util.find_spec("iree.compiler").submodule_search_locations[0])
    assert size < megabytes(compiler.parent, ["compiler"]) / 2


def test_the_interpreter_of_the_tests_has_a_compiler():
    """Or the tests above would show nothing."""
    assert importlib.util.find_spec("iree.compiler") is not None
