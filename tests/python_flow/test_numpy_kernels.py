"""Kernels in NumPy, functions from textbooks and algorithms, compiled as they stand: results, and written arguments."""

import copy
import inspect

import algorithms
import numerical
import numpy as np
import numpy_kernels as kernels
import pytest
import textbook

import stagec

SIZE = 12
MODULES = (kernels, textbook, algorithms, numerical)
CASES = [(module, *case) for module in MODULES for case in module.cases(SIZE)]


@pytest.mark.parametrize(
    ("module", "function", "args"), CASES, ids=[f"{f.__name__}-{i}" for i, (_, f, _) in enumerate(CASES)]
)
def test_a_function_does_what_python_does(module, function, args):
    static = [n for n in inspect.signature(function).parameters if n in module.STATIC]
    given, changed = copy.deepcopy(args), copy.deepcopy(args)
    expected = function(*changed)
    with stagec.enable_x64():
        found = stagec.jit(function, python=True, static_argnames=static)(*given)
    for a, b in zip(stagec.tree.leaves((found, given)), stagec.tree.leaves((expected, changed)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
