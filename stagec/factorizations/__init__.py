"""Factorizations of matrices: each is a row, evaluated by LAPACK and lowered to an algorithm over primitives."""
