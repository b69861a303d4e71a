"""The line of Python that a plan has for a row computes what the row's evaluation does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case
from test_registry import CASES, TABLE

import stagec
import stagec.numpy as snp
from stagec.control import bodies
from stagec.core import pytree
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_flat
from stagec.runtime import plans
from stagec.runtime.array import Array


def arrays(case: Case) -> list[Array]:
    # As read-only views: where a line writes to an operand, NumPy says so.
    return [Array.of(np.array(a).view(), snp.asarray(a).aval) for a in case.args]


def planned(case: Case) -> list[Array]:
    inputs = arrays(case)
    row = Primitive.registry[case.name]

    def function(*xs: Any) -> Any:
        out = row(*xs, **case.params)
        return list(out) if row.multiple else [out]

    graph, captured = trace_flat(function, [x.aval for x in inputs], name="case")
    found = plans._compiled(graph, captured, [x.aval for x in inputs], pytree.flatten([0] * len(graph.outputs))[1])(
        inputs
    )
    return list(found)


def described(values: list[Array]) -> list[Any]:
    return [(v.aval, np.asarray(v).dtype, np.asarray(v).shape, np.asarray(v).tobytes()) for v in values]


ROWS = sorted(n for n, row in TABLE.items() if row.python is not None)


@pytest.mark.parametrize("name", ROWS)
def test_lines_compute_what_evaluations_do(name: str) -> None:
    row = TABLE[name]
    with stagec.enable_x64():
        for case in [c for c in CASES if c.name == name]:
            with bodies.evaluating():
                expected = row(*arrays(case), **case.params)
            assert described(planned(case)) == described(list(expected) if row.multiple else [expected]), str(case)


def test_most_rows_have_a_line() -> None:
    assert len(ROWS) > 60 and {"add", "select_n", "reduce_sum", "slice", "convert_element_type"} <= set(ROWS)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "lt", "eq", "max", "and", "neg", "sqrt"])
def test_values_without_axes_are_computed_as_arrays_are(name: str) -> None:
    row = TABLE[name]
    with stagec.enable_x64():
        for case in [c for c in CASES if c.name == name and all(np.ndim(a) == 1 for a in c.args)]:
            for i in range(0, np.size(case.args[0]), 7):
                single = Case(name, [np.asarray(a)[i] for a in case.args], case.params)
                with bodies.evaluating():
                    expected = row(*arrays(case), **case.params)[i]
                assert described(planned(single)) == described([expected]), f"{single} of {single.args}"
