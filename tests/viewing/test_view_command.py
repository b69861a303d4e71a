"""The command `stagec view`: what it writes, and what it refuses."""

import json
import re

import pytest
from click.testing import CliRunner

from stagec.commands.view import view


@pytest.fixture
def run(tmp_path):
    """Runs the command on `half`, and returns the exit code, the message and the page's data, if there is a page."""
    model = tmp_path / "model.py"
    model.write_text("def half(x):\n    return (x * 0.5 + 1).sum()\n")
    output = tmp_path / "page.html"

    def call(*arguments):
        done = CliRunner().invoke(view, [f"{model}:half", *arguments, "-o", str(output)])
        if not output.exists():
            return done.exit_code, done.output, None
        (text,) = re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", output.read_text(), re.DOTALL)
        return done.exit_code, done.output, json.loads(text)

    return call


def test_sizes_of_open_dimensions_are_shown_as_expressions(run):
    code, _, data = run("f32[b]")
    assert code == 0
    found = {(b["kind"], b["name"]): b["bytes"] for b in data["buffers"]}
    assert found["argument", "x"] == "4*b"
    assert found["result", ""] == 4
    assert "[b]" in data["title"]


def test_a_run_needs_numbers_as_sizes(run):
    code, text, data = run("f32[b]", "--run")
    assert (code, data) == (2, None)
    assert "--run needs sizes" in text and "open dimensions b\n" in text
    assert "Fix: write numbers in their place to run it, or leave out --run" in text


def test_arguments_of_a_run_that_do_not_fit_into_memory_are_refused(run):
    code, text, data = run("f32[100000,1000000000]", "--run")
    assert (code, data) == (1, None)
    assert "--run: there is no memory for the arguments: Unable to allocate" in text
    assert "Fix: describe smaller arrays, or leave out --run" in text


def test_arguments_without_elements_are_named_as_the_reason(run):
    code, text, data = run("bf16[0]")
    assert (code, data) == (1, None)
    assert "computes nothing: an argument has no elements" in text and "Fix: give sizes above 0" in text
