"""Arrays of other libraries as arguments: tensors of PyTorch, columns of pandas."""

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.api.signature import Unusual, describe

double = stagec.jit(lambda x: x * 2)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not here: it is large, and no requirement of the tests")


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


TORCH_DTYPES = "bool int8 int16 int32 uint8 float16 bfloat16 float32 complex64".split()


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_tensors_go_both_ways_without_a_copy(torch, dtype):
    tensor = torch.tensor([0, 1, 1, 0] * 32).to(getattr(torch, dtype))
    assert tensor.data_ptr() % 64 == 0
    x = snp.from_dlpack(tensor, copy=False)
    assert x.dtype == dtype and x.address() == tensor.data_ptr()
    back = torch.from_dlpack(x)
    assert back.dtype == tensor.dtype and torch.equal(back, tensor)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert back.data_ptr() == tensor.data_ptr()


def test_results_become_tensors_without_a_copy(torch):
    out = double(snp.arange(1000, dtype="bfloat16"))
    tensor = torch.from_dlpack(out)
    assert tensor.dtype is torch.bfloat16 and tensor[3] == 6
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert tensor.data_ptr() == out.address()


def test_tensors_are_arguments(torch):
    tensor = torch.arange(12.0).reshape(3, 4)
    assert np.array_equal(double(tensor.T), 2 * tensor.numpy().T)
    assert np.array_equal(double({"a": tensor[1:, 1:]}["a"]), 2 * tensor.numpy()[1:, 1:])
    assert double(tensor.bfloat16()).dtype == snp.bfloat16
    assert snp.sum(tensor) == 66
    assert stagec.grad(lambda x: (x**2).sum())(tensor)[0, 1] == 2
    assert snp.asarray(tensor.bfloat16()).dtype == snp.bfloat16


def test_a_loaded_function_takes_tensors_and_series(torch, pd):
    loaded = stagec.load(stagec.export(lambda x: x * 2)(snp.ones(3)).serialize())
    assert loaded(torch.arange(3.0)).tolist() == loaded(pd.Series([0, 1, 2], dtype="float32")).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("make", "reason", "fixed"),
    [
        (lambda t: t.ones(3, requires_grad=True), "requires? grad", lambda x: x.detach()),
        (lambda t: t.ones(3).to_sparse(), "layout", lambda x: x.to_dense()),
        (lambda t: t.ones(3).to(t.float8_e4m3fn), "dtype", lambda x: x.float()),
        (lambda t: t.ones(3, device="meta"), "meta", None),
    ],
)
def test_tensors_that_cannot_be_read_say_why(torch, make, reason, fixed):
    x = make(torch)
    with pytest.raises(stagec.errors.ArgumentTypeError, match=reason) as caught:
        double(x)
    text = str(caught.value)
    assert text.startswith("argument x of <lambda> at test_foreign.py:") and "cannot be read through DLPack" in text
    assert "\n  Fix: " in text
    if fixed is not None:
        assert double(fixed(x)).tolist() == [2, 2, 2]


def test_series_indices_and_frames_are_their_values(pd):
    series = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    assert double(series).tolist() == [2, 4, 6]
    assert double(series.astype(ml_dtypes.bfloat16).to_numpy()).dtype == snp.bfloat16
    assert double(pd.Index([1, 2])).tolist() == [2, 4]
    assert double(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).tolist() == [[2, 6], [4, 8]]
    assert snp.mean(series) == 2 and snp.asarray(series, "int32").dtype == np.int32
    assert snp.where(series > 1, 1, 0).tolist() == [0, 1, 1]


def test_operators_between_series_and_arrays_make_series(pd):
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    for out in (series + snp.ones(2), snp.ones(2) + series):
        assert type(out) is pd.Series and out["b"] == 3


def test_arrays_become_columns(pd):
    frame = pd.DataFrame({"a": snp.arange(2.0)}).assign(b=snp.arange(2))
    assert frame.dtypes.astype(str).tolist() == ["float32", "int32"]


@pytest.mark.parametrize(
    ("dtype", "values", "advice"),
    [
        ("object", ["1", "2"], ["x.astype('float32')", "x.astype('category').cat.codes"]),
        ("string", ["1", "2"], ["x.astype('float32')", "x.astype('category').cat.codes"]),
        ("category", ["1", "2"], ["x.cat.codes"]),
        ("Int64", [1, None], ["x.to_numpy('float32', na_value=float('nan'))"]),
        ("Float32", [1, None], ["x.to_numpy('float32', na_value=float('nan'))"]),
        ("boolean", [True, None], ["x.to_numpy('float32', na_value=float('nan'))"]),
        ("datetime64[ns]", ["2020-01-01", "2020-01-02"], ["x.astype('int64')"]),
        ("datetime64[ns, UTC]", ["2020-01-01", "2020-01-02"], ["x.astype('int64')"]),
        ("timedelta64[ns]", [1, 2], ["x.astype('int64')"]),
        ("Sparse[float64]", [1, 2], ["x.sparse.to_dense()"]),
    ],
)
def test_columns_that_hold_no_numbers_say_what_to_do(pd, dtype, values, advice):
    x = pd.Series(values, dtype=dtype)
    for call in (double, snp.sum, snp.asarray):
        with pytest.raises(stagec.errors.DtypeError, match="a pandas Series has dtype") as caught:
            call(x)
        fix = str(caught.value).partition("\n  Fix: ")[2]
        assert all(text in fix for text in advice)
    for text in advice:
        with stagec.enable_x64("datetime" in dtype or "timedelta" in dtype):
            assert double(eval(text, {"x": x})).shape == (2,)


def test_frames_of_several_dtypes_say_what_to_do(pd):
    x = pd.DataFrame({"a": [1.0, 2.0], "n": [1, 2]})
    with pytest.raises(stagec.errors.DtypeError, match="several dtypes") as caught:
        double(x)
    text = str(caught.value)
    assert "    a  float64\n    n  int64" in text
    assert "x.to_numpy('float32')" in text and "{c: x[c] for c in x}" in text
    assert double(x.to_numpy("float32")).shape == (2, 2)
    assert stagec.jit(lambda t: t["a"] + t["n"])({c: x[c] for c in x}).tolist() == [2, 4]


def test_a_column_of_a_frame_that_holds_no_numbers_is_named(pd):
    x = pd.DataFrame({"a": [1.0, 2.0], "name": ["u", "v"]})
    with pytest.raises(stagec.errors.DtypeError, match="column 'name' of a DataFrame") as caught:
        double(x)
    assert "x['name'].astype('category').cat.codes" in str(caught.value)
    assert double(x["name"].astype("category").cat.codes).tolist() == [0, 2]


def test_they_take_the_fast_path_of_a_call(torch, pd):
    """The fast path describes the arguments in one walk; the other costs ten times as much."""
    numbers = np.arange(3, dtype=np.float32)
    expected = describe(numbers, [])
    for value in (pd.Series(numbers), torch.from_numpy(numbers)):
        leaves = []
        assert describe({"x": value}, leaves) == (dict, ("x",), expected)
        assert np.shares_memory(leaves[0], np.asarray(value))
    for value in (pd.Series(["a"]), torch.ones(3, requires_grad=True)):
        with pytest.raises(Unusual):
            describe(value, [])
