"""Hunts races: threads do the same and different things with stagec at once, and each result is that of one thread.

    python -m tests.races --seconds 300 --threads 8

Each round makes functions that are new, so that threads meet while they are traced, compiled, loaded, and called for
the first time; then one thread does the same with functions of its own. Without an interpreter lock, the threads run at
the same time; elsewhere the interpreter changes between them as often as it can.
"""

import argparse
import contextlib
import itertools
import os
import random
import sys
import tempfile
import threading
import time
import traceback
import warnings

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.lax import fori_loop, scan

# No job comes near; a deadlock would.
LIMIT = 300


class Jobs:
    """What a round does: functions that all threads share, and methods `job_...` that return arrays."""

    def __init__(self, seed, folder):
        rng = np.random.default_rng(seed)
        self.seed, self.folder = seed, folder
        self.x = rng.normal(size=(6, 6)).astype(np.float32)
        self.c = float(np.float32(seed % 7 + 0.5))
        c = self.c
        self.shared = snp.asarray(self.x)
        self.large = snp.asarray(rng.normal(size=100_000).astype(np.float32))
        self.f = stagec.jit(lambda x: snp.sin(x) * c + x.sum())
        self.inner = stagec.jit(lambda x: snp.tanh(x) * c)
        self.outer = stagec.jit(lambda t: {"y": self.inner(t["x"]) @ t["x"], "z": (t["x"].max(), self.inner(t["x"]))})
        self.donating = stagec.jit(lambda x: x * c + 1, donate_argnums=0)
        self.static = stagec.jit(lambda x, n: snp.stack([x * i for i in range(1, n)]), static_argnums=1)
        self.loop = stagec.jit(lambda x: fori_loop(0, 5, lambda i, y: snp.cos(y) + i * c, x))
        self.flow = stagec.jit(self._flow, python=True)
        self.wide = stagec.jit(lambda x: (snp.exp(-x * x) * c).reshape(100, -1).sum(0))
        self.called = stagec.jit(lambda x: stagec.pure_callback(lambda v: v * 2, x, x) + c)
        self.bound = stagec.jit(self._scaled)
        self.open = stagec.jit(lambda x: (x * c).sum(0), dynamic={"x": "n, _"})

        @stagec.custom_vjp
        def clipped(x):
            return snp.clip(x, -1, 1)

        clipped.defvjp(lambda x: (clipped(x), x), lambda x, ct: (ct * c,))
        self.custom = clipped
        self._file = None
        self._lock = threading.Lock()

    def _scaled(self, x):
        return x * self.c

    def _flow(self, x):
        total = 0.0
        for i in range(3):
            if x.sum() > i:
                total = total + x * i
            else:
                total = total - x
        return total

    def job_same_function(self):
        return [self.f(self.x), self.f(self.shared), self.f(self.x[:3]), self.f(self.x[0]), self.f(self.shared[1])]

    def job_own_function(self):
        own = stagec.jit(lambda x: snp.cos(x) * self.c - x.min())
        return [own(self.x), own(self.shared[:2])]

    def job_nested(self):
        return [self.outer({"x": self.x}), self.inner(self.x), self.static(self.x, 3), self.static(self.x, n=4)]

    def job_transforms(self):
        def loss(x):
            return (self.inner(x) ** 2).sum()

        x_dot = snp.ones_like(self.shared)
        return [
            stagec.grad(loss)(self.shared),
            stagec.vmap(lambda row: row @ row * self.c)(self.shared),
            stagec.jvp(self.f, (self.shared,), (x_dot,)),
            stagec.jit(stagec.grad(loss))(self.x),
            stagec.grad(lambda x: self.custom(x).sum())(self.shared),
        ]

    def job_outside_jit(self):
        x = self.shared
        rows = [row.sum() for row in x]
        return [
            x + 1,
            x @ x.T,
            snp.where(x > 0, x, self.c),
            x[1:3, ::2],
            x.at[2].set(self.c),
            snp.sort(x, axis=1),
            *rows,
        ]

    def job_keys(self):
        key = stagec.random.key(self.seed)
        first, second = stagec.random.split(key)
        draw = stagec.jit(lambda k: stagec.random.normal(k, (3,)) * self.c)
        return [stagec.random.uniform(first, (4,)), draw(second), draw(stagec.random.fold_in(key, 3))]

    def job_donation(self):
        return [self.donating(snp.asarray(self.x + i)) for i in range(3)]

    def job_loops(self):
        total, rows = scan(lambda s, row: (s + row, s * self.c), snp.zeros(6, np.float32), self.shared)
        branch = lax.cond(self.shared[0, 0] > 0, lambda x: x + self.c, lambda x: x - self.c, self.shared)
        return [self.loop(self.x), total, rows, branch, self.flow(self.x[0]), self.flow(-self.shared[1])]

    def job_large(self):
        made = [self.wide(self.large) for _ in range(2)]
        return [*made, self.wide(made[0].sum() + self.large), snp.exp(self.large)[::1000]]

    def job_callbacks(self):
        return [self.called(self.x), self.called(self.x[0])]

    def job_options(self):
        with stagec.config.override(enable_x64=True):
            wide = self.f(self.x.astype(np.float64))
        with stagec.config.override(debug_nans=True):
            checked = self.f(self.x)
        with stagec.config.override(fast_math=True):
            fast = self.inner(self.x)
        with stagec.disable_jit():
            plain = self.f(self.x)
        assert wide.dtype == np.float64 and not stagec.config.enable_x64
        return [wide, checked, fast, plain]

    def job_disk(self):
        # Another folder has nothing yet; which thread compiles does not matter.
        with stagec.config.override(cache_dir=os.path.join(self.folder, "cache")):
            again = stagec.jit(lambda x: snp.sqrt(snp.abs(x)) * self.c)
            return [again(self.x), self.f(self.x[:2])]

    def job_files(self):
        with self._lock:
            if self._file is None:
                path = os.path.join(self.folder, f"f-{id(self)}.stagec")
                stagec.export(lambda x: snp.log1p(x * x) * self.c)("f32[6,6]").save(path)
                self._file = path, stagec.load(path)
        path, loaded = self._file
        return [loaded(self.x), stagec.load(path)(self.shared), loaded(self.shared)]

    def job_open_sizes(self):
        return [self.open(self.x[:n]) for n in (1, 2, 5)]

    def job_errors(self):
        try:
            self.f(self.x) @ snp.ones(5)
        except stagec.errors.ShapeError as error:
            said = str(error).splitlines()[0]
        try:
            stagec.jit(lambda x: x.reshape(7))(self.x)
        except stagec.errors.StagecError as error:
            said += str(error).splitlines()[0]
        return [np.frombuffer(said.encode(), np.uint8)]

    def job_forgotten(self):
        stagec.clear_caches()
        return [self.f(self.x), self.bound(self.x)]

    def job_profile(self):
        with contextlib.suppress(stagec.errors.StagecError), stagec.profile():  # one at a time
            self.f(self.x)
        return [self.f(self.x)]

    def job_looks(self):
        text = self.f.lower(self.x).as_text()
        assert "sine" in text and stagec.explain(self.f, self.x)
        return [np.asarray(stagec.eval_shape(self.outer, {"x": self.x})["y"].shape)]


NAMES = sorted(name for name in dir(Jobs) if name.startswith("job_"))


def arrays(found):
    return [np.asarray(leaf) for leaf in stagec.tree.leaves(found)]


def done(jobs, name):
    """The arrays that a job returns, or the error that it raised."""
    try:
        return arrays(getattr(jobs, name)())
    except Exception:
        return traceback.format_exc()


def difference(found, expected):
    """What is wrong with the outcome of a job; empty if nothing is."""
    if isinstance(found, str) or isinstance(expected, str):
        return "" if found == expected else f"{found}\n  where one thread has: {expected}"
    for i, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        if value.dtype != wanted.dtype or not np.array_equal(value, wanted, equal_nan=value.dtype.kind == "f"):
            return f"result {i} is {value!r}\n  where one thread has: {wanted!r}"
    return ""


def in_threads(count, jobs, names, order):
    """What each thread found, by the jobs' names; an unfinished thread is an error."""
    found = [{} for _ in range(count)]
    barrier = threading.Barrier(count)
    orders = [order.sample(names, len(names)) if i % 2 else list(names) for i in range(count)]

    def run(i):
        barrier.wait()
        for name in orders[i]:
            found[i][name] = done(jobs, name)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LIMIT
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        frames = sys._current_frames()
        for thread in threads:
            if thread.is_alive():
                print("".join(traceback.format_stack(frames[thread.ident])), file=sys.stderr)
        raise TimeoutError("a thread waits for ever")
    return found


def hunt(seconds, count, seed=0, names=None, rounds=None):
    """Rounds until the time is over; returns their number and what differed, as texts."""
    names, order, wrong = names or NAMES, random.Random(seed), []
    end = time.monotonic() + seconds
    interval = sys.getswitchinterval()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            sys.setswitchinterval(1e-6)
            for i in itertools.count(1):
                if i % 3 == 0:
                    stagec.clear_caches()
                found = in_threads(count, Jobs(seed + i, folder), names, order)
                one = Jobs(seed + i, folder)
                expected = {name: done(one, name) for name in names}
                for row, name in itertools.product(found, names):
                    if text := difference(row[name], expected[name]):
                        wrong.append(f"round {i}, {name}: {text}")
                wrong += [f"{n}: {e}" for n, e in expected.items() if isinstance(e, str)]
                if wrong or time.monotonic() > end or i == rounds:
                    return i, wrong
        finally:
            sys.setswitchinterval(interval)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.races", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("jobs", nargs="*", choices=[[], *NAMES], help="by default all")
    given = parser.parse_args()
    rounds, wrong = hunt(given.seconds, given.threads, given.seed, given.jobs)
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{rounds} rounds of {given.threads} threads, with the interpreter's lock {'on' if locked else 'off'}")
    print("\n".join(dict.fromkeys(wrong)))
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
