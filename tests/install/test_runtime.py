"""stagec-runtime: the distribution for machines without a compiler."""

import importlib.util
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from environments import ROOT, RUNTIME, Environment, copy_tree, dependencies

LOAD = """
import sys
import numpy as np
import stagec
model = stagec.load("model.stagec")
out = model(np.ones((2, 40), np.float32))
print(sorted({m for m in sys.modules if m.startswith(("iree.compiler", "passes", "stagec.numpy", "stagec.lowering"))}))
print([round(float(v), 4) for v in np.asarray(out)[0, :2]])
"""


def test_a_file_loads_and_runs(runtime, models):
    assert runtime.run("-c", LOAD, cwd=models).splitlines() == ["[]", "[0.7616, 0.7616]"]


def test_arrays_and_functions_outside_jit_work(runtime, models):
    code = """if True:
    import importlib.util, stagec, stagec.numpy as snp
    assert importlib.util.find_spec("iree.compiler") is None and stagec.__version__
    out = stagec.load("model.stagec")(snp.ones((2, 40)))
    print((out + 1).shape, snp.sin(out).dtype, out[0, 1:3].sum(), stagec.nn.softmax(out).max())
    print(stagec.random.normal(stagec.random.key(0), (2,)).shape, abs(snp.fft.fft(snp.ones(4))[0]))
    print(stagec.lax.cond(out[0, 0] > 0, lambda x: x * 2, lambda x: x, snp.float32(1)))
    """
    assert runtime.run("-c", code, cwd=models).splitlines() == [
        "(2, 40) float32 1.5231884 0.025",
        "(2,) 4.0",
        "2.0",
    ]


def test_a_missing_name_is_told_as_with_the_compiler(runtime):
    said = runtime.run("-c", "import stagec.numpy as snp; snp.arrange", code=1)
    assert "did you mean snp.arange?" in said


def test_what_no_variant_fits_says_that_there_is_no_compiler(runtime, models):
    code = "import numpy as np, stagec; stagec.load('other.stagec')(np.ones((2, 40), np.float32))"
    said = runtime.run("-c", code, cwd=models, code=1)
    assert "no variant of <lambda> that cpu:0 can run, and there is no compiler" in said


def test_a_compiler_alone_is_not_enough_to_compile(runtime, models, tmp_path):
    (tmp_path / "iree" / "compiler").mkdir(parents=True)
    (tmp_path / "iree" / "compiler" / "__init__.py").touch()
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import iree.compiler; import numpy as np, stagec; "
    call = "stagec.load('other.stagec')(np.ones((2, 40), np.float32))"
    assert "Fix: install stagec with its compiler here" in runtime.run("-c", code + call, cwd=models, code=1)


def test_the_environment_is_consistent(runtime):
    assert runtime.pip("check").strip() == "No broken requirements found."


def test_the_commands_for_compiled_functions_work(runtime, models):
    def said(*arguments):
        return runtime.command("stagec-runtime", *arguments, cwd=models)

    np.save(models / "x.npy", np.ones((2, 40), np.float32))
    assert "result  float32[2,40]" in said("run", "model.stagec", "x.npy")
    assert "returns  float32[2,40]" in said("inspect", "model.stagec", "--check")
    assert "iree-base-compiler missing" in said("--version")
    assert "Usage: stagec-runtime run " in said("run", "--help")
    assert not (runtime.bin / "stagec").exists()
    assert runtime.run("-m", "stagec", "--version", cwd=models) == said("--version")


def test_other_commands_say_what_to_install(runtime, models):
    said = runtime.command("stagec-runtime", "dump", "model.py:f", "f32[2]", "--stage", "asm", cwd=models, code=1)
    assert said == (
        "Error: stagec dump is not part of stagec-runtime, which is installed here: it loads and runs compiled "
        "functions\n  Fix: install stagec itself, which brings the compiler: `pip install .` in a clone; both may be "
        "installed together\n"
    )
    assert "dump     Not part of stagec-runtime." in runtime.command("stagec-runtime", "--help", cwd=models)


@pytest.mark.parametrize("use", ["import stagec; stagec.jit", "from stagec import jit", "import stagec; stagec.Pass"])
def test_names_that_need_the_compiler_say_what_to_install(runtime, use):
    said = runtime.run("-c", use, code=1)
    assert "is not part of stagec-runtime" in said and "Fix: install stagec itself" in said
    assert "stagec.errors.NotInstalledError" in said.splitlines()[-2]


def test_only_names_that_are_there_are_listed(runtime):
    code = "import stagec; print(*dir(stagec)); [getattr(stagec, name) for name in dir(stagec)]"
    listed = runtime.run("-c", code).split()
    assert {"load", "Array", "numpy", "device_put"} <= {*listed}
    assert not {"jit", "grad", "export", "pattern"} & {*listed}


def test_every_module_of_it_can_be_imported(runtime):
    code = """if True:
    import importlib, pkgutil, stagec
    names = [m.name for m in pkgutil.walk_packages(stagec.__path__, "stagec.") if not m.name.endswith("__main__")]
    for name in names:
        importlib.import_module(name)
    print(len(names) > 100)
    """
    assert runtime.run("-c", code) == "True\n"


def test_it_holds_nothing_of_the_compilers_side(archives):
    names = zipfile.ZipFile(next(archives.glob("stagec_runtime-*.whl"))).namelist()
    folders = {"/".join(name.split("/")[:2]) for name in names if name.count("/") > 1}
    assert not {"stagec_runtime/lowering", "stagec_runtime/experimental.py"} & folders
    assert sorted(n for n in names if n.startswith("stagec_runtime/compiler/") and "__init__" not in n) == [
        # They read graphs: what runs outside `jit` follows from them.
        "stagec_runtime/compiler/estimate.py",
        "stagec_runtime/compiler/exact.py",
    ]
    assert sorted(n for n in names if n.startswith("stagec_runtime/api/") and "__init__" not in n) == [
        f"stagec_runtime/api/{name}.py"
        for name in "arguments blocks calls devices load matching open_dimensions sharded signature".split()
    ]


def test_it_requires_what_stagec_does_with_the_same_bounds():
    rows = dependencies(RUNTIME)
    assert {*rows} < {*dependencies(ROOT)}
    assert not any("compiler" in row for row in rows)


def megabytes(folder):
    files = (f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return sum(f.stat().st_size for f in files) / 1e6


@pytest.mark.slow
def test_one_command_installs_it_from_a_clone(tmp_path, models):
    """`pip install ./runtime`, as the how-to page says; pip fetches what it requires."""
    clone = tmp_path / "clone"
    copy_tree(clone)
    made = Environment(tmp_path / "venv", [])
    command = [sys.executable, "-m", "pip", "--python", made.python, "install", "--quiet", "--no-compile"]
    done = subprocess.run([*command, "./runtime"], cwd=clone, capture_output=True, text=True)
    if any(sign in done.stderr for sign in ("No matching distribution", "Connection", "connection", "index-url")):
        pytest.skip(f"pip cannot fetch the packages: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    assert made.pip("check").strip() == "No broken requirements found."
    assert made.run("-c", LOAD, cwd=models).splitlines()[0] == "[]"
    compiler = pathlib.Path(importlib.util.find_spec("iree.compiler").submodule_search_locations[0])
    assert megabytes(made.site) < megabytes(compiler) / 2
