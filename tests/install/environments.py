"""The project's archives, built once, and virtual environments to install them in."""

import contextlib
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RUNTIME = ROOT / "runtime"
# Without the settings of this process, and without the user's cache of compiled programs.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "STAGEC_"))} | {"STAGEC_CACHE": "0"}


def copy_tree(folder):
    """The files of the repository that a build reads, without what builds and tests leave there."""
    unwanted = shutil.ignore_patterns(".*cache", "__pycache__", "*.egg-info", "stagec_runtime", "build", "dist")
    for name in ("stagec", "passes", "runtime", "tests", "docs", "examples", ".ci"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    for name in (
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "SECURITY.md",
        "CITATION.cff",
        "noxfile.py",
    ):
        shutil.copyfile(ROOT / name, folder / name)


def build(folder, umask=0o022):
    """A folder with the sdist and the wheel of stagec and of stagec-runtime, made from a copy of the tree."""
    source = folder / "source"
    before = os.umask(umask)
    try:
        copy_tree(source)
        settings = {"STAGEC_NO_ISOLATION": "1", "SOURCE_DATE_EPOCH": "1700000000"}
        run(sys.executable, source / ".ci" / "archives", folder / "dist", cwd=folder, settings=settings)
    finally:
        os.umask(before)
    return folder / "dist"


@contextlib.contextmanager
def locked(path):
    """Processes that run this with the same path take turns."""
    fcntl = pytest.importorskip("fcntl", reason="file locks of POSIX")
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(*command, cwd, code=0, settings=()):
    """What a command prints; its exit code is checked."""
    environment = CLEAN | dict(settings)
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


class Environment:
    """A virtual environment without pip, in a folder.

    Args:
      packages: distributions of this interpreter that it gets by links, with
        all that they require.
    """

    def __init__(self, folder, packages):
        run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
        self.folder = folder
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.site = pathlib.Path(run(self.python, "-c", code, cwd=folder).strip())
        for name in with_requirements(packages):
            self._link(importlib.metadata.distribution(name))

    def _link(self, distribution):
        for file in distribution.files:
            # Two distributions share the folder `iree`.
            depth = 2 if file.parts[0] == "iree" else 1
            place = self.site.joinpath(*file.parts[:depth])
            if file.parts[0] != ".." and not place.exists():
                place.parent.mkdir(exist_ok=True)
                place.symlink_to(distribution.locate_file(pathlib.Path(*file.parts[:depth])))

    def pip(self, *arguments):
        """Run this interpreter's pip on the environment."""
        return run(sys.executable, "-m", "pip", "--python", self.python, *arguments, cwd=self.folder)

    def install(self, wheel):
        """Install a wheel whose requirements are there already."""
        self.pip("install", "--quiet", "--no-index", "--no-compile", wheel)

    def run(self, *arguments, cwd=None, code=0):
        """Run Python."""
        return run(self.python, *arguments, cwd=cwd or self.folder, code=code)

    def command(self, name, *arguments, cwd=None, code=0):
        """Run a script that a distribution brought: `stagec`, or `stagec-runtime`."""
        return run(self.bin / name, *arguments, cwd=cwd or self.folder, code=code)


def with_requirements(names):
    """Distributions and all that they need, without extras."""
    requirements = pytest.importorskip("packaging.requirements")
    found, todo = {}, list(names)
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name not in found:
            rows = map(requirements.Requirement, importlib.metadata.requires(name) or ())
            found[name] = [row.name for row in rows if row.marker is None or row.marker.evaluate({"extra": ""})]
            todo += found[name]
    return list(found)


def dependencies(project):
    """The rows of `dependencies` in a project's pyproject.toml."""
    rows = re.search(r"^dependencies = \[\n(.*?)^\]", (project / "pyproject.toml").read_text(), re.M | re.S)[1]
    return re.findall(r'"([^"]+)"', rows)


def required(project):
    """The names of a project's dependencies."""
    return [re.match(r"[\w-]+", row)[0] for row in dependencies(project)]
