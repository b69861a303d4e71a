"""Windows, convolutions, padding, order and unsigned integers with open dimensions, compared with NumPy."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

K = np.random.default_rng(2).standard_normal((3, 2, 4)).astype(np.float32)
GROUPED = np.random.default_rng(3).standard_normal((4, 1, 3)).astype(np.float32)
NHC = ("NHC", "HIO", "NHC")


def conv(x, k=K, padding="SAME", stride=1, **dilation):
    return lax.conv_general_dilated(x, k, (stride,), padding, dimension_numbers=NHC, **dilation)


def pool(x, combine, start, window, strides, padding="VALID", **dilation):
    return lax.reduce_window(x, start, combine, window, strides, padding, **dilation)


def squares(f):
    return lambda *args: (f(*args) ** 2).sum()


# Functions of an array of (b, 8, 2).
OF_BATCHES = {
    "windows": lambda x: (
        pool(x, lax.add, 0.0, (1, 2, 1), (1, 2, 1)),
        pool(x, lax.max, -snp.inf, (2, 3, 1), (1, 2, 1), "SAME"),
        pool(x, lax.mul, 1.0, (3, 1, 2), (2, 1, 1), ((1, 2), (0, 0), (1, 0))),
    ),
    "windows with holes": lambda x: (
        pool(x, lax.add, 0.0, (1, 3, 1), (1, 1, 1), window_dilation=(1, 2, 1)),
        pool(x, lax.max, -snp.inf, (1, 3, 1), (1, 2, 1), ((0, 0), (1, 1), (0, 0)), base_dilation=(2, 2, 1)),
    ),
    "derivatives of windows": lambda x: (
        stagec.grad(squares(lambda x: pool(x, lax.add, 0.0, (1, 3, 1), (1, 2, 1), "SAME")))(x),
        stagec.grad(squares(lambda x: pool(x, lax.max, -snp.inf, (1, 3, 1), (1, 1, 1), "SAME")))(x),
        stagec.grad(squares(lambda x: pool(x, lax.add, 0.0, (1, 3, 1), (1, 1, 1), window_dilation=(1, 2, 1))))(x),
    ),
    "convolutions": lambda x: (
        conv(x, rhs_dilation=(2,)),
        conv(x, padding=[(1, 2)], lhs_dilation=(2,)),
        stagec.grad(squares(conv), (0, 1))(x, K),
    ),
    "convolutions in groups": lambda x: (
        lax.conv_general_dilated(x.swapaxes(1, 2), GROUPED, (2,), "SAME", feature_group_count=2),
        stagec.grad(squares(lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2)), (0, 1))(
            x.swapaxes(1, 2), GROUPED
        ),
    ),
    "padding": lambda x: (
        lax.pad(x, 0.5, ((-3, 5, 0), (0, 0, 0), (0, 0, 0))),
        lax.pad(x, 0.5, ((4, -3, 1), (-1, 0, 2), (0, 1, 0))),
        lax.pad(x + 1j, 2j, ((1, 2, 0), (-1, 0, 0), (0, 1, 1))),
    ),
    "spectra": lambda x: (
        snp.fft.fft(x, axis=1),
        snp.fft.fft(x[:, :7], n=12, axis=1),
        snp.fft.irfft(snp.fft.rfft(x, axis=1), axis=1),
        stagec.grad(lambda x: (snp.abs(snp.fft.rfft(x, axis=1)) ** 2).sum())(x),
    ),
    "derivatives of sorts": lambda x: (
        stagec.grad(lambda x: (snp.sort(x, 0) * snp.arange(2.0)).sum())(x),
        stagec.grad(lambda x: (snp.sort(x, 1) * snp.arange(8.0)[:, None]).sum())(x),
        stagec.grad(lambda x: (lax.sort([x, x * 3], dimension=0, num_keys=1)[1] ** 3).sum())(x),
        stagec.grad(lambda x: snp.median(x, 1).sum())(x),
    ),
    "rolls and remainders": lambda x: (
        snp.roll(x, -1, 0),
        snp.roll(x, -9, 0),
        snp.full(2, -x.shape[0] % 4),
        x * (x.shape[0] - 5),
    ),
}


def argument(size, shape=(8, 2)):
    return np.random.default_rng(size).standard_normal((size, *shape)).astype(np.float32)


def compared(function, compiled, x):
    expected = stagec.tree.leaves(function(*[snp.asarray(v) for v in x]))
    for e, a in zip(expected, stagec.tree.leaves(compiled(*x)), strict=True):
        assert (e.shape, e.dtype) == (a.shape, a.dtype)
        e, a = np.asarray(e), np.asarray(a)
        np.testing.assert_allclose(a, e, rtol=3e-4, atol=3e-4 * max(1, np.abs(e[np.isfinite(e)]).max(initial=0)))


@pytest.mark.parametrize("name", OF_BATCHES)
def test_one_program_is_right_for_every_batch(name):
    compiled = stagec.jit(OF_BATCHES[name], dynamic={"x": "b, _, _"})
    for size in (3, 1, 2, 16, 0):
        compared(OF_BATCHES[name], compiled, [argument(size)])


def test_updates_of_each_batch_count_batches_in_a_wide_dtype():
    def f(x):
        places = (snp.arange(x.shape[0]) % 8).astype("int8")
        added = stagec.vmap(lambda row, i: row.at[i].add(1.0))(x, places)
        return added, stagec.vmap(lambda row, i: row.at[i + 4].set(0.0))(x, places)  # some are out of range

    compiled = stagec.jit(f, dynamic={"x": "b, _, _"})
    for size in (1, 7, 300):
        compared(f, compiled, [argument(size)])


def test_systems_of_equations_of_each_batch_and_their_derivatives():
    def f(x):
        solved = stagec.vmap(lambda a: snp.linalg.solve(a + 10 * snp.eye(3), a[0]))
        return solved(x), stagec.grad(lambda x: solved(x).sum())(x)

    compiled = stagec.jit(f, dynamic={"x": "b, _, _"})
    for size in (3, 1, 20):
        compared(f, compiled, [argument(size, (3, 3))])


def test_convolutions_take_any_length():
    def f(x):
        derivatives = stagec.grad(squares(lambda x, k: conv(x, k, "VALID", 2)), (0, 1))(x, K)
        return conv(x), conv(x, padding="VALID", stride=2), derivatives

    compiled = stagec.jit(f, dynamic={"x": "_, n, _"})
    for size in (4, 7, 8, 3, 1):  # no window fits into the last
        compared(f, compiled, [argument(2, (size, 2))])


# (batch, input features, output features, groups, window), for which IREE generates no code as one contraction.
LIKE_CONVOLUTIONS = [
    *((1, 2, 3, 1, (3, 3)), (1, 2, 3, 1, (5, 5)), (2, 1, 1, 1, (3, 3)), (1, 1, 1, 1, (3, 1)), (1, 2, 2, 2, (3, 3))),
    (2, 2, 3, 1, (3, 3)),
]


@pytest.mark.parametrize(("batch", "inner", "outer", "groups", "window"), LIKE_CONVOLUTIONS)
def test_convolutions_of_images_of_any_size_and_their_derivatives(batch, inner, outer, groups, window):
    k = np.random.default_rng(4).standard_normal((outer, inner // groups, *window)).astype(np.float32)

    def g(x, k):
        return lax.conv_general_dilated(x, k, (1, 2), "SAME", rhs_dilation=(2, 1), feature_group_count=groups)

    def f(x):
        return g(x, k), stagec.grad(squares(g), (0, 1))(x, k)

    compiled = stagec.jit(f, dynamic={"x": "_, _, n, m"})
    for size in ((7, 6), (4, 9)):
        compared(f, compiled, [argument(batch, (inner, *size))])


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int16"])
def test_running_extremes_and_windows_of_integers(dtype):
    def f(x):
        running = lax.cummax(x, 0), lax.cummin(x, 0), lax.cummax(x, 1, reverse=True), snp.cumsum(x, 0)
        kind = np.dtype(dtype).type
        return running, x[::-1], pool(x, lax.add, kind(0), (2, 2), (1, 2), "SAME"), snp.roll(x, 1, 0)

    compiled = stagec.jit(f, dynamic={"x": "b, _"})
    for size in (3, 1, 20):
        compared(f, compiled, [np.random.default_rng(size).integers(0, 250, (size, 6)).astype(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "complex64"])
def test_what_is_sorted_does_not_share_memory_with_what_is_read(dtype):
    """A counter that is sorted along with values was overwritten while the position of the maximum was read from it."""

    def f(x):
        return snp.sort(x), snp.argsort(x), snp.argmax(x.real if dtype == "complex64" else x), x

    compiled = stagec.jit(f, dynamic={"x": "b"})
    for size in (3, 5, 33, 1):
        compared(f, compiled, [(argument(size, ()) * 9).astype(dtype)])
