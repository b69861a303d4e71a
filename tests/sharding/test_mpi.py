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


def test_what_processes_cannot_divide_is_refused() -> None:
    found = run(
        2,
        """
        from stagec.sharding import Mesh
        stagec.config.update("num_cpu_devices", 2)
        devices = np.array([*stagec.devices("cpu"), None], dtype=object)[:-1]
        square = Mesh(devices.reshape(2, 2), ("a", "b"))
        mixed = Mesh(devices[[0, 2, 1, 3]], ("x",))
        def said(call):
            try:
                call()
            except stagec.errors.UnsupportedError as error:
                return str(error).splitlines()[-1].removeprefix("  Fix: ")
        show(
            said(lambda: stagec.device_put(np.ones(4), NamedSharding(mixed, P("x")))),
            said(lambda: stagec.device_put(np.ones(4), NamedSharding(square, P(("b", "a"))))),
            said(lambda: square.local_mesh),
            stagec.device_put(np.ones(4), NamedSharding(square, P(("a", "b")))).addressable_data(0).shape,
        )
        """,
    )
    words = (
        "make the mesh with stagec.make_mesh, or arrange the devices by process",
        "name the axes that divide processes first",
        "make a mesh of stagec.local_devices() (1,)",
    )
    assert found == [f"{rank} {' '.join(words)}" for rank in range(2)]


def test_without_mpi_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['mpi4py'] = None; import stagec; stagec.distributed.initialize()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Fix: pip install mpi4py mpich, and start the program with mpiexec -n 4" in done.stderr


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
        gathers = [r for r in log.records("lower") if "gathers" in r.message]
        show(len(gathers), losses.shape, float(losses[-1]) < float(losses[0]), w.sharding.is_fully_replicated)
        """,
    )
    assert found == [f"{rank} 0 (5,) True True" for rank in range(2)]


def test_stencils_exchange_rows_with_their_neighbours() -> None:
    found = run(
        4,
        """
        from stagec.compiler import log
        count = stagec.device_count()
        whole = np.random.default_rng(0).standard_normal((8 * count, 16)).astype(np.float32)
        x = stagec.device_put(whole, rows)

        def averaged(x):
            return 0.25 * (snp.roll(x, 1, 0) + snp.roll(x, -1, 0) + snp.roll(x, 1, 1) + snp.roll(x, -1, 1))

        def by_halos(x):
            up = lax.ppermute(x[-1:], "x", [(i, (i + 1) % count) for i in range(count)])
            down = lax.ppermute(x[:1], "x", [((i + 1) % count, i) for i in range(count)])
            wide = snp.concatenate([up, x, down], 0)
            return 0.25 * (wide[:-2] + wide[2:] + snp.roll(x, 1, 1) + snp.roll(x, -1, 1))

        def ten(f):
            return lambda x: lax.fori_loop(0, 10, lambda i, x: f(x), x)

        mapped = stagec.shard_map(ten(by_halos), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        wanted = whole
        for _ in range(10):
            wanted = averaged(snp.asarray(wanted))
        right = []
        for function in (stagec.jit(ten(averaged)), mapped):
            value = multihost_utils.process_allgather(function(x), tiled=True)
            right.append(np.allclose(value, wanted, atol=1e-6))
        show(right, len([r for r in log.records("lower") if "gathers" in r.message]))
        """,
    )
    assert found == [f"{rank} [True, True] 0" for rank in range(4)]


def test_a_step_of_a_convolutional_network_gathers_nothing() -> None:
    found = run(
        2,
        """
        from stagec.compiler import log
        rng = np.random.default_rng(0)
        images = rng.standard_normal((8, 3, 8, 8)).astype(np.float32)
        labels = rng.integers(0, 10, 8).astype(np.int32)
        weights = [
            rng.standard_normal((4, 3, 3, 3)).astype(np.float32) / 5,
            rng.standard_normal((4 * 16, 10)).astype(np.float32) / 8,
        ]
        def loss(weights, images, labels):
            x = stagec.nn.relu(lax.conv(images, weights[0], (1, 1), "SAME"))
            x = lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            scores = stagec.nn.log_softmax(x.reshape(len(x), -1) @ weights[1])
            return -(stagec.nn.one_hot(labels, 10) * scores).sum() / len(labels)
        slope = stagec.jit(stagec.grad(loss))
        alone = slope(weights, images, labels)
        split = slope(weights, *[stagec.device_put(v, rows) for v in (images, labels)])
        right = [np.allclose(a, b, atol=1e-5) for a, b in zip(alone, split)]
        said = {r.message.split(": ", 1)[1].split(" at ")[0] for r in log.records("lower") if "gathers" in r.message}
        show(right, sorted(said))
        """,
    )
    assert found == [f"{rank} [True, True] []" for rank in range(2)]


def test_the_log_and_explain_say_what_is_gathered() -> None:
    found = run(
        2,
        """
        from stagec.compiler import log
        x = stagec.device_put(np.float32([3, 1, 2, 0]), rows)
        y = stagec.jit(snp.sort)(x)
        said = [r for r in log.records("lower") if "gathers" in r.message]
        why = str(stagec.explain(stagec.jit(snp.sort), x)).splitlines()
        line = next(line.split() for line in why if "gathers" in line)
        kept = [n for n in why if "gathers nothing" in n] + str(stagec.explain(stagec.jit(snp.sin), x)).splitlines()
        kept = [line.strip() for line in kept if "gathers nothing" in line]
        show(np.asarray(y), [(r.message.split()[1], r.fields["bytes"]) for r in said], line[0], line[-2:], kept)
        """,
    )
    told = "sort ['16', 'bytes'] ['runs in parts on 2 devices, and gathers nothing']"
    assert found == [f"{rank} [0. 1. 2. 3.] [('sort', 16)] {told}" for rank in range(2)]


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


def test_explain_compares_a_part_with_programs_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGEC_CACHE_DIR", str(tmp_path))
    program = """
        def double(x):
            return snp.sin(x)
        def of(size):
            return stagec.device_put(np.ones(size, np.float32), rows)
        if {size}:
            stagec.jit(double)(of({size})).block_until_ready()
        else:
            why = stagec.explain(stagec.jit(double), of(65536))
            show(why.status, *map(tuple, why.differing))
        """
    assert run(1, program.format(size=16384)) == []
    found = run(2, program.format(size=0))
    assert found == [f"{rank} miss ('x', 'f32[32768]', 'f32[16384]')" for rank in range(2)]


def test_a_repeated_call_only_runs_the_program() -> None:
    found = run(
        2,
        """
        from stagec.api import spanning
        f = stagec.jit(stagec.shard_map(lambda x, y: (lax.psum(x, "x") + y, x * y), mesh=mesh,
                                        in_specs=(P("x"), P()), out_specs=(P(), P("x"))))
        x = stagec.device_put(np.arange(4.0, dtype=np.float32), rows)
        first = f(x, 1.0)
        def refuse(*args):
            raise AssertionError("the call is arranged again")
        spanning.Part, spanning.share = refuse, refuse
        again = f(x, 2.0), f(x, 3.0)
        show(*(np.asarray(r[0]).tolist() for r in (first, *again)), np.asarray(again[1][1].addressable_data(0)))
        """,
    )
    assert found == ["0 [3.0, 5.0] [4.0, 6.0] [5.0, 7.0] [0. 3.]", "1 [3.0, 5.0] [4.0, 6.0] [5.0, 7.0] [6. 9.]"]


def test_what_was_gathered_stays() -> None:
    found = run(
        2,
        """
        first, second = (multihost_utils.process_allgather(np.full(2, rank + n), tiled=True) for n in (0, 10))
        show(first, second)
        """,
    )
    assert found == ["0 [0 0 1 1] [10 10 11 11]", "1 [0 0 1 1] [10 10 11 11]"]
