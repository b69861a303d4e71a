"""Functions of `stagec.numpy` on random arrays, outside jit and by plans, compute what NumPy does.

Ranks 0 to 4, axes of size 0, broadcasting, NaN, infinities and both zeros. More of them: STAGEC_FUZZ=100.
"""

import os
import warnings

import numpy as np
from hypothesis import given, settings, strategies as st

import stagec.numpy as snp

EXAMPLES = 60 * int(os.environ.get("STAGEC_FUZZ", "1"))
DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint32", "float32", "complex64")
# Where NumPy computes in another dtype, or JAX's meaning is another one, or a test of its own compares more.
APART = {
    *("floor_divide", "remainder", "mod", "divmod", "power", "pow", "float_power", "sign", "reciprocal", "nextafter"),
    *("spacing", "frexp", "ldexp", "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "invert"),
}


def _ufuncs(count):
    names = [n for n in dir(snp) if isinstance(getattr(np, n, None), np.ufunc) and n not in APART]
    return [n for n in names if getattr(np, n).nin == count and getattr(np, n).signature is None]


UNARY, BINARY = _ufuncs(1), _ufuncs(2)
REDUCTIONS = (
    "sum prod max min mean std var any all argmax argmin ptp count_nonzero median nansum nanprod nanmax nanmin "
)
REDUCTIONS += "nanmean nanstd nanvar nanmedian"
RUNNING = "cumsum cumprod nancumsum nancumprod sort flip diff"


class Sample:
    """Random arguments, from one number."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def shape(self):
        return tuple(self.rng.choice([0, 1, 2, 3, 4], self.rng.integers(0, 5), p=[0.06, 0.2, 0.3, 0.3, 0.14]).tolist())

    def broadcast(self, shape):
        """A shape that broadcasts with another one."""
        start = self.rng.integers(0, len(shape) + 1)
        return tuple(self.one_of(n, n, n, 1) for n in shape[start:])

    def array(self, shape, kind):
        if kind == "bool":
            return self.rng.random(shape) < 0.5
        if kind[0] in "iu":
            return self.rng.integers(0 if kind[0] == "u" else -5, 6, shape).astype(kind)
        if kind == "complex64":
            return (self.array(shape, "float32") + 1j * self.rng.normal(size=shape)).astype(kind)
        x = np.asarray(self.rng.normal(size=shape).round(1) * 3, kind)
        if x.size and self.rng.random() < 0.4:
            x.flat[self.rng.integers(x.size)] = self.one_of(0.0, -0.0, np.inf, -np.inf, np.nan)
        return x

    def axis(self, rank, several):
        if not rank or self.rng.random() < 0.3:
            return None
        if several and self.rng.random() < 0.3:
            return tuple(self.rng.permutation(rank)[: self.rng.integers(1, rank + 1)].tolist())
        return int(self.rng.integers(-rank, rank))


def compare(name, arguments, options):
    """Where NumPy takes the arguments, our result is NumPy's."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a mean of nothing
        try:
            expected = getattr(np, name)(*arguments, **options)
        except (TypeError, ValueError):
            return
    ours = [snp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    low = any(a.dtype.itemsize == 1 for a in arguments if isinstance(a, np.ndarray))
    for _ in range(3):  # the third call runs by a plan
        found = getattr(snp, name)(*ours, **options)
        for e, f in zip(*(v if isinstance(v, tuple) else (v,) for v in (expected, found)), strict=True):
            f = np.asarray(f)
            assert f.shape == np.shape(e), (name, arguments, options)
            # NumPy computes what has 8 bits in float16.
            tolerance = 2e-3 if low else 1e-4
            np.testing.assert_allclose(f, e, tolerance, tolerance, err_msg=f"{name} {arguments} {options}")


seeds = given(st.integers(0, 2**32 - 1))


@seeds
@settings(max_examples=EXAMPLES)
def test_functions_of_elements(seed):
    s = Sample(seed)
    for name in s.rng.choice(UNARY, 4):
        compare(name, [s.array(s.shape(), s.one_of(*DTYPES))], {})


@seeds
@settings(max_examples=EXAMPLES)
def test_functions_of_two_arrays(seed):
    s = Sample(seed)
    for name in s.rng.choice(BINARY, 4):
        shape, kind = s.shape(), s.one_of(*DTYPES)
        other = s.one_of(kind, kind, *DTYPES)
        if {kind[0], other[0]} == {"u", "i"}:  # JAX's common dtype is narrower than NumPy's
            other = kind
        pair = [s.array(shape, kind), s.array(s.broadcast(shape), other)]
        compare(name, pair if s.rng.random() < 0.5 else pair[::-1], {})


@seeds
@settings(max_examples=EXAMPLES)
def test_reductions(seed):
    s = Sample(seed)
    for name in s.rng.choice(REDUCTIONS.split(), 4):
        kind = s.one_of(*DTYPES[:-1]) if "med" in name or name == "ptp" else s.one_of(*DTYPES)
        x = s.array(s.shape(), "int32" if name == "ptp" and kind == "bool" else kind)
        if not x.size and "med" in name:
            continue
        options = {"axis": s.axis(x.ndim, not name.startswith("arg")), "keepdims": s.one_of(True, False)}
        mask = s.array(s.broadcast(x.shape), "bool")
        if name in ("sum", "prod", "mean", "any", "all", "var") and s.rng.random() < 0.3:
            options["where"] = mask
        if name in ("sum", "prod") and s.rng.random() < 0.3:
            options["initial"] = 2
        if name in ("max", "min") and kind not in ("bool", "complex64") and s.rng.random() < 0.3:
            options |= {"where": mask, "initial": 1}
        if name in ("std", "var") and s.rng.random() < 0.3:
            options["ddof"] = 1
        compare(name, [x], options)


@seeds
@settings(max_examples=EXAMPLES)
def test_functions_along_an_axis(seed):
    s = Sample(seed)
    for name in s.rng.choice(RUNNING.split(), 4):
        x = s.array((*s.shape()[:3], 3), s.one_of("int32", "uint32", "float32", "complex64"))
        axis = s.axis(x.ndim, False)
        compare(name, [x], {"axis": -1 if axis is None and name in ("sort", "diff") else axis})


@seeds
@settings(max_examples=EXAMPLES)
def test_functions_of_shapes(seed):
    s = Sample(seed)
    x = s.array(s.shape(), s.one_of(*DTYPES))
    axis = s.axis(x.ndim, False)
    compare("roll", [x, int(s.rng.integers(-5, 6)), axis], {})
    compare("repeat", [x, int(s.rng.integers(0, 4)), axis], {})
    compare("tile", [x, tuple(s.rng.integers(0, 3, s.rng.integers(0, 3)).tolist())], {})
    compare("kron", [x, s.array(s.broadcast(x.shape), str(x.dtype))], {})
    widths = [tuple(s.rng.integers(0, 3, 2).tolist()) for _ in x.shape]
    if x.size and x.ndim:
        compare("pad", [x, widths, s.one_of("constant", "edge", "wrap", "reflect", "symmetric")], {})
        along = 0 if axis is None else axis
        compare("concatenate", [[x, x], along], {})
        size = x.shape[along]
        places = np.moveaxis(s.rng.integers(-size, size, (2, *np.delete(x.shape, along % x.ndim))), 0, along)
        compare("take_along_axis", [x, places, along], {})


@seeds
@settings(max_examples=EXAMPLES)
def test_sets_and_searches(seed):
    s = Sample(seed)
    kind = s.one_of("bool", "int32", "float32", "complex64")
    v, w = (s.array((int(s.rng.integers(0, 7)),), kind) for _ in range(2))
    for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d", "isin"):
        compare(name, [v, w], {})
    compare("unique", [v, True, True, True], {})
    numbers = v[~np.isnan(v)]  # NumPy has complex NaN in another order
    compare("searchsorted", [np.sort(numbers), w[~np.isnan(w)], s.one_of("left", "right")], {})
