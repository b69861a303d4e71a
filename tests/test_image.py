"""`stagec.image` against JAX, and by what interpolation promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, image

RNG = np.random.default_rng(0)
METHODS = ["nearest", "linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch", "area"]


@pytest.mark.parametrize("method", METHODS)
def test_resized_images_are_those_of_jax(method):
    jax = pytest.importorskip("jax")
    x = RNG.normal(size=(5, 7, 2)).astype(np.float32)
    cases = list(itertools.product([(8, 4, 2), (5, 14, 2), (2, 3, 2), (1, 1, 2)], [method], [True, False]))
    for case, expected in zip(cases, jax.jit(lambda x: [jax.image.resize(x, *c) for c in cases])(x)):
        actual = image.resize(x, *case)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), 2e-4, 2e-5)


@pytest.mark.parametrize("method", METHODS[1:])
def test_scaled_and_moved_images_are_those_of_jax(method):
    jax = pytest.importorskip("jax")
    x = RNG.normal(size=(6, 5)).astype(np.float32)
    scale, move = np.array([1.3, 0.7], np.float32), np.array([-0.4, 1.2], np.float32)

    def both(m):
        scaled = m.image.scale_and_translate
        return m.jit(lambda *args: [scaled(args[0], (7, 6), (0, 1), *args[1:], method, a) for a in (True, False)])

    for actual, expected in zip(both(stagec)(x, scale, move), both(jax)(x, scale, move)):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), 1e-4, 1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_image_stays_constant(method):
    out = image.resize(snp.full((4, 6), 2.5), (9, 3), method)
    np.testing.assert_allclose(np.asarray(out), 2.5, 1e-5)


def test_linear_images_are_linear_in_the_middle():
    out = np.asarray(image.resize(np.arange(8.0), (16,), "linear"))
    np.testing.assert_allclose(np.diff(out)[1:-1], 0.5, 1e-5)


def test_nearest_keeps_integers_and_sizes_may_be_empty():
    assert image.resize(np.arange(3), (6,), "nearest").tolist() == [0, 0, 1, 1, 2, 2]
    assert image.resize(np.ones((3, 4), np.float32), (0, 4), "linear").shape == (0, 4)


def test_scale_and_translation_have_derivatives():
    x = RNG.normal(size=8)
    with stagec.enable_x64():
        f = lambda s, t: (image.scale_and_translate(x, (8,), (0,), s[None], t[None], "cubic", False) ** 2).sum()  # noqa: E731
        at = (snp.asarray(1.1), snp.asarray(0.23))
        found = stagec.grad(f, (0, 1))(*at)
        step = 1e-6
        for i, slope in enumerate(found):
            up, down = ([v + sign * step * (i == j) for j, v in enumerate(at)] for sign in (1, -1))
            np.testing.assert_allclose(float(slope), float((f(*up) - f(*down)) / (2 * step)), 1e-4)


def test_an_image_is_mapped_over():
    x = RNG.normal(size=(3, 4, 5)).astype(np.float32)
    mapped = stagec.vmap(lambda x: image.resize(x, (2, 9), "cubic"))(x)
    np.testing.assert_allclose(np.asarray(mapped), np.asarray(image.resize(x, (3, 2, 9), "cubic")), 1e-4, 1e-5)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(errors.UnsupportedError, match=r"'bilinear'"):
        image.resize(np.ones(3), (4,), "blurred")
    with pytest.raises(errors.ShapeError, match="a size for each axis"):
        image.resize(np.ones(3), (4, 4), "linear")
    with pytest.raises(errors.UnsupportedError, match="another method"):
        image.scale_and_translate(np.ones(3), (3,), (0,), np.ones(1), np.ones(1), "nearest")
