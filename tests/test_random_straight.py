"""Random straight-line programs: kernels of our own compute what NumPy does, however workgroups share them."""

import dataclasses
import os
import random
import time

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest
from forming import without_failures
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.straight import groups, prepared, shares
from stagec import lax
from stagec.compiler import build, log

# A longer hunt: STAGEC_FUZZ=1000 python -m pytest tests/test_random_straight.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
START = int(os.environ.get("STAGEC_FUZZ_START", "1000"))
# Programs that are compiled together: most of the time of a compile is the same for one kernel and for many.
TOGETHER = 8
SHAPES = [
    *((1, 1024), (5, 17), (64, 130), (33, 333), (37, 37), (8, 3), (3, 8), (1, 1), (200, 5), (2, 4100), (129, 1)),
    *((3, 7, 64), (2, 16, 100), (4, 5, 3), (2, 3, 8, 31), (65, 3, 2), (1, 7, 1), (2, 2, 2, 2, 2), (6, 1, 31)),
    *((1000,), (37,), (1,), (40_000,), (250, 300), (20_000, 3), (3, 20_000), (48, 48), (16, 47)),
]


def folded(m, a):
    """Elements of two rows each, where there are an even number of them."""
    return (a.reshape(-1, 2)[:, ::-1] * 0.5).reshape(a.shape) if a.size % 2 == 0 else a


def halves_swapped(m, a):
    """Both halves of each row, element by element; each third one doubled."""
    n = a.shape[-1]
    b = m.swapaxes(a.reshape(-1, 2, n // 2), 1, 2).reshape(a.shape) if n % 2 == 0 else a
    return m.concatenate([b[..., ::3] * 2, b[..., 1::3], b[..., 2::3]], -1)


def mixed(m, a):
    """A product among the rest."""
    n = a.shape[-1]
    return a @ (m.arange(n * n, dtype=np.float32).reshape(n, n) % 7 * (0.1 / n)) if 1 < n <= 64 and a.ndim > 1 else a


def updated(m, a, index, values, add=False):
    """An array with other elements at an index."""
    if m is np:
        a = a.copy()
        if add:
            np.add.at(a, index, values)
        else:
            a[index] = values
        return a
    return a.at[index].add(values) if add else a.at[index].set(values)


def windowed(m, a, sizes, combine, first):
    """The sum or the largest of the elements around each one."""
    window = (1,) * (a.ndim - len(sizes)) + sizes if a.ndim >= len(sizes) else sizes[-a.ndim :]
    if m is snp:
        return lax.reduce_window(a, first, combine, window, (1,) * a.ndim, "SAME")
    with stagec.enable_x64():
        return np.asarray(lax.reduce_window(a, a.dtype.type(first), combine, window, (1,) * a.ndim, "SAME"))


def first_larger(a, b):
    """The larger of two numbers, and what comes with it."""
    is_first = a[0] >= b[0]
    return tuple(lax.select(is_first, *pair) for pair in zip(a, b))


def outside(m, function, *arrays):
    """A function of `stagec.lax`, which NumPy's programs evaluate."""
    if m is snp:
        return function(*arrays)
    with stagec.enable_x64():
        return np.asarray(function(*arrays))


def positions_around(m, a):
    """The position of the largest of the three elements around each one."""
    position, window = np.arange(a.shape[-1], dtype=np.int32), (1,) * (a.ndim - 1) + (3,)

    def found(a):
        pair, first = (a, snp.broadcast_to(position, a.shape)), (a.dtype.type(-np.inf), np.int32(0))
        return lax.reduce_window(pair, first, first_larger, window, (1,) * a.ndim, "SAME")[1]

    return outside(m, found, a).astype(np.float32)


def farthest(m, a, axis):
    """The element of each row, or column, that is farthest from 0."""

    def farther(a, b):
        return lax.select(abs(a) >= abs(b), a, b)

    def found(a):
        return snp.expand_dims(lax.reduce(a, a.dtype.type(0), farther, (axis % a.ndim,)), axis)

    return outside(m, found, a)


UNARY = {
    "exp": lambda m, a: m.exp(m.minimum(a, 2.0)),
    "tanh": lambda m, a: m.tanh(a),
    "sin": lambda m, a: m.sin(a),
    "log": lambda m, a: m.log(1 + abs(a)),
    "square": lambda m, a: a * a * 0.1,
    "root": lambda m, a: m.sqrt(abs(a) + 0.01),
    "minus": lambda m, a: -a + 0.5,
    "floor": lambda m, a: m.clip(a, -1, 1.5),
    "rows reversed": lambda m, a: a[::-1],
    "reversed": lambda m, a: a[..., ::-1],
    "rolled": lambda m, a: m.roll(a, 1, -1),
    "rows rolled": lambda m, a: m.roll(a, 2, 0),
    "flat and back": lambda m, a: (a.reshape(-1) * 2).reshape(a.shape),
    "flat reversed": lambda m, a: a.reshape(-1)[::-1].reshape(a.shape),
    "folded": folded,
    "turned twice": lambda m, a: (a.T + 1).T,
    "turned, exponential": lambda m, a: m.exp(-abs(a.T)).T,
    "swapped": lambda m, a: m.swapaxes(m.sin(m.swapaxes(a, 0, -1)), 0, -1),
    "turned around": lambda m, a: m.exp(-abs(a.T[::-1, ...])).T[..., ::-1],
    "halves swapped": lambda m, a: halves_swapped(m, a),
    "added to turned": lambda m, a: a + a.T if a.ndim == 2 and a.shape[0] == a.shape[1] else a,
    "counted": lambda m, a: a + m.arange(a.shape[-1], dtype=np.float32) * 0.01,
    "shifted": lambda m, a: m.concatenate([a[..., 1:] * 0.5, a[..., :1]], -1),
    "differences": lambda m, a: m.concatenate([a[..., 1:] - a[..., :-1], a[..., :1]], -1),
    "joined": lambda m, a: m.concatenate([a[:1], a[1:] - a[:-1]], 0),
    "padded": lambda m, a: m.pad(a[..., 1:], [(0, 0)] * (a.ndim - 1) + [(1, 0)]),
    "rows padded": lambda m, a: m.pad(a[:-1], [(1, 0)] + [(0, 0)] * (a.ndim - 1), constant_values=0.5),
    "rows taken": lambda m, a: a[m.arange(a.shape[0]) * 3 % a.shape[0]],
    "columns taken": lambda m, a: a[..., m.arange(a.shape[-1]) * 5 % a.shape[-1]],
    "every second": lambda m, a: m.repeat(a[..., ::2], 2, -1)[..., : a.shape[-1]],
    "stacked": lambda m, a: m.max(m.stack([a, a * 0.5 - 0.1]), 0),
    "tiled": lambda m, a: m.tile(a, 2)[..., : a.shape[-1]] * 0.9,
    "sorted": lambda m, a: m.sort(a, -1),
    "summed up": lambda m, a: m.cumsum(a * (1 / a.shape[-1]), -1),
    "columns summed up": lambda m, a: m.cumsum(a[::-1] * (1 / a.shape[0]), 0)[::-1],
    "multiplied up": lambda m, a: m.cumprod(1 + m.tanh(a) * (1 / a.shape[-1]), -1),
    "summed around": lambda m, a: windowed(m, a * 0.1, (2, 3), lax.add, 0),
    "largest around": lambda m, a: windowed(m, a, (3, 1, 2), lax.max, -np.inf),
    "row set": lambda m, a: updated(m, a, len(a) // 2, a[0] * 0.5),
    "part set": lambda m, a: updated(m, a, (slice(len(a) // 3, None), ..., slice(1, 4))[-a.ndim :], a.ravel()[0] + 1),
    "rows set": lambda m, a: updated(m, a, m.arange(len(a))[::2], 0.25),
    "rows added": lambda m, a: updated(m, a, m.arange(len(a) + 2) * 5 % len(a), a[:1] * 0.5, True),
    "elements added": lambda m, a: updated(m, a, (..., m.arange(40) * 7 % a.shape[-1]), 0.125, True),
    "complex": lambda m, a: m.real(a * (0.5 + 0.5j)) + m.imag(a * 0.25j),
    "mixed": mixed,
    "whole numbers": lambda m, a: (m.clip(a, -100, 100) * 0).astype(np.int32).astype(np.float32) + a,
}
NARROW = {name: UNARY[name] for name in ("exp", "tanh", "sin", "square", "minus", "floor", "log", "reversed")}
BINARY = {
    "plus": lambda m, a, b: a + b,
    "minus": lambda m, a, b: a - b,
    "times": lambda m, a, b: m.tanh(a * b),
    "over": lambda m, a, b: a / (1 + abs(b)),
    "larger": lambda m, a, b: m.maximum(a, b),
    "average": lambda m, a, b: (a + b) * 0.5,
}
REDUCTIONS = {
    "largest": lambda m, a, axis: m.max(a, axis=axis, keepdims=True),
    "smallest": lambda m, a, axis: m.min(a, axis=axis, keepdims=True),
    "sum": lambda m, a, axis: m.tanh(m.sum(a, axis=axis, keepdims=True) * 0.1),
    "mean": lambda m, a, axis: m.mean(a, axis=axis, keepdims=True),
    "deviation": lambda m, a, axis: m.sqrt(m.var(a, axis=axis, keepdims=True) + 1e-2),
    "product": lambda m, a, axis: m.prod(1 + m.tanh(a) * (1 / a.size), axis=axis, keepdims=True),
    "softmax": lambda m, a, axis: m.log(m.sum(m.exp(a - m.max(a, axis, keepdims=True)), axis, keepdims=True)),
}
# Of the inputs alone: where rounding decides, a comparison tells nothing.
CHOICES = {
    "where": lambda m, x, y, a, b: m.where(x > y, a, b),
    "some": lambda m, x, y, a, b: m.where(m.any(x > 2.1, axis=-1, keepdims=True), a, b),
    "all": lambda m, x, y, a, b: m.where(m.all(y < 2, axis=0, keepdims=True) & (x != y), a, b),
    "position": lambda m, x, y, a, b: a + m.argmax(x, axis=-1)[..., None] * 0.001,
    "position of rows": lambda m, x, y, a, b: b + m.argmin(y, axis=0) * 0.001,
    "position around": lambda m, x, y, a, b: a - positions_around(m, x) * 0.001,
    "farthest": lambda m, x, y, a, b: b + farthest(m, x, -1) * 0.1,
    "farthest of rows": lambda m, x, y, a, b: b - farthest(m, y, 0) * 0.1,
    "position of all": lambda m, x, y, a, b: b + m.argmax(x - y) * (1 / x.size),
    "bytes": lambda m, x, y, a, b: a + ((x > 0).astype(np.uint8) + (y > 0).astype(np.uint8)).astype(np.float32),
    "counted": lambda m, x, y, a, b: a + m.sum((x > y).astype(np.int32), axis=-1, keepdims=True) * 0.01,
    "looked up": lambda m, x, y, a, b: m.take_along_axis(a, (abs(x) * 7).astype(np.int32) % a.shape[-1], -1),
    "a row": lambda m, x, y, a, b: b + a[m.argmax(x) % a.shape[0]] * 0.5,
}
WHOLE = {
    "plus": lambda m, a, b: a + b,
    "minus": lambda m, a, b: a - b,
    "times": lambda m, a, b: a * b,
    "and": lambda m, a, b: (a & b) ^ ~a,
    "or": lambda m, a, b: a | (b >> b.dtype.type(1)),
    "larger": lambda m, a, b: m.maximum(a, b),
    "smaller": lambda m, a, b: m.minimum(a, b),
    "over": lambda m, a, b: a // m.where(b == 0, b + b.dtype.type(1), b | b.dtype.type(1)),
    "where": lambda m, a, b: m.where(a > b, b, a + b),
    "equal": lambda m, a, b: (a == b).astype(a.dtype) + a,
    "float": lambda m, a, b: (a % a.dtype.type(100)).astype(np.float32).astype(a.dtype) - b,
    "turned": lambda m, a, b: (a.T + b.T).T,
    "rolled": lambda m, a, b: m.concatenate([a[..., 1:], b[..., :1]], -1),
    "padded": lambda m, a, b: m.pad(a[:-1], [(1, 0)] + [(0, 0)] * (a.ndim - 1)) + b,
    "sum": lambda m, a, b: a + m.sum(b, -1, keepdims=True, dtype=b.dtype),
    "sum of rows": lambda m, a, b: a ^ m.sum(b, 0, keepdims=True, dtype=b.dtype),
    "sum of all": lambda m, a, b: a - m.sum(b, keepdims=True, dtype=b.dtype),
    "product": lambda m, a, b: a + m.prod(b | b.dtype.type(1), -1, keepdims=True, dtype=b.dtype),
    "largest": lambda m, a, b: b - m.max(a, -1, keepdims=True),
    "smallest": lambda m, a, b: b - m.min(a, 0, keepdims=True),
    "position": lambda m, a, b: b + m.argmax(a, -1)[..., None].astype(a.dtype),
    "summed up": lambda m, a, b: a + m.cumsum(b, -1, dtype=b.dtype),
    "columns summed up": lambda m, a, b: a ^ m.cumsum(b, 0, dtype=b.dtype),
    "rows added": lambda m, a, b: updated(m, a, m.arange(len(a) + 2) * 5 % len(a), b[:1], True),
    "elements set": lambda m, a, b: updated(m, a, (..., m.arange(a.shape[-1])[::3]), b[..., ::3]),
    "some": lambda m, a, b: m.where(m.any(a == b, 0, keepdims=True), a, b),
}
# How results are moved before they are returned.
MOVES = {
    "turned": lambda m, a: a.T,
    "turned around": lambda m, a: a.T[..., ::-1],
    "swapped": lambda m, a: m.moveaxis(a, 0, -1),
    "reversed": lambda m, a: a[::-1],
    "every second": lambda m, a: a[..., ::2],
    "every third of rows": lambda m, a: a[1::3] if len(a) > 3 else a,
    "a part": lambda m, a: a[len(a) // 3 :, ..., a.shape[-1] // 2 :],
    "padded": lambda m, a: m.pad(a, 1),
    "rows taken": lambda m, a: a[m.arange(7) * 5 % a.shape[0]],
    "columns taken": lambda m, a: a[..., m.arange(7) * 5 % a.shape[-1]],
    "a diagonal": lambda m, a: m.diagonal(a, axis1=0, axis2=-1),
    "as it is": lambda m, a: a,
}
# How far from NumPy's numbers of float64 rounding leads, for numbers about 1.
SHARES = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
# Of complex numbers, about as large as their operands.
PAIRED = {
    "plus": lambda m, a, b: a * 0.5 + b,
    "minus": lambda m, a, b: a - b * (0.5 + 0.25j),
    "times": lambda m, a, b: a * b / (1 + abs(a)),
    "conjugate": lambda m, a, b: m.conj(a) - b.real,
    "parts": lambda m, a, b: (a.real * 0.5 + 1j * b.imag).astype(a.dtype),
    "over": lambda m, a, b: a / (b.real * b.real + 2 - 1j),
    "size": lambda m, a, b: abs(a) - b * 0.5,
    "root": lambda m, a, b: m.sqrt(a * a + 9) + b * 0,
    "power": lambda m, a, b: m.exp(1j * a.real) - b.imag,
    "turned": lambda m, a, b: (a.T * 1j - b.T).T,
    "rows reversed": lambda m, a, b: a[::-1] * 0.5 + b,
    "reversed": lambda m, a, b: a[..., ::-1] - b * 0.5,
    "rolled": lambda m, a, b: m.concatenate([a[..., 1:], b[..., :1]], -1),
    "padded": lambda m, a, b: m.pad(a[:-1], [(1, 0)] + [(0, 0)] * (a.ndim - 1)) - b,
    "every second": lambda m, a, b: m.repeat(a[..., ::2], 2, -1)[..., : a.shape[-1]] - b * 0.5,
    "flat": lambda m, a, b: (a.reshape(-1)[::-1] * 1j).reshape(a.shape) + b * 0.5,
    "counted": lambda m, a, b: a + m.arange(a.shape[-1]).astype(a.dtype) * 0.001j - b * 0.25,
    "taken": lambda m, a, b: a[..., m.arange(a.shape[-1]) * 5 % a.shape[-1]] - b * 0.5,
    "sum": lambda m, a, b: a - m.sum(b, -1, keepdims=True) * (1 / b.shape[-1]),
    "sum of rows": lambda m, a, b: a * 0.5 + m.sum(b, 0, keepdims=True) * (1j / b.shape[0]),
    "sum of all": lambda m, a, b: b - m.sum(a * (1 / a.size), keepdims=True),
    "mean": lambda m, a, b: b * 0.5 - m.mean(a, -1, keepdims=True),
    "deviation": lambda m, a, b: b / (1 + m.std(a, 0, keepdims=True)),
    "product": lambda m, a, b: b * 0.5 - m.prod(1 + a * (0.1 / a.size), -1, keepdims=True),
    "equal": lambda m, a, b: m.where(a == b, a * 1j, b),
    "some": lambda m, a, b: m.where(m.any(a != a, 0, keepdims=True), a, b),
}
# By how much a number about 1 is rounded.
ROUNDING = {"float32": 1e-7, "complex64": 1e-7, "float16": 1e-3, "bfloat16": 8e-3}
WHOLE_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@dataclasses.dataclass
class Program:
    """Steps (table, name, axis, operands) on a list of values that begins with two arguments; results, their moves."""

    steps: list
    returned: list
    moves: list
    shape: tuple
    dtype: np.dtype

    def __str__(self):
        steps = [f"  {i}: {name} {axis} of {operands}" for i, (_, name, axis, operands) in enumerate(self.steps, 2)]
        return "\n".join([f"{self.dtype}{list(self.shape)}, returns {self.returned} {self.moves}", *steps])

    def values(self, m, x, y):
        found = [x, y]
        for table, name, axis, operands in self.steps:
            values = [found[place] for place in operands]
            if table is REDUCTIONS:
                values.append(axis if axis is None or axis < values[0].ndim else -1)
            found.append(table[name](m, *values))
        values = [found[place] for place in self.returned]
        return [MOVES[move](m, a) if a.ndim > 1 else a for move, a in zip(self.moves, values)]

    def arguments(self, numbers):
        if self.dtype.kind == "c":
            return [(numbers.normal(size=(*self.shape, 2)) @ [1, 1j]).astype(self.dtype) for _ in range(2)]
        if self.dtype.kind not in "iu":
            return [numbers.normal(size=self.shape).astype(self.dtype) for _ in range(2)]
        info = np.iinfo(self.dtype)
        some = np.array([info.min, info.max, 0, 1, 2, 3, 7, 100, info.max - 1], self.dtype)
        return [numbers.choice(some, size=self.shape) for _ in range(2)]


def random_program(rng, wide):
    """A program of floats or whole numbers, of 64 bits too if `wide`."""
    if rng.random() < 0.15:
        names = WHOLE_DTYPES if wide else WHOLE_DTYPES[:6]
        steps = [
            (WHOLE, rng.choice(list(WHOLE)), None, [rng.randrange(max(0, i - 4), i) for _ in range(2)])
            for i in range(2, 2 + rng.randint(1, 9))
        ]
        returned, moves = _returned(rng, len(steps) + 1)
        return Program(steps, returned, moves, rng.choice(SHAPES), np.dtype(rng.choice(names)))
    if rng.random() < 0.12:
        steps = [
            (PAIRED, rng.choice(list(PAIRED)), None, [rng.randrange(max(0, i - 4), i) for _ in range(2)])
            for i in range(2, 2 + rng.randint(1, 9))
        ]
        returned, moves = _returned(rng, len(steps) + 1)
        return Program(steps, returned, moves, rng.choice(SHAPES), np.dtype("complex128" if wide else "complex64"))
    full, narrow, steps = [0, 1], [], []
    for place in range(2, 2 + rng.randint(1, 14)):
        near = full[-4:]
        kind = rng.choices((UNARY, BINARY, REDUCTIONS, CHOICES, NARROW), (5, 5, 4, 1, 1))[0]
        if kind is NARROW and not narrow:
            kind = REDUCTIONS
        name = rng.choice(list(kind))
        axis = rng.choice([-1, -1, -1, 0, 0, None, 1])
        is_narrow = kind in (REDUCTIONS, NARROW)
        if kind is BINARY:
            operands = [rng.choice(near), rng.choice(3 * narrow + near)]
            if narrow and rng.random() < 0.2:
                operands, is_narrow = [rng.choice(narrow), rng.choice(narrow)], True
            operands = operands[:: rng.choice([1, -1])]
        elif kind is CHOICES:
            operands = [0, 1, rng.choice(near), rng.choice(near)]
        else:
            operands = [rng.choice(narrow if kind is NARROW else near)]
        (narrow if is_narrow else full).append(place)
        steps.append((kind, name, axis, operands))
    dtype = np.dtype(rng.choice(("float64",) if wide else ("float32", "float32", "float16", "bfloat16")))
    returned, moves = _returned(rng, len(steps) + 1)
    return Program(steps, returned, moves, rng.choice(SHAPES), dtype)


def _returned(rng, last):
    """The last value, and a few others; sometimes an argument, or one twice. And how each is moved."""
    found = {last, *(rng.randrange(2, last + 1) for _ in range(rng.randint(0, 2)))}
    found = sorted(found) + ([rng.randrange(last + 1)] if rng.random() < 0.2 else [])
    return found, [rng.choice([*MOVES, *["as it is"] * 6]) for _ in found]


@pytest.fixture(autouse=True)
def failures(monkeypatch):
    """Kernels are formed, and compiled, without failures."""
    started = time.time()
    with without_failures(monkeypatch):
        yield
    assert [r for r in log.records("compile") if r.message == "refused" and r.time >= started] == []


def expected_of(program, x, y):
    """What a program returns, and how far from it rounding may lead; NumPy's own rounding is a measure of that."""
    with np.errstate(all="ignore"):
        if program.dtype.kind in "iu":
            return [(want, 0) for want in program.values(np, x, y)]
        exact = np.result_type(program.dtype, np.float64) if program.dtype.kind == "c" else np.dtype(np.float64)
        want = program.values(np, x.astype(exact), y.astype(exact))
        near = want if program.dtype == exact else program.values(np, x, y)
    share = SHARES[program.dtype.name]
    if any(name in ("product", "multiplied up") for _, name, *_ in program.steps):
        # If all factors are the same, each is rounded in the same direction.
        share = max(share, min(2, ROUNDING.get(program.dtype.name, 0) * x.size))
    return [(w, share * max(1, abs(w).max()) + 8 * abs(n - w).max()) for w, n in zip(want, near, strict=True)]


def check(seed, monkeypatch):
    """A few programs: with workgroups of all sizes, on either queue, on memory that ends at a guarded page."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    wide = rng.random() < 0.3
    programs = [random_program(rng, wide) for _ in range(TOGETHER)]
    monkeypatch.setattr(shares, "SHARE", rng.choice([1, 50, 1000, 20_000]))
    monkeypatch.setattr(groups, "SHARED", rng.choice([1, 100, 1 << 15]))
    queue = rng.choice(["local-sync", "local-task"])
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    arguments = [program.arguments(numbers) for program in programs]
    donated = rng.random() < 0.3
    # Short rows are lanes, however few and cheap they are.
    little = rng.choice([1, 1 << 20])
    monkeypatch.setattr(prepared, "_MUCH", little)
    monkeypatch.setattr(prepared, "COSTLY", 30 if little > 1 else 4)

    def function(arrays):
        return [program.values(snp, *pair) for program, pair in zip(programs, arrays)]

    with stagec.config.override(enable_x64=wide):
        given = [[snp.array(a) if donated else guarded(a) for a in pair] for pair in arguments]
        found = stagec.jit(function, donate_argnums=0 if donated else ())(given)
    for program, pair, results in zip(programs, arguments, found, strict=True):
        for number, (got, (want, tolerance)) in enumerate(zip(results, expected_of(program, *pair), strict=True)):
            message = f"{seed}, result {number} of {program}"
            np.testing.assert_allclose(np.asarray(got), want, rtol=0, atol=tolerance, err_msg=message)


@pytest.mark.filterwarnings("ignore::stagec.errors.DonationWarning")
@pytest.mark.parametrize("seed", range(START, START + FUZZ) if FUZZ else range(25))
def test_compiled_programs_are_those_of_numpy(seed, monkeypatch):
    with stagec.config.override(enable_cache=False):
        check(seed, monkeypatch)
