"""Reading the compiler's messages, and the error made from them."""

import pathlib

import pytest

import stagec
from stagec.compiler import diagnostics as diag
from stagec.compiler.diagnostics import Attempt, Diagnostic, compile_error, parse, save_module, warnings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/user.py:12:5: failed: x", Diagnostic("error", "failed: x", "a/user.py", 12)),
        ("C:\\u\\user.py:12:5: failed", Diagnostic("error", "failed", "C:\\u\\user.py", 12)),
        ("source.mlir:1:9: failed", Diagnostic("error", "failed")),
        ("user.py:0:0: failed", Diagnostic("error", "failed")),
        ("no place at all", Diagnostic("error", "no place at all")),
        ("", Diagnostic("error", "")),
    ],
)
def test_a_message_is_split_into_place_and_text(text, expected):
    assert parse(2, text) == expected


def test_severities_have_names_and_unknown_ones_are_errors():
    assert [parse(number, "x").severity for number in (0, 1, 2, 3, 9)] == [
        "note",
        "warning",
        "error",
        "remark",
        "error",
    ]


def test_the_headline_leaves_out_the_dumped_operation():
    assert parse(2, "u.py:1:1: failed\n\nu.py:1:1: see current operation:").headline == "failed"


def test_the_error_shows_the_users_line_the_attempts_the_module_and_the_fix(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import x\ny = fft(z)\n")
    error = Diagnostic("error", "failed to legalize operation 'stablehlo.fft'", str(script), 2)
    attempts = [Attempt("packed", 0.1, False, (error,)), Attempt("plain", 0.25, False, (error,))]
    lines = str(compile_error(b"module {}", "step", "cpu", attempts)).split("\n")
    assert lines[0] == "step was not compiled: failed to legalize operation 'stablehlo.fft'"
    assert lines[1] == f"  {script}:2:  y = fft(z)"
    assert [line.split()[:2] for line in lines[3:5]] == [["flags", "'packed'"], ["flags", "'plain'"]]
    module, path = lines[5].split()
    assert (module, pathlib.Path(path).read_text()) == ("module", "module {}")
    assert lines[6].startswith("  Fix: ") and "cpu" in lines[6]


def test_a_failure_without_any_message_still_makes_an_error():
    text = str(compile_error(b"", "f", "cpu", [Attempt("plain", 0.1, False)]))
    assert "gave no reason" in text and "Fix: " in text


def test_a_library_line_does_not_hide_the_users(tmp_path):
    found = [Diagnostic("error", "first", "header.mlir", 3), Diagnostic("error", "second", "user.py", 8)]
    assert "user.py:8" in str(compile_error(b"", "f", "cpu", [Attempt("plain", 0.1, False, tuple(found))]))


def test_warnings_are_kept_once():
    warning = Diagnostic("warning", "slow")
    assert warnings([warning, Diagnostic("error", "x"), warning]) == (warning,)


def test_a_module_that_cannot_be_saved_says_why(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with stagec.config.override(enable_cache=False):
        assert save_module(b"module {}", "a/../b").startswith("not saved (")


def test_a_saved_module_has_a_harmless_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with stagec.config.override(enable_cache=False):
        path = save_module(b"module {}", "../../a b")
    assert path.startswith(str(tmp_path / "stagec-")) and path.endswith(".mlir")


def test_linker_messages_become_diagnostics_only_on_failure(tmp_path):
    file = tmp_path / "log"
    file.write_text("iree-lld: warning: x\n")
    assert diag.LinkerLog(str(file)).diagnostics() == []
    file.write_text(
        "iree-lld: error: undefined symbol: sin\n>>> x\niree-lld: error: undefined symbol: sin\nlinking failed\n"
    )
    assert [d.message for d in diag.LinkerLog(str(file)).diagnostics()] == ["the linker failed: undefined symbol: sin"]
