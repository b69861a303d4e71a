"""Reverse mode through loops whose number of rounds is known only when they have run."""

import functools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import grad, jacfwd, jacrev, jit, lax, random, value_and_grad, vmap

TOLERANCE = 1e-6


@pytest.fixture(autouse=True)
def doubles():
    with stagec.enable_x64():
        yield


def bounded(cond, body, start, rounds):
    """`while_loop` written as a scan, whose derivatives have rules of their own."""

    def step(state, _):
        going = cond(state)
        after = body(state)
        return stagec.tree.map(lambda new, old: snp.where(going, new, old), after, state), None

    return lax.scan(step, start, None, length=rounds)[0]


def bisection(loop, a):
    """A root of x**3 + a * x - 4; the last step is Newton's, as the ends of the interval have no derivative."""

    def body(state):
        low, high = state
        middle = 0.5 * (low + high)
        positive = middle**3 + a * middle > 4
        return snp.where(positive, low, middle), snp.where(positive, middle, high)

    low, high = loop(lambda s: s[1] - s[0] > 1e-12, body, (0.0 * a, 2.0 + 0.0 * a))
    x = 0.5 * (low + high)
    return x - (x**3 + a * x - 4) / (3 * x**2 + a)


def newton(loop, a):
    """The square root of a, until two approximations agree."""
    body = lambda s: (0.5 * (s[0] + a / s[0]), snp.abs(0.5 * (s[0] + a / s[0]) - s[0]))  # noqa: E731
    return loop(lambda s: s[1] > 1e-12, body, (a, 1.0 + 0.0 * a))[0]


def adaptive(loop, a):
    """An equation y' = -a * y + sin(t), by steps of Heun's method whose size follows the error."""

    def slope(t, y):
        return -a * y + snp.sin(t)

    def body(state):
        t, y, h = state
        h = snp.minimum(h, 1 - t)
        first, second = slope(t, y), slope(t + h, y + h * slope(t, y))
        error = snp.abs(0.5 * h * (second - first)) + 1e-12
        good = error < 1e-4
        factor = snp.clip(0.9 * snp.sqrt(1e-4 / error), 0.3, 2.0)
        return snp.where(good, t + h, t), snp.where(good, y + 0.5 * h * (first + second), y), h * factor

    return loop(lambda s: s[0] < 1 - 1e-12, body, (0.0 * a, 1.0 + 0.0 * a, 0.1 + 0.0 * a))[1]


def lanczos(loop, a):
    """The sum of the coefficients of Lanczos' method, which stops when a vector vanishes or after five."""
    matrix = snp.diag(snp.arange(1.0, 7.0)) + a * snp.ones((6, 6))

    def body(state):
        v, before, beta, total, i = state
        w = matrix @ v - beta * before
        alpha = w @ v
        w = w - alpha * v
        beta = snp.sqrt(w @ w)
        return w / beta, v, beta, total + alpha + beta, i + 1

    start = snp.ones(6) / snp.sqrt(6.0) + 0 * a
    return loop(lambda s: (s[2] > 1e-3) & (s[4] < 5), body, (start, 0 * start, 1.0 + 0.0 * a, 0.0 * a, 0))[3]


def conjugate_gradients(loop, a):
    """A product with the solution of a linear system, until the residual is small."""
    matrix = snp.diag(snp.arange(1.0, 6.0)) + a * snp.ones((5, 5))

    def body(state):
        x, r, p = state
        q = matrix @ p
        step = (r @ r) / (p @ q)
        after = r - step * q
        return x + step * p, after, after + (after @ after) / (r @ r) * p

    b = snp.arange(1.0, 6.0) + 0 * a
    return loop(lambda s: s[1] @ s[1] > 1e-20, body, (0 * b, b, b))[0] @ snp.cos(b)


def rejection(loop, a):
    """A sample by rejection, whose position depends on a."""

    def body(state):
        key, _, _ = state
        key, first, second = random.split(key, 3)
        x = random.uniform(first, dtype="float64") * a
        return key, x, random.uniform(second, dtype="float64") < snp.exp(-x)

    return loop(lambda s: ~s[2], body, (random.key(3), 0.0 * a, snp.asarray(False)))[1] ** 2


def nested(loop, a):
    """A loop in a loop; both end by their values."""

    def body(state):
        x, total = state
        y, n = loop(lambda s: s[0] > 0.1, lambda s: (s[0] * snp.sin(a), s[1] + 1.0), (x, 0.0 * a))
        return x * 0.7, total + y * y + n * x * a

    return loop(lambda s: s[0] > 0.2, body, (1.0 + 0.0 * a, 0.0 * a))[1]


PROGRAMS = [bisection, newton, adaptive, lanczos, conjugate_gradients, rejection, nested]
ROUNDS = {adaptive: 80, nested: 30}


def difference(function, a, step=1e-6):
    return float(function(a + step) - function(a - step)) / (2 * step)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_agree_with_differences_and_with_a_scan(program):
    function = jit(functools.partial(program, lax.while_loop))
    value, slope = jit(value_and_grad(functools.partial(program, lax.while_loop)))(0.75)
    scanned = functools.partial(bounded, rounds=ROUNDS.get(program, 50))
    expected, scanned_slope = jit(value_and_grad(functools.partial(program, scanned)))(0.75)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(slope, scanned_slope, rtol=1e-8)
    np.testing.assert_allclose(slope, difference(function, 0.75), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("program", [newton, adaptive, nested], ids=lambda p: p.__name__)
def test_second_derivatives_agree_with_forward_mode(program):
    function = functools.partial(program, lax.while_loop)
    expected = jit(jacfwd(jacfwd(function)))(0.75)
    for twice in (grad(grad(function)), jacfwd(grad(function)), grad(lambda a: stagec.jvp(function, (a,), (1.0,))[1])):
        np.testing.assert_allclose(jit(twice)(0.75), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("program", [newton, conjugate_gradients, nested], ids=lambda p: p.__name__)
def test_each_lane_of_a_batch_has_its_own_number_of_rounds(program):
    function = functools.partial(program, lax.while_loop)
    points = np.array([0.3, 0.75, 1.2])
    expected = [float(jit(grad(function))(a)) for a in points]
    np.testing.assert_allclose(jit(vmap(grad(function)))(points), expected, rtol=1e-9)
    np.testing.assert_allclose(jit(grad(lambda a: vmap(function)(a).sum()))(points), expected, rtol=1e-9)


def chaotic(x, n):
    """A loop whose derivative depends on the state of each round."""

    def body(i, c):
        return snp.sin(3 * c[0]) * x + 0.9 * c[1], 0.2 * snp.cos(c[0] + i) + 0.7 * c[1] * x

    return lax.fori_loop(0, n, body, (1.0, 0.3))[0]


@pytest.mark.parametrize("room", [0, 1 << 8, 1 << 18])
def test_any_number_of_rounds_is_right_with_any_room(room):
    def scanned(x, n):
        return lax.fori_loop(0, n, lambda i, c: chaotic_step(i, c, x), (1.0, 0.3))[0]

    def chaotic_step(i, c, x):
        return snp.sin(3 * c[0]) * x + 0.9 * c[1], 0.2 * snp.cos(c[0] + i) + 0.7 * c[1] * x

    with stagec.config.override(loop_checkpoint_bytes=room):
        slope = jit(grad(chaotic))
        for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 333):
            expected = grad(scanned)(0.6, n)
            np.testing.assert_allclose(slope(0.6, n), expected, rtol=1e-9, err_msg=f"{n} rounds")


def test_a_loop_in_a_scan_and_a_scan_in_a_loop():
    def inner(x):
        return lax.while_loop(lambda c: c < 10, lambda c: c * c + x, 1.0 + x)

    def outside(x):
        return lax.scan(lambda c, y: (c + inner(x * y), inner(y) * c), x, snp.arange(1.0, 5.0))[0]

    def within(x):
        def body(c):
            return lax.scan(lambda s, y: (s + snp.sin(y * x) * s, None), c, snp.arange(3.0))[0] + x

        return lax.while_loop(lambda c: c < 9, body, x)

    for function in (outside, within):
        np.testing.assert_allclose(jit(grad(function))(0.7), difference(jit(function), 0.7), rtol=1e-6)


def test_structures_constants_and_checkpoints():
    table = snp.arange(12.0).reshape(3, 4) / 10

    def function(params, n):
        def body(i, state):
            hidden = snp.tanh(state["h"] @ params["w"] + table[i % 3])
            return {"h": hidden, "seen": state["seen"] + 1, "total": state["total"] + hidden.sum()}

        start = {"h": snp.zeros(4), "seen": 0, "total": 0.0}
        return stagec.checkpoint(lambda n: lax.fori_loop(0, n, body, start)["total"])(n)

    params = {"w": snp.sin(snp.arange(16.0)).reshape(4, 4)}
    slope = jit(grad(function))(params, 6)
    expected = jit(jacfwd(function))(params, 6)
    np.testing.assert_allclose(slope["w"], expected["w"], rtol=1e-9)


def test_rounds_have_the_derivatives_of_rules():
    """They are not those of the functions, so that it shows which are taken."""

    @stagec.custom_jvp
    def sine(x):
        return snp.sin(x)

    @stagec.custom_vjp
    def square(x):
        return x * x

    sine.defjvp(lambda x, t: (sine(*x), 2 * snp.cos(x[0]) * t[0]))
    square.defvjp(lambda x: (square(x), x), lambda x, ct: (3 * x * ct,))

    def function(x):
        return lax.while_loop(lambda s: s < 2, lambda s: sine(s) + square(s), x)

    x, slope, end = 0.6, 1.0, 0.6
    while end < 2:
        slope, end = slope * (2 * np.cos(end) + 3 * end), np.sin(end) + end * end
    for gradient in (grad(function), jit(grad(function)), grad(jit(function))):
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-9)


def test_a_jacobian_and_a_pullback_that_is_used_twice():
    def function(x, n):
        return lax.fori_loop(0, n, lambda i, c: snp.sin(c) * x + snp.roll(c, 1), x)

    x = snp.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(jit(jacrev(function))(x, 5), jit(jacfwd(function))(x, 5), rtol=1e-10)
    _, pull = stagec.vjp(lambda x: function(x, 5), x)
    np.testing.assert_allclose(pull(snp.ones(3))[0] * 2, pull(2 * snp.ones(3))[0], rtol=1e-12)


def test_results_that_the_derivative_does_not_follow_and_integers():
    def function(x):
        count, value, last = lax.while_loop(lambda s: s[0] < 6, lambda s: (s[0] + 1, s[1] * x, x), (0, 1.0, 0.0))
        return value * count + last

    assert float(jit(grad(function))(2.0)) == 6 * 6 * 2.0**5 + 1.0


def test_a_loop_without_rounds_hands_the_cotangent_on():
    function = jit(grad(lambda x: lax.while_loop(lambda c: c > 100, lambda c: c * 2, x * 3)))
    assert float(function(2.0)) == 3.0


def test_memory_for_states_is_not_filled():
    lowered = jit(grad(functools.partial(newton, lax.while_loop))).lower(0.75)
    assert "{uninitialized}" in lowered.as_text("optimized")
    assert "vector.store" not in lowered.as_text("kernels")


def test_a_condition_on_what_is_transposed_is_refused():
    function = lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, x)  # noqa: E731
    with pytest.raises(stagec.errors.UnsupportedError, match="the condition depends on values") as caught:
        stagec.linear_transpose(function, 1.0)(1.0)
    assert "test_while_gradients.py" in str(caught.value)


def test_what_a_body_prints_is_printed_once(capfd):
    def function(x):
        def body(c):
            stagec.debug.print("round {}", c)
            return c * 2

        return lax.while_loop(lambda c: c < 8, body, x)

    assert float(jit(grad(function))(1.0)) == 8.0
    stagec.effects_barrier()
    assert capfd.readouterr().out.count("round") == 3
