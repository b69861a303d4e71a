"""Programs that count as exact: NumPy and compiled code compute the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case
from hypothesis import HealthCheck, given, settings, strategies as st
from test_registry import CASES

import stagec
import stagec.control.checkpoint
import stagec.numpy as snp
from stagec import lax
from stagec.backends import Target
from stagec.compiler import exact
from stagec.core.primitive import Primitive
from stagec.runtime.evaluation import Evaluation, Stopped

HOST = Target.parse("cpu")
BUNDLE = 25


def runnable(function: Any, *args: Any) -> Any:
    jitted = stagec.jit(function)
    return jitted._settings.runnable(jitted.trace(*args)._trace)


def is_exact(function: Any, *args: Any) -> bool:
    return runnable(function, *args).code.is_exact


def bits(x: Any) -> Any:
    """An array whose bits may be compared: all NaN are one."""
    x = np.array(x)
    if x.dtype.kind in "fcV":
        x[np.isnan(x)] = np.nan
    return np.ascontiguousarray(x).view(np.uint8)


def without_subnormals(x: Any) -> Any:
    x = np.array(x)
    if x.dtype in (np.float32, np.float64):
        x[(np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)] = 0
    return x


def chosen() -> list[Case]:
    """All cases of rows that are exact for their dtypes."""
    found = []
    with stagec.enable_x64():
        for case in CASES:
            if case.compiled or case.name not in exact.MOVING | exact.OF_INTEGERS | exact.OF_FLOATS:
                continue
            args = [without_subnormals(a) for a in case.args]
            if args and all(a.size for a in args) and is_exact(applied([case]), *args):
                made = Case(case.name, args, case.params)
                if not any(map(exact.has_subnormals, results(made))):
                    found.append(made)
    return found


def results(case: Case) -> list[Any]:
    row = Primitive.registry[case.name]
    with np.errstate(all="ignore"):
        out = row.eval(*case.args, **case.params)
    return [np.asarray(r) for r in (out if row.multiple else [out])]


def applied(cases: list[Case]) -> Any:
    def program(*arrays: Any) -> Any:
        left = list(arrays)
        return [Primitive.registry[c.name](*[left.pop(0) for _ in c.args], **c.params) for c in cases]

    return program


EXACT = chosen()


@pytest.mark.parametrize("first", range(0, len(EXACT), BUNDLE), ids=lambda i: f"{EXACT[i].name} on")
def test_exact_rows_have_the_same_bits_in_both_tiers(first: int) -> None:
    cases = EXACT[first : first + BUNDLE]
    args = [a for c in cases for a in c.args]
    with stagec.enable_x64():
        program = runnable(applied(cases), *args)
        inputs = [snp.asarray(args[i]) for i in program.used]
        both = Evaluation(lambda: False).run(program.code.graph, inputs), program.executable().run(inputs)
    names = [c.name for c in cases for _ in results(c)]
    computed = [names[i] for i, (kind, _) in enumerate(program.plan) if kind == "computed"]
    wrong = [n for n, a, b in zip(computed, *both, strict=True) if not np.array_equal(bits(a), bits(b))]
    assert wrong == []


def test_every_exact_row_has_a_case() -> None:
    rows = exact.OF_INTEGERS | exact.OF_FLOATS
    assert sorted(rows - {c.name for c in EXACT}) == []
    assert sorted(exact.MOVING - set(Primitive.registry)) == []


X, N = np.ones((2, 3), np.float32), np.ones((2, 3), np.int32)
PROGRAMS = {
    "integers": (lambda x: snp.sort(x.ravel()) @ snp.cumsum(x) + x.sum(), N, True),
    "sums": (lambda x: x + x.T.reshape(2, 3) - 1, X, True),
    "products": (lambda x: x * x / 3, X, True),
    "a loop": (lambda x: lax.fori_loop(0, 9, lambda i, c: c // 2 + i, x), N, True),
    "moved": (lambda x: snp.concatenate([x, x])[::2].T, X.astype(np.float16), True),
    "a product and a sum": (lambda x: x * x + x, X, False),
    "a product, and a sum in a loop": (lambda x: lax.fori_loop(0, 9, lambda i, c: c + x, x * x), X, False),
    "a sum of floats": (lambda x: x.sum(), X, False),
    "a function": (snp.sin, X, False),
    "half precision": (lambda x: x + x, X.astype(np.float16), False),
    "an extreme": (lambda x: snp.maximum(x, 0), X, False),
    "a conversion to integers": (lambda x: x.astype(int), X, False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_exact_where_all_operations_are(name: str) -> None:
    function, x, expected = PROGRAMS[name]
    assert is_exact(function, x) == expected


def test_floats_are_exact_neither_on_other_devices_nor_under_fast_math() -> None:
    graph = runnable(lambda x: x + 1, X).code.graph
    assert exact.is_exact(graph, HOST)
    assert not exact.is_exact(graph, Target.parse("vulkan:portable"))
    assert not stagec.jit(lambda x: x + 1, fast_math=True).lower(X)._runnable.code.is_exact


FLOATS = st.floats(width=32, allow_subnormal=False)
STEPS = {
    "sums": [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: snp.where(a < b, -a, b), lambda a, b: abs(a) / 3],
    "products": [lambda a, b: a * b, lambda a, b: a / b, lambda a, b: snp.sqrt(b), lambda a, b: snp.floor(a) / 7],
}


@pytest.mark.parametrize("kind", STEPS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_chains_of_exact_operations_have_the_same_bits(kind: str, data: Any) -> None:
    x = np.array(data.draw(st.lists(FLOATS, min_size=16, max_size=16)), np.float32).reshape(2, 8)
    picked = data.draw(st.lists(st.tuples(st.integers(0, 3), *[st.integers(0, 99)] * 2), min_size=1, max_size=12))

    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, i, j in picked:
            values.append(STEPS[kind][step](values[i % len(values)], values[j % len(values)]))
        return values[2:]

    found = runnable(program, x[0], x[1])
    assert found.code.is_exact
    inputs = [snp.asarray(x[i]) for i in found.used]
    try:
        evaluated = Evaluation(lambda: False, exact.has_subnormals).run(found.code.graph, inputs)
    except Stopped:
        return
    for a, b in zip(evaluated, found.executable().run(inputs), strict=True):
        np.testing.assert_array_equal(bits(a), bits(b))
