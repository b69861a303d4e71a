"""Arrays in the hands of other libraries."""

import os
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int32)


def test_numpy_reads_without_a_copy():
    x = stagec.jit(lambda x: x + 1)(X)
    view = np.asarray(x)
    assert view.ctypes.data == x.address() and not view.flags.writeable
    assert np.shares_memory(view, np.asarray(x, dtype="float32", copy=False))


def test_the_buffer_protocol_shares_memory():
    x = snp.arange(6.0).reshape(2, 3)
    view = memoryview(x if sys.version_info >= (3, 12) else np.asarray(x))
    assert view.readonly and view.shape == (2, 3) and view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.asarray(view).ctypes.data == x.address()


def test_no_pointer_is_shown_that_delete_would_leave_dangling():
    """NumPy would prefer `__array_interface__` to `__array__`, and keep the Array alive, but not its memory."""
    x = snp.ones(3)
    assert not hasattr(x, "__array_interface__")
    view = np.asarray(x)
    x.delete()
    assert view.tolist() == [1, 1, 1]


SCIPY = {
    "scipy.linalg": lambda m: m.inv(snp.eye(2) * 2),
    "scipy.special": lambda m: m.erf(snp.ones(3)),
    "scipy.stats": lambda m: m.zscore(snp.arange(4.0)),
    "scipy.signal": lambda m: m.convolve(snp.ones(3), snp.ones(2)),
    "scipy.fft": lambda m: m.fft(snp.ones(4)),
    "scipy.ndimage": lambda m: m.uniform_filter(snp.ones((3, 3))),
    "scipy.spatial": lambda m: m.cKDTree(snp.ones((3, 2))).query(snp.zeros(2))[0],
    "scipy.sparse": lambda m: m.csr_matrix(snp.eye(3)) @ snp.ones(3),
    "scipy.interpolate": lambda m: m.CubicSpline(snp.arange(5.0), snp.arange(5.0))(snp.array([2.5])),
}


@pytest.mark.parametrize("name", SCIPY)
def test_scipy_takes_arrays(name):
    module = pytest.importorskip(name)
    assert np.isfinite(np.asarray(SCIPY[name](module))).all()


def test_scipy_minimizes_compiled_functions():
    optimize = pytest.importorskip("scipy.optimize")
    value = stagec.jit(stagec.value_and_grad(lambda v: ((v - 3) ** 2).sum()))
    found = optimize.minimize(value, snp.zeros(3), jac=True)
    assert found.x == pytest.approx([3, 3, 3])


def test_scipy_integrates_compiled_functions():
    integrate = pytest.importorskip("scipy.integrate")
    found = integrate.solve_ivp(stagec.jit(lambda t, y: -y), (0, 1), snp.ones(2))
    assert found.y[:, -1] == pytest.approx(np.exp([-1, -1]), rel=1e-3)


@pytest.fixture
def xr():
    return pytest.importorskip("xarray")


def test_xarray_keeps_arrays(xr):
    a = xr.DataArray(snp.arange(12.0).reshape(3, 4), dims=["t", "x"], coords={"t": [0, 1, 2]})
    for out in (a + 1, a.mean("t"), a.sel(t=1), a.where(a > 3), a.T, a.cumsum("t"), a.max("x"), xr.concat([a, a], "t")):
        assert type(out.data) is stagec.Array
    assert a.mean("t").values.tolist() == [4, 5, 6, 7]


def test_xarray_applies_compiled_functions(xr):
    a = xr.DataArray(X, dims=["row", "column"])
    out = xr.apply_ufunc(stagec.jit(lambda v: snp.tanh(v).sum(-1)), a, input_core_dims=[["column"]])
    assert out.dims == ("row",)
    np.testing.assert_allclose(out, np.tanh(X).sum(1), rtol=1e-5)


def test_sklearn_takes_arrays():
    linear = pytest.importorskip("sklearn.linear_model")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    assert linear.LogisticRegression().fit(snp.asarray(X), snp.asarray(Y)).score(X, snp.asarray(Y)) > 0.9
    scaled = preprocessing.FunctionTransformer(stagec.jit(lambda x: x * 2)).fit_transform(X)
    assert np.array_equal(scaled, 2 * X)


def test_sklearn_dispatches_to_arrays():
    """What writes to its arrays fails, as it does for every library of immutable ones."""
    pytest.importorskip("sklearn")
    program = """if True:
        import numpy as np, sklearn, stagec, stagec.numpy as snp
        from sklearn.metrics import accuracy_score, mean_squared_error
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import KernelCenterer, StandardScaler
        x, y = snp.asarray(np.random.default_rng(0).normal(size=(8, 3)), "float32"), snp.arange(8) % 2
        with sklearn.config_context(array_api_dispatch=True):
            print(accuracy_score(y, y), round(mean_squared_error(x[:, 0], x[:, 0]), 3))
            print(*{type(part).__name__ for part in (*train_test_split(x, y), KernelCenterer().fit_transform(x @ x.T))})
            try:
                StandardScaler().fit_transform(x)
            except TypeError as error:
                print(str(error).splitlines()[0])
    """
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    immutable = "arrays are immutable: x[index] = value is not supported"
    assert done.stdout.splitlines() == ["1.0 0.0", "Array", immutable]


def test_joblib_runs_compiled_functions_in_threads():
    joblib = pytest.importorskip("joblib")
    double = stagec.jit(lambda x: x * 2)
    found = joblib.Parallel(2, prefer="threads")(joblib.delayed(double)(np.float32(i)) for i in range(4))
    assert [float(x) for x in found] == [0, 2, 4, 6]


def test_dask_maps_compiled_functions():
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install '.[test]'")
    numbers = da.from_array(np.arange(12, dtype=np.float32), chunks=4)
    found = numbers.map_blocks(stagec.jit(lambda x: x * 2)).compute(scheduler="threads")
    assert np.array_equal(found, 2 * np.arange(12))
