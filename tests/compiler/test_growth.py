"""Programs of many operations: what is done for each of them does not grow with their number."""

import re

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import llvm
from passes.kernels.kernel import Lowering
from passes.kernels.record import Recorder
from stagec import lax

ANGLES = np.array([0.1, -2.0, 3.0, 1e5, -7e9, 1e300, 0.0, 2.0**24, 5.0, -0.3, 1.5, 9.0])


@pytest.fixture(autouse=True)
def nothing_cached():
    stagec.clear_caches()
    with stagec.config.override(enable_cache=False):
        yield
    stagec.clear_caches()


@pytest.fixture
def printed(monkeypatch):
    """The texts of LLVM IR that are made."""
    found, original = [], llvm.printed
    monkeypatch.setattr(llvm, "printed", lambda *args: found.append(original(*args)) or found[-1])
    return found


def called(text):
    """The procedures of a module, and how often each is called."""
    return {name: text.count(f'@"{name}"(') - 1 for name in re.findall(r'^define internal .*@"(.+?)"', text, re.M)}


def mixed(count):
    def function(x, y):
        for number in range(count):
            x, y = (y - x * 0.25, x) if number % 3 else (x * y + 0.5, snp.maximum(y, x))
        return x, y

    return function


def counted(count, shape, monkeypatch):
    number = 0
    original = Recorder.op

    def op(*args):
        nonlocal number
        number += 1
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "op", op)
        stagec.jit(mixed(count)).lower(snp.ones(shape), snp.ones(shape)).compile()
    return number


@pytest.mark.parametrize("shape", [(), (5,)])
def test_the_cost_of_an_expression_follows_from_that_of_its_operands(shape, monkeypatch):
    assert counted(240, shape, monkeypatch) < 2.5 * counted(120, shape, monkeypatch)


def test_a_function_of_many_numbers_is_written_once_and_called(printed):
    def positions(angles):
        return snp.stack([snp.sin(angle) for angle in angles] + [snp.cos(angle) for angle in angles])

    with stagec.enable_x64():
        found = stagec.jit(positions)(ANGLES)
    np.testing.assert_allclose(found, np.concatenate([np.sin(ANGLES), np.cos(ANGLES)]), rtol=4e-16)
    assert sorted(called(printed[0]).values()) == [12, 12]


def test_a_function_of_few_numbers_takes_the_place_of_its_calls(printed):
    with stagec.enable_x64():
        found = stagec.jit(lambda x: snp.sin(x[0]) + snp.sin(x[4]))(ANGLES)
    np.testing.assert_allclose(found, np.sin(ANGLES[0]) + np.sin(ANGLES[4]), rtol=4e-16)
    assert called(printed[0]) == {}


@pytest.mark.parametrize("count, calls", [(5, []), (20, [20])])
def test_loops_call_only_what_they_contain_often(count, calls, printed):
    x = np.linspace(-2, 2, 1000)
    with stagec.enable_x64():
        found = stagec.jit(lambda x: sum(snp.sin(x + number) for number in range(count)))(x)
    np.testing.assert_allclose(found, sum(np.sin(x + number) for number in range(count)), rtol=1e-12, atol=1e-14)
    assert list(called(printed[0]).values()) == calls


def test_the_text_of_kernels_has_no_calls():
    with stagec.enable_x64():
        text = stagec.jit(lambda x: [snp.sin(v) for v in x]).lower(ANGLES).as_text("kernels")
    assert text.count("scf.if") == len(ANGLES) and "func.call" not in text


def test_functions_of_numbers_share_a_kernel():
    with stagec.enable_x64():
        text = stagec.jit(lambda x: [lax.atan2(v, x[0]) for v in x]).lower(ANGLES).as_text("kernels")
    assert text.count("flow.dispatch @") == 1


def test_the_compilers_code_is_right_where_numbers_are_maps():
    with stagec.enable_x64(), stagec.config.override(cpu_kernels=False):
        found = stagec.jit(lambda x: snp.sin(x[0]) * snp.exp(x[1]) + snp.power(x[2], x[5]))(ANGLES[:6] / 7)
    expected = np.sin(ANGLES[0] / 7) * np.exp(ANGLES[1] / 7) + np.power(ANGLES[2] / 7, ANGLES[5] / 7)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_what_an_update_overwrites_is_sought_among_values_that_are_used_again(monkeypatch):
    asked, is_needed = [], Lowering.is_needed
    monkeypatch.setattr(Lowering, "is_needed", lambda *args: asked.append(args) or is_needed(*args))

    def updated(count):
        def step(i, x):
            for number in range(count):
                x = x.at[(number + i) % 20].set(x[number % 20] * 2)
            return x

        asked.clear()
        stagec.jit(lambda x: lax.fori_loop(0, 5, step, x)).lower(snp.ones(20)).compile()
        return len(asked)

    assert 0 < updated(60) < 2.5 * updated(30)


def test_more_results_than_the_runtime_returns_are_refused_with_a_fix():
    with pytest.raises(stagec.errors.UnsupportedError, match=r"has 8191 results(.|\n)*Fix: stack results of one shape"):
        stagec.jit(lambda x: [x + i for i in range(8191)])(np.float32(1))
