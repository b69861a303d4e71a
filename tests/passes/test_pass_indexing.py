"""Random gathers and scatters, with indices that are constant, counted, in range or not, keep their meaning."""

import os

import numpy as np
import pytest
from pass_helpers import same_bits

import passes
import stagec
import stagec.numpy as snp
from passes.numeric.interpreter import interpret
from stagec import lax

# A longer hunt: STAGEC_FUZZ=100 python -m pytest tests/passes/test_pass_indexing.py
SEEDS = range(10 * int(os.environ.get("STAGEC_FUZZ", "1")))
NUMBERS = np.array([np.nan, -0.0, 0.0, 1.5, -2.5, np.inf, 7, 3], np.float32)


def random_start(rng, shape, limit, arguments):
    """A function of the arguments that makes an index array, most often in 0..limit."""
    low, high = (-2 if rng.random() < 0.3 else 0), limit + (3 if rng.random() < 0.3 else 1)
    kind = rng.choice(["constant", "counted", "wrapped", "argument", "repeated", "outside"])
    if kind in ("constant", "outside"):
        numbers = rng.integers(low, high, shape) if kind == "constant" else rng.integers(limit + 1, limit + 5, shape)
        return lambda *_: snp.array(numbers.astype(np.int32))
    if kind == "counted":
        begin, steps = int(rng.integers(low, high)), rng.choice([0, 1, 1, -1, 2], len(shape)).tolist()

        def counted(*_):
            numbers = snp.full(shape, begin, np.int32)
            for axis, step in enumerate(steps):
                numbers = numbers + lax.broadcasted_iota(np.int32, shape, axis) * step
            return numbers

        return counted
    if kind == "wrapped":
        shift, size = int(rng.integers(7)), int(rng.integers(1, 6))
        return lambda *_: ((snp.arange(max(1, int(np.prod(shape)))) + shift) % size).reshape(shape)
    number = len(arguments)
    arguments.append(rng.integers(low, high, shape if kind == "argument" else ()).astype(np.int32))
    return lambda *given: snp.broadcast_to(given[number], shape)


def random_program(rng):
    """A gather or scatter, and arguments for it."""
    rank = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 6, rank))
    arguments = [rng.choice(NUMBERS, shape)]
    order = [int(axis) for axis in rng.permutation(rank)]
    batches = sorted(order[: int(rank > 1 and rng.random() < 0.25)])
    targets = tuple(order[len(batches) :][: int(rng.integers(1, rank - len(batches) + 1))])
    sizes = [n if rng.random() < 0.6 else int(rng.integers(1, n + 1)) for n in shape]
    sizes = [1 if d in batches or (d in targets and rng.random() < 0.7) else n for d, n in enumerate(sizes)]
    dropped = tuple(sorted(d for d in targets if sizes[d] == 1 and rng.random() < 0.8))
    outer = [int(n) for n in rng.integers(1, 5, rng.integers(0, 3))]
    at = [int(rng.integers(len(outer) + 1)) for _ in batches]
    for position, axis in zip(at, batches):
        outer.insert(position, shape[axis])
    window = [n for d, n in enumerate(sizes) if d not in dropped and d not in batches]
    offset = tuple(sorted(int(i) for i in rng.permutation(len(window) + len(outer))[: len(window)]))
    starts = [random_start(rng, tuple(outer), shape[d] - sizes[d], arguments) for d in targets]
    mode = str(rng.choice(["clip", "fill"]))
    numbers = offset, dropped, targets, tuple(batches), tuple(at)
    inner, rest = iter(window), iter(outer)
    moved = [next(inner if i in offset else rest) for i in range(len(window) + len(outer))]
    arguments.append(rng.choice(NUMBERS, moved))
    last = len(arguments) - 1

    def gathered(x, *given):
        indices = snp.stack([start(*given) for start in starts], -1)
        return lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), tuple(sizes), mode=mode)

    def scattered(function, x, *given):
        indices = snp.stack([start(*given) for start in starts], -1)
        return function(x, indices, given[last], lax.ScatterDimensionNumbers(*numbers), mode=mode)

    programs = {
        "gather": lambda *given: gathered(*given[:1], *given),
        "of a root": lambda *given: gathered(snp.sqrt(given[0]), *given),
        "gradient": lambda *given: stagec.grad(lambda x: (gathered(x, *given) * 2).sum())(given[0]),
        "of zeros": lambda *given: scattered(lax.scatter_add, snp.zeros(shape, np.float32), *given),
        "maximum": lambda *given: scattered(lax.scatter_max, given[0], *given),
        "read again": lambda *given: gathered(scattered(lax.scatter_add, given[0], *given), *given),
    }
    name = str(rng.choice(list(programs)))
    return name, programs[name], arguments


@pytest.mark.parametrize("seed", SEEDS)
def test_random_gathers_and_scatters_keep_their_results(seed):
    rng = np.random.default_rng(seed)
    hits = {}
    for _ in range(8):
        name, function, arguments = random_program(rng)
        module = stagec.jit(function, keep_unused=True).lower(*arguments).compiler_ir()
        text = str(module)
        (expected,) = interpret(module, *arguments)
        hits |= passes.run(module, "inline,forms,simplify").hits
        (actual,) = interpret(module, *arguments)
        assert same_bits(expected, actual), f"{name}\n{arguments}\n{text}\n{module}"
    assert hits
