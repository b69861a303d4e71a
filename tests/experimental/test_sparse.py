"""Sparse arrays against the same computation on dense ones."""

import itertools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import ShapeError, UnsupportedError
from stagec.experimental import sparse

SHAPE = (2, 3, 4, 2)
LAYOUTS = [(b, d) for b, d in itertools.product(range(3), range(3)) if b + d < len(SHAPE)]


def dense(shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * (rng.random(shape) < 0.4)).astype(np.float32)


def messy(x, n_batch, n_dense, seed=0):
    """`x` as a sparse array out of order, with duplicates, and with entries that are no elements."""
    mat = sparse.BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    rng = np.random.default_rng(seed)
    half, given = np.asarray(mat.data) / 2, np.asarray(mat.indices)
    outside = np.broadcast_to(np.asarray(mat.sparse_shape, np.int32), (*mat.shape[:n_batch], 1, mat.n_sparse))
    data = np.concatenate(
        [half, np.full_like(np.take(half, [0], n_batch), 7), half],
        n_batch,
    )
    indices = np.concatenate([given, outside, given], n_batch)
    order = rng.permutation(data.shape[n_batch])
    return sparse.BCOO((np.take(data, order, n_batch), np.take(indices, order, n_batch)), shape=x.shape)


def same(expected, found, rtol=1e-5):
    if isinstance(found, sparse.JAXSparse):
        assert found.shape == np.shape(expected)
        found = found.todense()
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-5)


@pytest.fixture(params=LAYOUTS, ids=lambda p: f"batch{p[0]}-dense{p[1]}")
def case(request):
    x = dense()
    return x, messy(x, *request.param)


def test_arrays_are_made_from_dense_ones_as_by_jax():
    theirs = pytest.importorskip("jax.experimental.sparse")
    x = dense()
    for nse in (5, 20):
        a = sparse.BCOO.fromdense(x, nse=nse, n_batch=1, n_dense=1)
        b = theirs.BCOO.fromdense(x, nse=nse, n_batch=1, n_dense=1)
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.data, b.data)
        assert repr(a) == repr(b) and (a.nse, a.n_sparse, a.dtype) == (b.nse, b.n_sparse, b.dtype)


def test_layouts_change_and_elements_stay(case):
    x, m = case
    same(x, m)
    for n_batch, n_dense in LAYOUTS:
        same(x, m.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None))
    for clean in (m.sum_duplicates(), m.sum_duplicates(nse=30, remove_zeros=False), m.sort_indices()):
        same(x, clean)
    clean = m.sum_duplicates()
    assert clean.unique_indices and clean.indices_sorted and clean.nse <= m.nse
    for rows in np.asarray(clean.indices).reshape(-1, clean.nse, clean.n_sparse).tolist():
        assert rows == sorted(rows)
    np.testing.assert_array_equal(m.astype(np.int32).dtype, np.int32)


def test_what_stores_zeros_is_refused():
    m = sparse.BCOO.fromdense(dense())
    with pytest.raises(sparse.SparseEfficiencyError, match="store many zeros"):
        m.update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        m.update_layout(n_dense=1, on_inefficient="warn")
    with pytest.raises(ShapeError, match="n_batch=9"):
        m.update_layout(n_batch=9)


def test_arithmetic_is_that_of_dense_arrays(case):
    x, m = case
    y = dense(seed=1)
    other = messy(y, 0, 1)
    for expected, found in (
        (-x, -m),
        (2 * x, m * 2),
        (x / 4, m / 4),
        (x * y, m * y),
        (x * y[:, :1], m * y[:, :1]),
        (x * y[0], y[0] * m),
        (x / (y + 9), m / (y + 9)),
        (x * y, m * other),
        (x + y, m + other),
        (x - y, m - other),
        (abs(x), abs(m.sum_duplicates())),
    ):
        same(expected, found)
    np.testing.assert_allclose(m.sum(), x.sum(), rtol=1e-4)
    for axes in (0, 1, (1, 2), (0, 3), -1, (0, 1, 2)):
        same(x.sum(axes), m.sum(axes))
    for expected, found in ((x + y, m + y), (y - x, y - m), (x - 1, m - 1)):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    with pytest.raises(ShapeError, match="sparse arrays of shapes"):
        m + sparse.empty((2, 2))


NUMBERS = [
    (((3,), (0,)), ((), ())),
    (((2, 3), (0, 1)), ((), ())),
    (((0, 2), (2, 1)), ((), ())),
    (((), ()), ((), ())),
    (((2,), (2,)), ((0,), (0,))),
    (((3,), (1,)), ((1, 0), (2, 0))),
    (((0, 1, 2, 3), (0, 1, 2, 3)), ((), ())),
    (((3,), (0,)), ((2,), (1,))),
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
def test_products_are_those_of_dense_arrays(case, numbers):
    x, m = case
    (left, right), (left_batch, right_batch) = numbers
    sizes = [3, 5, 2, 4]
    for i, j in zip((*left, *left_batch), (*right, *right_batch)):
        sizes[j] = x.shape[i]
    y = dense(sizes[: max([1, *right, *right_batch]) + 2 if len(right) < 4 else 4], seed=2)
    expected = lax.dot_general(x, y, numbers)
    turned = ((right, left), (right_batch, left_batch))
    same(expected, sparse.bcoo_dot_general(m, y, dimension_numbers=numbers))
    same(lax.dot_general(y, x, turned), sparse.bcoo_dot_general(y, m, dimension_numbers=turned))
    if expected.size <= 2000:
        both = sparse.bcoo_dot_general(m, messy(y, 0, 0), dimension_numbers=numbers)
        assert isinstance(both, sparse.BCOO)
        same(expected, both)


@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR])
def test_matrices_are_multiplied(kind):
    x, y, v = dense((4, 3)), dense((3, 5), 1), np.arange(3.0, dtype=np.float32)
    m, n = kind.fromdense(x), kind.fromdense(y)
    for expected, found in ((x @ y, m @ y), (x @ y, x @ n), (x @ y, m @ n), (x @ v, m @ v), (v @ x.T, v @ m.T)):
        same(expected, found)
    batch = dense((2, 4, 3), 3)
    b = kind.fromdense(batch, n_batch=1)
    same(batch @ y, b @ y)
    same(x @ batch.swapaxes(1, 2), x @ b.transpose((0, 2, 1)))
    same(batch @ batch.swapaxes(1, 2), b @ batch.swapaxes(1, 2))


def test_elements_are_rearranged(case):
    x, m = case
    n, d = m.n_batch, m.n_dense
    order = [*range(n)][::-1] + [*range(n, 4 - d)][::-1] + [*range(4 - d, 4)][::-1]
    same(x.transpose(order), m.transpose(order))
    same(x[::-1, :, ::-1], sparse.bcoo_rev(m, (0, 2)))
    cuts = dict(start_indices=(0, 1, 0, 1), limit_indices=(2, 3, 4, 2), strides=(1, 1, 2, 1))
    same(x[:, 1:, ::2, 1:], sparse.bcoo_slice(m, **cuts))
    y = dense(seed=5)
    for axis in range(4):
        same(np.concatenate([x, y], axis), sparse.bcoo_concatenate([m, messy(y, n, d, 1)], dimension=axis))
    one = messy(x[:, :1, :, :1], n, d)
    same(x[:, 0, :, 0], sparse.bcoo_squeeze(one, dimensions=(1, 3)))
    wide = sparse.bcoo_broadcast_in_dim(one, shape=SHAPE, broadcast_dimensions=(0, 1, 2, 3))
    same(np.broadcast_to(x[:, :1, :, :1], SHAPE), wide)
    if n + d < 4:
        places = [i if i < n else i + 1 for i in range(4)]
        more = sparse.bcoo_broadcast_in_dim(m, shape=(*SHAPE[:n], 3, *SHAPE[n:]), broadcast_dimensions=places)
        same(np.broadcast_to(np.expand_dims(x, n), more.shape), more)
    for shape in ((2, 3, 8), (6, 4, 2), (48,), (2, 3, 2, 2, 2), (2, 1, 3, 4, 2)):
        try:
            found = m.reshape(shape)
        except UnsupportedError:
            assert (n, d) != (0, 0)
        else:
            same(x.reshape(shape), found)
    assert (n, d) != (0, 0) or m.reshape(-1, 8).shape == (6, 8)


INDICES = [0, (slice(None), -1), (..., 1), (1, slice(0, 2), ..., slice(None, None, -1)), slice(1, 1), (1, 2, 3, 1)]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_elements_are_indexed(case, index):
    x, m = case
    same(x[index], m[index])


def test_arrays_are_iterated_and_get_new_axes():
    x = dense((4, 3))
    for kind in (sparse.BCOO, sparse.BCSR):
        m = kind.fromdense(x)
        assert len(m) == 4
        for row, found in zip(x, m, strict=True):
            same(row, found)
        same(x[:, None, ::-2, None], m[:, None, ::-2, None])
        same(x[1:3], m[1:3])
    assert isinstance(m[1:3], sparse.BCSR)
    with pytest.raises(IndexError, match="index 4 is outside of axis 0, of size 4"):
        m[4]
    with pytest.raises(IndexError, match="3 axes for a sparse array with 2"):
        m[0, 0, 0]
    with pytest.raises(UnsupportedError, match="no integer, slice"):
        m[np.array([0, 1])]
    with pytest.raises(TypeError, match="without axes"):
        len(m[0, 0])


def test_elements_are_extracted(case):
    x, m = case
    y = dense(seed=6) + 1
    same(np.where(x != 0, y, 0), sparse.bcoo_extract(m, y).sum_duplicates() * (x != 0))
    a, b = dense((3, 4)), dense((4, 5), 1)
    indices = np.array([[0, 1], [2, 4], [3, 5]])
    found = sparse.bcoo_dot_general_sampled(a, b, indices, dimension_numbers=(((1,), (0,)), ((), ())))
    np.testing.assert_allclose(found, [(a @ b)[0, 1], (a @ b)[2, 4], 0], rtol=1e-5)


def test_derivatives_and_batches_are_those_of_dense_arrays(case):
    x, m = case
    y = dense((4, 2), 7)
    loss = lambda m, y: (sparse.bcoo_dot_general(m, y, dimension_numbers=(((2, 3), (0, 1)), ((), ()))) ** 2).sum()  # noqa: E731
    dense_loss = lambda x, y: (snp.tensordot(x, y, 2) ** 2).sum()  # noqa: E731
    slope, of_y = sparse.grad(loss, (0, 1))(m, y)
    expected, expected_y = stagec.grad(dense_loss, (0, 1))(x, y)
    np.testing.assert_allclose(of_y, expected_y, rtol=1e-4)
    same(sparse.bcoo_extract(m, expected, assume_unique=True).data * (slope.data != 0), slope.data, 1e-3)
    value, again = sparse.value_and_grad(loss)(m, y)
    np.testing.assert_allclose(value, dense_loss(x, y), rtol=1e-4)
    np.testing.assert_array_equal(again.data, slope.data)
    many = np.stack([y, 2 * y])
    found = stagec.jit(stagec.vmap(lambda m, y: loss(m, y), (None, 0)))(m, many)
    np.testing.assert_allclose(found, [dense_loss(x, y), 4 * dense_loss(x, y)], rtol=1e-4)
    if m.n_batch:
        rows = stagec.vmap(lambda row: row.sum(), 0)(m)
        np.testing.assert_allclose(rows, x.reshape(2, -1).sum(1), rtol=1e-3, atol=1e-5)
        same(2 * x, stagec.vmap(lambda row: row * 2)(m))


def test_arrays_are_arguments_and_results_of_programs(case):
    x, m = case
    same(x * 3, stagec.jit(lambda m: (m * 3).sum_duplicates())(m))
    found = stagec.jit(lambda m: lax.scan(lambda c, _: (c * 2, c.sum()), m, None, length=3))(m)
    same(x * 8, found[0])
    same(x, stagec.jit(lambda x: sparse.BCOO.fromdense(x, nse=48, n_batch=m.n_batch, n_dense=m.n_dense))(x))


FUNCTIONS = {
    "elementwise": lambda x: snp.sin(x) * 2 + snp.tanh(x) - x**2,
    "sums": lambda x: x.sum((0, 2)).T,
    "shapes": lambda x: snp.concatenate([x, -x], 1)[:, 1:].reshape(2, 5, 8),
    "product": lambda x: snp.tensordot(x, snp.arange(8.0).reshape(4, 2), 2),
    "jitted": lambda x: stagec.jit(lambda x: snp.squeeze(snp.expand_dims(x, 0) / 2, 0))(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_dense_arrays_are_made_sparse(name):
    f, x = FUNCTIONS[name], dense()
    m = messy(x, 0, 0)
    same(f(snp.asarray(x)), sparse.sparsify(f)(m))
    same(f(snp.asarray(x)), stagec.jit(sparse.sparsify(f))(m))
    same(f(snp.asarray(x)), sparse.sparsify(f)(x))


def test_functions_without_a_rule_say_so():
    m = sparse.BCOO.fromdense(dense())
    for f in (snp.cos, snp.exp, lambda x: x**-1, lambda x: 1 / x, lambda x: snp.concatenate([x, snp.ones(SHAPE)])):
        with pytest.raises(UnsupportedError, match=r"sparse(: | )"):
            sparse.sparsify(f)(m)
    x = sparse.sparsify(lambda x: snp.cos(sparse.todense(x)))(m)
    np.testing.assert_allclose(x, np.cos(dense()), rtol=1e-6)


def test_rows_have_pointers():
    x = dense((5, 4))
    m = sparse.BCSR.fromdense(x, nse=15)
    same(x, m)
    same(x.T, m.T)
    same(x.sum(1), m.sum(1))
    assert m.indptr.tolist() == [0, *np.cumsum((x != 0).sum(1))]
    assert repr(m) == "BCSR(float32[5, 4], nse=15)"
    batch = dense((2, 5, 4, 3))
    m = sparse.BCSR.fromdense(batch, n_batch=1, n_dense=1)
    same(batch, m)
    same(batch, sparse.BCSR.from_bcoo(m.to_bcoo()))
    np.testing.assert_allclose(sparse.bcsr_extract(m.indices, m.indptr, batch), m.data)
    same(np.concatenate([batch, batch], 1), sparse.bcsr_concatenate([m, m], dimension=1))
    same(2 * batch, m + m)
    same(batch, stagec.jit(lambda m: m.sum_duplicates(nse=20))(m))
    same(3 * batch, stagec.vmap(lambda m: 3 * m)(m))
    y = dense((4, 2))
    same(
        np.einsum("brcd,ck->brdk", batch, y), sparse.bcsr_dot_general(m, y, dimension_numbers=(((2,), (0,)), ((), ())))
    )
    wide = sparse.bcsr_broadcast_in_dim(sparse.BCSR.fromdense(x), shape=(3, 5, 4), broadcast_dimensions=(1, 2))
    same(np.broadcast_to(x, (3, 5, 4)), wide)


def test_scipys_matrices_are_taken():
    scipy = pytest.importorskip("scipy.sparse")
    x = dense((5, 4))
    y = dense((4, 3), 1)
    for matrix in (scipy.csr_matrix(x), scipy.coo_array(x)):
        for kind in (sparse.BCOO, sparse.BCSR):
            m = kind.from_scipy_sparse(matrix)
            same(x, m)
            same(matrix @ y, stagec.jit(lambda m: m @ y)(m))


SHARED = {
    "products": lambda K, M, n, j, x, y: [K.fromdense(x) @ y, j.jit(lambda m: m @ y)(K.fromdense(x, nse=13))],
    "batches": lambda K, M, n, j, x, y: j.vmap(lambda m, v: m @ v)(
        K.fromdense(n.stack([x, 2 * x]), n_batch=1), n.stack([y, -y])
    ),
    "derivatives": lambda K, M, n, j, x, y: [
        M.grad(lambda m: ((m @ y) ** 2).sum())(K.fromdense(x)).data,
        j.grad(lambda m: ((m @ y) ** 2).sum(), allow_int=True)(K.fromdense(x)).data,
        j.jacobian(lambda v: K.fromdense(x) @ v)(y),
    ],
    "dtypes": lambda K, M, n, j, x, y: [
        K.fromdense(x.astype("complex64")) @ y,
        K.fromdense(x != 0) @ y,
        K.fromdense(x.astype("int32")) @ y,
        (K.fromdense(x) @ y.astype("float16")),
    ],
}


@pytest.mark.parametrize("kind", ["BCOO", "BCSR"])
@pytest.mark.parametrize("name", SHARED)
def test_results_are_those_of_jax(name, kind):
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.experimental.sparse")
    x, y = dense((5, 4)), dense((4, 3), 1)
    expected = SHARED[name](getattr(theirs, kind), theirs, jax.numpy, jax, jax.numpy.asarray(x), jax.numpy.asarray(y))
    found = SHARED[name](getattr(sparse, kind), sparse, snp, stagec, snp.asarray(x), snp.asarray(y))
    for a, b in zip(jax.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5)


def test_arrays_are_created():
    for n, m, k in ((3, 4, 0), (3, 4, 2), (4, 3, -1), (2, 2, 5)):
        same(np.eye(n, m, k), sparse.eye(n, m, k))
    same(np.eye(3), sparse.eye(3, sparse_format="bcsr"))
    same(np.zeros((2, 3)), sparse.empty((2, 3), nse=4))
    key = stagec.random.key(0)
    m = sparse.random_bcoo(key, (3, 8, 9), nse=0.25, n_batch=1, sorted_indices=True)
    assert m.nse == 18 and m.sum_duplicates().nse == 18 and 0 < float(m.todense().mean()) < 0.5
    with pytest.raises(UnsupportedError, match="format 'dia'"):
        sparse.eye(3, sparse_format="dia")


def test_parts_have_to_fit():
    with pytest.raises(ShapeError, match="BCOO: data"):
        sparse.BCOO((np.ones(3), np.zeros((2, 2), int)), shape=(3, 3))
    with pytest.raises(ShapeError, match="BCSR: data"):
        sparse.BCSR((np.ones(3), np.zeros(3, int), np.zeros(3, int)), shape=(3, 3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        sparse.eye(3) * np.ones((2, 2))
    with pytest.raises(UnsupportedError, match="mixes batch, sparse and dense"):
        sparse.BCOO.fromdense(dense(), n_batch=1).transpose((1, 0, 2, 3))


@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR])
def test_operands_of_products_must_fit(kind):
    """A gather at columns that the other operand lacks would find its last element."""
    one = kind.fromdense(snp.array([[0.0, 1, 0], [2, 0, 3]]))
    products = [
        lambda: one @ snp.ones(4),
        lambda: one @ snp.ones((2, 2)),
        lambda: snp.ones(3) @ one,
        lambda: snp.ones((5, 4)) @ one,
        lambda: one @ one,
        lambda: stagec.jit(lambda m, x: m @ x)(one, np.ones(5, np.float32)),
    ]
    for product in products:
        with pytest.raises(stagec.errors.ShapeError, match=r"of the first have sizes \(\d,\), axes"):
            product()
    with pytest.raises(stagec.errors.ShapeError, match="axes \\(0,\\) of the first have sizes \\(2,\\)"):
        batched = (([2], [2]), ([0], [0]))
        both = sparse.BCOO.fromdense(snp.ones((2, 2, 3)), n_batch=1)
        sparse.bcoo_dot_general(both, snp.ones((3, 2, 3)), dimension_numbers=batched)


def test_the_leaves_may_be_something_else():
    one = sparse.BCOO.fromdense(snp.eye(2))
    assert repr(stagec.tree.map(snp.shape, one)) == "BCOO(<invalid>)"


MATRIX_CLASSES = ("COO", "CSR", "CSC")


@pytest.mark.parametrize("name", MATRIX_CLASSES)
def test_matrices_have_the_parts_and_products_of_jax(name):
    theirs = getattr(pytest.importorskip("jax.experimental.sparse"), name)
    ours = getattr(sparse, name)
    x = dense((4, 5))
    names = [n for n in ("data", "row", "col", "indices", "indptr") if hasattr(ours.fromdense(x), n)]
    for nse in (None, 12):
        a, b = ours.fromdense(x, nse=nse), theirs.fromdense(x, nse=nse)
        assert repr(a) == repr(b) and repr(a.T) == repr(b.T) and (a.size, a.ndim) == (b.size, b.ndim)
        for part in names:
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
        np.testing.assert_array_equal(a.todense(), x)
        np.testing.assert_array_equal(a.T.todense(), x.T)
        for other in (np.arange(5.0, dtype=np.float32), dense((5, 3), seed=2), np.arange(5)):
            one, two = a @ other, b @ other
            assert one.dtype == two.dtype
            np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)
    leaves = stagec.tree.leaves(a)
    assert [leaf is getattr(a, part) for leaf, part in zip(leaves, names)] == [True] * 3


@pytest.mark.parametrize("name", MATRIX_CLASSES)
def test_matrices_are_arguments_and_results_of_transformed_functions(name):
    x, v = dense((4, 5)), np.arange(5.0, dtype=np.float32)
    mat = getattr(sparse, name).fromdense(x)
    doubled, product = stagec.jit(lambda m, v: (m * 2, m @ v))(mat, v)
    assert type(doubled) is type(mat)
    same(x * 2, doubled)
    same(x @ v, product)
    same(2 * x.T, mat.T + mat.T)
    slope = stagec.grad(lambda data: (mat._with(data) @ v).sum())(mat.data)
    same(np.where(x != 0, v, 0), mat._with(slope))
    same(np.where(x != 0, v, 0), sparse.grad(lambda m: (m @ v).sum())(mat))
    rows = stagec.vmap(lambda data: mat._with(data).todense())(snp.stack([mat.data, 3 * mat.data]))
    np.testing.assert_array_equal(rows, np.stack([x, 3 * x]))
    traced = stagec.jit(lambda x: getattr(sparse, name).fromdense(x, nse=9))(x)
    same(x, traced)


def test_matrices_are_made_from_a_shape_in_each_format():
    theirs = pytest.importorskip("jax.experimental.sparse")
    for form in ("coo", "csr", "csc"):
        for n, m, k in ((3, 4, 0), (3, 4, 1), (4, 3, -2), (2, 2, 5)):
            a, b = (s.eye(n, m, k, sparse_format=form) for s in (sparse, theirs))
            assert repr(a) == repr(b)
            np.testing.assert_array_equal(a.todense(), np.eye(n, m, k))
            for one, two in zip(stagec.tree.leaves(a), b.tree_flatten()[0]):
                np.testing.assert_array_equal(one, two)
        assert repr(sparse.empty((3, 4), sparse_format=form)) == repr(theirs.empty((3, 4), sparse_format=form))


def test_functions_of_matrices_take_transposes():
    x = dense((4, 5))
    for mat, vector, matrix in (
        (sparse.coo_fromdense(x), sparse.coo_matvec, sparse.coo_matmat),
        (sparse.csr_fromdense(x), sparse.csr_matvec, sparse.csr_matmat),
    ):
        same(x @ np.ones(5), vector(mat, snp.ones(5)))
        same(x.T @ np.ones(4), vector(mat, snp.ones(4), transpose=True))
        same(x.T @ np.ones((4, 2)), matrix(mat, snp.ones((4, 2)), transpose=True))


def test_parts_of_a_matrix_have_to_fit():
    with pytest.raises(ShapeError, match=r"COO: data float32\[3\], row int32\[2\], col int32\[3\] do not fit"):
        sparse.COO((snp.ones(3), np.zeros(2, np.int32), np.zeros(3, np.int32)), shape=(3, 3))
    with pytest.raises(ShapeError, match="CSC"):
        sparse.CSC((snp.ones(3), np.zeros(3, np.int32), np.zeros(4, np.int32)), shape=(3, 4))


def system(seed=0):
    x = dense((5, 5), seed) + 3 * np.eye(5, dtype=np.float32)
    return x, sparse.CSR.fromdense(x), np.arange(5.0, dtype=np.float32)


def test_sparse_systems_are_solved_by_scipy_as_in_jax():
    theirs = pytest.importorskip("jax.experimental.sparse.linalg")
    x, mat, b = system()
    args = (mat.data, mat.indices, mat.indptr, b)
    expected = np.asarray(theirs.spsolve(*map(np.asarray, args)))
    for found in (sparse.linalg.spsolve(*args), stagec.jit(sparse.linalg.spsolve)(*args)):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(x @ expected, b, atol=1e-5)


def test_solutions_of_sparse_systems_have_derivatives_and_batches():
    x, mat, b = system(1)
    spsolve = sparse.linalg.spsolve

    def ours(data, b):
        return (spsolve(data, mat.indices, mat.indptr, b) ** 2).sum()

    def plain(data, b):
        return (snp.linalg.solve(mat._with(data).todense(), b) ** 2).sum()

    args = (mat.data, snp.asarray(b))
    for slopes in (stagec.grad(ours, (0, 1)), stagec.jit(stagec.grad(ours, (0, 1)))):
        for one, two in zip(slopes(*args), stagec.grad(plain, (0, 1))(*args)):
            np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)
    for one, two in zip(*(stagec.jvp(f, args, (args[0] * 0.1, args[1])) for f in (ours, plain))):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(stagec.hessian(ours, 1)(*args), stagec.hessian(plain, 1)(*args), rtol=1e-3, atol=1e-4)
    several = snp.stack([args[1], args[1] * 2])
    found = stagec.vmap(spsolve, (None, None, None, 0))(mat.data, mat.indices, mat.indptr, several)
    np.testing.assert_allclose(found, np.linalg.solve(x, np.asarray(several).T).T, rtol=1e-4, atol=1e-4)
    with pytest.raises(stagec.errors.DtypeError, match="b is int32"):
        spsolve(mat.data, mat.indices, mat.indptr, np.arange(5))
