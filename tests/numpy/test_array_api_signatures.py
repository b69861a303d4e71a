"""Functions of the Python array API standard, version 2024.12, take what it says: in order, and by name."""

import inspect

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

# Arguments without names, then those with names; and the functions that have them.
TABLE = """
1 | | abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 finfo floor iinfo imag isfinite
1 | | isinf isnan log log10 log1p log2 logical_not matrix_transpose negative nonzero positive real reciprocal round sign
1 | | signbit sin sinh sqrt square tan tanh trunc unique_all unique_counts unique_inverse unique_values
1 | | linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals
2 | | add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_to can_cast copysign
2 | | divide equal floor_divide greater greater_equal hypot isdtype less less_equal logaddexp logical_and logical_or
2 | | logical_xor matmul maximum minimum multiply nextafter not_equal permute_dims pow remainder squeeze subtract tile
2 | | linalg.matmul linalg.matrix_power linalg.outer linalg.solve broadcast_arrays broadcast_shapes result_type
3 | | moveaxis where
1 | axes | fft.fftshift fft.ifftshift
2 | axes | tensordot linalg.tensordot
1 | axis | concat expand_dims flip stack unstack
2 | axis | repeat roll take take_along_axis vecdot linalg.cross linalg.vecdot
1 | axis correction keepdims | std var
1 | axis descending stable | argsort sort
1 | axis dtype include_initial | cumulative_prod cumulative_sum
1 | axis dtype keepdims | prod sum
1 | axis keepdims | all any argmax argmin count_nonzero max mean min
1 | axis keepdims ord | linalg.vector_norm
1 | axis n prepend append | diff
2 | copy | reshape
2 | copy device | astype
1 | d dtype device | fft.fftfreq fft.rfftfreq
1 | device copy | from_dlpack
1 | dtype device | empty empty_like ones ones_like zeros zeros_like
2 | dtype device | full full_like
1 | dtype device copy | asarray
3 | dtype device endpoint | linspace
1 | full_matrices | linalg.svd
2 | indexing | meshgrid
2 | invert | isin
1 | k | tril triu
2 | k dtype device | eye
1 | keepdims ord | linalg.matrix_norm
1 | min max | clip
3 | | clip
1 | mode | linalg.qr
1 | n axis norm | fft.fft fft.hfft fft.ifft fft.ihfft fft.irfft fft.rfft
1 | offset | linalg.diagonal
1 | offset dtype | linalg.trace
1 | rtol | linalg.matrix_rank linalg.pinv
1 | s axes norm | fft.fftn fft.ifftn fft.irfftn fft.rfftn
2 | side sorter | searchsorted
1 | stop step dtype device | arange
3 | dtype device | arange
1 | upper | linalg.cholesky
"""
METHODS = (
    "T mT device dtype ndim shape size to_device __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ "
    "__dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ "
    "__le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ "
    "__sub__ __truediv__ __xor__ __radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ "
    "__rpow__ __rrshift__ __rsub__ __rtruediv__ __rxor__"
)


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_functions_take_the_arguments_of_the_standard(line):
    count, keywords, names = (part.split() for part in line.split("|"))
    for name in names:
        function = snp
        for part in name.split("."):
            function = getattr(function, part)
        inspect.signature(function).bind(*range(int(count[0])), **dict.fromkeys(keywords))


def test_arrays_have_the_methods_of_the_standard():
    assert [m for m in METHODS.split() if not hasattr(stagec.Array, m)] == []
    info = snp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {"bool", "uint8", "uint16", "uint32"}


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64", "complex64", "complex128"])
def test_the_limits_of_a_floating_dtype_are_python_numbers(kind):
    info = snp.finfo(kind)
    assert all(type(getattr(info, n)) is float for n in ("eps", "max", "min", "smallest_normal"))
    assert type(info.bits) is int and info.dtype == (
        kind.replace("complex64", "float32").replace("complex128", "float64")
    )
    if kind != "bfloat16":
        numpys = np.finfo(kind)
        for name in (
            "bits",
            "eps",
            "epsneg",
            "max",
            "min",
            "tiny",
            "smallest_subnormal",
            "nmant",
            "precision",
            "maxexp",
        ):
            assert getattr(info, name) == getattr(numpys, name), name
    assert snp.finfo(snp.ones(2)) is snp.finfo("float32")
    assert repr(snp.finfo("float16")) == "finfo(resolution=0.0010004, min=-65504, max=65504, dtype=float16)"
    small = snp.ones(2, "float16") * snp.finfo("float16").eps
    assert small.dtype == np.float16


def test_an_array_that_must_not_be_copied_is_not():
    x = snp.ones(2)
    assert snp.asarray(x, copy=False) is x
    for other, options in ((np.ones(2, np.float32), {}), (x, {"dtype": "int32"}), ([1, 2], {})):
        with pytest.raises(ValueError, match="copy=False, but"):
            snp.asarray(other, copy=False, **options)
    assert snp.asarray(x, copy=True) is not x


def test_item_assignment_says_how_to_write_it():
    with pytest.raises(TypeError, match=r"Fix: x = x.at\[index\].set\(value\)"):
        snp.ones(2)[0] = 1
