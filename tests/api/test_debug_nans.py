"""`debug_nans` and `debug_infs`: the error names the operation that made the first one, the line, and the operands."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import NonFiniteError, StagecError


@pytest.fixture(autouse=True)
def checks():
    with stagec.debug_nans():
        yield


def message(function, *args):
    with pytest.raises(NonFiniteError) as caught:
        function(*args)
    return str(caught.value)


def line_of(text):
    """`file:line` of the first line in this file that ends with a marker."""
    with open(__file__, encoding="utf-8") as file:
        numbers = [n for n, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}")]
    (number,) = numbers
    return f"test_debug_nans.py:{number}"


@stagec.jit
def loss(x, y):
    difference = x - y  # the difference
    return (snp.sqrt(difference) * 2).sum()  # the square root


X, Y = np.array([1, 2, -3], np.float32), np.array([0, 0, 0.5], np.float32)


def test_the_error_names_the_operation_the_line_the_operands_and_the_call():
    text = message(loss, X, Y).splitlines()
    assert text[0] == "sqrt made NaN"
    assert text[1].startswith(f"  {line_of('the square root')} in loss:  return (snp.sqrt(difference) * 2).sum()")
    assert text[2].split() == ["operand", "0", "float32[3]", "-3.5", "to", "2", "from", line_of("the difference")]
    assert text[3].split()[:3] == ["called", "loss", "at"]
    assert text[4].startswith("  Fix: keep what sqrt takes at 0 or above")
    assert "debug_nans=False" in text[4]


def test_the_error_is_the_one_that_jax_raises():
    assert issubclass(NonFiniteError, FloatingPointError)
    assert issubclass(NonFiniteError, StagecError)


def test_finite_results_come_back_as_without_the_check():
    with_check = loss(Y, X * 0)
    with stagec.debug_nans(False):
        assert float(with_check) == float(loss(Y, X * 0))


def test_nan_that_where_takes_away_is_not_blamed():
    @stagec.jit
    def masked(x):
        logs = snp.where(x > 0, snp.log(x), 0.0)
        return logs + snp.arccos(x)  # outside its domain

    assert np.isfinite(np.asarray(stagec.jit(lambda x: snp.where(x > 0, snp.log(x), 0.0))(X))).all()
    text = message(masked, X)
    assert text.startswith("acos made 2 NaN\n")
    assert line_of("outside its domain") in text


@pytest.mark.parametrize("reverse", [False, True])
def test_in_a_scan_the_line_of_the_body_and_the_step_are_named(reverse):
    @stagec.jit
    def logs(x):
        def step(carry, v):
            carry = carry + v
            return carry, snp.log(carry)  # log in the body

        return lax.scan(step, np.float32(3), x, reverse=reverse)

    x = np.array([-1, -1, -4, 10, 1, 1], np.float32)
    text = message(logs, x[::-1] if reverse else x)
    assert text.startswith("log made NaN\n")
    assert line_of("log in the body") in text
    assert f"step {3 if reverse else 2} of a loop of 6" in text
    assert "operand 0  float32[]  -3 " in text


def test_the_step_of_a_fori_loop_is_one_of_a_loop():
    text = message(stagec.jit(lambda x: lax.fori_loop(3, 9, lambda i, v: snp.sqrt(v - 1), x)), np.float32(4))
    assert "inside     step 2 of a loop of 6" in text and "scan" not in text


def test_in_a_while_loop_the_line_of_the_body_and_the_round_are_named():
    @stagec.jit
    def roots(x):
        def body(carry):
            n, v = carry
            return n + 1, snp.sqrt(v - 1)  # root in the body

        return lax.while_loop(lambda carry: carry[0] < 5, body, (0, x))

    text = message(roots, np.float32(4))  # 1.73, 0.86, NaN
    assert line_of("root in the body") in text
    assert "round 2 of a while loop" in text


def test_in_a_branch_and_in_an_inner_jit_the_line_is_named():
    @stagec.jit
    def inner(x):
        return snp.arcsin(x)  # in the inner function

    choose = stagec.jit(lambda x: lax.cond(x.sum() > 0, lambda y: y, lambda y: inner(y) + 1, x))
    assert choose(Y) is not None
    text = message(choose, np.array([-2, 0.5], np.float32))
    assert text.startswith("asin made NaN\n")
    assert line_of("in the inner function") in text
    assert "a branch of cond" in text


def test_nan_that_came_in_is_told_apart_from_nan_that_was_made():
    text = message(loss, np.array([1, np.nan, 3], np.float32), Y * 0)
    assert text.startswith("loss returned NaN in its result, which came in with an argument\n")
    assert "x         float32[3]  1 to 3, and 1 NaN  argument of loss" in text
    captured = snp.array(np.full(100, np.nan, np.float32))
    text = message(stagec.jit(lambda x: x + captured), np.float32(1))
    assert "closed-over array 0  float32[100]  all NaN" in text
    text = message(stagec.jit(lambda x: x * np.float32(np.nan)), np.float32(1))
    assert text.startswith("mul passed on NaN\n")
    assert "a constant" in text
    assert "came in with a constant" in message(stagec.jit(lambda x: np.float32(np.nan)), np.float32(1))


def test_a_donated_argument_is_still_known_when_the_result_is_looked_at():
    made = stagec.jit(lambda: snp.arange(4.0) - 1)
    consume = stagec.jit(lambda x: snp.log(x) * 2, donate_argnums=0)
    x = made()
    text = message(consume, x)
    assert text.startswith("log made NaN\n")
    assert "operand 0  float32[4]  -1 to 2  argument x of <lambda>" in text
    assert x.is_deleted()
    with stagec.debug_nans(False):
        x = made() + 2
    y = consume(x)
    assert x.is_deleted()
    np.testing.assert_allclose(y, np.log(np.arange(4) + 1.0) * 2, rtol=1e-6)


def test_where_only_the_compiled_program_gives_nan_the_error_says_so():
    @stagec.pattern("stablehlo.abs")
    def forget_abs(op):
        """abs(x) -> x, which is wrong."""
        return op.operand

    broken = stagec.jit(lambda x: (x + 1, snp.sqrt(abs(x))), passes=[forget_abs])
    text = message(broken, X)
    assert text.startswith("<lambda> returned NaN in result 1 as compiled, where NumPy returns none\n")
    assert "result 1  float32[3]  1 to 1.41421, and 1 NaN" in text
    assert "a pass of your own" in text
    assert "stagec.disable_jit()" in text


def test_complex_and_half_precision_results_are_looked_at():
    with np.errstate(all="ignore"):
        assert "absolute values 0 to 5" in message(stagec.jit(lambda z: z / z), np.array([3 + 4j, 0], np.complex64))
    for dtype in ("float16", "bfloat16"):
        assert message(stagec.jit(lambda x: snp.log(x)), snp.array([-1, 1], dtype)).startswith("log made NaN")


def test_integer_results_and_arrays_without_elements_pass():
    assert int(stagec.jit(lambda x: x.astype(int).sum())(Y)) == 0
    assert stagec.jit(lambda x: snp.log(x))(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_operations_outside_jit_are_checked_at_once():
    x = snp.array([-1.0, 2.0])
    text = message(lambda: snp.log(x) + 1)
    assert text.startswith("log made NaN\n")
    assert "operand 0  float32[2]  -1 to 2" in text
    with stagec.debug_nans(False):
        nan = snp.log(x)
    assert message(lambda: nan + 1).startswith("add passed on NaN\n")
    assert not snp.isfinite(nan)[0]


def test_with_jit_disabled_the_line_is_named_too():
    with stagec.disable_jit():
        text = message(loss, X, Y)
    assert text.startswith("sqrt made NaN\n")
    assert line_of("the square root") in text


def test_a_compiled_stage_is_checked():
    compiled = loss.lower(X, Y).compile()
    assert message(compiled, X, Y).startswith("sqrt made NaN\n")


def test_infinities_are_found_by_their_own_option():
    divide = stagec.jit(lambda x, y: x / y)
    one, zero = np.float32(1), np.float32(0)
    assert np.isinf(divide(one, zero))
    with stagec.debug_nans(False), stagec.debug_infs():
        text = message(divide, one, zero)
        assert np.isnan(divide(zero, zero))
        assert message(lambda: one / snp.array([0.0, 0.0])).startswith("div made 2 infinities\n")
    assert text.startswith("div made an infinity\n")
    assert "debug_infs=False" in text


@pytest.mark.parametrize("compiled", [True, False])
def test_nan_of_the_backward_pass_is_said_to_be_of_it(compiled):
    def chosen(x):
        return snp.where(x > 0, snp.sqrt(x), 0).sum()  # the chosen root

    gradient = stagec.grad(chosen)
    text = message(stagec.jit(gradient) if compiled else gradient, snp.array([0.0, 1.0]))
    assert text.startswith("div made NaN in the backward pass\n")
    assert line_of("the chosen root") in text
    assert "the derivative of this line is infinite or undefined at an operand" in text


def test_nan_of_the_forward_pass_of_a_gradient_is_not_said_to_be_of_the_backward_pass():
    text = message(stagec.jit(stagec.grad(lambda a: snp.linalg.cholesky(a).sum())), -snp.eye(2))
    assert text.startswith("cholesky made 4 NaN\n")
    assert "positive definite" in text


def test_nan_of_infinite_operands_is_explained_by_these():
    softmax = stagec.jit(lambda x: snp.exp(x) / snp.exp(x).sum())
    assert "an operand is infinite: find where it became so with stagec.debug_infs()" in message(softmax, Y + 1e3)


def test_an_infinity_that_becomes_nan_is_found():
    softmax = stagec.jit(lambda x: snp.exp(x) / snp.exp(x).sum())
    steps = stagec.jit(lambda x: lax.fori_loop(0, 5, lambda i, y: snp.where(i == 3, y - y, y * 1e30), x))
    with stagec.debug_nans(False), stagec.debug_infs():
        assert message(softmax, Y + 1e3).startswith("exp made 3 infinities\n")
        assert "step 0 of a loop of 5" in message(steps, np.float32(1e10))
        # NaN that no infinity led to, and infinity that leads to a number.
        assert np.isnan(stagec.jit(lambda x: snp.log(x))(np.float32(-1)))
        assert stagec.jit(lambda x: 1 / snp.exp(x))(np.float32(1e3)) == 0


def test_effects_alone_do_not_happen_again_in_the_search():
    from stagec.core.graph import Equation, Graph, Literal, Var
    from stagec.core.location import UNKNOWN
    from stagec.core.primitive import MultiplePrimitive, Primitive
    from stagec.runtime.nonfinite import NAN, Search

    seen = []
    row = {"shape": lambda *avals: [], "eval": lambda *a: seen.append(a) or [], "lower": ""}
    effect = MultiplePrimitive("an effect of this test", **row, effects=True)
    del Primitive.registry[effect.name]
    x = snp.array([1.0, np.inf])
    var, aval = Var(x.aval), x.aval
    graph = Graph([var], [Equation(effect, [var], [], {}, UNKNOWN)], [var])
    results, found = Search(NAN, "f").run(graph, [Literal(np.asarray(x), aval)])
    assert (found, len(results), seen) == (None, 1, [])


def test_a_known_signature_is_checked_when_the_option_is_turned_on_and_fast_again_when_off():
    function = stagec.jit(lambda x: snp.log(x))
    x = snp.array([-1.0])
    with stagec.debug_nans(False):
        try:
            assert not stagec.config.debug_nans
            thread = threading.Thread(target=lambda: [function(x), function(x)])
            thread.start()  # without any override, so that the call is remembered
            thread.join()
            assert len(function._fast) == 1
            stagec.config.update("jax_debug_nans", True)
            assert function._fast == {}
            found = []

            def call():
                for _ in range(2):
                    try:
                        function(x)
                    except NonFiniteError as error:
                        found.append(error)
                function(snp.array([1.0]))
                found.append(len(function._fast))

            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            assert [type(f) for f in found] == [NonFiniteError, NonFiniteError, int]
            assert found[2] == 0
        finally:
            stagec.config.update("debug_nans", False)


def test_the_environment_turns_it_on():
    code = "import stagec, stagec.numpy as snp\nstagec.jit(lambda x: snp.log(x))(-1.0)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "STAGEC_DEBUG_NANS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "stagec.errors.NonFiniteError: log made NaN\n  <string>:2 in <lambda>" in done.stderr


def test_threads_do_not_see_each_others_searches():
    answers = []

    def work(n):
        with stagec.debug_nans():
            for _ in range(5):
                answers.append(message(loss, X * n, Y).splitlines()[2].split()[3])

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(answers) == sorted([str(-3 * n - 0.5) for n in (1, 2, 3, 4)] * 5)
