"""Kernels in the style of npbench, compiled as they stand, run as C libraries and as WebAssembly modules."""

import inspect
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from c_libraries import LEVEL, assert_same_bits, ran
from test_web import TARGET, ran as ran_in_node

import stagec

sys.path.append(str(Path(__file__).parents[1] / "python_flow"))  # the modules of tests are not a package

import numpy_kernels as kernels

CASES = {function.__name__: (function, args) for function, args in kernels.cases(12)}


@pytest.mark.parametrize("name", CASES)
def test_results_and_written_arguments_have_the_bits_of_the_compiled_function(name, tmp_path):
    function, args = CASES[name]
    names = list(inspect.signature(function).parameters)
    jitted = stagec.jit(function, python=True, static_argnames=[n for n in names if n in kernels.STATIC])
    given = [a for n, a in zip(names, args) if n not in kernels.STATIC]
    with stagec.enable_x64():
        exported = stagec.export(jitted, LEVEL)(*args)
        exported.to_c(tmp_path, name="f")
        found = ran(tmp_path, exported, given)
        assert len(found) > 0
        for target in (LEVEL, TARGET):
            with stagec.config.override(target=target):
                expected = jitted.lower(*args).compile()(*given)
            assert_same_bits(found, expected)
            if not shutil.which("node"):
                break
            found = ran_in_node(tmp_path, exported, given)


def test_results_are_those_of_numpy(tmp_path):
    function, args = CASES["gemver"]
    with stagec.enable_x64():
        exported = stagec.export(stagec.jit(function, python=True))(*args)
        exported.to_c(tmp_path, name="f")
        found = ran(tmp_path, exported, args)
    changed = [np.copy(a) for a in args]
    function(*changed)
    assert "double *out_1_A" in (tmp_path / "f.h").read_text()
    for a, b in zip(found, [changed[i] for i in (2, 7, 8)], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
