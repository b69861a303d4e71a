"""WebAssembly modules whose weights are in a file of their own, which the loader reads."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from stagec.cli import cli

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")
RNG = np.random.default_rng(0)
LARGE, BIAS = (RNG.standard_normal(shape).astype(np.float32) for shape in ((30, 20), 20))
X = RNG.standard_normal(30).astype(np.float32)


def network(x, large=LARGE):
    return snp.tanh(x @ snp.asarray(large) + snp.asarray(BIAS))


def printed(folder, load):
    """What a program prints that calls the function, or the error of the loader."""
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "main.mjs").write_text(
        f"""
import {{ readFileSync }} from "node:fs";
import {{ createServer }} from "node:http";
import {{ load }} from "./f.js";
try {{
  const call = await {load};
  console.log(JSON.stringify([...call(new Float32Array({X.tolist()}))]));
}} catch (error) {{
  console.log(JSON.stringify(`${{error}}`));
}}
"""
    )
    done = subprocess.run(["node", "main.mjs"], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("module")
    stagec.export(network)(X).to_wasm(found, name="f", weights="file")
    return found


# A server that answers one request with the weights.
_SERVED = """new Promise((done) => {
  const server = createServer((asked, answer) => { answer.end(readFileSync("f.weights")); server.close(); });
  server.listen(0, () => done(load(undefined, `http://localhost:${server.address().port}/f.weights`)));
})"""


@pytest.mark.parametrize(
    "load",
    ["load()", 'load(undefined, readFileSync("f.weights"))', _SERVED],
    ids=["the file beside it", "bytes", "an address"],
)
def test_the_function_has_the_bits_of_the_jitted_one(load, folder):
    expected = np.asarray(stagec.jit(network, target="cpu:x86-64-v2")(X))
    np.testing.assert_array_equal(np.float32(printed(folder, load)), expected)


def test_the_arrays_are_in_the_file_and_not_in_the_module(folder):
    assert (folder / "f.weights").stat().st_size >= 64 + LARGE.nbytes + BIAS.nbytes
    assert LARGE.tobytes()[:64] not in (folder / "f.wasm").read_bytes()
    assert "weights?: URL | string | Response | BufferSource" in (folder / "f.d.ts").read_text()


@pytest.mark.parametrize("change", ["other weights", "a part of them", "nothing"])
def test_other_weights_are_refused(change, folder, tmp_path):
    stagec.export(lambda x: network(x, LARGE + 1))(X).to_wasm(tmp_path, name="f", weights="file")
    data = (folder / "f.weights").read_bytes()
    wrong = {"other weights": (tmp_path / "f.weights").read_bytes(), "a part of them": data[:-64], "nothing": b""}
    (tmp_path / "wrong").write_bytes(wrong[change])
    found = printed(folder, f"load(undefined, readFileSync({json.dumps(str(tmp_path / 'wrong'))}))")
    assert found == "Error: f.wasm needs the f.weights that was written with it"


def test_a_function_without_weights_has_a_file_without_any(tmp_path):
    stagec.export(lambda x: x * 2)(X).to_wasm(tmp_path, name="f", weights="file")
    np.testing.assert_array_equal(np.float32(printed(tmp_path, "load()")), X * 2)


def test_the_command_writes_the_file(tmp_path):
    (tmp_path / "model.py").write_text("import numpy as np\ndef f(x):\n    return x @ np.ones((8, 8), np.float32)\n")
    given = ["compile", f"{tmp_path}/model.py:f", "f32[3,8]", "--emit", "wasm", "--weights-file"]
    done = CliRunner().invoke(cli, [*given, "-o", str(tmp_path / "web")])
    assert done.exit_code == 0 and (tmp_path / "web" / "f.weights").exists(), done.output
