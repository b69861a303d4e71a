"""What messages, tables and programs call a function that a transformation made."""

import functools
import pickle

import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import cache
from stagec.core.wrapping import shown_name


def loss(w, x):
    return snp.sum((x @ w) ** 2)


@stagec.grad
def slope(x):
    return x**3


W, X = snp.ones((3, 2)), snp.ones((4, 3))


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (stagec.grad(loss), "grad(loss)"),
        (stagec.value_and_grad(loss), "value_and_grad(loss)"),
        (stagec.vmap(stagec.grad(loss)), "vmap(grad(loss))"),
        (stagec.jacfwd(loss), "jacfwd(loss)"),
        (stagec.jacrev(loss), "jacrev(loss)"),
        (stagec.hessian(loss), "hessian(loss)"),
        (stagec.jit(stagec.grad(loss)), "grad(loss)"),
        (stagec.vmap(stagec.jit(stagec.grad(loss))), "vmap(grad(loss))"),
        (functools.partial(stagec.grad(loss), W), "grad(loss)"),
        (stagec.checkpoint(loss), "loss"),
    ],
)
def test_another_function_has_another_name(made, name):
    assert shown_name(made) == name


def test_a_users_function_that_wraps_a_gradient_is_called_as_its_author_says():
    @functools.wraps(stagec.grad(loss))
    def clipped(w, x):
        return snp.clip(stagec.grad(loss)(w, x), -1, 1)

    assert shown_name(clipped) == shown_name(stagec.jit(clipped)) == "loss"
    assert shown_name(stagec.vmap(stagec.jit(clipped))) == "vmap(loss)"


def test_pythons_own_name_stays_that_of_the_function():
    assert stagec.grad(loss).__name__ == stagec.grad(loss).__qualname__ == "loss"
    assert pickle.loads(pickle.dumps(slope)) is slope


def test_a_compiled_gradient_has_one_name_everywhere(tmp_path):
    with stagec.config.override(cache_dir=str(tmp_path)):
        stagec.clear_caches()
        f = stagec.jit(stagec.grad(loss))
        with stagec.profile(kernels=False) as profile:
            f(W, X)
        assert [row.name for row in profile.calls if row.kind == "call"] == ["grad(loss)"]
        assert [entry.meta["name"] for entry in cache.default_cache().entries()] == ["grad(loss)"]
        assert stagec.explain(f, W, X).name == "grad(loss)"
    assert repr(f.lower(W, X)).startswith("<stagec.Lowered grad(loss)(w: float32[3,2], ")
    with pytest.raises(stagec.errors.StagecError, match=r"argument x of grad\(loss\)"):
        f(W, 1.0)


def test_a_module_is_named_in_letters():
    assert stagec.jit(stagec.grad(loss)).lower(W, X).as_text().startswith("module @jit_grad_loss ")
    assert stagec.jit(lambda x: x + 1).lower(X).as_text().startswith("module @jit__lambda ")


def test_a_name_does_not_change_the_key():
    def step(w, x):
        return stagec.grad(loss)(w, x)

    assert stagec.explain(stagec.jit(step), W, X).key == stagec.explain(stagec.jit(stagec.grad(loss)), W, X).key
