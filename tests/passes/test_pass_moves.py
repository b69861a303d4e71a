"""Random programs of slices, pads, transposes, joins, reductions and products keep their bits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from law_examples import sample_arguments
from pass_helpers import parse, same_bits
from test_random_programs import TIMES

from passes import run
from passes.numeric.interpreter import interpret

SHAPES = [(4,), (2, 3), (1, 4), (3, 2, 2), ()]
UNARY = {"f32": ["negate", "abs", "floor"], "i32": ["negate", "not", "sign"]}
BINARY = {"f32": ["add", "multiply", "maximum", "subtract"], "i32": ["add", "multiply", "minimum", "xor"]}
NUMBERS = {"f32": ["0.0", "-0.0", "1.0", "2.5"], "i32": ["0", "1", "-3"]}
# Sums of floats may change their order; the largest element is one of them.
COMBINATIONS = {
    "f32": [("maximum", "0xFF800000"), ("minimum", "2.0")],
    "i32": [("add", "0"), ("maximum", "-2147483648"), ("multiply", "1"), ("and", "-1"), ("add", "5")],
}


class Builder:
    """Writes MLIR text, a value a line."""

    def __init__(self, draw, kind):
        self.draw, self.kind = draw, kind
        self.values = [(f"%x{i}", shape) for i, shape in enumerate(SHAPES)]
        self.lines = []
        self.count = 0

    def type(self, shape, kind=None):
        return f"tensor<{''.join(f'{n}x' for n in shape)}{kind or self.kind}>"

    def fresh(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def emit(self, text, shape):
        self.values.append((self.fresh(text), tuple(shape)))

    def integer(self, low, high):
        return self.draw(st.integers(low, high))

    def pick(self, rank=0):
        fitting = [v for v in self.values if len(v[1]) >= rank]
        recent = fitting[-4:] if self.integer(0, 3) else fitting
        return self.draw(st.sampled_from(recent))

    def number(self):
        number = self.draw(st.sampled_from(NUMBERS[self.kind]))
        return self.fresh(f"stablehlo.constant dense<{number}> : {self.type(())}")

    def cut(self, shape, whole=False):
        parts = []
        for n in shape:
            start = self.integer(0, max(0, n - 1))
            limit = self.integer(min(start + 1, n), n)
            step = self.integer(1, 2)
            parts.append((0, n, 1) if self.integer(0, 1) or whole else (start, limit, step))
        return parts

    # Each of these writes one operation.

    def unary(self):
        name, shape = self.pick()
        self.emit(f"stablehlo.{self.draw(st.sampled_from(UNARY[self.kind]))} {name} : {self.type(shape)}", shape)

    def binary(self):
        name, shape = self.pick()
        other = self.draw(st.sampled_from([v for v, s in self.values if s == shape]))
        pair = f"{name}, {other}" if self.integer(0, 1) else f"{other}, {name}"
        self.emit(f"stablehlo.{self.draw(st.sampled_from(BINARY[self.kind]))} {pair} : {self.type(shape)}", shape)

    def with_number(self):
        name, shape = self.pick()
        t = self.type(shape)
        wide = self.fresh(f"stablehlo.broadcast_in_dim {self.number()}, dims = [] : ({self.type(())}) -> {t}")
        self.emit(f"stablehlo.{self.draw(st.sampled_from(BINARY[self.kind]))} {name}, {wide} : {t}", shape)

    def select(self):
        name, shape = self.pick()
        others = [v for v, s in self.values if s == shape]
        t, p = self.type(shape), self.type(shape, "i1")
        pred = self.fresh(f"stablehlo.compare LT, {name}, {self.draw(st.sampled_from(others))} : ({t}, {t}) -> {p}")
        self.emit(f"stablehlo.select {pred}, {name}, {self.draw(st.sampled_from(others))} : {p}, {t}", shape)

    def slice(self):
        name, shape = self.pick(1)
        parts = self.cut(shape)
        after = [max(0, -(-(b - a) // s)) for a, b, s in parts]
        text = ", ".join(f"{a}:{b}:{s}" for a, b, s in parts)
        self.emit(f"stablehlo.slice {name} [{text}] : ({self.type(shape)}) -> {self.type(after)}", after)

    def dynamic_slice(self):
        name, shape = self.pick(1)
        sizes = [self.integer(min(1, n), n) for n in shape]
        starts = ", ".join("%i" if self.integer(0, 1) else "%j" for _ in shape)
        types = ", ".join([self.type(shape), *["tensor<i32>"] * len(shape)])
        self.emit(f"stablehlo.dynamic_slice {name}, {starts}, sizes = {sizes} : ({types}) -> {self.type(sizes)}", sizes)

    def update(self):
        name, shape = self.pick(1)
        # The update is a part of the array or of another one.
        other, _ = self.draw(st.sampled_from([v for v in self.values if v[1] == shape]))
        sizes = [self.integer(min(1, n), n) for n in shape]
        part = ", ".join(f"0:{n}" for n in sizes)
        update = self.fresh(f"stablehlo.slice {other} [{part}] : ({self.type(shape)}) -> {self.type(sizes)}")
        one = self.fresh(f"stablehlo.constant dense<{self.integer(0, 2)}> : tensor<i32>")
        starts = ", ".join(["%i", one][self.integer(0, 1)] for _ in shape)
        types = ", ".join([self.type(shape), self.type(sizes), *["tensor<i32>"] * len(shape)])
        self.emit(f"stablehlo.dynamic_update_slice {name}, {update}, {starts} : ({types}) -> {self.type(shape)}", shape)

    def pad(self):
        name, shape = self.pick(1)
        low, high = ([self.integer(-1, 2) if n > 2 else self.integer(0, 2) for n in shape] for _ in range(2))
        between = [self.integer(0, 1) for _ in shape]
        after = [n + a + b + max(n - 1, 0) * k for n, a, b, k in zip(shape, low, high, between)]
        if any(n > 7 or n < 0 for n in after):
            return
        types = f"({self.type(shape)}, {self.type(())}) -> {self.type(after)}"
        number = self.number()
        text = f"stablehlo.pad {name}, {number}, low = {low}, high = {high}, interior = {between} : {types}"
        self.emit(text, after)

    def transpose(self):
        name, shape = self.pick(1)
        order = self.draw(st.permutations(range(len(shape))))
        after = [shape[i] for i in order]
        self.emit(
            f"stablehlo.transpose {name}, dims = {list(order)} : ({self.type(shape)}) -> {self.type(after)}", after
        )

    def reshape(self):
        name, shape = self.pick()
        size = int(np.prod(shape))
        ways = [(size,), (1, size), (size, 1), (*shape, 1), (1, *shape), tuple(n for n in shape if n != 1)]
        ways += [(size // 2, 2), (2, size // 2)] if size % 2 == 0 else []
        after = self.draw(st.sampled_from([way for way in ways if len(way) < 4]))
        self.emit(f"stablehlo.reshape {name} : ({self.type(shape)}) -> {self.type(after)}", after)

    def reverse(self):
        name, shape = self.pick(1)
        dims = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
        self.emit(f"stablehlo.reverse {name}, dims = {dims} : {self.type(shape)}", shape)

    def broadcast(self):
        name, shape = self.pick()
        if len(shape) > 2:
            return
        at = self.integer(0, len(shape))
        after = [*shape[:at], self.integer(1, 3), *shape[at:]]
        dims = [d + (d >= at) for d in range(len(shape))]
        after = [3 if n == 1 and self.integer(0, 1) else n for n in after]
        types = f"({self.type(shape)}) -> {self.type(after)}"
        self.emit(f"stablehlo.broadcast_in_dim {name}, dims = {dims} : {types}", after)

    def iota(self):
        shape = self.draw(st.sampled_from([(4,), (2, 3), (3, 4)]))
        self.emit(f"stablehlo.iota dim = {self.integer(0, len(shape) - 1)} : {self.type(shape)}", shape)

    def concatenate(self):
        name, shape = self.pick(1)
        dim = self.integer(0, len(shape) - 1)
        rest = [
            v for v in self.values
            if len(v[1]) == len(shape) and all(a == b for d, (a, b) in enumerate(zip(v[1], shape)) if d != dim)
        ]  # fmt: skip
        parts = [(name, shape)] + [self.draw(st.sampled_from(rest)) for _ in range(self.integer(1, 2))]
        after = list(shape)
        after[dim] = sum(s[dim] for _, s in parts)
        if after[dim] > 8:
            return
        types = ", ".join(self.type(s) for _, s in parts)
        names = ", ".join(n for n, _ in parts)
        self.emit(f"stablehlo.concatenate {names}, dim = {dim} : ({types}) -> {self.type(after)}", after)

    def split(self):
        """f(x[:k]) ++ f(x[k:])"""
        name, shape = self.pick(1)
        if shape[0] < 2:
            return
        k, function = self.integer(1, shape[0] - 1), self.draw(st.sampled_from(UNARY[self.kind]))
        halves = []
        for a, b in ((0, k), (k, shape[0])):
            part = (b - a, *shape[1:])
            text = ", ".join([f"{a}:{b}", *(f"0:{n}" for n in shape[1:])])
            cut = self.fresh(f"stablehlo.slice {name} [{text}] : ({self.type(shape)}) -> {self.type(part)}")
            halves.append((self.fresh(f"stablehlo.{function} {cut} : {self.type(part)}"), part))
        types = ", ".join(self.type(part) for _, part in halves)
        names = ", ".join(half for half, _ in halves)
        self.emit(f"stablehlo.concatenate {names}, dim = 0 : ({types}) -> {self.type(shape)}", shape)

    def reduce(self):
        name, shape = self.pick(1)
        dims = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
        combination, first = self.draw(st.sampled_from(COMBINATIONS[self.kind]))
        start = self.fresh(f"stablehlo.constant dense<{first}> : {self.type(())}")
        after = [n for d, n in enumerate(shape) if d not in dims]
        types = f"({self.type(shape)}, {self.type(())}) -> {self.type(after)}"
        text = f"stablehlo.reduce({name} init: {start}) applies stablehlo.{combination} across dimensions = {dims}"
        self.emit(f"{text} : {types}", after)

    def product(self):
        (a, left), (b, right) = self.pick(1), self.pick(1)
        pairs = [(i, j) for i, n in enumerate(left) for j, m in enumerate(right) if n == m]
        if not pairs or self.kind != "i32" or len(left) + len(right) > 5:
            return
        i, j = self.draw(st.sampled_from(pairs))
        after = [n for d, n in enumerate(left) if d != i] + [n for d, n in enumerate(right) if d != j]
        types = f"({self.type(left)}, {self.type(right)}) -> {self.type(after)}"
        self.emit(f"stablehlo.dot_general {a}, {b}, contracting_dims = [{i}] x [{j}] : {types}", after)


FORMS = [name for name in vars(Builder) if not name.startswith("_")]
FORMS = [name for name in FORMS if name not in ("type", "fresh", "emit", "integer", "pick", "number", "cut")]


@st.composite
def programs(draw):
    builder = Builder(draw, draw(st.sampled_from(["f32", "i32"])))
    for _ in range(draw(st.integers(2, 9))):
        getattr(builder, draw(st.sampled_from(FORMS)))()
    results = builder.values[-2:]
    types = ", ".join(builder.type(shape) for _, shape in results)
    arguments = ", ".join(f"%x{i}: {builder.type(shape)}" for i, shape in enumerate(SHAPES))
    body = "\n  ".join(builder.lines)
    return (
        f"func.func @main({arguments}, %i: tensor<i32>, %j: tensor<i32>) -> ({types}) {{\n  {body}\n"
        f"  return {', '.join(name for name, _ in results)} : {types}\n}}"
    )


@settings(max_examples=100 * TIMES, deadline=None)
@given(text=programs(), seed=st.integers(0, 1 << 16))
def test_simplify_keeps_the_bits_of_programs_that_move_elements(text, seed):
    module = parse(text)
    arrays = sample_arguments(module, seed)
    expected = interpret(module, *arrays)
    run(module, "simplify")
    for a, b in zip(expected, interpret(module, *arrays)):
        assert same_bits(a, b), f"{text}\n{module}\n{arrays}\nexpected {a}\nactual {b}"
    once = str(module)
    report = run(module, "simplify")
    assert once == str(module), text
    assert report.hits == {}, text


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_a_program(form):
    """Each form writes an operation for some of the draws."""

    @settings(max_examples=30, deadline=None, database=None)
    @given(data=st.data())
    def found(data):
        builder = Builder(data.draw, "i32")
        getattr(builder, form)()
        lengths.append(len(builder.lines))

    lengths = []
    found()
    assert max(lengths)
