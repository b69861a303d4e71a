"""stagec in IPython: the magic, completion, signatures, and how arrays and views are shown."""

import ast
import re
import sys

import pytest

import stagec
from stagec.api import tiers
from stagec.viewing import notebook


def test_the_call_is_the_last_line_and_what_is_before_it_runs():
    before, call = notebook.parts("import math\n\ndef f(x):\n    return x\n\nf(math.pi, y=[\n    1])\n")
    assert before == "import math\n\ndef f(x):\n    return x\n"
    assert ast.unparse(call) == "__stagec_view__(f, math.pi, y=[1])"


@pytest.mark.parametrize("text", ["", "x = 1", "x", "f(x)\ny = 2", "!ls", "def f(x): return f(x)"])
def test_a_cell_without_a_call_at_its_end_is_refused(text):
    with pytest.raises(stagec.errors.ArgumentValueError, match=r"no call to show[\s\S]*end the cell of %%stagec with"):
        notebook.parts(text)


@pytest.fixture
def shell():
    pytest.importorskip("IPython", reason="IPython is not installed")
    from IPython.core.interactiveshell import InteractiveShell

    # A shell has prompts, from which others tell that a person waits, and a main module of its own.
    before = vars(sys).copy(), sys.modules["__main__"]
    made = InteractiveShell.instance()
    made.reset()
    made.run_cell("import stagec, stagec.numpy as snp\n%load_ext stagec").raise_error()
    yield made
    made.run_cell("%reload_ext stagec")
    InteractiveShell.clear_instance()
    for name in set(vars(sys)) - set(before[0]):
        delattr(sys, name)
    vars(sys).update({name: before[0][name] for name in ("displayhook", "excepthook")})
    sys.modules["__main__"] = before[1]
    assert not tiers._is_interactive()


def run(shell, text):
    done = shell.run_cell(text)
    done.raise_error()
    return done.result


def completed(shell, text):
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        return {found.text for found in shell.Completer.completions(text, len(text))}


def test_the_cell_magic_runs_the_cell_and_shows_its_call(shell):
    page = run(shell, "%%stagec\ndef wave(x):\n    return snp.sin(x) * k\nk = 3.0\nwave(snp.ones(8))")
    assert "stablehlo.sine" in page.html and "return snp.sin(x) * k" in page.html
    data, _ = shell.display_formatter.format(page)
    assert data["text/html"].startswith("<iframe srcdoc=") and "save('page.html') writes it" in data["text/plain"]
    assert shell.user_ns["k"] == 3.0


def test_the_call_may_stand_on_the_line_of_the_cell_magic(shell):
    page = run(shell, "%%stagec wave(snp.ones(8))\ndef wave(x):\n    return snp.cos(x)\nwave(1.0)")
    assert "stablehlo.cosine %arg0 : tensor\\u003c8xf32>" in page.html


def test_the_line_magic_shows_a_call(shell):
    run(shell, "def twice(x, by):\n    return x * by")
    assert "stablehlo.multiply" in run(shell, "%stagec stagec.grad(twice)(1.5, by=snp.float32(2))").html


def test_a_fault_of_the_cell_is_its_own(shell):
    done = shell.run_cell("%%stagec\nraise KeyError('mine')\nf(1)")
    assert isinstance(done.error_in_exec, KeyError)


def test_names_are_completed_and_calls_have_signatures(shell):
    run(shell, "@stagec.jit\ndef layer(x, *, scale=2.0):\n    'Doc of layer.'\n    return x * scale\nloaded = None")
    assert completed(shell, "stagec.exp") == {"experimental", "explain", "export"}
    assert completed(shell, "layer.lo") == {"lower"}
    assert completed(shell, "snp.ones(3).block") == {"block_until_ready"}
    about = shell.object_inspect("layer")
    assert about["docstring"] == "Doc of layer." and "scale=2.0" in about["definition"]
    text = shell.object_inspect("stagec.view")["definition"]
    assert re.match(r"stagec\.view\(", text)


def test_an_array_is_shown_as_numpys(shell):
    array = run(shell, "snp.arange(3.0)")
    assert shell.display_formatter.format(array)[0] == {"text/plain": "Array([0., 1., 2.], dtype=float32)"}
