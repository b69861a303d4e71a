"""`stagec.nn.initializers`: the numbers of JAX, the variances that are promised."""

from __future__ import annotations

import os

import numpy as np
import pytest

import stagec
from stagec import errors, random
from stagec.nn import initializers

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
FACTORIES = {
    "zeros": lambda m: m.zeros,
    "ones": lambda m: m.ones,
    "constant": lambda m: m.constant(-7),
    "constant, an array": lambda m: m.constant(np.arange(3.0)),
    "uniform": lambda m: m.uniform(10.0),
    "normal": lambda m: m.normal(5.0),
    "truncated_normal": lambda m: m.truncated_normal(2.0, lower=-1.0, upper=3.0),
    "variance_scaling": lambda m: m.variance_scaling(1.5, "fan_geo_avg", "normal"),
    "of a convolution": lambda m: m.variance_scaling(1.0, "fan_out", "uniform", (0, 1), 2),
    "with a batch": lambda m: m.he_normal(in_axis=1, out_axis=2, batch_axis=0),
    **{
        name: lambda m, name=name: getattr(m, name)()
        for name in (
            "glorot_normal glorot_uniform lecun_normal lecun_uniform he_normal he_uniform "
            "xavier_normal xavier_uniform kaiming_normal kaiming_uniform"
        ).split()
    },
}


@pytest.mark.parametrize("name", FACTORIES)
def test_weights_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    for dtype in ("float32", "bfloat16", "complex64"):
        if dtype == "complex64" and name in ("uniform", "truncated_normal"):
            continue
        expected = FACTORIES[name](jax.nn.initializers)(jax.random.key(3), (4, 5, 3), dtype)
        actual = FACTORIES[name](initializers)(random.key(3), (4, 5, 3), dtype)
        assert actual.dtype == expected.dtype
        wide = np.complex64 if dtype == "complex64" else np.float32
        np.testing.assert_allclose(
            np.asarray(actual).astype(wide),
            np.asarray(expected).astype(wide),
            2e-2 if dtype == "bfloat16" else 1e-5,  # at the ends, the inverse error function doubles each rounding
            1e-6,
        )


def test_orthogonal_weights_are_those_of_jax():
    jax = pytest.importorskip("jax")
    for name, shapes in (
        ("orthogonal", [(3, 2), (2, 3), (3, 3), (2, 3, 4)]),
        ("delta_orthogonal", [(3, 2, 2), (2, 3, 2, 4), (2, 3, 1, 2, 2)]),
    ):
        for shape in shapes:
            for i, column_axis in enumerate((-1, 0) if name == "orthogonal" else (-1,)):
                both = ("float32", "complex64")
                for dtype in both if FUZZ else [both[(i + len(shape) + shape[0]) % 2]]:
                    expected = getattr(jax.nn.initializers, name)(2.0, column_axis)(jax.random.key(1), shape, dtype)
                    actual = getattr(initializers, name)(2.0, column_axis)(random.key(1), shape, dtype)
                    assert actual.dtype == expected.dtype
                    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=3e-6)
    compiled = stagec.jit(lambda key: initializers.orthogonal()(key, (4, 3)))(random.key(0))
    np.testing.assert_allclose(np.asarray(compiled).T @ np.asarray(compiled), np.eye(3), atol=1e-5)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variances_are_those_that_are_asked_for(distribution, dtype):
    for mode, n in (("fan_in", 200), ("fan_out", 100), ("fan_avg", 150), ("fan_geo_avg", 20000**0.5)):
        init = initializers.variance_scaling(3.0, mode, distribution, dtype=dtype)
        weights = np.asarray(init(random.key(1), (200, 100)))
        assert weights.dtype == dtype
        assert abs(weights.var() * n / 3 - 1) < 0.05
        assert abs(weights.mean()) < 0.01


def test_initializers_run_under_jit_and_vmap_and_take_a_default_dtype():
    init = initializers.he_normal(dtype="float16")
    keys = random.split(random.key(0), 3)
    expected = np.stack([np.asarray(init(k, (4, 2))) for k in keys])
    assert expected.dtype == np.float16
    mapped = stagec.jit(stagec.vmap(lambda k: init(k, (4, 2))))(keys)
    np.testing.assert_allclose(np.asarray(mapped), expected, 4e-3)
    assert init(keys[0], (4, 2), "float32").dtype == "float32"


def test_weights_of_one_axis_need_to_know_their_inputs():
    with pytest.raises(errors.ShapeError, match=r"no axis -2"):
        initializers.he_normal()(random.key(0), (3,))
    assert initializers.he_normal(in_axis=-1, out_axis=())(random.key(0), (3,)).shape == (3,)


def test_importing_nn_does_not_import_random_numbers():
    import subprocess
    import sys

    code = "import sys, stagec.nn; print('stagec.random' in sys.modules, 'initializers' in dir(stagec.nn))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
