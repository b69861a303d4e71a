"""`stagec.lax`: operations on arrays."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, plain


def array(s: Draw, low: int = 0, high: int = 4, kinds: str = "biuhfc", empty: bool = True) -> np.ndarray:
    return s.array(s.shape(low, high, empty), s.kind(kinds))


def _axes(s: Draw, rank: int) -> tuple[int, ...]:
    return tuple(sorted(s.rng.permutation(rank)[: s.whole(0, rank)].tolist()))


def _reduction(kinds: str):
    def draw(s: Draw) -> Call:
        x = s.array(s.shape(), s.kind(kinds), *((0.5, 2) if s.smooth else ()))
        return call(x, _axes(s, x.ndim))

    return draw


def _extreme(name: str):
    def oracle(x, axes):
        if x.dtype == bool:
            start = name == "min"
        else:
            info = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
            start = (
                (np.inf if name == "min" else -np.inf)
                if x.dtype.kind == "f"
                else (info.max if name == "min" else info.min)
            )
        return getattr(np, name)(x, axis=axes, initial=start)

    return plain(oracle)


def _along(s: Draw, kinds: str = "iufc", low: float = 0.5) -> Call:
    x = s.array(s.shape(1, 4), s.kind(kinds), *((low, 2) if s.smooth else ()))
    return call(x, s.whole(0, x.ndim - 1), s.chance(0.4))


def _cumulative(function):
    def oracle(x, axis, reverse):
        x = np.flip(x, axis) if reverse else x
        out = function(x, axis)
        return np.flip(out, axis) if reverse else out

    return oracle


def _same_dtype(function):
    return lambda x, axis: function(x, axis, dtype=x.dtype)


def _arg(s: Draw) -> Call:
    x = array(s, 1, 4, "biuhf", False)
    return call(x, s.whole(0, x.ndim - 1), s.one_of("int32", "uint8"))


def _broadcast(s: Draw) -> Call:
    return call(array(s, 0, 2), s.shape(0, 2))


def _broadcast_in_dim(s: Draw) -> Call:
    shape = s.shape(0, 4)
    places = _axes(s, len(shape))
    return call(s.array([s.one_of(1, shape[i]) for i in places], s.kind()), shape, places)


def _in_dim(x, shape, places):
    full = [1] * len(shape)
    for n, i in zip(x.shape, places):
        full[i] = n
    return np.broadcast_to(x.reshape(full), shape)


def _collapse(s: Draw) -> Call:
    x = array(s, 1, 4)
    start = s.whole(0, x.ndim - 1)
    return call(x, start, s.whole(start + 1, x.ndim))


def _collapsed(x, start, stop):
    return x.reshape(*x.shape[:start], int(np.prod(x.shape[start:stop])), *x.shape[stop:])


def _concatenate(s: Draw) -> Call:
    shape, kind = list(s.shape(1, 3)), s.kind()
    axis, parts = s.whole(0, len(shape) - 1), []
    for _ in range(s.whole(1, 3)):
        shape[axis] = s.whole(0, 3)
        parts.append(s.array(shape, kind))
    return call(parts, axis)


def _stack(s: Draw) -> Call:
    shape, kind = s.shape(0, 3), s.kind()
    return call([s.array(shape, kind) for _ in range(s.whole(1, 3))], s.whole(0, len(shape)))


def _pad(s: Draw) -> Call:
    x = array(s, 0, 3)
    return call(
        x, s.array((), x.dtype), tuple((s.whole(-1 if n > 1 else 0, 2), s.whole(0, 2), s.whole(0, 2)) for n in x.shape)
    )


def padded(x, value, config):
    for axis, (low, high, inside) in enumerate(config):
        moved = np.moveaxis(x, axis, 0)
        n = len(moved) + max(len(moved) - 1, 0) * inside
        wide = np.full((n, *moved.shape[1:]), value, x.dtype)
        wide[:: inside + 1] = moved
        ends = [np.full((max(k, 0), *moved.shape[1:]), value, x.dtype) for k in (low, high)]
        wide = np.concatenate([ends[0], wide[-min(low, 0) : len(wide) + min(high, 0)], ends[1]])
        x = np.moveaxis(wide, 0, axis)
    return x


def _slice(s: Draw) -> Call:
    x = array(s, 0, 4)
    starts = [s.whole(0, n) for n in x.shape]
    stops = [s.whole(a, n) for a, n in zip(starts, x.shape)]
    return call(x, starts, stops, [s.whole(1, 2) for _ in starts])


def _sliced(x, starts, stops, steps):
    return x[tuple(map(slice, starts, stops, steps))]


def _dynamic_slice(s: Draw) -> Call:
    x = array(s, 1, 3, empty=False)
    sizes = [s.whole(0, n) for n in x.shape]
    return call(x, [np.asarray(s.values.integers(-2, 6), np.int32) for _ in sizes], sizes)


def _start(i, n, size, wraps=True):
    i = int(i) + n if wraps and i < 0 else int(i)
    return min(max(i, 0), n - size)


def _dynamically(x, starts, sizes):
    at = [_start(i, n, k) for i, n, k in zip(starts, x.shape, sizes)]
    return x[tuple(slice(a, a + k) for a, k in zip(at, sizes))]


def _dynamic_update(s: Draw) -> Call:
    x = array(s, 1, 3, empty=False)
    sizes = [s.whole(0, n) for n in x.shape]
    return call(x, s.array(sizes, x.dtype), [np.asarray(s.values.integers(-2, 6), np.int32) for _ in sizes])


def _updated(x, update, starts):
    at = [_start(i, n, k) for i, n, k in zip(starts, x.shape, update.shape)]
    x = x.copy()
    x[tuple(slice(a, a + k) for a, k in zip(at, update.shape))] = update
    return x


def _in_axis(s: Draw) -> Call:
    x = array(s, 1, 3, empty=False)
    axis = s.whole(0, x.ndim - 1)
    return call(x, np.asarray(s.values.integers(-2, 6), np.int32), s.whole(0, x.shape[axis]), axis)


def _slice_axis(x, start, size, axis):
    a = _start(start, x.shape[axis], size)
    return np.take(x, range(a, a + size), axis)


def _update_axis(s: Draw) -> Call:
    x, start, size, axis = _in_axis(s).args
    shape = list(x.shape)
    shape[axis] = size
    return call(x, s.array(shape, x.dtype), start, axis)


def _updated_axis(x, update, start, axis):
    starts = [0] * x.ndim
    starts[axis] = start
    return _updated(x, update, starts)


def _index_axis(s: Draw) -> Call:
    x, start, _, axis = _in_axis(s).args
    return call(x, start, axis, s.chance(0.5))


def _indexed(x, i, axis, keepdims):
    out = _slice_axis(x, i, 1, axis)
    return out if keepdims else out.squeeze(axis)


def _update_index(s: Draw) -> Call:
    x, start, _, axis = _in_axis(s).args
    shape = list(x.shape)
    del shape[axis]
    return call(x, s.array(shape, x.dtype), start, axis)


def _updated_index(x, update, start, axis):
    return _updated_axis(x, np.expand_dims(update, axis), start, axis)


def _slice_in_dim(s: Draw) -> Call:
    x = array(s, 1, 3)
    axis = s.whole(0, x.ndim - 1)
    start = s.whole(0, x.shape[axis])
    return call(x, start, s.whole(start, x.shape[axis]), s.whole(1, 2), axis)


def _sliced_in_dim(x, start, stop, step, axis):
    return np.moveaxis(np.moveaxis(x, axis, 0)[start:stop:step], 0, axis)


def _index_in_dim(s: Draw) -> Call:
    x = array(s, 1, 3, empty=False)
    axis = s.whole(0, x.ndim - 1)
    return call(x, s.whole(-x.shape[axis], x.shape[axis] - 1), axis, s.chance(0.5))


def _rev(s: Draw) -> Call:
    x = array(s)
    return call(x, _axes(s, x.ndim))


def _transpose(s: Draw) -> Call:
    x = array(s)
    return call(x, tuple(s.rng.permutation(x.ndim).tolist()))


def _reshape(s: Draw) -> Call:
    x = array(s)
    return call(x, s.one_of((x.size,), x.shape[::-1], (1, *x.shape)))


def _expand(s: Draw) -> Call:
    x = array(s, 0, 3)
    return call(x, (0, s.whole(1, x.ndim + 1)))


def _squeeze(s: Draw) -> Call:
    return call(s.array((s.whole(0, 3), 1, s.whole(1, 3), 1), s.kind()), s.one_of((1,), (1, 3), (-1,)))


def _split(s: Draw) -> Call:
    x = array(s, 1, 3)
    axis = s.whole(0, x.ndim - 1)
    n = s.whole(0, x.shape[axis])
    return call(x, (n, x.shape[axis] - n), axis)


def _parts(x, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def _sort(s: Draw) -> Call:
    x = array(s, 1, 4)
    return call(x, s.whole(0, x.ndim - 1))


def _sort_pair(s: Draw) -> Call:
    shape = s.shape(1, 3)
    return call(s.array(shape, s.kind("iuf")), s.array(shape, s.kind("if")), s.whole(0, len(shape) - 1))


def _sorted_pair(keys, values, axis):
    order = np.argsort(keys, axis, kind="stable")
    return [np.take_along_axis(keys, order, axis), np.take_along_axis(values, order, axis)]


def _top_k(s: Draw) -> Call:
    x = array(s, 1, 3, "iuf", False)
    return call(x if s.smooth else np.nan_to_num(x), s.whole(0, x.shape[-1]))


def _top(x, k):
    order = np.argsort(-x.astype(np.float64), -1, kind="stable")[..., :k]
    return [np.take_along_axis(x, order, -1), order]


def _approximately(s: Draw) -> Call:
    x = s.array(s.shape(1, 2, False), s.kind("f"), -3, 3)
    return call(x, s.whole(1, x.shape[-1]))


def _lowest(x, k):
    values, order = _top(-x, k)
    return [-values, order]


def _tile(s: Draw) -> Call:
    x = array(s, 0, 3)
    return call(x, tuple(s.whole(0, 2) for _ in x.shape))


def _segments(s: Draw) -> Call:
    n, kind = s.whole(3 if s.smooth else 0, 5), s.kind("if")
    data = s.array((n, *s.shape(0, 2)), kind, *((0.5, 2) if s.smooth else ()), edges=False)
    places = s.index(3, (n,), False)
    return call(data, np.arange(n, dtype=np.int32) % 3 if s.smooth else places, num_segments=3)


def _segmented(name: str):
    def oracle(data, places, num_segments):
        starts = {"sum": 0, "prod": 1}
        info = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        least, most = (-np.inf, np.inf) if data.dtype.kind == "f" else (info.min, info.max)
        start = starts.get(name, {"max": least, "min": most}.get(name))
        out = np.full((num_segments, *data.shape[1:]), start, data.dtype)
        function = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[name]
        function.at(out, places, data)
        return out

    return oracle


def _full(s: Draw) -> Call:
    return call(s.shape(), s.array((), s.kind()))


def _iota(s: Draw) -> Call:
    return call(s.one_of("int32", "uint8", "float32"), s.whole(0, 5))


def _broadcasted_iota(s: Draw) -> Call:
    shape = s.shape(1, 3)
    return call(s.one_of("int32", "float32"), shape, s.whole(0, len(shape) - 1))


def _iotas(dtype, shape, axis):
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def _logsumexp(x, axis, reverse):
    return _cumulative(np.logaddexp.accumulate)(x, axis, reverse)


def row(name: str, draw, oracle, **options) -> Row:
    return Row(f"lax.{name}", draw, oracle, **options)


ROWS = [
    row("reduce_sum", _reduction("iuf"), lambda x, axes: x.sum(axes, dtype=x.dtype), scaled=True, loose=4),
    row("reduce_prod", _reduction("iuf"), lambda x, axes: x.prod(axes, dtype=x.dtype), scaled=True, loose=4),
    row("reduce_max", _reduction("biuf"), _extreme("max")),
    row("reduce_min", _reduction("biuf"), _extreme("min")),
    row("reduce_and", _reduction("biu"), lambda x, axes: np.bitwise_and.reduce(x, axes)),
    row("reduce_or", _reduction("biu"), lambda x, axes: np.bitwise_or.reduce(x, axes)),
    row("reduce_xor", _reduction("biu"), lambda x, axes: np.bitwise_xor.reduce(x, axes)),
    row("argmax", _arg, lambda x, axis, dtype: np.argmax(x, axis)),
    row("argmin", _arg, lambda x, axis, dtype: np.argmin(x, axis)),
    row("cumsum", _along, _cumulative(_same_dtype(np.cumsum)), scaled=True, loose=4),
    row("cumprod", _along, _cumulative(_same_dtype(np.cumprod)), scaled=True, loose=4),
    row("cummax", lambda s: _along(s, "iuf"), _cumulative(lambda x, axis: np.maximum.accumulate(x, axis))),
    row("cummin", lambda s: _along(s, "iuf"), _cumulative(lambda x, axis: np.minimum.accumulate(x, axis))),
    row(
        "cumlogsumexp",
        lambda s: call(s.array(shape := s.shape(1, 3), s.kind("f"), -3, 3), s.whole(0, len(shape) - 1), s.chance(0.4)),
        _logsumexp,
        loose=4,
    ),
    row("broadcast", _broadcast, lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape))),
    row("broadcast_in_dim", _broadcast_in_dim, _in_dim),
    row("collapse", _collapse, _collapsed),
    row("concatenate", _concatenate, np.concatenate),
    row("stack", _stack, np.stack),
    row("pad", _pad, padded),
    row("slice", _slice, _sliced),
    row("dynamic_slice", _dynamic_slice, _dynamically),
    row("dynamic_update_slice", _dynamic_update, _updated),
    row("dynamic_slice_in_dim", _in_axis, _slice_axis),
    row("dynamic_update_slice_in_dim", _update_axis, _updated_axis),
    row("dynamic_index_in_dim", _index_axis, _indexed),
    row("dynamic_update_index_in_dim", _update_index, _updated_index),
    row("slice_in_dim", _slice_in_dim, _sliced_in_dim),
    row("index_in_dim", _index_in_dim, _indexed),
    row("rev", _rev, lambda x, axes: np.flip(x, axes)),
    row("transpose", _transpose, np.transpose),
    row("reshape", _reshape, np.reshape),
    row("expand_dims", _expand, np.expand_dims),
    row("squeeze", _squeeze, np.squeeze),
    row("split", _split, _parts),
    row(
        "unstack", lambda s: call(x := array(s, 1, 3), s.whole(0, x.ndim - 1)), lambda x, axis: np.unstack(x, axis=axis)
    ),
    row("sort", _sort, lambda x, axis: np.sort(x, axis)),
    row("sort_key_val", _sort_pair, _sorted_pair),
    row("top_k", _top_k, _top),
    row("approx_max_k", _approximately, _top),
    row("approx_min_k", _approximately, _lowest),
    row("tile", _tile, np.tile),
    row("full", _full, np.full),
    row("full_like", lambda s: call(array(s), s.whole(0, 3)), np.full_like),
    row("zeros_like", lambda s: call(array(s)), np.zeros_like),
    row("iota", _iota, lambda dtype, n: np.arange(n)),
    row("broadcasted_iota", _broadcasted_iota, _iotas),
    row(
        "broadcast_to_rank",
        lambda s: call(x := array(s, 0, 3), s.whole(x.ndim, 4)),
        lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape),
    ),
    *(Row(f"ops.segment_{n}", _segments, _segmented(n), scaled=True) for n in ("sum", "max", "min")),
    Row("ops.segment_prod", _segments, _segmented("prod"), scaled=True, derivative="refused"),
]
