"""The rules of every row: derivatives against differences, transposes by inner products, batches against loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import Case
from test_registry import CASES, TABLE

import stagec
from stagec.core import dtypes, errors
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_WRITTEN, MissingRule, Primitive
from stagec.core.zero import Linear, differentiable, is_zero
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import instantiate
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import each
from stagec.primitives.table import batch_elementwise
from stagec.transforms.batch import batch_front
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import linearize_flat
from stagec.transforms.transpose import transpose_graph

# Operands that a row is a function of, but has no derivative with respect to.
CONSTANT = {"polygamma": (0,), "zeta": (0,)}
# Rows whose values jump, and whose derivative is said to be that of the values before rounding.
ROUNDED = {"reduce_precision"}
# Their cases call functions that take arrays of one shape; they have tests of their own below.
PYTHON = {"pure_callback", "io_callback", "debug_callback"}
# Their cases have equal elements, where they have no derivative.
ORDERING = {"sort", "top_k"}
STEP = 1e-6


def is_inexact(x: Any) -> bool:
    return dtypes.is_inexact(aval_of(x).dtype if hasattr(x, "dtype") else np.asarray(x).dtype)


def wide(x: Any) -> Any:
    """The array in float64 or complex128, where it has derivatives."""
    x = np.asarray(x)
    if not is_inexact(x):
        return x
    return x.astype(np.complex128 if dtypes.is_complex(x.dtype) else np.float64)


def apart(x: Any) -> Any:
    """Finite values none of which equals another, or a limit of the cases: where functions are smooth."""
    if not is_inexact(x):
        return x
    count = np.arange(x.size).reshape(x.shape)
    tame = np.where(np.abs(x) < 1e3, x, 0.37 * count)
    return tame + 0.0013 * (1 + (count * 7) % (x.size + 1))


def differentiated(case: Case) -> list[int]:
    constant = CONSTANT.get(case.name, ())
    if case.name == "scatter_mul" and not case.params["unique_indices"]:
        constant = (2,)
    return [i for i, a in enumerate(case.args) if is_inexact(a) and i not in constant]


def smooth(case: Case, nudge: bool) -> Case | None:
    """The case in float64, at places where the row has a derivative."""
    values = [wide(a) for a in case.args]
    params = dict(case.params)
    if nudge:
        values = [apart(v) for v in values]
    if not all(np.isfinite(v).all() for v in values if is_inexact(v)) or sum(v.size for v in values) > 1000:
        return None
    if "computation" in params and np.asarray(case.args[0]).dtype != np.float64:
        return None
    if params.get("preferred_element_type") is not None:
        return None
    if "new_dtype" in params:
        if not is_inexact(np.empty(0, params["new_dtype"])):
            return None
        params["new_dtype"] = wide(np.empty(0, params["new_dtype"])).dtype
    if case.name == "gather" and params["mode"] == "fill":
        params["fill_value"] = 0.5
    if case.name == "scatter_mul":
        rows = case.args[1].reshape(-1, case.args[1].shape[-1])
        params["unique_indices"] = params["mode"] != "clip" and len({tuple(r) for r in rows.tolist()}) == len(rows)
    return Case(case.name, values, params)


def smooth_cases() -> dict[str, list[Case]]:
    """For each row that has a derivative, one case for each shape and parameters."""
    found: dict[str, list[Case]] = {}
    seen = set()
    for nudge in (False, True):
        lacking = {c.name for c in CASES if nudge and c.name not in found}
        for case in CASES:
            row = TABLE[case.name]
            if isinstance(row.jvp, MissingRule) or case.name in PYTHON | ROUNDED or 0 in map(np.size, case.args):
                continue
            if nudge != (case.name in ORDERING or case.name in lacking):
                continue
            case = smooth(case, nudge)
            if case is None or not differentiated(case):
                continue
            key = (case.name, *[(a.shape, a.dtype) for a in case.args], str(case.params))
            if key not in seen and len(found.setdefault(case.name, [])) < 12:
                seen.add(key)
                found[case.name].append(case)
    return found


SMOOTH = smooth_cases()


def tangent(x: Any, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    v = generator.uniform(-1, 1, x.shape)
    return (v + 1j * generator.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


def function(case: Case) -> tuple[Callable[..., list[Any]], list[int]]:
    """The row as a function of its differentiated operands, with a list of results that have derivatives."""
    row = Primitive.registry[case.name]
    active = differentiated(case)

    def apply(*xs: Any) -> list[Any]:
        operands = list(case.args)
        for i, x in zip(active, xs):
            operands[i] = x
        out = row(*operands, **case.params)
        outs = list(out) if row.multiple else [out]
        return [o for o in outs if differentiable(aval_of(o))]

    return apply, active


def pushed(f: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The derivative of a function of n arrays, of 2 n: places and directions."""

    def apply(*values: Any) -> list[Any]:
        n = len(values) // 2
        return [instantiate(t) for t in jvp_flat(f, values[:n], values[n:])[1]]

    return apply


def close(expected: Any, actual: Any, tolerance: float) -> bool:
    expected, actual = np.asarray(expected), np.asarray(actual)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return expected.shape == actual.shape and bool(np.all(np.abs(expected - actual) <= tolerance * scale))


def difference(f: Callable[..., list[Any]], xs: list[Any], vs: list[Any]) -> list[Any]:
    after = f(*[x + STEP * v for x, v in zip(xs, vs)])
    before = f(*[x - STEP * v for x, v in zip(xs, vs)])
    return [(np.asarray(a) - np.asarray(b)) / (2 * STEP) for a, b in zip(after, before)]


def wrong_derivatives(case: Case) -> list[str]:
    f, active = function(case)
    xs = [case.args[i] for i in active]
    vs = [tangent(x, i) for i, x in enumerate(xs)]
    ws = [tangent(x, i + 9) for i, x in enumerate(xs)]
    still = [np.zeros_like(x) for x in xs]
    derivative = pushed(f)
    second = pushed(derivative)
    found = []
    for which, expected, actual in (
        ("first", difference(f, xs, vs), derivative(*xs, *vs)),
        ("second", difference(lambda *x: derivative(*x, *vs), xs, ws), second(*xs, *vs, *ws, *still)),
    ):
        for e, a in zip(expected, actual):
            if not close(e, a, 3e-5):
                found.append(f"{case}: {which} derivative\n{np.asarray(a)}\nagainst\n{e}")
    if len(xs) > 1:
        for k in range(len(xs)):
            alone = [v if i == k else np.zeros_like(v) for i, v in enumerate(vs)]
            one = pushed(lambda x, k=k: f(*[*xs[:k], x, *xs[k + 1 :]]))(xs[k], vs[k])
            found += [
                f"{case}: by operand {k} alone\n{np.asarray(a)}\nagainst\n{np.asarray(e)}"
                for e, a in zip(derivative(*xs, *alone), one)
                if not close(e, a, 1e-9)
            ]
    return found


def inner(xs: Any, ys: Any) -> float:
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(xs, ys)))


def transposed(f: Callable[..., list[Any]], xs: list[Any]) -> tuple[list[Any], Callable[..., Any], Callable[..., Any]]:
    """Results, the derivative at a place, and its transpose."""
    outs, linear = linearize_flat(f, xs, "row")
    graph, count = linear.graph, len(linear.residuals)
    operands = [*linear.residuals, *[Linear(v.aval) for v in graph.inputs[count:]]]

    def pull(*cts: Any) -> list[Any]:
        given = [ct for ct, o in zip(cts, linear.outs) if o is None]
        return [instantiate(ct) for ct in transpose_graph(graph, operands, given)[count:]]

    return outs, lambda *vs: [instantiate(t) for t in linear(vs)], pull


def wrong_transpose(case: Case) -> list[str]:
    f, active = function(case)
    xs = [case.args[i] for i in active]
    vs = [tangent(x, i) for i, x in enumerate(xs)]
    outs, push, pull = transposed(f, xs)
    cts = [tangent(np.asarray(o), i + 5) for i, o in enumerate(outs)]
    forward, backward = inner(push(*vs), cts), inner(vs, pull(*cts))
    if not close(forward, backward, 1e-9):
        return [f"{case}: <A v, ct> = {forward}, <v, A^T ct> = {backward}"]
    shapes = [(np.shape(x), np.asarray(x).dtype) for x in xs]
    got = [(np.shape(x), np.asarray(x).dtype) for x in pull(*cts)]
    return [] if shapes == got else [f"{case}: cotangents {got} for {shapes}"]


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_derivatives_are_those_of_differences_to_second_order(name: str) -> None:
    with stagec.enable_x64(), np.errstate(all="ignore"):
        assert [text for case in SMOOTH[name] for text in wrong_derivatives(case)] == []


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_transposes_keep_inner_products(name: str) -> None:
    with stagec.enable_x64(), np.errstate(all="ignore"):
        assert [text for case in SMOOTH[name] for text in wrong_transpose(case)] == []


# The others: their values do not change smoothly, or they have none of their own.
NO_DERIVATIVE = {n for n, row in TABLE.items() if isinstance(row.jvp, MissingRule)}


def test_every_row_has_a_checked_derivative_or_says_that_it_has_none() -> None:
    assert sorted(set(TABLE) - set(SMOOTH) - NO_DERIVATIVE - ROUNDED - PYTHON) == []


def test_no_rule_is_left_to_be_written() -> None:
    unwritten = [n for n, row in TABLE.items() if NOT_WRITTEN in (row.jvp, row.transpose, row.batch)]
    assert unwritten == []


# Batching.


def variants(x: Any, seed: int) -> list[Any]:
    """Three arrays with the elements of one in other places."""
    x = np.asarray(x)
    if x.ndim == 0:
        if x.dtype == bool:
            return [x, ~x, x]
        step = np.asarray(1 if x.dtype.kind in "iu" else 0.25).astype(x.dtype)
        return [x, (x + step).astype(x.dtype), (x + step + step).astype(x.dtype)]
    generator = np.random.default_rng(seed)
    return [x, *[generator.permutation(x.ravel()).reshape(x.shape) for _ in range(2)]]


def batch_cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    seen = set()
    for case in CASES:
        shapes = tuple(np.shape(a) for a in case.args)
        kinds = tuple(np.asarray(a).dtype.kind for a in case.args)
        key = (case.name, shapes, kinds if case.name in ("sort", "top_k", "argmax") else "", str(case.params))
        size = sum(np.size(a) for a in case.args)
        if not case.args or key in seen or size > 1000 or len(found.get(case.name, [])) >= 16:
            continue
        seen.add(key)
        found.setdefault(case.name, []).append(case)
    return found


BATCHED = batch_cases()


def placements(count: int) -> list[tuple[int | None, ...]]:
    """Where batch axes are: in all operands, in one, first or last, or mixed. `-1` is last."""
    found = [(0,) * count, (-1,) * count]
    for k, place in itertools.product(range(count), (0, -1)):
        found.append(tuple(place if i == k else None for i in range(count)))
    if count > 1:
        found.append(tuple(0 if i % 2 else -1 for i in range(count)))
    if count > 2:
        found.append((None, *[0] * (count - 1)))
        found.append((*[-1] * (count - 1), None))
    return list(dict.fromkeys(found))


def batched(case: Case, where: tuple[int | None, ...]) -> tuple[list[Any], list[int | None], list[list[Any]]]:
    """Operands of three elements, their batch axes, and the operands of each element."""
    each = [variants(a, i) if w is not None else [np.asarray(a)] * 3 for i, (a, w) in enumerate(zip(case.args, where))]
    dims = [w if w is None else (0 if w == 0 else np.ndim(a)) for a, w in zip(case.args, where)]
    operands = [e[0] if d is None else np.stack(e, d) for e, d in zip(each, dims)]
    return operands, dims, [[e[i] for e in each] for i in range(3)]


def results(case: Case, operands: Any) -> list[Any]:
    row = Primitive.registry[case.name]
    out = row(*operands, **case.params)
    return list(out) if row.multiple else [out]


def wrong_batch(case: Case, where: tuple[int | None, ...]) -> list[str]:
    operands, dims, elements = batched(case, where)
    out = batch_front(lambda *xs: results(case, xs), operands, dims, 3)
    expected = [np.stack([np.asarray(v) for v in vs]) for vs in zip(*[results(case, e) for e in elements])]
    return [
        f"{case} with batch axes {dims}:\n{a}\nagainst\n{e}"
        for e, a in zip(expected, map(np.asarray, out))
        if e.dtype != a.dtype or e.shape != a.shape or not near(e, a)
    ]


def near(expected: Any, actual: Any) -> bool:
    if expected.dtype.kind in "biu":
        return bool(np.array_equal(expected, actual))
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    tolerance = 1e-2 if expected.dtype.itemsize == 2 else 1e-4
    return bool(np.allclose(expected.astype(kind), actual.astype(kind), tolerance, tolerance, equal_nan=True))


@pytest.mark.parametrize("name", sorted(set(BATCHED) - PYTHON))
def test_batches_are_loops(name: str) -> None:
    with stagec.enable_x64(), np.errstate(all="ignore"):
        cases = BATCHED[name]
        assert [t for c in cases for where in placements(len(c.args)) for t in wrong_batch(c, where)] == []


def test_every_row_with_operands_has_a_checked_batch() -> None:
    assert sorted(n for n, row in TABLE.items() if n not in BATCHED and not isinstance(row.batch, MissingRule)) == []


# Rows without a derivative.


@pytest.mark.parametrize(("name", "what"), [("polygamma", "its order"), ("zeta", "its exponent")])
def test_special_functions_say_by_what_they_have_no_derivative(name: str, what: str) -> None:
    x = np.float32([1.0, 2.0])
    with pytest.raises(errors.UnsupportedError, match=f"{name} has no derivative by {what}"):
        jvp_flat(lambda v: [TABLE[name](v, x)], [x], [x])


@pytest.mark.parametrize("name", sorted(n for n in NO_DERIVATIVE if n in BATCHED))
def test_rows_without_a_derivative_are_constants_or_say_so(name: str) -> None:
    row = TABLE[name]
    case = next((c for c in BATCHED[name] if any(is_inexact(a) for a in c.args)), None)
    if case is None:
        return
    active = [i for i, a in enumerate(case.args) if is_inexact(a)]
    tangents = [case.args[i] for i in active]

    def apply(*xs: Any) -> Any:
        operands = list(case.args)
        for i, x in zip(active, xs):
            operands[i] = x
        return results(case, operands)

    with stagec.enable_x64(), np.errstate(all="ignore"):
        if row.jvp is NOT_DIFFERENTIABLE:
            _, dots = jvp_flat(apply, tangents, tangents)
            assert all(map(is_zero, dots))
        else:
            with pytest.raises(errors.UnsupportedError, match=f"{name} cannot be differentiated") as caught:
                jvp_flat(apply, tangents, tangents)
            assert row.jvp.fix in str(caught.value)


# The same rules inside compiled programs: what they give there is what they give at once.


def derived(case: Case) -> list[Any]:
    """A tangent and cotangents of a row."""
    f, active = function(case)
    xs = [case.args[i] for i in active]
    outs, push, pull = transposed(f, xs)
    vs = [tangent(np.empty(aval_of(x).shape, aval_of(x).dtype), i) for i, x in zip(active, xs)]
    cts = [tangent(np.empty(aval_of(o).shape, aval_of(o).dtype), i + 5) for i, o in enumerate(outs)]
    return [*push(*vs), *pull(*cts)]


def compiled_cases() -> list[tuple[str, Case]]:
    """The derivative of each row, and the batched form of those that are not the row itself."""
    found = [("derivative", cases[0]) for cases in SMOOTH.values()]
    shaped = [n for n in BATCHED if TABLE[n].batch is not batch_elementwise and n not in PYTHON]
    found += [("batch", next(c for c in BATCHED[n] if not c.compiled)) for n in shaped]
    return found


COMPILED = compiled_cases()
BUNDLE = 32


@pytest.mark.parametrize("start", range(0, len(COMPILED), BUNDLE))
def test_rules_give_the_same_in_compiled_programs(start: int) -> None:
    bundle = COMPILED[start : start + BUNDLE]

    def run(arguments: list[list[Any]]) -> list[Any]:
        out = []
        for (kind, case), args in zip(bundle, arguments):
            if kind == "derivative":
                out.append(derived(Case(case.name, args, case.params)))
            else:
                _, dims, _ = batched(case, (-1,) * len(case.args))
                out.append(batch_front(lambda *xs, case=case: results(case, xs), args, dims, 3))
        return out

    with stagec.enable_x64(), np.errstate(all="ignore"):
        given = [c.args if kind == "derivative" else batched(c, (-1,) * len(c.args))[0] for kind, c in bundle]
        expected, actual = run(given), stagec.jit(run)(given)
        wrong = [
            f"{kind} of {case}:\n{np.asarray(a)}\nagainst\n{np.asarray(e)}"
            for (kind, case), es, as_ in zip(bundle, expected, actual)
            for e, a in zip(es, as_)
            if not near(np.asarray(e), np.asarray(a))
        ]
    assert wrong == []


# What the checks are worth: each sees a rule that is wrong.


def test_a_wrong_derivative_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLE["sin"], "jvp", each(lambda x, t: ar.mul(t, TABLE["sin"](x))))
    with stagec.enable_x64():
        assert wrong_derivatives(SMOOTH["sin"][0])


def test_a_wrong_second_derivative_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    slope = each(lambda x, t: ar.mul(t, TABLE["stop_gradient"](TABLE["cos"](x))))
    monkeypatch.setattr(TABLE["sin"], "jvp", slope)
    with stagec.enable_x64():
        (text,) = wrong_derivatives(SMOOTH["sin"][0])
    assert "second derivative" in text


def test_a_wrong_transpose_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLE["cumsum"], "transpose", lambda ct, x, **params: [TABLE["cumsum"](ct, **params)])
    with stagec.enable_x64():
        assert wrong_transpose(SMOOTH["cumsum"][0])


def test_a_wrong_batch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLE["rev"], "batch", lambda row, args, dims, size, params: (row(args[0], **params), dims[0]))
    assert wrong_batch(BATCHED["rev"][0], (0,))


@pytest.mark.parametrize("name", ["dot_general", "conv_general_dilated"])
def test_cotangents_of_narrow_operands_have_their_dtype(name: str) -> None:
    half = [c for c in CASES if c.name == name and c.params.get("preferred_element_type") == np.float32]
    case = next(c for c in half if np.asarray(c.args[0]).dtype == np.float16)
    f, _ = function(case)
    outs, push, pull = transposed(f, case.args)
    assert [aval_of(o).dtype for o in outs] == [np.float32]
    assert [aval_of(t).dtype for t in push(*case.args)] == [np.float32]
    ct = np.ones(aval_of(outs[0]).shape, np.float32)
    assert [(aval_of(x).dtype, aval_of(x).shape) for x in pull(ct)] == [(a.dtype, a.shape) for a in case.args]
