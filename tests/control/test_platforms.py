"""`platform_dependent` and `composite`."""

import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import UnsupportedError


def f(x):
    return lax.platform_dependent(x, cpu=lambda x: 2 * x, tpu=lambda x: 3 * x, default=lambda x: 5 * x)


def test_the_function_for_the_platform_runs():
    assert float(f(1.0)) == float(stagec.jit(f)(1.0)) == float(stagec.grad(f)(1.0)) == 2.0
    assert stagec.vmap(f)(snp.ones(2)).tolist() == [2.0, 2.0]


def test_the_default_is_for_platforms_that_are_not_named():
    def g(x):
        return lax.platform_dependent(x, cuda=lambda x: 3 * x, default=lambda x: 5 * x)

    assert float(g(1.0)) == float(stagec.jit(g)(1.0)) == 5.0


def test_the_others_are_not_in_the_program():
    lowered = stagec.jit(f).lower(1.0)
    assert "case" in lowered.as_text("stablehlo")
    text = lowered.as_text("optimized")
    assert "case" not in text and "dense<2.0" in text and "dense<3.0" not in text and "dense<5.0" not in text
    other = stagec.jit(f, target="cuda").lower(1.0).as_text("optimized")
    assert "dense<5.0" in other and "dense<2.0" not in other


def test_a_platform_without_a_function_is_an_error():
    def g(x):
        return lax.platform_dependent(x, cuda=lambda x: x)

    for call in (g, stagec.jit(g)):
        with pytest.raises(UnsupportedError, match=r"for cpu, and there are functions for cuda only\n.*\n  Fix: give"):
            call(1.0)
    with pytest.raises(TypeError, match="no function"):
        lax.platform_dependent(1.0)


def test_a_composite_is_its_decomposition_under_a_name():
    tangent = lax.composite(lambda x, *, scale: scale * snp.sin(x) / snp.cos(x), name="my.tangent", version=2)
    assert float(tangent(1.0, scale=2)) == pytest.approx(3.114815, rel=1e-5)
    assert float(stagec.grad(lambda x: tangent(x, scale=1))(0.0)) == 1.0
    assert "my.tangent" in str(stagec.make_graph(lambda x: tangent(x, scale=2))(1.0))
    assert stagec.vmap(lambda x: tangent(x, scale=1))(snp.zeros(2)).tolist() == [0, 0]
