"""`x[ds(start, size)]`: slices whose start is traced, in arrays, references, and updates."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import ds, errors, lax

EAGER = lambda f: lambda *args: f(*map(snp.asarray, args))  # noqa: E731
HOW = pytest.mark.parametrize("how", [EAGER, stagec.jit], ids=["eager", "jit"])


@HOW
@pytest.mark.parametrize("start", [0, 4, 9, -2, -20])
def test_a_slice_is_moved_to_fit_as_lax_does(how, start):
    x = np.arange(10)
    found = how(lambda x, i: (x[ds(i, 3)], lax.dynamic_slice(x, (i,), (3,)), x.at[ds(i, 3)].add(100)))(x, start)
    first = min(max(start + 10 if start < 0 else start, 0), 7)
    added = x + 100 * ((x >= first) & (x < first + 3))
    assert [f.tolist() for f in found] == [[first, first + 1, first + 2]] * 2 + [added.tolist()]


@HOW
def test_slices_stand_among_other_entries(how):
    x = np.arange(60).reshape(3, 4, 5)
    rows, mask = np.array([2, 0]), np.array([True, False, True])

    def run(x, i):
        first = [x[0, ds(i, 2)], x[..., ds(i, 2)], x[ds(i, 2), ..., 1], x[None, ds(i, 1), 1:]]
        return first + [x[rows, ds(i, 2)], x[:, ds(i, 2, 2), ds(0, 3)], x[mask, ds(i, 2)], x[ds(2)], x[ds(None)]]

    expected = [x[0, 1:3], x[..., 1:3], x[1:3, ..., 1], x[None, 1:2, 1:]]
    expected += [x[rows, 1:3], x[:, 1:4:2, 0:3], x[mask, 1:3], x[:2], x]
    for f, e in zip(how(run)(x, 1), expected, strict=True):
        np.testing.assert_array_equal(f, e)


@HOW
def test_updates_and_references(how):
    x = np.arange(12.0).reshape(3, 4).astype("float32")

    def run(x, i):
        ref = stagec.new_ref(x)
        ref[i, ds(i, 2)] *= 10
        ref[ds(i, 2), 0] = snp.array([-1.0, -2.0])
        at = x.at[ds(i, 2), ds(0, 2, 2)]
        return ref[...], ref[ds(i, 1)], at.set(0), at.apply(lambda v: v * 2), at.get(), at.power(2)

    one, part = x.copy(), (slice(1, 3), slice(0, 3, 2))
    one[1, 1:3] *= 10
    one[1:3, 0] = [-1, -2]
    expected = [one, one[1:2]]
    for new in (np.zeros((2, 2)), x[part] * 2):
        expected.append(x.copy())
        expected[-1][part] = new
    expected.append(x[part])
    expected.append(x.copy())
    expected[-1][part] **= 2
    for f, e in zip(how(run)(x, 1), expected, strict=True):
        np.testing.assert_allclose(f, e)


def test_loops_batches_and_derivatives():
    x = snp.arange(6.0)
    windows = stagec.jit(stagec.vmap(lambda i: x[ds(i, 2)]))(snp.arange(4))
    assert windows.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    slope = stagec.grad(lambda x: stagec.jit(lambda x, i: snp.sum(x[ds(i, 2)] ** 2))(x, 3))(x)
    assert slope.tolist() == [0, 0, 0, 6, 8, 0]


def test_wrong_slices_say_so():
    x = snp.zeros((2, 3))
    with pytest.raises(
        errors.IndexingError, match=r"Slice\(start=0, size=4, stride=1\) does not fit axis 1 of float32"
    ):
        x[:, ds(0, 4)]
    with pytest.raises(errors.IndexingError, match="does not fit axis 2"):
        x[0, 0, ds(0, 1)]
    with pytest.raises(errors.IndexingError, match="a size of 2 with a stride of 0"):
        ds(0, 2, 0)
    with pytest.raises(errors.ConcretizationError, match="ds: size must be known while tracing"):
        stagec.jit(lambda n: x[ds(0, n)])(1)


def test_jax_reads_the_same():
    jax = pytest.importorskip("jax")
    x = np.arange(12).reshape(3, 4)
    for j in (jax, stagec):
        found = j.jit(lambda x, i, j=j: x[i, j.ds(i, 2)])(x, 1)
        assert np.asarray(found).tolist() == [5, 6]
