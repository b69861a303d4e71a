"""Sliding windows and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import BOOL, COMPLEX, FLOATS, INTEGERS, Case, sample
from cases.reduce import combining
from stagec.primitives import arithmetic as ar
from stagec.primitives.logic import gt, select

PLAIN: dict[str, Any] = {
    "window_dimensions": (2, 3),
    "window_strides": (1, 1),
    "padding": ((0, 0), (0, 0)),
    "base_dilation": (1, 1),
    "window_dilation": (1, 1),
}
EVERYTHING: dict[str, Any] = {
    "window_dimensions": (2, 3),
    "window_strides": (1, 2),
    "padding": ((1, 0), (-1, 2)),
    "base_dilation": (2, 1),
    "window_dilation": (1, 2),
}


def _named() -> list[Case]:
    out = []
    for d in [*INTEGERS, *FLOATS, *COMPLEX]:
        x = sample((6, 9), d, low=-2, high=2)
        for name in ("reduce_window_sum", "reduce_window_prod"):
            out += [Case(name, [x], p, ulps=8, atol=1e-4) for p in (PLAIN, EVERYTHING)]
    for d in [BOOL, *INTEGERS, *FLOATS]:
        x = sample((6, 9), d, low=-100, high=100)
        if d.kind != "b" and d.kind not in "iu":
            x[2, 3] = np.nan
        for name in ("reduce_window_max", "reduce_window_min"):
            out += [Case(name, [x], p) for p in (PLAIN, EVERYTHING)]
    return out


def _general() -> list[Case]:
    farthest = combining(lambda a, b: [select(gt(ar.abs(a), ar.abs(b)), a, b)], np.float32)
    plus = combining(lambda a, b: [ar.add(a, b)], np.int32)
    x, start = sample((6, 9), np.float32), np.float32(0.25).reshape(())
    n, five = sample((4, 4), np.int32), np.array(5, np.int32)
    # A running sum with a start of its own: the compiler would drop it from the window's form.
    running = {**PLAIN, "window_dimensions": (4, 1), "padding": ((3, 0), (0, 0))}
    return [
        Case("reduce_window", [x, start], {"computation": farthest, **EVERYTHING}),
        Case("reduce_window", [n, five], {"computation": plus, **running}),
    ]


def _conv(**params: Any) -> dict[str, Any]:
    axes = ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    base: dict[str, Any] = {
        "window_strides": (1, 1),
        "padding": ((0, 0), (0, 0)),
        "lhs_dilation": (1, 1),
        "rhs_dilation": (1, 1),
        "dimension_numbers": axes,
        "feature_group_count": 1,
        "batch_group_count": 1,
        "preferred_element_type": None,
    }
    return {**base, **params}


def _convolutions() -> list[Case]:
    name, close = "conv_general_dilated", {"ulps": 16, "atol": 1e-3}
    out = []
    everything = _conv(
        window_strides=(2, 1),
        padding=((1, 1), (2, -1)),
        lhs_dilation=(1, 2),
        rhs_dilation=(1, 2),
        feature_group_count=2,
    )
    for d in [*INTEGERS, *FLOATS, *COMPLEX]:
        x, kernel = sample((4, 4, 6, 5), d), sample((6, 2, 3, 2), d, 1)
        out.append(Case(name, [x, kernel], everything, **close))
    f32 = np.dtype(np.float32)
    layout = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    image = sample((4, 6, 5, 4), f32)
    even, thin = sample((3, 2, 4, 6), f32, 1), sample((3, 2, 1, 8), f32, 1)
    out += [
        Case(name, [image, even], _conv(dimension_numbers=layout), **close),
        Case(name, [image, thin], _conv(dimension_numbers=layout, feature_group_count=4), **close),
        Case(name, [image, even], _conv(dimension_numbers=layout, batch_group_count=2), **close),
        Case(
            name,
            [sample((1, 2, 5, 5), np.int8), sample((3, 2, 2, 2), np.int8, 1)],
            _conv(preferred_element_type=np.dtype(np.int32)),
        ),
        Case(
            name,
            [sample((1, 2, 5, 5), np.float16), sample((3, 2, 2, 2), np.float16, 1)],
            _conv(preferred_element_type=f32),
            **close,
        ),
    ]
    line, flat = ((0, 1, 2),) * 3, ((0, 1),) * 3
    one = _conv(window_strides=(2,), padding=((1, 2),), lhs_dilation=(1,), rhs_dilation=(1,), dimension_numbers=line)
    none = _conv(window_strides=(), padding=(), lhs_dilation=(), rhs_dilation=(), dimension_numbers=flat)
    cube = _conv(
        window_strides=(1, 1, 1),
        padding=((0, 0),) * 3,
        lhs_dilation=(1, 1, 1),
        rhs_dilation=(1, 1, 1),
        dimension_numbers=((0, 1, 2, 3, 4),) * 3,
    )
    out += [
        Case(name, [sample((2, 3, 9), f32), sample((4, 3, 3), f32, 1)], one, **close),
        Case(name, [sample((2, 3), f32), sample((4, 3), f32, 1)], none, **close),
        Case(name, [sample((1, 2, 4, 4, 4), f32), sample((2, 2, 2, 2, 2), f32, 1)], cube, **close),
    ]
    return out


CASES = [*_named(), *_general(), *_convolutions()]
