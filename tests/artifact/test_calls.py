"""Calls of shipped functions: bound and converted as `jit` would, or refused in words that name what is wrong."""

import inspect

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.cli import cli

X = np.arange(6, dtype=np.float32).reshape(2, 3)
PARAMS = {"w": np.ones(3, np.float32), "b": [np.float32(1.0), np.float32(2.0)]}


def scores(x, params, *, temperature):
    return (x @ params["w"]) / temperature


def loaded(function, *calls, **options):
    export = stagec.export(stagec.jit(function, **options))
    exported = [export(*args, **kwargs) for args, kwargs in calls]
    return stagec.load(b"".join(stagec.api.exported._parts({function.__name__: exported})))


def call(*args, **kwargs):
    return args, kwargs


@pytest.fixture(scope="module")
def model():
    return loaded(scores, call(X, PARAMS, temperature=snp.float32(2.0)), call(X[:1], PARAMS, temperature=1.0))


def refused(function, *args, **kwargs):
    with pytest.raises(errors.StagecError) as raised:
        function(*args, **kwargs)
    return raised.value


# Conversion.


@pytest.mark.parametrize("number", [2, 2.0, True, np.float32(2.0), np.float64(2.0)], ids=repr)
def test_a_number_is_converted_as_jit_converts_it(model, number):
    expected = stagec.jit(scores)(X, PARAMS, temperature=number)
    for _ in range(3):  # the slow path, then the fast one
        np.testing.assert_array_equal(model(X, PARAMS, temperature=number), expected)


def test_numbers_of_each_type_are_remembered_apart(model):
    for number in (1, 4.0, True, 3, 0.5, -0.0):
        expected = (X @ PARAMS["w"]) / np.float32(number) if number else None
        out = np.asarray(model(X, PARAMS, temperature=number))
        if expected is None:
            assert np.all(out == [-np.inf, -np.inf])
        else:
            np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "complex64"])
def test_numbers_go_into_every_dtype_that_holds_their_kind(dtype):
    f = loaded(lambda x, k: x + k, call(snp.zeros(2, dtype), snp.zeros((), dtype)))
    for _ in range(2):
        assert f(snp.zeros(2, dtype), 3).tolist() == [3, 3]


def test_a_number_that_does_not_fit_is_refused_the_long_way_and_the_short_one():
    f = loaded(lambda x, k: x + k, call(snp.zeros(2, "int8"), snp.zeros((), "int8")))
    for number in (300, 1, 300):
        if number == 1:
            assert f(snp.zeros(2, "int8"), 1).tolist() == [1, 1]
            continue
        with pytest.raises(OverflowError, match="argument k of <lambda>: Python integer 300 does not fit int8"):
            f(snp.zeros(2, "int8"), number)


def test_a_number_of_a_higher_kind_is_not_cut_down(model):
    error = refused(model, X, PARAMS, temperature=2j)
    assert isinstance(error, errors.DtypeError)
    assert "compiled for temperature of float32[], called with complex64[]" in str(error)


def test_an_exact_signature_comes_before_a_conversion():
    f = loaded(lambda k: k / 2 if k.dtype == snp.float32 else k * 2, call(snp.float32(1)), call(snp.int32(1)))
    for _ in range(2):
        assert float(f(3)) == 6.0 and float(f(3.0)) == 1.5


# Defaults and fixed parameters.


def with_defaults(x, scale=2, *, shift=0.5, table=(1.0, 2.0), n=3):
    return (x * scale + shift + table[0] * table[1]) * n


def test_defaults_are_kept():
    arguments = call(X, np.float32(1), shift=1.0, table=(1.0, 1.0))
    f = loaded(with_defaults, arguments, static_argnames="n")
    assert str(inspect.signature(f)) == "(x, scale=2.0, *, shift=0.5, table=(1.0, 2.0), n=3)"
    jitted = stagec.jit(with_defaults, static_argnames="n")
    for _ in range(3):
        for args, kwargs in [call(X), call(X, 3.0), call(X, shift=2), call(table=(3, 4), x=X), call(X, n=3)]:
            np.testing.assert_allclose(np.asarray(f(*args, **kwargs)), np.asarray(jitted(*args, **kwargs)), rtol=1e-6)


def test_a_donated_default_lasts():
    zeros = np.zeros(3, np.float32)

    def f(x, state=zeros):
        return state + x

    shipped = loaded(f, call(np.ones(3, np.float32), np.ones(3, np.float32)), donate_argnums=1)
    for _ in range(3):
        assert shipped(np.ones(3, np.float32)).tolist() == [1.0, 1.0, 1.0]


def test_a_default_that_the_program_does_not_take_must_be_given():
    zeros = np.zeros(20_000, np.float32)

    def f(x, mask=None, big=zeros):
        return x + (0 if mask is None else mask) + big[0]

    shipped = loaded(f, call(X, X, np.zeros(20_000, np.float32)))
    error = refused(shipped, X)
    assert "f: missing arguments 'mask' and 'big'" in str(error)
    assert str(inspect.signature(shipped)) == "(x, mask, big)"


def test_what_was_left_out_is_fixed_and_may_be_given_as_it_is():
    f = loaded(with_defaults, call(X, table=(1.0, 2.0)), static_argnames="n")
    assert str(inspect.signature(f)) == "(x, *, scale=2, shift=0.5, table=(1.0, 2.0), n=3)"
    expected = np.asarray(with_defaults(X))
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(f(X, scale=2, n=3)), expected)
        error = refused(f, X, n=4)
        assert "with_defaults: n is fixed at 3 in this program, and 4 was given" in str(error)
        assert "Fix: leave n out, or export the function for this value too" in str(error)
    assert "takes 1 positional argument, and 2 were given" in str(refused(f, X, (1.0, 2.0)))


def test_a_fixed_object_is_known_by_more_than_its_text():
    class Mode:
        def __repr__(self):
            return "Mode"

    f = loaded(lambda x, mode: x + 1, call(X, Mode()), static_argnames="mode")
    assert "mode is fixed at Mode" in str(refused(f, X, mode=Mode()))
    np.testing.assert_array_equal(f(X), X + 1)


# Binding.


@pytest.mark.parametrize(
    ("args", "kwargs", "text", "fix"),
    [
        ((X, PARAMS), {}, "scores: missing keyword argument 'temperature'", "pass temperature=..., float32[]"),
        ((X,), {}, "scores: missing arguments 'params' and 'temperature'", "pass params=..., {'b': [float32[]"),
        ((X,), {"temperature": 1}, "scores: missing argument 'params'", "pass params=..., {'b': [float32[]"),
        ((X, PARAMS, 1.0), {}, "scores: takes 2 positional arguments, and 3 were given", "pass temperature by name"),
        ((X, PARAMS), {"temperature": 1, "x": X}, "scores: multiple values for argument 'x'", "pass x once"),
        (
            (X, PARAMS),
            {"temperature": 1, "heat": 1},
            "scores: unexpected keyword argument 'heat'",
            "leave it out; it takes x, params, temperature",
        ),
    ],
)
def test_a_call_that_cannot_be_bound_says_why(model, args, kwargs, text, fix):
    error = refused(model, *args, **kwargs)
    assert isinstance(error, errors.ArgumentTypeError)
    assert str(error).startswith(text + "\n")
    assert f"Fix: {fix}" in str(error)
    # Both signatures are shown, as one would write them.
    assert "takes  scores(x: float32[2,3], params: {'b': [float32[], float32[]], 'w': float32[3]}, *, temp" in str(
        error
    )
    assert "or     scores(x: float32[1,3]" in str(error)
    assert "PyTreeDef" not in str(error)


def rest(x, *more, **named):
    return x + sum(more) + sum(named.values())


def test_further_arguments_are_those_of_the_file():
    f = loaded(rest, call(1.0, 2.0, 3.0, a=4.0))
    assert float(f(1.0, 2.0, 3.0, a=5.0)) == 11.0
    assert "rest: it was made for 2 arguments for *more, and 1 were given" in str(refused(f, 1.0, 2.0, a=5.0))
    assert "rest: missing arguments 'x' and 'a'" in str(refused(f))
    assert "rest: missing keyword argument 'a'" in str(refused(f, 1.0, 2.0, 3.0))
    assert "rest: unexpected keyword argument 'b'" in str(refused(f, 1.0, 2.0, 3.0, a=1.0, b=2.0))
    assert str(inspect.signature(f)) == "(x, *more, **named)"


def test_a_function_without_a_signature_is_shipped():
    class Odd:
        __signature__ = "none"
        __name__ = "odd"

        def __call__(self, x, k=1):
            return x + k

    f = loaded(Odd(), call(1.0, k=2.0))
    assert float(f(1.0, k=3.0)) == 4.0
    assert str(inspect.signature(f)) == "(*args, **kwargs)"


# Structure, shapes and dtypes.


def test_the_place_of_another_structure_is_named(model):
    error = refused(model, X, {"w": PARAMS["w"]}, temperature=1.0)
    assert str(error).startswith("scores was compiled for another structure of params: it is a dict with no key 'b'\n")
    error = refused(model, X, {**PARAMS, "b": [1.0, [2.0]]}, temperature=1.0)
    assert "of params: it holds a list instead of an array at ['b'][1]\n" in str(error)
    assert "Fix: pass params like {'b': [float32[], float32[]], 'w': float32[3]}" in str(error)


def test_the_argument_that_fits_no_signature_is_named(model):
    error = refused(model, X.T, PARAMS, temperature=1.0)
    assert isinstance(error, errors.ShapeError)
    assert str(error).startswith(
        "scores was compiled for x of float32[2,3] or float32[1,3], called with float32[3,2]\n"
    )
    error = refused(model, X, {**PARAMS, "w": np.ones(3, np.int32)}, temperature=1.0)
    assert isinstance(error, errors.DtypeError)
    assert "scores was compiled for params['w'] of float32[3], called with int32[3]\n" in str(error)


def test_arguments_that_do_not_go_together_are_shown():
    f = loaded(lambda x, y: x.sum() + y.sum(), call(X, X), call(X[:1], X[:1]))
    error = refused(f, X, X[:1])
    assert isinstance(error, errors.ShapeError)
    assert "<lambda> was compiled for other combinations of these arguments\n" in str(error)
    assert "compiled  <lambda>(x: float32[1,3], y: float32[1,3])\n" in str(error)
    assert "given     x: float32[2,3], y: float32[1,3]\n" in str(error)


def test_messages_stay_short_for_hundreds_of_arrays():
    many = {f"layer{i}": np.float32(i) for i in range(512)}
    f = loaded(lambda params, x: params["layer7"] + x, call(many, 1.0), call(many, X))
    for args in [(many,), ({**many, "layer9": [1.0]}, 1.0), ({"layer1": 1.0}, 1.0), (many, X.T), (X, X)]:
        text = str(refused(f, *args))
        assert "***" not in text.replace(", ", "") and len(text) < 1000, text


def test_many_signatures_are_counted():
    def f(x, *, scale):
        return x * scale

    shipped = loaded(f, *[call(np.ones(n, np.float32), scale=1.0) for n in range(1, 10)])
    assert "and 3 more signatures" in str(refused(shipped, np.ones(2, np.float32)))
    assert "or 3 others, called with float32[20]" in str(refused(shipped, np.ones(20, np.float32), scale=1))


# The command line.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    np.save("t.npy", X.T.copy())
    np.save("w.npy", PARAMS["w"])
    export = stagec.export(scores)
    stagec.save("m.stagec", [export(X, PARAMS, temperature=1.0), export(X[:1], PARAMS, temperature=1.0)])
    exported = stagec.export(stagec.jit(with_defaults, static_argnames="n"))(X, 1.0, shift=1.0, table=(1.0, 2.0))
    exported.save("d.stagec")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, ["run", *arguments])


@pytest.mark.parametrize(
    ("inputs", "args", "kwargs"),
    [
        (["x.npy", "1.0", "2.0", "w.npy"], (X, PARAMS), {}),
        (["t.npy", "1.0", "2.0", "w.npy", "temperature=1"], (X.T, PARAMS), {"temperature": 1.0}),
        (["x.npy", "1", "x.npy", "w.npy", "temperature=1"], (X, {**PARAMS, "b": [1.0, X]}), {"temperature": 1.0}),
    ],
)
def test_run_says_what_a_call_says(folder, inputs, args, kwargs):
    error = refused(stagec.load("m.stagec"), *args, **kwargs)
    done = run("m.stagec", *inputs)
    assert done.exit_code == 1
    assert str(error).split("\n")[0] in done.output


def test_run_converts_numbers_and_fills_in_defaults(folder):
    done = run("m.stagec", "x.npy", "1", "2", "w.npy", "temperature=2")
    assert done.exit_code == 0, done.output
    assert "[1.5, 6. ]" in done.output
    for inputs, expected in [
        ([], with_defaults(X)),
        (["3"], with_defaults(X, 3)),
        (["shift=1"], with_defaults(X, shift=1)),
    ]:
        done = run("d.stagec", "x.npy", *inputs, "-o", "y.npy")
        assert done.exit_code == 0, done.output
        np.testing.assert_allclose(np.load("y.npy"), expected)
    assert 'missing argument "table[1]"' in run("d.stagec", "x.npy", "table[0]=1").output.replace("'", '"')


def test_inspect_prints_the_full_signature(folder):
    done = CliRunner().invoke(cli, ["inspect", "d.stagec"])
    assert "with_defaults(x, scale=2.0, *, shift=0.5, table=(1.0, 2.0), n=3)\n" in done.output
    assert "  n         fixed         3\n" in done.output
