"""Random programs with Python's control flow: compiled, they do to numbers and arrays what Python does."""

import linecache
import os

import numpy as np
import pytest
import python_programs as programs

import stagec

FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
SEEDS = range(1000, 1000 + 40 * FUZZ) if FUZZ else range(12)


def defined(text, name):
    """The function that a text defines; `inspect` finds its source."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_do_what_python_does(seed):
    text = programs.Program(seed).text
    f = defined(text, f"program {seed}")
    with stagec.enable_x64():
        compiled = stagec.jit(f, python=True)
        for a, b, n in ((0.5, -1.25, 5), (2.0, 1.0, 3), (-0.75, 0.5, 0)):
            x = np.array([0.5, -1.0, 2.0, 1.5])
            y = x.copy()
            expected = f(a, b, n, x)
            found = compiled(a, b, n, y)
            np.testing.assert_allclose([float(v) for v in found], expected, rtol=1e-12, err_msg=text)
            np.testing.assert_allclose(y, x, rtol=1e-12, err_msg=text)
