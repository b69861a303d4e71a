"""Errors as values: what fails, where, and that results stay, as in JAX."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.errors import UnsupportedError
from stagec.experimental import checkify

X = np.array([1.0, -2.0, 3.0], np.float32)


def positive(c, x, **kwargs):
    c.check((x > 0).all(), "{x} at {at}", x=x, at=np.array(kwargs.get("at", 0)))


def logarithm(c, n, x):
    positive(c, x)
    return n.log(abs(x))


def in_branches(j, n, c, index, x):
    def first(x):
        positive(c, x, at=1)
        return x + 1

    def second(x):
        c.check(x[0] > 5, "first is {}", x[:2])
        positive(c, -x, at=2)
        return x - 1

    return j.lax.switch(index, [first, second, lambda x: x], x)


def in_scan(j, n, c, x):
    def step(total, t):
        c.check(t > 0, "element {t} after {total}", t=t, total=total)
        return total + t, total * n.log(t)

    return j.lax.scan(step, 1.0, x)


def in_while(j, n, c, x, end):
    def goes_on(state):
        c.check(state[1] < 4, "condition at {}", state[1])
        return state[1] < end

    def step(state):
        y, i = state
        c.check(y > 0, "body at {i}", i=i)
        return y - 1.5, i + 1

    return j.lax.while_loop(goes_on, step, (x[0], 0))


def with_a_rule(j, n, c, x):
    @j.custom_jvp
    def f(x):
        positive(c, x)
        return n.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 7))
    return f(x)


def of_a_batch(j, n, c, x):
    return j.vmap(lambda a: logarithm(c, n, a))(x)


def after_another(j, n, c, x):
    c.check(x[1] > 0, "first")
    return n.log(x - 2) / (x - x)


def of_an_error(j, n, c, x):
    error, y = c.checkify(lambda x: logarithm(c, n, x))(x)
    c.check_error(error)
    return y * 2


# A function of `(jax, jax.numpy, checkify, *args)`, arguments, and what is checked.
PROGRAMS = {
    "user": (lambda j, n, c, x: logarithm(c, n, x), [(X,), (abs(X),)], "user"),
    "not enabled": (lambda j, n, c, x: logarithm(c, n, x), [(X,)], "nan"),
    "nan": (lambda j, n, c, x: n.log(x).sum(), [(X,), (abs(X),)], "nan"),
    "div": (lambda j, n, c, x: 1 / (x - 3), [(X,), (-abs(X),)], "div"),
    "float": (lambda j, n, c, x: (x - 3) / (x - 3), [(X,)], "float"),
    "index": (lambda j, n, c, x, i: x[i], [(X, 3), (X, -3), (X, -4)], "index"),
    "known index": (lambda j, n, c, x: x[3] + x[2], [(X,)], "index"),
    "known negative index": (lambda j, n, c, x: n.outer(x, x)[:, -5], [(X,)], "index"),
    "known update": (lambda j, n, c, x: x.at[7].add(1.0), [(X,)], "index"),
    "known negative update": (lambda j, n, c, x: x.at[-9].set(1.0), [(X,)], "index"),
    "indices": (lambda j, n, c, x, i: x[n.stack([i, i + 1])], [(X, 2), (X, 1)], "index"),
    "rows": (lambda j, n, c, x, i: n.outer(x, x)[:, n.stack([0, i])], [(X, 7), (X, 1)], "index"),
    "update": (lambda j, n, c, x, i: x.at[i].add(1.0), [(X, 4), (X, 2)], "index"),
    "updates": (lambda j, n, c, x, i: n.outer(x, x).at[i, n.stack([1, i])].set(2.0), [(X, 5), (X, 0)], "index"),
    "slice": (lambda j, n, c, x, i: j.lax.dynamic_slice(x, (i,), (2,)), [(X, 2), (X, 1)], "index"),
    "slice update": (lambda j, n, c, x, i: j.lax.dynamic_update_slice(x, x[:2], (i,)), [(X, 2), (X, 1)], "index"),
    "all": (after_another, [(X,), (abs(X),), (100 * abs(X),)], "all"),
    "jit": (lambda j, n, c, x: j.jit(lambda x: logarithm(c, n, x))(x) * 2, [(X,), (abs(X),)], "all"),
    "checkpoint": (lambda j, n, c, x: j.checkpoint(lambda x: logarithm(c, n, x))(x), [(X,), (abs(X),)], "all"),
    "branches": (
        lambda j, n, c, i, x: in_branches(j, n, c, i, x),
        [(0, X), (0, abs(X)), (1, X), (1, 9 * X), (2, X)],
        "user",
    ),
    "scan": (in_scan, [(X,), (abs(X),), (X[::-1] * X,)], "all"),
    "scan of nan": (in_scan, [(X,), (abs(X),)], "nan"),
    "while": (in_while, [(X, 3), (4 * abs(X), 2), (9 * abs(X), 7), (X, 0), (X, 9)], "user"),
    "loop": (lambda j, n, c, x: j.lax.fori_loop(0, 3, lambda i, y: y + n.log(x[i]), 0.0), [(X,), (abs(X),)], "nan"),
    "rule": (with_a_rule, [(X,), (abs(X),)], "user"),
    "gradient of a rule": (
        lambda j, n, c, x: j.grad(lambda x: with_a_rule(j, n, c, x).sum())(x),
        [(X,), (abs(X),)],
        "user",
    ),
    "gradient": (lambda j, n, c, x: j.grad(lambda x: logarithm(c, n, x).sum())(x), [(X,), (abs(X),)], "user"),
    "batch": (of_a_batch, [(X,), (abs(X),)], "user"),
    "batch of branches": (
        lambda j, n, c, x: j.vmap(lambda a: j.lax.cond(a > 0, lambda a: a, lambda a: n.log(a), a))(x),
        [(abs(X),)],
        "all",
    ),
    "error": (of_an_error, [(X,), (abs(X),)], "user"),
}
WRAPS = {"outside": lambda j, f: f, "jit": lambda j, f: j.jit(f), "vmap": lambda j, f: lambda *a: j.jit(j.vmap(f))(*a)}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_failures_and_results_are_those_of_jax(name, wrap):
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.experimental.checkify")
    f, arguments, kind = PROGRAMS[name]

    def call(j, n, c, args):
        checked = c.checkify(lambda *args: f(j, n, c, *args), errors=getattr(c, f"{kind}_checks"))
        return (WRAPS[wrap](j, checked) if j is stagec else checked)(*map(n.asarray, args))

    results = [call(jax, jax.numpy, theirs, args) for args in arguments]
    texts, outs = [e.get() for e, _ in results], [jax.tree.leaves(o) for _, o in results]
    calls = arguments
    if wrap == "vmap":
        # JAX fails at batches of some loops.
        texts = ["\n".join([f"at mapped index {i}: {t}" for i, t in enumerate(texts) if t]) or None]
        calls, outs = [[np.stack(a) for a in zip(*arguments)]], [[np.stack(o) for o in zip(*outs)]]
    for args, text, expected in zip(calls, texts, outs, strict=True):
        error, found = call(stagec, snp, checkify, args)
        assert error.get() == text
        for a, b in zip(expected, stagec.tree.leaves(found), strict=True):
            if text is None:
                np.testing.assert_allclose(b, a, rtol=1e-5)
            assert a.shape == b.shape and a.dtype == b.dtype


def test_failures_are_raised_with_their_line():
    def f(x):
        checkify.check(x > 0, "{} is not positive", x)
        return x

    error, _ = stagec.jit(checkify.checkify(f))(-1.0)
    with pytest.raises(
        checkify.JaxRuntimeError, match=r"-1.0 is not positive \(`check` failed\)\n.*test_checkify.py:\d+ in"
    ):
        error.throw()
    with pytest.raises(
        checkify.JaxRuntimeError, match=r"-1.0 is not positive \(`check` failed\)\n.*test_checkify.py:\d+ in"
    ):
        f(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"at mapped index 1: -1.0 is not"):
        stagec.vmap(f)(snp.array([1.0, -1.0]))
    error, y = checkify.checkify(f)(1.0)
    error.throw()
    assert error.get() is None and y == 1


def test_a_check_that_no_transformation_takes_is_refused_in_programs():
    def f(x, **how):
        checkify.check(x > 0, "negative", **how)
        return snp.sin(x)

    for x in (1.0, -1.0):
        with pytest.raises(ValueError, match="was not functionalized"):
            stagec.jit(f)(x)
    assert stagec.jit(lambda x: f(x, debug=True))(0.0) == 0
    checkify.debug_check(snp.array(False), "nothing")
    assert checkify.checkify(lambda x: checkify.debug_check(x > 1, "small"))(0.0)[0].get() == "small (`check` failed)"


def test_rules_of_derivatives_stay():
    def total(x, f, kind):
        error, y = checkify.checkify(lambda x: f(x).sum(), errors=kind)(x)
        return y, error

    @stagec.custom_jvp
    def f(x):
        return snp.log(x)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 7))
    gradient = stagec.grad(total, has_aux=True)
    slope, error = gradient(snp.asarray(X), f, checkify.nan_checks)
    np.testing.assert_array_equal(slope, [7, 7, 7])
    assert error.get() == "nan generated by primitive: log."
    with pytest.raises(UnsupportedError, match="is differentiated afterwards"):
        gradient(snp.asarray(X), lambda x: with_a_rule(stagec, snp, checkify, x), checkify.user_checks)


def test_what_fails_first_counts():
    def f(x):
        y = snp.log(x)
        checkify.check(x[0] > 5, "later")
        return stagec.grad(lambda x: in_scan(stagec, snp, checkify, x)[0])(y)

    assert checkify.checkify(f, errors=checkify.all_checks)(X)[0].get() == "nan generated by primitive: log."
    assert checkify.checkify(f)(X)[0].get() == "later (`check` failed)"
    assert checkify.checkify(f)(9 * abs(X))[0].get() is None
    assert checkify.checkify(f)(abs(X) - 0.5)[0].get() == "later (`check` failed)"
    loop = stagec.grad(lambda x: in_scan(stagec, snp, checkify, x)[0])
    assert checkify.checkify(loop)(X)[0].get() == "element -2.0 after 2.0 (`check` failed)"


def test_failures_are_carried_by_loops():
    def step(c, x):
        return c, checkify.checkify(lambda x: logarithm(checkify, snp, x))(x)[0]

    _, errors = stagec.lax.scan(step, 0, snp.asarray(X))
    assert errors.get() == "at mapped index 1: -2.0 at 0 (`check` failed)"


def test_arguments_of_checks_are_checked():
    with pytest.raises(TypeError, match="takes a scalar pred"):
        checkify.check(snp.ones(2) > 0, "")
    with pytest.raises(TypeError, match="takes a scalar pred"):
        checkify.check(1.0, "")
    with pytest.raises(TypeError, match="need to be PyTrees of arrays"):
        checkify.check(True, "{}", "text")
    with pytest.raises(ValueError, match="takes an Error"):
        checkify.check_error(5)


def test_values_in_a_message_are_arrays():
    def f(x):
        checkify.check(x > 0, "got {}", {"x": x})
        return x

    error, _ = checkify.checkify(stagec.jit(f))(snp.float32(-1))
    assert error.get() == "got {'x': Array(-1., dtype=float32)} (`check` failed)"
