"""Squares that are transposed in registers, and operands that are packed in them."""

import re

import numpy as np
import pytest
from guarded import guarded

import stagec
from passes import PassOptions, bindings, kernels
from passes.kernels.squares import transposed
from passes.kernels.writer import Writer

SHUFFLE = re.compile(r"(%\d+) = vector.shuffle (\S+), (\S+) \[(.*)\] :")


def shuffled(vectors, text):
    """The vectors after the shuffles of a text; also the numbers of each shuffle."""
    found, numbers = dict(vectors), []
    for name, a, b, order in SHUFFLE.findall(text):
        numbers.append([int(i) for i in order.split(",")])
        found[name] = [(found[a] + found[b])[i] for i in numbers[-1]]
    return found, numbers


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("element", ["f64", "f32", "i16", "bf16", "i8", "i1"])
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
def test_columns_become_rows(lanes, element, parts):
    w, rows = Writer(), {f"%r{i}": [(i, j, p) for j in range(lanes) for p in range(parts)] for i in range(lanes)}
    columns = transposed(w, list(rows), f"vector<{lanes * parts}x{element}>", parts)
    found, _ = shuffled(rows, w.text())
    expected = [[(i, j, p) for i in range(lanes) for p in range(parts)] for j in range(lanes)]
    assert [found[name] for name in columns] == expected


@pytest.mark.parametrize(("element", "rounds"), [("f64", 1), ("f32", 2), ("i16", 3), ("i8", 4)])
def test_the_first_rounds_interleave_halves_of_128_bits(element, rounds):
    """Which is one instruction each; others take several, and long to compile."""
    lanes, unit = 64, 1 << rounds
    w = Writer()
    transposed(w, [f"%r{i}" for i in range(lanes)], f"vector<{lanes}x{element}>")
    for number, order in enumerate(shuffled({f"%r{i}": [0] * lanes for i in range(lanes)}, w.text())[1]):
        if number < rounds * lanes:
            assert all(i % lanes // unit == at // unit for at, i in enumerate(order))
            half = {i % unit // (unit // 2) for i in order}
            assert len(half) == 1


def test_an_operand_is_transposed_by_the_code_of_one_square():
    features = frozenset({"avx2", "fma", "avx512f", "avx512vl", "avx512dq", "avx512bw"})
    for n, k in ((256, 128), (203, 77)):
        x, y, z = (f"tensor<{a}x{b}xf32>" for a, b in ((64, k), (n, k), (64, n)))
        text = f"""func.func @main(%a: {x}, %b: {y}) -> {z} {{
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : ({x}, {y}) -> {z}
          return %0 : {z}
        }}"""
        module = bindings.ir.Module.parse(text, bindings.new_context())
        assert kernels.form(module, PassOptions(machine="x86_64", features=features)) == {"products": 1}
        # Three rounds of eight.
        assert str(module).count("vector.shuffle") == 24


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_operands_with_edges_are_transposed(dtype):
    """Panels whose last columns and rows are no whole squares, of which only their own memory is read."""
    rng, pairs = np.random.default_rng(0), []
    for m, n, k in [(13, 33, 7), (20, 39, 8), (64, 40, 9), (70, 41, 15), (200, 65, 17), (30, 300, 66), (3, 257, 33)]:
        pairs.append([rng.normal(size=shape).astype(dtype) for shape in ((k, m), (n, k))])
    with stagec.config.override(enable_x64=True, enable_cache=False):
        found = stagec.jit(lambda *pairs: [x.T @ y.T for x, y in pairs])(*([guarded(x) for x in p] for p in pairs))
    tolerance = {"float32": 1e-5, "float64": 1e-13, "float16": 1e-2}[dtype]
    for (x, y), got in zip(pairs, found, strict=True):
        exact = x.T.astype(np.float64) @ y.T.astype(np.float64)
        np.testing.assert_allclose(np.asarray(got), exact, rtol=tolerance, atol=tolerance * 10, err_msg=str(x.shape))
