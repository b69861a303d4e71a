"""What is known of operations that no pattern fitted."""

from pass_helpers import parse

from passes import patterns
from passes.match import with_producers
from passes.patterns import pattern
from passes.unmatched import Unmatched

TEXT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %y : tensor<4xf32>
  %3 = stablehlo.negate %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
"""


def asked(unmatched, fires=""):
    """The operations that a pattern is asked for in one application and in a second one.

    Args:
      fires: the operation that the pattern replaces by its operand.
    """
    seen = []

    @pattern("stablehlo.add", "stablehlo.abs", "stablehlo.multiply", "stablehlo.negate")
    def look(op):
        seen.append(op.operation.name.removeprefix("stablehlo."))
        return op.operation.operands[0] if seen[-1] == fires else None

    module = parse(TEXT)
    patterns.apply(module, [look], unmatched)
    first = list(seen)
    patterns.apply(module, [look], unmatched)
    return first, seen[len(first) :]


def test_an_operation_is_asked_once_while_nothing_changes():
    first, second = asked(Unmatched())
    assert sorted(first) == ["abs", "add", "multiply", "negate"] and second == []
    assert sorted(asked(None)[1]) == sorted(first)


def test_what_is_around_a_change_is_asked_again():
    first, second = asked(Unmatched(), "abs")
    # The operand of the multiplication is another one, and the maker of that of the negation.
    assert second == [] and first.count("add") == 1
    known = Unmatched()
    module = parse(TEXT)
    add, absolute, multiply, negate = [op.operation for op in module.body.operations[0].regions[0].blocks[0]][:4]

    def around(op):
        return known.around(op, with_producers(op))

    for op in (add, absolute, multiply, negate):
        known.add(op, around(op))
    absolute.results[0].replace_all_uses_with(add.results[0])
    assert [known.has(op, around(op)) for op in (add, absolute, multiply, negate)] == [True, False, False, False]
    known.add(negate, around(negate))
    known.forget(multiply, [])
    assert not known.has(negate, around(negate))
