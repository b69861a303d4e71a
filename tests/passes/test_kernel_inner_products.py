"""Products in the kernels of loops: what they compute in every form, and when operands are made ready."""

import os

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
FORMS = ["mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->mn", "bmk,bnk->bmn", "bkm,bkn->bmn", "mbk,nkb->bmn"]
FORMS += ["mk,k->m", "k,nk->n", "mkj,njk->mn", "mk,nl->mknl", "amk,nk->amn", "k,k->"]
DTYPES = ["float32", "float64", "int32", "int8", "float16", "bfloat16", "complex64"]
ROUNDS = 3


@pytest.fixture(autouse=True)
def wide():
    with stagec.enable_x64():
        yield


def operand(rng, names, sizes, dtype):
    """Small whole numbers, whose products have sums without rounding, in every dtype but the smallest."""
    numbers = rng.integers(-3, 4, [sizes[name] for name in names])
    numbers = numbers + 1j * rng.integers(-3, 4, numbers.shape) if dtype == "complex64" else numbers
    return numbers.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def program(form, ways, summed):
    """A loop whose rounds multiply what stays, what is computed and what the loop changes."""

    def run(x, y):
        def body(i, state):
            x_, y_, total = state
            left, right = (
                {"stays": a, "computed": a * (a + 1) - a, "changes": b}[way]
                for way, a, b in zip(ways, (x, y), (x_, y_))
            )
            found = snp.einsum(form, left, right, preferred_element_type=summed)
            return -x_, -y_, total - found

        shape = stagec.eval_shape(lambda x, y: snp.einsum(form, x, y), x, y).shape
        return lax.fori_loop(0, ROUNDS, body, (x, y, snp.zeros(shape, summed)))[2]

    return run


def check(seed, dtype, count=6):
    """Some products at once, since compiling takes longer than everything else."""
    rng = np.random.default_rng(seed)
    programs, operands, want = [], [], []
    for _ in range(count):
        form = rng.choice(FORMS)
        sizes = {name: int(rng.choice([1, 2, 3, 5, 8, 16, 17, 24, 33])) for name in "abjklmn"}
        ways = tuple(str(way) for way in rng.choice(["stays", "computed", "changes"], 2))
        left, right = form.partition("->")[0].split(",")
        x, y = operand(rng, left, sizes, dtype), operand(rng, right, sizes, dtype)
        summed = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}.get(dtype, dtype)
        programs.append(program(form, ways, summed))
        operands.append((x, y))
        with stagec.disable_jit(), np.errstate(all="ignore"):
            want.append(np.asarray(programs[-1](snp.asarray(x), snp.asarray(y))))
    jitted = stagec.jit(lambda operands: [f(x, y) for f, (x, y) in zip(programs, operands)])
    assert "a kernel of" in jitted.lower(operands).as_text("kernels")
    for got, expected in zip(jitted(operands), want):
        np.testing.assert_array_equal(np.asarray(got), expected, err_msg=f"{seed} {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_whole_numbers_are_exact(dtype):
    check(0, dtype)


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3"])
def test_products_on_other_processors(target):
    with stagec.config.override(target=target):
        check(1, "float32")


@pytest.mark.skipif(not FUZZ, reason="set STAGEC_FUZZ to a number of programs")
@pytest.mark.parametrize("seed", range(2, 2 + FUZZ))
def test_many_products(seed):
    check(seed, DTYPES[seed % len(DTYPES)])


@pytest.mark.parametrize("dtype", ["complex64", "float32", "int32"])
@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_all_axes_are_summed_in_any_order(order, dtype):
    rng = np.random.default_rng(3)
    x, y = (operand(rng, "abc", {"a": 24, "b": 24, "c": 24}, dtype) for _ in "xy")
    found = stagec.jit(lambda x, y: snp.einsum(f"abc,{order}->", x, y))(x, y)
    assert found == np.einsum(f"abc,{order}->", x, y)


def kernels(function, *operands):
    """The text of the kernels."""
    return stagec.jit(function).lower(*operands).as_text("kernels")


def test_what_a_loop_leaves_as_it_is_is_turned_before_it():
    def run(h, w):
        return lax.fori_loop(0, 9, lambda _, h: snp.tanh(h @ w.T), h)

    text = kernels(run, np.ones((16, 32), np.float32), np.ones((32, 32), np.float32))
    assert "vector.reduction" not in text
    loop = text.index("math.fma")
    assert 0 < text.index("vector.shuffle") < text.rindex("vector.shuffle") < loop


def test_a_single_row_is_multiplied_by_what_is_there():
    def run(h, w):
        return lax.fori_loop(0, 9, lambda _, h: snp.tanh(w @ h), h)

    text = kernels(run, np.ones(32, np.float32), np.ones((32, 32), np.float32))
    assert "vector.reduction" in text and "vector.shuffle" not in text


def test_what_many_rows_read_is_computed_once():
    def run(h, a, b):
        return lax.fori_loop(0, 9, lambda i, h: h + h.T @ (h * a * b), h)

    rows = 24
    text = kernels(run, *[np.ones((rows, rows), np.float32)] * 3)
    assert f", {2 * rows * rows * 4} bytes of scratch" in text.splitlines()[0]
