"""Jitted functions and files in real workers of Ray: one compile in total, and workers that are killed."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from distributing import X, expected, wave, write_scripts

import stagec
import stagec.numpy as snp
from stagec.compiler import log

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]'")


class Worker:
    """Calls functions, and says what it compiled."""

    def call(self, function, *args):
        return function(*args)

    def state(self):
        return os.getpid(), sum(r.message == "compiled" for r in log.records("compile"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Three processes that share a cache that is empty at first, and come back when they are killed."""
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    environment = {
        "STAGEC_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "STAGEC_NUM_THREADS": "1",
        "PYTHONPATH": path,  # where this module and `distributing` are found
    }
    # A cluster of this machine and this test, which has no use for a token.
    before = os.environ.get("RAY_AUTH_MODE")
    os.environ["RAY_AUTH_MODE"] = "disabled"
    try:
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": environment})
        try:
            made = ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=1)(Worker)
            yield [made.remote() for _ in range(3)]
        finally:
            ray.shutdown()
    finally:
        if before is None:
            del os.environ["RAY_AUTH_MODE"]
        else:
            os.environ["RAY_AUTH_MODE"] = before


def states(workers):
    return ray.get([worker.state.remote() for worker in workers])


def test_workers_that_call_a_function_at_once_compile_it_once_in_total(workers):
    results = ray.get([worker.call.remote(wave, X) for worker in workers])
    for result in results:
        assert type(result) is stagec.Array
        np.testing.assert_allclose(result, expected(X), rtol=1e-5, atol=1e-6)
    assert sum(compiled for _, compiled in states(workers)) == 1


def test_a_killed_worker_comes_back_and_compiles_nothing_again(workers):
    ray.get([worker.call.remote(wave, X) for worker in workers])
    (pid, _), *_ = states(workers)
    os.kill(pid, signal.SIGKILL)
    np.testing.assert_allclose(ray.get(workers[0].call.remote(wave, X)), expected(X), rtol=1e-5, atol=1e-6)
    (now, compiled), *_ = states(workers)
    assert now != pid and compiled == 0


def test_tasks_closures_transformations_and_files(workers, tmp_path):
    scale = 3.0
    scaled = stagec.jit(lambda x: x * scale)
    stagec.export(wave)(X).save(tmp_path / "wave")
    for function in (scaled, stagec.jit(stagec.grad(lambda x: (x * x).sum())), stagec.load(tmp_path / "wave")):
        found = ray.get(workers[1].call.remote(function, X))
        np.testing.assert_allclose(found, function(X), rtol=1e-6)


def test_arrays_in_the_object_store(workers):
    stored = ray.put(snp.asarray(X))
    assert type(ray.get(stored)) is stagec.Array
    np.testing.assert_allclose(ray.get(workers[2].call.remote(wave, stored)), expected(X), rtol=1e-5, atol=1e-6)


def test_the_script_of_the_page_runs(tmp_path):
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": path}
    command = [sys.executable, write_scripts(tmp_path, "tasks_of_ray.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert "[853, 862, 870, 879]\n" in done.stdout, done.stderr
