"""Files of a release: the version is in one place, and what workflows run is there."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def texts():
    if not WORKFLOWS:
        pytest.skip("archives hold no workflows")
    return "\n".join(path.read_text() for path in WORKFLOWS)


def test_the_version_is_in_one_place():
    for name in ("pyproject.toml", "runtime/pyproject.toml"):
        assert 'dynamic = ["version"]' in (ROOT / name).read_text()
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    (line,) = re.findall(r'^__version__ = "(.*)"$', (ROOT / "stagec" / "__init__.py").read_text(), re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+", line)


def test_workflows_run_every_version_of_python_that_nox_does():
    pytest.importorskip("nox")
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert all((ROOT / folder).is_dir() for folder in module.CORE)
    listed = re.search(r"python: \[(.*)\]", texts())[1]
    assert re.findall(r"[\d.]+", listed) == module.PYTHONS


def test_scripts_of_workflows_are_there():
    named = set(re.findall(r"(?:tests|\.ci)/[\w./]*\w", texts()))
    assert {".ci/run", ".ci/archives"} <= named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_workflows_have_no_rights_but_to_read():
    texts()
    for path in WORKFLOWS:
        assert re.search(r"^permissions:\n  contents: read$", path.read_text(), re.MULTILINE), path.name


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_archives_have_the_version_of_the_tag(tmp_path):
    for name in (".ci/archives", "stagec/__init__.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    given = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"], ["tag", "v9.9.9"]):
        subprocess.run([*given, *command], cwd=tmp_path, check=True)
    command = [sys.executable, tmp_path / ".ci/archives", "dist"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "tag v9.9.9, and stagec/__init__.py the version" in done.stderr
