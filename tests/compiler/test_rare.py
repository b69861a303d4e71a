"""What is chosen in rare cases is computed in a branch, and is right in each element of a vector."""

import cmath
import math

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.match import operations_in
from stagec import lax
from stagec.compiler import driver, rare

LARGE = [1e9, -1e10, 16367173 * 2.0**72, 1e20]
COMPLEX = ["exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"]


def rounds(x):
    return lax.fori_loop(0, 3, lambda i, v: snp.sin(v) * 1e10, x)


PROGRAMS = {
    "sin": snp.sin,
    "cos": snp.cos,
    "tan": snp.tan,
    "sin and cos": lambda x: (snp.sin(x), snp.cos(x) + 1),
    "two angles": lambda x: snp.sin(x) * snp.sin(2 * x),
    "sum": lambda x: snp.sin(x).sum(),
    "rows": lambda x: (snp.cos(x) * x).sum(-1),
    "loop": rounds,
    "gradient": stagec.grad(lambda x: snp.sin(x * x).sum()),
}


@pytest.fixture
def counted(monkeypatch):
    """What `rare.branch` did, and how many choices it left: compiled by `as_text`."""
    found = []
    assert driver.OPTIMIZATIONS["executable-targets"] is rare.branch

    def branch(module):
        made = rare.branch(module)
        functions = [str(op.attributes["sym_name"]) for op in operations_in(module, "llvm.func")]
        selects = [
            select
            for constant in operations_in(module, "llvm.mlir.constant")
            if rare._is_bound(constant)
            for comparison in constant.result.uses
            for select in comparison.owner.result.uses
            if select.owner.name == "llvm.select"
        ]
        found.append((made, len(selects), sum("rarely" in name for name in functions)))

    monkeypatch.setitem(driver.OPTIMIZATIONS, "executable-targets", branch)
    monkeypatch.setattr(driver, "may_crash", lambda *_: False)  # compiles loops in this process, too
    return found


def lowered(function, shape, dtype, target="cpu", count=1):
    with stagec.enable_x64(), stagec.config.override(cpu_kernels=False):
        spec = stagec.ShapeDtypeStruct(shape, dtype)
        stagec.jit(function, target=target).lower(*[spec] * count).as_text("executable-targets")


@pytest.mark.parametrize("dtype, target", [("float32", "cpu:x86-64-v4"), ("float64", "cpu:x86-64-v2")])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_kernel_computes_both_sides(counted, name, dtype, target):
    lowered(PROGRAMS[name], (40, 50), dtype, target)
    ((made, left, _),) = counted
    assert made and not left


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_no_kernel_of_complex_numbers_computes_both_sides(counted, dtype):
    lowered(lambda *args: [getattr(snp, name)(z) for name, z in zip(COMPLEX, args)], (40,), dtype, count=len(COMPLEX))
    ((made, left, _),) = counted
    assert made and not left


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_single_number_takes_the_branch_too(counted, dtype):
    lowered(lambda x: snp.sin(x) + snp.cos(x), (), dtype)
    ((made, left, _),) = counted
    assert made and not left
    x = np.asarray(1e10, dtype)
    with stagec.enable_x64():
        actual = stagec.jit(lambda x: snp.sin(x) + snp.cos(x))(x)
    np.testing.assert_allclose(np.asarray(actual), math.sin(1e10) + math.cos(1e10), rtol=1e-6)


def test_equal_branches_are_one_function(counted):
    lowered(lambda x: snp.sin(x) + snp.sin(2 * x) + snp.sin(3 * x), (1024,), "float32")
    assert counted == [(3, 0, 1)]


def test_a_float16_needs_no_branch(counted):
    lowered(snp.sin, (40,), "float16")
    assert counted == [(0, 0, 0)]


@pytest.mark.parametrize("size", [1, 7, 16, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_and_small_angles_stand_side_by_side(size, dtype):
    rng = np.random.default_rng(size)
    x = rng.uniform(-10, 10, size)
    x = np.where(rng.uniform(size=size) < 0.2, rng.choice(LARGE, size), x).astype(dtype)
    x[-1] = dtype(LARGE[1])
    reference = [np.array([getattr(math, name)(v) for v in x.tolist()]) for name in ("sin", "cos", "tan")]
    with stagec.enable_x64():
        actual = stagec.jit(lambda x: (snp.sin(x), snp.cos(x), snp.tan(x)))(x)
    for expected, found in zip(reference, actual):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=4 * float(np.finfo(dtype).eps))


def test_special_numbers():
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e10], np.float32)
    for function in (snp.sin, snp.tan):
        actual = np.asarray(stagec.jit(function)(x))
        assert np.isnan(actual).tolist() == [True, True, True, False, False, False]
        assert np.signbit(actual[3:5]).tolist() == [True, False]
    assert np.isnan(np.asarray(stagec.jit(snp.cos)(x))).tolist() == [True, True, True, False, False, False]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_functions_of_large_parts(dtype):
    large = np.array([*LARGE, 3.0, 2.0**30])
    x = np.array([0.5, -1.0, 0.25, 2.0, -0.5, 1.0])
    z = (x + 1j * large).astype(dtype)
    turned = (large + 1j * x).astype(dtype)
    arguments = {name: turned if name in ("sin", "cos", "tan") else z for name in COMPLEX}
    with stagec.enable_x64():
        actual = stagec.jit(lambda a: {name: getattr(snp, name)(v) for name, v in a.items()})(arguments)
    for name, v in arguments.items():
        function = (lambda w: cmath.exp(w) - 1) if name == "expm1" else getattr(cmath, name)
        expected = np.array([function(w) for w in v.tolist()])
        error = np.abs(np.asarray(actual[name]) - expected) / np.abs(expected)
        assert error.max() < 8 * np.finfo(dtype).eps, name
