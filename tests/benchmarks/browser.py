"""WebAssembly modules and onnxruntime-web in Chromium: `python -m tests.benchmarks browser --runtime FOLDER`.

FOLDER is `dist` of the npm package onnxruntime-web, which no requirement of the tests has, nor `onnx`, which writes its
models. Both run on one thread. Calls take turns in one page, in rounds that last some milliseconds each; the least time
of a call counts. A session's tensors are made once. The results are compared before.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import importlib
import json
import os
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
from tests.benchmarks.browser_models import Model, models

_PAGE = """<!doctype html><title>models</title><script type="module">
import * as ort from "./ort/ort.wasm.bundle.min.mjs";
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
const random = (n) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898) * 0.9);

async function least(call, seconds) {
  let best = Infinity;
  for (let count = 1, start = performance.now(); performance.now() - start < seconds * 1000; ) {
    const before = performance.now();
    for (let i = 0; i < count; i++) { const made = call(); if (made instanceof Promise) await made; }
    const spent = performance.now() - before;
    if (spent < 5) count *= 2; else best = Math.min(best, spent / count);
  }
  return best / 1000;
}

window.measure = async (name, seconds, rounds) => {
  const { load, inputs, outputs } = await import(`./${name}/f.js`);
  const call = await load();
  const session = await ort.InferenceSession.create(`./${name}/f.onnx`, { executionProviders: ["wasm"] });
  const arrays = inputs.map(({ length }) => random(length));
  const feeds = Object.fromEntries(inputs.map((one, i) => [one.name, new ort.Tensor("float32", arrays[i], one.shape)]));
  const ours = call(...arrays), theirs = await session.run(feeds);
  const all = outputs.length === 1 ? [ours] : outputs.map((one) => ours[one.name]);
  let difference = 0;
  session.outputNames.forEach((output, i) => theirs[output].data.forEach((value, j) => {
    difference = Math.max(difference, Math.abs(Number(value) - Number(all[i][j])));
  }));
  const times = { stagec: Infinity, onnxruntime: Infinity };
  for (let i = 0; i < rounds; i++) {
    times.stagec = Math.min(times.stagec, await least(() => call(...arrays), seconds));
    times.onnxruntime = Math.min(times.onnxruntime, await least(() => session.run(feeds), seconds));
  }
  return { difference, ...times };
};
window.ready = true;
</script>"""


def write(folder: pathlib.Path, model: Model, name: str) -> dict[str, int]:
    """Write a model in both forms, and return the bytes of each."""
    onnx: Any = importlib.import_module("onnx")
    onnx_parser: Any = importlib.import_module("onnx.parser")
    files = stagec.export(model.function)(*_descriptions(model)).to_wasm(folder, name="f")
    parsed = onnx_parser.parse_model(model.text(name))
    arrays = {n: np.asarray(value, order="C") for n, value in model.weights.items()}
    parsed.graph.initializer.extend([onnx.numpy_helper.from_array(value, n) for n, value in arrays.items()])
    onnx.checker.check_model(parsed, full_check=True)
    onnx.save(parsed, folder / "f.onnx")
    ours = sum(os.path.getsize(file) for file in files if not file.endswith(".d.ts"))
    return {"stagec": ours, "onnxruntime": os.path.getsize(folder / "f.onnx")}


def _descriptions(model: Model) -> list[str]:
    return [f"f32[{','.join(map(str, shape))}]" for shape in model.inputs.values()]


def measured(runtime: pathlib.Path, chosen: Sequence[str], seconds: float, rounds: int) -> dict[str, dict[str, Any]]:
    """By model, the seconds of a call, the bytes of the files, and the largest difference of results."""
    playwright: Any = importlib.import_module("playwright.sync_api")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "index.html").write_text(_PAGE)
        (folder / "ort").symlink_to(runtime.resolve())
        handler = functools.partial(_Quiet, directory=made)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with playwright.sync_playwright() as started:
            chromium = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = chromium.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.wait_for_function("() => window.ready")
            for i, (name, model) in enumerate(models().items()):
                if not all(part in name for part in chosen):
                    continue
                sizes = write(folder / f"m{i}", model, f"m{i}")
                found[name] = page.evaluate(f"measure('m{i}', {seconds}, {rounds})") | {"bytes": sizes}
            chromium.close()
        server.shutdown()
    return found


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks browser", description=__doc__.splitlines()[0])
    parser.add_argument("chosen", nargs="*", help="parts of a model's name")
    parser.add_argument("--runtime", type=pathlib.Path, required=True, help="dist of the npm package onnxruntime-web")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each library in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = measured(given.runtime, given.chosen, given.seconds, given.rounds)
    if given.json:
        print(json.dumps(found))
        return
    table = Table("model", "stagec µs", "onnxruntime µs", "ratio", "stagec KB", "ONNX KB", "difference")
    for name, row in found.items():
        ours, theirs = row["stagec"], row["onnxruntime"]
        sizes = [f"{row['bytes'][library] / 1000:.0f}" for library in ("stagec", "onnxruntime")]
        times = [f"{ours * 1e6:.1f}", f"{theirs * 1e6:.1f}", f"{ours / theirs:.2f}"]
        table.add_row(name, *times, *sizes, f"{row['difference']:.1e}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
