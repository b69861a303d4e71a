"""`vmap`, named axes, `vectorize` and `apply_along_axis`: against loops, NumPy and JAX."""

import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
V = np.array([1.0, -2.0, 3.0], np.float32)
Q = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
R = np.arange(54, dtype=np.float32).reshape(3, 3, 6)


def loop(f, args, in_axes, out_axis=0):
    size = next(np.shape(a)[ax] for a, ax in zip(args, in_axes) if ax is not None)
    rows = [f(*[a if ax is None else np.take(a, i, axis=ax) for a, ax in zip(args, in_axes)]) for i in range(size)]
    return np.stack([np.asarray(r) for r in rows], axis=out_axis)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_mapping_over_any_axis_is_a_loop(axis, out_axis):
    def f(a, b):
        return snp.sin(a) @ snp.cos(a).T + b

    found = stagec.vmap(f, in_axes=(axis, None), out_axes=out_axis)(A, 2.0)
    np.testing.assert_allclose(found, loop(f, (A, 2.0), (axis, None), out_axis), rtol=1e-5)


def test_axes_may_be_prefixes_of_pytrees():
    tree = {"w": A, "b": (V[:2], 5.0)}
    found = stagec.vmap(
        lambda t, x: {"s": t["w"].sum() + x, "r": [t["b"][0] * t["b"][1], x]},
        in_axes=({"w": 0, "b": (0, None)}, None),
        out_axes={"s": 0, "r": [0, None]},
    )(tree, 2.0)
    np.testing.assert_allclose(found["s"], A.sum((1, 2)) + 2, rtol=1e-6)
    np.testing.assert_allclose(found["r"][0], V[:2] * 5)
    assert found["r"][1].shape == ()
    assert stagec.vmap(lambda t: t["b"][0], in_axes=({"w": None, "b": 0},))({"w": A, "b": (V, None)}).shape == (3,)


# Each is run with jax and with stagec in the place of `m`: results must agree in structure, shape, dtype and value.
CALLS = {
    "in_axes list": lambda m, np_: m.vmap(lambda a, b: a + b, in_axes=[0, None])(V, V),
    "keywords": lambda m, np_: m.vmap(lambda a, *, k: a * k["x"])(V, k={"x": V}),
    "axis_size": lambda m, np_: m.vmap(lambda a: a * 2, in_axes=None, axis_size=3)(2.0),
    "constant result": lambda m, np_: m.vmap(lambda a: 3)(V),
    "out_axes": lambda m, np_: m.vmap(lambda a: (a, a.sum()), out_axes=(2, 0))(A),
    "none": lambda m, np_: m.vmap(lambda a, b: a if b is None else b)(V, None),
    "nested": lambda m, np_: m.vmap(m.vmap(lambda a, b: np_.dot(a, b), (0, None)), (None, 1))(A[0], A[1].T),
    "grad": lambda m, np_: m.vmap(m.grad(lambda a, b: (a * b).sum()), (0, None))(A[0], A[0, 0]),
    "grad of vmap": lambda m, np_: m.grad(lambda a: m.vmap(lambda r: (r * r).sum())(a).sum())(A[0]),
    "hessian": lambda m, np_: m.vmap(m.hessian(lambda r: (r**3).sum()))(A[0]),
    "jit": lambda m, np_: m.vmap(m.jit(lambda a, b: a * b), (0, None))(V, 2.0),
    "integers": lambda m, np_: m.vmap(lambda n: n // 2 + 1)(np.arange(5, dtype=np.int32)),
    "psum": lambda m, np_: m.vmap(lambda a: m.lax.psum(a, "i"), axis_name="i")(A),
    "psum out_axes": lambda m, np_: m.vmap(lambda a: m.lax.psum(a, "i"), axis_name="i", out_axes=None)(A),
    "psum one": lambda m, np_: m.vmap(lambda a: a / m.lax.psum(1, "i"), axis_name="i")(V),
    "psum constant": lambda m, np_: m.vmap(lambda a: m.lax.psum(np_.ones(2), "i"), axis_name="i", out_axes=None)(V),
    "psum tree": lambda m, np_: m.vmap(lambda a: m.lax.psum({"x": a, "y": (a, a)}, "i"), axis_name="i")(V),
    "psum bool": lambda m, np_: m.vmap(lambda a: m.lax.psum(a > 0, "i"), axis_name="i")(V),
    "pmean": lambda m, np_: m.vmap(lambda a: a - m.lax.pmean(a, "i"), axis_name="i")(A),
    "pmean int": lambda m, np_: m.vmap(lambda a: m.lax.pmean(a, "i"), axis_name="i")(np.arange(4, dtype=np.int32)),
    "pmax": lambda m, np_: m.vmap(lambda a: m.lax.pmax(a, "i"), axis_name="i")(A),
    "pmin": lambda m, np_: m.vmap(lambda a: m.lax.pmin(a, "i"), axis_name="i")(A),
    "axis_index": lambda m, np_: m.vmap(lambda a: m.lax.axis_index("i") * a, axis_name="i")(V),
    "all_gather": lambda m, np_: m.vmap(lambda a: m.lax.all_gather(a, "i"), axis_name="i")(A),
    "all_gather axis": lambda m, np_: m.vmap(lambda a: m.lax.all_gather(a, "i", axis=2), axis_name="i")(A),
    "all_gather tiled": lambda m, np_: m.vmap(lambda a: m.lax.all_gather(a, "i", axis=1, tiled=True), axis_name="i")(A),
    "ppermute": lambda m, np_: m.vmap(lambda a: m.lax.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(V),
    "pshuffle": lambda m, np_: m.vmap(lambda a: m.lax.pshuffle(a, "i", [2, 0, 1]), axis_name="i")(V),
    "pbroadcast": lambda m, np_: m.vmap(lambda a: m.lax.pbroadcast(a, "i", 1), axis_name="i")(V),
    "all_to_all": lambda m, np_: m.vmap(lambda a: m.lax.all_to_all(a, "i", 0, 1), axis_name="i")(Q),
    "all_to_all tiled": lambda m, np_: m.vmap(lambda a: m.lax.all_to_all(a, "i", 1, 0, tiled=True), axis_name="i")(R),
    "pswapaxes": lambda m, np_: m.vmap(lambda a: m.lax.pswapaxes(a, "i", 1), axis_name="i")(Q),
    "psum_scatter": lambda m, np_: m.vmap(lambda a: m.lax.psum_scatter(a, "i"), axis_name="i")(Q),
    "psum_scatter tiled": lambda m, np_: m.vmap(
        lambda a: m.lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True), axis_name="i"
    )(R),
    "grad through ppermute": lambda m, np_: m.grad(
        lambda v: m.vmap(lambda a: a * m.lax.ppermute(a**2, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(v).sum()
    )(V),
    "two names": lambda m, np_: m.vmap(
        m.vmap(lambda a: m.lax.psum(a, "i") + 10 * m.lax.psum(a, "j") + m.lax.psum(a, ("i", "j")), axis_name="j"),
        axis_name="i",
    )(A),
    "indices of two": lambda m, np_: m.vmap(
        m.vmap(lambda a: a * 0 + m.lax.axis_index("i") * 10 + m.lax.axis_index("j"), axis_name="j"), axis_name="i"
    )(A),
    "inner name": lambda m, np_: m.vmap(lambda r: m.vmap(lambda a: m.lax.psum(a, "j"), axis_name="j")(r))(A),
    "outer name": lambda m, np_: m.vmap(lambda r: m.vmap(lambda a: m.lax.psum(a, "i"))(r), axis_name="i")(A),
    "psum in jit": lambda m, np_: m.vmap(m.jit(lambda a: a + m.lax.psum(a, "i")), axis_name="i")(V),
    "psum of grad": lambda m, np_: m.vmap(m.grad(lambda a: m.lax.psum(a * a, "i")), axis_name="i")(V),
    "grad through psum": lambda m, np_: m.grad(
        lambda v: m.vmap(lambda a: a * m.lax.psum(a, "i"), axis_name="i")(v).sum()
    )(V),
    "mean of gradients": lambda m, np_: m.vmap(
        lambda w, x: m.lax.pmean(m.grad(lambda w: (w * x).sum())(w), "i"), (None, 0), None, axis_name="i"
    )(V, A[0, :, :3]),
}


@pytest.mark.parametrize("wrap", ["eager", "jit"])
@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_structures_dtypes_and_values_of_jax(name, wrap):
    jax = pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = CALLS[name](jax, jax.numpy)
    if wrap == "jit":
        # All of the table in one program, compiled once.
        found = _compiled()[name]
    else:
        found = CALLS[name](stagec, snp)
    want, want_tree = jax.tree.flatten(expected)
    got, got_tree = jax.tree.flatten(found)
    assert got_tree == want_tree
    for g, w in zip(got, want):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-5, atol=1e-6)


_programs = {}


def _compiled():
    if not _programs:
        _programs.update(stagec.jit(lambda: {name: call(stagec, snp) for name, call in CALLS.items()})())
    return _programs


def test_a_gathered_batch_has_a_gradient():
    def f(v):
        weights = snp.array([1.0, 10.0, 100.0])
        return stagec.vmap(lambda a, w: (lax.all_gather(a, "i") * w).sum(), axis_name="i")(v, weights).sum()

    np.testing.assert_allclose(stagec.grad(f)(V), [111.0, 111.0, 111.0])


def test_one_jitted_function_serves_axes_of_many_names_and_sizes():
    f = stagec.jit(lambda a: lax.psum(1, "i") * a + lax.axis_index("i"))
    np.testing.assert_array_equal(stagec.vmap(f, axis_name="i")(snp.ones(2)), [2, 3])
    np.testing.assert_array_equal(stagec.vmap(f, axis_name="i")(snp.ones(3)), [3, 4, 5])
    with pytest.raises(NameError, match="unbound axis name: i"):
        f(1.0)
    with pytest.raises(NameError, match="the names in force are 'j'"):
        stagec.vmap(f, axis_name="j")(snp.ones(2))


@pytest.mark.parametrize("call", [lax.psum, lax.pmean, lax.pmax, lax.pmin, lax.all_gather])
def test_names_that_no_vmap_has_are_unbound(call):
    with pytest.raises(NameError, match="unbound axis name: i"):
        call(V, "i")
    with pytest.raises(NameError, match="unbound axis name: i"):
        stagec.jit(lambda x: call(x, "i"))(V)
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.axis_index("i")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: stagec.vmap(lambda a, b: a)(V, V[:2]),
            errors.ShapeError,
            "inconsistent sizes.*a .*size 3.*b .*size 2",
        ),
        (lambda: stagec.vmap(lambda p: p["k"])({"k": V, "l": A}), errors.ShapeError, r"p\['l'\].*axis 0 has size 2"),
        (lambda: stagec.vmap(lambda a: a, axis_size=4)(V), errors.ShapeError, "axis_size is 4"),
        (lambda: stagec.vmap(lambda a: a)(1.0), errors.ShapeError, "axis 0 of a is mapped.*float32.*0 axes"),
        (lambda: stagec.vmap(lambda a: a, in_axes=1)(V), errors.ShapeError, "axis 1 of a"),
        (lambda: stagec.vmap(lambda a: a, in_axes=None)(V), errors.ShapeError, "no argument has an axis"),
        (lambda: stagec.vmap(lambda a, b: a, in_axes=(0,))(V, V), ValueError, "one entry for each of the 2"),
        (lambda: stagec.vmap(lambda a: a, in_axes=({"x": 0},))({"y": V}), ValueError, "in_axes does not fit"),
        (lambda: stagec.vmap(lambda a: a, in_axes="a"), TypeError, "integers and None"),
        (lambda: stagec.vmap(lambda a: a, out_axes=1.5), TypeError, "integers and None"),
        (lambda: stagec.vmap(lambda a: (a, a), out_axes=(0,))(V), ValueError, "out_axes does not fit"),
        (lambda: stagec.vmap(lambda a: a, out_axes=None)(V), ValueError, "out_axes is None.*differs between elements"),
        (
            lambda: stagec.vmap(lambda a: {"r": a}, out_axes=2)(V),
            ValueError,
            r"out_axes 2 is out of bounds.*result\['r'\]",
        ),
        (lambda: stagec.vmap(lambda a: a)("text"), errors.ArgumentTypeError, "argument a is not an array"),
        (lambda: stagec.vmap(lambda a: "text")(V), errors.ArgumentTypeError, "result"),
        (lambda: stagec.vmap(V), TypeError, "takes a function"),
        (lambda: stagec.vmap(lambda a: 1 if a > 0 else 2)(V), errors.TracerBoolConversionError, "under vmap.*lax.cond"),
        (lambda: stagec.vmap(lambda a: float(a))(V), errors.ConcretizationError, "under vmap"),
        (lambda: stagec.vmap(lambda a: np.asarray(a))(V), errors.TracerArrayConversionError, "under vmap"),
        (lambda: stagec.vmap(stagec.grad(lambda a: lax.pmax(a, "i")), axis_name="i")(V), NotImplementedError, "pmax"),
    ],
)
def test_misuse_is_explained(call, kind, text):
    with pytest.raises(kind, match="(?s)" + text):
        call()


def test_batches_may_be_empty():
    x, i = np.zeros((0, 3), np.float32), np.zeros((0, 2), np.int32)
    functions = (
        lambda x, i: snp.sin(x),
        lambda x, i: x[i],
        lambda x, i: x.at[i].add(1),
        stagec.grad(lambda x, i: (x[i] ** 2).sum()),
        stagec.grad(lambda x, i: (snp.zeros(4).at[i].add(x[:2]) ** 2).sum()),
    )
    for f in functions:
        for wrap in (lambda f: f, stagec.jit):
            found = wrap(stagec.vmap(f))(x, i)
            assert found.shape == (0, *np.shape(f(snp.zeros(3), snp.zeros(2, int))))


def test_the_function_runs_once_for_a_batch():
    calls = []
    stagec.vmap(lambda a: calls.append(1) or a)(np.zeros(1000, np.float32))
    assert len(calls) == 1


VECTORIZED = {
    "elements": (lambda np_: np_.vectorize(lambda a, b: a * 2 + b), (A, V[:1])),
    "matvec": (lambda np_: np_.vectorize(np_.matmul, signature="(m,n),(n)->(m)"), (A, A[:, 0])),
    "broadcast": (
        lambda np_: np_.vectorize(np_.dot, signature="(m,n),(n)->(m)"),
        (A[:, None], np.ones((5, 4), np.float32)),
    ),
    "several": (lambda np_: np_.vectorize(lambda a: (a.sum(), a * 2), signature="(n)->(),(n)"), (A,)),
    "excluded": (lambda np_: np_.vectorize(lambda a, n: a * n, excluded={1}), (V, 3.0)),
    "new axis": (lambda np_: np_.vectorize(lambda a: np_.stack([a, a]), signature="()->(k)"), (V,)),
    "no outer axes": (lambda np_: np_.vectorize(np_.dot, signature="(n),(n)->()"), (V, V)),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorize_is_that_of_numpy(name):
    make, args = VECTORIZED[name]
    expected, found = make(np)(*args), make(snp)(*args)
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    for f, e in zip(
        found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected]
    ):
        assert f.shape == e.shape
        np.testing.assert_allclose(f, e, rtol=1e-5)


def test_vectorize_says_what_does_not_fit():
    with pytest.raises(ValueError, match="not a signature"):
        snp.vectorize(snp.dot, signature="(n->()")
    product = snp.vectorize(snp.dot, signature="(n),(n)->()")
    with pytest.raises(errors.ShapeError, match="axis n of argument 1 has size 4, but 3 elsewhere"):
        product(V, A)
    with pytest.raises(errors.ShapeError, match="at least 1 axes"):
        product(V, 1.0)
    with pytest.raises(errors.ShapeError, match="2 arguments, but 1"):
        product(V)
    with pytest.raises(errors.ShapeError, match="do not broadcast"):
        snp.vectorize(snp.add)(V, V[:2])
    with pytest.raises(errors.ShapeError, match="returned float32"):
        snp.vectorize(lambda a: a, signature="(n)->()")(V)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_apply_along_axis_is_that_of_numpy(axis):
    for f, g in [(np.sum, snp.sum), (lambda v: np.outer(v, v), lambda v: snp.outer(v, v))]:
        np.testing.assert_allclose(snp.apply_along_axis(g, axis, A), np.apply_along_axis(f, axis, A), rtol=1e-5)
    np.testing.assert_allclose(
        snp.apply_along_axis(lambda v, n, k: v * n + k, axis, A, 2, k=1.0),
        np.apply_along_axis(lambda v, n, k: v * n + k, axis, A, 2, k=1.0),
        rtol=1e-6,
    )
    with pytest.raises(errors.AxisError, match="axis 7"):
        snp.apply_along_axis(snp.sum, 7, A)


def _closing(y):
    @stagec.custom_jvp
    def f(x):
        return x * y

    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0] * y))
    return f


def _closing_forward(y):
    @stagec.custom_vjp
    def f(x):
        return x * y

    f.defvjp(lambda x: (x * y, 10 * y), lambda y, ct: (ct * y,))
    return f


@pytest.mark.parametrize("make", [_closing, _closing_forward])
@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit])
def test_rules_close_over_values_of_a_batch_that_is_differentiated(make, wrap):
    summed = wrap(stagec.grad(lambda x: stagec.vmap(lambda y: make(y)(x))(V).sum()))
    assert float(summed(2.0)) == 10 * V.sum()
    twice = stagec.grad(lambda x: stagec.vmap(lambda y: stagec.vmap(lambda z: make(y + z)(x))(V))(V).sum())
    assert float(twice(2.0)) == 10 * (V[:, None] + V).sum()


def test_what_is_no_destination_gets_zeros():
    made = stagec.vmap(lambda a: stagec.lax.ppermute(a, "i", [(2, 0), (0, 1)]), axis_name="i")(V)
    assert np.asarray(made).tolist() == [3.0, 1.0, 0.0]


def test_pcast_is_the_identity():
    made = stagec.vmap(lambda a: stagec.lax.pcast(a, "i", to="varying"), axis_name="i")(V)
    assert np.asarray(made).tolist() == V.tolist()
