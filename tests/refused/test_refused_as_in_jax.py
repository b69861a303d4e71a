"""Calls that JAX refuses are refused here, with an error that names what is wrong, the user's line and a fix.

Each call takes the package, so that it also runs on JAX. In what a message must say, `...` stands for any text.
"""

import re
import warnings

import calls_control
import calls_lax
import calls_numpy
import calls_options
import calls_random
import calls_transforms
import numpy as np
import pytest
from data import F, N, V

import stagec
import stagec.image
import stagec.numpy
import stagec.ops
import stagec.random
import stagec.scipy.fft
import stagec.scipy.linalg
import stagec.scipy.ndimage
import stagec.scipy.optimize
import stagec.scipy.signal
import stagec.scipy.special
import stagec.scipy.stats
import stagec.tree

TABLES = (calls_lax, calls_control, calls_numpy, calls_options, calls_transforms, calls_random)
ROWS = [pytest.param(*row, id=name) for table in TABLES for name, row in table.CALLS.items()]


@pytest.fixture(scope="module")
def jax():
    found = pytest.importorskip("jax")
    for name in ("image", "nn.initializers", "ops", "scipy.fft", "scipy.linalg", "scipy.ndimage"):
        __import__(f"jax.{name}")
    for name in ("scipy.optimize", "scipy.signal", "scipy.special", "scipy.stats", "tree"):
        __import__(f"jax.{name}")
    return found


def run(call, package):
    """The result, computed."""
    return [np.asarray(leaf) for leaf in package.tree.leaves(call(package))]


@pytest.mark.parametrize(("call", "text"), ROWS)
def test_a_wrong_call_is_refused_with_its_reason(call, text):
    with pytest.raises(Exception) as caught:
        run(call, stagec)
    message = str(caught.value)
    first, *rest = message.split("\n")
    assert re.match(".*".join(map(re.escape, text.split("..."))), first), message
    assert any(re.match(r"  \w+\.py:\d+ in ", line) for line in rest), message
    assert rest[-1].startswith("  Fix: "), message


@pytest.mark.parametrize(("call", "text"), ROWS)
def test_jax_refuses_it_too(call, text, jax):
    with warnings.catch_warnings(), pytest.raises(Exception):  # noqa: B017
        warnings.simplefilter("ignore")
        run(call, jax)


# What JAX refuses and stagec takes, since there is one thing that it can mean.
ACCEPTED = {
    "a negative axis counts from the last, as in NumPy": [
        (lambda j: j.lax.dot_general(F, F, (((-1,), (-1,)), ((), ()))), F @ F.T),
        (lambda j: j.lax.reduce(V, np.float32(0), j.lax.add, (-1,)), V.sum()),
        (lambda j: j.lax.concatenate([V, V], -1), np.concatenate([V, V])),
        (lambda j: j.lax.cumsum(F, -1), F.cumsum(-1)),
    ],
    "one axis needs no tuple": [(lambda j: j.lax.reduce(V, np.float32(0), j.lax.add, 0), V.sum())],
    "start indices may have different dtypes, as each is used by itself": [
        (lambda j: j.lax.dynamic_slice(F, (np.int32(1), np.int16(0)), (1, 3)), F[1:]),
    ],
    "levels of a quantile may be integers, and have axes, as in NumPy": [
        (lambda j: j.numpy.quantile(V, N[:2]), np.quantile(V, N[:2])),
        (lambda j: j.numpy.percentile(V, F), np.percentile(V, F)),
    ],
}


@pytest.mark.parametrize("why", ACCEPTED)
def test_what_has_one_meaning_is_accepted(why):
    for call, expected in ACCEPTED[why]:
        np.testing.assert_allclose(call(stagec), expected, rtol=1e-6)


@pytest.mark.parametrize("why", ACCEPTED)
def test_jax_refuses_that(why, jax):
    for call, _ in ACCEPTED[why]:
        with pytest.raises(Exception):  # noqa: B017
            call(jax)


# The words of Python for calls of the user's own function; the traceback shows the user's line.
PYTHON = {
    "an argument too many": lambda j: j.jit(lambda x: x)(1, 2),
    "a keyword that is none": lambda j: j.jit(lambda x: x)(y=2),
    "an argument too many for shapes": lambda j: j.eval_shape(lambda x: x, V, V),
    "an argument too few": lambda j: j.grad(lambda x: x)(),
}


@pytest.mark.parametrize("what", PYTHON)
def test_a_call_that_python_refuses_keeps_pythons_message(what, jax):
    errors = []
    for package in (stagec, jax):
        with pytest.raises(TypeError) as caught:
            PYTHON[what](package)
        errors.append(str(caught.value))
    assert what == "an argument too few" or errors[0] == errors[1]
