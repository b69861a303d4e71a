"""Graphs under JAX's names: interpreters that are written for jaxprs run on them."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.extend import core


def evaluated(jaxpr, consts, *args):
    """An interpreter, written as for JAX."""
    values = {}

    def read(atom):
        return atom.val if type(atom) is core.Literal else values[atom]

    values.update(zip(jaxpr.invars, args, strict=True))
    values.update(zip(jaxpr.constvars, consts, strict=True))
    for eqn in jaxpr.eqns:
        found = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        values.update(zip(eqn.outvars, found if eqn.primitive.multiple_results else [found], strict=True))
    return [read(v) for v in jaxpr.outvars]


TABLE = snp.arange(100.0)
PROGRAMS = {
    "elementwise": lambda x: jnp.exp(jnp.tanh(x)) * 2 + 1,
    "closed over": lambda x: (x + TABLE.sum() + TABLE[3], 3.0, x),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * i + jnp.sin(x), x),
    "conditional": lambda x: lax.cond(x[0] > 0, jnp.cos, jnp.sin, x),
    "call": lambda x: jax.jit(lambda y: y.sum())(x) / 2,
    "product": lambda x: jnp.outer(x, x) @ x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interpreter_computes_what_the_function_does(name):
    f, x = PROGRAMS[name], np.linspace(0.1, 1, 5, dtype=np.float32)
    closed = jax.make_jaxpr(f)(x)
    expected = stagec.tree.leaves(f(x))
    for run in (lambda x: evaluated(closed.jaxpr, closed.literals, x), core.jaxpr_as_fun(closed)):
        for made in (run(x), jax.jit(run)(x)):
            for a, b in zip(expected, made, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)
                assert jnp.result_type(a) == jnp.result_type(b)
    slope = jax.grad(lambda x: sum(v.sum() for v in map(jnp.asarray, evaluated(closed.jaxpr, closed.consts, x))))(x)
    expected = jax.grad(lambda x: sum(jnp.sum(v) for v in stagec.tree.leaves(f(x))))(x)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_the_inverse_of_a_function_is_found_backward():
    """As in JAX's tutorial on interpreters."""
    inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

    def inverse(f):
        def run(y):
            jaxpr = jax.make_jaxpr(f)(y).jaxpr
            values = {jaxpr.outvars[0]: y}
            for eqn in jaxpr.eqns[::-1]:
                values[eqn.invars[0]] = inverses[eqn.primitive](values[eqn.outvars[0]])
            return values[jaxpr.invars[0]]

        return run

    f = lambda x: jnp.exp(jnp.tanh(x))  # noqa: E731
    assert float(inverse(f)(f(0.25))) == pytest.approx(0.25, rel=1e-6)
    assert float(jax.jit(jax.vmap(inverse(f)))(f(jnp.ones(1)))[0]) == pytest.approx(1, rel=1e-5)


def test_variables_are_those_of_arguments_and_of_what_is_closed_over():
    made = jax.make_jaxpr(lambda x: x * 0.5 + TABLE.sum())(1.0)
    assert [v.aval.shape for v in made.jaxpr.constvars] == [(100,)] and made.literals == made.consts
    assert [v.aval.shape for v in made.jaxpr.invars] == [()]
    assert [v.aval.shape for v in made.jaxpr.outvars] == [()] and made.eqns == made.jaxpr.eqns
    assert str(made) == str(made.jaxpr) and repr(made.jaxpr.invars) == "[Var(f32[])]"
    literal = next(v for e in made.eqns for v in e.invars if isinstance(v, core.Literal))
    assert literal.val == 0.5 and type(literal.val) is float and repr(literal) == "Literal(0.5)"


def test_graphs_inside_of_equations_are_found():
    made = jax.make_jaxpr(lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) + 1)(x))(1.0)
    (inner,) = core.jaxprs_in_params(made.eqns[0].params)
    assert isinstance(inner, core.Jaxpr) and [e.primitive.name for e in inner.eqns] == ["jit", "add"]
    assert made.eqns[0].params["jaxpr"].jaxpr is inner and inner.consts == []
    assert [len(g.eqns) for g in core.subjaxprs(made.jaxpr)] == [2]
    with pytest.raises(KeyError):
        inner.eqns[1].params["jaxpr"]


def test_primitives_have_jaxs_names():
    equations = jax.make_jaxpr(lambda x: jax.jit(jnp.exp)(jax.checkpoint(jnp.sin)(x)) + 1)(1.0).eqns
    named = core.primitives
    assert [e.primitive for e in equations] == [named.remat_p, named.jit_p, named.add_p]
    assert named.exp_p is lax.exp_p and named.custom_jvp_call_p is jax.custom_derivatives.custom_jvp_call_p
    assert named.call_p is named.call_p and named.call_p.name == "call"  # which no program has here
    with pytest.raises(AttributeError, match="end in _p"):
        named.exp  # noqa: B018


def test_primitives_say_where_inner_programs_are():
    # Distrax reads it to invert functions.
    graph = stagec.make_graph(lambda x: stagec.jit(snp.exp)(x) + 1)(1.0)
    for eqn in graph.jaxpr.eqns:
        assert not eqn.primitive.call_primitive
    assert graph.jaxpr.eqns[0].params["jaxpr"].eqns[0].primitive.name == "exp"


def test_a_program_among_parameters_can_be_taken_out_and_put_back():
    (equation,) = jax.make_jaxpr(jax.jit(lambda x: 2 * x))(1.0).eqns
    params = equation.params.copy()
    assert params.pop("jaxpr").eqns[0].primitive.name == "mul" and "graph" not in params
    assert params.pop("call_jaxpr", None) is None
    three = jnp.arange(300.0)
    params["jaxpr"] = jax.make_jaxpr(lambda x: x + three)(1.0)
    (out,) = equation.primitive.bind(1.0, **params)
    assert out[-1] == 300
    params = equation.params.copy()
    params["jaxpr"] = params.pop("jaxpr")
    assert float(equation.primitive.bind(3.0, **params)[0]) == 6


def test_equations_know_the_scopes_around_them():
    def f(x):
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return jnp.sin(x)

    (equation,) = jax.make_jaxpr(f)(1.0).eqns
    assert str(equation.source_info.name_stack) == "outer/inner"


def test_parameters_are_found_by_jaxs_names():
    (loop,) = jax.make_jaxpr(lambda x: lax.while_loop(lambda c: c < x, lambda c: c * x, 2.0))(9.0).eqns
    params = loop.params
    assert [params["cond_nconsts"], params.get("body_nconsts"), params.get("jaxpr"), params.get("x", 3)] == [
        1,
        1,
        None,
        3,
    ]
    assert [e.primitive.name for e in params["body_jaxpr"].eqns] == ["mul"]
    assert "cond_jaxpr" in params and "jaxpr" not in params and "cond" in params
    (call,) = jax.make_jaxpr(jax.jit(jnp.sin))(1.0).eqns
    assert "jaxpr" in call.params and call.params.get("jaxpr").eqns[0].primitive is lax.sin_p
    assert call.primitive.get_bind_params(call.params) is call.params


@pytest.mark.parametrize("closes_over", [3.0, snp.full(100, 3.0)], ids=["a number", "an array"])
def test_rewritten_programs_are_put_back(closes_over):
    """Under JAX's names, and with values that they hold."""

    def plus(program):
        def more(*xs):
            return [x + jnp.max(jnp.asarray(closes_over)) for x in evaluated(program.jaxpr, program.consts, *xs)]

        return jax.make_jaxpr(more)(*program.in_avals)

    run = lambda eqn, *args, **new: [float(v) for v in eqn.primitive.bind(*args, **{**eqn.params, **new})]  # noqa: E731

    two = lambda x: lax.cond(x > 0, lambda x: 2 * x, lambda x: -x, x)  # noqa: E731
    choice = jax.make_jaxpr(two)(1.0).eqns[-1]
    other, first = choice.params["branches"]
    branches = (plus(other), plus(first))
    assert [run(choice, np.int32(i), 5.0, branches=branches) for i in (0, 1)] == [[-2], [13]]
    assert run(choice, np.int32(1), 5.0, branches=(other, plus(first))) == [13]
    assert run(choice, np.int32(0), 5.0, branches=(other, plus(first))) == [-5]

    (loop,) = jax.make_jaxpr(lambda x: lax.while_loop(lambda c: c < x, lambda c: c * x, 2.0))(9.0).eqns
    body = plus(loop.params["body_jaxpr"])
    assert run(loop, 9.0, 9.0, 2.0, body_jaxpr=body) == [21]
    assert run(loop, 20.0, 2.0, 2.0, body_jaxpr=body) == [37]
    cond = jax.make_jaxpr(lambda x, c: c < x + jnp.max(jnp.asarray(closes_over)))(1.0, 1.0)
    assert run(loop, 5.0, 2.0, 2.0, cond_jaxpr=cond) == [8] and run(loop, 4.0, 2.0, 2.0, cond_jaxpr=cond) == [8]
    assert run(loop, 5.0, 2.0, 2.0, cond_jaxpr=cond, body_jaxpr=body) == [17]

    (scan,) = jax.make_jaxpr(lambda x: lax.scan(lambda c, _: (c * x, None), 1.0, length=2)[0])(3.0).eqns
    assert run(scan, 3.0, 1.0, jaxpr=plus(scan.params["jaxpr"])) == [21]


def test_programs_are_taken_apart_and_put_together():
    closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x) * TABLE, x + y))(1.0, 2.0)
    jaxpr, (sine, *between, total) = closed.jaxpr, closed.jaxpr.eqns
    assert jaxpr is closed.jaxpr and {jaxpr: 1}[closed.jaxpr] == 1
    part = jaxpr.replace(eqns=[total], outvars=total.outvars)
    assert [v.tolist() for v in jax.core.eval_jaxpr(part, closed.consts, 3.0, 4.0)] == [7]
    assert [v.aval.shape for v in part.constvars] == [(100,)] and len(part.invars) == 2
    without = core.ClosedJaxpr(core.Jaxpr([], jaxpr.invars, total.outvars, [total]), [])
    assert isinstance(without.jaxpr, core.Jaxpr) and [v.tolist() for v in core.jaxpr_as_fun(without)(3.0, 4.0)] == [7]
    assert float(closed.replace(consts=[2 * TABLE]).consts[0][3]) == 6
    cosine = core.new_jaxpr_eqn(sine.invars, sine.outvars, lax.cos_p, {}, core.no_effects)
    found = core.jaxpr_as_fun(closed.replace(jaxpr=jaxpr.replace(eqns=[cosine, *between, total])))(0.0, 1.0)
    assert found[0].tolist() == TABLE.tolist() and sine.replace(primitive=lax.cos_p).primitive is lax.cos_p
    with pytest.raises(TypeError, match="there is no inputs to replace; there are constvars, invars, outvars, eqns"):
        jaxpr.replace(inputs=[])


def test_programs_say_their_effects_and_print_themselves():
    pure = jax.make_jaxpr(jnp.sin)(1.0)
    assert not pure.effects and not pure.jaxpr.effects and not pure.eqns[0].effects
    shows = jax.make_jaxpr(jax.jit(lambda x: jax.debug.print("{}", x)))(1.0)
    assert [e.name for e in shows.effects] == [e.name for e in shows.eqns[0].effects] and len(shows.effects) == 1
    assert pure.pretty_print() == str(pure) == pure.jaxpr.pretty_print(use_color=False)
    own = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)  # the first line to trace a jitted function is the one shown
    assert "test_graphs.py:" in own.pretty_print(source_info=True)
