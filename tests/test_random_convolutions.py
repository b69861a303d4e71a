"""Random convolutions, with groups of features or of the batch: compiled as NumPy computes them in float64."""

import os
import random

import ml_dtypes  # noqa: F401  (names bfloat16)
import numpy as np
import pytest
from forming import alone, target_of
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes import kernels
from stagec import lax
from stagec.compiler import build

# A longer hunt: STAGEC_FUZZ=20 STAGEC_FUZZ_START=1000 python -m pytest tests/test_random_convolutions.py
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
SEEDS = range(START, START + 2 * int(os.environ.get("STAGEC_FUZZ", "1")))
# Convolutions in a program: they are compiled together.
CONVOLUTIONS = 6
TOLERANCES = {"float32": 2e-6, "float64": 1e-14, "bfloat16": 1e-2, "float16": 1.5e-3, "complex64": 4e-6}
TOLERANCES |= dict.fromkeys(("int8", "uint16", "int32", "int64"), 0)


def dilated(array, axis, step):
    """An array with `step - 1` zeros between neighbours along an axis."""
    shape = list(array.shape)
    shape[axis] = (shape[axis] - 1) * step + 1
    found = np.zeros(shape, array.dtype)
    found[(*[slice(None)] * axis, slice(None, None, step))] = array
    return found


def reference(x, w, steps, padding, lhs_dilation, rhs_dilation, groups, batches):
    """`[batch, ..., feature]` by `[..., input, output]`, as the definition says."""
    rank = x.ndim - 2
    for i in range(rank):
        x, w = dilated(x, i + 1, lhs_dilation[i]), dilated(w, i, rhs_dilation[i])
        edges = [(0, 0)] * x.ndim
        edges[i + 1] = tuple(max(0, size) for size in padding[i])
        x = np.pad(x, edges)
        low, high = (max(0, -size) for size in padding[i])
        x = x[(*[slice(None)] * (i + 1), slice(low, x.shape[i + 1] - high))]
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:rank], axis=tuple(range(1, rank + 1)))
    windows = windows[(slice(None), *(slice(None, None, step) for step in steps))]
    parts = []
    images = [piece for half in np.split(windows, batches) for piece in np.split(half, groups, axis=rank + 1)]
    for part, weights in zip(images, np.split(w, groups * batches, axis=rank + 1)):
        parts.append(np.tensordot(part, weights, (list(range(rank + 1, 2 * rank + 2)), [rank, *range(rank)])))
    return np.concatenate(parts, axis=-1)


def widest(array):
    """An array in the dtype that NumPy computes what is expected in."""
    return array if array.dtype.kind in "iu" else array.astype("complex128" if array.dtype.kind == "c" else "float64")


class Convolutions:
    """A program of convolutions, each described so that it can be run with NumPy and with stagec."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.arrays = []
        self.rows = [self.row() for _ in range(CONVOLUTIONS)]

    def array(self, shape, dtype):
        numbers = self.numbers.normal(size=shape)
        if np.dtype(dtype).kind in "iu":
            numbers = self.numbers.integers(-99 if np.dtype(dtype).kind == "i" else 0, 99, shape)
        elif np.dtype(dtype).kind == "c":
            numbers = numbers + 1j * self.numbers.normal(size=shape)
        self.arrays.append(np.asarray(numbers).astype(np.dtype(dtype)))
        return len(self.arrays) - 1

    def row(self):
        rng = self.rng
        rank = rng.choice([1, 2, 2, 2, 3])
        dtype = rng.choice(["float32", "float32", "float64", "bfloat16", "float16", rng.choice(list(TOLERANCES))])
        groups = rng.choice([1, 1, 1, 2, 3])
        inputs, outputs = rng.choice([1, 2, 3, 8, 16, 20]), rng.choice([1, 3, 4, 8, 16, 17, 33, 40])
        if rng.random() < 0.2:
            groups, inputs, outputs = rng.choice([4, 16, 35]), 1, 1
        batches = rng.choice([2, 3, 8]) if groups == 1 and rng.random() < 0.3 else 1
        window = [rng.choice([1, 2, 3, 5]) for _ in range(rank)]
        rhs_dilation = [rng.choice([1, 1, 2]) for _ in range(rank)]
        lhs_dilation = [rng.choice([1, 1, 1, 2, 3]) for _ in range(rank)]
        steps = [rng.choice([1, 1, 2, 3]) for _ in range(rank)]
        padding = [(rng.choice([0, 1, 2, 5]), rng.choice([0, 1, 3])) for _ in range(rank)]
        if rng.random() < 0.1:
            padding[0] = (-1, 1)
        sizes = []
        for i in range(rank):
            reach = (window[i] - 1) * rhs_dilation[i] + 1
            least = -(-(reach - sum(padding[i]) - 1) // lhs_dilation[i]) + 1
            sizes.append(max(2, least) + rng.choice([0, 1, 4, 7, 12 if rank < 3 else 2]))
        spatial = "0123"[:rank]
        lhs, rhs = f"N{spatial}C", f"{spatial}IO"
        if rng.random() < 0.5:
            lhs = "".join(rng.sample(lhs, rank + 2))
            # The order of the window's axes is that of strides and padding.
            places = sorted(rng.sample(range(rank + 2), rank))
            others, digits = rng.sample("IO", 2), iter(spatial)
            rhs = "".join(next(digits) if i in places else others.pop() for i in range(rank + 2))
        out = f"N{spatial}C" if rng.random() < 0.7 else "".join(rng.sample(f"N{spatial}C", rank + 2))
        extents = dict(zip(spatial, sizes), N=rng.choice([1, 2, 5, 17]) * batches, C=inputs * groups)
        columns = outputs * groups * batches
        weights = dict(zip(spatial, window), I=inputs, O=columns)
        operands = [
            self.array([extents[a] for a in lhs], dtype),
            self.array([weights[a] for a in rhs], dtype),
            self.array([columns], dtype),
        ]
        return (
            operands,
            dtype,
            (lhs, rhs, out),
            (steps, padding, lhs_dilation, rhs_dilation, groups, batches),
            rng.random() < 0.4 and dtype not in ("complex64", "int8", "uint16"),
        )

    def run(self, m, arrays):
        results = []
        for operands, _, layouts, numbers, follows in self.rows:
            x, w, bias = (arrays[i] for i in operands)
            lhs, rhs, out = layouts
            steps, padding, lhs_dilation, rhs_dilation, groups, batches = numbers
            if m is np:
                rank = x.ndim - 2
                spatial = "0123"[:rank]
                x = x.transpose([lhs.index(a) for a in f"N{spatial}C"])
                w = w.transpose([rhs.index(a) for a in f"{spatial}IO"])
                z = reference(x, w, *numbers).transpose([f"N{spatial}C".index(a) for a in out])
            else:
                z = lax.conv_general_dilated(x, w, steps, padding, lhs_dilation, rhs_dilation, layouts, groups, batches)
            if follows and out.endswith("C"):
                z = m.maximum(z + bias, 0)
            results.append(z)
        return results


@pytest.fixture
def formed(monkeypatch):
    """How many convolutions each program had kernels for."""
    with alone(monkeypatch, kernels.convolutions.form, "convolutions") as counts:
        yield counts


@pytest.mark.parametrize("queue", ["local-sync", "local-task"])
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_convolutions_are_those_of_numpy(seed, queue, formed, monkeypatch):
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    # Programs are found again in a process whatever their queue, so each queue has its own.
    program = Convolutions(2 * seed + (queue == "local-task"))
    target = target_of(seed)
    compiled = stagec.jit(lambda *arrays: program.run(snp, arrays), target=target)
    results = compiled(*map(guarded, program.arrays))
    exact = program.run(np, list(map(widest, program.arrays)))
    for row, found, wanted in zip(program.rows, results, exact, strict=True):
        tolerance = TOLERANCES[row[1]]
        terms = program.arrays[row[0][1]].size / program.arrays[row[0][2]].size
        np.testing.assert_allclose(
            np.asarray(found).astype(wanted.dtype), wanted, rtol=2 * tolerance, atol=4 * np.sqrt(terms) * tolerance,
            err_msg=f"{queue} {target} {row}",
        )  # fmt: skip
    for first, again in zip(results, compiled(*program.arrays), strict=True):
        assert np.asarray(first).tobytes() == np.asarray(again).tobytes()
    assert sum(formed) > 0
