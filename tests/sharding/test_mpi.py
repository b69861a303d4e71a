"""One program in several processes, which MPI starts and connects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
if MPIEXEC is None:
    pytest.skip("there is no mpiexec", allow_module_level=True)
HERE = Path(__file__).parent
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))


def start(count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    return subprocess.run(
        [str(MPIEXEC), "-n", str(count), sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )


def run(count: int, program: str) -> list[str]:
    """What a program prints, a line for each process, in the order of their numbers."""
    head = """
        import numpy as np
        import stagec
        import stagec.numpy as snp
        from stagec import NamedSharding, P, lax
        from stagec.experimental import multihost_utils
        stagec.distributed.initialize()
        rank = stagec.process_index()
        mesh = stagec.make_mesh((stagec.device_count(),), ("x",))
        rows = NamedSharding(mesh, P("x"))
        def show(*values):
            for turn in range(stagec.process_count()):
                multihost_utils.sync_global_devices("show")
                if turn == rank:
                    print(rank, *values, flush=True)
        """
    done = start(count, "-c", textwrap.dedent(head) + textwrap.dedent(program))
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (2, 2), (4, 1), (8, 1)])
def test_random_programs_are_right_in_all_processes(count: int, devices: int) -> None:
    first = START + 1000 * count + 100 * devices
    done = start(count, str(HERE / "of_processes.py"), str(first), str((12 if count < 8 else 4) * FUZZ), str(devices))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == count


def test_an_array_of_several_processes() -> None:
    found = run(
        2,
        """
        x = stagec.device_put(np.arange(4.0, dtype=np.float32), rows)
        assert not x.is_fully_addressable and len(x.sharding.device_set) == 2 and not x.is_deleted()
        shard, = x.addressable_shards
        try:
            np.asarray(x)
        except stagec.errors.UnsupportedError as error:
            refused = "is spread over several processes" in str(error)
        total = (x * 2).sum()
        show(shard.data, shard.index, refused, float(total), total.is_fully_replicated)
        """,
    )
    assert found == [
        "0 [0. 1.] (slice(0, 2, None),) True 12.0 True",
        "1 [2. 3.] (slice(2, 4, None),) True 12.0 True",
    ]


def test_arrays_are_made_of_what_each_process_has() -> None:
    found = run(
        2,
        """
        whole = np.arange(8.0, dtype=np.float32).reshape(4, 2)
        made = [
            stagec.make_array_from_callback((4, 2), rows, lambda index: whole[index]),
            stagec.make_array_from_process_local_data(rows, whole[2 * rank : 2 * rank + 2]),
            multihost_utils.host_local_array_to_global_array(whole[2 * rank : 2 * rank + 2], mesh, P("x")),
            snp.asarray(whole, device=rows),
            stagec.jit(lambda: snp.arange(8.0).reshape(4, 2), out_shardings=rows)(),
        ]
        same = [np.array_equal(multihost_utils.process_allgather(m, tiled=True), whole) for m in made]
        parts = [m.addressable_data(0).shape for m in made]
        show(same, parts, multihost_utils.process_allgather(np.array(rank)), multihost_utils.broadcast_one_to_all(rank))
        """,
    )
    for rank, line in enumerate(found):
        assert line == f"{rank} {[True] * 5} {[(2, 2)] * 5} [0 1] 0"


def test_data_parallel_training_gathers_nothing() -> None:
    found = run(
        2,
        """
        from stagec.compiler import log
        x = stagec.device_put(np.ones((8, 4), np.float32), rows)
        def loss(w, x):
            return (snp.tanh(x @ w) ** 2).mean()
        def steps(w, x):
            return lax.scan(lambda w, _: (w - 0.1 * stagec.grad(loss)(w, x), loss(w, x)), w, None, length=5)
        w, losses = stagec.jit(steps)(snp.ones((4, 3)), x)
        gathers = [r for r in log.records("lower") if "gathered" in r.message]
        show(len(gathers), losses.shape, float(losses[-1]) < float(losses[0]), w.sharding.is_fully_replicated)
        """,
    )
    assert found == [f"{rank} 0 (5,) True True" for rank in range(2)]


def test_the_log_says_what_is_gathered() -> None:
    found = run(
        2,
        """
        from stagec.compiler import log
        x = stagec.device_put(np.float32([3, 1, 2, 0]), rows)
        y = stagec.jit(snp.sort)(x)
        said = [r for r in log.records("lower") if "its operands are gathered" in r.message]
        show(np.asarray(y), [(r.message.split()[1], r.fields["bytes"]) for r in said])
        """,
    )
    assert found == [f"{rank} [0. 1. 2. 3.] [('sort', 16)]" for rank in range(2)]


def test_processes_compile_a_program_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGEC_CACHE_DIR", str(tmp_path))
    program = """
        from stagec.compiler import log
        x = stagec.device_put(np.ones(64, np.float32), rows)
        stagec.jit(lambda x: snp.sin(x) / snp.cos(x).sum())(x).block_until_ready()
        show(sum(r.message == "compiled" for r in log.records("compile")))
        """
    # The program that cuts the array, and that of the function.
    assert sum(int(line.split()[1]) for line in run(2, program)) == 2
    assert sum(int(line.split()[1]) for line in run(2, program)) == 0


def test_a_process_that_fails_ends_the_others() -> None:
    started = time.monotonic()
    done = start(
        2,
        "-c",
        textwrap.dedent("""
            import numpy as np, stagec
            stagec.distributed.initialize()
            rows = stagec.NamedSharding(stagec.make_mesh((2,), ("x",)), stagec.P("x"))
            x = stagec.device_put(np.ones(4, np.float32), rows)
            if stagec.process_index() == 1:
                raise RuntimeError("this process has failed")
            x.sum().block_until_ready()
            """),
    )
    assert done.returncode != 0 and "this process has failed" in done.stderr
    assert time.monotonic() - started < 120
