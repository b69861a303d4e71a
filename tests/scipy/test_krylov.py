"""`cg`, `bicgstab` and `gmres`: solutions, derivatives, preconditioners."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.errors import PytreeError, ShapeError
from stagec.scipy.sparse.linalg import bicgstab, cg, gmres

SOLVERS = [cg, bicgstab, gmres]
SIZE = 12


def system(solver, dtype="float32"):
    """A matrix that the solver takes, and a right-hand side."""
    random = np.random.default_rng(0)
    a = random.normal(size=(SIZE, SIZE)) / 4 + 3 * np.eye(SIZE)
    b = random.normal(size=SIZE)
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * random.normal(size=a.shape) / 4, b + 1j * random.normal(size=SIZE)
    if solver is cg:
        a = a @ a.conj().T / 3
    return snp.asarray(a.astype(dtype)), snp.asarray(b.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solution_solves(solver, dtype):
    a, b = system(solver, dtype)
    for x, info in (solver(a, b, tol=1e-6), solver(lambda v: a @ v, b, tol=1e-6, x0=b)):
        assert info is None and x.dtype == dtype
        np.testing.assert_allclose(a @ x, b, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_compiled_solution_and_its_gradient(solver):
    a, b = system(solver)

    def f(a, b):
        return snp.sum(solver(a, b, tol=1e-6)[0] ** 2)

    expected = stagec.grad(lambda a, b: snp.sum(snp.linalg.solve(a, b) ** 2), (0, 1))(a, b)
    for found, wanted in zip(stagec.jit(stagec.grad(f, (0, 1)))(a, b), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_complex_equations_are_compiled():
    """A matrix of complex numbers that is updated between two loops crashes the compiler."""
    a, b = system(gmres, "complex64")
    np.testing.assert_allclose(a @ stagec.jit(lambda a, b: gmres(a, b, restart=8)[0])(a, b), b, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_trees_of_arrays(solver):
    b = {"u": snp.ones((2, 2)), "v": snp.arange(2.0)}
    found, _ = solver(lambda x: {"u": 2 * x["u"], "v": 4 * x["v"]}, b, x0=b)
    np.testing.assert_allclose(found["u"], np.full((2, 2), 0.5), rtol=1e-5)
    np.testing.assert_allclose(found["v"], [0, 0.25], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_preconditioner_saves_steps(solver):
    d = snp.arange(1.0, 31.0) ** 2
    b = snp.ones(30)
    near = solver(lambda x: d * x, b, M=lambda x: x / d, maxiter=1)[0]
    np.testing.assert_allclose(near, 1 / d, rtol=1e-4)
    options = {"restart": 3} if solver is gmres else {}
    assert abs(solver(lambda x: d * x, b, maxiter=1, **options)[0] - 1 / d).max() > 0.01


@pytest.mark.parametrize("solver", SOLVERS)
def test_zeros_and_integers(solver):
    a, b = system(solver)
    assert not np.any(np.asarray(solver(a, 0 * b)[0]))
    found = solver(2 * snp.eye(3, dtype="int32"), snp.arange(3))[0]
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, [0, 0.5, 1], atol=1e-6)


def test_a_space_that_is_exhausted_is_enough():
    a = snp.diag(snp.array([1.0, 1.0, 1.0, 2.0, 2.0]))
    b = snp.arange(1.0, 6.0)
    np.testing.assert_allclose(gmres(a, b)[0], b / snp.diag(a), rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_batches(solver):
    a, b = system(solver)
    found = stagec.vmap(lambda b: solver(a, b, tol=1e-6)[0])(snp.stack([b, 2 * b]))
    np.testing.assert_allclose(found @ a.T, np.stack([b, 2 * b]), atol=1e-5)


def test_what_is_no_system_is_refused():
    b = snp.ones(3)
    with pytest.raises(ShapeError, match="cg: A must be a square matrix or a function"):
        cg(snp.ones((3, 2)), b)
    with pytest.raises(ShapeError, match="cg: x0"):
        cg(snp.eye(3), b, x0=snp.ones(2))
    with pytest.raises(PytreeError, match="cg: x0"):
        cg(snp.eye(3), b, x0=[b])
    with pytest.raises(ShapeError):
        cg(lambda x: x[:2], b)
    with pytest.raises(ValueError, match="solve_method='direct'"):
        gmres(snp.eye(3), b, solve_method="direct")
