"""Programs over more arrays than one kernel may read."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes import bindings
from passes.legalize.many_operands import divide
from stagec import lax

ARRAYS = [np.full((6, 8), i, np.float32) for i in range(45)]
NUMBERS = [np.float32(i) for i in range(45)]
FUNCTIONS = {
    "sum": lambda *a: sum(a[1:], a[0]),
    "sum of roots": lambda *a: sum(snp.sqrt(x) for x in a),
    "choice": lambda *a: snp.where(sum(a[:20]) > 3, sum(a[20:30]), sum(a[30:])),
    "sum in a loop": lambda *a: lax.fori_loop(0, 3, lambda i, v: v + sum(a), a[0]),
    "state of a loop": lambda *a: lax.fori_loop(0, 3, lambda i, v: [x + 1 for x in v], list(a))[7],
}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_right(name, kernels):
    function = FUNCTIONS[name]
    for arrays in (ARRAYS, NUMBERS):
        with stagec.disable_jit():
            expected = function(*arrays)
        with stagec.config.override(cpu_kernels=kernels):
            np.testing.assert_allclose(stagec.jit(function)(*arrays), expected, rtol=1e-5, atol=1e-4)


def test_few_arrays_are_left_alone():
    arguments = ", ".join(f"%a{i}: tensor<4xf32>" for i in range(26))
    lines = ["%s0 = stablehlo.add %a0, %a1 : tensor<4xf32>"]
    lines += [f"%s{i - 1} = stablehlo.add %s{i - 2}, %a{i} : tensor<4xf32>" for i in range(2, 26)]
    text = "func.func @main({}) -> tensor<4xf32> {{\n{}\nreturn %s{} : tensor<4xf32>\n}}"
    few = bindings.ir.Module.parse(text.format(arguments, "\n".join(lines[:23]), 22), bindings.new_context())
    assert divide(few) == {}
    many = bindings.ir.Module.parse(text.format(arguments, "\n".join(lines), 24), bindings.new_context())
    assert divide(many) == {"divide_many_operands": 1}
    assert str(many).count("optimization_barrier") == 1
