"""From saving a file to the paint of the page of `stagec view --live`, in Chromium.

Run by `python tests/viewing/measure_live.py`. Prints, for each program, the rows of the page and the
median of twelve edits of one line.
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

LAYER = """import stagec.numpy as snp


def layer(x, w):
    h = snp.tanh(x @ w)
    z = (h - h.mean(axis=1, keepdims=True)) * 2.0
    return snp.sum(z, axis=1), snp.sort(z, axis=1)
"""
STEP = """import stagec
import stagec.numpy as snp


def loss(params, x, y):
    *hidden, (w, b) = params
    for v, c in hidden:
        x = snp.tanh(x @ v + c)
    return -snp.mean(snp.sum(stagec.nn.log_softmax(x @ w + b) * y, axis=1))


def step(params, x, y):
    return stagec.tree.map(lambda p, g: p - 2.0 * g, params, stagec.grad(loss)(params, x, y))
"""
BLOCK = """import stagec
import stagec.numpy as snp


def norm(x, g):
    return (x - x.mean(-1, keepdims=True)) / snp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g


def block(x, g, qkv, out, h, up, down):
    q, k, v = snp.moveaxis((norm(x, g) @ qkv).reshape(64, 3, 4, 32), (1, 2), (0, 1))
    scores = stagec.nn.softmax(q @ k.swapaxes(1, 2) / 2.0, -1)
    x = x + (scores @ v).swapaxes(0, 1).reshape(64, 128) @ out
    return x + stagec.nn.gelu(norm(x, h) @ up) @ down
"""
CHAIN = """import stagec.numpy as snp


def chain(x):
    y = x * 2.0
    for i in range(100):
        y = snp.abs(y) * (i + 1) + x[i]
    return y
"""
PARAMS = "[(f32[784,128],f32[128]),(f32[128,128],f32[128]),(f32[128,10],f32[10])]"
WEIGHTS = ["f32[128]", "f32[128,384]", "f32[128,128]", "f32[128]", "f32[128,512]", "f32[512,128]"]
PROGRAMS = [
    ("layer", LAYER, ["f32[128,64]", "f32[64,32]"]),
    ("step", STEP, [PARAMS, "f32[32,784]", "f32[32,10]"]),
    ("block", BLOCK, ["f32[64,128]", *WEIGHTS]),
    ("chain", CHAIN, ["f32[100,1000]"]),
]
# Notes when each version has been painted.
WATCH = """() => {
    window.painted = [];
    const show = told;
    told = next => { show(next); requestAnimationFrame(() => setTimeout(() => painted.push(Date.now()), 0)); };
}"""


def milliseconds(browser, name, source, arguments):
    file = pathlib.Path(tempfile.mkdtemp()) / "model.py"
    file.write_text(source)
    command = [sys.executable, "-m", "stagec", "view", f"{file}:{name}", *arguments, "--live"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        page = browser.new_page(viewport={"width": 1500, "height": 900}, bypass_csp=True)
        page.goto(server.stderr.readline().split()[0])
        page.wait_for_selector("#pane-assembly .row", timeout=60_000)
        page.evaluate(WATCH)
        times = []
        for i in range(12):
            started = time.time() * 1000
            file.write_text(source.replace("2.0", f"{i + 3}.0"))
            page.wait_for_function(f"painted.length > {i}", timeout=60_000)
            times.append(page.evaluate("painted.at(-1)") - started)
        rows = page.evaluate("panes.reduce((sum, pane) => sum + pane.rows.length, 0)")
        server.kill()
    return rows, statistics.median(times)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for program in PROGRAMS:
            count, median = milliseconds(chromium, *program)
            print(f"{program[0]}: {count} rows, {median:.0f} ms")
