"""Laws as terms: what the left side matches, what the right side builds, and when a law does not fire."""

import pytest
from pass_helpers import op_names, parse

import passes
from passes.patterns import laws_of
from passes.simplify import LAWS, terms
from passes.simplify.terms import law


def apply(text, *lines, arguments="%x: tensor<4xf32>, %y: tensor<4xf32>", result="4xf32"):
    """The operations that a law leaves of a function, and how often it fired."""
    names = {"__name__": __name__, "example": law(text)}
    body = "\n".join(f"  %{i} = {line}" for i, line in enumerate(lines))
    end = f"  return %{len(lines) - 1} : tensor<{result}>"
    module = parse(f"func.func @main({arguments}) -> tensor<{result}> {{\n{body}\n{end}\n}}")
    hits = passes.apply(module, laws_of(names))
    return op_names(module), hits.get("example", 0)


NEGATE, TYPE = "stablehlo.negate %x : tensor<4xf32>", ": tensor<4xf32>"


def test_a_commutative_operation_matches_in_either_order():
    text = "x + -y -> x - y"
    assert apply(text, NEGATE, f"stablehlo.add %0, %y {TYPE}") == (["subtract"], 1)
    assert apply(text, NEGATE, f"stablehlo.add %y, %0 {TYPE}") == (["subtract"], 1)
    assert apply("x - -y -> x + y", NEGATE, f"stablehlo.subtract %0, %y {TYPE}")[1] == 0


def test_operations_within_commute_too():
    text = "x & (~x | y) -> x & y"
    for first in ("%0, %y", "%y, %0"):
        for second in ("%x, %1", "%1, %x"):
            found = apply(
                text,
                "stablehlo.not %x : tensor<4xi32>",
                f"stablehlo.or {first} : tensor<4xi32>",
                f"stablehlo.and {second} : tensor<4xi32>",
                arguments="%x: tensor<4xi32>, %y: tensor<4xi32>",
                result="4xi32",
            )
            assert found == (["and"], 1)


def test_a_bracket_asks_that_nothing_else_reads_a_result():
    lines = (NEGATE, f"stablehlo.multiply %0, %y {TYPE}", f"stablehlo.add %1, %0 {TYPE}")
    assert apply("-x * y -> -(x * y)", *lines)[1] == 1
    assert apply("[-x] * y -> -(x * y)", *lines)[1] == 0


def test_a_term_of_the_left_side_is_not_built_again():
    lines = (f"stablehlo.abs %x {TYPE}", f"stablehlo.abs %0 {TYPE}")
    assert apply("abs(abs(x)) -> abs(x)", *lines) == (["abs"], 1)


def test_a_term_that_the_right_side_repeats_is_built_once():
    two = f"stablehlo.constant dense<2.0> {TYPE}"
    found = apply("x ** 2 -> (x + x) * (x + x)", two, f"stablehlo.power %x, %0 {TYPE}")
    assert found == (["add", "multiply"], 1)


@pytest.mark.parametrize(("zero", "fires"), [("0.0", (1, 0, 1)), ("-0.0", (0, 1, 1))])
def test_a_zero_has_a_sign_unless_it_is_a_word(zero, fires):
    lines = (f"stablehlo.constant dense<{zero}> {TYPE}", f"stablehlo.add %x, %0 {TYPE}")
    assert tuple(apply(f"x + {text} -> x", *lines)[1] for text in ("0.0", "-0.0", "zero")) == fires


def test_numbers_are_computed_as_the_type_wraps():
    found = passes_of_bytes("(x * m) * n -> x * (m * n)", 100, 3)
    assert "dense<44>" in found


def test_a_condition_on_numbers_decides():
    assert "dense<100>" in passes_of_bytes("(x * m) * n -> x * (m * n) where m * n <= largest", 100, 3)
    assert "dense<60>" in passes_of_bytes("(x * m) * n -> x * (m * n) where m * n <= largest", 20, 3)


def passes_of_bytes(text, m, n):
    """The program (x * m) * n of 8-bit integers after a law."""
    module = parse(
        f"""func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {{
          %m = stablehlo.constant dense<{m}> : tensor<4xi8>
          %n = stablehlo.constant dense<{n}> : tensor<4xi8>
          %0 = stablehlo.multiply %x, %m : tensor<4xi8>
          %1 = stablehlo.multiply %0, %n : tensor<4xi8>
          return %1 : tensor<4xi8>
        }}"""
    )
    passes.apply(module, laws_of({"__name__": __name__, "example": law(text)}))
    return str(module)


def test_what_is_known_of_a_value_decides():
    text = "abs(x) -> x where x.nonnegative"
    assert apply(text, f"stablehlo.abs %x {TYPE}")[1] == 0
    assert apply(text, f"stablehlo.exponential %x {TYPE}", f"stablehlo.abs %0 {TYPE}") == (["exponential"], 1)


def test_a_kind_decides():
    lines = (f"stablehlo.subtract %x, %x {TYPE}",)
    assert [apply(f"x - x -> 0 for {kind}", *lines)[1] for kind in ("integers", "floats", "integers|floats")] == [
        0,
        1,
        1,
    ]


def test_a_predicate_of_one_element_is_no_operand_of_an_array():
    """A selection of arrays may be made by one boolean, which `or` does not take."""
    for shape, fires in (("4x", 1), ("", 0)):
        found = apply(
            "select(p, p, x) -> p | x and select(p, true, x) -> p | x",
            "stablehlo.constant dense<true> : tensor<4xi1>",
            f"stablehlo.select %p, %0, %x : tensor<{shape}i1>, tensor<4xi1>",
            arguments=f"%x: tensor<4xi1>, %p: tensor<{shape}i1>",
            result="4xi1",
        )
        assert found[1] == fires


def test_comparisons_match_from_the_other_side():
    text = "select(x < zero, y, x) -> y"
    for condition in ("LT, %x, %0", "GT, %0, %x", "GT, %x, %0"):
        found = apply(
            text,
            f"stablehlo.constant dense<0.0> {TYPE}",
            f"stablehlo.compare {condition} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
            "stablehlo.select %1, %y, %x : tensor<4xi1>, tensor<4xf32>",
        )
        assert found[1] == (condition != "GT, %x, %0")


def test_a_comparison_that_orders_nan_is_no_other():
    for kind, fires in (("", 1), (", FLOAT", 1), (", TOTALORDER", 0)):
        line = f"stablehlo.compare EQ, %x, %x{kind} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"
        assert apply("x == x -> true", line, result="4xi1")[1] == fires


def test_the_functions_of_a_property_are_those_of_the_table():
    assert law("f(x, g(x, y)) -> x for dual f g").ops == tuple(
        f"stablehlo.{name}" for name in ("and", "maximum", "minimum", "or")
    )
    assert law("f(x) -> x for f in sqrt|cbrt").ops == ("stablehlo.sqrt", "stablehlo.cbrt")


@pytest.mark.parametrize(
    "text", ["x", "x + 0", "nothing(x) -> x", "x + -> x", "x + 0 -> x for nobody", "x if p else y -> x"]
)
def test_a_text_that_is_no_law_is_refused_when_its_module_is_loaded(text):
    with pytest.raises(passes.PatternError, match="is no law") as caught:
        law(text)
    assert "test_pass_terms.py" in str(caught.value)
    assert "Fix: write it in the language that passes/simplify/term_text.py describes" in str(caught.value)


def test_every_term_of_the_laws_is_understood():
    """The rules of a law are made when an operation first needs them."""
    laws = [item for item in LAWS if isinstance(item.fn, terms.Law)]
    assert len(laws) > 100
    for item in laws:
        assert all(terms._rules(item.fn, name) for name in item.ops), item.name


def test_laws_that_a_module_imports_are_not_its_own():
    names = {"__name__": "elsewhere", "own": law("x ^ x -> 0"), "apply": apply}
    first = laws_of(names)
    assert [item.name for item in first] == ["own"]
    assert laws_of({"__name__": "third", "imported": first[0]}) == ()
    assert terms.law("x ^ x -> 0").name == ""
