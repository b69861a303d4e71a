"""Programs that JAX wrote, one for each family of operations, kept as files: `make_modules.py` says how."""

from __future__ import annotations

import pathlib
import zlib

import numpy as np
import pytest

import stagec

pytestmark = pytest.mark.usefixtures("untried")

FOLDER = pathlib.Path(__file__).parent / "modules"
OTHERS = {"open_shape", "two_platforms", "refused_class", "refused_devices"}
NAMES = sorted({path.stem for path in FOLDER.glob("*.jax")} - OTHERS)
ARRAYS = np.load(FOLDER / "arrays.npz")


def program(name: str) -> bytes:
    return zlib.decompress((FOLDER / f"{name}.jax").read_bytes())


def arrays(name: str, kind: str) -> list[np.ndarray]:
    found = []
    while f"{name}/{kind}{len(found)}" in ARRAYS:
        found.append(ARRAYS[f"{name}/{kind}{len(found)}"])
    return found


def results(function: stagec.foreign.function.Imported, name: str) -> list[np.ndarray]:
    args, kwargs = function._source.exported.in_tree.unflatten(arrays(name, "in"))
    return [np.asarray(leaf) for leaf in stagec.tree.leaves(function(*args, **kwargs))]


@pytest.mark.parametrize("name", NAMES)
def test_compiled_results_are_those_of_jax(name: str) -> None:
    expected = arrays(name, "out")
    found = results(stagec.from_stablehlo(program(name)), name)
    assert len(found) == len(expected) > 0
    for result, wanted in zip(found, expected):
        assert result.shape == wanted.shape
        if result.dtype == stagec.dtypes.bfloat16:
            result = result.astype(np.float32)
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


def test_structures_of_arguments_and_results_are_kept() -> None:
    function = stagec.from_stablehlo(program("loss"))
    parameters = dict(zip(("b", "w"), arrays("loss", "in")))
    found = function(parameters, ARRAYS["loss/in2"])
    assert sorted(found) == ["hidden", "loss"]
    assert found["hidden"][1] is None


def test_another_structure_is_refused() -> None:
    function = stagec.from_stablehlo(program("loss"))
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"structure[\s\S]*Fix: pass the containers"):
        function([ARRAYS["loss/in1"]], ARRAYS["loss/in2"])


def test_a_module_for_several_platforms_takes_that_of_the_cpu() -> None:
    function = stagec.from_stablehlo(program("two_platforms"))
    x = ARRAYS["softmax/in0"]
    np.testing.assert_allclose(function(x), np.sin(x), rtol=1e-5)


def test_open_dimensions_take_any_length() -> None:
    function = stagec.from_stablehlo(program("open_shape"))
    for length in (1, 2, 5):
        x = np.arange(3.0 * length, dtype=np.float32).reshape(length, 3)
        np.testing.assert_allclose(function(x), np.concatenate([x, x * 2]).reshape(2, -1).sum(0))
    with pytest.raises(stagec.errors.ArgumentTypeError, match="open dimension"):
        function.arguments()


def test_conditions_on_open_dimensions_are_checked() -> None:
    function = stagec.from_stablehlo(program("open_shape"))
    with pytest.raises(stagec.errors.UnsupportedError, match="Fix: pass arrays of the shapes that the program was"):
        function(np.ones((0, 3), np.float32))


def test_gradients_go_through_a_module() -> None:
    function = stagec.from_stablehlo(program("loss"))
    weights, bias, x = ARRAYS["loss/in1"], ARRAYS["loss/in0"], ARRAYS["loss/in2"]
    found = stagec.grad(lambda w: function({"b": bias, "w": w}, x)["loss"])(weights)
    np.testing.assert_allclose(found, ARRAYS["grad/out1"], rtol=1e-4, atol=1e-6)


def test_a_module_can_be_exported_and_loaded(tmp_path: pathlib.Path) -> None:
    function = stagec.from_stablehlo(program("convolution"))
    args, kwargs = function.arguments()
    stagec.save(tmp_path / "f.stagec", {"f": stagec.export(function, ["cpu:x86-64-v3"])(*args, **kwargs)})
    loaded = stagec.load(tmp_path / "f.stagec")
    np.testing.assert_allclose(loaded(*arrays("convolution", "in")), ARRAYS["convolution/out0"], rtol=1e-4, atol=1e-4)


def test_a_module_can_be_batched() -> None:
    function = stagec.from_stablehlo(program("softmax"))
    x = np.stack([ARRAYS["softmax/in0"]] * 3)
    np.testing.assert_allclose(stagec.vmap(function)(x)[2], ARRAYS["softmax/out0"], rtol=1e-5)
