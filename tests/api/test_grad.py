"""Derivatives through the public functions: values, structures, dtypes and errors."""

import functools
import inspect
import re
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax
from stagec.core.dtypes import float0

X = np.array([0.5, -1.25, 2.0], np.float32)


def layer(params, x):
    return snp.tanh(snp.dot(params["w"], x) + params["b"])


def loss(params, x):
    return (layer(params, x) ** 2).sum()


PARAMS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3) / 10, "b": np.array([0.3, -0.2], np.float32)}


def finite_differences(f, x, step=1e-6):
    """The gradient of a scalar function of one float64 array."""
    x = np.asarray(x, np.float64)
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = (float(f(up)) - float(f(down))) / (2 * step)
    return out


@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_the_gradient_of_a_pytree_of_parameters_is_that_of_finite_differences(wrap):
    with stagec.enable_x64():
        params = {k: v.astype(np.float64) for k, v in PARAMS.items()}
        x = X.astype(np.float64)
        found = wrap(stagec.grad(loss))(params, x)
        assert list(found) == ["b", "w"]
        for name in params:
            expected = finite_differences(lambda v, name=name: loss({**params, name: v}, x), params[name])
            np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-8)


def test_second_derivatives_are_those_of_finite_differences():
    def f(x):
        return (snp.sin(x) * x[::-1] ** 2).sum()

    with stagec.enable_x64():
        x = X.astype(np.float64)
        rows = [finite_differences(lambda v, i=i: stagec.grad(f)(v)[i], x) for i in range(3)]
        np.testing.assert_allclose(stagec.hessian(f)(x), rows, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(stagec.jacrev(stagec.grad(f))(x), rows, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(stagec.jacrev(stagec.jacfwd(f))(x), rows, rtol=1e-6, atol=1e-7)
        v = np.array([1.0, 2.0, -1.0])
        np.testing.assert_allclose(stagec.jvp(stagec.grad(f), (x,), (v,))[1], rows @ v, rtol=1e-6, atol=1e-6)


# Each is run with jax and with stagec in the place of `m`: results must agree in structure, shape, dtype and value.
CALLS = {
    "argnums tuple": lambda m, np_: m.grad(lambda a, b: (a * b).sum(), argnums=(1, 0))(X, X * 2),
    "argnums negative": lambda m, np_: m.grad(lambda a, b: (a * b).sum(), argnums=-1)(X, X * 2),
    "keywords": lambda m, np_: m.grad(lambda a, *, b: (a * b).sum())(X, b=3.0),
    "has_aux": lambda m, np_: m.grad(lambda a: ((a * a).sum(), {"aux": a * 2, "n": 3}), has_aux=True)(X),
    "value_and_grad": lambda m, np_: m.value_and_grad(lambda a: ((a * a).sum(), a), has_aux=True)(X),
    "weak": lambda m, np_: m.grad(lambda a: a**2)(3.0),
    "value weak": lambda m, np_: m.value_and_grad(lambda a: a * a)(3.0),
    "half": lambda m, np_: m.grad(lambda a: (a * a).sum())(X.astype(np.float16)),
    "unused": lambda m, np_: m.grad(lambda a, b: a.sum(), argnums=(0, 1))(X, {"k": X}),
    "constant": lambda m, np_: m.grad(lambda a: np_.float32(3.0) * 1.0)(X),
    "containers": lambda m, np_: m.grad(lambda p: (p[0][0] * p[1]["k"]).sum())(((X,), {"k": X * 3})),
    "none": lambda m, np_: m.grad(lambda p: (p[0] ** 2).sum())((X, None)),
    "complex input": lambda m, np_: m.grad(lambda z: np_.real(z * z * z))(np.complex64(1 + 2j)),
    "abs complex": lambda m, np_: m.grad(lambda z: np_.abs(z) ** 2)(np.complex64(1 + 2j)),
    "holomorphic": lambda m, np_: m.grad(lambda z: z * z * z, holomorphic=True)(np.complex64(1 + 2j)),
    "jvp": lambda m, np_: m.jvp(lambda a, b: {"s": a * b, "t": a.sum()}, (X, X), (X, X * 2)),
    "jvp scalars": lambda m, np_: m.jvp(lambda a: np_.sin(a), (1.0,), (2.0,))[1],
    "jvp aux": lambda m, np_: m.jvp(lambda a: (a * 2, a.sum()), (X,), (X,), has_aux=True),
    "jvp list": lambda m, np_: m.jvp(lambda a: a * 2, [X], [X]),
    "vjp": lambda m, np_: m.vjp(lambda p, b: p["k"] * b, {"k": X}, 2.0)[1](X),
    "vjp out tree": lambda m, np_: m.vjp(lambda a: (a * 2, [a.sum()]), X)[1]((X, [np.float32(3)])),
    "vjp aux": lambda m, np_: m.vjp(lambda a: (a * 2, a.sum()), X, has_aux=True)[::2],
    "vjp complex": lambda m, np_: m.vjp(lambda z: z * (2 + 1j), np.complex64(1 + 1j))[1](np.complex64(1j)),
    "linearize": lambda m, np_: m.linearize(lambda a, b: a * b, X, X * 2)[1](X, X),
    "linear_transpose": lambda m, np_: m.linear_transpose(lambda a: {"u": a[:2] * 3, "v": a.sum()}, X)(
        {"u": X[:2], "v": X[0]}
    ),
    "jacfwd": lambda m, np_: m.jacfwd(lambda a, b: {"s": np_.outer(a, b)}, argnums=(0, 1))(X, X[:2]),
    "jacrev": lambda m, np_: m.jacrev(lambda a, b: {"s": np_.outer(a, b)}, argnums=(0, 1))(X, X[:2]),
    "jacrev tree": lambda m, np_: m.jacrev(lambda p: (p["a"] * p["b"].sum(), p["b"]))({"a": X, "b": X[:2]}),
    "jacfwd tree": lambda m, np_: m.jacfwd(lambda p: (p["a"] * p["b"].sum(), p["b"]))({"a": X, "b": X[:2]}),
    "jacobian": lambda m, np_: m.jacobian(lambda a: a**2)(X),
    "jac aux": lambda m, np_: m.jacfwd(lambda a: (a**2, a.sum()), has_aux=True)(X),
    "jacrev aux": lambda m, np_: m.jacrev(lambda a: (a**2, a.sum()), has_aux=True)(X),
    "jac holomorphic": lambda m, np_: m.jacfwd(lambda z: z * z, holomorphic=True)(X.astype(np.complex64)),
    "jacrev holomorphic": lambda m, np_: m.jacrev(lambda z: z * z, holomorphic=True)(X.astype(np.complex64) * (1 + 1j)),
    "jac scalar": lambda m, np_: m.jacrev(lambda a: a**2)(3.0),
    "hessian": lambda m, np_: m.hessian(lambda a: (a**3).sum())(X),
    "hessian argnums": lambda m, np_: m.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(X[:2], X[1:]),
    "hessian tree": lambda m, np_: m.hessian(lambda p: (p["a"] * p["a"] * p["b"]).sum())({"a": X, "b": X}),
    "int output": lambda m, np_: m.jvp(lambda a: a > 0, (X,), (X,))[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_structures_dtypes_and_values_of_jax(name):
    jax = pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = CALLS[name](jax, jax.numpy)
    found = CALLS[name](stagec, snp)
    want, want_tree = jax.tree.flatten(expected)
    got, got_tree = jax.tree.flatten(found)
    assert got_tree == want_tree
    for g, w in zip(got, want):
        assert np.shape(g) == np.shape(w)
        assert np.asarray(g).dtype == np.asarray(w).dtype
        assert getattr(g, "weak_type", None) == getattr(w, "weak_type", getattr(g, "weak_type", None))
        np.testing.assert_allclose(
            np.asarray(g, np.complex128),
            np.asarray(w, np.complex128),
            rtol=2e-3 if np.asarray(g).dtype == np.float16 else 1e-5,
        )


@pytest.mark.parametrize(
    "name",
    [
        "grad",
        "value_and_grad",
        "vjp",
        "jvp",
        "linearize",
        "linear_transpose",
        "jacfwd",
        "jacrev",
        "jacobian",
        "hessian",
        "vmap",
        "checkpoint",
        "custom_jvp",
        "custom_vjp",
    ],
)
def test_arguments_have_the_names_of_jax(name):
    jax = pytest.importorskip("jax")
    theirs = inspect.signature(getattr(jax, name))
    ours = inspect.signature(getattr(stagec, name))
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = {n for n, p in theirs.parameters.items() if p.kind not in variadic}
    assert wanted - set(ours.parameters) - {"sum_match", "argnames", "saveable_args"} == set()


def test_arguments_without_derivatives_are_marked_for_vjp_and_linearize():
    def f(p, y):
        return p["a"] * p["b"] * y

    primals = {"a": snp.float32(2), "b": snp.float32(3)}, snp.float32(5)
    _, pull = stagec.vjp(f, *primals, in_nzs=({"a": True, "b": False}, False))
    assert [float(ct) for ct in stagec.tree.leaves(pull(1.0))] == [15, 0, 0]
    _, push = stagec.linearize(f, *primals, in_nzs=(True, False))
    assert float(push({"a": 1.0, "b": 1.0}, 1.0)) == 25
    with pytest.raises(stagec.errors.PytreeError):
        stagec.vjp(f, *primals, in_nzs=({"a": True}, False))


def test_integers_have_gradients_without_data():
    found = stagec.grad(lambda n, x: n * x, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert found[0].dtype == float0 == stagec.dtypes.float0
    assert found[0].shape == ()
    assert float(found[1]) == 3.0
    assert stagec.vjp(lambda n: n * 2.0, np.arange(3))[1](X)[0].dtype == float0
    value, tangent = stagec.jvp(lambda n: n + 1, (np.arange(3),), (np.zeros(3, float0),))
    assert value.dtype == np.int32
    assert tangent.dtype == float0


def test_compiled_functions_take_and_return_tangents_without_data(tmp_path):
    gradient = stagec.grad(lambda x, n: (x * n).sum(), argnums=(0, 1), allow_int=True)
    x, n = np.ones(3, np.float32), np.arange(3)
    compiled = stagec.jit(gradient)
    for _ in range(2):
        found, none = compiled(x, n)
        assert found.tolist() == [0, 1, 2]
        assert (none.dtype, none.shape, np.asarray(none).dtype) == (float0, (3,), float0)
    assert [v.dtype for v in stagec.jit(lambda x, none: (none, x))(x, none)] == [float0, np.float32]
    assert float(stagec.jvp(lambda x, n: (x * n).sum(), (x, n), compiled(x, n))[1]) == 5
    stagec.export(compiled)(x, n).save(tmp_path / "gradient.stagec")
    assert [v.dtype for v in stagec.load(tmp_path / "gradient.stagec")(x, n)] == [np.float32, float0]


def test_loops_and_batches_return_tangents_without_data():
    of_integers = stagec.grad(lambda x, n: x * n, argnums=1, allow_int=True)
    x, n = np.ones(3, np.float32), np.arange(3)
    for function in (
        stagec.vmap(of_integers),
        lambda x, n: stagec.lax.map(lambda v: of_integers(*v), (x, n)),
        lambda x, n: stagec.lax.cond(x[0] > 0, stagec.vmap(of_integers), stagec.vmap(of_integers), x, n),
        lambda x, n: stagec.jit(stagec.vmap(of_integers))(x, n),
    ):
        for found in (function(x, n), stagec.jit(function)(x, n)):
            assert (found.dtype, found.shape) == (float0, (3,))


def test_functions_decide_by_values_outside_jit():
    def divide(x, y):
        if y >= 1.0:
            return x / y
        return 0.0 * x

    assert float(stagec.grad(divide)(3.0, 2.0)) == 0.5
    assert float(stagec.grad(divide, argnums=1)(3.0, 0.5)) == 0.0
    with pytest.raises(errors.TracerBoolConversionError, match=r"argument.*y"):
        stagec.jit(stagec.grad(divide))(3.0, 2.0)


def test_differentiated_values_convert_to_python_numbers():
    seen = []

    def f(x):
        seen.extend(
            [
                int(x),
                float(x),
                bool(x),
                f"{x:.1f}",
                x.item(),
                complex(x),
                [10, 20, 30][lax.stop_gradient(x).astype(int)],
            ]
        )
        np.asarray(lax.stop_gradient(x))
        return x * x

    assert float(stagec.grad(f)(2.0)) == 4.0
    assert seen == [2, 2.0, True, "2.0", 2.0, 2 + 0j, 30]
    stagec.jvp(f, (2.0,), (1.0,))
    with pytest.raises(errors.TracerArrayConversionError, match="stop_gradient"):
        stagec.grad(lambda x: np.asarray(x).sum())(X)


def test_perturbations_are_not_confused():
    d = stagec.grad
    assert float(d(lambda x: x * d(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(d(lambda x: x * d(lambda y: x * y)(2.0))(3.0)) == 6.0
    push = lambda f, x: stagec.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    assert float(push(lambda x: x * push(lambda y: x + y, 1.0), 1.0)) == 1.0
    assert float(d(lambda x: push(lambda y: x * y * y, 3.0))(1.0)) == 6.0
    assert float(push(lambda x: d(lambda y: x * y * y)(3.0), 1.0)) == 6.0


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap", "linearize", "checkpoint"])
def test_values_that_outlive_a_transformation_are_refused(transform):
    kept = []

    def f(x):
        kept.append(x)
        return (x * 2).sum()

    if transform == "vmap":
        stagec.vmap(f)(X)
    elif transform == "jvp":
        stagec.jvp(f, (X,), (X,))
    elif transform == "linearize":
        stagec.linearize(f, X)
    elif transform == "checkpoint":
        stagec.checkpoint(f)(X)
    else:
        stagec.grad(f)(X)
    with pytest.raises(errors.LeakedTracerError):
        kept[0] + 1
    with pytest.raises(errors.LeakedTracerError):
        stagec.grad(lambda y: (y * kept[0]).sum())(X)
    with pytest.raises(errors.LeakedTracerError):
        stagec.jit(lambda y: y * kept[0])(X)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: stagec.grad(lambda x: x * 1.0)(1), errors.DtypeError, "requires real or complex floating.*allow_int"),
        (lambda: stagec.grad(lambda p: p["n"] * 1.0)({"n": 1}), errors.DtypeError, r"p\['n'\]"),
        (lambda: stagec.grad(lambda x: x)(X), errors.ShapeError, r"scalar-output.*float32\[3\].*jacrev"),
        (lambda: stagec.grad(lambda x: (x, x))(1.0), errors.OutputTypeError, "scalar-output.*has_aux"),
        (lambda: stagec.grad(lambda x: "text")(1.0), errors.OutputTypeError, "not an array"),
        (lambda: stagec.grad(lambda x: x, has_aux=True)(1.0), errors.OutputTypeError, r"\(result, aux\)"),
        (lambda: stagec.grad(lambda x: x > 0)(1.0), errors.DtypeError, "real floating results.*bool"),
        (lambda: stagec.grad(lambda z: z * z)(1j), errors.DtypeError, "holomorphic=True"),
        (lambda: stagec.grad(lambda z: z, holomorphic=True)(1.0), errors.DtypeError, "complex arguments"),
        (lambda: stagec.grad(lambda x: x, argnums=1)(1.0), TypeError, "argnums=1.*the 1 given"),
        (lambda: stagec.grad(lambda x: x)(x=1.0), TypeError, "by position"),
        (lambda: stagec.grad(lambda x: x, argnums="x")(1.0), TypeError, "argnums='x'"),
        (lambda: stagec.grad(3.0), TypeError, "takes a function"),
        (lambda: stagec.grad(lambda x: x)("text"), errors.ArgumentTypeError, "argument x is not an array"),
        (lambda: stagec.jvp(lambda x: x, (1.0,), (1,)), errors.DtypeError, "int32.*float32"),
        (lambda: stagec.jvp(lambda x: x, (1,), (1,)), errors.DtypeError, "float0"),
        (lambda: stagec.jvp(lambda x: x, (X,), (1.0,)), errors.ShapeError, r"tangent\[0\]"),
        (lambda: stagec.jvp(lambda x: x, (X,), [X]), errors.PytreeError, "another structure"),
        (lambda: stagec.jvp(lambda x: x, 1.0, 1.0), TypeError, "must be a tuple"),
        (lambda: stagec.vjp(lambda x: x, X)[1](X[:2]), errors.ShapeError, "cotangent"),
        (lambda: stagec.vjp(lambda x: x, X)[1]((X, X)), errors.PytreeError, "another structure"),
        (lambda: stagec.linearize(lambda x: x, X)[1](1.0), errors.ShapeError, "tangent"),
        (lambda: stagec.linear_transpose(snp.sin, X)(X), errors.UnsupportedError, "sin cannot be transposed"),
        (lambda: stagec.linear_transpose(lambda x: x, 1), errors.DtypeError, "linear_transpose requires"),
        (lambda: stagec.jacfwd(lambda x: x)(1j), errors.DtypeError, "real floating"),
        (lambda: stagec.jacrev(lambda x: x * 1j)(1.0), errors.DtypeError, "complex64"),
    ],
)
def test_misuse_is_explained_at_the_users_line(call, kind, text):
    with pytest.raises(kind, match=r"(?s)" + text) as caught:
        call()
    assert "test_grad.py" in str(caught.value) or "argnums" in text
    assert "Fix: " in str(caught.value)


def test_the_function_runs_once():
    calls = []

    def f(x):
        calls.append(1)
        return (snp.sin(x) ** 2).sum()

    runs = [
        lambda: stagec.grad(f)(X),
        lambda: stagec.vjp(f, X),
        lambda: stagec.jvp(f, (X,), (X,)),
        lambda: stagec.jacfwd(f)(X),
        lambda: stagec.jacrev(f)(X),
        lambda: stagec.hessian(f)(X),
        lambda: stagec.linear_transpose(lambda x: (calls.append(1), x)[1], X),
    ]
    for run in runs:
        calls.clear()
        run()
        assert len(calls) == 1


def test_the_graph_of_a_gradient_grows_with_the_function():
    def chain(n, x):
        for _ in range(n):
            x = snp.sin(x) * x
        return x.sum()

    def size(n):
        return len(stagec.make_graph(stagec.grad(functools.partial(chain, n)))(X).graph.equations)

    assert size(24) - size(16) == size(16) - size(8) <= 8 * 8


def lines_of_operations(text):
    """The user's line of each operation of a dumped module, None where there is none.

    Constants are left out: equal ones are merged, and belong to many lines.
    """
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))

    def line(location):
        while (inner := re.search(r"#loc\d*", location)) is not None:
            location = aliases[inner[0]]
        found = re.search(r'test_grad\.py":(\d+):', location)
        return int(found[1]) if found else None

    rows = [row for row in text.splitlines() if re.match(r"\s+%\S+ = .* loc\(", row)]
    return [line(row[row.rindex("loc(") :]) for row in rows if "stablehlo.constant" not in row]


@pytest.mark.parametrize("stage", ["stablehlo", "optimized"])
def test_every_backward_operation_carries_the_line_of_its_forward_one(stage):
    def f(x):
        h = snp.sin(x)
        w = h[::-1] * 2
        c = snp.outer(w, x).sum(0)

        def step(a, r):
            return snp.cos(a) * r, a

        e, ys = lax.scan(step, c[0], c)
        return lax.cond(e > 0, lambda v: v * v, lambda v: v * 3, ys).sum()

    text = stagec.jit(stagec.grad(f)).lower(X).as_text(stage, locations=True)
    found = lines_of_operations(text)
    first = f.__code__.co_firstlineno
    body = range(first + 1, first + 10)
    assert set(found) <= set(body)
    # The backward pass goes back through the lines: past the loop, those before it.
    after = found[len(found) - 1 - found[::-1].index(first + 8) :]
    assert after == sorted(after, reverse=True)
    assert set(after) == {first + 1, first + 2, first + 3, first + 8}


def test_vjps_and_linear_functions_can_be_called_again():
    _, pull = stagec.vjp(lambda x: snp.sin(x), X)
    np.testing.assert_allclose(pull(X)[0], np.cos(X) * X, rtol=1e-6)
    np.testing.assert_allclose(pull(2 * X)[0], 2 * np.cos(X) * X, rtol=1e-6)
    _, push = stagec.linearize(snp.sin, X)
    np.testing.assert_allclose(stagec.vmap(push)(np.eye(3, dtype=np.float32)), np.diag(np.cos(X)), rtol=1e-6)


def test_stop_gradient_takes_pytrees_and_blocks_every_mode():
    def f(x):
        kept = lax.stop_gradient({"a": x, "n": 3})
        return (x * kept["a"] * kept["n"]).sum()

    np.testing.assert_array_equal(stagec.grad(f)(X), 3 * X)
    np.testing.assert_array_equal(stagec.jit(stagec.grad(f))(X), 3 * X)
    np.testing.assert_array_equal(stagec.jacfwd(f)(X), 3 * X)
    np.testing.assert_array_equal(stagec.vmap(stagec.grad(f))(X), 3 * X)
    np.testing.assert_array_equal(stagec.hessian(f)(X), np.zeros((3, 3)))


def test_errors_of_the_function_come_through_unchanged():
    class Own(Exception):
        pass

    def f(x):
        raise Own("text")

    for call in (stagec.grad(f), stagec.vmap(f), stagec.checkpoint(f)):
        with pytest.raises(Own, match="text"):
            call(X)
    # And what was in force before is in force again.
    assert isinstance(snp.sin(X), stagec.Array)


def test_checkpoint_refuses_concrete_as_a_decorator_too():
    with pytest.raises(stagec.errors.UnsupportedError, match="concrete=True is not supported"):

        @stagec.checkpoint(concrete=True)
        def f(x):
            return x
