"""`--help`: the commands by what they are for, and an example of each that runs; and output without a terminal."""

import os
import shlex
import subprocess
import sys
import unittest.mock

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
from stagec.cli import _COMMANDS, _SECTIONS, cli

MODEL = """
import stagec.numpy as snp


def loss(x, params):
    return (x @ params["w"]).sum()


def predict(x):
    return x.reshape(-1, 784).argmax(axis=1)
"""


def commands():
    for name in _COMMANDS:
        command = cli.get_command(None, name)
        yield pytest.param(command, id=name)
        for inner, found in getattr(command, "commands", {}).items():
            yield pytest.param(found, id=f"{name} {inner}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("train", "serve"):
        (tmp_path / f"{name}.py").write_text(MODEL)
        monkeypatch.delitem(sys.modules, name, raising=False)
    np.save("images.npy", np.zeros((64, 784), np.float32))
    stagec.export(lambda x: x.argmax(axis=1), targets=["cpu:x86-64-v3"])("f32[64,784]").save("model.stagec")
    with (
        stagec.config.override(cache_dir=str(tmp_path / "cache")),
        unittest.mock.patch.object(sys, "path", [*sys.path]),
    ):
        yield tmp_path
    for name in ("train", "serve"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("command", [*commands()])
def test_the_example_of_a_command_runs(command, folder):
    assert command.epilog.startswith("Example: stagec ")
    words = shlex.split(command.epilog.removeprefix("Example: stagec "))
    if "/opt/programs" in words:
        words[words.index("/opt/programs")] = str(folder / "programs")
    done = CliRunner().invoke(cli, words, prog_name="stagec")
    assert done.exit_code == 0, done.output
    written = [words[i + 1] for i, word in enumerate(words) if word == "-o"]
    assert all(os.path.getsize(path) > 0 for path in written)


def test_the_commands_are_grouped_and_none_is_cut_off():
    text = CliRunner().invoke(cli, ["--help"], prog_name="stagec").output
    places = [text.index(f"\n{title}:\n") for title in _SECTIONS]
    assert places == sorted(places)
    for title, names in _SECTIONS.items():
        part = text[text.index(f"\n{title}:\n") + 1 :].split("\n\n")[0]
        rows = [line.split(maxsplit=1) for line in part.splitlines()[1:]]
        assert [name for name, _ in rows] == list(names)
        assert all(help.endswith(".") and "..." not in help for _, help in rows)
    # One line, and not one paragraph that click has wrapped.
    for param in commands():
        (command,) = param.values
        example = command.epilog
        page = CliRunner().invoke(cli, [*param.id.split(), "--help"], prog_name="stagec").output
        assert " ".join(example.split()) in " ".join(page.split())


@pytest.mark.parametrize("width", ["30", "80", "200"])
def test_output_for_no_terminal_has_no_escapes_and_loses_nothing(width, tmp_path):
    environment = {**os.environ, "COLUMNS": width, "NO_COLOR": "1", "STAGEC_CACHE_DIR": str(tmp_path), "TERM": "dumb"}
    command = [sys.executable, "-m", "stagec", "demo", "--size", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "\x1b" not in done.stdout + done.stderr
    words = "".join(done.stdout.split()).replace("│", "")
    assert "returnlmbda*snp.where(x>0,x,alpha*snp.exp(x)-alpha)" in words
    assert "thesamefunction,operationbyoperation" in words and "stagecdumpstagec.commands.demo:selu" in words
