"""WebAssembly modules whose work several threads share, in Node and in Chromium."""

import functools
import http.server
import shutil
import subprocess
import threading

import numpy as np
import pytest
from click.testing import CliRunner
from test_c_libraries import OF_THE_HOST, PROGRAMS, assert_same_bits, normal, of_the_host
from test_c_rows import PROGRAMS as ROWS, given
from test_web import ran

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec.cli import cli

TARGET = "cpu:x86-64-v2"
WEIGHTS = normal(300, 200)
X = normal(400, 300)
# More rows than one thread sorts, and products that threads divide along two axes.
SHARED = {
    "network": (lambda x: snp.tanh(x @ snp.asarray(WEIGHTS)).sum(1), X),
    "sorted rows": (lambda x: (snp.sort(x, axis=1), snp.argsort(x.T, axis=1)), X),
    "rounds": PROGRAMS["swapped"],
    "stencil": PROGRAMS["large heat"],
}
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")


@needs_node
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", SHARED)
def test_any_number_of_threads_computes_the_bits_of_the_jitted_function(name, threads, tmp_path):
    function, *arguments = SHARED[name]
    found = ran(tmp_path, stagec.export(function, TARGET)(*arguments), arguments, threads=threads)
    assert_same_bits(found, stagec.jit(function, target=TARGET)(*arguments))


@needs_node
def test_so_do_loops_of_the_host(tmp_path, monkeypatch):
    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)
    with stagec.config.override(enable_cache=False):
        found = ran(tmp_path, stagec.export(of_the_host, TARGET)(*OF_THE_HOST), OF_THE_HOST, threads=3)
        assert_same_bits(found, stagec.jit(of_the_host, target=TARGET)(*OF_THE_HOST))


@needs_node
def test_open_sizes_and_threads(tmp_path):
    function, *descriptions = ROWS["network"]
    arguments = given(descriptions, 700)
    (found,) = ran(tmp_path, stagec.export(function, TARGET)(*descriptions), arguments, threads=2, b=700)
    np.testing.assert_allclose(found, stagec.jit(function, target=TARGET)(*arguments), rtol=2e-5, atol=1e-6)


def run_in_node(folder, text):
    """What a program prints."""
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "main.mjs").write_text(text)
    done = subprocess.run(["node", "main.mjs"], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


# Calls the function until another thread has had a tenth of the first one's time. A worker that finds nothing to do
# has less than a hundredth.
_BUSY = """
import { readdirSync, readFileSync } from "node:fs";
import { load } from "./f.js";
const call = await load(undefined, undefined, 2);
const x = new Float32Array(120000).fill(0.5);
const busy = () => new Map(readdirSync("/proc/self/task").map((thread) => {
  const [time] = readFileSync(`/proc/self/task/${thread}/schedstat`, "utf-8").split(" ");
  return [Number(thread), Number(time)];
}));
for (let i = 0; i < 50; i++) call(x);
const before = busy(), end = performance.now() + 20000;
for (;;) {
  for (let i = 0; i < 50; i++) call(x);
  const now = busy(), spent = (thread) => now.get(thread) - (before.get(thread) ?? 0);
  const others = [...now.keys()].filter((thread) => thread !== process.pid);
  if (others.some((thread) => spent(thread) > spent(process.pid) / 10)) break;
  if (performance.now() > end) throw new Error("no worker does anything");
}
console.log("shared");
"""


@needs_node
def test_workers_compute(tmp_path):
    stagec.export(SHARED["network"][0])(X).to_wasm(tmp_path, name="f", threads=True)
    assert run_in_node(tmp_path, _BUSY) == "shared"


@needs_node
def test_many_short_kernels_in_many_calls(tmp_path):
    @functools.partial(stagec.export, targets=TARGET)
    def function(x):
        for _ in range(6):
            x = snp.sort(x, axis=1)[::-1] * 0.5
        return x

    x = normal(64, 600)
    function(x).to_wasm(tmp_path, name="f", threads=True)
    text = """
import { load } from "./f.js";
const call = await load(undefined, undefined, 3);
const given = Float32Array.from({ length: 38400 }, (_, i) => Math.sin(i));
const expected = call(given);
let wrong = 0;
for (let i = 0; i < 1000; i++) if (call(given).some((value, k) => value !== expected[k])) wrong++;
console.log(wrong);
"""
    assert run_in_node(tmp_path, text) == "0"


@needs_node
def test_the_calling_thread_goes_on_alone_after_terminate(tmp_path):
    stagec.export(lambda x: snp.sort(x, axis=1))(X).to_wasm(tmp_path, name="f", threads=True)
    text = """
import { load } from "./f.js";
const call = await load(undefined, undefined, 3);
const given = Float32Array.from({ length: 120000 }, (_, i) => -i), before = call(given);
call.terminate();
const after = call(given);
console.log(after.every((value, i) => value === before[i]) && after[0] === -299);
"""
    assert run_in_node(tmp_path, text) == "true"


@needs_node
def test_weights_may_be_in_a_file(tmp_path):
    function, x = SHARED["network"]
    stagec.export(function)(x).to_wasm(tmp_path, name="f", threads=True, weights="file")
    (tmp_path / "given").write_bytes(x.tobytes())
    text = """
import { readFileSync, writeFileSync } from "node:fs";
import { load } from "./f.js";
const call = await load(undefined, readFileSync("f.weights"), 2);
writeFileSync("made", call(new Float32Array(new Uint8Array(readFileSync("given")).buffer)));
"""
    run_in_node(tmp_path, text)
    assert_same_bits([np.fromfile(tmp_path / "made", np.float32)], stagec.jit(function, target=TARGET)(x))
    types = (tmp_path / "f.d.ts").read_text()
    assert "BufferSource, threads?: number): Promise<Call & { terminate(): void }>" in types


def test_the_command_writes_such_modules_only(tmp_path):
    (tmp_path / "lines.py").write_text("def double(x):\n    return x * 2\n")
    given = ["compile", f"{tmp_path}/lines.py:double", "f32[3]", "-o", str(tmp_path / "web"), "--threads", "--emit"]
    done = CliRunner().invoke(cli, [*given, "wasm", "--name", "f"])
    assert done.exit_code == 0 and "terminate()" in (tmp_path / "web" / "f.d.ts").read_text(), done.output
    refused = CliRunner().invoke(cli, [*given, "c"])
    assert refused.exit_code == 2 and "--threads is for --emit wasm" in refused.output


@pytest.fixture
def served(tmp_path):
    """Serves a folder with headers; its address."""
    servers = []

    def serve(headers):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def end_headers(self):
                for name, value in headers.items():
                    self.send_header(name, value)
                super().end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=tmp_path))
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "page.html").write_text('<!doctype html><link rel="icon" href="data:,">')
        return f"http://127.0.0.1:{server.server_port}/page.html"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
_IN_PAGE = """async (given) => {
  const { load } = await import("./f.js");
  const call = await load(undefined, undefined, 3);
  const made = [];
  for (let i = 0; i < 20; i++) made.push(call(new Float32Array(given)));
  call.terminate();
  if (made.some((one) => one.some((value, i) => value !== made[0][i]))) throw new Error("results differ");
  return [...made[0]];
}"""


def test_an_isolated_page_has_threads(browser, served, tmp_path):
    function, x = SHARED["network"]
    stagec.export(function)(x).to_wasm(tmp_path, name="f", threads=True)
    page = browser.new_page()
    page.goto(served(ISOLATED))
    found = page.evaluate(_IN_PAGE, x.ravel().tolist())
    page.close()
    assert_same_bits([np.float32(found)], stagec.jit(function, target=TARGET)(x))


def test_another_page_is_told_what_it_lacks(browser, served, tmp_path):
    function, x = SHARED["network"]
    stagec.export(function)(x).to_wasm(tmp_path, name="f", threads=True)
    page = browser.new_page()
    page.goto(served({}))
    said = page.evaluate('() => import("./f.js").then(({ load }) => load()).catch((error) => error.message)')
    page.close()
    assert said == (
        "f.wasm is for threads, which a page has if its server sends the headers "
        "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp"
    )
