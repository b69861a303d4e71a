"""`stagec.check` sees wrong results, cuts the program down to what makes them, and writes a file that shows it."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from wrong_laws import wrong_sum, wrong_tanh

import passes
import stagec
import stagec.numpy as snp
from stagec.api.program import GraphCode
from stagec.differential import ways
from stagec.differential.compare import distance
from stagec.runtime.devices import Device, devices

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def layers(x, y):
    h = snp.cumsum(x, axis=0) @ y.T
    h = snp.tanh(h)
    return {"loss": snp.sum(h * h), "rows": [snp.sort(h, axis=1), snp.argmax(h, axis=1)]}


def test_a_right_program_agrees_in_every_way_and_result():
    found = stagec.check(layers, X, X)
    assert found and found.ok and not found.smallest
    names = {outcome.way for outcome in found.outcomes}
    assert names == {"compiled", "compiled without laws and kernels"}
    assert {o.result for o in found.outcomes} == {"result['loss']", "result['rows'][0]", "result['rows'][1]"}
    assert "all ways agree" in str(found)
    with pytest.raises(ValueError, match="nothing to report"):
        found.save("unused.py")


def test_a_wrong_law_is_found_and_the_operation_that_it_broke():
    found = stagec.check(stagec.jit(layers, passes=[wrong_tanh]), X, X)
    assert not found
    assert {o.way for o in found.outcomes if not o.agrees} == {"compiled"}
    (part,) = found.smallest
    assert [str(e.primitive) for e in part.graph.equations] == ["tanh"]
    assert "h = snp.tanh(h)" in str(found) and "DIFFERS in" in str(found)


def test_a_fault_that_needs_two_operations_keeps_both():
    def function(x, y):
        z = snp.exp(x) * y + x
        return snp.sqrt(snp.abs(z)) + 1.0

    (part,) = stagec.check(stagec.jit(function, passes=[wrong_sum]), X, X).smallest
    assert [str(e.primitive) for e in part.graph.equations] == ["mul", "add"]


def test_the_parts_of_jitted_functions_inside_are_looked_at():
    (part,) = stagec.check(stagec.jit(lambda x: stagec.jit(snp.tanh)(x) + 1, passes=[wrong_tanh]), X).smallest
    assert [str(e.primitive) for e in part.graph.equations] == ["tanh"]


def test_a_failure_is_an_outcome():
    @passes.pattern("stablehlo.sine")
    def raises(op):
        raise ZeroDivisionError("no sine")

    found = stagec.check(stagec.jit(snp.sin, passes=[raises]), X)
    failed = [o for o in found.outcomes if o.failure]
    assert not found.ok and [o.way for o in failed] == ["compiled"]
    assert "pattern raises raised ZeroDivisionError" in str(found)


def test_closed_over_donated_and_static_arguments():
    weights = snp.asarray(X)

    def function(x, power):
        return (x + weights) ** power

    jitted = stagec.jit(function, static_argnames="power", donate_argnums=0)
    x = snp.asarray(X)
    assert stagec.check(jitted, x, power=3).ok
    np.testing.assert_array_equal(np.asarray(x), X)  # not given up


def test_results_that_are_arguments_and_constants():
    assert stagec.check(lambda x: (x, snp.float32(2.0), snp.negative(x)), X).ok


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool", "complex64"])
def test_other_dtypes(dtype):
    x = snp.asarray(X * 3).astype(dtype)
    assert stagec.check(lambda x: (snp.roll(x, 1), x[::-1] == x, snp.sum(x, axis=0)), x).ok


def test_the_file_has_the_program_and_its_inputs(tmp_path):
    found = stagec.check(stagec.jit(layers, passes=[wrong_tanh]), X, X)
    found.save(tmp_path / "report.py")
    text = (tmp_path / "report.py").read_text()
    assert "stablehlo.tanh" in text and "passes of the user's own" in text and "iree-base-compiler" in text
    # Without the wrong law, the program is computed rightly.
    done = subprocess.run([sys.executable, tmp_path / "report.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all ways agree with NumPy" in done.stdout


def test_open_dimensions_are_checked_at_the_sizes_of_the_call():
    found = stagec.check(stagec.jit(lambda x: snp.sum(x * 2), dynamic={"x": "b"}), np.ones(5, np.float32))
    assert found.ok
    assert [o.name for o in found.operations if o.way == "compiled"] == ["mul", "reduce_sum"]


def test_a_way_whose_compile_takes_too_long_is_left_out(monkeypatch):
    load, ended = GraphCode.load, threading.Event()

    def slow(code):
        if not code.options.simplify:
            ended.wait(60)
        return load(code)

    monkeypatch.setattr(GraphCode, "load", slow)
    monkeypatch.setattr(ways, "SECONDS", 0.3)
    found = stagec.check(lambda x: snp.tanh(x) * 3, X)
    ended.set()
    assert found.ok and found.left_out == ("compiled without laws and kernels",)
    assert {o.way for o in (*found.outcomes, *found.operations)} == {"compiled"}
    first, *others = str(found).splitlines()
    assert first.endswith(": all other ways agree with NumPy")
    assert any(line.startswith("  compiled without laws and kernels: left out, as a compile took") for line in others)


def test_functions_that_call_python_are_refused():
    def function(x):
        stagec.debug.print("{}", x)
        return x + 1

    with pytest.raises(stagec.errors.UnsupportedError, match="calls Python functions"):
        stagec.check(function, X)


def test_a_check_inside_of_a_traced_function_is_refused():
    with pytest.raises(stagec.errors.UnsupportedError, match="being traced"):
        stagec.jit(lambda x: stagec.check(snp.sin, x))(X)


@pytest.mark.parametrize(
    "expected, found, count",
    [
        ([1.0, np.nan], [1.0, np.nan], 0),
        ([1.0, np.nan], [1.0, 2.0], 1),
        ([np.inf, 1.0], [np.inf, 1.0], 0),
        ([np.inf, 1.0], [-np.inf, 1.0], 1),
        ([1e6, 1.0], [1e6, 1.5], 0),  # a rounding of the largest element
        ([1.0, 1.0], [1.0, 1.01], 1),
        ([0.0, 0.0], [0.0, 1e-6], 0),
    ],
)
def test_distances_of_floats(expected, found, count):
    assert distance(np.float32(expected), np.float32(found)).wrong == count


def test_distances_of_exact_and_complex_numbers():
    assert distance(np.array([1, 2]), np.array([1, 3])).where == (1,)
    assert distance(np.array([True]), np.array([True])).agrees
    assert not distance(np.array([1 + 1j]), np.array([1 - 1j])).agrees
    assert distance(np.zeros((0, 3)), np.zeros((0, 3))).agrees


def twin(device, number):
    made = object.__new__(Device)  # not by `copy`, which finds the same device
    made.__dict__ |= device.__dict__ | {"id": number}
    return made


def test_every_other_device_that_is_present_is_a_way(monkeypatch):
    real = devices("cpu")[0]
    second, third = (twin(real, number) for number in (1, 2))
    monkeypatch.setattr(ways, "devices", lambda platform: [real, second, third])
    jitted = stagec.jit(snp.sin)
    trace, _ = jitted._traced((1.0,), {})
    found = [(way.name, way.device) for way in ways.ways(jitted._settings, None, trace.graph)][2:]
    assert found == [("compiled for cpu:1", second), ("compiled for cpu:2", third)]


def test_laws_are_proven_for_the_program():
    pytest.importorskip("bitwuzla", reason="Bitwuzla is not installed: pip install '.[prove]'")

    def loss(x, y):
        return {"sum": snp.sum(x * y), "bits": snp.where(x > 0, x, x) - (-y)}

    with stagec.config.override(platforms="cpu"):
        found = stagec.check(loss, snp.ones(3), snp.ones(3), prove=True)
        assert found and found.proof.word == "proven" and "for all arguments of these shapes: proven" in str(found)
        assert stagec.check(loss, snp.ones(3), snp.ones(3)).proof is None
        # What captured arrays hold counts for nothing.
        zeros = snp.zeros(3) + 0
        assert stagec.check(lambda x: x + zeros, snp.ones(3), prove=True).proof.word == "proven"


def test_a_law_that_changes_a_result_is_refuted():
    pytest.importorskip("bitwuzla", reason="Bitwuzla is not installed: pip install '.[prove]'")

    @passes.pattern("stablehlo.subtract")
    def careless(op):
        """x - x -> 0."""
        return passes.build.full(0, op.lhs) if op.lhs == op.rhs else None

    with stagec.config.override(platforms="cpu"):
        found = stagec.check(stagec.jit(lambda x: x - x, passes=[careless]), snp.ones(2), prove=True)
    (numbers,) = found.proof.arguments
    assert not found.ok and all(o.agrees for o in found.outcomes) and not np.isfinite(numbers).all()
    assert "all ways agree with NumPy" in str(found) and "REFUTED by arguments [" in str(found)


@pytest.mark.parametrize(
    ("function", "shape", "why"),
    [
        (snp.sort, (4,), "not described: sort"),
        (lambda x: x / 2, (300, 300), "not described: a large array"),
        (stagec.jit(lambda x: snp.tanh(x) / x + (x - x), fast_math=True), (2,), "not known of a function"),
    ],
)
def test_what_is_not_proven_is_said(function, shape, why):
    pytest.importorskip("bitwuzla", reason="Bitwuzla is not installed: pip install '.[prove]'")
    with stagec.config.override(platforms="cpu"):
        found = stagec.check(function, snp.ones(shape), prove=True)
    assert found.ok and found.proof.word == why and f"neither proven nor refuted: {why}" in str(found)


def test_the_solver_is_asked_for(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("passes.proving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bitwuzla", None)
    with (
        stagec.config.override(platforms="cpu"),
        pytest.raises(stagec.errors.UnsupportedError, match="pip install bitwuzla"),
    ):
        stagec.check(snp.tanh, snp.ones(2), prove=True)
