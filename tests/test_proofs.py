"""Laws are proven as the page says, and laws that are wrong are refuted."""

import contextlib
import os
import random
import time

import pytest

pytest.importorskip("bitwuzla", reason="Bitwuzla is not installed: pip install '.[test]'")

pytest.importorskip("z3", reason="z3 is not installed: pip install '.[test]'")

import passes
from passes.verdicts import verdicts
from tests.proving import wrong
from tests.proving.__main__ import ALL, differ, examples, mutants, parse, proofs, summary, verdict
from tests.proving.sizes import is_proven, runs
from tests.proving.templates import Template

EXACT = [law for law in ALL if law.exact]
VERDICTS = verdicts()
SAMPLE = random.Random(0).sample([law for law in EXACT if VERDICTS[law.name] == "proven"], 20)
OF_ALL_SIZES = [e for e in examples() if e.leaves is not None and verdicts().get(e.law.name, "").startswith("rank")]


def program(body, arguments="%x: tensor<f32>", result="tensor<f32>"):
    return parse(f"func.func @main({arguments}) -> {result} {{\n{body}\n}}")


def test_the_verdicts_are_those_of_the_laws_that_there_are():
    assert [*VERDICTS] == [law.name for law in EXACT]
    assert "refuted" not in VERDICTS.values()


@pytest.mark.parametrize("law", SAMPLE, ids=lambda law: law.name)
def test_laws_are_proven(law):
    assert summary(dict.fromkeys(proofs(law, 20))) == "proven"


ZERO = "%c = stablehlo.constant dense<0.0> : tensor<f32>"
WRONG = {
    "x + 0.0 is not x, for -0.0": (f"{ZERO}\n%r = stablehlo.add %x, %c : tensor<f32>\nreturn %r : tensor<f32>", "%x"),
    "x - x is not 0, for NaN": ("%r = stablehlo.subtract %x, %x : tensor<f32>\nreturn %r : tensor<f32>", "%c"),
    "x * 0 is not 0, for infinity": (
        f"{ZERO}\n%r = stablehlo.multiply %x, %c : tensor<f32>\nreturn %r : tensor<f32>",
        "%c",
    ),
}


@pytest.mark.parametrize("why", WRONG)
def test_laws_that_hold_for_numbers_alone_are_refuted(why):
    body, after = WRONG[why]
    assert verdict(program(body), program(f"{ZERO}\nreturn {after} : tensor<f32>"), 20).word == "refuted"


def test_functions_that_are_not_known_decide_nothing():
    one = program("%r = stablehlo.sine %x : tensor<f32>\nreturn %r : tensor<f32>")
    other = program("%r = stablehlo.tan %x : tensor<f32>\nreturn %r : tensor<f32>".replace("tangent", "tan"))
    assert verdict(one, one, 20).word == "proven"
    assert verdict(one, other, 20).word == "not known of a function"


def test_mutants_are_refuted():
    found = mutants(15 * int(os.environ.get("STAGEC_FUZZ", "1")), 5)
    known = found["refuted"] + sum(n for word, n in found.items() if word.startswith(("no answer", "not described")))
    assert found["refuted"] >= 0.9 * known and found["confirmed"] >= 0.9 * found["refuted"] > 0


@pytest.mark.parametrize("example", random.Random(0).sample(OF_ALL_SIZES, 30), ids=lambda example: example.name)
def test_laws_are_proven_for_all_sizes(example):
    assert is_proven(example.main, example.law, 0, 30)


@pytest.mark.parametrize("example", random.Random(1).sample(OF_ALL_SIZES, 30), ids=lambda example: example.name)
def test_what_laws_make_of_unknown_sizes_is_what_they_make_of_numbers(example):
    template = Template(example.main, 0, fixed=True)
    with contextlib.closing(runs(template, example.law, time.monotonic() + 60)) as steps:
        found = [wrong.elsewhere(run) for run in steps if run.after]
    for values, expected in found:
        module = template.module(values)
        passes.apply(module, [example.law])
        assert str(module) == expected


def test_wrong_places_are_refuted_for_unknown_sizes():
    found = wrong.mutants(15 * int(os.environ.get("STAGEC_FUZZ", "1")), differ)
    assert found["moved refuted"] > 0 and found["moved not known"] == 0
    confirmed = found["moved confirmed"] + found["asked confirmed"]
    assert confirmed >= 0.9 * (found["moved refuted"] + found["asked refuted"])
