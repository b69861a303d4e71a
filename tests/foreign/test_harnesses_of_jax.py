"""JAX's own programs for testing exporters, from which StableHLO's test data was generated, read from StableHLO.

There are some thousands. A few run here; `STAGEC_FUZZ=100 STAGEC_FUZZ_START=0` runs 2,400 of them.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest

import stagec

pytestmark = pytest.mark.usefixtures("untried")

START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
NUMBERS = range(START, START + 24 * int(os.environ.get("STAGEC_FUZZ", "1")))
# Neighbours are alike, so the programs are taken in the order of multiples of a prime number.
STEP = 2503
# What is computed up to a sign, or up to an order of equal elements, has tests of its own.
AMBIGUOUS = ("svd", "eig", "eigh", "qr", "schur", "hessenberg", "tridiagonal", "approx_top_k")
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}


@functools.cache
def harnesses() -> Any:
    pytest.importorskip("jax")
    pytest.importorskip("absl", reason="JAX's harnesses need absl-py")
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialize a program")
    return pytest.importorskip("jax._src.internal_test_util.test_harnesses").all_harnesses


@pytest.mark.parametrize("number", NUMBERS)
def test_a_program_computes_what_jax_computes(number: int) -> None:
    programs = harnesses()
    import jax

    harness = programs[number * STEP % len(programs)]
    if (
        harness.group_name in AMBIGUOUS
        or "isstable_False" in harness.fullname
        or any(limit.filter(device="cpu", dtype=harness.dtype) for limit in harness.jax_unimplemented)
    ):
        pytest.skip(f"{harness.fullname}: JAX does not have it, or computes it up to signs or ties")
    # With 32 bits, JAX converts arrays of 64.
    arguments = jax.tree.map(jax.numpy.asarray, harness.dyn_args_maker(np.random.RandomState(0)))
    function = jax.jit(harness.dyn_fun)
    with jax.default_matmul_precision("highest"):
        expected = jax.tree.leaves(function(*arguments))
        exported = jax.export.export(function)(*arguments)
    if number % 2:
        imported = stagec.from_stablehlo(bytes(exported.serialize()))
        found = stagec.tree.leaves(imported(*jax.tree.map(np.asarray, arguments)))
    else:  # The text alone has no parameters for arguments that nothing reads.
        arrays = list(map(np.asarray, jax.tree.leaves(arguments)))
        imported = stagec.from_stablehlo(exported.mlir_module())
        found = stagec.tree.leaves(imported(*[arrays[i] for i in exported.module_kept_var_idx]))
    assert len(found) == len(expected), harness.fullname
    for result, wanted in zip(found, expected):
        _assert_same(np.asarray(result), np.asarray(wanted), harness.fullname)


def _assert_same(result: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), name
    tolerance = TOLERANCES.get(result.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(result, wanted, name)
        return
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    a, b = result.astype(wide), wanted.astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    scale = finite.max(initial=0.0)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, err_msg=name)
