"""`stagec warm`: what it puts into a directory is what another process, user or machine finds there."""

import json
import os
import pathlib
import stat
import subprocess
import sys

import pytest
from click.testing import CliRunner

import stagec
from stagec.backends import cpu as targets
from stagec.cli import cli
from stagec.commands.warm import read_list

ROOT = pathlib.Path(__file__).resolve().parent.parent

SERVICE = """\
import stagec
import stagec.numpy as snp


def predict(x, layer):
    return snp.tanh(x @ layer["w"] + layer["b"])


power = stagec.jit(lambda x, n: x**n + 1, static_argnames="n")
for_v2 = stagec.jit(lambda x: x * 5 + 1, target="cpu:x86-64-v2")


def identity(x):
    return x


def wrong(x):
    return x + missing  # noqa: F821
"""

# Runs `predict` where no compile can be hidden: the compiler's import would show.
CLIENT = """
import json, sys, warnings
warnings.simplefilter("error")
import numpy as np
import stagec, service
from stagec.backends import cpu as targets
if len(sys.argv) > 1:  # another machine than the one that compiled
    targets.cpu_model = lambda: sys.argv[1]
layer = {"w": np.ones((4, 2), np.float32), "b": np.zeros(2, np.float32)}
out = stagec.jit(service.predict)(np.ones((3, 4), np.float32), layer)
assert np.allclose(out, np.tanh(4.0)), out
print(json.dumps("iree.compiler" in sys.modules))
"""
PREDICT = ["f32[3,4]", "{'w': f32[4,2], 'b': f32[2]}"]


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A directory with `service.py`, which is the current one."""
    (tmp_path / "service.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "service", raising=False)
    yield tmp_path
    sys.modules.pop("service", None)


def warm(*arguments):
    return CliRunner().invoke(cli, ["warm", *arguments], prog_name="stagec")


def programs(*arguments):
    result = warm(*arguments, "--json")
    return json.loads(result.stdout)["programs"]


def client(directory, *arguments, **environment):
    """Whether a process of its own imported the compiler; the directory is its only cache, and a layer."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("STAGEC_")}
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(directory.parent), *filter(None, [found.get("PYTHONPATH")])])
    found |= {"STAGEC_CACHE_LAYERS": str(directory), "STAGEC_CACHE_DIR": str(directory.parent / "own")}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, *arguments], capture_output=True, text=True, env={**found, **environment}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_process_runs_from_the_directory_without_the_compiler(service):
    directory = service / "programs"
    result = warm("service:predict", *PREDICT, "--cache-dir", str(directory))
    assert result.exit_code == 0, result.output
    assert result.output.startswith(
        "compiled            service:predict f32[3,4] {'w': f32[4,2], 'b': f32[2]}  for cpu  "
    )
    assert result.output.splitlines()[-1] == f"1 compiled, 0 already there, 0 failed, in {directory}"
    for path in directory.iterdir():
        assert path.suffix != ".kernel"  # for which nobody asks a layer
        path.chmod(0o444)
    directory.chmod(0o555)
    try:
        assert client(directory) is False
    finally:
        directory.chmod(0o755)
    assert not (service / "own").exists()


def test_a_program_for_a_cpu_level_is_found_on_other_processors_and_one_for_this_cpu_is_not(service):
    level = targets.cpu_levels()[-1] if targets.cpu_levels() else "generic"
    directory = service / "programs"
    arguments = ["service:predict", *PREDICT, "--target", f"cpu:{level}", "--target", "cpu"]
    rows = programs(*arguments, "--cache-dir", str(directory))
    assert [(row["status"], row["target"]) for row in rows] == [("compiled", f"cpu:{level}"), ("compiled", "cpu")]
    assert client(directory, "another model", STAGEC_TARGET=f"cpu:{level}") is False
    assert client(directory, "another model") is True
    assert client(directory) is False


def test_a_list_is_compiled_to_its_end_and_failures_are_told(service):
    (service / "programs.txt").write_text(
        "# what the service calls\n"
        "\n"
        "service:predict f32[1,4] \"{'w': f32[4,2], 'b': f32[2]}\" --target cpu:x86-64-v2\n"
        "service:wrong f32[3]\n"
        "service:power f32[3] --static n=3  # a comment\n"
        "service:power f32[3]\n"
        "service:identity f32[3]\n"
        "service:nothing f32[3]\n"
        "service:for_v2 f32[3]\n"
    )
    arguments = ["--from", "programs.txt", "--cache-dir", "programs"]
    result = warm(*arguments)
    assert result.exit_code == 1
    assert [line[:18].strip() for line in result.stdout.splitlines()[:-1]] == [
        *["compiled", "failed", "compiled", "failed", "nothing to compile", "failed", "compiled"]
    ]
    assert result.stdout.splitlines()[-1] == (
        f"3 compiled, 0 already there, 1 nothing to compile, 3 failed, in {service / 'programs'}"
    )
    assert "programs.txt:4: NameError: name 'missing' is not defined" in result.stderr
    assert "service.py:18 in wrong:  return x + missing" in result.stderr
    assert "programs.txt:6: service:power(x, n): missing a required argument: 'n'" in result.stderr
    assert "programs.txt:8: service has no function 'nothing'" in result.stderr
    again = programs(*arguments)
    assert [row["status"] for row in again if row["key"]] == ["already there"] * 3
    assert [row["target"] for row in again if row["key"]] == ["cpu:x86-64-v2", "cpu", "cpu:x86-64-v2"]
    assert len(list((service / "programs").glob("*.stagec"))) == 3


def test_options_stand_for_the_environment_of_the_process_that_runs(service):
    plain, x64, fast = (
        programs("service:power", "f32[3]", "--static", "n=2", *more, "--cache-dir", "programs")[0]
        for more in ([], ["--x64"], ["--fast-math"])
    )
    directory = str(service / "programs")
    import service as module

    for row, options in ((plain, {}), (fast, {"fast_math": True}), (x64, {"enable_x64": True})):
        with stagec.config.override(cache_dir=directory, **options):
            assert stagec.explain(module.power, stagec.numpy.ones(3, "float32"), n=2).key == row["key"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_every_user_may_read_what_lies_in_a_named_directory_and_nobody_else_the_users_own_cache(service):
    warm("service:for_v2", "f32[3]", "--cache-dir", "programs")
    (entry,) = (service / "programs").glob("*.stagec")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o644
    assert stat.S_IMODE((service / "programs").stat().st_mode) == 0o755
    with stagec.config.override(cache_dir=str(service / "own")):
        warm("service:for_v2", "f32[3]")
    (entry,) = (service / "own").glob("*.stagec")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_neither_layers_nor_the_bound_keep_a_program_out_of_the_directory(service):
    warm("service:for_v2", "f32[3]", "--cache-dir", "first")
    with stagec.config.override(cache_layers=str(service / "first"), cache_max_bytes=1, enable_cache=False):
        (row,) = programs("service:for_v2", "f32[3]", "--cache-dir", "second")
    assert row["status"] == "compiled"
    assert len(list((service / "second").glob("*.stagec"))) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "there is nothing to compile"),
        (["--from", "programs.txt"], "programs.txt:2: no such option"),
        (["--from", "quotes.txt"], "quotes.txt:1: no closing quotation"),
        (["service:power", "f32[3]", "--target", "cpu:x86-64-v9"], "'x86-64-v9' is not a known CPU architecture"),
        (["--from", "programs.txt", "--static", "n=2"], "--static goes with a function"),
    ],
)
def test_a_command_line_or_list_that_makes_no_sense_compiles_nothing(service, arguments, text):
    (service / "programs.txt").write_text("service:for_v2 f32[3]\nservice:power f32[3] --nonsense\n")
    (service / "quotes.txt").write_text("service:power \"{'n': 3}\n")
    result = warm(*arguments, "--cache-dir", "programs")
    assert result.exit_code == 2
    assert text.lower() in result.output.lower()
    assert not (service / "programs").exists()


def test_a_directory_that_cannot_take_programs_is_an_error_before_any_compile(service):
    (service / "file").write_text("")
    result = warm("service:for_v2", "f32[3]", "--cache-dir", "file/programs")
    assert result.exit_code == 1
    assert "programs cannot be written to" in result.output


def test_a_list_is_read_as_command_lines(tmp_path):
    path = tmp_path / "list"
    path.write_text("a:b f32[2] 3 --target cpu --static n=1 --x64\n\n#c\nd:e # f\n")
    first, second = read_list(str(path))
    assert first == ("a:b", ("f32[2]", "3"), ("n=1",), ("cpu",), True, False, "list:1")
    assert second == ("d:e", (), (), (), False, False, "list:4")
