"""Programs that are traced in a block of `enable_x64`, and lowered, differentiated or run after it."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, scipy
from stagec.experimental.checkify import checkify

_X = np.linspace(0.3, 2.0, 9)
_MATRIX = _X.reshape(3, 3) @ _X.reshape(3, 3).T + 2 * np.eye(3)

PROGRAMS = {
    "fft": (lambda x: snp.abs(snp.fft.fft(x)), _X),
    "convolve": (lambda x: snp.convolve(x, x), _X),
    "bessel_i0e": (scipy.special.i0e, _X),
    "cholesky": (snp.linalg.cholesky, _MATRIX),
    "solve": (lambda a: snp.linalg.solve(a, a[0]), _MATRIX),
    "eigvalsh": (snp.linalg.eigvalsh, _MATRIX),
    "svd": (lambda a: snp.linalg.svd(a, compute_uv=False), _MATRIX),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: snp.exp(1j * y).imag, x), _X),
}


def compiled(f, x):
    with stagec.enable_x64():
        traced = stagec.jit(f).trace(x)
    return traced.lower().compile()(x)


def of_a_block_inside(f, x):
    @stagec.jit
    def inside(x):
        with stagec.enable_x64():
            return f(x)

    return inside(x)


def to_c(f, x, folder):
    with stagec.enable_x64():
        exported = stagec.export(f)(x)
    exported.to_c(folder, name="outside")
    with stagec.enable_x64():
        exported.to_c(folder, name="inside")
    return [(folder / f"{name}.c").read_text().replace(name, "") for name in ("outside", "inside")]


@pytest.fixture(params=PROGRAMS)
def program(request):
    f, x = PROGRAMS[request.param]
    with stagec.enable_x64():
        x = snp.asarray(x)
        return f, x, np.asarray(f(x))


@pytest.mark.parametrize("way", [compiled, of_a_block_inside])
def test_a_program_keeps_its_64_bits_after_the_block(program, way):
    f, x, expected = program
    found = np.asarray(way(f, x))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_a_cotangent_is_pulled_back_after_the_block(program):
    f, x, _ = program
    with stagec.enable_x64():
        y, pull = stagec.vjp(f, x)
        (expected,) = pull(snp.ones_like(y))
        ones = snp.ones_like(y)
    (found,) = pull(ones)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_a_cotangent_of_a_number_is_pulled_back_after_the_block():
    with stagec.enable_x64():
        y, pull = stagec.vjp(lambda x, unused: snp.sin(x), 0.7, 1.0)
        _, push = stagec.linearize(lambda x: (snp.sin(x), 2.0), 0.7)
        one = snp.ones_like(y)
        expected = [pull(one), push(one)]
    assert [[(v.dtype, float(v)) for v in found] for found in (pull(one), push(one))] == [
        [(np.float64, float(v)) for v in found] for found in expected
    ]


AFTER = {
    "jacfwd": lambda x: stagec.jacfwd(lax.sin)(x),
    "jacrev": lambda x: stagec.jacrev(lax.sin)(x),
    "hessian": lambda x: stagec.hessian(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(x),
    "at": lambda x: x.at[snp.array([1, 1, 2])].add(1),
    "at a slice": lambda x: x.at[1:3].multiply(snp.float32(2)),
}


@pytest.mark.parametrize("name", AFTER)
def test_an_array_keeps_its_64_bits_after_the_block(name):
    with stagec.enable_x64():
        x = snp.asarray(_X)
        expected = np.asarray(AFTER[name](x))
    found = np.asarray(AFTER[name](x))
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_block_inside_a_function_is_differentiated():
    def f(x):
        with stagec.enable_x64():
            return snp.sum(snp.abs(snp.fft.fft(x.astype("float64"))) ** 2).astype("float32")

    x = snp.asarray(_X, "float32")
    for g in (f, stagec.jit(f)):
        found = stagec.grad(g)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, 2 * 9 * np.asarray(x), rtol=1e-6)


def test_a_c_library_is_written_after_the_block(tmp_path):
    f, x = PROGRAMS["fft"]
    outside, inside = to_c(f, x, tmp_path)
    assert outside == inside


@pytest.mark.parametrize("name", ["fft", "convolve"])
def test_what_replays_a_graph_keeps_64_bits(name):
    f, x = PROGRAMS[name]
    with stagec.enable_x64():
        x = snp.asarray(x)
        expected, pull = stagec.vjp(f, x)
        ones = snp.ones_like(expected)
        pulled = pull(ones)[0]

    def inside(x):
        with stagec.enable_x64():
            return f(x)

    error, checked = stagec.jit(checkify(stagec.jit(inside)))(x)
    error.throw()
    remembered = stagec.vjp(stagec.checkpoint(inside), x)[1](ones)[0]
    for found, wanted in ((checked, expected), (remembered, pulled)):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
