"""The archives of both distributions: what is in them, and how they get along."""

import tarfile
import zipfile

import pytest
from environments import ROOT, RUNTIME, Environment, required

import stagec

COMPILE = "import stagec, numpy as np; print(stagec.jit(lambda x: x * 2)(np.ones(2, np.float32)).tolist())"


@pytest.fixture(scope="module")
def wheels(archives):
    found = sorted(archives.glob("*.whl"))
    assert [wheel.name.split("-")[:2] for wheel in found] == [
        [n, stagec.__version__] for n in ("stagec", "stagec_runtime")
    ]
    return found


def test_the_wheel_holds_the_packages_and_nothing_else(wheels):
    names = zipfile.ZipFile(wheels[0]).namelist()
    assert {name.split("/")[0] for name in names} == {"stagec", "passes", f"stagec-{stagec.__version__}.dist-info"}
    sources = {str(p.relative_to(ROOT)) for top in ("stagec", "passes") for p in (ROOT / top).rglob("*.py")}
    data = {
        "stagec/py.typed",
        "passes/py.typed",
        "stagec/standalone/function.html",
        "stagec/standalone/loader.js",
        "stagec/viewing/page.html",
    }
    assert sources | data == {n for n in names if "dist-info" not in n}


def test_the_sdist_holds_what_a_clone_does(archives):
    with tarfile.open(next(archives.glob("stagec-*.tar.gz"))) as archive:
        names = archive.getnames()
    here = {name.split("/", 1)[1] for name in names if "/" in name}
    assert {"tests/conftest.py", "docs/index.md", "examples/README.md", "runtime/setup.py", ".ci/run"} <= here
    assert not [name for name in here if "__pycache__" in name or "stagec_runtime" in name]


def test_the_distributions_share_no_file(wheels):
    full, runtime = ({*zipfile.ZipFile(wheel).namelist()} for wheel in wheels)
    assert full & runtime == set()


def test_both_may_be_installed_and_either_removed(wheels, tmp_path, models):
    made = Environment(tmp_path / "venv", required(ROOT))
    full, runtime = wheels
    # Where both are installed, the one with the compiler is imported.
    made.install(full)
    made.install(runtime)
    assert made.pip("check").strip() == "No broken requirements found."
    assert made.run("-c", COMPILE) == "[2.0, 2.0]\n"
    assert "graph" in made.command("stagec", "dump", "--help") == made.run("-m", "stagec", "dump", "--help")
    assert "Usage: stagec-runtime dump" in made.command("stagec-runtime", "dump", "--help")
    # Without stagec, the runtime loads, and has its command.
    made.pip("uninstall", "--yes", "--quiet", "stagec")
    assert "stagec-runtime, which is installed" in made.run("-c", COMPILE, code=1)
    assert "returns  float32[2,40]" in made.run("-m", "stagec", "inspect", "model.stagec", cwd=models)
    assert "returns  float32[2,40]" in made.command("stagec-runtime", "inspect", "model.stagec", cwd=models)
    # Without the runtime, stagec compiles, and has its own.
    made.install(full)
    made.pip("uninstall", "--yes", "--quiet", "stagec-runtime")
    assert made.run("-c", COMPILE) == "[2.0, 2.0]\n"
    assert "graph" in made.command("stagec", "dump", "--help") == made.run("-m", "stagec", "dump", "--help")
    assert {*required(RUNTIME)} < {*required(ROOT)}


def test_a_working_copy_comes_before_the_runtime(wheels, tmp_path):
    """`pip install -e` adds a finder that Python asks after the folders of its path."""
    made = Environment(tmp_path / "venv", [*required(ROOT), "setuptools"])
    made.install(wheels[1])
    copy = wheels[0].parent.parent / "build" / "source"
    made.pip("install", "--quiet", "--no-index", "--no-build-isolation", "--editable", copy)
    assert made.run("-c", "import stagec; print(stagec.__file__)").strip() == str(copy / "stagec" / "__init__.py")
    assert made.run("-m", "stagec", "--version").startswith(f"stagec {stagec.__version__}")
