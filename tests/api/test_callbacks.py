"""Python functions called from compiled programs: what they are given, and what they give back."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.experimental import io_callback

f32 = stagec.ShapeDtypeStruct((), "float32")


DTYPES = ["bool", "bfloat16", "complex64", "complex128"]
DTYPES += [f"{kind}{n}" for kind in ("int", "uint") for n in (8, 16, 32, 64)]
DTYPES += [f"float{n}" for n in (16, 32, 64)]


def like(x):
    return stagec.ShapeDtypeStruct(x.shape, x.dtype)


# Values and types.


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 1), (0,), (2, 0)], ids=str)
def test_every_dtype_arrives_and_returns_as_it_is(shape):
    values = [(np.arange(np.prod(shape)).reshape(shape) * 3 % 2 + 1).astype(d) for d in map(np.dtype, DTYPES)]
    seen = []

    def twice(xs):
        seen.extend(xs)
        return [np.array(x) for x in xs], [np.array(x)[None] for x in xs]

    @stagec.jit
    def f(xs):
        promised = [like(x) for x in xs], [stagec.ShapeDtypeStruct((1, *x.shape), x.dtype) for x in xs]
        return stagec.pure_callback(twice, promised, xs)

    with stagec.enable_x64():
        same, wider = f(values)
    assert [type(x) for x in seen] == [stagec.Array] * len(values)
    for x, arrived, s, w in zip(values, seen, same, wider, strict=True):
        for y, expected in ((arrived, x), (s, x), (w, x[None])):
            assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(np.asarray(y), expected)


def test_extreme_values_survive_the_way():
    x = np.array([np.nan, -0.0, np.inf, 1e-45, np.finfo(np.float32).max], np.float32)
    n = np.array([2**64 - 1, 0], np.uint64)
    with stagec.enable_x64():
        y, m = stagec.jit(lambda x, n: stagec.pure_callback(lambda x, n: (x, n), (like(x), like(n)), x, n))(x, n)
    np.testing.assert_array_equal(np.asarray(y).view(np.uint32), x.view(np.uint32))
    np.testing.assert_array_equal(np.asarray(m), n)


def test_arguments_and_results_are_pytrees():
    def g(tree, *, scale):
        assert sorted(tree) == ["a", "b"]
        return {"sum": np.asarray(tree["a"]) + np.asarray(tree["b"][0]), "scaled": (np.asarray(tree["a"]) * scale,)}

    @stagec.jit
    def f(x):
        promised = {"sum": like(x), "scaled": (like(x),)}
        return stagec.pure_callback(g, promised, {"a": x, "b": [x * 2]}, scale=x + 1)

    out = f(np.float32(3))
    assert {k: np.asarray(v).tolist() for k, v in out.items()} == {"sum": 9.0, "scaled": [12.0]}


def test_a_callback_without_arguments_or_without_results():
    calls = []

    @stagec.jit
    def f():
        io_callback(lambda: calls.append("in"), None)
        return stagec.pure_callback(lambda: np.float32(5), f32)

    assert float(f()) == 5
    assert calls == ["in"]


def test_a_program_may_have_nothing_but_callbacks():
    seen = []
    f = stagec.jit(lambda x: stagec.debug.callback(seen.append, snp.sin(x)))
    assert f(np.zeros(2, np.float32)) is None
    assert f(np.zeros(2, np.float32)) is None
    assert len(seen) == 2
    assert not f.lower(np.zeros(2, np.float32))._runnable.trivial


def test_python_numbers_take_the_promised_dtype():
    f = stagec.jit(
        lambda: stagec.pure_callback(lambda: (1, 2.5, True), (f32, f32, stagec.ShapeDtypeStruct((), "int8")))
    )
    assert [np.asarray(v).item() for v in f()] == [1.0, 2.5, 1]


def test_double_precision_results_are_narrowed_without_x64():
    f = stagec.jit(lambda x: stagec.pure_callback(lambda x: np.asarray(x, np.float64) / 3, like(x), x))
    assert f(np.float32(1)).dtype == np.float32


def test_outside_jit_the_function_is_called_at_once(capsys):
    x = np.arange(3.0, dtype=np.float32)
    y = stagec.pure_callback(lambda v: np.asarray(v) * 2, like(x), x)
    assert isinstance(y, stagec.Array)
    np.testing.assert_array_equal(np.asarray(y), x * 2)
    stagec.debug.print("{}", y)
    with stagec.disable_jit():
        stagec.jit(lambda x: stagec.debug.print("{}", x))(x)
    assert capsys.readouterr().out == "[0. 2. 4.]\n[0. 1. 2.]\n"


def test_outside_jit_warnings_of_the_function_are_not_hidden():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        stagec.pure_callback(lambda v: 1 / np.asarray(v), f32, np.float32(0))


# Promises that are not kept.


@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros(3, np.float32), r"returned float32\[3\] where float32\[2\] was promised"),
        (np.zeros(2, np.int32), r"returned int32\[2\] where float32\[2\] was promised"),
        (np.zeros(2, np.complex128), r"returned complex128\[2\] where float32\[2\]"),
        (1.0, r"returned float32\[\] where float32\[2\]"),
        (None, "returned 0 arrays where 1 were promised"),
        ((np.zeros(2), np.zeros(2)), "returned 2 arrays where 1 were promised"),
        ("text", "where float32"),
        (object(), "where float32"),
    ],
    ids=lambda v: "" if isinstance(v, str) else type(v).__name__,
)
def test_a_result_of_another_form_is_refused(result, message, jitted):
    def broken(x):
        return result

    def f(x):
        return stagec.pure_callback(broken, stagec.ShapeDtypeStruct((2,), "float32"), x)

    with pytest.raises(stagec.errors.CallbackError, match=message) as info:
        (stagec.jit(f) if jitted else f)(np.float32(1))
    text = str(info.value)
    assert "broken at test_callbacks.py:" in text
    assert "test_callbacks.py" in text.splitlines()[1]
    assert "return stagec.pure_callback(broken" in text.splitlines()[1]
    assert "Fix: return arrays of the promised shapes" in text


def test_arguments_that_are_no_arrays_are_refused():
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"pure_callback: args\[1\]: .* str"):
        stagec.pure_callback(lambda x, s: x, f32, 1.0, "s")
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"io_callback: kwargs\['s'\]: .* str"):
        io_callback(lambda s: None, None, s="s")


def test_a_promise_without_shape_and_dtype_is_refused():
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"result_shape_dtypes\[0\] +3.0 +a float"):
        stagec.pure_callback(lambda: 3.0, [3.0])


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="vmap_method='all'"):
        stagec.pure_callback(lambda: 3.0, f32, vmap_method="all")
    with pytest.raises(stagec.errors.UnsupportedError, match="sharding"):
        io_callback(lambda: 3.0, f32, sharding="x")


def test_what_a_callback_raises_keeps_its_cause():
    def fails(x):
        raise RuntimeError("RESOURCE_EXHAUSTED, says the user's own library") from ValueError("why")

    class Full(RuntimeError):
        pass

    def full(x):
        raise Full("RESOURCE_EXHAUSTED")

    shape = stagec.ShapeDtypeStruct((), "float32")
    with pytest.raises(RuntimeError) as info:
        stagec.jit(lambda x: stagec.pure_callback(fails, shape, x))(1.0)
    assert isinstance(info.value.__cause__, ValueError)
    with pytest.raises(Full):
        stagec.jit(lambda x: stagec.pure_callback(full, shape, x))(1.0)
