"""Programs on aarch64, in an emulator: files that are compiled here, programs that are compiled there, and their bits.

`python -m tests.aarch64` runs other tests there, on other models of processors.
"""

import json
import platform
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from tests import aarch64
from tests.reproducible.__main__ import digest
from tests.reproducible.programs import program
from tests.reproducible.ways import jitted

pytestmark = pytest.mark.skipif(platform.machine() == "aarch64", reason="here, all tests run on aarch64")
SEEDS = (0, 3, 4)
X = np.sin(np.arange(160 * 120, dtype=np.float32)).reshape(160, 120)


def layer(x):
    """Products in a loop that leaves its kernel, functions that have no instruction, sums, integers and halves."""
    y = lax.fori_loop(0, 9, lambda i, y: snp.tanh(y @ y.T @ x / 4000 + x / (i + 1)), x)
    return nn.softmax(y), y.sum(0), snp.sort(y, 1), y.astype(snp.float16), snp.argmax(x, 1), snp.cumsum(y, 1)


@pytest.fixture
def folder():
    """A folder of the emulated system, which is made if need be."""
    try:
        aarch64.make()
    except aarch64.MissingError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(dir=aarch64.SYSTEM / "tmp") as made:
        yield Path(made)


def emulated(folder, code, cpu="neoverse-n1"):
    """What code prints, as JSON, which runs in the folder."""
    (folder / "code.py").write_text(code)
    command = ["sh", "-c", f"cd /tmp/{folder.name} && python3 code.py"]
    done = aarch64.run(command, cpu, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout.splitlines()[-1])


def test_files_and_programs_run_without_the_compilers_code(folder):
    """The same function, compiled here for the architecture and there for one of its processors."""
    stagec.export(layer, "cpu:aarch64")(X).save(folder / "layer.stagec")
    np.save(folder / "x.npy", X)
    code = """
import json
import numpy as np
import stagec
from stagec.compiler import log
from tests.test_aarch64 import layer
x = np.load("x.npy")
for name, function in (("there", stagec.jit(layer)), ("here", stagec.load("layer.stagec"))):
    np.savez(name, *map(np.asarray, function(x)))
rows = [[r.message, r.fields.get("flags")] for r in log.records("compile")]
print(json.dumps([row for row in rows if row[0] in ("compiled", "persistent kernel")]))
"""
    assert emulated(folder, code) == [["persistent kernel", None], ["compiled", "direct"]]
    expected = [np.asarray(leaf) for leaf in stagec.jit(layer)(X)]
    for name in ("there", "here"):
        found = list(np.load(folder / f"{name}.npz").values())
        assert [a.dtype for a in found] == [a.dtype for a in expected]
        for got, wanted in zip(found, expected):
            np.testing.assert_allclose(got, wanted, rtol=1e-3 if got.dtype == np.float16 else 1e-4, atol=1e-5)


@pytest.mark.parametrize("cpu", aarch64.MODELS)
def test_reproducible_programs_have_the_bits_of_this_processor(folder, cpu):
    code = f"""
import json
from tests.reproducible.__main__ import digest
from tests.reproducible.programs import program
from tests.reproducible.ways import jitted
print(json.dumps([digest(jitted(program(seed), "aarch64")) for seed in {SEEDS}]))
"""
    here = "x86-64-v2" if platform.machine() == "x86_64" else platform.machine()
    assert emulated(folder, code, cpu) == [digest(jitted(program(seed), here)) for seed in SEEDS]
