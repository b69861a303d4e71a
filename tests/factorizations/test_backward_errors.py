"""Backward errors of compiled factorizations, of the matrices in the table of docs/explanation/factorizations.md."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from backward_errors import factorized, residuals, systems

import stagec

ROWS = 12


def test_factors_multiply_to_the_matrix():
    rng = np.random.default_rng(2)
    compiled = stagec.jit(factorized)
    for name, *given in systems(ROWS, rng):
        given = [g.astype("float32") for g in given] + [rng.standard_normal(ROWS).astype("float32")]
        solve, cholesky, *others = residuals(*given, *compiled(*given))
        # A matrix that is singular in float32 may have a factor or a solution by chance.
        assert np.isnan(cholesky) == (name != "random"), name
        assert np.isnan(solve) or solve < ROWS, name
        assert all(error < 3 * ROWS for error in others), (name, others)
        assert name != "random" or (solve < 2 and cholesky < 2)
