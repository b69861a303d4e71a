"""`numpy_rank_promotion="raise"` and `numpy_dtype_promotion="strict"` judge what the user wrote, and no more.

Every public function is called with both: outside of jit, traced, and lowered, where factorizations become the
operations of their algorithms. A call that is refused is one that JAX refuses, too.
"""

import contextlib
import importlib

import pytest

pytest.importorskip("scipy")

import function_checks as checks
from function_rows import TOPICS

import stagec
import stagec.numpy as snp

# JAX does not look at the operands of these.
STRICTER = {
    "numpy.array_equiv": "dtypes, as in array_equal",
    "numpy.heaviside": "ranks, as in all functions of two operands",
    "numpy.setdiff1d": "dtypes, of empty arrays too",
}


@contextlib.contextmanager
def strict(package):
    with package.numpy_rank_promotion("raise"), package.numpy_dtype_promotion("strict"):
        yield


def outcome(call):
    """The error of a call, or None."""
    try:
        with checks.quiet():
            call()
    except checks.REFUSED as error:
        return error
    return None


def lowered(row, apply, arrays):
    stagec.jit(lambda *a: apply(row.function(), list(a))).lower(*arrays).as_text()


def jax_refuses(row, apply, arrays):
    jax = pytest.importorskip("jax")
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    with strict(jax):
        if row.concrete:
            return outcome(lambda: apply(row.function("jax"), [jax.numpy.asarray(a) for a in arrays]))
        return outcome(lambda: jax.eval_shape(lambda *a: apply(row.function("jax"), list(a)), *structs))


def check(row, k):
    """What is wrong with a call, or None."""
    made = checks.drawn(row, k)
    arrays, apply = checks.split(made)
    values = [snp.asarray(a) for a in arrays]
    with checks.by_numpy():
        if checks.evaluated(row, made).refused is not None:
            return None
        with strict(stagec):
            outside = outcome(lambda: apply(row.function(), values))
    with strict(stagec):
        if row.concrete or row.static:
            compiled = outside
        else:
            compiled = outcome(lambda: lowered(row, apply, values))
    if outside is None and compiled is None:
        return None
    if (outside is None) != (compiled is None):
        return f"{row.name}({made}): outside of jit {outside}, compiled {compiled}"
    if not checks.has_jax(row.name) or row.name in STRICTER or jax_refuses(row, apply, arrays) is not None:
        return None
    return f"{row.name}({made}): JAX accepts it; {outside}"


@pytest.mark.parametrize("topic", TOPICS)
def test_functions_refuse_what_jax_refuses(topic):
    wrong = []
    for row in importlib.import_module(f"function_rows.{topic}").ROWS:
        found = (check(row, k) for k in checks.draws(1 if row.costly else 2))
        wrong += [text for text in found if text is not None][:1]
    assert "\n\n".join(wrong) == ""
