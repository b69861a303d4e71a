"""Arrays that `jax.numpy` makes of numbers, in functions that are traced."""

import numpy as np
import pytest

import stagec
from stagec.errors import TracerBoolConversionError

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp


def is_traced():
    try:
        return bool(jnp.asarray(False))
    except TracerBoolConversionError:
        return True


def test_numbers_are_traced_where_a_function_is_recorded():
    found = []
    jax.jit(lambda x: (found.append(is_traced()), x)[1])(1.0)
    jax.jit(jax.vmap(jax.grad(lambda x: (found.append(is_traced()), x)[1])))(jnp.ones(2))
    assert found == [True, True]


def test_numbers_have_values_elsewhere():
    found = [is_traced()]
    jax.vmap(lambda x: (found.append(is_traced()), x)[1])(jnp.ones(2))
    with jax.ensure_compile_time_eval():
        found.append(is_traced())

    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            found.append(is_traced())
        return x

    f(1.0)
    assert found == [False] * 4


@pytest.mark.parametrize("make", [jnp.array, jnp.asarray])
@pytest.mark.parametrize("value", [3, 2.5, [1, 2], np.arange(3, dtype="int8"), np.float16(1.5), True])
def test_dtypes_and_values_are_those_outside(make, value):
    outside, inside = make(value), jax.jit(lambda: make(value))()
    assert (inside.aval, inside.tolist()) == (outside.aval, outside.tolist())


def test_an_array_from_outside_stays_as_it_is():
    x, found = jnp.ones(2), []
    jax.jit(lambda y: (found.append(jnp.asarray(x) is x), y)[1])(1.0)
    assert found == [True]
