"""`outer`, `reduce`, `accumulate`, `reduceat` and `at`, against NumPy's; and functions of the user's."""

import pickle

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from stagec import errors

X = np.array([[3.0, -1.0, 2.0, 7.0], [0.5, 4.0, -2.0, 1.0]], np.float32)
I = np.array([[3, 1, 2, 7], [5, 4, 0, 1]], np.int32)  # noqa: E741
NAMES = ["add", "subtract", "multiply", "maximum", "minimum", "logical_and", "logical_xor", "bitwise_or", "bitwise_and"]
NAMES += ["hypot", "logaddexp2", "fmax", "gcd"]


def operand(name):
    return I if "bit" in name or name == "gcd" else X


@pytest.mark.parametrize("name", NAMES)
def test_methods(name):
    op = lambda np: getattr(np, name)  # noqa: E731
    check(
        [
            lambda np, x: op(np).reduce(x),
            lambda np, x: op(np).reduce(x, axis=1, keepdims=True),
            lambda np, x: op(np).accumulate(x, axis=1),
            lambda np, x: op(np).reduceat(x, np.array([0, 3, 1, 1]), axis=1),
            lambda np, x: op(np).outer(x, x[0]),
        ],
        [operand(name)],
    )


def test_reductions_of_all_elements_with_masks_and_beginnings():
    keep = np.array([[True, False, True, True], [False, False, False, True]])
    check(
        [
            lambda np, x, i, m: np.add.reduce(x, axis=None),
            lambda np, x, i, m: np.hypot.reduce(x, axis=None, keepdims=True),
            lambda np, x, i, m: np.hypot.reduce(x, axis=1, where=m),
            lambda np, x, i, m: np.subtract.reduce(x, axis=1, initial=10.0),
            lambda np, x, i, m: np.subtract.reduce(x, axis=1, initial=10.0, where=m),
            lambda np, x, i, m: np.maximum.reduce(x, axis=1, initial=2.5, where=m),
            lambda np, x, i, m: np.multiply.reduce(x, axis=0, where=m),
            lambda np, x, i, m: np.logical_or.reduce(x, axis=1, where=m),
            lambda np, x, i, m: np.bitwise_xor.reduce(i, axis=1, where=m),
            lambda np, x, i, m: np.bitwise_and.reduce(i.astype(np.uint8), axis=1, where=m),
            lambda np, x, i, m: np.add.reduce(i, axis=1, dtype=np.float32),
            lambda np, x, i, m: np.add.accumulate(i, dtype=np.float32),
            lambda np, x, i, m: np.hypot.reduce(x[:0]),
            lambda np, x, i, m: np.hypot.accumulate(x[:0]),
        ],
        [X, I, keep],
    )


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "hypot", "power"])
def test_at_applies_a_function_again_where_an_index_repeats(name):
    places, values = np.array([1, 0, 1]), np.array([2.0, 3.0, 4.0], np.float32)
    expected = X[0].copy()
    getattr(np, name).at(expected, places, values)
    for f in (lambda x: getattr(snp, name).at(x, places, values, inplace=False),):
        for found in (f(snp.array(X[0])), stagec.jit(f)(X[0])):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert snp.negative.at(X, (0, slice(2)), inplace=False)[0].tolist() == [-3, 1, 2, 7]
    with pytest.raises(ValueError, match="arrays are immutable"):
        snp.add.at(X, 0, 1)


def test_a_function_of_the_users_has_the_methods():
    join = snp.frompyfunc(lambda x, y: 10 * x + y, 2, 1)
    numpys = np.frompyfunc(lambda x, y: 10 * x + y, 2, 1)
    assert join.reduce(I, axis=1).tolist() == numpys.reduce(I, axis=1).tolist() == [3127, 5401]
    assert join.accumulate(I, axis=1).tolist() == numpys.accumulate(I, axis=1).tolist()
    assert join.outer(I[0], I[1]).tolist() == numpys.outer(I[0], I[1]).tolist()
    assert stagec.jit(join.reduce)(I).tolist() == [35, 14, 20, 71]
    assert (join.nin, join.nout, join.nargs, join.identity) == (2, 1, 3, None)
    both = snp.frompyfunc(lambda x: (x, -x), 1, 2)
    assert [v.tolist() for v in both(snp.arange(2))] == [[0, 1], [0, -1]]
    assert isinstance(join, snp.ufunc) and repr(join) == "<ufunc '<lambda>'>"


def test_what_has_no_such_method_says_so():
    assert isinstance(snp.add, snp.ufunc) and isinstance(snp.sin, snp.ufunc)
    assert not isinstance(snp.sum, snp.ufunc) and not isinstance(3, snp.ufunc)
    with pytest.raises(errors.ShapeError, match="pass initial=, the value to begin with"):
        snp.subtract.reduce(X, where=X > 0)
    with pytest.raises(errors.ShapeError, match="the function has no identity"):
        snp.subtract.reduce(X[:0])
    with pytest.raises(errors.IndexingError, match="give indices from 0 to 1"):
        snp.add.reduceat(X, np.array([2]))
    with pytest.raises(ValueError, match="is for functions of two arrays"):
        snp.frompyfunc(lambda x: x, 1, 1).reduce(X)
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        snp.frompyfunc(lambda x, y: x, 2, 1)(X)
    with pytest.raises(errors.UnsupportedError, match="out= is not supported"):
        snp.add.reduce(X, out=X)


def test_the_methods_leave_the_functions_what_they_are():
    assert snp.add.__doc__.startswith("`x1 + x2`") and snp.add.__name__ == "add"
    assert pickle.loads(pickle.dumps(snp.add)) is snp.add
    assert {"reduce", "outer", "at"} <= {n for n in dir(snp.add) if n[0] != "_"}
    assert stagec.grad(lambda x: snp.multiply.reduce(x))(snp.array([2.0, 3.0])).tolist() == [3, 2]
    assert snp.hypot.reduce(stagec.vmap(lambda x: x)(X)).shape == (4,)
