"""Memory that programs and the Python functions they call both know."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

f32 = stagec.ShapeDtypeStruct((), "float32")


def test_what_a_callback_keeps_is_not_overwritten():
    kept = []

    def keep(*arrays):
        kept.append([(a, np.asarray(a), np.array(a)) for a in arrays])

    @stagec.jit
    def f(x, i):
        y = x * 2
        stagec.debug.callback(keep, x, y)
        z = snp.sort(y)
        w = y.at[i].set(-1.0)
        stagec.debug.callback(keep, y, z, w)
        return snp.sort(x), x.at[i].set(9.0), w, snp.sort(z * 3)

    x = np.array([3.0, 1.0, 2.0] * 100, np.float32)
    before = x.copy()
    for i in range(3):
        f(x, i)
    np.testing.assert_array_equal(x, before)
    assert len(kept) == 6
    for i in range(3):
        first, second = kept[2 * i], kept[2 * i + 1]
        np.testing.assert_array_equal(first[0][2], before)
        np.testing.assert_array_equal(first[1][2], before * 2)
        np.testing.assert_array_equal(second[0][2], before * 2)
        np.testing.assert_array_equal(second[1][2], np.sort(before * 2))
        for array, view, copy in first + second:
            np.testing.assert_array_equal(view, copy)
            np.testing.assert_array_equal(np.asarray(array), copy)


@pytest.mark.parametrize("update", ["sort", "set", "while"])
def test_a_value_is_read_before_it_is_updated_in_place(update):
    """The compiler may write an update over its operand: not before the callback has read it."""
    seen = []
    x = np.array([3.0, 1.0, 2.0, 0.0] * 64, np.float32)

    @stagec.jit
    def f(x):
        y = snp.sin(x)
        if update == "sort":
            z = snp.sort(y)
        elif update == "set":
            z = y.at[3].set(7.0)
        else:
            z = lax.fori_loop(0, 4, lambda i, s: s.at[i].set(7.0), y)
        stagec.debug.callback(lambda y, z: seen.append((np.array(y), np.array(z))), y, z)
        stagec.debug.callback(lambda y: seen.append(np.array(y)), y)
        return z + 1

    f(x)
    np.testing.assert_allclose(seen[0][0], np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(seen[1], np.sin(x), rtol=1e-5)
    assert not np.array_equal(seen[0][1], seen[0][0])


def test_the_programs_memory_is_not_the_callbacks():
    """A result that the callback holds on to is neither written to nor seen to change."""
    mine = np.array([3.0, 1.0, 2.0], np.float32)

    @stagec.jit
    def f(x):
        r = stagec.pure_callback(lambda x: mine, stagec.ShapeDtypeStruct((3,), "float32"), x)
        return r, snp.sort(r), r.at[0].set(x)

    r, s, w = f(9.0)
    assert mine.tolist() == [3.0, 1.0, 2.0]
    mine[:] = 0
    assert np.asarray(r).tolist() == [3.0, 1.0, 2.0]
    assert np.asarray(s).tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(w).tolist() == [9.0, 1.0, 2.0]


def test_arguments_are_read_only():
    def spoil(x):
        np.asarray(x)[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        stagec.jit(lambda x: stagec.debug.callback(spoil, x))(np.zeros(3, np.float32))


def test_a_donated_argument_is_seen_with_its_value():
    seen = []

    def f(x):
        y = x + 1
        stagec.debug.callback(lambda x, y: seen.append((np.array(x), np.array(y))), x, y)
        return y * 2

    x = snp.arange(4.0) * 1
    y = stagec.jit(f, donate_argnums=0)(x)
    assert x.is_deleted()
    assert seen[0][0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert seen[0][1].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.asarray(y).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_a_donated_argument_is_gone_when_a_callback_raises():
    def fail(x):
        raise KeyError("no")

    def f(x):
        y = x + 1
        stagec.debug.callback(fail, y)
        return y

    x = snp.arange(4.0) * 1
    with pytest.raises(KeyError):
        stagec.jit(f, donate_argnums=0)(x)
    assert x.is_deleted()


def test_arguments_are_not_copied_on_behalf_of_callbacks():
    f = stagec.jit(lambda x: (stagec.debug.callback(len, x), x * 2)[1])
    executable = f.lower(np.zeros(4, np.float32))._runnable.executable()
    assert executable.mutated == ()
    assert not executable.may_alias
