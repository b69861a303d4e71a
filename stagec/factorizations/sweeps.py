"""Evaluation of the Schur form: by SciPy's LAPACK if SciPy is installed, otherwise by the QR algorithm in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.factorizations.hessenberg import reduced, reflection

# The limit of sweeps for each eigenvalue. About three are needed.
_SWEEPS = 30


def schur_of(a: Any) -> tuple[Any, Any]:
    """Return T and Q of one finite NumPy matrix, or NaN if the iteration does not converge."""
    if not a.size:
        return a, a
    try:
        from scipy import linalg
    except ImportError:
        return iterated(a)
    try:
        t, q = linalg.schur(a, output="complex" if a.dtype.kind == "c" else "real", check_finite=False)
    except linalg.LinAlgError:
        return np.full_like(a, np.nan), np.full_like(a, np.nan)
    return t, q


def iterated(a: Any) -> tuple[Any, Any]:
    """Return T and Q by the QR algorithm, as `francis.py` computes them in compiled programs."""
    n, kind = len(a), a.dtype.kind
    scale = abs(a).max() or 1
    h, scales = reduced(a / scale)
    q = np.eye(n, dtype=a.dtype)
    for k in reversed(range(n - 1)):
        v = np.concatenate([np.ones(1, a.dtype), h[k + 2 :, k]])
        q[k + 1 :] -= np.multiply.outer(scales[k] * v, v.conj() @ q[k + 1 :])
    h = np.triu(h, -1)
    eps = np.finfo(a.dtype).eps
    p, tries = n - 1, 0
    for _ in range(_SWEEPS * max(n, 10)):
        if p < 0:
            return h * scale, q
        low = p
        while low > 0:
            around = abs(h[low, low]) + abs(h[low - 1, low - 1])
            if abs(h[low, low - 1]) <= eps * max(around, eps):
                h[low, low - 1] = 0
                break
            low -= 1
        if p - low < (1 if kind == "c" else 2):
            if p > low:
                _standardize(h, q, low)
            p, tries = low - 1, 0
            continue
        tries += 1
        start = _with_one_shift(h, low, p, tries) if kind == "c" else _with_two_shifts(h, low, p, tries)
        for k in range(low, p):
            rows = slice(k, min(k + len(start), p + 1))
            v, t, _ = reflection(np.array(start, a.dtype)[: rows.stop - k] if k == low else h[rows, k - 1])
            h[rows] -= np.multiply.outer(t.conj() * v, v.conj() @ h[rows])
            h[:, rows] -= np.multiply.outer(h[:, rows] @ v, t * v.conj())
            q[:, rows] -= np.multiply.outer(q[:, rows] @ v, t * v.conj())
            if k > low:
                h[k + 1 : rows.stop, k - 1] = 0
    return np.full_like(a, np.nan), np.full_like(a, np.nan)


def _with_one_shift(h: Any, low: int, p: int, tries: int) -> list[Any]:
    shift = min(np.linalg.eigvals(h[p - 1 : p + 1, p - 1 : p + 1]), key=lambda value: abs(value - h[p, p]))
    if tries % 10 == 0:
        shift = h[p, p] + 0.75 * abs(h[p, p - 1])
    return [h[low, low] - shift, h[low + 1, low]]


def _with_two_shifts(h: Any, low: int, p: int, tries: int) -> list[Any]:
    x, y = np.linalg.eigvals(h[p - 1 : p + 1, p - 1 : p + 1])
    if x.imag == 0:
        # Of two real shifts, the one closer to the last element is used twice.
        x = y = min(x, y, key=lambda value: abs(value - h[p, p]))
    total, product = (x + y).real, (x * y).real
    if tries % 10 == 0:
        size = abs(h[p, p - 1]) + abs(h[p - 1, p - 2])
        total, product = 2 * h[p, p] + 1.5 * size, (h[p, p] + 0.75 * size) ** 2 + 0.4375 * size * size
    a, b = h[low, low], h[low + 1, low + 1]
    first = (a * a - total * a + product) / h[low + 1, low] + h[low, low + 1]
    return [first, a + b - total, h[low + 2, low + 1]]


def _standardize(h: Any, q: Any, k: int) -> None:
    """Rotate a block so that it is triangular, or has equal elements on its diagonal."""
    for _ in range(2):
        (a, b), (c, d) = h[k : k + 2, k : k + 2].astype(float)
        half = (a - d) / 2
        inner = half * half + b * c
        if c == 0 or (half == 0 and inner < 0):
            break
        if inner >= 0:
            x, y = half + math.copysign(math.sqrt(inner), half), c
        else:
            angle = math.atan2(-2 * half, b + c) / 2
            x, y = math.cos(angle), math.sin(angle)
        length = math.hypot(x, y) or 1.0
        turn = np.array([[x, y], [-y, x]], h.dtype) / h.dtype.type(length)
        rows = slice(k, k + 2)
        h[rows] = turn @ h[rows]
        h[:, rows] = h[:, rows] @ turn.T
        q[:, rows] = q[:, rows] @ turn.T
        if inner >= 0:
            h[k + 1, k] = 0
            break
        h[k, k] = h[k + 1, k + 1] = (h[k, k] + h[k + 1, k + 1]) / 2
