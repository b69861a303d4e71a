"""Each law fires on its example, keeps its promise for other types, and leaves what looks alike as it is."""

import dataclasses
import re

import numpy as np
import pytest
from law_examples import ALL, FOLDER, examples, sample_arguments
from pass_helpers import op_names, parse, same_bits

import passes
from passes import build
from passes.match import dtype_of, shape_of
from passes.numeric.interpreter import interpret
from tests.laws import page

SHOWN = [example for example in examples() if example.leaves is not None]
KEPT = [example for example in examples() if example.leaves is None]
EXACT = [example for example in SHOWN if example.family != "fast_math"]
FAST = [example for example in SHOWN if example.family == "fast_math"]
# Element types in whose place a law must do as well.
KINDS = {"f32": ["f64", "f16", "bf16"], "i32": ["i64", "i8", "ui8", "ui32"]}


def name(example):
    return example.name


def test_every_function_of_the_files_is_an_example():
    functions = re.findall(r"func\.func @(\w+)", "\n".join(path.read_text() for path in FOLDER.glob("*.mlir")))
    assert sorted(functions) == sorted(example.name for example in examples())


def test_every_law_has_an_example_and_a_docstring():
    assert {law.name for law in ALL} == {example.law.name for example in SHOWN}
    assert all(law.doc for law in ALL)


def test_the_page_of_laws_is_up_to_date():
    assert (FOLDER.parents[2] / "docs/reference/laws.md").read_text() == page(), "run: python -m tests.laws"


@pytest.mark.parametrize("example", SHOWN, ids=name)
def test_simplify_leaves_what_the_example_says(example):
    module = example.module()
    report = passes.run(module, "simplify,fusion", options=example.options)
    assert list(example.leaves) == op_names(module)
    assert report.hits


@pytest.mark.parametrize("example", EXACT, ids=name)
def test_an_exact_law_keeps_the_bits(example):
    check_bits(example, example.module())


@pytest.mark.parametrize("example", EXACT, ids=name)
def test_an_exact_law_keeps_the_bits_of_other_types(example):
    """The example with another element type in the place of its own, where that is a program."""
    for kind, others in KINDS.items():
        for other in others:
            text = re.sub(rf"(?<=[<x]){kind}(?=>)", other, example.main)
            if text != example.main:
                try:
                    module = parse(text)
                except Exception:  # such as constants that the type does not have
                    continue
                check_bits(example, module, must_fire=False)


def check_bits(example, module, must_fire=True):
    inputs = [sample_arguments(module, seed) for seed in range(4)]
    before = [interpret(module, *arrays) for arrays in inputs]
    hits = passes.apply(module, [example.law])
    assert hits.get(example.law.name) or not must_fire
    for arrays, values in zip(inputs, before):
        for value, found in zip(values, interpret(module, *arrays)):
            assert same_bits(value, found), (arrays, value, found, str(module))


@pytest.mark.parametrize("example", KEPT, ids=name)
def test_no_law_takes_what_looks_alike(example):
    module = example.module()
    before = op_names(module)
    passes.run(module, "simplify,fusion")
    assert before == op_names(module)


def test_indices_that_may_be_equal_are_not_marked_as_unique():
    names = ("a_scatter_at_indices_of_which_two_are_equal", "numbers_that_wrap_are_not_unique_in_the_order_of_a_sort")
    for example in KEPT:
        if example.name in names:
            module = example.module()
            assert "scatter_at_unique_indices" not in passes.run(module, "simplify,fusion").hits
            assert "unique_indices = true" not in str(module)


def of_constants(text, number):
    """A function with constants in the place of its arguments."""
    head, _, body = text.partition("{\n")
    arguments = re.findall(r"(%\w+): (tensor<(?:\d+x)*(complex<\w+>|\w+)>)", head.partition("->")[0])

    def literal(kind):
        real = str(number) if kind.startswith(("i", "ui")) else f"{number}.0"
        return "true" if kind == "i1" else f"({real}, {real})" if kind.startswith("complex") else real

    lines = [f"  {name} = stablehlo.constant dense<{literal(kind)}> : {type_}\n" for name, type_, kind in arguments]
    return re.sub(r"@main\([^)]*\)", "@main()", head) + "{\n" + "".join(lines) + body


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("example", examples(), ids=name)
def test_no_two_laws_undo_each_other(example, fast_math):
    """A program is done after one run: a second one rewrites nothing. Endless rewriting is a warning, an error here."""
    options = passes.PassOptions(fast_math=fast_math)
    for text in (example.main, of_constants(example.main, 1), of_constants(example.main, 3)):
        module = parse(text)
        passes.run(module, "simplify,fusion", options=options)
        before = str(module)
        passes.run(module, "simplify,fusion", options=options)
        assert before == str(module)


@pytest.mark.parametrize("example", examples(), ids=name)
def test_a_law_that_declines_builds_nothing(example, monkeypatch):
    """What it left behind would be dropped, which counts as a change, and the driver would call it again, for ever."""
    built, create = [], build.op

    def op(*arguments, **options):
        built.append(arguments[0])
        return create(*arguments, **options)

    def watched(law):
        def function(op):
            count = len(built)
            replacement = law.fn(op)
            assert replacement is not None or len(built) == count, law.name
            return replacement

        return dataclasses.replace(law, fn=function)

    monkeypatch.setattr(build, "op", op)
    passes.apply(example.module(), [watched(law) for law in ALL])


@pytest.mark.parametrize("example", FAST, ids=name)
def test_a_law_of_fast_math_agrees_to_rounding_and_asks_for_leave(example):
    plain, fast = example.module(), example.module()
    passes.run(plain, "simplify,fusion")
    assert passes.apply(fast, [example.law])
    arguments = plain.body.operations[0].operation.regions[0].blocks[0].arguments
    numbers = np.array([0.25, 0.5, 1.5, 3.0], np.float32)
    arrays = [np.resize(np.roll(numbers, i), shape_of(v)).astype(dtype_of(v)) for i, v in enumerate(arguments)]
    np.testing.assert_allclose(interpret(plain, *arrays)[0], interpret(fast, *arrays)[0], rtol=2e-6)
    assert list(example.leaves) != op_names(plain)
    # Each of its assumptions is needed: without it, the law does not run.
    for flag in example.law.assumes:
        granted = passes.PassOptions(fast_math=example.law.assumes - {flag})
        assert example.law not in passes.patterns.selected([example.law], granted.granted, "cpu")
