"""The short programs of libraries: whether they run, whether what they print agrees, and how long they take."""

from __future__ import annotations

import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

# What to put before the arguments of Python.
SIDES: dict[str, list[str]] = {"jax": [], "stagec": ["-m", "stagec.compat"]}
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+\.?\d*(?:e[+-]?\d+)?")
# Prints, last, the processor time of what ran a second time.
_TWICE = """
import contextlib, io, sys, time
code = compile(sys.argv[1], "quickstart", "exec")
with contextlib.redirect_stdout(io.StringIO()):
    exec(code, {"__name__": "__main__"})
    start = time.process_time()
    exec(code, {"__name__": "__main__"})
    spent = time.process_time() - start
print(spent)
"""


def run(
    python: pathlib.Path, side: str, program: str, seconds: float, variables: dict[str, str], *arguments: str
) -> str | None:
    """What a program prints, with variables of the environment; None if it fails."""
    try:
        done = subprocess.run(
            [python, *SIDES[side], "-c", program, *arguments],
            cwd=tempfile.gettempdir(),
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(side, done.stderr[-2000:], file=sys.stderr)
        return None
    return done.stdout


def agree(one: str, other: str, tolerance: float = 1e-3) -> bool:
    """Whether two texts are the same but for spaces and what rounding changes in numbers."""
    texts = [re.sub(r"\s+", "", _NUMBER.sub("0", text)) for text in (one, other)]
    numbers = [list(map(float, _NUMBER.findall(text))) for text in (one, other)]
    return (
        texts[0] == texts[1]
        and len(numbers[0]) == len(numbers[1])
        and all(math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(*numbers, strict=True))
    )


def times(
    python: pathlib.Path, program: str, seconds: float, variables: dict[str, str], rounds: int = 2
) -> dict[str, list[float]]:
    """Processor seconds of a program on JAX, on stagec with an empty cache, and with the cache that this left.

    Each is a list of two: of a whole process that runs it once, and of another run in that process. They take turns,
    and the least of all rounds counts.
    """
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("jax", "first", "later"):
                side = "jax" if name == "jax" else "stagec"
                before = _children()
                printed = run(python, side, _TWICE, seconds, {**variables, "STAGEC_CACHE_DIR": cache}, program)
                if printed is None:
                    return {}
                again = float(printed.split()[-1])
                spent = [_children() - before - again, again]
                found[name] = [min(pair) for pair in zip(spent, found.get(name, spent), strict=True)]
    return found


def _children() -> float:
    """Processor seconds of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
