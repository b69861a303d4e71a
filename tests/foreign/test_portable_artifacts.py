"""stagec's programs as portable artifacts: what JAX makes of them, versions, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

pytestmark = pytest.mark.usefixtures("untried")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CLOSED_OVER = np.linspace(0, 1, 3000, dtype=np.float32).reshape(3, 1000)


def loss(parameters: dict[str, Any], x: Any) -> Any:
    return (snp.tanh(x @ parameters["w"] + parameters["b"]) ** 2).mean()


def counted(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2 + x), (0, x))


PROGRAMS = {
    "a gradient": (stagec.grad(loss), {"w": X.T.copy(), "b": X[0, :2]}, X),
    "closed-over arrays": (lambda x: x @ CLOSED_OVER, X),
    "a conditional": (lambda i, x: lax.switch(i, [lambda a: a * 2, lambda a: a - 1], x), np.int32(1), X),
    "a loop": (counted, X),
    "a scan": (lambda x: lax.scan(lambda c, v: (c + v, c * v), snp.zeros(3), x), X),
    "results that are arguments and constants": (lambda x, y: (y, snp.float32(3), x + 1, x + 1), X, X[0]),
    "arrays without elements": (lambda x: snp.concatenate([x, x[:0] * 2]), X),
    "sorts": (lambda x: (snp.sort(x, 1), snp.argsort(-x), lax.top_k(x, 2)), X),
    "factorizations": (lambda x: (snp.linalg.inv(x @ x.T + snp.eye(2)), snp.fft.rfft(x)), X),
    "random numbers": (lambda x: stagec.random.normal(stagec.random.key(0), (4,)) + x[0, 0], X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_runs_what_stagec_writes(name: str) -> None:
    jax, export = pytest.importorskip("jax"), pytest.importorskip("jax.export")
    function, *arguments = PROGRAMS[name]
    leaves = [np.asarray(leaf) for leaf in stagec.tree.leaves(arguments)]
    expected = [np.asarray(leaf) for leaf in stagec.tree.leaves(function(*arguments))]
    artifact = stagec.jit(function).lower(*arguments).serialize()
    alike = jax.jit(lambda *_: [jax.numpy.zeros(r.shape, r.dtype) for r in expected], keep_unused=True)
    exported = export.export(alike, platforms=["cpu"])(*leaves)
    found = dataclasses.replace(exported, mlir_module_serialized=artifact).call(*leaves)
    assert len(found) == len(expected) > 0
    for result, wanted in zip(found, expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("version", [None, "0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.9.3"])
def test_an_artifact_bears_its_version_and_computes_the_same(version: str | None) -> None:
    function, *arguments = PROGRAMS["a gradient"]
    artifact = stagec.jit(function).lower(*arguments).serialize(version)
    assert artifact.startswith(b"ML\xefR") and f"StableHLO_v{version or '1.0.0'}\0".encode() in artifact
    read = stagec.tree.leaves(stagec.from_stablehlo(artifact)(*stagec.tree.leaves(arguments)))
    for result, wanted in zip(read, stagec.tree.leaves(function(*arguments)), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


def test_an_operation_that_is_newer_than_the_version_is_refused_with_its_line() -> None:
    lowered = stagec.jit(snp.tan).lower(X)
    assert b"StableHLO_v1.4.0" in lowered.serialize()
    with pytest.raises(stagec.errors.UnsupportedError, match=r"tan is not in version 1\.3\.0") as raised:
        lowered.serialize("1.3.0")
    assert "test_portable_artifacts.py" in str(raised.value)
    assert "serialize for version 1.4.0 or a newer one" in str(raised.value)


def test_gathers_with_batching_dimensions_need_a_version_that_has_them() -> None:
    lowered = stagec.jit(stagec.vmap(lambda x, i: x[i])).lower(X, np.array([[1], [2]], np.int32))
    assert b"StableHLO_v1.1.0" in lowered.serialize()


@pytest.mark.parametrize(
    ("version", "fix"),
    [
        ("new", "give three numbers, such as '1.0.0'"),
        (1, "give three numbers, such as '1.0.0'"),
        ("0.8.9", "serialize for version 0.9.0 or a newer one"),
    ],
)
def test_what_is_no_version_is_refused(version: Any, fix: str) -> None:
    with pytest.raises(ValueError) as raised:
        stagec.jit(snp.sin).lower(X).serialize(version)
    assert fix in str(raised.value)


def test_a_callback_is_refused_with_its_line() -> None:
    def noisy(x: Any) -> Any:
        stagec.debug.print("{}", x)
        return x + 1

    with pytest.raises(stagec.errors.UnsupportedError, match="calls a Python function") as raised:
        stagec.jit(noisy).lower(X).serialize()
    assert "in test_a_callback_is_refused_with_its_line.noisy" in str(raised.value)
    assert "leave stagec.debug.print and the callbacks out of what is serialized" in str(raised.value)


def test_elements_that_stagec_passes_as_bytes_are_refused() -> None:
    for function, name in ((lambda x: x.astype("int4"), "result 0"), (lambda x: x.astype("float32"), "x")):
        x = snp.asarray(X).astype("float8_e5m2") if name == "x" else X
        with pytest.raises(stagec.errors.UnsupportedError, match="as bytes") as raised:
            stagec.jit(function).lower(x).serialize()
        assert name in str(raised.value)
        assert "convert it outside, and take and return a wider dtype" in str(raised.value)


def test_lines_are_written_only_when_asked() -> None:
    lowered = stagec.jit(lambda x: x * 2).lower(X)
    assert b"test_portable_artifacts.py" not in lowered.serialize()
    assert b"test_portable_artifacts.py" in lowered.serialize(locations=True)
