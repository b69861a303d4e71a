"""`stagec.numpy`: shapes, and moving elements."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def any_array(s: Draw, low: int = 0, high: int = 4, **options) -> np.ndarray:
    return s.array(s.shape(low, high, **options), s.kind())


def of_one(low: int = 0, high: int = 4, *args):
    return lambda s: call(any_array(s, low, high), *args)


def of_axis(low: int = 1, high: int = 4, several: bool = False, none: bool = False):
    def draw(s: Draw) -> Call:
        x = any_array(s, low, high)
        return call(x, s.axis(x.ndim, several, none))

    return draw


def _expand(s: Draw) -> Call:
    x = any_array(s, 0, 3)
    return call(x, s.whole(-x.ndim - 1, x.ndim))


def _reshape(s: Draw) -> Call:
    x = any_array(s)
    shape = s.one_of((-1,), (x.size,), (1, x.size), x.shape[::-1], (*x.shape, 1))
    return call(x, (x.size,) if not x.size else shape, order=s.one_of("C", "F"))


def _ravel(s: Draw) -> Call:
    return call(any_array(s), s.one_of("C", "F"))


def _squeeze(s: Draw) -> Call:
    x = s.array((*s.shape(0, 2), 1, s.whole(1, 2)), s.kind())
    return call(x) if s.chance(0.5) else call(x, -2)


def _transpose(s: Draw) -> Call:
    x = any_array(s)
    axes = s.rng.permutation(x.ndim).tolist()
    return call(x) if s.chance(0.3) else call(x, tuple(axes))


def _permute(s: Draw) -> Call:
    x = any_array(s)
    return call(x, tuple(s.rng.permutation(x.ndim).tolist()))


def _two_axes(s: Draw) -> Call:
    x = any_array(s, 1)
    return call(x, s.axis(x.ndim, none=False), s.axis(x.ndim, none=False))


def _moveaxis(s: Draw) -> Call:
    x = any_array(s, 2)
    n = s.whole(1, x.ndim)
    return call(x, tuple(s.rng.permutation(x.ndim)[:n].tolist()), tuple(s.rng.permutation(x.ndim)[:n].tolist()))


def _rollaxis(s: Draw) -> Call:
    x = any_array(s, 1)
    return call(x, s.axis(x.ndim, none=False), s.whole(0, x.ndim))


def _rot90(s: Draw) -> Call:
    x = any_array(s, 2)
    axes = tuple(s.rng.permutation(x.ndim)[:2].tolist())
    return call(x, s.whole(-3, 5), axes)


def _roll(s: Draw) -> Call:
    x = any_array(s)
    axis = s.axis(x.ndim, True)
    if isinstance(axis, tuple) and s.chance(0.5):
        return call(x, tuple(s.whole(-5, 5) for _ in axis), axis)
    return call(x, s.whole(-5, 5), axis)


def _repeat(s: Draw) -> Call:
    x = any_array(s)
    axis = s.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    counts = s.whole(0, 3) if s.chance(0.6) else [s.whole(0, 2) for _ in range(size)] or 2
    return call(x, counts, axis)


def _tile(s: Draw) -> Call:
    return call(any_array(s, 0, 3), tuple(s.whole(0, 2) for _ in range(s.whole(0, 3))))


def _resize(s: Draw) -> Call:
    return call(any_array(s, empty=False), s.shape(0, 3))


def _broadcast_to(s: Draw) -> Call:
    shape = s.shape()
    return call(s.array(s.broadcast(shape), s.kind()), shape)


def _broadcast_arrays(s: Draw) -> Call:
    shape = s.shape()
    return call(*(s.array(s.broadcast(shape), s.kind()) for _ in range(s.whole(1, 3))))


MODES = ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean", "minimum", "empty")


def _pad(s: Draw) -> Call:
    x = any_array(s, 1, 3, empty=False) if not s.smooth else s.array(s.shape(1, 3), s.kind())
    mode = s.one_of(*MODES[:8] if x.dtype.kind in "iuf" and x.dtype.itemsize >= 4 else MODES[:5])
    widths = tuple((s.whole(0, 2), s.whole(0, 2)) for _ in x.shape)
    if mode == "mean" and x.dtype.kind != "f":
        mode = "edge"
    options = {"constant_values": 1} if mode == "constant" and s.chance(0.5) else {}
    return call(x, s.one_of(widths, s.whole(0, 2)), mode, **options)


def _joined(s: Draw, low: int = 1, several: int = 3) -> list:
    shape, axis = list(s.shape(low, 3)), 0
    kind = s.kind()
    arrays = []
    for _ in range(s.whole(1, several)):
        shape[axis] = s.whole(0, 3)
        arrays.append(s.array(shape, kind if s.smooth or s.chance(0.6) else s.kind()))
    return arrays


def _concatenate(s: Draw) -> Call:
    arrays = _joined(s)
    if s.chance(0.2):
        return call(arrays, axis=None)
    axis = s.whole(0, arrays[0].ndim - 1)
    return call([np.moveaxis(a, 0, axis) for a in arrays], s.one_of(axis, axis - arrays[0].ndim))


def _concat(s: Draw) -> Call:
    made = _concatenate(s)
    return call(made.args[0], axis=made.kwargs.get("axis", made.args[-1] if len(made.args) > 1 else 0))


def _stack(s: Draw) -> Call:
    shape, kind = s.shape(0, 3), s.kind()
    return call([s.array(shape, kind) for _ in range(s.whole(1, 3))], s.whole(-len(shape) - 1, len(shape)))


def _stacks(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind()
    return call([s.array(shape, kind) for _ in range(s.whole(1, 3))])


def _columns(s: Draw) -> Call:
    n, kind = s.whole(0, 4), s.kind()
    return call([s.array(s.one_of((n,), (n, 2)), kind) for _ in range(s.whole(1, 3))])


def _block(s: Draw) -> Call:
    kind, m, n = s.kind(), s.whole(1, 3), s.whole(1, 3)
    return call([[s.array((m, n), kind), s.array((m, 1), kind)], [s.array((2, n + 1), kind)]])


def _append(s: Draw) -> Call:
    kind = s.kind()
    if s.chance(0.5):
        return call(s.array(s.shape(0, 2), kind), s.array(s.shape(0, 2), kind))
    shape = s.shape(1, 3)
    return call(s.array(shape, kind), s.array(shape, kind), 0)


def _split(s: Draw, equal: bool, axis: bool = True, rank: int = 1) -> Call:
    parts = s.whole(1, 3)
    shape = list(s.shape(max(rank, 1), 4))
    along = {0: 0, 1: s.whole(0, len(shape) - 1)}[int(axis)] if axis or rank < 2 else rank - 1
    if equal:
        shape[along] = parts * s.whole(0, 2)
    x = s.array(shape, s.kind())
    where = parts if s.chance(0.6) else sorted(s.whole(0, 4) for _ in range(s.whole(0, 3)))
    return call(x, where, along) if axis else call(x, where)


def _atleast(s: Draw) -> Call:
    return call(*(any_array(s) for _ in range(s.whole(1, 2))))


def _trim(s: Draw) -> Call:
    x = s.array((s.whole(0, 6),), s.kind("if"), 0, 1)
    return call(np.where(np.arange(x.size) % 3 == 1, x, 0).astype(x.dtype), s.one_of("fb", "f", "b"))


def _diag(s: Draw) -> Call:
    return call(any_array(s, 1, 2), s.whole(-3, 3))


def _diagonal(s: Draw) -> Call:
    x = any_array(s, 2)
    axes = s.rng.permutation(x.ndim)[:2].tolist()
    return call(x, s.whole(-2, 2), *axes)


def _triangle(s: Draw) -> Call:
    return call(any_array(s, 2), s.whole(-3, 3))


def _bits(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), "uint8", 0, 255)  # NumPy pads an empty axis with anything
    options = {"count": s.whole(0, 10)} if s.chance(0.4) else {}
    return call(x, axis=s.axis(x.ndim, none=False), bitorder=s.one_of("big", "little"), **options)


def _pack(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, size=4), s.one_of("bool", "uint8"))
    return call(x, axis=s.axis(x.ndim, none=False), bitorder=s.one_of("big", "little"))


def _unwrap(s: Draw) -> Call:
    x = s.array(s.shape(1, 3), s.kind("f"), -9, 9)
    return call(x, axis=s.axis(x.ndim, none=False))


def _grid(s: Draw) -> Call:
    arrays = [s.array((s.whole(0, 3),), s.kind("if")) for _ in range(s.whole(1, 3))]
    return call(*arrays, indexing=s.one_of("xy", "ij"), sparse=s.chance(0.3))


def _like(s: Draw) -> Call:
    options = {"dtype": s.one_of("int8", "float32")} if s.chance(0.3) and not s.smooth else {}
    return call(any_array(s), **options)


def _full_like(s: Draw) -> Call:
    return call(any_array(s), s.whole(0, 3), **({"shape": s.shape(0, 2)} if s.chance(0.3) else {}))


def _astype(s: Draw) -> Call:
    x = s.array(s.shape(), s.kind("biuf"), edges=False)
    return call(x, "float64" if s.smooth else s.one_of("int32", "float32", "int16", "bool", "complex64"))


def both(names: str, draw, **options) -> list[Row]:
    return [Row(f"numpy.{name}", draw, getattr(np, name), **options) for name in names.split()]


ROWS = [
    *both("flip", of_axis(0, 4, True, True)),
    *both("fliplr", of_one(2)),
    *both("flipud", of_one(1)),
    *both("expand_dims", _expand),
    *both("reshape", _reshape),
    *both("ravel", _ravel),
    *both("squeeze", _squeeze),
    *both("transpose", _transpose),
    *both("permute_dims", _permute),
    *both("matrix_transpose", of_one(2)),
    *both("swapaxes", _two_axes),
    *both("moveaxis", _moveaxis),
    *both("rollaxis", _rollaxis),
    *both("rot90", _rot90),
    *both("roll", _roll),
    *both("repeat", _repeat),
    *both("tile", _tile),
    *both("resize", _resize),
    *both("broadcast_to", _broadcast_to),
    *both("broadcast_arrays", _broadcast_arrays),
    *both("pad", _pad, scaled=True),
    *both("concatenate", _concatenate),
    *both("concat", _concat),
    *both("stack", _stack),
    *both("vstack hstack dstack", _stacks),
    *both("column_stack", _columns),
    *both("block", _block),
    *both("append", _append),
    *both("split", lambda s: _split(s, True)),
    *both("array_split", lambda s: _split(s, False)),
    *both("vsplit", lambda s: _split(s, True, False, 0)),
    *both("hsplit", lambda s: _split(s, True, False, 2)),
    *both("dsplit", lambda s: _split(s, True, False, 3)),
    *both("unstack", lambda s: (lambda x: call(x, axis=s.axis(x.ndim, none=False)))(any_array(s, 1))),
    *both("atleast_1d atleast_2d atleast_3d", _atleast),
    *both("trim_zeros", _trim, concrete=True, derivative="refused"),
    *both("diag", _diag),
    *both("diagflat", lambda s: call(any_array(s, 0, 2), s.whole(-2, 2))),
    *both("diagonal", _diagonal),
    *both("trace", _diagonal, scaled=True),
    *both("tril triu", _triangle),
    *both("unpackbits", _bits),
    *both("packbits", _pack),
    *both("unwrap", _unwrap, loose=4),
    *both("meshgrid", _grid),
    *both("zeros_like ones_like", _like),
    *both("full_like", _full_like),
    *both("copy array asarray", of_one()),
    *both("ndim size shape iscomplexobj isrealobj iterable", of_one(), static=True),
    *both("isscalar", of_one(1), static=True, note="an array of rank 0 is one, as in JAX"),
    *both("astype", _astype),
    *both("diag_indices_from", lambda s: call(s.array((s.whole(1, 3),) * 2, s.kind())), static=True),
    *both("tril_indices_from triu_indices_from", lambda s: call(any_array(s, 2, 2), s.whole(-2, 2)), static=True),
]
