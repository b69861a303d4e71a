"""`stagec.check` compares each operation with NumPy, and names the first that differs, inside control flow too."""

import linecache
import subprocess
import sys

import numpy as np
import pytest
from wrong_laws import wrong_sum, wrong_tanh

import passes
import stagec
import stagec.numpy as snp
from passes import build
from stagec import lax
from stagec.differential import operations
from stagec.differential.compare import distance

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@passes.pattern("stablehlo.reverse", exact=False)
def wrong_reverse(op):
    """Reversed x -> x."""
    return op.operand


@passes.pattern("stablehlo.exponential", exact=False)
def wrong_in_loops(op):
    """exp(x) -> sin(x), only inside a loop."""
    around = op.operation.parent
    while around is not None and around.name != "stablehlo.while":
        around = around.parent
    return None if around is None else build.op("stablehlo.sine", [op.operand])


def line_of(operation):
    return linecache.getline(operation.location.file, operation.location.line).strip()


def differing(found):
    """Operations that differ: names, lines, and whether each did alone."""
    assert {o.way for o in found.operations if not o.agrees} <= {"compiled"}
    return [(o.name, line_of(o), o.alone) for o in found.operations if not o.agrees]


def scanned(x):
    def step(carry, row):
        h = carry + row
        h = snp.tanh(h)
        return h * 2, snp.sum(h)

    return lax.scan(step, x[0], x)


def looped(x):
    def body(state):
        i, v = state
        v = snp.tanh(v) + 0.5
        return i + 1, v

    return lax.while_loop(lambda state: state[0] < 40, body, (0, x))


def branched(x):
    def taken(v):
        w = v * 3
        return snp.tanh(w)

    return lax.cond(snp.sum(x) < 1, taken, snp.cos, x)


def nested(x):
    def outer(i, v):
        return lax.fori_loop(0, 3, lambda j, w: lax.cond(j < 1, snp.tanh, snp.sin, w), v)

    return lax.fori_loop(0, 2, outer, x)


def called(x):
    @stagec.jit
    def inner(v):
        return snp.tanh(v)

    return lax.map(inner, x)


@pytest.mark.parametrize("function", [scanned, looped, branched, nested, called])
def test_a_right_program_has_no_operation_that_differs(function):
    found = stagec.check(function, X)
    assert found.ok and found.first is None
    names = {o.name for o in found.operations if o.way == "compiled"}
    assert "tanh" in names and all(o.alone and o.count for o in found.operations)
    assert "operations agree, each alone" in str(found)
    assert {o.way for o in found.operations} == {o.way for o in found.outcomes}


@pytest.mark.parametrize(
    "function, line, inside",
    [
        (scanned, "h = snp.tanh(h)", "of a loop of 3 at"),
        (looped, "v = snp.tanh(v) + 0.5", "of a while loop at"),
        (branched, "return snp.tanh(w)", "a branch of cond at"),
        (nested, "return lax.fori_loop(0, 3, lambda j, w: lax.cond(j < 1, snp.tanh, snp.sin, w), v)", "a branch of"),
        (called, "return snp.tanh(v)", "of a loop of 3 at"),
    ],
)
def test_the_operation_inside_control_flow_is_named(function, line, inside):
    found = stagec.check(stagec.jit(function, passes=[wrong_tanh]), X)
    assert differing(found) == [("tanh", line, True)]
    assert found.first.name == "tanh" and inside in found.first.inside
    assert "first to differ is tanh" in str(found)
    (part,) = found.smallest
    assert [e.primitive.name for e in part.graph.equations] == ["tanh"]


def test_the_step_of_the_largest_difference_is_named():
    def function(x):
        return lax.scan(lambda c, row: (c, snp.tanh(row)), 0.0, x)[1]

    x = np.zeros((9, 2), np.float32)
    x[5, 1] = 1.0
    operation = stagec.check(stagec.jit(function, passes=[wrong_tanh]), x).first
    assert operation.inside.startswith("step 5 of a loop of 9") and operation.distance.where == (1,)
    assert operation.distance.wrong == 1 and operation.count == 9


def test_a_fault_that_no_result_shows_is_found_and_can_be_reported(tmp_path):
    def function(x):
        h = snp.tanh(x)
        return snp.argmax(h)

    found = stagec.check(stagec.jit(function, passes=[wrong_tanh]), X)
    assert all(o.agrees for o in found.outcomes) and not found.ok
    assert differing(found) == [("tanh", "h = snp.tanh(x)", True)]
    found.save(tmp_path / "report.py")
    assert "stablehlo.tanh" in (tmp_path / "report.py").read_text()
    done = subprocess.run([sys.executable, tmp_path / "report.py"], capture_output=True, text=True)
    assert done.returncode == 0 and "all ways agree with NumPy" in done.stdout, done.stderr


def test_operations_that_only_move_elements_have_to_be_exact():
    def function(x):
        return snp.flip(x)

    x = np.float32([1, 1 + 1e-6])
    found = stagec.check(stagec.jit(function, passes=[wrong_reverse]), x)
    assert all(o.agrees for o in found.outcomes)  # the results may have been rounded
    assert differing(found) == [("rev", "return snp.flip(x)", True)]
    assert found.first.distance.error < 1e-5 and found.first.distance.allowed == 0


def test_exact_distances_count_subnormal_numbers_as_zero():
    assert distance(np.float32([1, 1e-40]), np.float32([1, 0]), exact=True).agrees
    assert distance(np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), exact=True).agrees
    assert not distance(np.float32([1, 1e-30]), np.float32([1, 0]), exact=True).agrees


def test_a_fault_of_two_operations_is_named_in_the_program():
    def function(x, y):
        product = snp.exp(x) * y
        z = product + x
        return snp.sqrt(snp.abs(z)) + 1.0

    found = stagec.check(stagec.jit(function, passes=[wrong_sum]), X, X)
    assert differing(found) == [("add", "z = product + x", False)]
    assert "add at" in str(found) and "in the program: DIFFERS" in str(found)


def test_a_fault_of_two_operations_inside_a_loop_is_named_and_cut_out():
    def function(x):
        def step(carry, row):
            product = carry * row
            return product + row, snp.cos(row)

        return lax.scan(step, x[0], x)

    found = stagec.check(stagec.jit(function, passes=[wrong_sum]), X)
    assert differing(found) == [("add", "return product + row, snp.cos(row)", False)]
    (part,) = found.smallest
    assert [e.primitive.name for e in part.graph.equations] == ["mul", "add"]


def test_a_loop_whose_operations_agree_is_named_itself():
    def function(x):
        return lax.fori_loop(0, 3, lambda i, v: snp.exp(v) - 1, x) + 1

    found = stagec.check(stagec.jit(function, passes=[wrong_in_loops]), X)
    assert found.first.name in ("while", "scan") and found.first.alone
    assert "exp" not in {name for name, _, _ in differing(found)}


def test_an_operation_that_does_not_compile_is_named_and_the_others_compared():
    @passes.pattern("stablehlo.sine")
    def raises(op):
        raise ZeroDivisionError("no sine")

    def function(x):
        y = snp.cos(x) * 2
        return snp.sin(y) + snp.exp(x)

    found = stagec.check(stagec.jit(function, passes=[raises]), X)
    assert differing(found) == [("sin", "return snp.sin(y) + snp.exp(x)", True)]
    assert "pattern raises raised ZeroDivisionError" in found.first.failure
    others = [o for o in found.operations if o.way == "compiled" and o.name != "sin"]
    assert {"cos", "mul", "exp", "add"} <= {o.name for o in others} and all(o.agrees for o in others)
    (part,) = found.smallest
    assert [e.primitive.name for e in part.graph.equations] == ["sin"]


def test_sums_that_cancel_may_be_rounded_as_their_terms():
    def function(x):
        centered = x - snp.mean(x)
        return snp.sum(centered), (x * 1e3) @ snp.ones(12, "float32")

    x = np.random.default_rng(0).normal(size=12).astype(np.float32) * 1e3
    assert distance(np.float32([1e-4]), np.float32([2e-4]), terms=1e3).agrees
    found = stagec.check(function, x)
    assert found.first is None


def test_rounding_of_a_loop_that_no_result_has_is_no_fault():
    # The loop also computes b * x - x * b, of which other roundings remain than outside of it.
    factor, x = np.float32([[1.8224814]]), np.float32([-0.14600924])
    found = stagec.check(lax.linalg.cholesky_update, factor, x)
    assert found.ok and found.first is None


def test_more_operations_than_are_compiled_at_once(monkeypatch):
    monkeypatch.setattr(operations, "_AT_ONCE", 3)

    def function(x):
        for n in range(5):
            x = snp.cos(x) + n
        return snp.tanh(x)

    found = stagec.check(stagec.jit(function, passes=[wrong_tanh]), X)
    assert differing(found) == [("tanh", "return snp.tanh(x)", True)]
    assert sum(o.way == "compiled" for o in found.operations) == 11


def test_of_a_long_loop_the_first_rounds_and_powers_of_two_are_compared():
    found = stagec.check(lambda x: lax.fori_loop(0, 100, lambda i, v: snp.cos(v), x), X)
    assert {o.count for o in found.operations if o.name == "cos"} == {16 + 3}  # and rounds 16, 32 and 64


def test_operations_are_in_the_programs_order():
    found = stagec.check(lambda x: snp.sin(scanned(snp.cos(x))[0]), X)
    names = [o.name for o in found.operations if o.way == "compiled"]
    assert names.index("cos") < names.index("tanh") < names.index("scan") < names.index("sin")


def test_the_table_has_a_row_for_each_operation_and_way():
    found = stagec.check(stagec.jit(scanned, passes=[wrong_tanh]), X)
    head, *rows = found.table().splitlines()
    assert head.split() == ["operation", "line", "way", "operands", "error", "steps", "where"]
    assert len(rows) == len(found.operations)
    (row,) = [r for r in rows if r.startswith("tanh") and "without" not in r]
    assert f"{found.first.location.brief()}  compiled" in row and "of a loop of 3" in row
