"""The script that runs libraries' tests: what it reads, counts, collects and writes."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.ecosystem import __main__ as script
from tests.ecosystem.__main__ import failures
from tests.ecosystem.libraries import LIBRARIES
from tests.ecosystem.library import Library
from tests.ecosystem.quickstart import agree, times

FOLDER = pathlib.Path(script.__file__).parent
REPORT = """<testsuites><testsuite>
<testcase classname="a.Test" name="test_good"/>
<testcase classname="a.Test" name="test_bad"><failure message="AssertionError: 1&#10;more">text</failure></testcase>
<testcase classname="a.Test" name="test_left_out"><skipped message="why"/></testcase>
<testcase classname="" name="b.test_file"><error message="collection failure">text</error></testcase>
</testsuite></testsuites>"""


def test_a_report_is_read(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert script.outcomes(report) == {
        "a.Test::test_good": ("passed", ""),
        "a.Test::test_bad": ("failed", "AssertionError: 1"),
        "a.Test::test_left_out": ("skipped", ""),
        "::b.test_file": ("failed", "collection failure"),
    }


def test_tests_count_that_pass_on_jax_and_have_run_here():
    on_jax = {f"a.Test::{n}": ("passed", "") for n in ("good", "bad", "out", "not_run")}
    on_jax |= {
        "a.Test::fails": ("failed", ""),
        "b.test_file::one": ("passed", ""),
        "b.test_file.Test::two": ("passed", ""),
    }
    here = {
        "a.Test::good": ("passed", ""),
        "a.Test::bad": ("failed", "AssertionError: 1"),
        "a.Test::out": ("skipped", ""),
        "a.Test::fails": ("failed", ""),
        "::b.test_file": ("failed", "collection failure"),
    }
    found = script.compared(on_jax, here)
    assert found["tests"] == 5
    assert found["failed"] == {
        "a.Test::bad": "AssertionError: 1",
        "a.Test::out": "",
        "b.test_file::one": "collection failure",
        "b.test_file.Test::two": "collection failure",
    }


def _result(name, here=True, there=True, **more):
    runs = {"stagec": here, "jax": there}
    told = {"library": name, "version": "1.0", "date": "2026-01-02", "agree": True, "times": {}}
    return {**told, "import": runs, "quickstart": runs, **more}


TIMES = {"jax": [2.0, 0.5], "first": [1.0, 0.2], "later": [0.4, 0.1]}


def test_a_row_says_what_works():
    found = script.row(_result("a", tests=5, failed={"t": ""}, times=TIMES), {})
    assert found == "| a | 1.0 | yes | yes | 4 of 5 | 0.50 | 0.20 | 0.20 | 2026-01-02 |"
    assert "| **no** | **no** | none in its archive |" in script.row(_result("a", here=False), {})
    assert "| no, nor on JAX |" in script.row(_result("a", here=False, there=False), {})
    assert "| yes | **differs** |" in script.row(_result("a", agree=False), {})


def test_numbers_agree_but_for_rounding():
    assert agree("Array([1.00001,\n 2.], x=f32[3])", "Array([1. , 2.], x=f32[3])")
    assert not agree("[1.1 2.]", "[1. 2.]") and not agree("[1. 2.]", "[1.]") and not agree("a 1", "b 1")


def test_times_are_those_of_processes_and_of_a_second_run():
    program = "import os\nprint(os.environ['STAGEC_CACHE_DIR'])\nx = sum(range(10**6))"
    found = times(pathlib.Path(sys.executable), program, 60, {}, rounds=1)
    assert list(found) == ["jax", "first", "later"] and all(len(pair) == 2 and min(pair) > 0 for pair in found.values())
    assert times(pathlib.Path(sys.executable), "raise SystemExit(1)", 60, {}, rounds=1) == {}


def test_a_known_reason_is_told():
    library = Library("a==1", "a", "", reasons={"test_one": "why not"})
    assert (
        failures(library, ["test_one1", "test_two", "test_one2"])
        == "- a: `test_two`; `test_one1`, `test_one2` (why not)"
    )
    assert failures(library, []) == ""


def test_the_page_keeps_what_it_has_of_other_libraries(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{script.BEGIN}\n{script.END}\nlast\n")
    monkeypatch.setattr(script, "PAGE", page)
    failed = {f"m.T::test_{i}": "" for i in (2, 1)} | {"other::test_1": ""}
    script.write_page([_result("optax", tests=5, failed=failed), _result("jax")])
    script.write_page([_result("chex", tests=9, failed={f"m::{'x' * 90}_{i}": "" for i in range(3)})])
    script.write_page([_result("einops")])
    text = page.read_text()
    assert text.startswith(f"# Title\n\n{script.BEGIN}\nMeasured with JAX ")
    assert text.endswith(f"_2`\n{script.END}\nlast\n")
    names = [line.split()[1] for line in text.splitlines() if line.startswith("| ")]
    assert names == ["library", "jax", "optax", "chex", "einops"]
    assert "2 of 5" in text and "6 of 9" in text
    assert "\n- optax: `test_1`, `test_2`\n- chex: `xxx" in text and "- jax" not in text and text.count("x_") == 3
    script.write_page([_result("optax", tests=5, failed={})])
    assert "- optax" not in page.read_text() and "5 of 5" in page.read_text()
    script.write_page([{**_result("chex", times=TIMES), "date": "2027-01-01"}])
    assert "| chex | 1.0 | yes | yes | 6 of 9 | 0.50 | 0.20 | 0.20 | 2026-01-02 |" in page.read_text()
    assert page.read_text().count("x_") == 3


def test_the_page_that_is_there_has_the_libraries():
    text = script.PAGE.read_text("utf-8").partition(script.BEGIN)[2]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    assert rows[1:] == [library.name for library in LIBRARIES]


def test_results_are_kept_and_written_to_the_page(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"{script.BEGIN}\n{script.END}")
    monkeypatch.setattr(script, "PAGE", page)
    monkeypatch.setattr(script, "environment", lambda folder, libraries: pathlib.Path(sys.executable))
    monkeypatch.setattr(script, "run", lambda *given: "1.0")
    monkeypatch.setattr(script, "times", lambda *given: TIMES)
    runs = {"jax": {"m::t": ("passed", ""), "m::u": ("passed", "")}}
    runs["stagec"] = {"m::t": ("passed", ""), "m::u": ("failed", "ValueError: no")}
    monkeypatch.setattr(script, "run_tests", lambda folder, python, library, side, options: runs[side])
    monkeypatch.setattr(sys, "argv", ["ecosystem", "chex", "--folder", str(tmp_path), "--page"])
    script.main()
    assert json.loads((tmp_path / "chex.json").read_text())["failed"] == {"m::u": "ValueError: no"}
    assert "1 of 2" in page.read_text() and "m::u: ValueError: no" in capsys.readouterr().out


def _pytest(folder, *options, **variables):
    """The outcomes of the tests of a folder, by their names, in their order."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER), **variables}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120)
    return {name.rpartition("::")[2]: found[0] for name, found in script.outcomes(report).items()}


CASES = """
import time, pytest
from absl.testing import parameterized

@pytest.mark.parametrize("n", [1, 2, 3])
def test_many(n):
    pass

class Test(parameterized.TestCase):
    @parameterized.parameters(1, 2)
    def test_named(self, n):
        pass
    def test_alone(self):
        pass
"""


def test_the_first_case_of_each_test_runs(tmp_path):
    pytest.importorskip("absl.testing")
    (tmp_path / "test_cases.py").write_text(CASES)
    found = _pytest(tmp_path, "-p", "one_case_each")
    assert len(found) == 3 and {name.rstrip("0123[]") for name in found} == {"test_many", "test_named", "test_alone"}
    assert len(_pytest(tmp_path, "-p", "one_case_each", ECOSYSTEM_ALL_CASES="1")) == 6
    assert len(_pytest(tmp_path, "-p", "one_case_each", ECOSYSTEM_SECONDS="0")) == 1


DOCUMENTED = '''
"""A module that cannot be imported.

>>> jnp.arange(3)
Array([0, 1, 2], dtype=int32)
"""
raise ImportError

def rounded():
    """
    >>> jnp.float32(1) / 3, jnp.ones(2) * 1j
    (Array(0.3333, dtype=float32), Array([0.+1.j,   0.+1.j], dtype=complex64))
    """

class Wrong:
    """
    >>> jnp.int32(3)
    Array(4, dtype=int32)
    """

    def inexact(self):
        """
        >>> float(jnp.float32(3.5))
        3.6
        """

    def refuses(self):
        """
        >>> jnp.ones(2) + jnp.ones(3)
        Traceback (most recent call last):
        ValueError: another text
        """

    def does_not(self):
        """
        >>> 1
        Traceback (most recent call last):
        ValueError
        """
'''


def test_examples_of_docstrings_run_without_an_import(tmp_path):
    (tmp_path / "documented.py").write_text(DOCUMENTED)
    variables = {"PYTHONPATH": os.pathsep.join([str(FOLDER), str(script.ROOT)])}
    options = (
        "-p",
        "docstrings",
        "-p",
        "stagec.compat.plugin",
        "-o",
        "python_files=",
        "-o",
        "doctest_optionflags=NUMBER",
    )
    assert _pytest(tmp_path, *options, **variables) == {
        "module": "passed",
        "rounded": "passed",
        "Wrong": "failed",
        "Wrong.inexact": "failed",
        "Wrong.refuses": "passed",
        "Wrong.does_not": "failed",
    }
