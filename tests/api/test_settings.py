"""Blocks with other options: ranks of operands, how exact products are, logs, keys."""

import warnings

import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import log
from stagec.errors import KeyReuseError, ShapeError
from stagec.primitives.precision import canonical_precision

M, V = snp.ones((2, 3)), snp.ones(3)


@pytest.mark.parametrize("run", [lambda f: f, stagec.jit], ids=["eager", "traced"])
def test_axes_that_are_added_are_refused(run):
    def add(x, y):
        return x + y

    assert run(add)(M, V).shape == (2, 3)
    with stagec.numpy_rank_promotion("raise"):
        with pytest.raises(ShapeError, match=r"add: float32\[2,3\] and float32\[3\] differ in their number of axes"):
            run(add)(M, V)
        for y in (1, snp.float32(2), V[None], M):
            run(add)(M, y)
    assert run(add)(M, V).shape == (2, 3)


def test_axes_that_are_added_are_told():
    with stagec.numpy_rank_promotion("warn"):
        with pytest.warns(UserWarning, match="multiply|mul") as caught:
            M * V
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            M * V[None]


def test_the_setting_of_all_threads_counts_for_plans_too():
    for _ in range(3):
        M - V
    stagec.config.update("jax_numpy_rank_promotion", "raise")
    try:
        with pytest.raises(ShapeError):
            M - V
    finally:
        stagec.config.update("numpy_rank_promotion", "allow")
    M - V


def test_products_take_the_precision_of_the_block():
    def f(x, precision=None):
        return snp.dot(x, x, precision=precision)

    def named(*args):
        return str(stagec.make_graph(f)(V, *args))

    assert "highest" not in named()
    with stagec.default_matmul_precision("highest"):
        assert canonical_precision(None) == "highest" and canonical_precision("high") == "high"
        assert "highest" in named()
        assert "HIGHEST" in stagec.jit(f).lower(V).as_text("stablehlo")
    with pytest.raises(ValueError, match="default_matmul_precision: 'exact' is not one of"):
        stagec.default_matmul_precision("exact").__enter__()
    with pytest.raises(ValueError, match="numpy_rank_promotion: 'never' is not one of"):
        stagec.numpy_rank_promotion("never").__enter__()


def test_compiles_are_logged(capsys):
    with stagec.log_compiles():
        log.event("compile", "compiled", name="f")
        log.event("trace", "traced", name="f")
    printed = capsys.readouterr().err
    assert "compile: compiled" in printed and "traced" not in printed
    with stagec.log_compiles(False):
        log.event("compile", "compiled", name="f")
    assert capsys.readouterr().err == ""


def test_keys_that_are_used_twice():
    key = stagec.random.key(0)
    with stagec.debug_key_reuse():
        stagec.random.normal(key)
        with pytest.raises(KeyReuseError):
            stagec.random.normal(key)
