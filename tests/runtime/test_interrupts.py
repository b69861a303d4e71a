"""Signals to real processes: control comes back, the next call works, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time

import pytest

# Far more than it takes, for a machine that does other things too; the programs take several times as long.
SOON = 2.0

HEAD = """
import os, sys, threading, time
import numpy as np
import stagec, stagec.numpy as snp
from stagec import lax
from stagec.compiler import log

def interrupted(work, by=KeyboardInterrupt, when=lambda: True):
    def begin():
        wait_for(when)
        print("begin", flush=True)
    threading.Thread(target=begin).start()
    try:
        work()
    except by:
        print("back", time.monotonic(), flush=True)
    else:
        print("ended", flush=True)

def wait_for(condition):
    deadline = time.monotonic() + 100
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()

x = snp.arange(300.0)
# Sorting is a loop of the host's own.
looping = stagec.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: snp.sort(x) + 1, x))
wave = stagec.jit(lambda x: snp.sin(x) + 1)
"""


class Child:
    """A process that is interrupted each time it says `begin`."""

    def __init__(self, script, directory, kind=signal.SIGINT):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "STAGEC_CACHE_DIR": str(directory)},
        )
        # Seconds from each signal until control was back, and what else was printed.
        self.delays, self.lines = [], []
        sent = None
        for line in self.process.stdout:
            words = line.split()
            if words == ["begin"]:
                time.sleep(0.25)
                sent = time.monotonic()
                os.kill(self.process.pid, kind)
            elif words[0] == "back":
                self.delays.append(float(words[1]) - sent)
            else:
                self.lines.append(line.strip())
        self.last = time.monotonic()
        self.errors = self.process.stderr.read()
        self.status = self.process.wait()
        self.seconds_to_exit = time.monotonic() - self.last

    def check(self, interrupts=1):
        """Return the printed lines of a process that did what it should."""
        assert (self.status, self.errors) == (0, "")
        assert len(self.delays) == interrupts, self.lines
        assert max(self.delays, default=0) < SOON, self.delays
        return self.lines


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("interrupts")


def test_a_loop_of_the_host_is_interrupted_and_the_next_calls_work(cache):
    script = """
looping(x, 1), wave(x)
interrupted(lambda: looping(x, 10**8))
started = time.monotonic()
print(looping(x, 3)[1], wave(x)[0], time.monotonic() - started < 5)
"""
    assert Child(script, cache).check() == ["4.0 1.0 True"]


def test_a_loop_without_an_end_is_interrupted_after_short_ones_on_the_calling_thread(cache):
    script = """
until = stagec.jit(lambda n: lax.while_loop(lambda s: s[1] != n, lambda s: (snp.sin(s[0]), s[1] + 1), (1.0, 0)))
print([int(until(n)[1]) for n in range(9)][-1])
interrupted(lambda: until(-1))
print(until(7)[1])
"""
    assert Child(script, cache).check() == ["8", "7"]


PRODUCTS = """
eye = snp.eye(1500)
def products(a):
    for _ in range(16):
        a = a @ a
    return a
products, small = stagec.jit(products), stagec.jit(lambda a: a @ a)
"""


def test_a_program_without_loops_is_interrupted_where_its_result_is_waited_for(cache):
    script = """
products(eye), small(eye)
result = products(eye)
interrupted(lambda: np.asarray(result))
print(result.is_ready(), small(eye)[1, 1], wave(x)[0], result[1, 1], result.is_ready())
"""
    assert Child(PRODUCTS + script, cache).check() == ["False 1.0 1.0 1.0 True"]


def test_a_loop_on_worker_threads_is_interrupted_and_others_do_not_wait_for_it(cache):
    script = """
queued = stagec.jit(lambda a, n: lax.fori_loop(0, n, lambda i, a: snp.sin(a @ a), a))
small = stagec.jit(lambda a: a @ a)
donating = stagec.jit(lambda a: a @ a, donate_argnums=0)
a = snp.ones((512, 512))
np.asarray(queued(a, 1)), np.asarray(small(a)), np.asarray(donating(a + 0))
interrupted(lambda: np.asarray(queued(a, 10**7)))
started = time.monotonic()
print(small(a)[0, 0], donating(a + 0)[0, 0], time.monotonic() - started < 5, stagec.devices()[0].has_abandoned())
"""
    assert Child(script, cache).check() == ["512.0 512.0 True True"]


SLOW = """
def slow(x):
    # Many windows, no two of them equal: compiling takes a second and more.
    for i in range(200):
        x = lax.reduce_window(snp.sin(x) @ x + i, 0.0, lambda a, b: 0.5 * a + b, (3, 3), (1, 1), "SAME")
    return x
slow = stagec.jit(slow)
z = snp.ones((20, 20))
def count(message):
    return sum(message in r.message for r in log.records())
def compiling():
    return count("compiling")
"""


def test_an_interrupted_compile_goes_on_and_the_next_call_joins_it(tmp_path):
    script = """
interrupted(lambda: slow(z), when=compiling)
print(count("compiled"), slow(z).shape, count("compiling"), count("compiled"))
"""
    assert Child(SLOW + script, tmp_path).check() == ["0 (20, 20) 1 1"]


def test_an_interrupted_compile_reaches_the_disk(tmp_path):
    script = """
interrupted(lambda: slow(z), when=compiling)
from stagec.compiler import cache
wait_for(lambda: list(cache.default_cache().entries()))
"""
    Child(SLOW + script, tmp_path).check()
    again = Child(SLOW + 'print(slow(z).shape, count("compiling"), count("on disk"))', tmp_path)
    assert again.check(interrupts=0) == ["(20, 20) 0 1"]


def test_a_wait_for_a_compile_of_another_thread_is_interrupted(tmp_path):
    script = """
other = threading.Thread(target=slow, args=(z,))
other.start()
wait_for(compiling)
interrupted(lambda: slow(z))
other.join()
print(slow(z).shape, count("compiling"))
"""
    assert Child(SLOW + script, tmp_path).check() == ["(20, 20) 1"]


def test_a_long_branch_is_interrupted_after_short_ones(cache):
    script = """
long = lambda x: lax.fori_loop(0, 10**8, lambda i, x: snp.sin(x) + 1, x)
branching = stagec.jit(lambda p, x: lax.cond(p, long, lambda x: x, x))
for _ in range(3):
    branching(False, x)
interrupted(lambda: branching(True, x))
print(branching(False, x)[1])
"""
    assert Child(script, cache).check() == ["1.0"]


def test_a_file_with_open_dimensions_is_interrupted(cache):
    script = """
def again(function, text):
    return stagec.load(stagec.export(function)(text).serialize())
loop = again(lambda x: lax.fori_loop(0, 60_000, lambda i, x: snp.cos(snp.sin(x) * x), x), "f32[b,100]")
endless = again(lambda x: lax.while_loop(lambda x: x.sum() < 0, lambda x: snp.sin(x) - 1, x), "f32[b]")
loop(snp.ones((1, 100))), endless(x), endless(x)
interrupted(lambda: loop(snp.ones((300, 100))))
interrupted(lambda: endless(-x))
print(endless(x)[1])
"""
    assert Child(script, cache).check(2) == ["1.0"]


def test_donated_arguments_of_an_interrupted_call_are_gone(cache):
    script = """
donating = stagec.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: snp.sort(x) + 1, x), donate_argnums=0)
donating(x + 0, 1)
given = x + 0
interrupted(lambda: donating(given, 10**8))
try:
    given + 1
except stagec.errors.DonationError as error:
    print(str(error).splitlines()[0])
print(donating(x + 0, 1)[0])
"""
    gone, result = Child(script, cache).check()
    assert gone.startswith("Array has been deleted: float32[300] was donated to <lambda>, called at <string>:")
    assert result == "1.0"


def test_a_program_that_calls_python_is_interrupted_inside_and_outside_of_its_callbacks(cache):
    script = """
threads = set()
def note(i):
    threads.add((threading.current_thread().name, stagec.config.enable_x64))
calling = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, s: (stagec.debug.callback(note, i), s + 1)[1], 0))
def nap(i):
    time.sleep(60)
slowly = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, s: (stagec.debug.callback(nap, i), s + 1)[1], 0))
rarely = stagec.jit(lambda x, n: (stagec.debug.callback(note, n), lax.fori_loop(0, n, lambda i, x: snp.sort(x), x))[1])
calling(2), slowly(0), rarely(x, 1)
interrupted(lambda: calling(10**8))
interrupted(lambda: slowly(3))
interrupted(lambda: rarely(x, 10**8))
with stagec.config.override(enable_x64=True):
    calling(3)
print(sorted(threads), calling(3))
"""
    assert Child(script, cache).check(3) == ["[('MainThread', False), ('MainThread', True)] 3"]


def test_a_handler_may_raise_something_else(cache):
    script = """
import signal
def alarm(*_):
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, alarm)
products.lower(eye).compile(), looping(x, 1)
interrupted(lambda: looping(x, 10**8), TimeoutError)
result = products(eye)
interrupted(lambda: result.block_until_ready(), TimeoutError)
print(wave(x)[0])
"""
    assert Child(PRODUCTS + script, cache, signal.SIGALRM).check(2) == ["1.0"]


# The runtime's extension ends the process if Python code that its import runs, such as that of `enum`, raises.
IMPORT = """
import enum
make, inside = enum.EnumMeta.__call__, threading.Event()
def slowly(*arguments, **options):
    if not inside.is_set() and "_runtime" in str(options.get("module")):
        inside.set()
        for _ in range(100):
            time.sleep(0.01)
    return make(*arguments, **options)
enum.EnumMeta.__call__ = slowly
"""


@pytest.mark.parametrize("work", ["wave(x)", "stagec.devices()[0].memory_stats()"])
def test_an_import_of_the_runtime_is_interrupted_and_the_end_of_the_process_waits_for_it(cache, work):
    assert Child(f"{IMPORT}interrupted(lambda: {work}, when=inside.is_set)", cache).check() == []


@pytest.mark.parametrize("work", ["looping(x, 10**8)", "slow(z), when=compiling"])
def test_the_process_ends_soon_after_an_interrupt(tmp_path, work):
    script = f"""
stagec.config.update("enable_cache", False)
looping(x, 1)
interrupted(lambda: {work})
print("ends", flush=True)
sys.stdout.close()
os.close(1)
sys.exit(7)
"""
    child = Child(SLOW + script, tmp_path)
    assert (child.status, child.errors, child.lines) == (7, "", ["ends"])
    assert child.seconds_to_exit < 3 * SOON


def test_a_vulkan_device_is_interrupted(cache, vulkan):
    script = """
queued = stagec.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: snp.sin(x) + 1, x), device="vulkan")
other = stagec.jit(lambda x: x * 2, device="vulkan")
np.asarray(queued(x, 1)), np.asarray(other(x)), wave(x)
interrupted(lambda: np.asarray(queued(x, 2_000)))
print(wave(x)[0], other(x)[1], queued(x, 0)[1])
"""
    assert Child(script, cache).check() == ["1.0 2.0 1.0"]


UNCAUGHT = {
    "a call of a remembered signature": "looping(x, 1); interrupted_in(lambda: looping(x, 10**8))",
    "a result": "y = stagec.jit(lambda a: a @ a @ a @ a @ a)(snp.ones((5000, 5000))); interrupted_in(lambda: print(y))",
}


@pytest.mark.parametrize("wait", UNCAUGHT)
def test_an_uncaught_interrupt_shows_the_users_frames_alone(wait, tmp_path):
    script = f"""
def interrupted_in(work):
    threading.Timer(0.5, print, ["begin"], {{"flush": True}}).start()
    work()

{UNCAUGHT[wait]}
"""
    child = Child(script, tmp_path)
    assert child.status == -signal.SIGINT
    frames = [line.strip() for line in child.errors.splitlines() if line.startswith("  File")]
    files = [frame.split(", ")[0] for frame in frames]
    # Python 3.10 adds the frame that raised the interrupt again.
    assert files[:3] == ['File "<string>"'] * 3 and len(files) == 3 + (sys.version_info < (3, 11))
    assert child.errors.endswith("KeyboardInterrupt\n")


def test_a_process_may_end_while_a_program_runs(cache):
    # What it reads is NumPy's memory, which goes with the interpreter.
    script = """
result = products.lower(eye).compile()(eye)
print(result.is_ready())
"""
    assert Child(PRODUCTS + script, cache).check(interrupts=0) == ["False"]
