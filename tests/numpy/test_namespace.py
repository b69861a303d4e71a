"""`stagec.numpy` as a namespace of the Python array API standard."""

import types

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

# https://data-apis.org/array-api/2024.12: everything outside of the extensions `linalg` and `fft`.
STANDARD = """
e inf nan newaxis pi
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
zeros_like
astype can_cast finfo iinfo isdtype result_type
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values
argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff
__array_namespace_info__ __array_api_version__
""".split()


def test_the_names_of_the_standard_are_there():
    assert [name for name in STANDARD if not hasattr(snp, name)] == []


@pytest.mark.parametrize("version", [None, "2022.12", "2024.12"])
def test_arrays_name_their_namespace(version):
    assert snp.ones(2).__array_namespace__(api_version=version) is snp


def test_an_unknown_version_of_the_standard_is_refused():
    with pytest.raises(stagec.errors.UnsupportedError, match="version 2030") as caught:
        snp.ones(2).__array_namespace__(api_version="2030.12")
    version = str(caught.value).rpartition(", ")[2]
    assert snp.ones(2).__array_namespace__(api_version=version) is snp


def test_traced_values_name_it_too():
    def normalized(x):
        xp = x.__array_namespace__()
        assert isinstance(xp, types.ModuleType)
        return x / xp.sqrt(xp.sum(x**2))

    assert stagec.jit(normalized)(snp.array([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8])


def test_a_function_of_the_standard_runs_compiled():
    """Written against the standard alone, for any library."""

    def standardized(x):
        xp = x.__array_namespace__()
        return xp.astype((x - xp.mean(x, axis=0)) / xp.std(x, axis=0), xp.float32)

    x = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2
    np.testing.assert_allclose(stagec.jit(standardized)(snp.asarray(x)), standardized(x), rtol=1e-5)


def test_the_namespace_tells_what_it_has():
    info = snp.__array_namespace_info__()
    assert info.default_device() == snp.ones(1).device
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {
        "real floating": np.dtype("float32"),
        "complex floating": np.dtype("complex64"),
        "integral": np.dtype("int32"),
        "indexing": np.dtype("int32"),
    }
    assert list(info.dtypes(kind="real floating")) == ["float32"]
    with stagec.enable_x64():
        assert list(info.dtypes(kind=("real floating", "bool"))) == ["bool", "float32", "float64"]
        assert info.default_dtypes()["integral"] == np.dtype("int64")
    assert not info.capabilities()["boolean indexing"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("int8", "int32", True),
        ("float32", "int32", False),
        ("bfloat16", "float32", True),
        (np.int16, float, True),
        (snp.ones(2), "bfloat16", False),
    ],
)
def test_can_cast(source, target, expected):
    assert snp.can_cast(source, target) is expected


def test_to_device_commits():
    x = snp.ones(2)
    moved = x.to_device("cpu")
    assert moved.committed and moved.device == x.device and moved.to_device(moved.device) is moved
    with pytest.raises(stagec.errors.DeviceError):
        x.to_device("abacus")
