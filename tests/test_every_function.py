"""Names that occur in tests, and functions that are tested nowhere else or not by random calls alone."""

import ast
import pathlib

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

TESTS = pathlib.Path(__file__).resolve().parent
MODULES = """
numpy numpy.linalg numpy.fft lax lax.linalg nn nn.initializers random scipy.special scipy.linalg scipy.fft scipy.signal
scipy.ndimage scipy.interpolate scipy.integrate scipy.optimize scipy.cluster.vq scipy.sparse.linalg ops image
flatten_util ref
""".split()


def names_in_tests(but: str) -> set[str]:
    """Names, attributes, and words of strings that are looked up as names, in the code of all tests but one."""
    found = set()
    for path in TESTS.rglob("*.py"):
        if path == pathlib.Path(but):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(node.value.split())
            elif isinstance(node, ast.ImportFrom):
                found.update(alias.name for alias in node.names)
    return found


X = np.arange(12.0, dtype=np.float32).reshape(3, 4)[::-1] % 5


def same(found, expected):
    for f, e in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_array_equal(np.asarray(f), e)


@pytest.mark.parametrize("name", ["diag_indices_from", "tril_indices_from", "triu_indices_from"])
def test_indices_of_an_array(name):
    same(getattr(snp, name)(X[:, :3]), getattr(np, name)(X[:, :3]))


@pytest.mark.parametrize("name", ["tril_indices_from", "triu_indices_from"])
def test_indices_of_a_matrix_are_not_those_of_a_stack(name):
    with pytest.raises(stagec.errors.ShapeError, match=rf"{name}: a matrix is needed, got float32\[3,4,1\]"):
        getattr(snp, name)(X[..., None])


def test_functions_along_axes():
    same(snp.apply_along_axis(lambda v: v[0] + v[-1], 0, X), np.apply_along_axis(lambda v: v[0] + v[-1], 0, X))
    same(stagec.jit(snp.amin, static_argnums=1)(X, 1), np.amin(X, 1))
    order = np.asarray(snp.argpartition(X, 1, axis=0))
    picked = np.take_along_axis(X, order, 0)
    assert (np.sort(order, 0) == np.arange(3)[:, None]).all()
    assert (picked[0] <= picked[1]).all() and (picked[1] <= picked[2]).all()


def test_a_diagonal_is_filled_in_a_copy():
    expected = X.copy()
    np.fill_diagonal(expected, 7)
    same(snp.fill_diagonal(X, 7, inplace=False), expected)


def test_questions_about_values():
    for value in (1, 1j, X, X + 1j, [1], np.float32(2)):
        for name in ("iscomplexobj", "isrealobj", "isscalar"):
            if not (name != "isscalar" and isinstance(value, list)):
                assert getattr(snp, name)(value) == getattr(np, name)(value), (name, value)
    assert snp.promote_types("int8", "uint8") == np.promote_types("int8", "uint8")


def test_the_path_of_einsum_is_one():
    path, text = snp.einsum_path("ij,jk,kl", X, X.T, X)
    np.testing.assert_array_equal(np.einsum("ij,jk,kl", X, X.T, X, optimize=["einsum_path", *path]), X @ X.T @ X)
    assert "Complete contraction" in str(text)


def test_the_implementation_of_keys_is_told():
    key = stagec.random.key(1, impl="threefry2x32")
    assert str(stagec.random.key_impl(key)) == "threefry2x32"


def test_slices_and_rows_of_lax():
    same(lax.slice_in_dim(X, 1, 3, axis=1), X[:, 1:3])
    same(lax.index_in_dim(X, -1, 1, keepdims=False), X[:, -1])
    same(lax.dynamic_index_in_dim(X, 2, 0, keepdims=False), X[2])
    same(lax.broadcasted_iota(np.int32, (2, 3), 1), np.arange(3) + np.zeros((2, 1), int))


def test_a_convolution_with_padding_is_a_padded_one():
    image, kernel = X[None, None], np.ones((1, 1, 2, 2), np.float32)
    pads = lax.padtype_to_pads((3, 4), (2, 2), (1, 1), "SAME")
    numbers = lax.conv_dimension_numbers(image.shape, kernel.shape, ("NCHW", "OIHW", "NCHW"))
    assert (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec) == ((0, 1, 2, 3),) * 3
    found = lax.conv_with_general_padding(image, kernel, (1, 1), pads, None, None)
    padded = np.pad(X, pads)
    expected = padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]
    same(found, expected[None, None])
