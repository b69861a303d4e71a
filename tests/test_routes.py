"""The census of programs that leave direct compilation."""

import subprocess
import sys

import numpy as np
import pytest

import stagec
from tests.routes import calls, forms, route


def test_a_program_that_leaves_direct_compilation_is_told_with_the_reason():
    x = np.ones((20, 20), np.float32)

    def function(x):
        return abs(x) @ x

    assert route(function, [x])[0] == "direct"
    with stagec.config.override(straight_kernels=False):
        assert route(function, [x])[0] == "stablehlo.abs outside of kernels"
    assert route(lambda x: x.nothing, [x]) is None


def test_functions_are_called_with_arguments_that_they_take():
    call, arrays, is_differentiable = calls("numpy.arctan2", "float32")
    assert len(arrays) == 2 and is_differentiable
    found = [name for name, _, _ in forms(call, arrays, True)]
    assert found == ["function", "batch", "gradient", "batch of gradients"]


def test_the_command_counts_the_programs_of_a_function():
    pytest.importorskip("jax")
    command = [sys.executable, "-m", "tests.routes", "numpy.hypot"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "float32: 4 programs, of which 0 are not compiled directly\n", done.stderr
