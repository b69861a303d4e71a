"""The line that a long compile shows."""

import contextlib
import io
import sys
import threading
import time
import types

import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler.progress import Progress, is_notebook


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_compile_shows_a_line_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("step", delay=0.01):
        deadline = time.monotonic() + 60
        while "compiling step" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "compiling step" in stream.getvalue()


def test_the_line_names_the_function_its_size_and_the_seconds(monkeypatch):
    shown = []
    monkeypatch.setattr("stagec.compiler.build.Progress", lambda what: shown.append(what) or contextlib.nullcontext())
    with stagec.config.override(enable_cache=False):
        stagec.jit(lambda x: snp.sin(x) + 0.28125 * x).lower(snp.ones(3)).compile()
    assert shown == ["<lambda> (3 operations) for cpu"]
    assert Progress(shown[0])._line() == "compiling <lambda> (3 operations) for cpu, 0 s"


class Notebook:
    """What a kernel's IPython shows: the texts, each of which takes the place of the one before."""

    kernel = True

    def __init__(self):
        self.texts = []
        self.module = types.ModuleType("IPython")
        self.module.get_ipython = lambda: self
        self.display_module = types.ModuleType("IPython.display")
        self.display_module.display = self.display

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.update(data, raw)
        return self

    def update(self, data, raw):
        self.texts.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    found = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", found.module)
    monkeypatch.setitem(sys.modules, "IPython.display", found.display_module)
    monkeypatch.setattr("stagec.compiler.progress._PERIOD_SECONDS", 0.01)
    return found


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_a_long_compile_shows_a_line_in_a_notebook_which_then_goes(notebook):
    with Progress("step (3 operations) for cpu", delay=0.01):
        wait_for(lambda: len(notebook.texts) > 2)
    assert set(notebook.texts) == {"compiling step (3 operations) for cpu, 0 s", ""}
    assert notebook.texts[-1] == ""


def test_ipython_on_a_terminal_is_no_notebook(notebook):
    notebook.kernel = None
    assert not is_notebook()


def test_the_line_goes_when_nobody_waits_for_the_compile_any_more(notebook, monkeypatch):
    abandoned = threading.Event()
    monkeypatch.setattr("stagec.runtime.interruptible.is_abandoned", lambda: abandoned.is_set)
    with Progress("step", delay=0.01):
        wait_for(lambda: notebook.texts)
        abandoned.set()
        wait_for(lambda: notebook.texts[-1] == "")


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal(), None])
def test_nothing_is_shown_off_a_terminal_or_for_a_short_compile(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    with Progress("step", delay=30 if isinstance(stream, Terminal) else 0):
        pass
    assert stream is None or stream.getvalue() == ""
