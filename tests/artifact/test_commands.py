"""`stagec compile`, `run` and `inspect`."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
from stagec.cli import cli

MODEL = """\
import numpy as np
import stagec
import stagec.numpy as snp

W = np.linspace(0, 1, 160, dtype=np.float32).reshape(4, 40)


def predict(x, b):
    return snp.tanh(x @ W) + b


def both(t):
    return {"sum": t["a"] + t["b"], "parts": [t["a"], t["b"] * 2]}


@stagec.jit(static_argnames="n")
def power(x, n):
    return x**n


def wide(x):
    return x * 2


def scaled(x, *, scale=2.0):
    return x * scale
"""

X = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)
B = np.arange(40, dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shipped.py").write_text(MODEL)
    np.save("x.npy", X)
    np.save("b.npy", B)
    return tmp_path


def command(*arguments, code=0):
    done = CliRunner().invoke(cli, [*arguments], prog_name="stagec")
    assert done.exit_code == code, done.output
    return done.output


def compiled(*arguments):
    return command("compile", *arguments, "-o", "model.stagec")


def test_a_function_goes_from_the_shell_to_a_file_and_runs(folder):
    said = compiled("shipped.py:predict", "f32[2,4]", "f32[40]", "--target", "cpu:x86-64", "--target", "cpu")
    assert said.startswith("wrote model.stagec: predict for cpu:x86-64, cpu:")
    command("run", "model.stagec", "x.npy", "b.npy", "-o", "y.npy")
    w = np.linspace(0, 1, 160, dtype=np.float32).reshape(4, 40)
    np.testing.assert_allclose(np.load("y.npy"), np.tanh(X @ w) + B, rtol=1e-5)


def test_a_keyword_only_argument_is_given_by_name(folder):
    compiled("shipped.py:scaled", "f32[2,4]", "scale=f32[]")
    assert "[0.   " in command("run", "model.stagec", "x.npy", "scale=3")
    said = command("run", "model.stagec", "x.npy", "3", code=1)
    assert said.startswith("Error: scaled: takes 1 array without names, and 2 were given")
    assert "Fix: pass scale by name" in said


def test_inputs_are_given_by_order_by_name_or_in_one_file(folder):
    compiled("shipped.py:predict", "f32[2,4]", "f32[40]")
    np.savez("all.npz", b=B, x=X)
    for inputs in (["x.npy", "b.npy"], ["b=b.npy", "x.npy"], ["all.npz"]):
        command("run", "model.stagec", *inputs, "-o", "y.npz")
        with np.load("y.npz") as found:
            assert found["result"].shape == (2, 40)


def test_containers_are_taken_apart_and_named(folder):
    compiled("shipped.py:both", "{'a': f32[2,4], 'b': 2.0}")
    command("run", "model.stagec", "x.npy", "3", "-o", "y.npz")
    with np.load("y.npz") as found:
        assert sorted(found) == ["result['parts'][0]", "result['parts'][1]", "result['sum']"]
        np.testing.assert_array_equal(found["result['sum']"], X + 3)
    said = command("run", "model.stagec", "t['b']=3", "x.npy")
    assert "result['parts'][1]  float32[]\n  6." in said
    assert "write one to .npy" in command("run", "model.stagec", "x.npy", "3", "-o", "y.npy", code=2)


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (["x.npy"], r"predict: missing argument 'b'\n"),
        (["x.npy", "b.npy", "3"], "predict: takes 2 arrays without names, and 3 were given"),
        (["b.npy", "x.npy"], r"predict was compiled for x of float32\[2,4\], called with float32\[40\]"),
        (["y=x.npy", "b.npy"], "predict: unexpected argument 'y'"),
        (["x=x.npy", "x=x.npy"], "predict: multiple values for argument 'x'"),
        (["x.npy", "nothing.npy"], "there is no file 'nothing.npy'"),
        (["x.npy", "__import__('os')"], "is neither a .npy or .npz file nor a number"),
        (["x.npy", "broken.npy"], "broken.npy is not a .npy file"),
    ],
)
def test_wrong_inputs_are_explained(folder, inputs, problem):
    (folder / "broken.npy").write_bytes(b"no array")
    compiled("shipped.py:predict", "f32[2,4]", "f32[40]")
    done = CliRunner().invoke(cli, ["run", "model.stagec", *inputs])
    assert done.exit_code in (1, 2)
    assert "Traceback" not in done.output
    assert re.search(problem, done.output), done.output


def test_arrays_of_64_bits_are_converted_as_in_a_call(folder):
    compiled("shipped.py:predict", "f32[2,4]", "f32[40]")
    np.save("wide.npy", X.astype(np.float64))
    command("run", "model.stagec", "wide.npy", "b.npy", "-o", "y.npy")
    assert np.load("y.npy").dtype == np.float32


def test_pickled_arrays_are_not_read(folder):
    np.save("object.npy", np.array([{}], dtype=object), allow_pickle=True)
    compiled("shipped.py:wide", "f32[1]")
    assert "object.npy is not a .npy file" in command("run", "model.stagec", "object.npy", code=2)


def test_static_arguments_names_x64_and_bfloat16(folder):
    compiled("shipped.py:power", "f64[2,4]", "--static", "n=3", "--x64", "--name", "cube")
    np.save("x64.npy", X.astype(np.float64))
    command("run", "model.stagec", "x64.npy", "-o", "y.npy")
    np.testing.assert_allclose(np.load("y.npy"), X.astype(np.float64) ** 3, rtol=1e-12)
    said = command("inspect", "model.stagec")
    assert "cube(x, *, n=3)" in said and "  n  fixed" in said
    compiled("shipped.py:wide", "bf16[2]")
    np.save("half.npy", np.asarray(stagec.numpy.ones(2, "bfloat16")))
    assert "bfloat16[2]" in command("run", "model.stagec", "half.npy")


def test_weights_may_stay_outside(folder):
    compiled("shipped.py:predict", "f32[2,4]", "f32[40]", "--no-weights")
    assert "weight 0  float32[4,40]  not in the file" in command("inspect", "model.stagec")
    assert "without its weights" in command("run", "model.stagec", "x.npy", "b.npy", code=1)
    np.save("w.npy", np.zeros((4, 40), np.float32))
    command("run", "model.stagec", "x.npy", "b.npy", "--weights", "w.npy", "-o", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), np.broadcast_to(B, (2, 40)))


def test_inspect_shows_what_there_is(folder):
    compiled("shipped.py:predict", "f32[2,4]", "f32[40]", "--target", "cpu:x86-64", "--target", "cuda:sm_80")
    said = command("inspect", "model.stagec", "--check")
    for part in (
        "all checksums are right",
        f"digest   {stagec.load('model.stagec').digest}",
        "iree-base-compiler",
        "predict(x, b)",
        "x  float32[2,4]",
        "returns  float32[2,40]",
        "cpu:x86-64",
        "for cuda devices",
        "weight 0  float32[4,40]  640 B",
    ):
        assert part in said
    assert "stablehlo.tanh" in command("inspect", "model.stagec", "--stablehlo")
    manifest = json.loads(command("inspect", "model.stagec", "--json"))
    assert manifest["functions"]["predict"][0]["names"] == ["x", "b"]


def test_inspect_finds_damage_in_what_this_machine_does_not_run(folder):
    compiled("shipped.py:wide", "f32[2]", "--target", "cpu:x86-64", "--target", "cuda:sm_80")
    data = bytearray((folder / "model.stagec").read_bytes())
    data[-1] ^= 1
    (folder / "model.stagec").write_bytes(data)
    command("inspect", "model.stagec")
    assert "does not match its checksum" in command("inspect", "model.stagec", "--check", code=1)


def test_one_of_several_functions_is_chosen(folder):
    x = np.ones(2, np.float32)
    two, three = stagec.export(lambda x: x * 2)(x), stagec.export(lambda x: x * 3)(x)
    stagec.save("model.stagec", {"two": two, "three": three})
    np.save("x.npy", x)
    assert "--function two or --function three" in command("run", "model.stagec", "x.npy", code=2)
    assert "use one of two, three" in command("run", "model.stagec", "x.npy", "--function", "four", code=2)
    assert "[3., 3.]" in command("run", "model.stagec", "x.npy", "--function", "three")
    assert "two" not in command("inspect", "model.stagec", "--function", "three")


def test_mistakes_on_the_command_line_are_explained(folder):
    assert "'x86-64-v9' is not a known CPU" in command(
        "compile", "shipped.py:wide", "f32[2]", "-o", "m", "--target", "cpu:x86-64-v9", code=2
    )
    assert "Missing option '-o'" in command("compile", "shipped.py:wide", "f32[2]", code=2)
    compiled("shipped.py:wide", "f32[2]", "--target", "cpu:x86-64")
    assert "use one of cpu:x86-64" in command("inspect", "model.stagec", "--extract", "cpu", "-o", "m", code=2)
    assert "add -o module.vmfb" in command("inspect", "model.stagec", "--extract", "cpu:x86-64", code=2)
    assert "is not an artifact" in command("inspect", "shipped.py", code=1)
    assert "is not an artifact" in command("run", "shipped.py", "x.npy", code=1)


@pytest.mark.parametrize(
    ("output", "message"),
    [("nowhere/x.stagec", "there is no directory nowhere"), ("shipped.py/x.stagec", "shipped.py is not a directory")],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_compiled(folder, monkeypatch, output, message):
    monkeypatch.setattr(stagec, "export", lambda *_, **__: pytest.fail("it was exported"))
    said = command("compile", "shipped.py:wide", "f32[2]", "-o", output, code=1)
    assert f"{output} cannot be written: " in said
    assert message in said
    for given in (["inspect", "x.npy", "--extract", "cpu"], ["run", "x.npy"], ["dump", "shipped.py:wide", "f32[2]"]):
        assert message in command(*given, "-o", output, code=1)


def test_a_file_names_the_packages_as_the_version_does(folder):
    compiled("shipped.py:wide", "f32[2]")
    versions = re.search(r"\((.*), python", command("--version"))[1]
    assert f"made by  stagec {stagec.__version__}, {versions}\n" in command("inspect", "model.stagec")
