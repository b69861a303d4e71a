"""Unsigned integers in ops whose lowering knows signed ones only."""

from __future__ import annotations

import numpy as np
import pytest
from legalize_harness import Compiled

DTYPES = {f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
SCANS = {
    "add": (np.cumsum, lambda dtype: 0),
    "multiply": (np.cumprod, lambda dtype: 1),
    "maximum": (np.maximum.accumulate, lambda dtype: 0),
    "minimum": (np.minimum.accumulate, lambda dtype: np.iinfo(dtype).max),
}


def sample(dtype):
    return np.array([3, 250, 7, 1, 200, np.iinfo(dtype).max, 200], dtype)


def scan(name, op, element, start):
    t, s = f"tensor<7x{element}>", f"tensor<{element}>"
    return (
        f"func.func @{name}(%a: {t}) -> {t} {{ %i = stablehlo.constant dense<{start}> : {s}\n"
        f'%0 = "stablehlo.reduce_window"(%a, %i) ({{ ^bb0(%p: {s}, %q: {s}): %r = stablehlo.{op} %p, %q : {s}\n'
        f"stablehlo.return %r : {s} }}) {{window_dimensions = array<i64: 7>, padding = dense<[[6, 0]]> : "
        f"tensor<1x2xi64>}} : ({t}, {s}) -> {t} return %0 : {t} }}"
    )


def reverse(name, element):
    t = f"tensor<7x{element}>"
    return f"func.func @{name}(%a: {t}) -> {t} {{ %0 = stablehlo.reverse %a, dims = [0] : {t} return %0 : {t} }}"


LOOP = """
func.func @loop(%n: tensor<i32>) -> tensor<ui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<0> : tensor<ui32>
  %0:2 = stablehlo.while(%i = %zero, %sum = %start) : tensor<i32>, tensor<ui32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %term = stablehlo.convert %i : (tensor<i32>) -> tensor<ui32>
    %total = stablehlo.add %sum, %term : tensor<ui32>
    stablehlo.return %next, %total : tensor<i32>, tensor<ui32>
  }
  return %0#1 : tensor<ui32>
}
"""


NARROW = ("ui8", "ui16")


def product(name, element):
    return f"""
func.func @{name}(%x: tensor<4x4x{element}>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.convert %x : (tensor<4x4x{element}>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
"""


def mixed(name, element):
    x = f"tensor<4x4x{element}>"
    return f"""
func.func @{name}(%x: {x}) -> tensor<4x4xi32> {{
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : ({x}, {x}) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}}
"""


@pytest.fixture(scope="module")
def compiled():
    functions = {}
    for element, dtype in DTYPES.items():
        for op, (_, start) in SCANS.items():
            functions[f"{op}_{element}"] = scan(f"{op}_{element}", op, element, start(dtype))
        functions[f"reverse_{element}"] = reverse(f"reverse_{element}", element)
    functions["loop"] = LOOP
    functions |= {f"product_{element}": product(f"product_{element}", element) for element in NARROW}
    functions |= {f"mixed_{element}": mixed(f"mixed_{element}", element) for element in NARROW}
    return Compiled(functions)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", SCANS)
def test_a_running_reduction_of_unsigned_numbers_agrees_with_numpy(compiled, op, element):
    x = sample(DTYPES[element])
    with np.errstate(over="ignore"):
        expected = SCANS[op][0](x, **({"dtype": x.dtype} if op in ("add", "multiply") else {}))
    assert compiled(f"{op}_{element}", x).view(x.dtype).tolist() == expected.tolist()


@pytest.mark.parametrize("element", DTYPES)
def test_unsigned_numbers_can_be_reversed(compiled, element):
    x = sample(DTYPES[element])
    assert compiled(f"reverse_{element}", x).view(x.dtype).tolist() == x[::-1].tolist()


def test_a_loop_may_convert_to_unsigned(compiled):
    assert int(compiled("loop", np.array(5, np.int32)).view(np.uint32)) == 10


@pytest.mark.parametrize("element", NARROW)
def test_a_product_does_not_read_converted_unsigned_numbers_as_signed(compiled, element):
    x = (np.arange(16) * np.iinfo(DTYPES[element]).max // 15).astype(DTYPES[element]).reshape(4, 4)
    y = np.array([1, 2, 3, 4], np.float32)
    assert compiled(f"product_{element}", x, y).tolist() == (x.astype(np.float32) @ y).tolist()


@pytest.mark.parametrize("element", NARROW)
def test_a_product_of_unsigned_numbers_with_a_wider_result(compiled, element):
    top = min(np.iinfo(DTYPES[element]).max, 20000)
    x = (np.arange(16) * top // 15).astype(DTYPES[element]).reshape(4, 4)
    assert compiled(f"mixed_{element}", x).tolist() == (x.astype(np.int32) @ x.astype(np.int32).T).tolist()
