"""Errors are those that docs/reference/accuracy.md promises, on the first operands of each row.

STAGEC_ALL_CASES=1 compiles the functions that take long, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("mpmath")

from functions import ROWS, Row
from measure import DTYPES, compiled, exact, operands, worst
from table import GROUPS, promises

import stagec

POINTS = 5
# Their loops take as long to compile as all other functions together; tests/scipy compiles some of them.
SLOW = "polygamma zeta gammainc gammaincc beta betaln betainc comb poch expn hyp1f1 hyp2f1 owens_t ndtri spence".split()
QUICK = [row for row in ROWS if row.name.split(".")[-1] not in SLOW or os.environ.get("STAGEC_ALL_CASES")]


def broken(results: Iterator[tuple[Row, Any, Any, int]], dtype: Any) -> list[str]:
    """The results that are further off than the page says, which has their bounds in some column."""
    found = []
    bounds = promises()
    for row, args, out, column in results:
        assert out.dtype == dtype, row.name
        error, bound = worst(out, exact(row, args), dtype), bounds[row.name, row.where][column]
        if error > float(bound):
            found.append(f"{row.name}, {row.where}: {error:.3g} units, promised {bound}")
    return found


def test_every_row_is_on_the_page() -> None:
    assert sorted(promises()) == sorted((row.name, row.where) for row in ROWS)
    assert sum(map(len, GROUPS.values())) == len(ROWS)


@pytest.mark.parametrize(("name", "column"), [("float32", 0), ("float64", 2), ("float16", 4), ("bfloat16", 5)])
def test_results_outside_of_jit_are_as_exact_as_the_page_says(name: str, column: int) -> None:
    """Outside of hunts, each row in one of the wide dtypes and in one of the narrow ones: most are compiled alone."""
    dtype = DTYPES[name]
    rows = ROWS if int(os.environ.get("STAGEC_FUZZ", "1")) > 1 else ROWS[name in ("float64", "bfloat16") :: 2]
    with stagec.enable_x64():
        args = [operands(row, dtype, POINTS if dtype.itemsize > 2 else 2) for row in rows]
        results = ((row, a, row.ours(*a), column) for row, a in zip(rows, args))
        assert broken(results, dtype) == []


@pytest.mark.parametrize(("name", "column"), [("float32", 1), ("float64", 3)])
def test_compiled_results_are_as_exact_as_the_page_says(name: str, column: int) -> None:
    with stagec.enable_x64():
        args = [operands(row, DTYPES[name], POINTS) for row in QUICK]
        outs = compiled(QUICK)(args)
        results = ((row, a, out, column) for row, a, out in zip(QUICK, args, outs))
        assert broken(results, DTYPES[name]) == []
