"""Operators and methods of arrays and tracers are NumPy's."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from stagec.core import operators

A = np.array([[3, -1, 2], [0, 5, 4]], np.float32)
I = np.array([[6, 1, 2], [3, 5, 4]], np.int32)  # noqa: E741


def test_methods_match_numpy() -> None:
    check(
        [
            lambda xp, a, i: [a.T, a.mT, a.real, a.imag],
            lambda xp, a, i: [a.transpose(), a.transpose(1, 0), a.transpose((1, 0))],
            lambda xp, a, i: [a.reshape(3, 2), a.reshape((6,)), a.reshape(-1), a.reshape(3, -1, order="F")],
            lambda xp, a, i: [a.ravel(), a.flatten(), a.swapaxes(0, 1), a[None].squeeze(), a[None].squeeze(0)],
            lambda xp, a, i: [a.astype("int32"), a.copy(), i.astype(bool), a.view("int32"), a.view("uint8")],
            lambda xp, a, i: [a.sum(), a.sum(0), a.prod(1), a.mean(), a.std(1), a.max(), a.min(1)],
            lambda xp, a, i: [a.any(), a.all(1), a.argmax(), a.argmin(1), a.cumsum(), a.cumprod(1), xp.ptp(a)],
            lambda xp, a, i: [a.round(), a.clip(0, 3), a.conj(), a.conjugate(), a.diagonal(1)],
            lambda xp, a, i: [a.repeat(2), a.repeat(2, axis=0), a.take(i[0] % 3), a.dot(a.T)],
            lambda xp, a, i: [a.compress(np.array([True, False, True]), axis=1)],
            lambda xp, a, i: [(i % 2).choose([i, -i]) if xp is np else (i % 2).choose([i, -i], mode="clip")],
            lambda xp, a, i: [a + i, a - 1, 2 * a, a / i, i // 2, i % 4, a**2, 2**i, a @ a.T, -a, +a, abs(a)],
            lambda xp, a, i: [i & 3, i | 8, i ^ 5, ~i, i << 1, i >> 1, a == i, a != i, a < i, a <= i, a > i, a >= i],
            lambda xp, a, i: [*divmod(i, 4), 1 - a, 1 / i, 7 // i, 7 % i, 1 & i, 1 << i],
        ],
        [A, I],
    )
    assert snp.asarray(A).var(0).tolist() == A.var(0).tolist()
    assert snp.asarray(A).trace().item() == A.trace()
    x = np.array(A)
    x.sort()
    assert snp.asarray(A).sort().tolist() == x.tolist()
    assert snp.asarray(A).argsort(1).tolist() == A.argsort(1).tolist()
    assert snp.asarray(np.array([1, 3, 5])).searchsorted(4).item() == 2
    assert [v.tolist() for v in snp.asarray(I > 3).nonzero()] == [v.tolist() for v in (I > 3).nonzero()]


def test_every_method_and_operator_has_a_function() -> None:
    called = set(operators._implementations.load())
    assert set(operators.METHODS) <= called
    x = snp.asarray(I)
    for name in dir(operators.ArrayOperators):
        if name.startswith("__") or name in operators.METHODS:
            continue
        getattr(x, name)


def test_view_keeps_bits() -> None:
    x = snp.asarray(np.array([1.0, -0.0, np.nan], np.float32))
    assert x.view("uint32").tolist() == x.numpy().view(np.uint32).tolist()
    assert x.view("uint8").tolist() == x.numpy().view(np.uint8).tolist()
    assert x.view("uint8").view("float32").view("int32").tolist() == x.numpy().view(np.int32).tolist()
    with pytest.raises(ValueError, match="whole number"):
        snp.zeros(3, "int8").view("int32")


def test_copies_have_memory_of_their_own() -> None:
    x = snp.arange(3)
    assert x.copy().address() != x.address()
    assert stagec.jit(lambda x: x.copy())(x).tolist() == [0, 1, 2]


def test_numpy_arrays_give_way_to_arrays() -> None:
    for out in (A + snp.asarray(A), A[0, 0] * snp.asarray(A), A @ snp.asarray(A).T):
        assert isinstance(out, stagec.Array)


def test_methods_that_need_a_value_say_so_while_tracing() -> None:
    with pytest.raises(TypeError, match="size="):
        stagec.jit(lambda x: x.nonzero())(A)


class Level(enum.IntEnum):
    HIGH = 3


class Metres(float):
    pass


class Phasor(complex):
    pass


class Single(np.float32):
    pass


@pytest.mark.parametrize(
    ("value", "base"), [(Level.HIGH, 3), (Metres(2), 2.0), (Phasor(1j), 1j), (Single(2), np.float32(2))], ids=repr
)
def test_scalars_of_derived_classes_count_as_their_base(value: object, base: object) -> None:
    for f in (lambda v: v, lambda v: snp.add(v, 1), lambda v: snp.array([v, 1]), lambda v: snp.ones(2, "int8") * v):
        for run in (f, stagec.jit(f)):
            got, expected = snp.asarray(run(value)), snp.asarray(run(base))
            assert got.aval == expected.aval
            assert np.array_equal(got, expected)
    assert snp.result_type(value, "int8") == snp.result_type(base, "int8")


@pytest.mark.parametrize("other", [[1, 1], (1, 1), {1}, {"a": 1}], ids=repr)
@pytest.mark.parametrize(
    "use",
    [
        lambda x, other: x == other,
        lambda x, other: x != other,
        lambda x, other: x < other,
        lambda x, other: x + other,
        lambda x, other: other + x,
        lambda x, other: x @ other,
    ],
    ids=["==", "!=", "<", "+", "reflected +", "@"],
)
@pytest.mark.parametrize("run", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_containers_are_no_operands(run, use, other) -> None:
    with pytest.raises(TypeError) as caught:
        run(lambda x: use(x, other))(snp.ones(2))
    text, kind = str(caught.value), type(other).__name__
    assert f"is a {kind}; operators take arrays and numbers" in text
    assert "test_methods.py" in text and repr(other) in text and "Tracer" not in text
    assert ("snp.array" in text) == isinstance(other, (list, tuple))


def test_comparison_with_what_is_no_number_is_pythons() -> None:
    x = snp.ones(2)
    assert (x == None) is False and (x != "a") is True  # noqa: E711


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int32", "float32", "bfloat16", "complex64"])
def test_byteswap(kind):
    x = np.arange(6).reshape(2, 3).astype(kind)
    for found in (snp.array(x).byteswap(), stagec.jit(lambda x: x.byteswap())(x)):
        assert found.dtype == kind
        assert found.tobytes() == x.byteswap().tobytes()
    with pytest.raises(ValueError, match="leave inplace out"):
        snp.array(x).byteswap(inplace=True)


def test_an_array_is_whole_on_its_device():
    x = snp.ones(2)
    assert x.is_fully_addressable and x.is_fully_replicated and x.addressable_data(0) is x
    with pytest.raises(IndexError, match="use an index from 0 to 0"):
        x.addressable_data(1)
    assert isinstance(x, snp.ndarray) and not isinstance(np.ones(2), snp.ndarray)


def test_views_of_truth_values():
    for x in (np.array([1, 0, 1], np.int8), np.array([True, False])):
        for wanted in (np.bool_, np.uint8):
            for found in (snp.array(x).view(wanted), stagec.jit(lambda x, d=wanted: x.view(d))(x)):
                assert found.dtype == wanted
                np.testing.assert_array_equal(np.asarray(found), x.view(wanted))
