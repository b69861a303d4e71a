"""A session in a terminal, as the README shows it: `python -m tests.pictures.session` runs and draws it.

All that is shown was printed. Times are of the machine that ran it, and the key is of the sources: `without_times`
takes them out, so that a test can compare the picture with another run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.pictures.svg import Picture

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs/session.svg"
MODEL = """\
import stagec
import stagec.numpy as snp

@stagec.jit
def layer(x, w, b):
    h = snp.tanh(1.0 * (x @ w) + b)
    return h / h.sum(axis=1, keepdims=True)
"""
DUMP = 'stagec dump model.py:layer "f32[512,256]" "f32[256,128]" "f32[128]" --stage optimized'
CALLS = """\
x, w, b = snp.ones((512, 256)), snp.ones((256, 128)), snp.zeros(128)
layer(x, w, b)[0, :3]
layer(x, w, snp.zeros(512))
stagec.explain(layer, x[:10], w, b)
with stagec.profile() as profile:
    for _ in range(100): _ = layer(x, w, b)

print(profile)
"""
_START = "import stagec, stagec.numpy as snp\nfrom model import layer\n"
_COLUMNS = 118


def session() -> list[tuple[str, str]]:
    """The lines, each with what it is: `typed`, or `out`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.py").write_text(MODEL, "utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}", "STAGEC_CACHE": "0", "NO_COLOR": "1", "COLUMNS": "118"}

        def printed(*command: str, given: str = "") -> list[str]:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=folder,
                env=environment,
                input=given,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            return done.stdout.replace(f"{folder}/", "").splitlines()

        lines = [("typed", "$ cat model.py"), *(("out", line) for line in MODEL.splitlines()), ("typed", f"$ {DUMP}")]
        words = [word.strip('"') for word in DUMP.split()[1:]]
        lines += [("out", line) for line in printed("-m", "stagec", *words)]
        lines += [("typed", "$ python -i model.py")]
        # An interpreter whose input is no terminal repeats nothing: each statement is printed before it runs.
        script = "import code, sys\nshell = code.InteractiveConsole()\n"
        script += f"for line in {_START!r}.splitlines(): shell.push(line)\nmore = False\n"
        script += "shell.write = lambda text: print(text, end='')\n"
        script += f"for line in {CALLS!r}.splitlines():\n"
        script += "    print('\\x01' + ('... ' if more else '>>> ') + line, flush=True)\n    more = shell.push(line)\n"
        for line in printed("-c", script):
            lines.append(("typed", line[1:]) if line.startswith("\x01") else ("out", line))
    return [line for line in lines if line[1] != "... "]


def drawn(lines: list[tuple[str, str]]) -> str:
    """A window with the lines; one that is too long ends with dots."""
    picture = Picture("A session in a terminal: dump, an error, explain and profile", 900)
    picture.box(1, 1, 898, 16 * len(lines) + 20, "screen")
    for i, (kind, line) in enumerate(lines):
        line = line.rstrip()
        picture.text(14, 24 + 16 * i, line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…", f"code {kind}")
    return str(picture)


def without_times(picture: str) -> str:
    """A picture of a session without what differs from run to run: times, shares, keys, and the columns for them."""
    return re.sub(r"\b[0-9a-f]{64}\b|\d[\d.]* ?([um]?s|%)|(?<=[^\n]) {2,}", " ", picture)


if __name__ == "__main__":
    FILE.write_text(drawn(session()), "utf-8")
