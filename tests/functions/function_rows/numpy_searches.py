"""`stagec.numpy`: order, sets, searches."""

from __future__ import annotations

import numpy as np

import stagec.numpy as snp
from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def _along(s: Draw, kinds: str = "biuhfc") -> Call:
    x = s.array(s.shape(1, 4), s.kind(kinds))
    return call(x, axis=s.axis(x.ndim))


def _stable(function):
    return lambda x, axis: function(x, axis=axis, kind="stable")


def _partition(s: Draw) -> Call:
    x = s.array(tuple(n + 1 for n in s.shape(1, 3)), s.kind("iuf"))
    axis = s.axis(x.ndim, none=False)
    return call(x, s.whole(0, x.shape[axis] - 1), axis)


def _parted(made: Call, found):
    """What a partition promises: the element in its place, and the two sides as sets."""
    _, kth, axis = made.args
    found = snp.moveaxis(found, axis, -1)
    return [snp.sort(found[..., :kth]), found[..., kth], snp.sort(found[..., kth + 1 :])]


def _argparted(made: Call, found):
    return _parted(made, np.take_along_axis(np.asarray(made.args[0]), np.asarray(found), made.args[2]))


def _lexsort(s: Draw) -> Call:
    shape = s.shape(1, 3)
    return call([s.array(shape, s.kind("biuf")) for _ in range(s.whole(1, 3))], axis=s.axis(len(shape), none=False))


def _most(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind("biuf"))
    axis = s.axis(x.ndim, none=False)
    return call(x, s.whole(0, x.shape[axis]), axis=axis, mode=s.one_of("largest", "smallest"))


def _most_oracle(x, k, axis, mode):
    if mode == "smallest":
        order = np.argsort(x, axis, kind="stable")
    else:
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    order = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order.astype("int32")


def _sorted(s: Draw, n: int, kind) -> np.ndarray:
    x = np.sort(s.array((n,), kind, -4 if kind.kind != "u" else 0, 4))
    return x


def _searchsorted(s: Draw) -> Call:
    kind = s.kind("iuf")
    options = {"method": s.one_of("scan", "scan_unrolled", "sort", "compare_all")} if s.chance(0.3) else {}
    return call(_sorted(s, s.whole(0, 6), kind), s.array(s.shape(), kind), s.one_of("left", "right"), **options)


def _searchsorted_oracle(a, v, side, method=None):
    return np.searchsorted(a, v, side)


def _digitize(s: Draw) -> Call:
    kind = s.kind("iuf")
    bins = _sorted(s, s.whole(1, 5), kind)
    return call(s.array(s.shape(), kind), bins[::-1].copy() if s.chance(0.4) else bins, s.chance(0.5))


def _unique(s: Draw) -> Call:
    x = s.array(s.shape(0, 3), s.kind("biuf"))
    options = {n: True for n in ("return_index", "return_inverse", "return_counts") if s.chance(0.5)}
    if x.ndim > 1 and x.size and s.chance(0.3) and not s.edges:
        options["axis"] = s.axis(x.ndim, none=False)
    return call(x, **options)


def _vector(s: Draw, kind) -> np.ndarray:
    return s.array((s.whole(0, 6),), kind)


def _two_sets(s: Draw) -> Call:
    kind = s.kind("biuf")
    return call(_vector(s, kind), _vector(s, kind))


def _isin(s: Draw) -> Call:
    kind = s.kind("biuf")
    return call(s.array(s.shape(), kind), s.array(s.shape(0, 2), kind), invert=s.chance(0.3))


def row(name: str, draw, oracle=None, **options) -> Row:
    return Row(f"numpy.{name}", draw, oracle or getattr(np, name), **options)


INDICES = {"like_jax": False, "note": "positions are default integers, as the array API standard says"}
ROWS = [
    row("sort", _along),
    row("argsort", _along, _stable(np.argsort)),
    # NumPy has complex NaN in another order.
    row("sort_complex", lambda s: call(s.array(s.shape(1, 3), s.kind("iufc"), edges=False))),
    row("partition", _partition, invariant=_parted),
    row("argpartition", _partition, invariant=_argparted, batched=False, **INDICES),
    row("lexsort", _lexsort),
    row("top_k", _most, _most_oracle),
    row("searchsorted", _searchsorted, _searchsorted_oracle, **INDICES),
    row("digitize", _digitize, **INDICES),
    row("unique", _unique, concrete=True, derivative="refused"),
    *(
        row(f"unique_{n}", lambda s: call(s.array(s.shape(0, 3), s.kind("biuf"))), concrete=True, derivative="refused")
        for n in ("all", "counts", "inverse")
    ),
    # NumPy leaves the order open.
    row(
        "unique_values",
        lambda s: call(s.array(s.shape(0, 3), s.kind("biuf"))),
        lambda x: np.unique_counts(x)[0],
        concrete=True,
        derivative="refused",
    ),
    *(
        row(n, _two_sets, concrete=True, derivative="refused")
        for n in ("intersect1d", "setdiff1d", "setxor1d", "union1d")
    ),
    row("isin", _isin),
]
