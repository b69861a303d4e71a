"""The command line: what it prints, what it writes, and how it fails."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest.mock

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
from stagec.cli import cli
from stagec.commands import demo as demo_command, doctor as doctor_command
from stagec.compiler.stages import STAGES

ROOT = pathlib.Path(__file__).resolve().parent.parent

MODEL = """\
import stagec
import stagec.numpy as snp


def affine(x, w):
    return snp.exp(x) * w["scale"] + w["shift"]


def power(x, n, y):
    return x * n + y


jitted = stagec.jit(power, static_argnames="n")
for_v3 = stagec.jit(lambda x: snp.exp(x) + 1, target="cpu:x86-64-v3")


def wrong(x):
    return x + missing  # noqa: F821


def shapes(x, y):
    return x + y


number = 3
"""


@pytest.fixture
def model(tmp_path):
    """`path:` of a module with functions."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return f"{path}:"


@pytest.fixture
def cache_dir(tmp_path):
    directory = tmp_path / "cache"
    with stagec.config.override(cache_dir=str(directory)):
        yield directory


def stagec_command(*arguments):
    """Run in this process. No directory of a user's file stays in the search path: other tests start processes."""
    with unittest.mock.patch.object(sys, "path", [*sys.path]):
        return CliRunner().invoke(cli, [*arguments], prog_name="stagec")


def run(*arguments, **environment):
    """Run `python -m stagec` in a process of its own."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("STAGEC_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [found.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "stagec", *arguments],
        capture_output=True,
        text=True,
        env={**found, "PYTHONPATH": path, **environment},
    )


def program():
    """A compiled program in the cache of the moment."""
    stagec.clear_caches()
    stagec.jit(lambda x: x * 2 + 1)(stagec.numpy.ones(3))


# stagec


def test_the_version_names_stagec_and_the_compiler():
    result = stagec_command("--version")
    assert result.exit_code == 0
    assert result.output.startswith(f"stagec {stagec.__version__} (iree-base-compiler 3.")


@pytest.mark.parametrize("command", [[], ["demo"], ["dump"], ["doctor"], ["cache"], ["cache", "list"]])
def test_every_command_has_help(command):
    result = stagec_command(*command, "--help")
    assert result.exit_code == 0
    assert "Usage: stagec" in result.output


def test_the_reference_page_names_every_command_and_option():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()

    def walk(command, words):
        for option in command.params:
            for name in (*option.opts, *option.secondary_opts):
                if name.startswith("--"):
                    yield name
        for name, inner in getattr(command, "commands", {}).items():
            yield " ".join([*words, name])
            yield from walk(inner, [*words, name])

    wanted = [*walk(cli, ["stagec"]), *(f"`{stage}`" for stage in ("graph", *STAGES))]
    assert [name for name in wanted if name not in page] == []


def test_an_unknown_command_is_a_usage_error():
    assert stagec_command("compile").exit_code == 2


def test_an_error_is_one_message_and_a_traceback_on_request(model):
    quiet = run("dump", f"{model}wrong", "f32[2]")
    assert quiet.returncode == 1
    assert quiet.stdout == ""
    assert quiet.stderr.startswith("Error: NameError: name 'missing' is not defined\n  model.py:18 in wrong:")
    assert "Traceback" not in quiet.stderr
    loud = run("--traceback", "dump", f"{model}wrong", "f32[2]")
    assert loud.returncode == 1
    assert "Traceback" in loud.stderr


def test_help_does_not_load_the_compiler_or_the_runtime():
    code = (
        "import sys, stagec.cli\n"
        "try: stagec.cli.cli(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('iree.compiler', 'iree.runtime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# stagec dump


def test_dump_shows_the_graph_of_a_plain_function(model):
    result = stagec_command("dump", f"{model}affine", "f32[2,3]", "{'scale': f32[3], 'shift': 2.0}", "--stage", "graph")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("{ lambda ; a:f32[2,3] b:f32[3] c:f32[]. let")
    assert "= exp a" in result.output


@pytest.mark.parametrize(
    ("stage", "held"), [("stablehlo", "stablehlo.exponential"), ("flow", "flow.dispatch"), ("asm", ".text")]
)
def test_dump_reaches_every_kind_of_stage(model, stage, held):
    result = stagec_command("dump", f"{model}affine", "f32[4]", "{'scale': f32[4], 'shift': f32[]}", "--stage", stage)
    assert result.exit_code == 0, result.output
    assert held in result.output


def test_dump_shows_lines_of_the_users_file_only_when_asked(model):
    arguments = ("dump", f"{model}shapes", "f32[4]", "f32[4]")
    assert "model.py" not in stagec_command(*arguments).output
    assert 'model.py":22' in stagec_command(*arguments, "--locations").output


def test_dump_writes_a_portable_artifact(model, tmp_path):
    path = tmp_path / "affine.mlirbc"
    arguments = ("dump", f"{model}shapes", "f32[4]", "f32[4]", "--stage", "portable")
    result = stagec_command(*arguments, "-o", str(path), "--stablehlo-version", "0.14.0")
    assert result.exit_code == 0, result.output
    assert b"StableHLO_v0.14.0" in path.read_bytes()
    x = np.ones(4, np.float32)
    assert stagec.from_stablehlo(path)(x, x).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--stage", "portable"), "name a file with -o"),
        (("--stage", "portable", "-o", "x.mlirbc", "--stablehlo-version", "new"), "is not a version"),
        (("--stablehlo-version", "1.0.0"), "does not go with --stage stablehlo"),
    ],
)
def test_dump_refuses_versions_of_what_is_no_artifact(model, options, what):
    result = stagec_command("dump", f"{model}shapes", "f32[4]", "f32[4]", *options)
    assert result.exit_code == 2 and what in result.output, result.output


def test_dump_takes_static_arguments_at_their_place(model):
    for name in ("power", "jitted"):
        result = stagec_command("dump", f"{model}{name}", "f32[2]", "f32[2]", "--static", "n=7", "--stage", "graph")
        assert result.exit_code == 0, result.output
        assert "mul a 7.0:f32[]" in result.output


def test_dump_takes_arguments_by_name(model):
    result = stagec_command("dump", f"{model}power", "n=i32[2]", "f32[2]", "y=f16[2]", "--stage", "graph")
    assert "{ lambda ; a:f32[2] b:i32[2] c:f16[2]. let" in result.output, result.output
    result = stagec_command("dump", f"{model}shapes", "f32[2]", "z=f32[2]")
    assert result.exit_code == 2 and "missing a required argument: 'y'" in result.output


def test_an_argument_is_given_once(model):
    for given in (["x=f32[2,10]", "x=f32[2]"], ["n=f32[2]", "--static", "n=7"], ["--static", "n=7", "--static", "n=8"]):
        result = stagec_command("dump", f"{model}power", "f32[2]", *given)
        assert result.exit_code == 2 and f"{given[-1][0]} is given twice" in result.output, result.output


def test_an_error_of_the_command_names_no_line(tmp_path):
    path = tmp_path / "empty.stagec"
    path.write_bytes(b"")
    result = run("run", str(path))
    assert result.returncode == 1 and "is not loaded" in result.stderr and ".py" not in result.stderr


def test_dump_keeps_the_target_of_a_jitted_function_and_can_change_it(model):
    arguments = ("dump", f"{model}for_v3", "f32[64]", "--stage", "executable-targets")
    assert 'cpu = "x86-64-v3"' in stagec_command(*arguments).output
    assert 'cpu = "x86-64-v2"' in stagec_command(*arguments, "--target", "cpu:x86-64-v2").output


def test_dump_compiles_for_devices_that_are_not_here(model):
    result = stagec_command("dump", f"{model}shapes", "f32[64]", "f32[64]", "--stage", "asm", "--target", "cuda:sm_80")
    assert ".target sm_80" in result.output


def test_dump_enables_64_bits_on_request(model):
    result = stagec_command("dump", f"{model}shapes", "f64[2]", "f64[2]", "--x64", "--stage", "graph")
    assert "a:f64[2]" in result.output
    assert not stagec.config.enable_x64


def test_dump_writes_to_a_file(model, tmp_path):
    result = stagec_command("dump", f"{model}shapes", "i32[]", "i32[]", "-o", str(tmp_path / "out.mlir"))
    assert result.exit_code == 0, result.output
    assert "stablehlo.add" in (tmp_path / "out.mlir").read_text()


def test_dump_finds_modules_in_the_current_directory(model, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "stagec", "dump", "model:shapes", "i32[]", "i32[]", "--stage", "graph"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "add a b" in done.stdout, done.stderr


def test_a_file_named_like_a_module_does_not_disturb_it(tmp_path):
    import random

    (tmp_path / "random.py").write_text("def f(x):\n    return x + 1\n")
    assert "add a 1" in stagec_command("dump", f"{tmp_path / 'random.py'}:f", "i32[]", "--stage", "graph").output
    assert random.Random(0).random() < 1
    assert sys.modules["random"] is random


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["shapes", "f32[2]"], 2, "missing a required argument: 'y'"),
        (["shapes", "f32[2]", "f32[3]"], 1, "model.py:22 in shapes:"),
        (["shapes", "f99[2]", "f32[2]"], 2, "'f99' names no dtype"),
        (["shapes", "f32[2", "f32[2]"], 2, "'f32[2' does not describe an argument"),
        (["shapes", "f32[-1]", "f32[2]"], 2, "'-1' in 'f32[-1]' is not the size of an axis"),
        (["shapes", "f64[2]", "f32[2]"], 2, "add --x64"),
        (["shapes", "open('x')", "f32[2]"], 2, "does not describe an argument"),
        (["shape", "f32[2]"], 2, "has no function 'shape'"),
        (["number"], 2, "is not a function: it is of type int"),
        (["power", "f32[2]", "f32[2]", "--static", "n"], 2, "--static 'n' is not name=value"),
        (["power", "f32[2]", "f32[2]", "--static", "n=two"], 2, "is not a Python literal"),
        (["jitted", "f32[2]", "f32[2]", "--static", "y=2"], 2, "was jitted with static arguments n"),
        (["shapes", "f32[2]", "f32[2]", "--target", "cpu:x87"], 2, "'x87' is not a known CPU architecture"),
        (["shapes", "f32[2]", "f32[2]", "--stage", "llir"], 2, "'llir' is not one of"),
        (["shapes", "f32[2]", "f32[2]", "--stage", "asm", "--locations"], 2, "--locations does not go with"),
        (["shapes", "f32[2]", "f32[2]", "-o", "/nonexistent/x.mlir"], 1, "there is no directory /nonexistent"),
    ],
)
def test_dump_says_what_is_wrong(model, arguments, code, message):
    result = stagec_command("dump", model + arguments[0], *arguments[1:])
    assert message in result.output
    assert result.exit_code == code


@pytest.mark.parametrize(
    ("place", "code", "message"),
    [
        ("no_such_module:f", 1, "there is no module 'no_such_module'"),
        ("nowhere/model.py:f", 2, "there is no file"),
        ("affine", 2, "is not module:function"),
    ],
)
def test_dump_says_where_it_looked(place, code, message):
    result = stagec_command("dump", place, "f32[2]")
    assert message in result.output
    assert result.exit_code == code


def test_what_the_module_prints_goes_to_standard_error(tmp_path, monkeypatch):
    monkeypatch.setenv("STAGEC_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "chatty.py"
    file.write_text("print('importing')\ndef f(x):\n    print('tracing')\n    return x + 1\n")
    for arguments, begin in [
        (["dump", f"{file}:f", "f32[2]", "--stage", "graph"], "{ lambda"),
        (["compile", f"{file}:f", "f32[2]", "-o", str(tmp_path / "f.stagec")], "wrote"),
        (["warm", f"{file}:f", "f32[2]", "--json"], "{"),
    ]:
        result = stagec_command(*arguments)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(begin)
        assert "importing" not in result.stdout and "tracing" not in result.stdout
        assert result.stderr.startswith("importing\ntracing\n")


# stagec cache


def test_cache_lists_what_is_on_disk(cache_dir):
    assert "no programs in" in stagec_command("cache", "list").output
    program()
    shown = stagec_command("cache", "list").output
    assert "f32[3]" in shown
    assert "<lambda>" in shown
    (entry,) = json.loads(stagec_command("cache", "list", "--json").output)
    assert entry["name"] == "<lambda>"
    assert entry["inputs"] == "f32[3]"
    assert entry["contributors"]["fast_math"] == "False"
    assert os.path.getsize(entry["path"]) == entry["bytes"]


def test_cache_info_counts_and_clear_removes(cache_dir):
    program()
    before = json.loads(stagec_command("cache", "info", "--json").output)
    assert (before["directory"], before["entries"], before["refusal"]) == (str(cache_dir), 1, "")
    assert "programs   1\nkernels    1\n" in stagec_command("cache", "info").output
    assert "removed 1 programs" in stagec_command("cache", "clear").output
    assert json.loads(stagec_command("cache", "info", "--json").output)["entries"] == 0


def test_cache_list_says_how_many_it_leaves_out(cache_dir):
    program()
    stagec.jit(lambda x: x - 7)(stagec.numpy.ones(3))
    assert "and 1 more (--limit)" in stagec_command("cache", "list", "--limit", "1").output


def test_cache_path_is_where_programs_go(cache_dir):
    program()
    directory = stagec_command("cache", "path").output.strip()
    assert len([name for name in os.listdir(directory) if name.endswith(".stagec")]) == 1


@pytest.mark.parametrize("command", ["list", "info", "clear", "path"])
def test_a_bad_option_in_the_environment_is_one_message(command):
    done = run("cache", command, STAGEC_CACHE_MAX_BYTES="abc")
    assert done.returncode == 1
    assert "STAGEC_CACHE_MAX_BYTES=abc: 'abc' is not a whole number" in done.stderr
    assert "Fix: correct or unset STAGEC_CACHE_MAX_BYTES" in done.stderr and "Traceback" not in done.stderr


def test_cache_info_says_that_a_directory_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    for directory, reason in ((str(tmp_path / "file" / "below"), "irectory"), ("/proc/stagec", "cannot be written to")):
        if directory.startswith("/proc") and not os.path.isdir("/proc/self"):
            continue
        with stagec.config.override(cache_dir=directory):
            result = stagec_command("cache", "info")
        line = next(text for text in result.output.splitlines() if text.startswith("used"))
        assert line.split()[1] == "no:" and reason in line
    with stagec.config.override(cache_dir=str(tmp_path / "new" / "deep")):
        assert "used       yes" in stagec_command("cache", "info").output
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("command", ["list", "info", "clear", "path"])
def test_cache_commands_say_that_the_cache_is_off(command):
    with stagec.config.override(enable_cache=False):
        result = stagec_command("cache", command)
    assert result.exit_code == 1
    assert "the disk cache is off" in result.output


@pytest.fixture
def layered(tmp_path):
    """A layer with one program in front of an empty cache: the two directories."""
    with stagec.config.override(cache_dir=str(tmp_path / "layer")):
        program()
    with stagec.config.override(cache_dir=str(tmp_path / "own"), cache_layers=str(tmp_path / "layer")):
        yield tmp_path / "layer", tmp_path / "own"


def test_cache_commands_show_layers(layered):
    layer, own = layered
    assert f"layer      {layer}: 1 programs, " in stagec_command("cache", "info").output
    (row,) = json.loads(stagec_command("cache", "info", "--json").output)["layers"]
    assert (row["directory"], row["entries"], row["refusal"]) == (str(layer), 1, "")
    assert "layer" in stagec_command("cache", "list").output.splitlines()[0]
    (entry,) = json.loads(stagec_command("cache", "list", "--json").output)
    assert entry["layer"] == str(layer)
    assert stagec_command("cache", "path").output == f"{own}\n"
    assert stagec_command("cache", "path", "--layers").output == f"{layer}\n{own}\n"
    assert json.loads(stagec_command("cache", "path", "--json").output)["layers"] == [str(layer)]


def test_cache_clear_leaves_layers_alone(layered):
    assert "removed 0 programs" in stagec_command("cache", "clear").output
    assert len(list(layered[0].glob("*.stagec"))) == 1


def test_a_layer_that_is_not_used_is_shown_with_the_reason(tmp_path):
    with stagec.config.override(cache_dir=str(tmp_path / "own"), cache_layers=str(tmp_path / "none")):
        assert f"{tmp_path / 'none'}: not used: there is no such directory" in stagec_command("cache", "info").output
        (row,) = doctor_command._cache()["layers"]
    assert row["refusal"] == "there is no such directory"


def test_cache_info_and_explain_name_the_remote_cache(tmp_path):
    with stagec.config.override(cache_dir=str(tmp_path), cache_remote="memory://me:password@host/a"):
        assert "remote     memory://host/a, read only\n" in stagec_command("cache", "info").output
        assert json.loads(stagec_command("cache", "info", "--json").output)["remote"] == "memory://host/a"
        assert doctor_command._cache()["remote"] == "memory://host/a"
        explained = str(stagec.explain(stagec.jit(lambda x: x * 3.75), np.ones(2, np.float32)))
    assert "a call looks into the remote cache too: memory://host/a" in explained


# stagec doctor


def test_doctor_finds_this_machine_in_order(cache_dir):
    result = stagec_command("doctor", "--json")
    report = json.loads(result.output)
    assert result.exit_code == 0, report["checks"]
    assert report["checks"]["compile and run"]["ok"]
    assert "local-sync" in [row["driver"] for row in report["drivers"]]
    assert report["cache"]["directory"] == str(cache_dir)
    assert not cache_dir.exists()  # the check leaves nothing behind
    assert "stagec is ready" in stagec_command("doctor").output


def test_doctor_fails_when_a_check_fails(monkeypatch):
    def broken():
        raise OSError("no [linker] here")

    monkeypatch.setattr(doctor_command, "_compile_and_run", broken)
    result = stagec_command("doctor")
    assert result.exit_code == 1
    assert "no [linker] here" in re.sub(r"\s+", " ", result.output)


# stagec demo


def test_the_second_demo_comes_from_disk(tmp_path):
    first = run("demo", "--size", "5000", STAGEC_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert "cache miss" in first.stdout
    second = run("demo", "--size", "5000", "--json", STAGEC_CACHE_DIR=str(tmp_path))
    found = json.loads(second.stdout)
    assert found["source"] == "disk"
    assert found["ready_seconds"] < found["compile_seconds"]
    assert found["max_error"] < 1e-5
    assert os.path.exists(found["entry"])


def test_the_demo_times_results_that_are_there(monkeypatch, cache_dir):
    ready = []

    def timed(call):
        result = call()
        ready.append(result.is_ready() if isinstance(result, stagec.Array) else True)
        return 1.0

    monkeypatch.setattr(demo_command, "_seconds_per_call", timed)
    found = demo_command.measure(1_000_000)
    assert found["queue"] == "local-task"  # its calls return before they are done
    assert ready == [True, True]


def test_the_demo_says_that_it_came_from_disk_and_works_without_a_cache(cache_dir):
    stagec.clear_caches()
    stagec_command("demo", "--size", "5000")
    stagec.clear_caches()
    assert "the program came from disk" in re.sub(r"\s+", " ", stagec_command("demo", "--size", "5000").output)
    stagec.clear_caches()
    with stagec.config.override(enable_cache=False):
        assert "not kept" in stagec_command("demo", "--size", "5000").output


MODULE = """\
func.func @main(%x: tensor<2x3xf64>, %i: tensor<i64>) -> tensor<1x3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3]
    : (tensor<2x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
  return %0 : tensor<1x3xf64>
}
"""


def test_stablehlo_modules_are_run_compiled_and_dumped(tmp_path, cache_dir):
    module, array, artifact = (str(tmp_path / name) for name in ("m.mlir", "x.npy", "m.stagec"))
    (tmp_path / "m.mlir").write_text(MODULE)
    np.save(array, np.arange(6.0).reshape(2, 3))
    ran = CliRunner().invoke(cli, ["run", module, array, "7"])
    assert ran.output.startswith("result  float64[1,3]\n  [[3., 4., 5.]]"), ran.output
    compiled = CliRunner().invoke(cli, ["compile", module, "-o", artifact, "--target", "cpu:x86-64-v2"])
    assert compiled.exit_code == 0, compiled.output
    assert CliRunner().invoke(cli, ["run", artifact, array, "0"]).output.endswith("[[0., 1., 2.]]\n")
    assert "stablehlo.dynamic_slice" in CliRunner().invoke(cli, ["dump", module, "--stage", "stablehlo"]).output


def test_numbers_are_inputs_whatever_their_sign(tmp_path):
    module = tmp_path / "m.mlir"
    module.write_text(
        "func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n"
        "  %z = stablehlo.subtract %x, %y : tensor<f32>\n  return %z : tensor<f32>\n}\n"
    )

    def output(*inputs):
        return CliRunner().invoke(cli, ["run", str(module), *inputs]).output

    assert output("3", "-5").endswith(" 8.\n")
    assert output("-inf", "1").endswith(" -inf\n")
    assert "given      c128[]" in output("1+2j", "0")
    assert "'--devise' is neither" in output("3", "--devise")


def test_a_module_with_open_dimensions_is_run_and_compiled(tmp_path, cache_dir):
    module, array, artifact = (str(tmp_path / name) for name in ("m.mlir", "x.npy", "m.stagec"))
    (tmp_path / "m.mlir").write_text(
        "func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {\n"
        "  %z = stablehlo.add %x, %x : tensor<?x2xf32>\n  return %z : tensor<?x2xf32>\n}\n"
    )
    np.save(array, np.ones((3, 2)))  # float64, as NumPy's arrays are
    invoke = CliRunner().invoke
    assert invoke(cli, ["run", module, array]).output.count("[2., 2.]") == 3
    assert "describe the arguments yourself" in invoke(cli, ["compile", module, "-o", artifact]).output
    assert invoke(cli, ["compile", module, "f32[b,2]", "-o", artifact]).exit_code == 0
    assert invoke(cli, ["run", artifact, array]).output.count("[2., 2.]") == 3
    assert "describe each of them" in invoke(cli, ["compile", module, "f32[3]", "f32[3]", "-o", artifact]).output


def test_an_empty_module_is_named(tmp_path):
    (tmp_path / "m.mlir").write_text("")
    for command in (["compile", "-o", str(tmp_path / "m.stagec")], ["run"]):
        found = CliRunner().invoke(cli, [command[0], str(tmp_path / "m.mlir"), *command[1:]])
        assert "m.mlir has no function 'main'" in found.output


def test_a_stablehlo_module_describes_its_arguments_itself(tmp_path):
    module = tmp_path / "m.mlir"
    module.write_text(MODULE)
    refused = CliRunner().invoke(cli, ["dump", str(module), "f32[3]"])
    assert refused.exit_code == 2
    assert "leave the arguments out" in refused.output
    few = CliRunner().invoke(cli, ["run", str(module)])
    assert "takes 2 arrays, not 0" in few.output
