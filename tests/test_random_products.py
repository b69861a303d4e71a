"""Random products, with what is computed from them: compiled as NumPy computes them in float64."""

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

# A longer hunt: STAGEC_FUZZ=20 python -m pytest tests/test_random_products.py
SEEDS = range(3 * int(os.environ.get("STAGEC_FUZZ", "1")))
# Products in a program: they are compiled together.
PRODUCTS = 8
EXTENTS = [1, 1, 2, 3, 5, 8, 13, 16, 17, 31, 32, 33, 64, 100, 130]
LONG = [257, 300, 520, 1100, 2100]
TOLERANCES = {"float32": 2e-6, "float64": 1e-14, "bfloat16": 1e-2, "float16": 1.5e-3}
# What operands may be before they are converted.
NARROW = {"float32": ["bfloat16", "float16"], "int32": ["int8", "uint8"]}

STEPS = {
    "rectified": lambda m, z, other: m.maximum(z, 0),
    "negated": lambda m, z, other: -z,
    "masked": lambda m, z, other: m.where(z > 0, z, z * 0),
    "wide": lambda m, z, other: z + other(z.shape),
    "row": lambda m, z, other: z + other(z.shape[-1:]),
    "column": lambda m, z, other: z * other((*z.shape[:-1], 1)),
    "one": lambda m, z, other: z * other(()),
    "flat": lambda m, z, other: z.reshape(-1) * 2,
    "tall": lambda m, z, other: z.reshape((*z.shape, 1)),
    "matched": lambda m, z, other: z * (other(z.shape) > 0),
    "twice": lambda m, z, other: z + m.minimum(z, 1),
}
# Costly steps, which are for floats.
FLOAT_STEPS = {"curved": lambda m, z, other: m.tanh(z), "grown": lambda m, z, other: m.exp(-z * z)}
EVERY_STEP = STEPS | FLOAT_STEPS


class Products:
    """A program of products, each described so that it can be run with NumPy and with stagec."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.arrays = []
        self.products = [self.product() for _ in range(PRODUCTS)]

    def array(self, shape, dtype):
        numbers = self.numbers.integers(0, 120, shape) if dtype.kind in "iu" else self.numbers.normal(size=shape)
        self.arrays.append(np.asarray(numbers).astype(dtype))
        return len(self.arrays) - 1

    def product(self):
        rng = self.rng
        dtype = rng.choice(
            ["float32", "float32", "float64", "float64", "bfloat16", "float16", "int32", "int8", "uint8", "int64"]
        )
        extents = {name: rng.choice(EXTENTS) for name in "mnk"}
        if rng.random() < 0.3:
            extents[rng.choice("mnk")] = rng.choice(LONG)
        batch = "".join(rng.sample("bc", rng.choice([0, 0, 1, 2])))
        extents.update({name: rng.choice([1, 2, 3]) for name in batch})
        lhs, rhs = (self.layout(batch, free) for free in "mn")
        operands = [
            self.array([extents[a] for a in axes], np.dtype(rng.choice([dtype, *NARROW.get(dtype, [])])))
            for axes in (lhs, rhs)
        ]
        others = []

        def other(shape):
            others.append(self.array(shape, np.dtype(dtype)))
            return np.zeros(shape)

        z = np.zeros([extents[a] for a in (*batch, "m", "n")])
        known = [*STEPS, *(FLOAT_STEPS if dtype in TOLERANCES else ())]
        steps = [rng.choice(known) for _ in range(rng.choice([0, 0, 1, 2, 4]))]
        for step in steps:
            z = EVERY_STEP[step](np, z, other)
        return lhs, rhs, batch, dtype, extents, operands, steps, others, rng.random() < 0.3

    def layout(self, batch, free):
        """The order of an operand's axes in memory: often the plain one, sometimes any."""
        axes = list(batch + self.rng.choice([free + "k", "k" + free]))
        if self.rng.random() < 0.2:
            self.rng.shuffle(axes)
        return "".join(axes)

    def run(self, m, arrays):
        results = []
        for lhs, rhs, batch, dtype, _, operands, steps, others, both in self.products:
            left, right = (arrays[i] for i in operands)
            if m is np:
                wide = np.float64 if left.dtype.kind == "f" else np.int64
                z = np.einsum(f"{lhs},{rhs}->{batch}mn", left.astype(wide), right.astype(wide), optimize=True)
                z = z.astype(np.dtype(dtype) if wide is np.int64 else wide)
            else:
                at = [tuple(axes.index(a) for a in batch) for axes in (lhs, rhs)]
                left, right = (operand.astype(np.dtype(dtype)) for operand in (left, right))
                numbers = (((lhs.index("k"),), (rhs.index("k"),)), tuple(at))
                z = lax.dot_general(left, right, numbers)
            plain, left_over = z, iter(others)
            for step in steps:
                z = EVERY_STEP[step](m, z, lambda shape, others=left_over: arrays[next(others)])
            results.append(z)
            if both:
                results.append(plain)
        return results


@pytest.fixture
def formed(monkeypatch):
    """How many products each program had kernels for."""
    with alone(monkeypatch, kernels.products.form, "products") as counts:
        yield counts


def check(program, results, name):
    exact = program.run(np, [a if a.dtype.kind in "iu" else a.astype(np.float64) for a in program.arrays])
    rows = [row for row in program.products for _ in range(2 if row[-1] else 1)]
    for row, found, wanted in zip(rows, results, exact, strict=True):
        if row[3] not in TOLERANCES:
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {row}")
            continue
        scale = np.sqrt(row[4]["k"]) * 4
        np.testing.assert_allclose(
            np.asarray(found).astype(np.float64), wanted, rtol=2 * TOLERANCES[row[3]], atol=scale * TOLERANCES[row[3]],
            err_msg=f"{name} {row}",
        )  # fmt: skip


@pytest.mark.parametrize("queue", ["local-sync", "local-task"])
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_products_are_those_of_numpy(seed, queue, formed, monkeypatch):
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    # Programs are found again in a process whatever their queue, so each queue has its own.
    program = Products(2 * seed + (queue == "local-task"))
    target = target_of(seed)
    # Some programs close over matrices, of which packed copies are made.
    held = {
        n: snp.asarray(program.arrays[n]) for *_, operands, _, _, _ in program.products for n in operands[seed % 3 :]
    }

    def run(*arrays):
        return program.run(snp, [held.get(n, a) for n, a in enumerate(arrays)])

    compiled = stagec.jit(run, target=target)
    results = compiled(*map(guarded, program.arrays))
    check(program, results, f"{queue} {target}")
    for _ in range(2):
        for first, again in zip(results, compiled(*program.arrays), strict=True):
            assert np.asarray(first).tobytes() == np.asarray(again).tobytes()
    assert sum(formed) > 0
