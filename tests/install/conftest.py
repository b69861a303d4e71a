"""Fixtures of the tests that install stagec."""

import pytest
from environments import RUNTIME, Environment, build, locked, required

import stagec
import stagec.numpy as snp


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """A folder with the sdists and wheels of both distributions; the workers of one run share it."""
    for module in ("build", "setuptools", "pip"):
        pytest.importorskip(module)
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    with locked(shared / "archives.lock"):
        if not (shared / "archives").exists():
            build(shared / "build").rename(shared / "archives")
    return shared / "archives"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with `model.stagec` for this machine, and `other.stagec` for a device that it does not have."""
    folder = tmp_path_factory.mktemp("models")
    x = snp.ones((2, 40))
    w = snp.eye(40)
    stagec.export(lambda x: snp.tanh(x @ w))(x).save(folder / "model.stagec")
    stagec.export(lambda x: snp.tanh(x), "cuda")(x).save(folder / "other.stagec")
    return folder


@pytest.fixture(scope="session")
def runtime(archives, tmp_path_factory):
    """An environment with stagec-runtime and what it requires."""
    made = Environment(tmp_path_factory.mktemp("runtime") / "venv", required(RUNTIME))
    made.install(next(archives.glob("stagec_runtime-*.whl")))
    return made
