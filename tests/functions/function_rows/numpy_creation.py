"""`stagec.numpy`: arrays made of numbers, and questions about dtypes."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row

DTYPES = ("bool", "int8", "int32", "uint8", "float16", "float32", "complex64")


def _arange(s: Draw) -> Call:
    start, stop, step = s.number(), s.number(), s.one_of(1, 2, -1, 0.5)
    return s.one_of(call(stop), call(start, stop), call(start, stop, step))


def _linspace(s: Draw) -> Call:
    kind = s.kind("fc")
    shape = s.shape(0, 2)
    ends = (s.array(shape, kind, -2, 2), s.array(s.broadcast(shape), kind, -2, 2))
    return call(*ends, s.whole(0, 5), endpoint=s.chance(0.6), axis=s.one_of(0, -1))


def _logspace(s: Draw) -> Call:
    shape, kind = s.shape(0, 2), s.kind("f")
    return call(s.array(shape, kind, -1, 1), s.array(shape, kind, 1, 2), s.whole(0, 5), endpoint=s.chance(0.6))


def _geomspace(s: Draw) -> Call:
    shape, kind = s.shape(0, 2), s.kind("f")
    return call(s.array(shape, kind, 1, 2), s.array(shape, kind, 3, 5), s.whole(0, 5), endpoint=s.chance(0.6))


def _shape_and_dtype(s: Draw) -> Call:
    return s.one_of(call(s.shape()), call(s.shape(), s.one_of(*DTYPES)))


def _full(s: Draw) -> Call:
    return call(s.shape(), s.array((), s.kind()))


def _eye(s: Draw) -> Call:
    return call(s.whole(0, 4), s.whole(0, 4), s.whole(-2, 2), **({"dtype": s.one_of(*DTYPES)} if s.chance(0.5) else {}))


def _tri(s: Draw) -> Call:
    return call(s.whole(0, 4), s.whole(0, 4), s.whole(-2, 2))


def _indices(s: Draw) -> Call:
    return call(s.shape(0, 3), sparse=s.chance(0.3))


def _vander(s: Draw) -> Call:
    return call(s.array((s.whole(0, 4),), s.kind("ifc"), -2, 2), s.whole(0, 4), s.chance(0.5))


def _window(s: Draw) -> Call:
    return call(s.whole(0, 8))


def _added(*places):
    return sum(p * (i + 1) for i, p in enumerate(places))


def _fromfunction(s: Draw) -> Call:
    return call(_added, s.shape(1, 3, False))


def _pair(s: Draw) -> Call:
    return call(s.one_of(*DTYPES), s.one_of(*DTYPES))


def _ix(s: Draw) -> Call:
    return call(*(s.array((s.whole(1, 3),), "int32", 0, 3) for _ in range(s.whole(1, 3))))


ARRAYS = {"linspace", "logspace", "geomspace", "full", "vander"}


def row(name: str, draw, **options) -> Row:
    return Row(f"numpy.{name}", draw, getattr(np, name), **{"static": name not in ARRAYS, **options})


ROWS = [
    row("arange", _arange),
    row("linspace", _linspace, loose=4),
    row("logspace", _logspace, loose=8, scaled=True),
    row("geomspace", _geomspace, loose=8, scaled=True),
    *(row(name, _shape_and_dtype) for name in ("zeros", "ones")),
    row("full", _full),
    row("eye", _eye),
    row("identity", lambda s: call(s.whole(0, 4))),
    row("tri", _tri),
    row("indices", _indices),
    row("vander", _vander, loose=4, scaled=True),
    *(row(name, _window, loose=4) for name in ("bartlett", "blackman", "hamming", "hanning")),
    row("kaiser", lambda s: call(s.whole(0, 8), 2.5), loose=4),
    row("fromfunction", _fromfunction, like_jax=False, note="JAX vmaps the function; both give the same values"),
    row("diag_indices", lambda s: call(s.whole(0, 4), s.whole(1, 3))),
    row("tril_indices", _tri_indices := lambda s: call(s.whole(0, 4), s.whole(-2, 2))),
    row("triu_indices", _tri_indices),
    row("mask_indices", lambda s: call(s.whole(1, 4), np.triu, s.whole(-1, 1)), like_jax=False),
    row("broadcast_shapes", lambda s: (lambda x: call(x, s.broadcast(x)))(s.shape()), like_jax=False),
    row("ix_", _ix),
    row(
        "can_cast",
        lambda s: call(s.one_of(*DTYPES), s.one_of(*DTYPES), casting=s.one_of("safe", "same_kind")),
        like_jax=False,
    ),
    row(
        "isdtype", lambda s: call(np.dtype(s.one_of(*DTYPES)), s.one_of("integral", "numeric", "bool")), like_jax=False
    ),
    row("issubdtype", lambda s: call(s.one_of(*DTYPES), s.one_of(np.integer, np.inexact, np.number)), like_jax=False),
]
