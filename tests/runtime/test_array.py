"""`Array` beside NumPy: conversion, printing, pickling, immutability, donation."""

import copy
import ctypes
import pickle
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.runtime import memory
from stagec.runtime.memory import aligned_empty

DTYPES = "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_in_and_out_of_compiled_code(dtype):
    x = snp.array([0, 1, 1, 0, 1]).astype(dtype)
    y = stagec.jit(lambda x: x[::-1])(x)
    assert y.dtype == snp.dtype(dtype)
    assert np.array_equal(np.asarray(y), np.asarray(x)[::-1])


def test_numpy_reads_arrays_without_a_copy_and_cannot_write():
    x = stagec.jit(lambda x: x + 1)(np.arange(16, dtype=np.float32))
    a = np.asarray(x)
    assert np.shares_memory(a, np.asarray(x))
    with pytest.raises(ValueError):
        a[0] = 1
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError):
        np.array(x, dtype=np.float64, copy=False)


def test_the_buffer_outlives_the_array():
    a = np.asarray(stagec.jit(lambda x: x * 2)(np.ones(1 << 16, np.float32)))
    for _ in range(10):
        stagec.jit(lambda x: x * 3)(np.ones(1 << 16, np.float32))
    assert (a == 2).all()


def test_arrays_from_numpy_do_not_follow_the_original():
    x = np.zeros(1024, np.float32)
    y = snp.array(x)
    z = snp.asarray(x)
    x[:] = 1
    assert float(y.sum()) == 0
    assert float(z.sum()) == 0


def test_unaligned_and_strided_arguments():
    base = np.arange(101, dtype=np.float32)
    f = stagec.jit(lambda x: x * 2)
    for start in range(1, 17):
        view = base[start : start + 64]
        assert np.array_equal(f(view), view * 2)
    assert np.array_equal(f(base[::3]), base[::3] * 2)
    assert np.array_equal(f(base[::-1]), base[::-1] * 2)
    fortran = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert np.array_equal(f(fortran), fortran * 2)
    swapped = np.arange(4, dtype=">f4")
    assert np.array_equal(f(swapped), [0, 2, 4, 6])


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "float16", "bool"])
def test_large_numpy_arguments_are_read_where_they_lie(monkeypatch, dtype, tmp_path):
    def scaled(x, w):
        return [snp.where(x == w, x, w).sum(), x[::-1], (x.reshape(100, -1) != 0) @ snp.ones(400, "float32")]

    f, size = stagec.jit(scaled), np.dtype(dtype).itemsize
    stagec.export(f)(stagec.ShapeDtypeStruct((40000,), dtype), stagec.ShapeDtypeStruct((40000,), dtype)).save(
        tmp_path / "f.stagec"
    )
    base = (np.random.default_rng(0).integers(0, 3, 40064) % 2).astype(dtype)
    other = aligned_empty((40000,), base.dtype)
    other[...] = base[:40000]
    expected = [np.array(y) for y in f(snp.asarray(base[:40000]), other)]
    loaded = stagec.load(tmp_path / "f.stagec")
    loaded(other, other)
    monkeypatch.setattr(memory, "aligned_empty", lambda *args: pytest.fail("an argument was copied"))
    for call in (f, loaded):
        for offset in (1, 3, 17):
            begins = aligned_empty((40064,), base.dtype)[offset:][:40000]
            begins[...] = other
            assert begins.ctypes.data % 64 == offset * size % 64
            for actual, y in zip(call(begins, other), expected, strict=True):
                np.testing.assert_array_equal(actual, y)


def test_code_of_the_compilers_gets_aligned_copies(monkeypatch):
    x = aligned_empty((40001,), np.dtype("float32"))[1:]
    x[...] = np.arange(40000)
    copies = []
    monkeypatch.setattr(memory, "aligned_empty", lambda *args: copies.append(args) or aligned_empty(*args))
    with stagec.config.override(cpu_kernels=False):
        f = stagec.jit(lambda x: x * 2 + snp.flip(x))
        np.testing.assert_array_equal(f(x), x * 2 + x[::-1])
    assert copies == [((40000,), np.dtype("float32"))]


def test_mixed_operators_give_arrays():
    x = snp.ones(3)
    for y in (np.ones(3, np.float32) + x, x + np.ones(3, np.float32), 1 + x, np.float32(1) * x, x @ np.ones(3)):
        assert isinstance(y, stagec.Array)


def test_repr_is_numpys_with_the_dtype():
    assert repr(snp.array([1.0, 2.0])) == "Array([1., 2.], dtype=float32)"
    assert repr(snp.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"
    assert repr(snp.asarray(1)) == "Array(1, dtype=int32, weak_type=True)"
    assert str(snp.array([1, 2])) == "[1 2]"
    assert f"{snp.float32(1.5):.2f}" == "1.50"


def test_pickle_and_copy_give_equal_arrays():
    x = snp.arange(6.0).reshape(2, 3)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert isinstance(y, stagec.Array)
        assert np.array_equal(x, y)
    assert pickle.loads(pickle.dumps(snp.asarray(1))).weak_type


class OldConsumer:
    """Hands an array on as it does for a library that knows only the first version of DLPack."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_dlpack_both_ways():
    x = snp.arange(8.0)
    assert np.array_equal(np.from_dlpack(x), np.arange(8))
    assert np.array_equal(snp.from_dlpack(np.arange(8, dtype=np.float32)), np.arange(8))


@pytest.mark.parametrize("consumer", [lambda x: x, OldConsumer])
def test_dlpack_takes_bfloat16_both_ways(consumer):
    """NumPy, which is asked for the memory, knows no bfloat16."""
    x = snp.array([1.5, -2.0, float("inf")], "bfloat16")
    y = snp.from_dlpack(consumer(x))
    assert y.dtype == snp.bfloat16 and np.array_equal(y, x)
    with pytest.raises((RuntimeError, BufferError), match="Unsupported dtype"):
        np.from_dlpack(consumer(x))
    # What has 16 bits and is no bfloat16 stays what it is.
    for dtype in ("uint16", "float16"):
        assert snp.from_dlpack(consumer(x.astype("float32").astype(dtype))).dtype == dtype


def test_from_dlpack_shares_aligned_memory_and_copies_other():
    aligned = aligned_empty((4, 16), np.dtype("float32"))
    aligned[...] = 1
    assert snp.from_dlpack(aligned, copy=False).address() == aligned.ctypes.data
    assert snp.from_dlpack(aligned, copy=True).address() != aligned.ctypes.data
    for other, reason in [
        (aligned[:, 1:2], "not in row-major order"),
        (aligned[0, 1:], "not aligned to 64 bytes"),
        (aligned.view("float64"), "float64 becomes float32"),
    ]:
        assert np.array_equal(snp.from_dlpack(other), other.astype("float32"))
        with pytest.raises(BufferError, match=reason) as caught:
            snp.from_dlpack(other, copy=False)
        assert "Fix: leave copy=False out" in str(caught.value)


def test_a_donation_does_not_write_to_the_memory_of_another_library():
    lent = aligned_empty((1000,), np.dtype("float32"))
    lent[...] = 1
    double = stagec.jit(lambda x: x * 2, donate_argnums=0)
    assert double(snp.from_dlpack(lent))[0] == 2
    assert (lent == 1).all()


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 knows no read-only DLPack")
def test_dlpack_lends_memory_that_numpy_may_only_read():
    x = snp.arange(8.0)
    view = np.from_dlpack(x)
    assert not view.flags.writeable
    assert np.shares_memory(view, np.asarray(x))


def test_dlpack_gives_a_copy_to_those_who_could_write():
    x = snp.arange(8.0)
    view = np.from_dlpack(OldConsumer(x))
    assert not np.shares_memory(view, np.asarray(x))
    with pytest.raises(BufferError, match="copy") as caught:
        x.__dlpack__(copy=False)
    assert "test_array.py" in str(caught.value) and "Fix: pass max_version" in str(caught.value)


def test_dlpack_cannot_change_what_a_program_closed_over():
    weights = snp.arange(100.0)
    scaled = stagec.jit(lambda v: v * weights)
    before = np.array(scaled(2.0))
    view = np.from_dlpack(OldConsumer(weights))
    # What NumPy makes read-only, another library writes to.
    ctypes.memset(view.ctypes.data, 255, view.nbytes)
    assert np.array_equal(scaled(2.0), before)


PARTS = []  # of a pickle, out of band


@pytest.mark.parametrize(
    "x",
    [
        snp.arange(3.0),
        snp.float32(2),
        snp.zeros((0, 2)),
        snp.arange(6).reshape(2, 3).T,
        snp.ones(2, "bfloat16"),
        snp.array([True]),
        snp.ones(2, complex),
        stagec.jit(lambda x: x + 1)(snp.ones((2, 3))),
        *[pickle.loads(pickle.dumps(snp.ones(3), protocol)) for protocol in (2, 4, 5)],
        pickle.loads(pickle.dumps(snp.ones(3), 5, buffer_callback=PARTS.append), buffers=map(bytearray, PARTS)),
    ],
    ids=lambda x: x.aval.short(),
)
def test_numpy_views_cannot_be_made_writeable(x):
    view = np.asarray(x)
    assert (view.shape, view.dtype) == (x.shape, x.dtype)
    for alias in (view, view[...], view.view(), x.numpy(), view.T):
        with pytest.raises(ValueError):
            alias.flags.writeable = True


def test_the_buffer_protocol_is_there_from_python_312_on_and_through_numpy_before():
    x = snp.arange(3.0)
    assert memoryview(np.asarray(x)).readonly
    if sys.version_info >= (3, 12):
        assert memoryview(x).readonly and memoryview(x).tolist() == [0, 1, 2]
    else:
        with pytest.raises(TypeError):
            memoryview(x)


def test_numpy_views_are_the_same_memory_each_time():
    x = snp.arange(3.0)
    # From Python 3.12 on, NumPy makes an array of a buffer.
    assert np.shares_memory(np.asarray(x), np.asarray(x)) and x.__array__() is x.__array__()
    assert np.asarray(x).ctypes.data == x.address()


def test_tracers_are_arrays_to_isinstance():
    seen = []

    def f(x, i):
        seen.append((isinstance(x, stagec.Array), isinstance(1.0, stagec.Array), type(x) is stagec.Array))
        return x[i], stagec.device_put(x)

    out = stagec.jit(f)(snp.arange(3.0), 1)
    assert seen == [(True, False, False)]
    assert isinstance(out[0], stagec.Array)
    assert not isinstance(np.ones(1), stagec.Array)


def test_device_get_leaves_tracers_as_they_are():
    assert stagec.jit(stagec.device_get)({"x": snp.ones(2)})["x"].tolist() == [1, 1]


def test_python_conversions():
    assert int(snp.array(3)) == 3 and float(snp.array(2.5)) == 2.5 and complex(snp.array(1j)) == 1j
    assert [10, 20, 30][snp.array(1)] == 20
    assert snp.array([[1, 2]]).tolist() == [[1, 2]]
    assert bool(snp.array([1])) is True
    with pytest.raises(TypeError, match="index"):
        [1][snp.array(0.0)]
    with pytest.raises(TypeError, match=r"item\(\)"):
        float(snp.ones(2))
    assert len(snp.ones((3, 2))) == 3
    assert [float(v) for v in snp.arange(3.0)] == [0, 1, 2]


def test_devices_and_waiting():
    x = snp.ones(3)
    assert x.block_until_ready() is x
    assert {d.platform for d in x.devices()} == {"cpu"}


def test_a_donated_array_is_taken_and_the_error_names_the_call():
    step = stagec.jit(lambda state, x: state + x, donate_argnums=0)
    state = stagec.jit(lambda: snp.zeros(1000))()
    new = step(state, 1.0)
    assert float(new[0]) == 1.0
    assert state.is_deleted()
    with pytest.raises(errors.DonationError) as info:
        state + 1
    text = str(info.value)
    assert "donated to <lambda>, called at test_array.py" in text
    assert "donate_argnums" in text


@pytest.mark.parametrize("by_name", [True, False])
def test_donated_arguments_may_be_named(by_name):
    step = stagec.jit(lambda x, state: x + state, donate_argnames="state")
    x, state = snp.arange(1000.0), snp.arange(1000.0) * 2
    result = step(x, state=state) if by_name else step(x, state)
    np.testing.assert_array_equal(result, np.arange(1000.0) * 3)
    assert state.is_deleted() and not x.is_deleted()


def test_a_donated_name_has_to_exist():
    with pytest.raises(stagec.errors.StaticArgumentError, match="no such parameter; it has x"):
        stagec.jit(lambda x: x, donate_argnames="z")(snp.ones(3))


def test_donation_works_in_place():
    step = stagec.jit(lambda x: x * 2 + 1, donate_argnums=0)
    x = stagec.jit(lambda: snp.ones(1 << 16))()
    before = x._host().__array_interface__["data"][0]
    y = step(x)
    assert y._host().__array_interface__["data"][0] == before
    assert float(y[0]) == 3


def test_donation_does_not_write_where_someone_looks():
    step = stagec.jit(lambda x: x * 2, donate_argnums=0)
    x = stagec.jit(lambda: snp.ones(64))()
    seen = np.asarray(x)
    view = x[3:5]
    y = step(x)
    assert (seen == 1).all() and np.array_equal(view, [1, 1]) and float(y[0]) == 2


def test_donated_numpy_arguments_are_left_alone():
    x = np.ones(64, np.float32)
    stagec.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert (x == 1).all()


@pytest.mark.parametrize("kernels", [True, False])
def test_one_array_in_two_shapes_is_two_results_that_a_donation_could_write(kernels):
    def shapes(x):
        y = snp.sin(x)
        return y, y.reshape(6, 1), y.reshape(1, 6)

    with stagec.config.override(cpu_kernels=kernels):
        first, *others = stagec.jit(shapes)(np.ones(6, np.float32))
        stagec.jit(lambda x: x * 3 + 1, donate_argnums=0)(first)
    for other in others:
        np.testing.assert_allclose(np.asarray(other).reshape(-1), np.full(6, np.sin(1.0)), rtol=1e-5)


def test_a_result_and_its_argument_never_share_memory_that_a_donation_could_write():
    reshape = stagec.jit(lambda x: x.reshape(8, 8))
    double = stagec.jit(lambda x: x * 2, donate_argnums=0)
    x = stagec.jit(lambda: snp.ones(64))()
    y = reshape(x)
    double(x)
    assert (np.asarray(y) == 1).all()


def test_delete_frees_and_says_so():
    x = snp.ones(3)
    x.delete()
    with pytest.raises(errors.DonationError, match="was deleted"):
        np.asarray(x)


@pytest.mark.parametrize("rows", [64, 512])
def test_a_donated_array_is_not_overwritten_before_its_neighbours_have_read_it(rows):
    def blur(x):
        return snp.roll(x, 1, 0) + snp.roll(x, -1, 1) - x

    x = np.random.default_rng(0).standard_normal((rows, rows), np.float32)
    donated, kept = snp.asarray(x), snp.asarray(x)
    for _ in range(3):
        donated = stagec.jit(blur, donate_argnums=0)(donated)
        kept = stagec.jit(blur)(kept)
    assert np.array_equal(donated, kept)


@pytest.mark.parametrize("step", [lambda x: x * 0.5 + 1, lambda x: x.at[3].set(2.0)], ids=["elementwise", "update"])
def test_a_result_outlives_the_donated_numpy_memory(step):
    step = stagec.jit(step, donate_argnums=0)
    x = snp.asarray(np.full((256, 256), 2.0, np.float32))
    for _ in range(3):
        x = step(x)
    others = [np.full((256, 256), 7.0, np.float32) for _ in range(8)]
    assert (np.asarray(x) == 2).all() and len(others) == 8


def test_one_array_given_twice_and_donated_twice():
    step = stagec.jit(lambda a, b: (a * 2, b * 3), donate_argnums=(0, 1))
    x = stagec.jit(lambda: snp.ones(64))()
    doubled, tripled = step(x, x)
    assert float(doubled[0]) == 2 and float(tripled[0]) == 3 and x.is_deleted()


def test_a_donated_array_that_is_another_argument_too_is_read_before_it_is_written():
    step = stagec.jit(lambda a, b: a * 2 + b[::-1], donate_argnums=0)
    x = stagec.jit(lambda: snp.arange(64.0))()
    assert np.array_equal(step(x, x), np.arange(64.0) * 2 + np.arange(64.0)[::-1])


@pytest.mark.parametrize("tiered", [False, True])
def test_a_result_that_is_its_argument_is_donated_without_it(tiered):
    argument = stagec.jit(lambda: snp.arange(1000.0) + 0)()
    result, _ = stagec.jit(lambda x: (x, x + 1), tiered=tiered)(argument)
    assert result is not argument
    updated = stagec.jit(lambda x: x.at[0].set(7.0), donate_argnums=0)(result)
    assert result.is_deleted() and not argument.is_deleted()
    assert (float(argument[0]), float(updated[0])) == (0.0, 7.0)
    kept = stagec.jit(lambda x: x)(argument)
    argument.delete()
    assert np.array_equal(kept, np.arange(1000.0))


def test_donation_of_bfloat16_from_numpy():
    step = stagec.jit(lambda x: x * 2, donate_argnums=0)
    x = snp.ones(64, dtype=snp.bfloat16)
    assert float(step(step(x))[0]) == 4


COMPARED = ["text", b"bytes", None, pytest.param(object(), id="object"), ..., slice(2)]


@pytest.mark.parametrize("other", COMPARED, ids=str)
def test_an_array_is_no_string_and_no_other_object(other):
    """One answer, as in JAX: code that compares an argument with None or a name goes on to use it in `if`."""
    x = snp.ones(2)
    assert (x == other) is False and (x != other) is True
    assert (other == x) is False and (other != x) is True
    found = stagec.jit(lambda x: (x == other, x != other))(x)
    assert [(bool(a), a.shape) for a in found] == [(False, ()), (True, ())]


@pytest.mark.parametrize("other", COMPARED[:3], ids=str)
@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_strings_and_none_are_no_operands(wrap, other):
    x = snp.ones(2)
    kind = "None" if other is None else f"a {type(other).__name__}"
    for use in (
        lambda x: x < other,
        lambda x: other < x,
        lambda x: x + other,
        lambda x: other + x,
        lambda x: x @ other,
    ):
        with pytest.raises(stagec.errors.ArgumentTypeError, match=f"is {kind}; operators take arrays") as raised:
            wrap(use)(x)
        assert "test_array.py" in str(raised.value)


def test_a_number_still_repeats_a_string():
    assert "ab" * snp.array(2) == "abab"


def test_the_address_of_the_data_is_told():
    x = snp.arange(3.0) + 1
    seen = (ctypes.c_float * 3).from_address(x.unsafe_buffer_pointer())
    assert list(seen) == x.tolist() == [1, 2, 3]
    assert isinstance(snp.zeros((0,)).unsafe_buffer_pointer(), int)


def test_a_number_in_an_f_string_is_as_numpy_writes_it():
    for x in np.float32(0.1), np.float16(0.1), np.int8(3), np.bool_(True), np.complex64(0.1):
        assert f"{snp.asarray(x)}" == f"{x}"
    assert f"{snp.float32(0.1):.2f} {snp.ones(2)}" == "0.10 [1. 1.]"
    assert f"{stagec.random.key(0)}" == str(stagec.random.key(0))
