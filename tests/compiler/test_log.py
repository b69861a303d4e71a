"""Events: recorded always, printed when asked, quiet by default."""

import logging
import os
import pathlib
import re
import subprocess
import sys

import pytest

import stagec
from stagec.compiler import log

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = """
import stagec, stagec.numpy as snp
@stagec.jit
def half(x):
    return x / 2
half(snp.ones(3))
half(snp.ones(3))
stagec.clear_caches()
half(snp.ones(3))
"""


def lines_with(tmp_path, words, program=PROGRAM):
    """What a process prints to stderr with `STAGEC_LOG=words`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STAGEC_")}
    environment |= {"STAGEC_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    if words is not None:
        environment["STAGEC_LOG"] = words
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.parametrize("words", [None, ""])
def test_a_process_prints_nothing_unless_asked(tmp_path, words):
    assert lines_with(tmp_path, words) == []


def test_compile_prints_the_beginning_and_the_end_of_the_one_compile(tmp_path):
    lines = lines_with(tmp_path, "compile")
    assert all(" stagec compile: " in line for line in lines)
    compiling, compiled = lines
    assert re.search(r" stagec compile: compiling name=half target=cpu operations=1$", compiling)
    assert re.match(r"\d\d:\d\d:\d\d\.\d\d\d stagec compile: compiled name=half ", compiled)
    assert re.search(r"\bseconds=[0-9.]+", compiled)


@pytest.fixture(scope="module")
def traces_and_hits(tmp_path_factory):
    """What a process prints with `STAGEC_LOG=trace,cache`."""
    return lines_with(tmp_path_factory.mktemp("log"), "trace,cache")


def of_kind(lines, kind):
    return [line for line in lines if line.split()[2] == f"{kind}:"]


def test_trace_prints_each_trace_with_its_signature(traces_and_hits):
    lines = of_kind(traces_and_hits, "trace")
    assert [line.split(" stagec ")[1].split(" equations=")[0] for line in lines] == [
        "trace: half: traced for f32[3]",
        "trace: half: traced for f32[3]",
    ]


def test_cache_prints_where_a_program_was_found(traces_and_hits):
    kernels, missed, line = of_kind(traces_and_hits, "cache")
    assert kernels.endswith("stagec cache: kernels known=0 generated=1")
    assert "stagec cache: half: found nowhere" in missed
    assert "stagec cache: half: found on disk" in line


def test_several_kinds_are_separated_by_commas_and_all_means_all(tmp_path, traces_and_hits):
    def kinds(lines):
        return {line.split()[2].rstrip(":") for line in lines}

    assert kinds(traces_and_hits) == {"trace", "cache"}
    assert kinds(lines_with(tmp_path, "all")) == {"trace", "lower", "compile", "cache"}


def test_the_standard_librarys_logger_gets_the_events(tmp_path):
    setup = "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(name)s %(levelname)s %(message)s')"
    lines = lines_with(tmp_path, None, setup + PROGRAM)
    assert lines[0].startswith("stagec INFO trace: half: traced for f32[3]")


@pytest.fixture
def quiet_records():
    log.clear()
    with stagec.config.override(log=""):
        yield
    log.clear()


def test_events_are_recorded_with_their_fields_even_when_not_printed(quiet_records, capsys):
    log.event("compile", "compiled", name="f", seconds=0.25)
    log.event("cache", "found")
    assert [(r.kind, r.message, r.fields) for r in log.records()] == [
        ("compile", "compiled", {"name": "f", "seconds": 0.25}),
        ("cache", "found", {}),
    ]
    assert [r.kind for r in log.records("cache")] == ["cache"]
    assert capsys.readouterr() == ("", "")


def test_only_the_last_thousand_are_kept(quiet_records):
    for i in range(1100):
        log.event("trace", str(i))
    assert [len(log.records()), log.records()[0].message] == [1000, "100"]


def test_events_go_to_the_stderr_of_the_moment(quiet_records, capsys):
    with stagec.config.override(log="trace"):
        log.event("trace", "one", size=3)
        log.event("cache", "two")
    assert capsys.readouterr().err.split(" stagec ")[1] == "trace: one size=3\n"


def test_an_event_is_handed_to_a_logger_once(quiet_records, caplog):
    with stagec.config.override(log="compile"), caplog.at_level(logging.INFO, logger="stagec"):
        log.event("compile", "done", seconds=0.123456)
    assert [r.getMessage() for r in caplog.records] == ["compile: done seconds=0.123"]


def test_events_of_unknown_kinds_are_refused(quiet_records):
    with pytest.raises(ValueError, match="kinds are trace, lower, compile, cache"):
        log.event("nonsense", "never seen")
    assert log.records() == []


@pytest.mark.parametrize(
    ("words", "expected"), [("", False), ("compile", True), ("cache", False), ("cache, compile", True), ("all", True)]
)
def test_enabled_reads_the_list_of_kinds(words, expected):
    with stagec.config.override(log=words):
        assert log.enabled("compile") is expected
