"""Programs over more arrays than one kernel may read, and of more results than IREE returns."""

import functools
import pathlib

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes import bindings
from passes.legalize.many_operands import divide
from stagec import lax
from stagec.compiler import log

ARRAYS = [np.full((6, 8), i, np.float32) for i in range(45)]
NUMBERS = [np.float32(i) for i in range(45)]
FUNCTIONS = {
    "sum": lambda *a: sum(a[1:], a[0]),
    "sum of roots": lambda *a: sum(snp.sqrt(x) for x in a),
    "choice": lambda *a: snp.where(sum(a[:20]) > 3, sum(a[20:30]), sum(a[30:])),
    "stack": lambda *a: snp.stack([*a, a[0] * 2]),
    "stack in a loop": lambda *a: lax.fori_loop(0, 3, lambda i, v: v + snp.stack(a), 0 * snp.stack(a)),
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


def test_more_results_than_iree_returns_are_an_error_whose_fix_works():
    def parts(x):
        return [x[i] * 2 for i in range(8191)]

    x = np.arange(8191, dtype=np.float32)
    with pytest.raises(stagec.errors.UnsupportedError) as caught:
        stagec.jit(parts)(x)
    assert "8191 results; IREE's virtual machine returns up to 8190" in str(caught.value)
    assert f"{pathlib.Path(__file__).name}:" in str(caught.value)
    assert str(caught.value).endswith("Fix: stack results of one shape, or compute them in several functions")
    assert len(stagec.jit(lambda x: parts(x)[:300])(x)) == 300
    np.testing.assert_array_equal(stagec.jit(lambda x: snp.stack([x, 3 * x]) * 2)(x)[0], 2 * x)


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


@pytest.mark.parametrize(
    "function",
    [
        lambda x: snp.concatenate([x[i % 7 : i % 7 + 3] * i for i in range(60)]),
        lambda x: functools.reduce(lambda v, i: v.at[i].set(v[(7 * i + 3) % 60] * 1.5), range(60), x),
        lambda x: snp.stack([snp.sin(x * i).sum() for i in range(60)]).reshape(6, 10).T + 1,
        lambda x: snp.concatenate([x[i:] for i in range(60)])[::-1] + snp.arange(1830),
        lambda x: snp.pad(snp.stack([x[i : i + 5] for i in range(50)], 1), 1) * 2,
    ],
    ids=["slices", "updates", "reductions", "overlapping slices", "columns"],
)
def test_an_array_of_many_small_parts_is_kernels(function):
    x = np.arange(60, dtype=np.float32) / 7
    with stagec.disable_jit():
        expected = function(snp.asarray(x))
    log.clear()
    with stagec.config.override(enable_cache=False):
        found = stagec.jit(lambda x: function(x))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
