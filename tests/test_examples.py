"""The examples run, and find what NumPy and scikit-learn find."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from drawing import draw

import stagec
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


# Lines through points of a square, as parts of its side.
STROKES = {
    0: [(0.5, 0.1), (0.3, 0.2), (0.22, 0.5), (0.3, 0.8), (0.5, 0.9), (0.7, 0.8), (0.78, 0.5), (0.7, 0.2), (0.5, 0.1)],
    2: [(0.25, 0.3), (0.35, 0.13), (0.6, 0.12), (0.7, 0.3), (0.6, 0.5), (0.3, 0.88), (0.75, 0.88)],
    3: [(0.3, 0.15), (0.6, 0.12), (0.68, 0.28), (0.5, 0.45), (0.7, 0.62), (0.65, 0.82), (0.45, 0.9), (0.28, 0.85)],
    5: [(0.7, 0.12), (0.35, 0.12), (0.32, 0.45), (0.55, 0.42), (0.7, 0.6), (0.6, 0.85), (0.3, 0.88)],
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_page_recognizes_digits_that_are_drawn(tmp_path, browser):
    path = tmp_path / "digits.html"
    result = load("digits_page").run(str(path))
    assert result.accuracy > 0.9 and result.expected_accuracy > 0.9
    page = browser.new_page()
    page.goto(path.as_uri())
    for digit, points in STROKES.items():
        page.click("text=Clear")
        draw(page, page.locator("canvas"), points)
        most = "most => document.querySelector('.row.most > :first-child').textContent === most"
        page.wait_for_function(most, arg=str(digit))
    # The page has computed what the jitted function computes of the same drawing.
    page.wait_for_timeout(100)
    found = [float(row.split()[1]) for row in page.locator(".row").all_inner_texts()]
    drawn = page.eval_on_selector("canvas", "c => [...c.getContext('2d').getImageData(0, 0, 512, 512).data]")
    grey = np.reshape(drawn, (32, 16, 32, 16, 4))[..., :3].mean(axis=(1, 3, 4)) / 255
    expected = np.asarray(stagec.jit(result.recognize)(grey.astype(np.float32)))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    page.close()


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


def test_a_network_is_trained_on_a_mesh_in_one_process_and_in_four():
    before = stagec.config.num_cpu_devices
    stagec.config.update("num_cpu_devices", 4)
    try:
        result = load("sharded_training").run(steps=60)
    finally:
        stagec.config.update("num_cpu_devices", before)
    assert result.parts == (64, 32) and result.accuracy > 0.9
    pytest.importorskip("mpi4py", reason="the extra mpi is not installed")
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpiexec = shutil.which("mpiexec", path=path)
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    program = [sys.executable, str(EXAMPLES / "sharded_training.py"), "--steps", "60"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "STAGEC_LOG": "lower"}
    done = subprocess.run([mpiexec, "-n", "4", *program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "4 devices in 4 processes, parts of (64, 32)" in done.stdout
    assert f"loss {result.first:.3f} -> {result.last:.3f}, {result.accuracy:.1%}" in done.stdout
    assert "gathers" not in done.stdout + done.stderr
