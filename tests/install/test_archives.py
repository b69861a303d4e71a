"""The archives of both distributions: what is in them, and how they get along."""

import hashlib
import tarfile
import zipfile

import pytest
from environments import ROOT, RUNTIME, Environment, build, required

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
        "passes/verdicts.txt",
        "stagec/compiler/direct/persistent.ll",
        "stagec/standalone/function.html",
        "stagec/standalone/loader.js",
        "stagec/standalone/one_thread.js",
        "stagec/standalone/pool.ll",
        "stagec/standalone/threads.js",
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


def test_the_same_tree_has_the_same_archives(archives, tmp_path):
    """Whenever it was written, and by whom: files of the other copy are younger, and nobody else may read them."""
    again = build(tmp_path, umask=0o077)
    found = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in (archives, again)]
    assert sorted(found[0]) == sorted(found[1]) and len(found[0]) == 5
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []


def test_the_sums_are_those_of_the_archives(archives):
    rows = [line.split("  ") for line in (archives / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in rows} == {p.name for p in archives.iterdir()} - {"SHA256SUMS"}
    for digest, name in rows:
        assert hashlib.sha256((archives / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("kind", [".whl", ".tar.gz"])
def test_archives_install_from_an_index(kind, archives, tmp_path):
    """A folder with a page for each distribution, as package indexes have, and requirements that are there already."""
    for name in ("stagec", "stagec-runtime"):
        folder = tmp_path / "index" / name
        folder.mkdir(parents=True)
        (archive,) = archives.glob(f"{name.replace('-', '_')}-*{kind}")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        (folder / "index.html").write_text(f'<a href="{archive.as_uri()}#sha256={digest}">{archive.name}</a>')
    made = Environment(tmp_path / "venv", [*required(ROOT), "setuptools"])
    index = ("--index-url", (tmp_path / "index").as_uri(), "--no-build-isolation", "--no-compile")
    made.pip("install", "--quiet", *index, f"stagec=={stagec.__version__}")
    assert made.run("-c", COMPILE) == "[2.0, 2.0]\n"
    made.pip("uninstall", "--yes", "--quiet", "stagec")
    made.pip("install", "--quiet", *index, "stagec-runtime")
    assert made.command("stagec-runtime", "--version").startswith(f"stagec {stagec.__version__}")


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
