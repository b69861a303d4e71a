"""The examples run, and find what NumPy and scikit-learn find."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from stagec.backends import Target

pytest.importorskip("sklearn", reason="scikit-learn has the examples' data: pip install '.[examples]'")

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_classifier_agrees_with_scikit_learn():
    result = load("digits_softmax").run(iterations=30)
    assert result.accuracy == result.expected_accuracy
    assert result.accuracy > 0.9
    assert result.largest_difference < 1e-4


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_shipped_classifier_agrees_with_scikit_learn():
    example = load("digits_shipped")
    result = example.run(iterations=30)
    assert result.accuracy == result.expected_accuracy
    assert result.accuracy > 0.9
    runs_here = [t for t in example.TARGETS if t.startswith("cpu") and not Target.parse(t).missing_here()]
    assert (result.target, result.source) == ((runs_here[-1], "file") if runs_here else ("cpu", "compiled"))


def test_a_network_of_jax_computes_the_same_without_jax():
    pytest.importorskip("jax")
    pytest.importorskip("flatbuffers")
    result = load("digits_jax").run(steps=60)
    assert result.accuracy > 0.8
    assert "cpu" in result.differences
    assert max(result.differences.values()) < 1e-5


def test_kmeans_agrees_with_numpy():
    result = load("digits_kmeans").run()
    assert result.same_group > 0.99
    assert result.inertia == pytest.approx(result.expected_inertia, rel=1e-3)
    assert result.purity > 0.6


def test_the_components_agree_with_numpys():
    result = load("digits_pca").run()
    np.testing.assert_allclose(result.variances, result.expected, rtol=1e-4)
    assert result.largest_angle < 0.5


def test_every_example_prints_its_table_and_is_listed():
    listed = (EXAMPLES / "README.md").read_text()
    for path in sorted(EXAMPLES.glob("*.py")):
        assert f"[{path.name}]({path.name})" in listed
    done = subprocess.run([sys.executable, EXAMPLES / "digits_pca.py"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stagec" in done.stdout and "NumPy" in done.stdout
