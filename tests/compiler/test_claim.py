"""Processes that want the same program at the same time: one compiles it, whatever happens to it."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import claim, log
from stagec.compiler.cache import DiskCache
from stagec.compiler.key import digest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX has the locks")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(stagec.__file__)))
KEY = digest({"number": "1"})

# Calls one function when it is told to, and says how often it was compiled.
WORKER = """
import json, os, signal, sys, time
import numpy as np
import stagec, stagec.numpy as snp
from stagec.compiler import build, claim, log

# A shell's background processes ignore it, and so do the processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

@stagec.jit
def wave(x):
    return snp.tanh(x) * 2 + snp.sin(x).sum()

before = build.compile_graph
def stays(*arguments):
    print("compiling", flush=True)
    time.sleep(600)
def fails(*arguments):
    print("compiling", flush=True)
    time.sleep(1)
    raise stagec.errors.CompileError("it cannot be compiled")
if sys.argv[1] in ("stays", "fails"):
    build.compile_graph = {"stays": stays, "fails": fails}[sys.argv[1]]
if sys.argv[1] == "hurries":
    claim.WAIT_SECONDS = 0.3
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[1] == "evaluates":
    stagec.config.update("tiered", True)
    wave(np.arange(3, dtype=np.float32))
    print("evaluated", flush=True)
    while not any(r.message == "compiled" for r in log.records("compile")):
        time.sleep(0.01)
try:
    found = float(wave(np.arange(3, dtype=np.float32))[0])
except (KeyboardInterrupt, stagec.errors.CompileError) as error:
    found = type(error).__name__
made = sum(r.message == "compiled" for r in log.records("compile"))
waited = any("another process" in r.message for r in log.records("cache"))
print(json.dumps([found, made, waited]))
"""
RESULT = pytest.approx(np.sin([0, 1, 2]).sum(), rel=1e-5)


class Worker:
    def __init__(self, directory, how="works"):
        env = {**os.environ, "PYTHONPATH": ROOT, "STAGEC_CACHE_DIR": str(directory), "STAGEC_LOG": "cache"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, how],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self):
        return self.process.stdout.readline().strip()

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def until_it_waits(self):
        for line in self.process.stderr:
            if "waiting" in line:
                return
        raise AssertionError("it never waited")

    def result(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return json.loads(out)


@pytest.fixture
def workers(tmp_path):
    with contextlib.ExitStack() as ended:

        def start(*ways):
            made = [Worker(tmp_path / "cache", how) for how in ways]
            for worker in made:
                ended.callback(worker.process.communicate)
                ended.callback(worker.process.kill)
            assert [worker.line() for worker in made] == ["ready"] * len(made)
            for worker in made:
                worker.begin()
            return made

        yield start


def test_processes_that_want_one_program_compile_it_once_in_total(workers, tmp_path):
    results = [worker.result() for worker in workers(*["works"] * 5)]
    assert [value for value, _, _ in results] == [RESULT] * 5
    assert sum(made for _, made, _ in results) == 1
    suffixes = [path.suffix for path in (tmp_path / "cache").iterdir() if path.suffix not in (".ledger", ".kernel")]
    assert suffixes == [".stagec"]


def test_after_a_kill_in_the_middle_of_a_compile_one_other_process_compiles(workers):
    (killed,) = workers("stays")
    assert killed.line() == "compiling"
    others = workers("works", "works", "works")
    for worker in others:
        worker.until_it_waits()
    killed.process.kill()
    results = [worker.result() for worker in others]
    assert [value for value, _, _ in results] == [RESULT] * 3
    assert sum(made for _, made, _ in results) == 1


def test_a_call_that_numpy_evaluates_waits_for_no_other_process_and_its_compile_does(workers):
    (killed,) = workers("stays")
    assert killed.line() == "compiling"
    (other,) = workers("evaluates")
    assert other.line() == "evaluated"
    other.until_it_waits()
    killed.process.kill()
    assert other.result() == [RESULT, 1, True]


def test_a_file_that_a_killed_process_left_is_used_again_and_removed(workers, tmp_path):
    (killed,) = workers("stays")
    assert killed.line() == "compiling"
    killed.process.kill()
    killed.process.wait()
    assert len(list(tmp_path.glob("cache/*.claim"))) == 1
    (other,) = workers("works")
    assert other.result() == [RESULT, 1, False]
    assert list(tmp_path.glob("cache/*.claim")) == []


def test_a_process_that_is_stopped_is_waited_for_a_bounded_time(workers):
    (stopped,) = workers("stays")
    assert stopped.line() == "compiling"
    stopped.process.send_signal(signal.SIGSTOP)
    (hurried,) = workers("hurries")
    assert hurried.result() == [RESULT, 1, True]


def test_when_a_compile_fails_the_others_find_out_for_themselves(workers):
    (failing,) = workers("fails")
    assert failing.line() == "compiling"
    others = workers("works", "works")
    assert failing.result() == ["CompileError", 0, False]
    assert [worker.result()[0] for worker in others] == [RESULT] * 2


def test_ctrl_c_ends_the_wait(workers):
    (busy,) = workers("stays")
    assert busy.line() == "compiling"
    (waiting,) = workers("works")
    waiting.until_it_waits()
    started = time.monotonic()
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.result() == ["KeyboardInterrupt", 0, True]
    assert time.monotonic() - started < 60  # the other stays for longer


HOLDER = """
import os, sys, time
from stagec.compiler.cache import DiskCache
with DiskCache(sys.argv[1], 1 << 20).claim(sys.argv[2], "f"):
    child = os.fork()
    if not child:
        os.write(1, b"closed\\n")
        time.sleep(60)
        os._exit(0)
    os.write(1, b"%d\\n" % child)
    time.sleep(60)
"""


def test_a_forked_child_does_not_keep_the_lock_of_a_parent_that_was_killed(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HOLDER, str(tmp_path), KEY],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    # The child says when it has closed its copy.
    lines = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
    (child,) = map(int, lines - {"closed"})
    try:
        parent.kill()
        parent.wait()
        log.clear()
        with DiskCache(tmp_path, 1 << 20).claim(KEY, "f"):
            assert log.records("cache") == []
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


def test_what_another_process_has_written_is_found_without_its_lock(tmp_path):
    """As where a lock is not given up."""
    cache = DiskCache(tmp_path, 1 << 20)
    with cache.claim(KEY, "f"):
        cache.put(KEY, {"number": "1"}, {}, b"program")
        with DiskCache(tmp_path, 1 << 20).claim(KEY, "f"):
            assert cache.get_made(KEY).payload == b"program"
        assert len(list(tmp_path.glob("*.claim"))) == 1
    assert list(tmp_path.glob("*.claim")) == []


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_locks_each_process_compiles(tmp_path, monkeypatch, reason):
    def flock(descriptor, operation):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(claim.fcntl, "flock", flock)
    function = stagec.jit(lambda x: x * 3 + reason)
    with stagec.config.override(cache_dir=str(tmp_path)):
        assert function(snp.ones(2)).tolist() == [3 + reason] * 2
    assert len(list(tmp_path.glob("*.stagec"))) == 1


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
def test_what_is_no_file_of_ours_is_not_locked(tmp_path, what):
    path = tmp_path / f"{KEY}.claim"
    if what == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with DiskCache(tmp_path, 1 << 20).claim(KEY, "f"):
        pass
    assert not (tmp_path / "elsewhere").exists()
    assert what != "pipe" or not path.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_waited_for(tmp_path):
    path = tmp_path / f"{KEY}.claim"
    path.touch()
    os.chown(path, 4242, -1)
    with path.open() as held:
        claim.fcntl.flock(held, claim.fcntl.LOCK_EX)
        log.clear()
        with DiskCache(tmp_path, 1 << 20).claim(KEY, "f"):
            assert log.records("cache") == []


def test_stale_files_are_removed_with_the_other_temporary_files(tmp_path):
    path = tmp_path / f"{digest({})}.claim"
    path.touch()
    os.utime(path, (1, 1))
    cache = DiskCache(tmp_path, 1 << 20)
    assert cache.info().temporary_files == 1
    cache.put(KEY, {"number": "1"}, {}, b"program")
    assert not path.exists()
