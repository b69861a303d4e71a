"""Derivatives of what is computed by factorizations, and batches of it."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import positive, random, well, wide

import stagec
import stagec.numpy as snp
from stagec import lax

LA = snp.linalg


def triangle(dtype):
    return (well(4, 4, dtype=dtype) + 8 * np.eye(4)).astype(dtype)


def cases(dtype):
    a, tall, definite, b = well(4, 4, dtype=dtype), random(5, 3, dtype=dtype), positive(4, 4, dtype=dtype), None
    b = random(4, 2, dtype=dtype)
    stack = well(2, 3, 3, dtype=dtype)
    found = [
        ("cholesky", LA.cholesky, definite),
        ("cholesky of one triangle", lambda x: LA.cholesky(x, symmetrize_input=False), definite + 0.1 * a),
        ("eigenvalues of one triangle", lambda x: LA.eigvalsh(x, symmetrize_input=False), a),
        ("eigh of one triangle", lambda x: LA.eigh(x, "U", symmetrize_input=False)[0], a),
        ("lu", lambda x: lax.linalg.lu(x)[0], a),
        ("lu of a tall matrix", lambda x: lax.linalg.lu(x)[0], tall),
        ("lu of a wide matrix", lambda x: lax.linalg.lu(x)[0], tall.T),
        ("qr", LA.qr, tall),
        ("qr of a wide matrix", LA.qr, tall.T),
        ("qr with all columns", lambda x: LA.qr(x, "complete"), tall),
        ("qr of matrices with all columns", lambda x: LA.qr(x, "complete"), stack[:, :, :2]),
        ("solve", LA.solve, a, b),
        ("solve a vector", LA.solve, stack, b[:3, 0]),
        ("inv", LA.inv, stack),
        ("det", LA.det, stack),
        ("a larger det", LA.det, a),
        ("a det of two rows", LA.det, stack[:, :2, :2]),
        ("a det of one row", LA.det, stack[:, :1, :1]),
        ("slogdet", lambda x: LA.slogdet(x).logabsdet, stack),
        ("tensorsolve", lambda x, y: LA.tensorsolve(x.reshape(2, 2, 4), y.reshape(2, 2)), a, b[:, 0]),
    ]
    for left in (True, False):
        for lower in (True, False):
            for turned in (True, False):
                kind = {"left_side": left, "lower": lower, "transpose_a": turned, "conjugate_a": dtype == "complex128"}

                def solve(x, y, kind=kind):
                    return lax.linalg.triangular_solve(x, y, **kind)

                found.append((f"triangular_solve {kind}", solve, triangle(dtype), b if left else b.T))
    return found


CASES = [
    *[(f"{c[0]} real", *c[1:]) for c in cases("float64")],
    *[(f"{c[0]} complex", *c[1:]) for c in cases("complex128")],
]


def inner(x, y):
    """The sum of the products of all elements; of the real parts, as in JAX's convention of cotangents."""
    leaves = zip(stagec.tree.leaves(x), stagec.tree.leaves(y), strict=True)
    return sum(float(np.sum(np.asarray(a) * np.asarray(b)).real) for a, b in leaves)


def tangents_like(args, seed):
    return [random(*a.shape, dtype=a.dtype, seed=seed) for a in args]


def check_derivatives(function, args, tolerance=1e-5):
    """The jvp against differences, and the vjp against the jvp."""
    directions = tangents_like(args, 1)
    out, forward = stagec.jvp(function, tuple(map(snp.asarray, args)), tuple(map(snp.asarray, directions)))
    step = 1e-6
    ahead, behind = (function(*[a + s * d for a, d in zip(args, directions)]) for s in (step, -step))
    for x, y, z in zip(*map(stagec.tree.leaves, (ahead, behind, forward)), strict=True):
        expected = (wide(x) - wide(y)) / (2 * step)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(np.asarray(z), expected, rtol=0, atol=tolerance * scale)
    _, pull = stagec.vjp(function, *map(snp.asarray, args))
    cts = stagec.tree.map(lambda o: snp.asarray(random(*o.shape, dtype=o.dtype, seed=2)), out)
    back = pull(cts)
    assert inner(cts, forward) == pytest.approx(inner(list(back), directions), rel=1e-8)


@pytest.mark.parametrize(("name", "case"), [(c[0], c[1:]) for c in CASES], ids=[c[0] for c in CASES])
def test_derivatives(name, case):
    function, *args = case
    with stagec.enable_x64():
        check_derivatives(function, args)


SECOND = (
    "cholesky",
    "qr",
    "qr of a wide matrix",
    "qr with all columns",
    "solve",
    "inv",
    "a larger det",
    "slogdet",
    "lu",
)


@pytest.mark.parametrize("case", [c for c in CASES if c[0].removesuffix(" real") in SECOND], ids=lambda c: c[0])
def test_second_derivatives(case):
    _, function, *args = case
    with stagec.enable_x64():
        directions = [snp.asarray(t) for t in tangents_like(args, 3)]
        check_derivatives(lambda *xs: stagec.jvp(function, xs, tuple(directions))[1], args, 1e-4)


def test_the_determinant_of_a_singular_matrix_has_a_derivative():
    with stagec.enable_x64():
        for n in (1, 2, 3, 4, 5):
            a = random(n, n, dtype="float64")
            a[-1] = a[:-1].sum(0)
            # The cofactors, one minor after the other.
            minors = [
                [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)]
                for i in range(n)
            ]
            np.testing.assert_allclose(np.asarray(stagec.grad(LA.det)(snp.asarray(a))), minors, atol=1e-9)
        assert np.asarray(stagec.grad(LA.det)(snp.zeros((3, 3)))).tolist() == np.zeros((3, 3)).tolist()


def test_compiled_derivatives_are_the_evaluated_ones():
    with stagec.enable_x64():
        functions = [
            (lambda a: LA.solve(a, a[:, :2]).sum(), well(4, 4, dtype="float64")),
            (lambda a: LA.cholesky(a)[2, 0], positive(4, 4, dtype="float64")),
            (lambda a: LA.qr(a)[1].sum(), random(4, 3, dtype="float64")),
            (lambda a: LA.det(a) + LA.slogdet(a)[1], well(4, 4, dtype="float64")),
        ]
        made = stagec.jit(lambda xs: [stagec.grad(f)(x) for (f, _), x in zip(functions, xs)])([x for _, x in functions])
        for (f, x), found in zip(functions, made):
            np.testing.assert_allclose(
                np.asarray(found), np.asarray(stagec.grad(f)(snp.asarray(x))), rtol=1e-9, atol=1e-12
            )


def test_vmap_is_a_loop():
    a, b, definite = well(3, 4, 4), random(3, 4, 2), positive(3, 4, 4)
    for function, args in [
        (LA.solve, (a, b)),
        (LA.cholesky, (definite,)),
        (lax.linalg.lu, (a,)),
        (LA.qr, (a[:, :, :2],)),
        (lambda x: stagec.jvp(lambda y: LA.qr(y, "complete"), (x,), (x[::-1],))[1], (a[:, :, :2],)),
        (LA.det, (a,)),
        (lambda x: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 4), (a,)),
    ]:
        for axis in (0, -1):
            moved = [np.moveaxis(x, 0, axis) for x in args]
            made = stagec.vmap(function, in_axes=axis)(*moved)
            each = [function(*(snp.asarray(x[i]) for x in args)) for i in range(3)]
            for found, *rows in zip(stagec.tree.leaves(made), *map(stagec.tree.leaves, each), strict=True):
                np.testing.assert_allclose(np.asarray(found), np.stack([np.asarray(r) for r in rows]), rtol=1e-6)
    made = stagec.vmap(LA.solve, in_axes=(None, 0))(a[0], b)
    np.testing.assert_allclose(np.asarray(made), np.linalg.solve(a[0], b), rtol=1e-3, atol=1e-5)
    inside = stagec.jit(stagec.vmap(lambda a, b: LA.solve(a, b)))(a, b)
    np.testing.assert_allclose(np.asarray(inside), np.linalg.solve(a, b), rtol=1e-3, atol=1e-5)
