"""Derivatives that users write, checkpoints and names: under every transformation, eager and jitted."""

import functools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax
from stagec.ad_checkpoint import checkpoint_name, print_saved_residuals
from stagec.api.remat import saved_residuals
from stagec.control.checkpoint import checkpoint_p
from stagec.core.graph import all_equations
from stagec.custom_derivatives import CustomVJPPrimal, SymbolicZero, closure_convert

X = np.array([0.5, -1.25, 2.0], np.float32)


def both(m):
    """`sin(x) * y` with ten times its true derivative in x: forward and backward rules."""

    @m.custom_jvp
    def forward(x, y):
        return m.numpy.sin(x) * y

    @forward.defjvp
    def _(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return forward(x, y), 10 * m.numpy.cos(x) * y * x_dot + m.numpy.sin(x) * y_dot

    @m.custom_vjp
    def backward(x, y):
        return m.numpy.sin(x) * y

    backward.defvjp(
        lambda x, y: (m.numpy.sin(x) * y, (x, y)),
        lambda kept, ct: (10 * m.numpy.cos(kept[0]) * kept[1] * ct, m.numpy.sin(kept[0]) * ct),
    )
    return {"custom_jvp": forward, "custom_vjp": backward}


# Chains of transformations of a function of (x, y) at an array, summed where it has to be a scalar.
CHAINS = {
    "value": lambda m, f, v: f(v, v),
    "keyword": lambda m, f, v: f(v, y=2.0 * v),
    "grad": lambda m, f, v: m.grad(lambda x, y: f(x, y).sum(), (0, 1))(v, v * 2),
    "grad of jit": lambda m, f, v: m.grad(lambda x, y: m.jit(f)(x, y).sum(), (0, 1))(v, v * 2),
    "vmap": lambda m, f, v: m.vmap(f, (0, None))(v, 2.0),
    "vmap of grad": lambda m, f, v: m.vmap(m.grad(f, (0, 1)), (0, None))(v, 2.0),
    "vmap of grad of jit": lambda m, f, v: m.vmap(m.grad(m.jit(f), (0, 1)), (0, None))(v, 2.0),
    "grad of vmap": lambda m, f, v: m.grad(lambda x, y: m.vmap(f, (0, None))(x, y).sum(), (0, 1))(v, 2.0),
    "grad of vmap, other axis": lambda m, f, v: m.grad(lambda x: m.vmap(f, (1, 0))(x, x).sum())(m.numpy.outer(v, v)),
    "grad of vmap of jit": lambda m, f, v: m.grad(lambda x, y: m.vmap(m.jit(f), (0, None))(x, y).sum(), (0, 1))(v, 2.0),
    "vjp": lambda m, f, v: m.vjp(f, v, v)[1](v),
    "jacrev": lambda m, f, v: m.jacrev(f)(v, v),
    "grad of grad": lambda m, f, v: m.grad(m.grad(f), 1)(0.5, 2.0),
    "second": lambda m, f, v: m.grad(m.grad(f))(0.5, 2.0),
    "checkpoint": lambda m, f, v: m.grad(lambda x, y: m.checkpoint(f)(x, y).sum(), (0, 1))(v, v * 2),
    "forward over reverse": lambda m, f, v: m.jvp(m.grad(f), (0.5, 2.0), (1.0, 1.0)),
    "vmap twice": lambda m, f, v: m.vmap(m.vmap(m.grad(f), (0, None)), (None, 0))(v, v),
}


@pytest.mark.parametrize("wrap", ["eager", "jit"])
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("chain", CHAINS)
def test_own_rules_hold_under_every_transformation_as_in_jax(chain, kind, wrap):
    jax = pytest.importorskip("jax")
    expected = jax.tree.leaves(_compiled(jax, kind)[chain])
    found = _compiled(stagec, kind)[chain] if wrap == "jit" else CHAINS[chain](stagec, both(stagec)[kind], X)
    found = jax.tree.leaves(found)
    assert [(f.shape, f.dtype) for f in found] == [(e.shape, e.dtype) for e in expected]
    for f, e in zip(found, expected):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=2e-5, atol=1e-6)


@functools.cache
def _compiled(m, kind):
    f = both(m)[kind]
    return m.jit(lambda v: {name: chain(m, f, v) for name, chain in CHAINS.items()})(X)


def test_only_custom_jvp_has_a_forward_mode():
    f = both(stagec)
    _, slope = stagec.jvp(f["custom_jvp"], (0.5, 2.0), (1.0, 0.0))
    assert float(slope) == pytest.approx(20 * np.cos(0.5))
    np.testing.assert_allclose(stagec.jacfwd(f["custom_jvp"])(X, X), np.diag(10 * np.cos(X) * X), rtol=1e-5)
    for call in (
        lambda: stagec.jvp(f["custom_vjp"], (0.5, 2.0), (1.0, 0.0)),
        lambda: stagec.jvp(stagec.jit(f["custom_vjp"]), (0.5, 2.0), (1.0, 0.0)),
        lambda: stagec.jacfwd(f["custom_vjp"])(X, X),
    ):
        with pytest.raises(TypeError, match=r"(?s)forward-mode.*custom_vjp.*Fix: use grad or vjp"):
            call()


def test_functions_with_rules_decide_by_values_outside_jit():
    seen = []

    @stagec.custom_vjp
    def f(x):
        return x if x > 0 else -x

    def backward(kept, ct):
        seen.append(float(ct))
        return (ct * float(kept),)

    f.defvjp(lambda x: (f(x), x), backward)
    assert float(f(-2.0)) == 2.0
    assert float(stagec.grad(lambda x: 3 * f(x))(-2.0)) == -6.0
    assert seen == [3.0]


def test_arguments_that_are_not_differentiated_may_be_anything():
    @functools.partial(stagec.custom_jvp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    apply.defjvp(lambda f, primals, tangents: (f(primals[0]), 100 * tangents[0]))

    @functools.partial(stagec.custom_vjp, nondiff_argnums=(0, 2))
    def scaled(f, x, mode="up"):
        return f(x)

    scaled.defvjp(lambda f, x, mode: (f(x), None), lambda f, mode, kept, ct: (ct * (7 if mode == "up" else -7),))
    for wrap in (lambda f: f, stagec.jit):
        assert float(wrap(stagec.grad(lambda x: apply(snp.sin, x)))(1.0)) == 100
        assert float(wrap(stagec.grad(lambda x: scaled(snp.sin, x)))(1.0)) == 7
        assert float(wrap(stagec.grad(lambda x: scaled(snp.sin, x, mode="down")))(1.0)) == -7


def test_rules_take_pytrees_integers_and_none():
    @stagec.custom_vjp
    def f(p, n, y):
        return {"out": p["a"] * n, "n": n}

    f.defvjp(lambda p, n, y: (f(p, n, y), n), lambda n, ct: ({"a": 5 * ct["out"] * n, "b": None}, None, None))

    def loss(p, y):
        return f(p, 3, y)["out"]

    for wrap in (lambda f: f, stagec.jit):
        found = wrap(stagec.grad(loss, (0, 1)))({"a": 2.0, "b": snp.ones(2)}, 1.0)
        assert float(found[0]["a"]) == 15.0
        np.testing.assert_array_equal(found[0]["b"], [0, 0])
        assert float(found[1]) == 0.0


def test_defjvps_adds_the_rules_of_the_arguments():
    @stagec.custom_jvp
    def f(x, y, z):
        return x * y * z

    f.defjvps(lambda t, result, x, y, z: t * y, None, lambda t, result, x, y, z: t * result)
    found = stagec.grad(f, (0, 1, 2))(2.0, 3.0, 5.0)
    assert [float(g) for g in found] == [3.0, 0.0, 30.0]


def test_zeros_come_as_symbols_where_rules_ask_for_them():
    seen = []

    @stagec.custom_vjp
    def f(x, y):
        return x * y, x + y

    def forward(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, x.value + y.value), y.value

    def backward(y, cts):
        seen.append([isinstance(ct, SymbolicZero) for ct in cts])
        return cts[0] * y, cts[0]

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert float(stagec.grad(lambda x: f(x, 5.0)[0])(2.0)) == 5.0
    assert seen == [(True, False), [False, True]]

    @stagec.custom_jvp
    def g(x, y):
        return x * y

    def push(primals, tangents):
        seen.append([isinstance(t, SymbolicZero) for t in tangents])
        return g(*primals), tangents[0]

    g.defjvp(push, symbolic_zeros=True)
    assert float(stagec.grad(g)(2.0, 3.0)) == 1.0
    assert seen[-1] == [False, True]


def rule(result):
    f = stagec.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: result)
    return f


def back(forward, result):
    f = stagec.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: forward(x), lambda kept, ct: result)
    return f


@pytest.mark.parametrize(
    ("f", "kind", "text"),
    [
        (stagec.custom_jvp(lambda x: x), AttributeError, "has no rule.*defjvp"),
        (stagec.custom_vjp(lambda x: x), AttributeError, "has no rule.*defvjp"),
        (rule(1.0), errors.OutputTypeError, r"must return \(result, tangent\)"),
        (rule((1.0, (1.0,))), errors.PytreeError, "structure of its result"),
        (rule((1.0, np.ones(2, np.float32))), errors.ShapeError, r"float32\[\].*float32\[2\]"),
        (rule((1.0, np.float16(1))), errors.DtypeError, "float16"),
        (back(lambda x: x, 1.0), errors.OutputTypeError, r"\(result, residuals\)"),
        (back(lambda x: (x, None), 1.0), errors.PytreeError, r"a tuple.*\(ct,\)"),
        (back(lambda x: (x, None), (1.0, 2.0)), errors.PytreeError, "each of the 1"),
        (back(lambda x: (x, None), ({"a": 1.0},)), errors.PytreeError, "structure of the arguments"),
        (back(lambda x: (x, None), (np.ones(2, np.float32),)), errors.ShapeError, r"float32\[\].*float32\[2\]"),
    ],
)
def test_rules_that_return_something_else_are_refused(f, kind, text):
    with pytest.raises(kind, match="(?s)" + text):
        stagec.grad(f)(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit])
def test_cotangents_may_be_floats_of_another_width(wrap):
    @stagec.custom_vjp
    def f(x):
        return 2 * x

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (3 * ct.astype("float32"),))
    found = wrap(stagec.grad(lambda x: (f(snp.sin(x)) + x).sum()))(snp.zeros(2, "bfloat16"))
    assert found.dtype == "bfloat16" and found.tolist() == [4, 4]
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (snp.ones(ct.shape, "int32"),))
    with pytest.raises(errors.DtypeError, match=r"must return bfloat16\[2\], but returned int32\[2\]"):
        wrap(stagec.grad(lambda x: f(x).sum()))(snp.zeros(2, "bfloat16"))


def test_custom_gradient_takes_the_backward_function_beside_the_result():
    @stagec.custom_gradient
    def f(x):
        kept = snp.sin(x)
        return x * 2, lambda ct: (ct * kept,)

    for run in (stagec.grad(f), stagec.jit(stagec.grad(f)), stagec.grad(stagec.jit(f))):
        assert float(run(1.0)) == pytest.approx(np.sin(1.0))
    np.testing.assert_allclose(stagec.vmap(stagec.grad(f))(X), np.sin(X), rtol=1e-6)


def test_closed_over_values_become_arguments():
    def outer(a, n):
        f = lambda z: snp.sin(z) * a + n  # noqa: E731
        converted, values = closure_convert(f, 1.0)
        assert len(values) == 1
        return converted(2.0, *values)

    assert float(stagec.grad(outer)(3.0, 2)) == pytest.approx(np.sin(2.0))
    assert float(stagec.jit(stagec.grad(outer))(3.0, 2)) == pytest.approx(np.sin(2.0))


def closing_over(kind, a, x):
    """A function with a derivative of its own that closes over `a`, called with `x`."""
    if kind == "custom_jvp":
        f = stagec.custom_jvp(lambda v: v * a)
        f.defjvp(lambda p, t: (p[0] * a, t[0] * a))
    else:
        f = stagec.custom_vjp(lambda v: v * a)
        f.defvjp(lambda v: (v * a, ()), lambda kept, ct: (ct * a,))
    return f(x)


DERIVED = {
    "grad": stagec.grad,
    "jit of grad": lambda f: stagec.jit(stagec.grad(f)),
    "grad of jit": lambda f: stagec.grad(stagec.jit(f)),
    "jit of jvp": lambda f: stagec.jit(lambda a: stagec.jvp(f, (a,), (1.0,))),
    "vmap of grad": lambda f: lambda a: stagec.vmap(stagec.grad(f))(snp.array([a])),
    "jit of vmap of grad": lambda f: stagec.jit(lambda a: stagec.vmap(stagec.grad(f))(snp.stack([a]))),
}


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("argument", ["a constant", "a differentiated value"])
@pytest.mark.parametrize("way", DERIVED)
def test_closing_over_a_differentiated_value_is_refused(way, argument, kind):
    def outer(a):
        return closing_over(kind, snp.sin(a), a if argument == "a differentiated value" else 2.0)

    with pytest.raises(errors.UnsupportedError, match="pass the value"):
        DERIVED[way](outer)(3.0)


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_closing_over_values_of_a_batch(kind):
    def outer(a):
        return closing_over(kind, snp.sin(a), 2.0) + closing_over(kind, 3.0, a)

    expected = 2 * np.sin(X) + 3 * X
    for run in (stagec.vmap(outer), stagec.jit(stagec.vmap(outer)), stagec.vmap(stagec.jit(outer))):
        np.testing.assert_allclose(run(X), expected, rtol=1e-6)
    pairs = stagec.vmap(lambda a: stagec.vmap(lambda b: closing_over(kind, a, b))(X))
    np.testing.assert_allclose(pairs(X), np.outer(X, X), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit, stagec.vmap], ids=["plain", "jit", "vmap"])
def test_a_rule_may_close_over_its_tangents(wrap):
    @stagec.custom_jvp
    def square(x):
        return x * x

    @square.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        assert stagec.eval_shape(lambda: x_dot).shape == ()
        twice = lax.cond(x > 0, lambda: 2 * x_dot, lambda: x_dot + x_dot)
        return x * x, stagec.jit(lambda: x * twice)()

    x = snp.array([3.0, -1.0])
    found = wrap(stagec.grad(square))(x) if wrap is stagec.vmap else snp.stack([*map(wrap(stagec.grad(square)), x)])
    assert found.tolist() == [6.0, -2.0]


def test_a_backward_function_may_decide_by_residuals_that_are_python_numbers():
    seen = []

    @stagec.custom_vjp
    def square(x):
        return x * x

    def backward(residuals, ct):
        x, factor, doubles = residuals
        seen.append((factor, doubles))
        return (factor * x * ct if doubles else x * ct,)

    square.defvjp(lambda x: (x * x, (x, 2, True)), backward)
    functions = [square, stagec.jit(square), stagec.checkpoint(square), lambda x: lax.cond(x > 0, square, square, x)]
    for f in functions:
        assert [float(wrap(stagec.grad(f))(3.0)) for wrap in (lambda g: g, stagec.jit)] == [6.0, 6.0]
        assert stagec.vmap(stagec.grad(f))(snp.arange(2.0)).tolist() == [0.0, 2.0]
    assert {(type(factor), type(doubles)) for factor, doubles in seen} == {(int, bool)}


def test_a_value_of_an_inner_trace_is_refused_by_an_outer_one():
    def rule(a):
        f = stagec.custom_jvp(lambda v: v)
        f.defjvp(lambda p, t: (p[0], snp.where(a > 0, t[0], 0.0)))
        return f(2.0) + f(a)

    for f in (stagec.grad(rule), stagec.jit(stagec.grad(rule))):
        with pytest.raises(errors.UnsupportedError, match=r"a traced value float32\[\] was used by a function"):
            f(3.0)


POLICIES = stagec.checkpoint_policies


def network(w, x):
    h = checkpoint_name(snp.sin(snp.dot(w, x)), "hidden")
    return snp.cos(snp.dot(w, h) * 2).sum()


W = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, {"from the argument w", "from the argument x"}),
        (POLICIES.nothing_saveable, {"from the argument w", "from the argument x"}),
        (POLICIES.save_only_these_names("hidden"), {"from the argument w", "from the argument x", "named 'hidden'"}),
        (POLICIES.save_only_these_names("other"), {"from the argument w", "from the argument x"}),
        (
            POLICIES.save_and_offload_only_these_names(
                names_which_can_be_saved=["other"],
                names_which_can_be_offloaded=["hidden"],
                offload_src="device",
                offload_dst="pinned_host",
            ),
            {"from the argument w", "from the argument x", "named 'hidden'"},
        ),
        (POLICIES.save_any_names_but_these("hidden"), {"from the argument w", "from the argument x"}),
        (POLICIES.dots_saveable, {"from the argument w", "from the argument x", "output of dot_general"}),
        (
            POLICIES.dots_with_no_batch_dims_saveable,
            {"from the argument w", "from the argument x", "output of dot_general"},
        ),
    ],
)
def test_policies_say_what_is_kept(policy, expected):
    found = {where.split(" from /")[0] for _, where in saved_residuals(stagec.checkpoint(network, policy=policy), W, X)}
    assert found == expected


def test_checkpoints_change_no_derivative():
    chains = [
        lambda f: f(W, X),
        lambda f: stagec.grad(f, (0, 1))(W, X),
        lambda f: stagec.jvp(f, (W, X), (W, X)),
        lambda f: stagec.hessian(f, 1)(W, X),
        lambda f: stagec.vmap(stagec.grad(f), (None, 0))(W, np.stack([X, 2 * X])),
        lambda f: stagec.grad(lambda w: stagec.vmap(f, (None, 0))(w, np.stack([X, 2 * X])).sum())(W),
    ]
    policies = [None, POLICIES.everything_saveable, POLICIES.dots_saveable, POLICIES.save_only_these_names("hidden")]
    expected = [chain(network) for chain in chains]

    def derivatives():
        functions = [stagec.checkpoint(network, policy=policy) for policy in policies]
        return [[chain(f) for chain in chains] for f in functions]

    for found in (*derivatives(), *stagec.jit(derivatives)()):
        for e, g in zip(stagec.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
            np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-5)


def loop_of_steps(x):
    def step(c, row):
        return snp.sin(c) * row, c * row

    end, ys = lax.scan(step, x[0], x)
    return end + (ys * ys).sum()


def choice_of_functions(x):
    return (lax.cond(x.sum() > 0, snp.sin, snp.cos, x) ** 2).sum()


def call_of_a_function(x):
    return (stagec.jit(lambda v: snp.sin(v) * v)(x) ** 2).sum()


def checkpoint_inside(x):
    return (stagec.checkpoint(lambda v: snp.sin(v) * v)(x) ** 2).sum()


@pytest.mark.parametrize("policy", [None, POLICIES.everything_saveable], ids=["nothing", "everything"])
@pytest.mark.parametrize("f", [loop_of_steps, choice_of_functions, call_of_a_function, checkpoint_inside])
def test_checkpoints_hold_loops_choices_calls_and_checkpoints(f, policy):
    g = stagec.checkpoint(f, policy=policy)
    np.testing.assert_allclose(stagec.grad(g)(X), stagec.grad(f)(X), rtol=1e-6)
    np.testing.assert_allclose(stagec.hessian(g)(X), stagec.hessian(f)(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(stagec.grad(stagec.checkpoint(g))(X), stagec.grad(f)(X), rtol=1e-6)


@pytest.mark.parametrize("f", [loop_of_steps, choice_of_functions, checkpoint_inside])
def test_a_checkpoint_of_control_flow_keeps_its_arguments_only(f):
    assert [where for _, where in saved_residuals(stagec.checkpoint(f), X)] == ["from the argument x"]
    assert len(saved_residuals(f, X)) > 1 or f is checkpoint_inside


def test_checkpoints_compute_again_behind_a_barrier():
    def count(f, name):
        graph = stagec.make_graph(stagec.grad(f))(X).graph
        return sum(e.primitive.name == name for e in all_equations(graph))

    def f(x):
        return snp.sin(snp.sin(snp.sin(x))).sum()

    assert (count(f, "sin"), count(stagec.checkpoint(f), "sin")) == (3, 5)
    assert (count(f, "remat_barrier"), count(stagec.checkpoint(f), "remat_barrier")) == (0, 1)
    assert count(stagec.checkpoint(f, prevent_cse=False), "remat_barrier") == 0
    assert "optimization_barrier" in stagec.jit(stagec.grad(stagec.checkpoint(f))).lower(X).as_text()


def test_checkpoints_take_static_arguments_and_decorate():
    @functools.partial(stagec.checkpoint, static_argnums=(1,))
    def f(x, mode, *, k=1.0):
        assert isinstance(mode, str)
        return (x * k).sum() if mode == "sum" else x.prod()

    np.testing.assert_array_equal(stagec.grad(f)(X, "sum", k=2.0), [2, 2, 2])
    assert stagec.remat is stagec.checkpoint
    graph = stagec.make_graph(stagec.checkpoint(snp.sin))(X).graph
    assert [e.primitive for e in graph.equations] == [checkpoint_p]


def test_residuals_are_printed_with_their_lines(capsys):
    print_saved_residuals(stagec.checkpoint(network), W, X)
    assert capsys.readouterr().out.splitlines() == ["f32[3,3] from the argument w", "f32[3] from the argument x"]
    print_saved_residuals(lambda x: snp.sin(x).sum(), X)
    assert "f32[3] output of cos from" in (out := capsys.readouterr().out)
    assert "test_custom.py:" in out


def test_scopes_name_the_locations_of_the_stablehlo():
    @functools.partial(stagec.named_call, name="encoder")
    def encode(x):
        with stagec.named_scope("norm"):
            return snp.sin(x)

    @stagec.named_scope("decoder")
    def decode(x):
        return snp.exp(x)

    def f(x):
        return decode(encode(x)).sum()

    text = stagec.jit(stagec.grad(f)).lower(X).as_text(locations=True)
    # The backward pass carries the names too.
    assert 'loc("encoder/norm/' in text
    assert 'loc("decoder/' in text
    sine = next(e for e in stagec.make_graph(f)(X).graph.equations if e.primitive.name == "sin")
    assert sine.location.scope == "encoder/norm"
    assert sine.location.function.endswith("encode")
