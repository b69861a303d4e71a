"""Rotations against SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as OfSciPy, Slerp as SlerpOfSciPy

import stagec
from stagec import config, random
from stagec.scipy.spatial.transform import Rotation, Slerp

QUATERNIONS = np.random.RandomState(0).standard_normal((20, 4))
SEQUENCES = [s for low in ("xyz xyx zxy zyz yxz xzy yzx zyx xzx yxy yzy zxz").split() for s in (low, low.upper())]


@pytest.fixture(autouse=True)
def _in_float64():
    with config.override(enable_x64=True):
        yield


def _pair(quaternions=QUATERNIONS):
    return Rotation.from_quat(quaternions), OfSciPy.from_quat(quaternions)


def _same(ours, expected):
    np.testing.assert_allclose(np.asarray(ours), expected, atol=1e-9)


@pytest.mark.parametrize("form", ["matrix", "rotvec", "mrp", "quat"])
def test_a_form_and_its_inverse_match_scipy(form):
    ours, theirs = _pair()
    shown = getattr(theirs, f"as_{form}")()
    _same(getattr(ours, f"as_{form}")(), shown)
    _same(getattr(Rotation, f"from_{form}")(shown).as_matrix(), theirs.as_matrix())


def test_operations_match_scipy():
    ours, theirs = _pair()
    other, others = _pair(QUATERNIONS[::-1])
    points = np.random.RandomState(1).standard_normal((20, 3))
    _same((ours * other).as_matrix(), (theirs * others).as_matrix())
    _same(ours.inv().as_matrix(), theirs.inv().as_matrix())
    _same(ours.apply(points), theirs.apply(points))
    _same(ours.apply(points, inverse=True), theirs.apply(points, inverse=True))
    _same(ours.magnitude(), theirs.magnitude())
    weights = np.arange(20.0)
    _same(ours.mean(weights).as_matrix(), theirs.mean(weights).as_matrix())
    _same(ours.as_quat(canonical=True, scalar_first=True), theirs.as_quat(canonical=True, scalar_first=True))
    _same(Rotation.concatenate([ours, other]).as_matrix(), OfSciPy.concatenate([theirs, others]).as_matrix())


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles_match_scipy_also_where_they_are_not_unique(seq):
    ours, theirs = _pair()
    _same(ours.as_euler(seq), theirs.as_euler(seq))
    _same(ours.as_euler(seq, degrees=True), theirs.as_euler(seq, degrees=True))
    angles = [np.array(a) * 90 for a in itertools.product((0, 1, 2), (0, 1, 2, -1), (0, 1))]
    expected = OfSciPy.from_euler(seq, angles, degrees=True)
    _same(Rotation.from_euler(seq, angles, degrees=True).as_matrix(), expected.as_matrix())
    ours = Rotation.from_quat(expected.as_quat()).as_euler(seq)
    difference = np.abs(np.asarray(ours) - expected.as_euler(seq))
    assert np.minimum(difference, np.abs(difference - 2 * np.pi)).max() < 1e-6


def test_interpolation_matches_scipy():
    times, at = [0.0, 1.0, 2.0, 5.0], [0.0, 0.3, 1.0, 4.5]
    ours, theirs = _pair(QUATERNIONS[:4])
    found = Slerp.init(times, ours)
    _same(found(at).as_matrix(), SlerpOfSciPy(times, theirs)(at).as_matrix())
    assert found(0.3).single


def test_small_rotations_keep_their_digits_and_have_derivatives():
    small = np.random.RandomState(2).standard_normal((5, 3)) * 10.0 ** -np.arange(2, 12, 2)[:, None]
    _same(Rotation.from_rotvec(small).as_rotvec() / small, np.ones((5, 3)))
    assert stagec.grad(lambda v: Rotation.from_rotvec(v).as_rotvec().sum())(np.zeros(3)).tolist() == [1, 1, 1]


def test_rotations_are_pytrees():
    drawn = Rotation.random(random.key(0), 5)
    assert len(drawn) == 5 and stagec.jit(lambda r: r.inv())(drawn[0]).single
    assert stagec.vmap(lambda r: r.apply(np.ones(3)))(drawn).shape == (5, 3)
    assert Rotation.identity().apply([1, 2, 3]).tolist() == [1, 2, 3]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="'xXz' names no axes"):
        Rotation.from_euler("xXz", [0, 0, 0])
    with pytest.raises(ValueError, match="twice in succession"):
        Rotation.identity().as_euler("xxz")
    with pytest.raises(stagec.errors.ShapeError, match=r"\.\.\., 4\)"):
        Rotation.from_quat(np.ones(3))
    with pytest.raises(TypeError, match="one rotation has no len"):
        len(Rotation.identity())
    with pytest.raises(stagec.errors.ShapeError, match="give 2 times"):
        Slerp.init([0.0], Rotation.identity(2))
