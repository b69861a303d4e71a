"""The examples of differentiable programs run, and reach what NumPy, SciPy and scikit-learn reach."""

import importlib
import pathlib
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import stagec

pytest.importorskip("sklearn", reason="scikit-learn has the examples' data: pip install '.[examples]'")

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def example(monkeypatch):
    """A function that imports an example as `python examples/x.py` would."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def run_script(name, *arguments, forbid=None, folder):
    """Run an example in a new process, in `folder`; `forbid` is a module that is not to be found there."""
    code = f"import sys, runpy; sys.argv[1:] = {list(map(str, arguments))!r}; sys.path.insert(0, {str(EXAMPLES)!r})\n"
    if forbid:
        code += f"sys.modules[{forbid!r}] = None\n"
    code += f"runpy.run_path({str(EXAMPLES / name)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_network_reaches_scikit_learns_accuracy(example):
    result = example("train_mlp").run(steps=400)
    assert result.accuracy > result.expected_accuracy - 0.01
    assert result.accuracy > 0.96


def test_the_convolutional_network_reaches_the_accuracy_of_one_without_convolutions(example):
    result = example("train_conv").run()
    assert result.accuracy > result.expected_accuracy - 0.005
    assert result.accuracy > 0.97


def test_workers_train_as_one_process_does_and_compile_each_program_once(example, monkeypatch, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")
    monkeypatch.setenv("STAGEC_CACHE_DIR", str(tmp_path))  # of the workers; they compile the gradient and the sum
    result = example("data_parallel").run(steps=40)
    assert result.largest_difference < 1e-5
    assert result.accuracy > 0.8
    assert result.compiles == 2


def test_workers_map_a_file_without_the_compiler(example):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")
    pytest.importorskip("xarray")
    result = example("map_artifact").run(hours=300, places=20, block=128)
    assert max(result.array_difference, result.table_difference) < 1e-4
    assert not result.compiler_loaded


def test_the_recurrent_network_beats_counted_pairs(example):
    result = example("train_rnn").run(steps=60)
    assert result.loss < result.pair_loss - 0.05


def test_the_transformer_beats_counted_pairs_and_writes(example):
    result = example("train_transformer").run(steps=200, blocks=1, written=40)
    assert result.loss < result.pair_loss - 0.05
    assert len(result.sample) == 40


@pytest.mark.skipif(find_spec("optax") is None, reason="optax requires JAX, which the examples' extra does not install")
def test_optax_trains_a_network(example):
    result = example("train_optax").run(steps=200)
    assert result.accuracy > 0.95


def test_the_throw_hits_and_its_derivatives_are_those_of_finite_differences(example):
    result = example("simulate").run()
    np.testing.assert_allclose(result.reached, (40, 5), atol=1e-9)
    np.testing.assert_allclose(result.reached_by_numpy, (40, 5), atol=1e-9)
    assert result.largest_difference < 1e-7


def test_the_minima_are_those_of_scipy_and_scikit_learn(example):
    for problem, found in example("minimize").run():
        *methods, expected = found.values()
        for minimum in methods:
            assert minimum.value <= expected.value + 1e-10, problem
            np.testing.assert_allclose(minimum.x, expected.x, atol=1e-5, err_msg=problem)


def test_the_losses_are_drawn_into_a_png(tmp_path):
    pytest.importorskip("matplotlib")
    printed = run_script("train_mlp.py", "--steps", 40, "--plot", "losses.png", folder=tmp_path)
    assert "losses drawn in losses.png" in printed
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_example_trains_and_says_that_the_plot_is_left_out(tmp_path):
    printed = run_script("train_mlp.py", "--steps", 40, "--plot", "losses.png", forbid="matplotlib", folder=tmp_path)
    assert "no plot" in printed and "pip install '.[examples]'" in printed
    assert "stagec" in printed and "sklearn" in printed
    assert not list(tmp_path.iterdir())


def test_one_step_of_adam_is_that_of_the_paper(example):
    training = example("training")
    params, gradient = {"w": np.float32([1.0, -2.0])}, {"w": np.float32([0.5, -0.1])}
    after, state = training.adam_step(params, training.adam(params), gradient, rate=0.1)
    # At the first step both means are those of one gradient, so the parameters move by the rate.
    np.testing.assert_allclose(after["w"], [0.9, -1.9], rtol=1e-5)
    assert int(state.steps) == 1


def test_donated_parameters_are_gone_after_a_step(example):
    training = example("training")
    params = [stagec.numpy.ones(4)]
    training.train(
        lambda p, x: stagec.numpy.sum((p[0] - x) ** 2),
        params,
        iter([(np.zeros(4, np.float32),)] * 2),
        steps=2,
        rate=0.1,
        title="",
    )
    with pytest.raises(stagec.errors.StagecError, match="donated"):
        np.asarray(params[0])
