"""`map_coordinates`, `RegularGridInterpolator`, `vq` and `trapezoid` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.scipy import integrate, interpolate, ndimage
from stagec.scipy.cluster import vq

scipy = pytest.importorskip("scipy")
RNG = np.random.default_rng(0)
MODES = {
    "constant": "grid-constant",
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "mirror": "mirror",
    "reflect": "reflect",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 2, 4)])
def test_values_between_elements_are_those_of_scipy(mode: str, order: int, shape: Any) -> None:
    import scipy.ndimage

    x = RNG.normal(size=shape)
    places = RNG.uniform(-6, 9, (len(shape), 3, 7))
    with stagec.enable_x64():
        found = ndimage.map_coordinates(x, list(places), order, mode, 0.7)
    expected = scipy.ndimage.map_coordinates(x, places, order=order, mode=MODES[mode], cval=0.7)
    np.testing.assert_allclose(np.asarray(found), expected, 1e-9, 1e-12)


def test_coordinates_have_derivatives_map_and_compile() -> None:
    x = RNG.normal(size=(4, 5)).astype(np.float32)
    slope = stagec.grad(lambda p: ndimage.map_coordinates(x, [p, snp.asarray(2.0)], 1))(1.25)
    np.testing.assert_allclose(float(slope), x[2, 2] - x[1, 2], 1e-5)
    places = np.float32([0.5, 1.5, 9.0])
    run = stagec.jit(stagec.vmap(lambda p: ndimage.map_coordinates(x, [p, p], 1, "nearest")))
    expected = ndimage.map_coordinates(x, [places, places], 1, "nearest")
    np.testing.assert_allclose(np.asarray(run(places)), np.asarray(expected), 1e-5)
    values = stagec.grad(lambda x: ndimage.map_coordinates(x, [places[:2], places[:2]], 1).sum())(x)
    np.testing.assert_allclose(float(values.sum()), 2, 1e-6)


def test_integers_are_rounded() -> None:
    found = ndimage.map_coordinates(np.array([0, 10, 20]), [np.array([0.26, 1.0])], 1)
    assert (found.dtype, found.tolist()) == ("int32", [3, 10])


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, None, 3.0])
def test_grids_are_interpolated_as_in_scipy(method: str, fill: Any) -> None:
    from scipy.interpolate import RegularGridInterpolator

    grid = (np.array([0.0, 1.0, 3.0, 4.5]), np.array([-1.0, 0.5, 2.0]))
    for values in (RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3, 2))):
        points = np.concatenate([RNG.uniform(-2, 6, (20, 2)), [[1.0, 0.5], [4.5, 2.0], [np.nan, 0.0], [0.0, -1.0]]])
        with stagec.enable_x64():
            found = interpolate.RegularGridInterpolator(grid, values, method, False, fill)(points)
            pair = interpolate.RegularGridInterpolator(grid, values, method, False, fill)(tuple(points.T))
        expected = RegularGridInterpolator(grid, values, method, False, fill)(points)
        np.testing.assert_allclose(np.asarray(found), expected, 1e-10, 1e-12)
        np.testing.assert_allclose(np.asarray(pair), expected, 1e-10, 1e-12)


def test_grids_compile_and_have_gradients() -> None:
    grid, values = (np.float32([0, 1, 3]), np.float32([0, 2])), RNG.normal(size=(3, 2)).astype(np.float32)
    points = np.float32([[0.5, 1.0], [2.0, 0.5]])
    run = stagec.jit(lambda v, p: interpolate.RegularGridInterpolator(grid, v)(p))
    expected = interpolate.RegularGridInterpolator(grid, values)(points)
    np.testing.assert_allclose(np.asarray(run(values, points)), np.asarray(expected), 1e-5)
    slope = stagec.grad(lambda p: interpolate.RegularGridInterpolator(grid, values)(p)[0])(points)
    along = (values[1] - values[0]).mean()
    np.testing.assert_allclose(np.asarray(slope), [[along, (values[:2, 1] - values[:2, 0]).mean() / 2], [0, 0]], 1e-5)


def test_points_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(errors.ArgumentTypeError, match="do not ascend"):
        interpolate.RegularGridInterpolator((np.array([1.0, 0.0]),), np.ones(2))


def test_nearest_centers_are_those_of_scipy() -> None:
    import scipy.cluster.vq

    points, centers = RNG.normal(size=(30, 3)), RNG.normal(size=(5, 3))
    with stagec.enable_x64():
        codes, distances = vq.vq(points, centers)
        expected = scipy.cluster.vq.vq(points, centers)
        np.testing.assert_array_equal(np.asarray(codes), expected[0])
        np.testing.assert_allclose(np.asarray(distances), expected[1], 1e-12)
        line = vq.vq(points[:, 0], centers[:, 0])
        np.testing.assert_array_equal(np.asarray(line[0]), scipy.cluster.vq.vq(points[:, 0], centers[:, 0])[0])


def test_integrals_of_samples_are_those_of_scipy() -> None:
    import scipy.integrate

    y, x = RNG.normal(size=(3, 8)), np.sort(RNG.uniform(size=8))
    with stagec.enable_x64():
        np.testing.assert_allclose(np.asarray(integrate.trapezoid(y, x)), scipy.integrate.trapezoid(y, x), 1e-12)
        found = integrate.trapezoid(y, dx=0.3, axis=0)
        np.testing.assert_allclose(np.asarray(found), scipy.integrate.trapezoid(y, dx=0.3, axis=0), 1e-12)


def test_modules_are_imported_when_they_are_used() -> None:
    import subprocess
    import sys

    code = "import sys, stagec.scipy; print([m for m in sys.modules if m.startswith('stagec.scipy.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
