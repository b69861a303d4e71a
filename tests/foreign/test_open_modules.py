"""Programs that JAX exports with open dimensions, called with several sizes, against JAX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import stagec

pytestmark = pytest.mark.usefixtures("untried")

SIZES = ({"b": 3, "n": 4, "k": 2}, {"b": 1, "n": 2, "k": 1})


def exported(function: Any, specs: dict[str, Any]) -> Any:
    jax = pytest.importorskip("jax")
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialize a program")
    named = {part for spec in specs for part in spec.split(",")}
    scope = jax.export.SymbolicScope([rule for rule in ("n >= 2", "k <= n") if named.issuperset({"n", rule[0]})])
    shapes = [jax.export.symbolic_shape(spec, scope=scope) if spec else () for spec in specs]
    described = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, specs.values())]
    return jax.export.export(jax.jit(function))(*described)


def arrays(specs: dict[str, Any], sizes: dict[str, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [[int(sizes.get(part, part)) for part in spec.split(",") if part] for spec in specs]
    return [(rng.standard_normal(shape) * 3).astype(dtype) for shape, dtype in zip(shapes, specs.values())]


def lax(name: str) -> Any:
    return getattr(pytest.importorskip("jax").lax, name)


def definite(x: Any) -> Any:
    return x @ x.mT + pytest.importorskip("jax").numpy.eye(x.shape[-1], dtype=x.dtype)


def windows(x: Any) -> Any:
    return lax("reduce_window")(x, np.float32(0), lax("add"), (2, x.shape[0]), (1, 1), "SAME")


def pairs(x: Any) -> Any:
    def combine(left: Any, right: Any) -> Any:
        return left[0] + right[0], lax("max")(left[1], right[1])

    initial = np.float32(0), np.float32(-np.inf)
    return lax("reduce_window")((x, x), initial, combine, (1, x.shape[1]), (1, 1), "VALID")


def bits(key: Any, x: Any) -> Any:
    return lax("rng_bit_generator")(key, (x.shape[0], 3))


def solved(x: Any, y: Any) -> Any:
    return pytest.importorskip("jax").lax.linalg.triangular_solve(definite(x), y, left_side=True, lower=True)


F32, I32 = np.float32, np.int32
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "the largest": (lambda x: lax("approx_max_k")(x, 2, reduction_dimension=1), {"b,n": F32}),
    "as many as": (lambda x, y: lax("approx_min_k")(x, y.shape[0], reduction_dimension=1), {"b,n": F32, "k": F32}),
    "sums so far": (lambda x: lax("cumsum")(x, axis=0, reverse=True), {"b,n": F32}),
    "windows": (windows, {"b,n": F32}),
    "windows of pairs": (pairs, {"b,n": F32}),
    "random bits": (bits, {"4": np.uint32, "b": F32}),
    "a slice": (lambda x, i: lax("dynamic_slice")(x, (i, I32(1)), (x.shape[0] - 1, 2)), {"n,4": F32, "": I32}),
    "rows": (lambda x: lax("map")(lambda row: row.sum(), x), {"b,n": F32}),
    "Cholesky": (lambda x: lax("linalg").cholesky(definite(x)), {"b,n,n": F32}),
    "LU": (lambda x: lax("linalg").lu(x), {"b,3,3": F32}),
    "QR": (lambda x: abs(lax("linalg").qr(x, full_matrices=False)[1]), {"b,3,2": F32}),
    "singular values": (lambda x: lax("linalg").svd(x, compute_uv=False), {"b,n,n": F32}),
    "eigenvalues": (lambda x: lax("linalg").eigh(definite(x))[1], {"b,n,n": F32}),
    "a triangular system": (solved, {"b,n,n": F32, "b,n,k": F32}),
    "one triangular system": (solved, {"n,n": F32, "n,k": F32}),
}


@pytest.mark.parametrize("name", CASES)
def test_open_dimensions_take_any_size(name: str) -> None:
    function, specs = CASES[name]
    program = exported(function, specs)
    imported = stagec.from_stablehlo(bytes(program.serialize()))
    for sizes in SIZES:
        arguments = arrays(specs, sizes)
        expected = program.call(*arguments)
        for found, wanted in zip(stagec.tree.leaves(imported(*arguments)), stagec.tree.leaves(expected), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-4)


def test_a_condition_on_sizes_says_which_does_not_hold() -> None:
    imported = stagec.from_stablehlo(bytes(exported(lambda x: x + 1, {"b,n": F32}).serialize()))
    with pytest.raises(stagec.errors.UnsupportedError, match=re.escape("args[0].shape[1] (= 1)")):
        imported(np.zeros((3, 1), F32))


def test_the_length_of_a_slice_of_unknown_ends_is_asked_for() -> None:
    text = """func.func @main(%x: tensor<8xf32>, %i: tensor<1xi32>, %j: tensor<1xf32>) -> tensor<?xf32> {
      %s = stablehlo.constant dense<1> : tensor<1xi32>
      %l = stablehlo.convert %j : (tensor<1xf32>) -> tensor<1xi32>
      %0 = stablehlo.real_dynamic_slice %x, %i, %l, %s
        : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(stagec.errors.UnsupportedError, match=r"line 4:.* has a result of dynamic shape"):
        stagec.from_stablehlo(text)(np.zeros(8, F32), np.zeros(1, I32), np.ones(1, F32))
