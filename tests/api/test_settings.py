"""Blocks with other options: ranks of operands, how exact products are, logs, keys."""

import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import log
from stagec.errors import DtypeError, KeyReuseError, LeakedTracerError, ShapeError
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


@pytest.mark.parametrize("run", [lambda f: f, stagec.jit], ids=["eager", "traced"])
def test_dtypes_are_promoted_strictly_where_that_is_asked_for(run):
    integers, truths, numbers = snp.arange(3), V > 0, V + 0j

    def add(x, y):
        return x + y

    assert run(add)(V, integers).dtype == np.float32
    with stagec.numpy_dtype_promotion("strict"):
        for x, y in [(V, integers), (V, V.astype("bfloat16")), (integers, 1.5), (truths, 1), (V, 1j), (truths, V)]:
            with pytest.raises(DtypeError, match="numpy_dtype_promotion='strict'"):
                run(add)(x, y)
        for x, y in [(V, V), (V, 1), (V, 1.5), (integers, 1), (numbers, 1.5), (numbers, 2j), (truths, truths)]:
            run(add)(x, y)
        # What is composed here keeps to one dtype.
        stagec.nn.softmax(V), V.std(), snp.median(V), stagec.random.normal(stagec.random.key(0))
    assert run(add)(V, integers).dtype == np.float32


def test_strict_promotion_of_all_threads_counts_for_plans_too():
    integers = snp.arange(3)
    for _ in range(3):
        V - integers
    stagec.config.update("jax_numpy_dtype_promotion", "strict")
    try:
        with pytest.raises(DtypeError):
            V - integers
    finally:
        stagec.config.update("numpy_dtype_promotion", "standard")
    with pytest.raises(ValueError, match="numpy_dtype_promotion: 'lax' is not one of"):
        stagec.numpy_dtype_promotion("lax").__enter__()


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
    for preset in lax.DotAlgorithmPreset:
        with stagec.default_matmul_precision(preset.name):
            assert canonical_precision(None) == canonical_precision(preset)
    levels = {"bfloat16": None, "tensorfloat32": "high", "float32": "highest", "F32_F32_F32": "highest"}
    for name, level in levels.items():
        with stagec.default_matmul_precision(name):
            assert canonical_precision(None) == level
    with pytest.raises(ValueError, match="unknown precision 'exact'"):
        lax.conv(V[None, None], V[None, None, :1], (1,), "SAME", precision="exact")
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


def test_leaks_are_errors_in_blocks_that_check_for_them_and_elsewhere():
    kept = []
    for block in (stagec.checking_leaks(), stagec.check_tracer_leaks(), stagec.check_tracer_leaks(False)):
        with block:
            stagec.jit(lambda x: kept.append(x) or x * 1)(snp.ones(2))
            with pytest.raises(LeakedTracerError):
                kept.pop() + 1


def test_names_of_promotion_and_exchange():
    assert stagec.float0 == stagec.dtypes.float0 and stagec.dtypes.TypePromotionError is DtypeError
    assert stagec.dlpack.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    known = [stagec.dlpack.is_supported_dtype(d) for d in ("float32", bool, "bfloat16", "str", "datetime64[s]")]
    assert known == [True, True, True, False, False]
