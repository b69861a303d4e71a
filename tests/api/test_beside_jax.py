"""Combinations whose results are compared with JAX's: custom rules within each other, axes of batches, references."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

X = np.arange(1.0, 4.0, dtype=np.float32)
ONE = np.float32(1)


def batched_twice(j):
    """A function whose batches have twice the value."""
    f = j.custom_batching.custom_vmap(lambda x: j.numpy.sin(x))
    f.def_vmap(lambda size, batched, x: (2 * j.numpy.sin(x), batched[0]))
    return f


def pulled_tenfold(j, f):
    """The function with ten times the cotangent as its derivative."""
    g = j.custom_vjp(f)
    g.defvjp(lambda x: (f(x), None), lambda _, ct: (10 * ct,))
    return g


def derived_outside(j):
    return pulled_tenfold(j, batched_twice(j))


def derived_inside(j):
    inner = pulled_tenfold(j, lambda x: j.numpy.sin(x))
    f = j.custom_batching.custom_vmap(lambda x: inner(x))
    f.def_vmap(lambda size, batched, x: (2 * inner(x), batched[0]))
    return f


def batched_last(j):
    f = j.custom_vjp(j.custom_batching.custom_vmap(lambda x: j.numpy.sin(x)))
    f.def_vmap(lambda size, batched, x: (2 * j.numpy.sin(x), batched[0]))
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (10 * ct,))
    return f


CALLS = {
    "a batch of a function with both rules": lambda j: j.vmap(derived_outside(j))(X),
    "a gradient of it": lambda j: j.grad(lambda x: derived_outside(j)(x))(ONE),
    "a batch of gradients": lambda j: j.vmap(j.value_and_grad(lambda x: derived_outside(j)(x)))(X),
    "a gradient of a batch": lambda j: j.grad(lambda x: j.vmap(derived_outside(j))(x).sum())(X),
    "a jitted batch of gradients": lambda j: j.jit(j.vmap(j.grad(lambda x: derived_outside(j)(x))))(X),
    "a batch of a function with a derivative inside": lambda j: j.vmap(derived_inside(j))(X),
    "a gradient of such a batch": lambda j: j.grad(lambda x: j.vmap(derived_inside(j))(x).sum())(X),
    "a result that all elements share": lambda j: j.vmap(lambda x: j.numpy.ones(2), out_axes=None)(X),
    "one that is mapped, and one that is shared": lambda j: j.vmap(lambda x, y: (x, y), (0, None), (0, None))(X, ONE),
    "a sum over the batch": lambda j: j.vmap(lambda x: j.lax.psum(x, "i"), out_axes=None, axis_name="i")(X),
    "a gradient beside a reference": lambda j: j.grad(lambda x, r: x * r[...].sum())(ONE, j.new_ref(X)),
    "the other order, with the rule of the batch given last": lambda j: j.vmap(batched_last(j))(X),
    "polynomials of which the shorter ones stretch": lambda j: (
        [j.numpy.polyadd(X[:, None] * X, X[:n]) for n in (1, 3)] + [j.numpy.polysub(X[:1, None], X[:, None] * X)]
    ),
    "a cotangent of integers": lambda j: j.vjp(lambda x: (x * 2, j.numpy.arange(3)), ONE)[1]((ONE, j.numpy.arange(3))),
    "softmax of complex numbers": lambda j: [j.nn.softmax(X * (1 + 1j)), j.nn.log_softmax(X * (3 - 1j))],
    "counts without weights": lambda j: j.numpy.histogram2d(X, X, bins=[X, X])[0],
    "labels that are not letters": lambda j: [j.numpy.einsum(s, X[:, None] * X, X) for s in ("1q,1->q", "q1,k")],
    "a batch beside a reference": lambda j: j.vmap(lambda x, r: x + r[...], (0, None))(X, j.new_ref(X)),
}


@pytest.mark.parametrize("what", CALLS)
def test_the_result_is_that_of_jax(what):
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax.custom_batching")
    found, expected = (package.tree.leaves(CALLS[what](package)) for package in (stagec, jax))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-6)


REFUSED = {
    "a shared result that differs": lambda j: j.vmap(lambda x: x, out_axes=None)(X),
    "a shared result that is mapped in a jitted function": lambda j: j.vmap(j.jit(lambda x: x + 1), out_axes=None)(X),
    "the derivative of a reference": lambda j: j.grad(lambda r: (r[...] ** 2).sum())(j.new_ref(X)),
    "a cotangent of a reference": lambda j: j.vjp(lambda x, r: x * r[...].sum(), ONE, j.new_ref(X))[1](ONE),
    "a tangent through a backward rule": lambda j: j.jvp(j.vmap(derived_inside(j)), (X,), (X,)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_jax_refuses_is_refused(what):
    with pytest.raises((ValueError, TypeError), match="Fix: "):
        REFUSED[what](stagec)
    jax = pytest.importorskip("jax")
    with pytest.raises((ValueError, TypeError)):
        REFUSED[what](jax)


@pytest.mark.parametrize("value", [X, snp.asarray(X), 1.0], ids=["NumPy", "array", "number"])
def test_a_backward_rule_says_that_it_has_no_forward_mode(value):
    double = pulled_tenfold(stagec, lambda x: 2 * x)
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff[^\n]*\n  test_beside_jax.py:"):
        stagec.jvp(double, (value,), (value,))


def test_references_are_mapped():
    np.testing.assert_array_equal(stagec.vmap(lambda r: r[...] * 2)(stagec.new_ref(X)), 2 * X)


def test_weak_types_are_those_of_jax():
    jnp = pytest.importorskip("jax").numpy
    parts = "isnan isinf isfinite real imag abs".split()
    unary = [*parts, *"isposinf isneginf isreal iscomplex signbit modf".split()]
    for value in (2, 2.0, True, 2j):
        for name in [*parts, "angle"] if isinstance(value, complex) else unary:
            _same_weak_types(name, (value,), jnp)
    for name in "equal not_equal less greater_equal copysign arctan2 maximum".split():
        for values in ((1.0, 2), (1, 2), (X, 2.0)):
            _same_weak_types(name, values, jnp)


def _same_weak_types(name, values, jnp):
    found, expected = (getattr(numpy, name)(*values) for numpy in (snp, jnp))
    weak = [[x.weak_type for x in (y if isinstance(y, tuple) else (y,))] for y in (found, expected)]
    assert weak[0] == weak[1], (name, values)


def test_a_graph_is_made_where_axes_have_names():
    def f(x):
        return stagec.lax.psum(x, "i") + stagec.lax.axis_size("j")

    graph = stagec.make_jaxpr(f, axis_env=[("i", 4), ("j", 3)])(1.0)
    assert [e.primitive.name for e in graph.eqns] == ["psum", "add"]
    assert stagec.make_jaxpr(stagec.jit(f), axis_env=[("i", 4), ("j", 3)])(1.0).eqns[0].primitive.name == "jit"
    with pytest.raises(NameError, match="unbound axis name: j"):
        stagec.make_jaxpr(f, axis_env=[("i", 4)])(1.0)


DTYPES = "bool int8 uint8 int16 uint32 float16 bfloat16 float32 complex64".split()


@pytest.mark.parametrize("one", DTYPES)
def test_products_of_two_dtypes_have_that_of_jax(one):
    jax = pytest.importorskip("jax")
    numbers = (((1,), (0,)), ((), ()))
    for other in DTYPES:
        x, y = np.ones((2, 3)).astype(stagec.dtypes.canonicalize_dtype(one)), snp.full((3, 2), 3).astype(other)
        found = stagec.lax.dot_general(x, y, numbers)
        try:
            expected = jax.lax.dot_general(x, np.asarray(y), numbers)
        except TypeError:
            continue
        assert found.dtype == expected.dtype, (one, other)
        np.testing.assert_array_equal(found, expected, err_msg=f"{one} {other}")


def test_windows_out_of_range_are_clipped_unless_they_are_to_be_filled():
    jax = pytest.importorskip("jax")
    for j in (stagec, jax):
        numbers = j.lax.GatherDimensionNumbers((), (0,), (0,))
        read = [j.lax.gather(X, np.array([[7], [-2], [1]]), numbers, (1,), mode=m) for m in (None, "clip", "fill")]
        assert read[0].tolist() == read[1].tolist() == [3, 1, 2]
        assert np.isnan(read[2]).tolist() == [True, True, False]
        assert np.isnan(j.numpy.take_along_axis(X, np.array([7, 1]), 0)).tolist() == [True, False]


def test_primitives_take_the_operands_and_parameters_of_jax():
    jax = pytest.importorskip("jax")
    from jax.extend.core import primitives as theirs

    from stagec.compat import core
    from stagec.compat.extend import primitives as ours

    calls = [
        lambda p: p.igamma_p.bind(X, 2 * X),
        lambda p: p.igammac_p.bind(X, 2 * X),
        lambda p: p.exp_p.bind(X, accuracy=None),
        lambda p: p.broadcast_in_dim_p.bind(X, shape=(2, 3), broadcast_dimensions=(1,), sharding=None),
    ]
    for call in calls:
        np.testing.assert_allclose(call(ours), call(theirs), rtol=1e-5)
    graph = stagec.make_jaxpr(lambda x: stagec.lax.igamma(x, 2.0))(ONE)
    again = stagec.jit(lambda x: core.eval_jaxpr(graph.jaxpr, graph.consts, x)[0])(ONE)
    np.testing.assert_allclose(again, jax.lax.igamma(ONE, np.float32(2)), rtol=1e-5)


def test_static_arguments_of_a_wrapper_are_those_that_are_named():
    import functools

    def shown(a, b):
        return a

    @functools.partial(stagec.jit, static_argnums=(0,), static_argnames=["b"])
    @functools.wraps(shown)
    def wrapper(first, *args, **kwargs):
        return args[0] * (2 if kwargs["b"] == "double" else 1)

    assert float(wrapper("any", ONE, b="double")) == 2
    assert float(stagec.jit(lambda a, b: b, static_argnums=(0,), static_argnames=("a",))("any", ONE)) == 1
