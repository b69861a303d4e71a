"""Interrupts at random moments leave nothing behind: no lock, no trace, no wrong result."""

import os
import subprocess
import sys

import pytest

HEAD = """
import faulthandler, random, signal, sys, time
import numpy as np
import stagec, stagec.numpy as snp
from stagec import lax
from stagec.core import location
from stagec.core.config import state
faulthandler.dump_traceback_later(100, exit=True)
signal.signal(signal.SIGALRM, signal.default_int_handler)
sys.unraisablehook = lambda _: None  # Python goes on after an interrupt of a finalizer, and says so
rng = random.Random(1)
count = 0

def interrupted(work, seconds):
    global count
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, seconds))
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        count += 1
        return error  # its traceback holds the frames, as the prompt does
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
"""

CALLS = """
x, big = snp.arange(10.0), snp.ones((400, 400))
quick = stagec.jit(lambda x: x + 1)
loop = stagec.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: snp.sort(x) + 1, x))
queued = stagec.jit(lambda x: snp.sin(x) @ x)
queued_loop = stagec.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: snp.sin(x) + 1, x))
donating = stagec.jit(lambda x: x * 2, donate_argnums=0)
queued_donating = stagec.jit(lambda x: snp.sin(x) + x, donate_argnums=0)
spec = stagec.ShapeDtypeStruct((10,), np.float32)
calling = stagec.jit(lambda x: stagec.pure_callback(lambda x: np.asarray(x) * 2, spec, x))
def note(i):
    pass
calling_loop = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, s: (stagec.debug.callback(note, i), s + 1)[1], 0))
calls = [
    lambda: quick(x)[1], lambda: loop(x, 5)[0], lambda: queued(big)[0, 0], lambda: queued_loop(big, 3)[0, 0],
    lambda: donating(x + 0)[1], lambda: queued_donating(big + 0)[0, 0], lambda: calling(x)[1], lambda: calling_loop(5),
]
expected = [float(call()) for call in calls]

def check(number):
    assert float(calls[number]()) == expected[number], number

for _ in range(800):
    number = rng.randrange(len(calls))
    interrupted(lambda: [check(number) for _ in range(20)], 2e-3)
for number in range(len(calls)):
    check(number)
assert count > 100
"""

TRACES = """
def loss(w, x):
    h = lax.fori_loop(0, 3, lambda i, h: snp.tanh(h @ w), x)
    return stagec.jit(lambda a: (a * a).sum())(h) + lax.cond(h[0, 0] > 0, lambda: 1.0, lambda: 2.0)

w, x = snp.ones((3, 3)), snp.ones((4, 3))
for _ in range(300):
    traced = stagec.jit(lambda w, x: stagec.vmap(stagec.grad(loss), (None, 0))(w, x[None]))
    kept = interrupted(lambda: traced.lower(w, x).compiler_ir(), 3e-2)
    found = state.trace, state.overrides, state.plain, location.ambient.location, location.ambient.scope
    assert found == (None, {}, True, None, ""), found
assert count > 50
"""

ENDS = """
sys.unraisablehook = sys.__unraisablehook__  # no finalizer of stagec's is Python that could be interrupted

class Model:
    def call(self, x):
        return x

def work():
    for _ in range(1000):
        stagec.jit(lambda x: x)
        stagec.jit(Model().call)

work()  # imports what it needs
for _ in range(200):
    interrupted(work, 2e-3)
assert count > 180, count
"""


@pytest.mark.parametrize("script", [CALLS, TRACES, ENDS], ids=["calls", "traces", "ends"])
def test_interrupts_at_random_moments_leave_nothing_behind(tmp_path, script):
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script],
        env={**os.environ, "STAGEC_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
