"""The same function has the same bytes in every process: files, C libraries and WebAssembly modules."""

import hashlib
import os
import subprocess
import sys

import pytest

from stagec.backends.cpu import portable_host

_MODEL = f"""
import sys
import numpy as np
import stagec, stagec.numpy as snp
from stagec import lax, nn

weights = {{name: snp.asarray(np.linspace(-1, 1, 600, dtype=np.float32).reshape(20, 30)) for name in ("w", "v")}}

def model(params, x):
    hidden = nn.gelu(x @ (params["w"] + weights["w"])) @ weights["v"].T
    hidden = lax.fori_loop(0, 3, lambda i, h: snp.sort(h * i + snp.roll(h, 1)), hidden)
    return {{"sum": hidden.sum(1), "top": lax.top_k(hidden, 3), "mean": hidden.mean()}}

for target in ({portable_host()!r}, "cpu:aarch64"):
    exported = stagec.export(model, target)({{"w": weights["w"]}}, "f32[7,20]")
    exported.save(target.replace(":", "-"))
    exported.to_c(f"c-{{target}}")
    stagec.export(lambda x: model(weights, x)["sum"], target)("f32[7,20]").to_c(f"mapped-{{target}}", weights="file")
exported.to_wasm("wasm")
exported.to_html("page.html")
"""


def digests(folder, seed, cache):
    """The digest of each file that a new process writes."""
    folder.mkdir()
    settings = {"PYTHONHASHSEED": seed, "STAGEC_CACHE": cache}
    environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}
    # A file for each line's location: the same for all.
    model = folder.parent / "model.py"
    model.write_text(_MODEL)
    subprocess.run([sys.executable, model], cwd=folder, env=environment, check=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path):
    first, second = digests(tmp_path / "first", "1", "0"), digests(tmp_path / "second", "2", "1")
    assert len(first) >= 25 and sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
