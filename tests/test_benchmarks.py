"""Every benchmark runs, on tiny inputs, and the libraries compute the same. No times are judged."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import stagec
from tests.benchmarks import browser, browser_models, compiles, front, numba_loops, worker

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def rows():
    """By group, the rows of one run of all that measures in processes that stay: the two libraries start once."""
    groups = ("call", "trace", "kernels", "products", "narrow", "steps", "eager", "compile")
    generated = ("contractions/float32 abc,bc", "axes/int8 s", "axes/float32 gradient")
    cases = [*(f"{group}/" for group in groups), " 1e3", "convolutions/3x3 64 ", *generated]
    report = json.loads(run(*cases, "--tiny", "--json", "--libraries", "numpy,stagec"))
    found = {row["group"]: [r for r in report["rows"] if r["group"] == row["group"]] for row in report["rows"]}
    assert {*groups, "sizes", "convolutions", "contractions", "axes"} == {*found}
    return found


def test_numbers_of_workers_compute_the_same_and_compile_each_program_once():
    pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")
    report = json.loads(run("processes", "--tiny", "--json", "--counts", "1", "2"))
    for row in report["rows"]:
        assert list(row["seconds"]) == ["1", "2", "1, all cores"]
        assert all(value == pytest.approx(row["results"]["1"], rel=1e-3) for value in row["results"].values())
    # A sum of two gradients is a program, too.
    assert [row["compiles"]["2"] for row in report["rows"]] == [1, 2]


@pytest.mark.parametrize("name", browser_models.models())
def test_models_for_browsers_are_modules_and_have_finite_results(name, tmp_path):
    model = browser_models.models()[name]
    arrays = [np.sin(np.arange(1.0, 1 + np.prod(shape))).reshape(shape).astype("f") for shape in model.inputs.values()]
    descriptions = [f"f32[{','.join(map(str, shape))}]" for shape in model.inputs.values()]
    assert len(stagec.export(model.function)(*descriptions).to_wasm(tmp_path)) == 3
    results = stagec.tree.leaves(stagec.jit(model.function)(*arrays))
    shown = [f"{type_.split('[')[1]}" for type_ in model.outputs.values()]
    assert [f"{','.join(map(str, r.shape))}]" for r in results] == shown
    assert all(np.isfinite(r).all() for r in results)


@pytest.mark.skipif(not importlib.util.find_spec("onnx"), reason="onnx is not installed: pip install onnx")
def test_models_for_browsers_are_onnx_models(tmp_path):
    for i, model in enumerate(browser_models.models().values()):
        assert browser.write(tmp_path / str(i), model, f"m{i}").keys() == {"stagec", "onnxruntime"}


def test_programs_of_many_operations_compile():
    rows = [json.loads(line) for line in run("compiles", "--tiny", "--json", "--libraries", "stagec").splitlines()]
    assert [row["name"] for row in rows] == [*compiles.PROGRAMS]
    assert all(row["stagec"]["compile"] > row["stagec"]["lower"] > 0 for row in rows)


def test_programs_run_on_two_devices_and_in_two_processes():
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install '.[mpi]'")
    report = json.loads(run("devices", "--tiny", "--json"))
    assert {name: [*times] for name, times in report.items() if "psum" not in name} == {
        name: ["1", "2 devices", "2 processes"] for name in ("mlp", "cnn", "chains", "waits", "stencil")
    }
    assert all(time > 0 for times in report.values() for time in times.values())


def test_every_case_runs_and_agrees_with_numpy(rows):
    for group, found in rows.items():
        for row in found:
            assert row["notes"] == [], row["name"]
            assert row["seconds"]["stagec"] > 0
            if group in ("call", "kernels", "products", "eager"):
                assert row["seconds"]["numpy"] > 0
            assert (0 < row["own"] < 1) if group == "compile" else "own" not in row
    assert len(rows["sizes"]) > 10
    assert [row["name"] for row in rows["convolutions"]] == ["3x3 64 forward", "3x3 64 image", "3x3 64 weights"]


def test_loop_programs_run():
    (row,) = json.loads(run("loops", "bubble", "--tiny", "--json", "--libraries", "stagec"))
    assert row["notes"] == [] and row["first"]["stagec"] > row["steady"]["stagec"] > 0


def test_first_results_and_stalls_are_measured():
    found = json.loads(run("tiers", "mlp", "MLP", "--tiny", "--json", "--libraries", "tiers,stagec"))
    rows = [row for some in found.values() for row in some]
    assert [row["name"] for row in rows] == ["mlp", "MLP", "MLP"]
    assert all(row["notes"] == [] and min(row["seconds"].values()) > 0 for row in rows)


def test_examples_of_the_documentation_run_beside_jax():
    pytest.importorskip("jax")
    lines = run("pages", "tutorial/03", "--repeat", "1").splitlines()
    row = next(line for line in lines if "03-donation" in line)
    assert int(row.split("│")[2]) >= 5, "few of its examples run in both"


def test_programs_for_open_dimensions_are_counted_and_measured():
    rows = json.loads(run("dynamic", "--tiny", "--json"))
    assert len(rows) == 5
    assert all(row["programs"] == 1 and min(row["ratios"].values()) > 0 for row in rows)


def test_rounds_of_loops_are_measured():
    results = json.loads(run("rounds", "--tiny", "--json"))
    rows = [row for rows in results.values() for row in rows]
    assert "1" in results and len(rows) >= 6
    assert all(row["inside"] > 0 and row["outside"] > 0 and row["chosen"] == "inside" for row in rows)


def test_gradients_through_loops_are_measured():
    rows = json.loads(run("gradients", "Newton", "nested", "--tiny", "--json"))
    assert len(rows) == 4
    for row in rows:
        assert min(row[form] for form in ("while", "while gradient", "scan", "scan gradient")) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_memory_is_measured():
    (row,) = json.loads(run("memory", "running sum of rows 1e6", "--json", "--libraries", "stagec"))["rows"]
    assert 4e6 < row["bytes"]["stagec"] < 20e6  # the result has 4 MB


def test_programs_with_and_without_laws_agree():
    rows = json.loads(run("passes", "--tiny", "--json"))
    assert len(rows) == 5
    for row in rows:
        assert row["agree"], row["name"]
        assert row["hits"] > 0 and row["laws_operations"] < row["operations"] and row["plain_call"] > 0


def test_programs_of_libraries_run():
    rows = json.loads(run("libraries", "cholesky 256", "fft of 10", "--tiny", "--json", "--libraries", "stagec"))
    assert [row["name"] for row in rows] == ["cholesky 256", "fft of 10^5"]
    assert all(row["notes"] == [] and row["first"]["stagec"] > row["steady"]["stagec"] > 0 for row in rows)


def test_calls_of_libraries_are_measured_beside_algorithms():
    rows = json.loads(run("host", "eigvalsh", "fft", "--tiny", "--json", "--dtypes", "single"))
    assert [(row["name"], row["dtype"], row["chosen"]) for row in rows] == [
        ("eigvalsh", "float32", False),
        ("fft", "complex64", False),
    ]
    assert all(row[kind][way] > 0 for row in rows for kind in ("first", "steady") for way in ("always", "never"))


@pytest.mark.slow
def test_starts_are_measured_with_a_warm_cache_and_from_a_file():
    """A start that loads the compiler gets a note."""
    rows = json.loads(run("start/", "aot/", "--tiny", "--json", "--libraries", "stagec"))["rows"]
    assert [row["name"] for row in rows] == ["selu", "mlp", "import alone", "selu", "mlp"]
    assert [row["notes"] for row in rows[:3]] == [[], [], []]
    for row in rows[3:]:
        assert row["seconds"]["stagec"] > 0
        assert re.fullmatch(r"a file of \d+ KiB; jitted with a warm cache \d+ ms", row["notes"][0])


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is optional")
def test_jax_stands_beside_stagec_in_the_table():
    text = run("call/1 array", "--tiny", "--libraries", "jax,stagec")
    assert "over jax" in text
    assert "differ" not in text


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is optional")
def test_functions_outside_jit_are_measured_beside_jax():
    lines = run("outside", "nn.softplus", "random.normal", "linalg.norm", "--size", "20", "--repeat", "1", "--json")
    rows = {row["name"]: row for row in map(json.loads, lines.splitlines())}
    assert {*rows} == {"nn.softplus", "random.normal", "numpy.linalg.norm"}
    for row in rows.values():
        assert min(row["jit"], row["stagec"]["steady"], row["jax"]["first"]) > 0


def test_names_with_brackets_are_printed():
    assert "x.at[i].add of 10" in run("eager/x.at[i]", "--tiny", "--libraries", "stagec")


@pytest.mark.parametrize("function", [*numba_loops.cases()], ids=lambda function: function.__name__)
def test_loops_that_are_compared_with_numba_compute_what_python_computes(function):
    small = {
        "decay": (np.arange(5.0), 0.9),
        "distances": (np.arange(12.0).reshape(4, 3),),
        "heat": (np.arange(30.0).reshape(5, 6) ** 2, 3),
        "escape": (np.array([0.3 + 0.5j, 1, -1, 2j]), 20),
    }[function.__name__]

    def given():
        return [x.copy() if isinstance(x, np.ndarray) else x for x in small]

    with stagec.enable_x64():
        found = stagec.jit(function, python=True)(*given())
    np.testing.assert_allclose(found, function(*given()), rtol=1e-12)


def test_libraries_with_programs_of_their_own_are_compared():
    libraries = ["numpy", *(["jax"] if importlib.util.find_spec("jax") else []), "stagec"]
    report = json.loads(run("front", "filter", "perceptron", "--tiny", "--libraries", ",".join(libraries)))
    assert {name: [*times] for name, times in report["rows"].items()} == {
        "filter": libraries,
        "perceptron": libraries[1:],
    }
    for times in report["rows"].values():
        for seconds in times.values():
            assert 0 < seconds["steady"] < seconds["start"] and seconds["first"] > 0


def test_of_several_runs_the_least_times_count_unless_a_version_has_changed():
    def report(version, **rows):
        return {"versions": {"jax": version}, "rows": {name: {"jax": times} for name, times in rows.items()}}

    former = report("1", a={"first": 2.0, "steady": 1.0}, b={"first": 4.0})
    found = report("1", a={"first": 1.0, "steady": 3.0})
    assert front.merged(former, found) == report("1", a={"first": 1.0, "steady": 1.0}, b={"first": 4.0})
    assert front.merged(former, changed := report("2", a={"first": 5.0})) == changed


def test_an_unknown_case_names_the_groups():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "nonsense"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    groups = "call, trace, start, aot, kernels, products, narrow, convolutions, steps, sizes, eager, compile"
    assert f"groups are {groups}" in done.stderr


@pytest.mark.parametrize("clock", ["", "1"])
def test_processor_time_does_not_count_waiting(clock):
    # In a process of its own, since that of the tests may have threads that are busy.
    code = "import time; from tests.benchmarks import worker; print(worker.measure(lambda: time.sleep(0.2), True))"
    environment = {**os.environ, worker.CPU: clock}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert (float(done.stdout) < 0.1) == bool(clock)


SOURCES = {
    "bench_info/{}.json": """{"benchmark": {
        "short_name": "NAME", "relative_path": "NAME", "module_name": "NAME", "func_name": "f",
        "parameters": {"S": {"n": 8, "rounds": 3}},
        "init": {"func_name": "initialize", "input_args": ["n"], "output_args": ["x"]},
        "input_args": ["rounds", "x"], "output_args": ["x"]}}""",
    "npbench/benchmarks/{0}/{0}.py": """
import numpy as np

def initialize(n, datatype=np.float32):
    return np.arange(n, dtype=datatype) / 3
""",
    "npbench/benchmarks/{0}/{0}_numpy.py": """
import numpy as np

def f(rounds, x):
    for i in range(rounds):
        x[i + 1:] += x[i] BODY
    return x.sum()
""",
}


def test_programs_of_a_collection_run_unmodified_or_say_why_not(tmp_path):
    for name, body in (
        ("runs", ""),
        ("does_not", "+ np.sort(x[x > i]).size"),
        ("differs", "+ (type(x) is np.ndarray)"),
    ):
        for path, text in SOURCES.items():
            file = tmp_path / path.format(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("NAME", name).replace("BODY", body))
    lost = tmp_path / "bench_info/lost.json"
    lost.write_text(SOURCES["bench_info/{}.json"].replace("NAME", "lost"))
    rows = json.loads(run("sources", str(tmp_path), "--variants", "stagec", "--turns", "1", "--json"))
    found = {row["name"]: row for row in rows}
    assert sorted(found) == ["differs", "does_not", "runs"]
    assert found["runs"]["errors"] == {}
    assert found["runs"]["differ"] == []
    assert found["runs"]["seconds"].keys() == {"numpy", "stagec"}
    assert found["differs"]["differ"] == ["stagec"]
    assert "length" in found["does_not"]["errors"]["stagec"]
