"""`stagec.lax`: gather and scatter, and functions that take functions."""

from __future__ import annotations

import functools

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row
from stagec import lax


def _rows_of(s: Draw) -> Call:
    x = s.array((s.whole(2, 4), s.whole(1, 3)), s.kind())
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    return call(x, s.index(len(x), (s.whole(0, 4), 1), False), numbers, (1, x.shape[1]), mode="clip")


def _gathered(x, places, numbers, sizes, mode):
    return x[places[:, 0]]


def _places(s: Draw, size: int, count: int) -> np.ndarray:
    """Positions, none twice: then derivatives exist for all of the functions, and any order is the same."""
    return s.permutation(size)[:count].reshape(-1, 1)


def _scatter(s: Draw, kinds: str = "iufc") -> Call:
    x = s.array((s.whole(2, 4), s.whole(1, 3)), s.kind(kinds))
    count = s.whole(0, len(x))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    updates = s.array((count, x.shape[1]), x.dtype)
    return call(x, _places(s, len(x), count), updates, numbers, unique_indices=True)


def _scattered(function):
    def oracle(x, places, updates, numbers, unique_indices):
        out = x.copy()
        for place, update in zip(places[:, 0], updates):
            out[place] = function(out[place], update)
        return out

    return oracle


def _apply(s: Draw) -> Call:
    x, places, _, numbers = _scatter(s, "fc").args
    return call(x, places, _sign_changed, numbers, update_shape=(len(places), x.shape[1]), unique_indices=True)


def _applied(x, places, function, numbers, update_shape, unique_indices):
    out = x.copy()
    out[places[:, 0]] = -out[places[:, 0]]
    return out


def _index_take(s: Draw) -> Call:
    x = s.array((s.whole(2, 4), s.whole(2, 3), 2), s.kind())
    n = (s.whole(1, 3),)
    return call(x, (s.index(x.shape[0], n, False), s.index(x.shape[1], n, False)), (0, 1))


def _fft(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind("c"), -2, 2)
    return call(x, s.one_of("FFT", "IFFT"), (x.shape[-1],))


def _transformed(x, kind, lengths):
    return (np.fft.fft if kind == "FFT" else np.fft.ifft)(x)


def _like(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind()
    return call(s.array(shape, kind), s.array((*s.shape(0, 1), *shape), kind))


# Functions of arrays, for those that take functions. They run on NumPy's arrays and on tracers.


def _total(carry, x):
    return carry + x, carry * 2


def _doubled(x):
    return x * 2 + 1


def _product(a, b):
    return a * b + 0


def _step(i, x):
    return x * 1.5 - i


def _below(state):
    return state[0] < 3


def _next(state):
    return state[0] + 1, state[1] * 1.5


def _squared(x):
    return x * x


def _sign_changed(x):
    return -x


def _floats(s: Draw, low: int = 0, high: int = 3) -> np.ndarray:
    return s.array(s.shape(low, high, False), s.kind("f"), -2, 2)


def _scan(s: Draw) -> Call:
    x = s.array((s.whole(0, 4), *s.shape(0, 2, False)), s.kind("f"), -2, 2)
    return call(_total, np.ones(x.shape[1:], x.dtype), x, reverse=s.chance(0.4))


def _scanned(function, carry, xs, reverse):
    found = []
    for x in xs[::-1] if reverse else xs:
        carry, y = function(carry, x)
        found.append(y)
    found = found[::-1] if reverse else found
    return carry, np.stack(found) if found else np.zeros(xs.shape, xs.dtype)


def _prefix(s: Draw) -> Call:
    x = s.array((s.whole(1, 5), *s.shape(0, 2, False)), s.kind("f"), -2, 2)
    return call(_product, x, reverse=s.chance(0.4))


def _prefixed(function, x, reverse):
    x = x[::-1] if reverse else x
    out = np.cumprod(x, 0)
    return out[::-1] if reverse else out


def _cond(s: Draw) -> Call:
    return call(s.array((), "bool"), _doubled, _sign_changed, _floats(s))


def _switch(s: Draw) -> Call:
    return call(s.index(5, ()) - 1, [_doubled, _sign_changed, _squared], _floats(s))


def _switched(i, branches, x):
    return branches[min(max(int(i), 0), 2)](x)


def _looped(low, high, body, x):
    return functools.reduce(lambda v, i: body(i, v), range(low, high), x)


def _while(s: Draw) -> Call:
    return call(_below, _next, (np.int32(s.whole(0, 4)), _floats(s)))


def _whiled(test, body, state):
    while test(state):
        state = body(state)
    return state


def _reduce(s: Draw) -> Call:
    x = s.array(s.shape(1, 3), s.kind("f"), -2, 2)
    return call(x, np.zeros((), x.dtype), lax.max, (s.whole(0, x.ndim - 1),))


def _reduced(x, start, function, axes):
    return np.max(x, axes, initial=0)


def _map(s: Draw) -> Call:
    return call(_doubled, _floats(s, 1), batch_size=s.one_of(None, 1, 2))


def row(name: str, draw, oracle, **options) -> Row:
    return Row(f"lax.{name}", draw, oracle, **options)


ROWS = [
    row("gather", _rows_of, _gathered),
    row("scatter", _scatter, _scattered(lambda old, new: new)),
    row("scatter_add", _scatter, _scattered(np.add)),
    row("scatter_sub", _scatter, _scattered(np.subtract)),
    row("scatter_mul", lambda s: _scatter(s, "iufc"), _scattered(np.multiply)),
    row("scatter_max", lambda s: _scatter(s, "iuf"), _scattered(np.maximum)),
    row("scatter_min", lambda s: _scatter(s, "iuf"), _scattered(np.minimum)),
    row("scatter_apply", _apply, _applied),
    row("index_take", _index_take, lambda x, places, axes: x[places]),
    row("fft", _fft, _transformed, scaled=True, loose=4),
    row("broadcast_like", _like, lambda x, y: np.broadcast_to(x, y.shape)),
    row("scan", _scan, _scanned, scaled=True),
    row("associative_scan", _prefix, _prefixed, scaled=True, loose=4),
    row("cond", _cond, lambda c, f, g, x: f(x) if c else g(x)),
    row("switch", _switch, _switched),
    row("fori_loop", lambda s: call(0, s.whole(0, 3), _step, _floats(s)), _looped),
    row("while_loop", _while, _whiled),
    row("map", _map, lambda f, x, batch_size: f(x)),
    row("reduce", _reduce, _reduced),
]
