"""A batch of operations that processes divide: which of them compute their part, and which gather it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import cases as case_package
import numpy as np
from cases import Case

from stagec.api.partition import partitioned
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_flat
from stagec.transforms.batch import batch_flat

# What registers rows with graphs of scalars, and those of factorizations.
for _name in ("stagec.control.reduce", "stagec.control.windows", "stagec.numpy.linalg"):
    importlib.import_module(_name)

PAGE = Path(__file__).parents[2] / "docs/how-to/several-devices.md"
F32 = np.dtype("float32")
CASES: list[Case] = []
for _module in sorted(pkgutil.iter_modules(case_package.__path__), key=lambda m: m.name):
    CASES += importlib.import_module(f"cases.{_module.name}").CASES
SQUARE = np.eye(3, dtype=F32) * 4
CASES += [Case(name, [SQUARE]) for name in ("cholesky", "det", "lu")]
CASES += [Case("qr", [SQUARE], {"full_matrices": False}), Case("top_k", [SQUARE], {"k": 2})]


class TwoProcesses:
    """The division of a mesh among two processes, of which this is the first; nothing is said between them."""

    names, counts, place = ("x",), {"x": 2}, {"x": 0}

    def spanning(self, names: Any) -> Any:
        return tuple(names)

    def parts(self, names: Any) -> int:
        return 2 ** len(names)

    def company(self, names: Any) -> None:
        return None


def gathered(case: Case) -> list[str]:
    """What a batch of two calls of a case gathers, where its first axis is divided."""
    row = Primitive.registry[case.name]
    avals = [ShapedArray((2, *np.shape(a)), np.asarray(a).dtype) for a in case.args]

    def flat(*values: Any) -> list[Any]:
        def one(*elements: Any) -> Any:
            found = row(*elements, **case.params)
            return list(found) if row.multiple else [found]

        return batch_flat(one, values, [0] * len(values), 2)[0]

    graph, captured = trace_flat(flat, avals)
    assert not captured
    specs = [(("x",), *[()] * (a.ndim - 1)) for a in avals]
    grid: Any = TwoProcesses()
    return partitioned(graph, grid, specs, "batched")[2]


def test_a_batch_that_is_divided_is_gathered_for_the_operations_that_the_page_names() -> None:
    found = set()
    seen = set()
    for case in CASES:
        dtypes = [np.asarray(a).dtype for a in case.args]
        wide = any(d.itemsize > 4 and d != np.complex64 for d in dtypes)
        cannot = case.params.get("ordered") or case.params.get("vmap_method", "sequential") is None
        if not case.args or wide or cannot or any(0 in np.shape(a) for a in case.args):
            continue
        seen.add(case.name)
        if gathered(case):
            found.add(case.name)
    (line,) = re.findall(r"Of a batch that is divided, these are gathered: (.*)\.", PAGE.read_text())
    assert len(seen) > 100
    assert sorted(found) == re.findall(r"`(\w+)`", line)
