"""Ctrl-C while passes run: real signals to real processes."""

import subprocess
import sys
import threading

import pytest

import passes
from passes import bindings

PRELUDE = """
import random, signal, time
import passes
from passes import bindings

lines = [f"%{i + 1} = stablehlo.add %{i}, %{i} : tensor<4xf32>" for i in range(200)]
body = "\\n".join(lines).replace("%0,", "%a,").replace("%0 ", "%a ")
text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\\n" + body
text += "\\n return %200 : tensor<4xf32>\\n}"
context = bindings.new_context()
module = bindings.ir.Module.parse(text, context)

@passes.pattern("stablehlo.add")
def looks(op):
    \"\"\"Changes nothing.\"\"\"
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", PRELUDE + program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_interrupts_at_any_moment_leave_a_module_that_verifies():
    # Without the helper, an exception in a callback of MLIR ends the process.
    out = run("""
def interrupt(number, frame):
    if running:
        raise KeyboardInterrupt

running = False
signal.signal(signal.SIGALRM, interrupt)
seconds = 1e9
for _ in range(4):
    module = bindings.ir.Module.parse(text, context)
    started = time.perf_counter()
    passes.run(module, "default", extra=[looks])
    seconds = min(seconds, time.perf_counter() - started)
random.seed(0)
interrupted = 0
for _ in range(60):
    module = bindings.ir.Module.parse(text, context)
    try:
        running = True
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, seconds))
        passes.run(module, "default", extra=[looks])
        running = False  # an alarm that comes from here on is dropped: nothing would catch it
    except KeyboardInterrupt:
        interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    module.operation.verify()
print(interrupted)
""")
    assert int(out) >= 5


@pytest.mark.parametrize("call", ["passes.run(module, 'none', extra=[slow])", "passes.apply(module, [slow])"])
def test_control_returns_soon_and_the_next_run_works(call):
    out = run(f"""
import os, threading
begun = []

@passes.pattern("stablehlo.add")
def slow(op):
    if not begun:
        begun.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)

try:
    {call}
except KeyboardInterrupt:
    print(time.perf_counter() - begun[0])
module.operation.verify()
assert passes.apply(module, [looks]) == {{}}
assert not [t for t in threading.enumerate() if t.name == "passes-helper"]
""")
    # All of it would take 10 seconds.
    assert float(out) < 5


def test_a_helper_works_for_the_main_thread_alone():
    threads = []

    @passes.pattern("stablehlo.add")
    def look(op):
        threads.append(threading.current_thread())

    def apply():
        module = bindings.ir.Module.parse(
            "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %b = stablehlo.add %a, %a : tensor<f32>\n"
            " return %b : tensor<f32>\n}",
            bindings.new_context(),
        )
        passes.run(module, "none", extra=[look])

    apply()
    other = threading.Thread(target=apply)
    other.start()
    other.join()
    assert threads[0].name == "passes-helper" and threads[-1] is other


def test_passes_see_the_location_that_is_current():
    seen = []
    with bindings.new_context() as context, bindings.ir.Location.name("here", context=context):
        module = bindings.ir.Module.create()
        passes.run(module, "none", extra=[lambda module: seen.append(str(bindings.ir.Location.current))])
    assert seen == ['loc("here")']


def test_a_child_that_waits_for_the_parents_helper_is_told():
    out = run("""
import os

asked = []

@passes.pattern("stablehlo.add")
def slow(op):
    if not asked:  # only now: Thread.start itself never returns in a child that is forked inside it
        asked.append(op)
        signal.raise_signal(signal.SIGALRM)
        while not children:
            time.sleep(0.01)

signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
children = []
try:
    passes.run(module, "none", extra=[slow])
except passes.PassError as error:
    print(error, flush=True)
    os._exit(0)
os.waitpid(children[0], 0)
print("parent", bool(children[0]))
""")
    assert "the passes run in the parent alone" in out and "Fix: end the child" in out and out.endswith("parent True\n")
