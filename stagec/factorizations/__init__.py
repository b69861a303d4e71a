"""Factorizations of matrices as primitives, evaluated by LAPACK and lowered to algorithms over other primitives."""
