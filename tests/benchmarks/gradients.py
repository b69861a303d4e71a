"""Gradients through `while_loop`: `python -m tests.benchmarks gradients [part of a name ...] [--json] [--tiny]`.

Each program runs the same body in a `while_loop` and in a `scan` of as many rounds. Forward, each is called alone; the
gradient is that of the whole call, the forward rounds included. All four take turns, the fastest of which counts.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
import stagec.numpy as snp
from stagec import lax

Loop = Callable[[Callable[[Any], Any], Callable[[Any], Any], Any], Any]
_SECONDS, _TURNS = 0.002, 40


def counted(rounds: Sequence[int]) -> Loop:
    """`while_loop` as scans: the outermost loop has `rounds[0]` rounds, the loop in it `rounds[1]`."""
    depth = 0

    def loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], start: Any) -> Any:
        nonlocal depth
        length, depth = rounds[depth], depth + 1
        try:
            return lax.scan(lambda state, _: (body(state), None), start, None, length=length)[0]
        finally:
            depth -= 1

    return loop


def bisection(loop: Loop, a: Any) -> Any:
    """Roots of x**3 + a * x - 4; the last step is Newton's, as the ends of the interval have no derivative."""

    def body(state: Any) -> Any:
        low, high = state
        middle = 0.5 * (low + high)
        positive = middle**3 + a * middle > 4
        return snp.where(positive, low, middle), snp.where(positive, middle, high)

    low, high = loop(lambda s: snp.max(s[1] - s[0]) > 1e-12, body, (0.0 * a, 2.0 + 0.0 * a))
    x = 0.5 * (low + high)
    return snp.sum(x - (x**3 + a * x - 4) / (3 * x**2 + a))


def newton(loop: Loop, a: Any) -> Any:
    """Square roots, from far away, until two approximations agree."""

    def body(state: Any) -> Any:
        x, _ = state
        after = 0.5 * (x + a / x)
        return after, snp.max(snp.abs(after - x))

    return snp.sum(loop(lambda s: s[1] > 1e-12, body, (1e6 + 0.0 * a, snp.asarray(1.0)))[0])


def adaptive(loop: Loop, a: Any) -> Any:
    """The equations y' = -a * y + sin(t), by steps of Heun's method whose size follows the error."""

    def slope(t: Any, y: Any) -> Any:
        return -a * y + snp.sin(t)

    def body(state: Any) -> Any:
        t, y, h = state
        h = snp.minimum(h, 1 - t)
        first, second = slope(t, y), slope(t + h, y + h * slope(t, y))
        error = snp.max(snp.abs(0.5 * h * (second - first))) + 1e-12
        good = error < 1e-6
        factor = snp.clip(0.9 * snp.sqrt(1e-6 / error), 0.3, 2.0)
        return snp.where(good, t + h, t), snp.where(good, y + 0.5 * h * (first + second), y), h * factor

    start = (snp.asarray(0.0), 1.0 + 0.0 * a, snp.asarray(0.1))
    return snp.sum(loop(lambda s: s[0] < 1 - 1e-12, body, start)[1])


def lanczos(loop: Loop, a: Any) -> Any:
    """The coefficients of Lanczos' method, added: until a vector vanishes, or `n - 2` steps, 20 at most."""
    n = len(a)
    most = min(n - 2, 20)
    matrix = snp.diag(snp.arange(1.0, n + 1.0)) + a * a[:, None]

    def body(state: Any) -> Any:
        v, before, beta, total, i = state
        w = matrix @ v - beta * before
        alpha = w @ v
        w = w - alpha * v
        beta = snp.sqrt(w @ w)
        return w / beta, v, beta, total + alpha + beta, i + 1

    start = snp.ones(n) / math.sqrt(n)
    return loop(
        lambda s: (s[2] > 1e-9) & (s[4] < most), body, (start, 0 * start, snp.asarray(1.0), snp.asarray(0.0), 0)
    )[3]


def conjugate_gradients(loop: Loop, a: Any) -> Any:
    """A product with the solution of a linear system, until the residual is small."""
    n = len(a)
    matrix = snp.diag(snp.arange(1.0, n + 1.0)) + a * a[:, None]

    def body(state: Any) -> Any:
        x, r, p = state
        q = matrix @ p
        step = (r @ r) / (p @ q)
        after = r - step * q
        return x + step * p, after, after + (after @ after) / (r @ r) * p

    b = snp.arange(1.0, n + 1.0)
    return loop(lambda s: s[1] @ s[1] > 1e-10, body, (0 * b, b, b))[0] @ snp.cos(b)


def nested(loop: Loop, a: Any) -> Any:
    """Forty rounds, each of which solves an equation by thirty rounds of a fixed-point iteration."""

    def body(state: Any) -> Any:
        x, total = state
        y, _ = loop(lambda s: s[1] > 2e-9, lambda s: (snp.cos(s[0] * a + x), 0.5 * s[1]), (x, snp.asarray(2.0)))
        return x * 0.9, total + y * y

    start = (1.0 + 0.0 * a, 0.0 * a)
    return snp.sum(loop(lambda s: s[0][0] > 0.9**39.5, body, start)[1])


def plain(limit: float, loop: Loop, a: Any) -> Any:
    """A map that is chaotic for some numbers, again and again."""

    def body(state: Any) -> Any:
        t, x = state
        return t + 1, snp.sin(a * x) + 0.5 * x

    return snp.sum(loop(lambda s: s[0] < limit, body, (snp.asarray(0.0), 0.3 + 0.0 * a))[1])


def _numbers(n: int) -> Any:
    return np.linspace(0.5, 1.5, n)


# Program, the rounds of its loops, its argument.
PROGRAMS: dict[str, tuple[Callable[[Loop, Any], Any], tuple[int, ...], Any]] = {
    "bisection, 1 number": (bisection, (41,), _numbers(1)),
    "bisection, 1000 numbers": (bisection, (41,), _numbers(1000)),
    "Newton, 1 number": (newton, (26,), _numbers(1)),
    "Newton, 1000 numbers": (newton, (26,), _numbers(1000)),
    "adaptive steps, 1 equation": (adaptive, (718,), _numbers(1)),
    "adaptive steps, 100 equations": (adaptive, (958,), _numbers(100)),
    "Lanczos, 10": (lanczos, (8,), _numbers(10)),
    "Lanczos, 200": (lanczos, (20,), _numbers(200)),
    "conjugate gradients, 10": (conjugate_gradients, (10,), _numbers(10)),
    "conjugate gradients, 200": (conjugate_gradients, (77,), _numbers(200)),
    "nested, 1 number": (nested, (40, 30), _numbers(1)),
    "nested, 100 numbers": (nested, (40, 30), _numbers(100)),
    **{
        f"1e{k} rounds, {n} number{'s' * (n > 1)}": (functools.partial(plain, 10**k), (10**k,), _numbers(n))
        for n in (1, 100)
        for k in (3, 4, 5, 6)
        if n * 10**k < 10**8
    },
}


def _best(calls: dict[str, Callable[[], Any]], tiny: bool) -> dict[str, float]:
    best = dict.fromkeys(calls, math.inf)
    counts = dict.fromkeys(calls, 1)
    for _ in range(1 if tiny else _TURNS):
        for name, call in calls.items():
            while True:
                start = time.perf_counter()
                for _ in range(counts[name]):
                    stagec.block_until_ready(call())
                seconds = time.perf_counter() - start
                if tiny or seconds >= _SECONDS:
                    break
                counts[name] *= 2
            best[name] = min(best[name], seconds / counts[name])
    return best


def measure(name: str, tiny: bool) -> dict[str, Any]:
    """Seconds of one program, in both forms."""
    program, rounds, a = PROGRAMS[name]
    if tiny:
        a = a[:5]
    forms = {"while": lax.while_loop, "scan": counted(rounds)}
    calls: dict[str, Callable[[], Any]] = {}
    slopes = {}
    a = snp.asarray(a)
    for form, loop in forms.items():
        function = functools.partial(program, loop)
        forward, gradient = stagec.jit(function), stagec.jit(stagec.grad(function))
        calls[form] = functools.partial(forward, a)
        calls[f"{form} gradient"] = functools.partial(gradient, a)
        slopes[form] = np.asarray(gradient(a))
    notes = ""
    if not tiny and not np.allclose(*slopes.values(), rtol=1e-6):
        notes = f"gradients differ by {abs(slopes['while'] - slopes['scan']).max():.1g}"
    return {"name": name, **_best(calls, tiny), "notes": notes}


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Times and ratios."""
    out = Table(title="gradients through while_loop")
    out.add_column("program", no_wrap=True)
    for title in ("over scan's", "over forward", "scan's over forward", "gradient ms", "forward ms", "scan forward ms"):
        out.add_column(title, justify="right")
    out.add_column("notes")
    for row in rows:
        slope, forward = row["while gradient"], row["while"]
        cells = [slope / row["scan gradient"], slope / forward, row["scan gradient"] / row["scan"]]
        times = [slope, forward, row["scan"]]
        out.add_row(row["name"], *(f"{c:.2f}" for c in cells), *(f"{t * 1e3:.4g}" for t in times), row["notes"])
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks gradients", description=__doc__)
    parser.add_argument("program", nargs="*", help="a part of a program's name")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small arrays, one turn: does every program run?")
    options = parser.parse_args(arguments)
    names = [n for n in PROGRAMS if not options.program or any(part in n for part in options.program)]
    with stagec.enable_x64():
        rows = [measure(name, options.tiny) for name in names]
    if options.json:
        print(json.dumps(rows))
    else:
        Console(width=150).print(table(rows))
