"""top_k: ties, NaN, zeros, and the order of unsigned numbers; sorts that other frameworks wrote."""

from __future__ import annotations

import numpy as np
import pytest
from iree.compiler import ir
from legalize_harness import Compiled

import passes
from passes import bindings
from tests.workarounds import reproduce
from tests.workarounds.records import Program

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
DTYPES |= {f"i{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)}
DTYPES |= {f"ui{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)}


def sample(dtype):
    if np.dtype(dtype).kind == "f":
        rows = [
            [-28, -5, -28, -28, -90, -28, -28],
            [5, np.nan, 5, np.inf, 1, -0.0, 0.0],
            [0.0, -0.0, -1, -1, -2, -np.inf, -3],
        ]
        return np.array(rows, dtype)
    info = np.iinfo(dtype)
    return np.array([[3, info.max, 7, 1, 100, 9, 100], [info.min, 5, 5, info.max, 1, 5, 2], [1] * 7], dtype)


def best(row, count):
    def key(i):
        return (0, 0, i) if row[i] != row[i] else (1, -row[i], i)

    return sorted(range(len(row)), key=key)[:count]


def top_k(name, element, result):
    t, values, indices = f"tensor<3x7x{element}>", f"tensor<3x4x{element}>", "tensor<3x4xi32>"
    return (
        f"func.func @{name}(%a: {t}) -> {(values, indices)[result]} {{ %0, %1 = chlo.top_k(%a, k = 4) : {t} -> "
        f"({values}, {indices}) return %{result} : {(values, indices)[result]} }}"
    )


@pytest.fixture(scope="module")
def compiled():
    return Compiled({f"{e}{r}": top_k(f"top_{e}_{r}", e, r) for e in DTYPES for r in (0, 1)})


@pytest.mark.parametrize("element", DTYPES)
def test_top_k_puts_the_lower_index_first_among_equals(compiled, element):
    x = sample(DTYPES[element])
    expected = [best(row, 4) for row in x.tolist()]
    assert compiled(f"top_{element}_1", x).tolist() == expected
    values = compiled(f"top_{element}_0", x).view(x.dtype)
    np.testing.assert_array_equal(values, np.take_along_axis(x, np.array(expected), 1))


def sort(elements, comparison, count, dimension=0, stable="true"):
    """A module that sorts arrays of `count` rows of two by a comparison of the scalars `%a, %b, %c, %d, ...`."""
    types = [f"tensor<{count}x2x{element}>" for element in elements]
    scalars = [f"%{name}: tensor<{e}>" for names, e in zip(("ab", "cd", "ef"), elements) for name in names]
    arguments = [f"%x{i}: {kind}" for i, kind in enumerate(types)]
    listed, values = ", ".join(types), ", ".join(f"%x{i}" for i in range(len(types)))
    results = ", ".join(f"%0#{i}" for i in range(len(types))) if len(types) > 1 else "%0"
    return f"""
func.func @main({", ".join(arguments)}) -> ({listed}) {{
  %0{":" + str(len(types)) if len(types) > 1 else ""} = "stablehlo.sort"({values}) <{{
    dimension = {dimension} : i64, is_stable = {stable}}}> ({{
  ^bb0({", ".join(scalars)}):
    {comparison}
    stablehlo.return %before : tensor<i1>
  }}) : ({listed}) -> ({listed})
  return {results} : {listed}
}}"""


def compare(direction, x, y, element, kind=""):
    return f"stablehlo.compare {direction}, {x}, {y}{kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>"


LESS = "%before = " + compare("LT", "%a", "%b", "i32")
GREATER = "%before = " + compare("GT", "%a", "%b", "f32")
SWAPPED = "%before = " + compare("LT", "%b", "%a", "i32")
# As JAX compares floats: -0.0 becomes 0.0, and every NaN the same.
TOTAL = "\n".join(
    f"""%zero{v} = stablehlo.constant dense<0.0> : tensor<f32>
    %nan{v} = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %is0{v} = {compare("EQ", f"%{v}", f"%zero{v}", "f32")}
    %z{v} = stablehlo.select %is0{v}, %zero{v}, %{v} : tensor<i1>, tensor<f32>
    %isn{v} = {compare("NE", f"%{v}", f"%{v}", "f32")}
    %k{v} = stablehlo.select %isn{v}, %nan{v}, %z{v} : tensor<i1>, tensor<f32>"""
    for v in "ab"
)
TOTAL += "\n%before = " + compare("LT", "%ka", "%kb", "f32", ", TOTALORDER")
TWO_KEYS = f"""%l = {compare("LT", "%a", "%b", "i32")}
    %same = {compare("EQ", "%a", "%b", "i32")}
    %m = {compare("GT", "%c", "%d", "i32")}
    %and = stablehlo.and %same, %m : tensor<i1>
    %before = stablehlo.or %l, %and : tensor<i1>"""
SQUARES = f"""%p = stablehlo.multiply %a, %a : tensor<i32>
    %q = stablehlo.multiply %b, %b : tensor<i32>
    %before = {compare("LT", "%p", "%q", "i32")}"""
# Of both operands: no key is seen.
SUMS = f"""%p = stablehlo.add %a, %c : tensor<i32>
    %q = stablehlo.add %b, %d : tensor<i32>
    %before = {compare("LT", "%p", "%q", "i32")}"""
REAL = f"""%p = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %q = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %before = {compare("LT", "%p", "%q", "f32")}"""

SORTS = {
    "numbers": (["i32", "i32"], LESS),
    "descending": (["f32", "i32"], GREATER),
    "sides exchanged": (["i32", "f32"], SWAPPED),
    "total order": (["f32", "i32"], TOTAL),
    "two keys": (["i32", "i32", "f32"], TWO_KEYS),
    "squares": (["i32", "i32"], SQUARES),
    "sums": (["i32", "i32"], SUMS),
    "complex": (["complex<f32>", "i32"], REAL),
}
# Whether the comparison is seen to be by keys.
SEEN = {name: name != "sums" for name in SORTS}


def columns(elements, count):
    rng = np.random.default_rng(count)
    made = {
        "i32": lambda: rng.integers(-4, 5, (count, 2)).astype(np.int32),
        "f32": lambda: rng.choice(np.float32([-2, -0.0, 0.0, 1.5, np.inf]), (count, 2)),
        "complex<f32>": lambda: (rng.integers(0, 3, (count, 2)) + 1j * rng.normal(size=(count, 2))).astype("complex64"),
    }
    return tuple(made[element]() for element in elements)


@pytest.mark.parametrize("count", [9, 60])
@pytest.mark.parametrize("name", SORTS)
def test_sorts_that_others_wrote_are_stable(name, count):
    elements, comparison = SORTS[name]
    program = Program(sort(elements, comparison, count), columns(elements, count))
    assert reproduce.outcome(program, reproduce.compiled_with_workarounds) == reproduce.RIGHT


@pytest.mark.parametrize("target", ["vulkan", "cuda"])
@pytest.mark.parametrize("name", ["total order", "complex"])
def test_sorts_that_others_wrote_compile_for_gpus(name, target):
    elements, comparison = SORTS[name]
    program = Program(sort(elements, comparison, 9), columns(elements, 9), target=target)
    assert reproduce.compiled_with_workarounds(program)


def after(text, pipeline, laws="cpu"):
    module = ir.Module.parse(text, bindings.new_context())
    hits = passes.run(module, pipeline, options=passes.PassOptions(laws=laws)).hits
    return str(module), hits


@pytest.mark.parametrize("name", SORTS)
def test_which_sorts_are_of_positions_and_become_networks(name):
    text, hits = after(sort(*SORTS[name], 60), "forms")
    assert "stablehlo.while" not in text and text.count("stablehlo.sort") == 1
    assert ("sort_by_positions" in hits) == ("stablehlo.gather" in text) == SEEN[name]
    short, long = (after(sort(*SORTS[name], count), "forms, sorts")[0] for count in (9, 60))
    gpu, hits = after(sort(*SORTS[name], 9), "forms, legalize", "gpu")
    assert "stablehlo.while" not in short
    assert ("stablehlo.while" in long) == ("stablehlo.while" in gpu) == SEEN[name]
    assert ("sort_any_by_positions" in hits) == SEEN[name]


def test_a_sort_that_need_not_be_stable_stays():
    text, hits = after(sort(["i32", "f32"], LESS, 9, stable="false"), "forms, sorts")
    assert not hits and text.count("stablehlo.sort") == 1


def test_a_sort_of_whole_numbers_alone_needs_no_position():
    text, hits = after(sort(["i32"], LESS, 9), "sorts")
    assert hits == {"sort_by_position_too": 1} and "stablehlo.iota" not in text and "is_stable = false" in text


@pytest.mark.parametrize("pipeline", ["forms", "sorts"])
def test_a_second_run_changes_nothing(pipeline):
    for name, count in (("numbers", 9), ("complex", 9), ("two keys", 60), ("sums", 60)):
        module = ir.Module.parse(sort(*SORTS[name], count), bindings.new_context())
        passes.run(module, "forms")
        passes.run(module, pipeline)
        before = str(module)
        assert passes.run(module, pipeline).hits == {} and str(module) == before


def test_a_number_that_was_sorted_is_the_sorts_own_result():
    """A gather of it by the sort's positions would become the result of the sort again, and so on."""
    text, _ = after(sort(["i32", "i32"], LESS, 60), "forms, simplify, forms")
    assert text.count('"stablehlo.gather"(') == 1
