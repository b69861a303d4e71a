"""Arrays from values and from nothing: NumPy decides values, JAX dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from stagec import lax

CALLS = [
    lambda xp: xp.zeros((2, 3)),
    lambda xp: xp.zeros(2, int),
    lambda xp: xp.ones((2,), "bool"),
    lambda xp: xp.full((2, 2), 7),
    lambda xp: xp.full((2,), 1.5, dtype="float16"),
    lambda xp: xp.full((2, 2), xp.array([1, 2])),
    lambda xp: xp.zeros_like(xp.array([1, 2])),
    lambda xp: xp.ones_like(xp.array([1.0]), dtype="int8", shape=(2,)),
    lambda xp: xp.full_like(xp.array([1, 2]), 2.5),
    lambda xp: xp.eye(3),
    lambda xp: xp.eye(2, 4, k=-1, dtype=int),
    lambda xp: xp.identity(2),
    lambda xp: xp.tri(3, 4, 1),
    lambda xp: xp.arange(4),
    lambda xp: xp.arange(4.0),
    lambda xp: xp.arange(3.5),
    lambda xp: xp.arange(-2),
    lambda xp: xp.arange(2, 9, 3),
    lambda xp: xp.arange(9, 2, -3),
    lambda xp: xp.arange(0, 1, 0.25),
    lambda xp: xp.arange(3, dtype="uint8"),
    lambda xp: xp.linspace(0, 1, 5),
    lambda xp: xp.linspace(2, 3, 4, endpoint=False),
    lambda xp: xp.linspace(0, 10, 4, dtype=int),
    lambda xp: xp.linspace(xp.array([0.0, 1.0]), 5.0, 3, axis=-1),
    lambda xp: xp.linspace(0, 1, 1),
    lambda xp: xp.linspace(0, 1, 0),
    lambda xp: xp.linspace(0, 1, 3, retstep=True)[0],
    lambda xp: xp.logspace(0, 3, 4),
    lambda xp: xp.logspace(0, 3, 4, base=2),
    lambda xp: xp.geomspace(1, 1000, 4),
    lambda xp: xp.geomspace(-1, -8, 4),
    lambda xp: xp.indices((2, 3)),
    lambda xp: xp.array([[1, 2], [3, 4]]),
    lambda xp: xp.array([1, 2.5]),
    lambda xp: xp.array([True, False]),
    lambda xp: xp.array([1j, 2]),
    lambda xp: xp.array([], dtype=int),
    lambda xp: xp.array([xp.arange(2), xp.arange(2)]),
    lambda xp: xp.array([xp.arange(2), [5.5, 6]]),
    lambda xp: xp.array(5, ndmin=2),
    lambda xp: xp.array(np.float32(2.5)),
    lambda xp: xp.asarray(np.arange(3, dtype=np.int8)),
    lambda xp: xp.vander(xp.array([1, 2, 3])),
]


def test_creation_matches_numpy() -> None:
    def wrap(call: Any) -> Any:
        return lambda xp: call(xp)

    check([wrap(c) for c in CALLS], [], 1e-5)
    check(
        [
            lambda xp: xp.meshgrid(np.arange(2), np.arange(3)),
            lambda xp: xp.meshgrid(np.arange(2), np.arange(3), np.arange(4), indexing="ij", sparse=True),
            lambda xp: list(xp.indices((2, 3), sparse=True)),
            lambda xp: xp.mgrid[0:2, 1:7:3],
            lambda xp: xp.mgrid[0:1:5j],
            lambda xp: list(xp.ogrid[0:2, 0:3]),
            lambda xp: [xp.ndim(1), xp.shape([[1, 2]]), xp.size([[1, 2]], 1)],
            lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype=int),
            lambda xp: xp.fromiter((i * i for i in range(3)), int),
            lambda xp: xp.frombuffer(b"\x01\x02\x03", "uint8"),
            lambda xp: xp.fromstring("1 2 3", int, sep=" "),
            lambda xp: xp.from_dlpack(np.arange(3, dtype=np.int32)),
        ],
        [],
    )


def test_functions_of_indices_are_given_scalars() -> None:
    shapes = []

    def rows(i, scale=1):
        shapes.append(i.shape)
        return (i + 1) * snp.arange(3) * scale

    np.testing.assert_array_equal(snp.fromfunction(rows, (2,), dtype=int, scale=2), [[0, 2, 4], [0, 4, 8]])
    both = snp.fromfunction(lambda i, j: (i + j, 7), (2, 2), dtype=int)
    np.testing.assert_array_equal(both, [[[0, 1], [1, 2]], [[7, 7], [7, 7]]])
    assert shapes == [()]


def test_dtypes_and_weak_types_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    for i, call in enumerate(CALLS):
        ours, theirs = call(snp), call(jax.numpy)
        assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type), f"call {i}"
    for value in (1, 1.5, True, 1j, np.int64(1), np.float64(1), np.arange(2), np.arange(2.0), [1, 2], [], [1.0, 2]):
        for make in ("array", "asarray"):
            ours, theirs = getattr(snp, make)(value), getattr(jax.numpy, make)(value)
            assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type), (make, value)


def test_arrays_of_traced_values_are_stacked() -> None:
    run = stagec.jit(lambda x, y: [snp.array([x, y]), snp.array([[x, 1], [2.5, y]]), snp.asarray([y])])
    a, b, c = run(1, 2)
    assert a.tolist() == [1, 2] and a.dtype == np.int32
    assert b.tolist() == [[1, 1], [2.5, 2]] and b.dtype == np.float32
    assert c.tolist() == [2]


def test_linspace_takes_traced_ends() -> None:
    run = stagec.jit(lambda a, b: snp.linspace(a, b, 5))
    np.testing.assert_allclose(run(1.0, 3.0).numpy(), np.linspace(1, 3, 5), rtol=1e-6)
    assert run(0.1, 0.7)[-1] == np.float32(0.7)


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_ends_that_do_not_broadcast_are_named_with_their_shapes(name: str) -> None:
    text = rf"^{name}: float32\[3\] and float32\[4\] do not broadcast \(axis -1: 3 vs 4\)"
    spaced = getattr(snp, name)
    for call in (spaced, stagec.jit(spaced, static_argnames="num")):
        with pytest.raises(stagec.errors.ShapeError, match=text):
            call(snp.ones(3), snp.ones(4), num=5)


def test_arange_of_a_traced_bound_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="bounds must be known while tracing") as caught:
        stagec.jit(snp.arange)(3)
    assert "static_argnames" in str(caught.value)


def test_asking_for_64_bits_warns_where_there_are_32() -> None:
    with pytest.warns(UserWarning, match="float64 in zeros is not available") as caught:
        assert snp.zeros(2, "float64").dtype == np.float32
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snp.zeros(2, float)
        snp.array(np.arange(3.0))
    with stagec.enable_x64():
        assert snp.zeros(2, "float64").dtype == np.float64
        assert snp.arange(3).dtype == np.int64


def test_created_arrays_are_copies() -> None:
    mine = np.arange(3)
    ours = snp.asarray(mine)
    mine[0] = 9
    assert ours.tolist() == [0, 1, 2]
    again = snp.copy(ours)
    assert again.address() != ours.address() and snp.asarray(ours) is ours
    assert snp.ones(3).numpy().ctypes.data % 4 == 0


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: snp.array([[1], [1, 2]]), ValueError, "inhomogeneous"),
        (lambda: snp.array([1, None]), TypeError, "NoneType"),
        (lambda: snp.array("a"), TypeError, "cannot|dtype"),
        (lambda: snp.array(object()), TypeError, "cannot make an array of object"),
        (lambda: snp.array([2**40]), OverflowError, "does not fit int32"),
        (lambda: snp.array(2**70), OverflowError, "does not fit"),
        (lambda: snp.array([1], order="F"), NotImplementedError, "row-major"),
        (lambda: snp.zeros((2, -1)), ValueError, "negative size"),
        (lambda: snp.zeros(2.5), TypeError, "must be an integer"),
        (lambda: snp.arange(1, 5, 0), ValueError, "step must not be zero"),
        (lambda: snp.meshgrid(np.zeros((2, 2))), ValueError, "rank 0 or 1"),
    ],
)
def test_what_cannot_be_made_says_why(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        make()
    assert "Fix:" in str(caught.value)


LARGE = 0xFFFFFFFF


@pytest.mark.parametrize(
    "make",
    [
        lambda: snp.uint32(LARGE),
        lambda: snp.array(LARGE, dtype="uint32"),
        lambda: snp.asarray(LARGE, dtype=snp.uint32),
        lambda: snp.full(2, LARGE, dtype="uint32")[0],
        lambda: snp.full_like(snp.arange(2), LARGE, dtype="uint32")[0],
        lambda: lax.full((2,), LARGE, np.uint32)[0],
        lambda: snp.zeros(2, "uint32").at[0].set(LARGE)[0],
        lambda: snp.zeros((), "uint32") | LARGE,
        lambda: snp.where(True, LARGE, snp.zeros((), "uint32")),
        lambda: stagec.jit(lambda x: snp.full_like(x, LARGE) & LARGE)(snp.zeros((), "uint32")),
        lambda: lax.bitwise_or(snp.zeros((), "uint32"), LARGE),
    ],
)
def test_a_python_integer_is_checked_against_the_dtype_that_was_asked_for_alone(make: Any) -> None:
    found = make()
    assert found.dtype == np.uint32 and int(found) == LARGE


def test_an_integer_past_32_bits_is_rounded_where_a_float_was_asked_for() -> None:
    x = snp.zeros(1)
    for found in (snp.float32(2**40), snp.full((), 2**70, "float32"), (x + 2**40)[0], x.at[0].set(2**40)[0]):
        assert found.dtype == np.float32 and float(found) in (2.0**40, 2.0**70)


def test_an_integer_that_the_dtype_does_not_hold_is_refused() -> None:
    for make in (
        lambda: snp.uint32(2**32),
        lambda: snp.full(2, 2**32, "uint32"),
        lambda: snp.full(2, 2**31),
        lambda: snp.zeros(2, "int8").at[0].set(2**31),
        lambda: snp.zeros(2, "int32") + 2**31,
    ):
        with pytest.raises(OverflowError, match=r"Python integer \d+ does not fit u?int"):
            make()


ON_DEVICES = {
    "zeros": lambda d: snp.zeros(3, device=d),
    "ones": lambda d: snp.ones(3, device=d),
    "empty": lambda d: snp.empty(3, device=d),
    "full": lambda d: snp.full(3, 2.0, device=d),
    "zeros_like": lambda d: snp.zeros_like(np.ones(3), device=d),
    "ones_like": lambda d: snp.ones_like(np.ones(3), device=d),
    "empty_like": lambda d: snp.empty_like(np.ones(3), device=d),
    "full_like": lambda d: snp.full_like(np.ones(3), 2, device=d),
    "eye": lambda d: snp.eye(3, device=d),
    "arange": lambda d: snp.arange(3, device=d),
    "arange with a step": lambda d: snp.arange(1, 9, 3, device=d),
    "arange of floats": lambda d: snp.arange(1.0, 2.0, 0.25, device=d),
    "linspace": lambda d: snp.linspace(0, 1, 3, device=d),
    "array": lambda d: snp.array([1.0, 2.0], device=d),
    "asarray": lambda d: snp.asarray(np.ones(3), device=d),
    "astype": lambda d: snp.astype(snp.ones(3), int, device=d),
    "fftfreq": lambda d: snp.fft.fftfreq(4, device=d),
    "rfftfreq": lambda d: snp.fft.rfftfreq(4, device=d),
}


@pytest.mark.parametrize("name", ON_DEVICES)
def test_arrays_are_created_on_the_device_that_is_named(vulkan, name):
    create = ON_DEVICES[name]
    for _ in range(3):  # later calls of functions may run by plans
        anywhere, there = create(None), create("vulkan")
        assert there.device.platform == "vulkan" and there.committed and not anywhere.committed
    assert there.dtype == anywhere.dtype
    np.testing.assert_array_equal(np.asarray(there), np.asarray(anywhere))
    assert stagec.jit(lambda: create("cpu"))().shape == anywhere.shape
    with pytest.raises(stagec.errors.DeviceError, match="there is no device 'cpu:7'"):
        create("cpu:7")


def test_what_has_a_shape_need_not_be_an_array():
    for described in (stagec.ShapeDtypeStruct((2, 3), "float32"), stagec.random.split(stagec.random.key(0), (2, 3))):
        assert (snp.shape(described), snp.ndim(described)) == ((2, 3), 2)
        assert (snp.size(described), snp.size(described, 1), snp.size(described, (0, 1))) == (6, 3, 6)
