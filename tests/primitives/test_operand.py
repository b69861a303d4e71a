"""How often what a user passes is made into an operand on its way through one function."""

import inspect

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.numpy import promotion
from stagec.primitives import operand
from stagec.primitives.operand import promote_weak_scalars

X = snp.ones((1, 3, 1, 7, 1))


@pytest.mark.parametrize("function", [snp.add, snp.true_divide, snp.maximum, snp.less, snp.logaddexp])
@pytest.mark.parametrize("wrapped", [lambda f: f, stagec.make_graph], ids=["eager", "traced"])
def test_each_operand_of_a_function_is_normalized_once(monkeypatch, function, wrapped):
    seen = []

    def counted(value, name="argument"):
        seen.append(value)
        return normalize(value, name)

    normalize = operand.promotable
    for module in (operand, promotion):
        monkeypatch.setattr(module, "promotable", counted)
    # The function inside: outside it, what is recorded sees a tracer.
    wrapped(lambda: inspect.unwrap(function)(X, 2))()
    assert len([v for v in seen if v is X]) == 1
    assert len([v for v in seen if type(v) is int]) == 1


def test_operands_of_one_dtype_are_returned_as_they_are():
    literal = operand.literal(2, np.dtype("float32"))
    found = promote_weak_scalars(X, literal)
    assert found[0] is X and found[1] is literal


def test_a_number_that_no_default_integer_holds_is_still_converted():
    wide = operand.promotable(2**40)
    x = snp.ones(2, "uint32").astype("float32")
    assert promote_weak_scalars(x, wide)[1].value.dtype == np.float32
