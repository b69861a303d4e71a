"""C libraries whose weights are in a file of their own, which a program maps into memory."""

import os
import subprocess

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, STRICT, assert_same_bits, tool
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from stagec.cli import cli

_MAIN = """
#include "f.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static float x[X], y[Y];

int main(int count, char **paths)
{
  int file = open(paths[1], O_RDONLY), code;
  const void *weights = mmap(NULL, F_WEIGHTS, PROT_READ, MAP_PRIVATE, file, 0);
  void *work = malloc(F_WORKSPACE ? F_WORKSPACE : 1);
  if (count != 2 || file < 0 || weights == MAP_FAILED || !work) return 9;
  if (fread(x, 1, sizeof x, stdin) != sizeof x) return 8;
  code = f(x, y, weights, work, NULL);
  if (code) return code;
  free(work);
  return fwrite(y, 1, sizeof y, stdout) != sizeof y;
}
"""
RNG = np.random.default_rng(0)
LARGE = RNG.standard_normal((300, 200)).astype(np.float32)
BIAS, LAST = (RNG.standard_normal(shape).astype(np.float32) for shape in (200, (200, 10)))
X = RNG.standard_normal((7, 300)).astype(np.float32)


def network(x, large=LARGE):
    return snp.tanh(x @ snp.asarray(large) + BIAS) @ snp.asarray(LAST)


def built(folder):
    """Compile a program of the library in a folder."""
    (folder / "main.c").write_text(_MAIN)
    sizes = [f"-DX={X.size}", f"-DY={7 * 10}"]
    objects = sorted(name for name in os.listdir(folder) if name.endswith(".o"))
    flags = [*STRICT, *SANITIZERS, *sizes, "main.c", "f.c", *objects, "-lm", "-o", "program"]
    subprocess.run([tool("gcc", "clang", "cc"), *flags], cwd=folder, check=True)


def called(folder, path="f.weights"):
    return subprocess.run(["./program", path], cwd=folder, input=X.tobytes(), capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("library")
    targets = [LEVEL] if "x86-64" not in LEVEL else list(dict.fromkeys(["cpu:x86-64", LEVEL]))
    stagec.export(network, targets)(X).to_c(found, name="f", weights="file")
    built(found)
    return found


def test_results_have_the_bits_of_the_jitted_function(folder):
    done = called(folder)
    assert done.returncode == 0 and done.stderr == b""
    found = np.frombuffer(done.stdout, np.float32).reshape(7, 10)
    assert_same_bits([found], stagec.jit(network, target=LEVEL)(X))


def test_the_arrays_are_in_the_file_and_nowhere_else(folder):
    size = (folder / "f.weights").stat().st_size
    assert size % 64 == 0 and size > LARGE.nbytes
    assert f"#define F_WEIGHTS {size}" in (folder / "f.h").read_text()
    others = [path.stat().st_size for path in folder.glob("f*.o")]
    assert others and sum(others) < LARGE.nbytes / 2
    assert "constants" not in (folder / "CMakeLists.txt").read_text()


def test_the_weights_of_another_library_are_refused(folder, tmp_path):
    stagec.export(lambda x: network(x, LARGE + 1), LEVEL)(X).to_c(tmp_path, name="f", weights="file")
    assert called(folder, tmp_path / "f.weights").returncode == 2


def test_the_command_writes_the_file(folder, tmp_path):
    (tmp_path / "model.py").write_text(
        "import numpy as np\nlarge = np.arange(64, dtype=np.float32).reshape(8, 8)\n\n"
        "def apply(weights):\n    return weights @ large\n"
    )
    given = ["compile", f"{tmp_path}/model.py:apply", "f32[3,8]", "--target", LEVEL, "--weights-file"]
    done = CliRunner().invoke(cli, [*given, "--emit", "c", "-o", str(tmp_path / "c")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "c" / "apply.weights").stat().st_size >= 64 + 256
    # The argument of this name gets another one in C.
    assert (
        "int apply(const float *weights_, float *out, const void *weights, void *workspace"
        in (tmp_path / "c" / "apply.h").read_text()
    )
    refused = CliRunner().invoke(cli, [*given, "-o", str(tmp_path / "file")])
    assert refused.exit_code == 2 and "--weights-file is for --emit c and --emit wasm" in refused.output
