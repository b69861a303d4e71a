"""Updates of arrays that are computed from constants alone, which the compiler makes once for all who read them."""

import numpy as np
import pytest

import passes
import stagec
import stagec.numpy as snp
from passes import bindings
from stagec import lax

PROGRAMS = {
    "two updates of one range": lambda i: (lambda x: (x.at[i].add(5), x.at[i + 1].add(7), x))(snp.arange(12.0)),
    "two equal ranges": lambda i: (snp.arange(12.0).at[i].add(5), snp.arange(12.0).at[i + 1].max(7)),
    "in another shape": lambda i: (lambda x: (x.at[i].add(5), x.reshape(3, 4).at[i % 3].add(7)))(snp.arange(12)),
    "computed": lambda i: (lambda x: (x.at[i].add(5), x.at[i + 1].add(7), x))(snp.arange(12.0) ** 2),
    "at one place": lambda i: (lambda x: (x.at[i[0]].set(5), x.at[i[1]].set(7), x))(snp.linspace(0, 1, 12)),
    "identity": lambda i: (lambda x: (x.at[i].set(2), x.at[:, i].set(3), x))(snp.eye(6)),
    "two argsorts": lambda i: (snp.argsort(i), snp.argsort(-i), snp.argsort(snp.argsort(i * i))),
    "in a loop": lambda i: lax.fori_loop(0, 3, lambda n, c: c + snp.arange(12.0).at[n].add(1.0), snp.zeros(12)),
    "in a loop, from outside": lambda i: (
        lambda x: lax.fori_loop(0, 3, lambda n, c: c + x.at[n].add(1.0) * x.at[i].set(n), snp.zeros(12))
    )(snp.arange(12.0)),
    "two loops": lambda i: [
        lax.fori_loop(0, 3, lambda n, c: c.at[n % 2].add(1.0), x)
        for x in (snp.arange(12.0) ** 2, snp.arange(12.0).reshape(2, 6) ** 2, snp.arange(12.0).reshape(3, 4) ** 2)
    ],
    "two parts of a loop's state": lambda i: lax.fori_loop(
        0, 3, lambda n, c: (c[0].at[n].add(1.0), c[1].at[n].add(2.0)), (snp.arange(12.0) ** 2, snp.arange(12.0) ** 2)
    ),
    "two loops over numbered rows": lambda i: [
        lax.fori_loop(0, 3, lambda n, c: c.at[n % 2].add(i[0]), lax.broadcasted_iota("int32", shape, len(shape) - 1))
        for shape in ((6, 8), (2, 3, 8))
    ],
    "in branches": lambda i: (
        lambda x: [lax.cond(i[0] > n, lambda: x.at[i].add(1.0), lambda: x.at[i].add(2.0)) for n in (0, 3)]
    )(snp.arange(12.0)),
    "booleans": lambda i: (lambda x: (x.at[i].set(True), x.at[i + 1].set(False)))(snp.arange(12) > 5),
}


def check(program, device):
    i = np.array([1, 3, 1], np.int32)
    run = stagec.jit(program, device=device)
    # What is computed ahead of the first call is still right at the third.
    for places in (i, i[::-1] * 2, i):
        actual, expected = (stagec.tree.leaves(f(snp.asarray(places))) for f in (run, program))
        for got, want in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_updates_of_constants_are_numpys(name):
    check(PROGRAMS[name], "cpu")


def test_updates_of_constants_are_numpys_on_vulkan(vulkan):
    check(lambda i: [program(i) for program in PROGRAMS.values()], vulkan)


def test_only_what_is_from_constants_is_copied():
    module = bindings.ir.Module.parse(
        """func.func @main(%x: tensor<6xi32>, %i: tensor<i32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) {
          %one = stablehlo.constant dense<1> : tensor<1xi32>
          %zeros = stablehlo.constant dense<0> : tensor<6xi32>
          %range = stablehlo.iota dim = 0 : tensor<6xi32>
          %y = stablehlo.add %x, %range : tensor<6xi32>
          %0 = stablehlo.dynamic_update_slice %y, %one, %i
            : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>
          %1 = stablehlo.dynamic_update_slice %range, %one, %i
            : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>
          %2 = stablehlo.dynamic_update_slice %zeros, %one, %i
            : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>
          return %0, %1, %2 : tensor<6xi32>, tensor<6xi32>, tensor<6xi32>
        }""",
        bindings.new_context(),
    )
    assert passes.run(module, "memory").hits == {"copied_updated_constant": 1}
