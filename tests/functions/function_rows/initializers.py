"""`stagec.nn.initializers`, which make functions of a key, a shape and a dtype: JAX's numbers for the same key."""

from __future__ import annotations

import dataclasses

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, found


@dataclasses.dataclass(frozen=True)
class Made(Row):
    """A row whose public function makes the function that is called."""

    options: tuple[tuple[str, object], ...] = ()

    def function(self, library: str = "stagec"):
        made = found(f"{library}.{self.name}")
        return made(**dict(self.options)) if self.options is not None else made


def _matrix(s: Draw) -> Call:
    return call(np.array([0, s.values.integers(0, 2**31)], np.uint32), (s.whole(1, 4), s.whole(1, 4)), "float32")


def _kernel(s: Draw) -> Call:
    return call(np.array([0, s.values.integers(0, 2**31)], np.uint32), (3, s.whole(1, 3), 3), "float32")


def row(name: str, draw=_matrix, oracle=None, options: dict | None = None) -> Row:
    pairs = () if options is None else tuple(options.items())
    return Made(f"nn.initializers.{name}", draw, oracle, loose=30, costly=True, options=pairs)


FANS = "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform"
ROWS = [
    *(
        row(name)
        for name in (*FANS.split(), "xavier_normal", "xavier_uniform", "normal", "uniform", "truncated_normal")
    ),
    row("variance_scaling", options={"scale": 2.0, "mode": "fan_avg", "distribution": "normal"}),
    row("constant", oracle=lambda key, shape, dtype: np.full(shape, 2.0), options={"value": 2.0}),
    row("orthogonal"),
    row("delta_orthogonal", _kernel),
    dataclasses.replace(row("zeros", oracle=lambda key, shape, dtype: np.zeros(shape)), options=None),
    dataclasses.replace(row("ones", oracle=lambda key, shape, dtype: np.ones(shape)), options=None),
]
