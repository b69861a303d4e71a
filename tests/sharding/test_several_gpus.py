"""Programs of several GPUs: what each device runs, evaluated by as many threads, and what the compiler makes of it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.api import spmd
from stagec.api.program import evaluated
from stagec.control import device_rows
from stagec.control.expansion import expanded
from stagec.sharding import AbstractMesh, Mesh
from tests.sharding.of_processes import OPERATIONS
from tests.sharding.test_random_collectives import FUZZ, START, random_program

MESH = AbstractMesh((2, 4), ("x", "y"))
# The exit status of `on_xla.py` where there is no such interface of XLA.
SKIPPED = 77
CUDA, BOTH = "cuda:sm_80", P("x", "y")


class Devices:
    """Threads that stand for devices, and meet at collective operations."""

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = count
        self._own = threading.local()
        self._values: list[Any] = [None] * count
        self._barrier = threading.Barrier(count, timeout=60)
        for row, function in {
            device_rows.device_number_p: lambda: np.int32(self._own.number),
            device_rows.device_all_reduce_p: self._all_reduce,
            device_rows.device_all_gather_p: lambda x, groups: np.concatenate(self._of_group(x, groups)),
            device_rows.device_reduce_scatter_p: self._reduce_scatter,
            device_rows.device_all_to_all_p: self._all_to_all,
            device_rows.device_permute_p: self._permute,
        }.items():
            monkeypatch.setattr(row, "eval", function)

    def run(self, graph: Any, inputs: Callable[[int], list[Any]]) -> list[list[np.ndarray[Any, Any]]]:
        """The results on each device."""
        found: list[Any] = [None] * self.count

        def one(number: int) -> None:
            self._own.number = number
            try:
                found[number] = [np.asarray(v) for v in evaluated(graph, inputs(number))]
            except BaseException as error:
                found[number] = error
                self._barrier.abort()

        threads = [threading.Thread(target=one, args=(n,)) for n in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        failed = [v for v in found if isinstance(v, BaseException)]
        for error in sorted(failed, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
            raise error
        return found

    def _all(self, x: Any) -> list[Any]:
        self._values[self._own.number] = np.asarray(x)
        self._barrier.wait()
        found = list(self._values)
        self._barrier.wait()
        return found

    def _group(self, groups: Any) -> Any:
        return next(g for g in groups if self._own.number in g)

    def _of_group(self, x: Any, groups: Any) -> list[Any]:
        values = self._all(x)
        return [values[i] for i in self._group(groups)]

    def _all_reduce(self, x: Any, operation: str, groups: Any) -> Any:
        if operation in ("max", "min") and np.asarray(x).dtype.kind == "i":  # as the compiler has it
            unsigned = np.dtype(f"u{np.asarray(x).dtype.itemsize}")
            return self._all_reduce(np.asarray(x).view(unsigned), operation, groups).view(np.asarray(x).dtype)
        function: Any = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[operation]
        values = self._of_group(x, groups)
        return function.reduce(values, axis=0, dtype=values[0].dtype)

    def _reduce_scatter(self, x: Any, groups: Any) -> Any:
        group = self._group(groups)
        return np.split(sum(self._of_group(x, groups)), len(group))[group.index(self._own.number)]

    def _all_to_all(self, x: Any, groups: Any) -> Any:
        group = self._group(groups)
        place = group.index(self._own.number)
        return np.concatenate([np.split(v, len(group))[place] for v in self._of_group(x, groups)])

    def _permute(self, x: Any, pairs: Any) -> Any:
        values = self._all(x)
        source = next((s for s, d in pairs if d == self._own.number), None)
        return np.zeros_like(x) if source is None else values[source]


class Parts:
    """What each device runs of a function, and the parts of its arguments and results."""

    def __init__(self, f: Callable[..., Any], mesh: Mesh | AbstractMesh, *args: Any) -> None:
        trace = stagec.jit(f).trace(*args)._trace
        self.mesh, self.grid = mesh, spmd.DeviceGrid(mesh)
        self.local = spmd.per_device(trace.graph, len(trace.captured), mesh, "program")
        self.out_avals = trace.graph.out_avals
        self._values = [np.asarray(v) for v in [*trace.captured, *stagec.tree.leaves(args)]]

    def inputs(self, number: int) -> list[Any]:
        rows = zip(self._values, self.local.inputs)
        return [snp.asarray(v[self._index(number, s, v.shape)]) for v, s in rows]

    def joined(self, results: list[list[np.ndarray[Any, Any]]]) -> list[np.ndarray[Any, Any]]:
        """Arrays of the results of all devices."""
        found = []
        for i, (aval, spec) in enumerate(zip(self.out_avals, self.local.outputs)):
            whole = np.full(aval.shape, 111).astype(results[0][i].dtype)
            places = [self._index(number, spec, aval.shape) for number in range(self.mesh.size)]
            for place, row in zip(places, results):
                whole[place] = row[i]
            for place, row in zip(places, results):  # devices with the same part have the same values
                np.testing.assert_array_equal(whole[place], row[i])
            found.append(whole)
        return found

    def _index(self, number: int, spec: Any, shape: Any) -> tuple[slice, ...]:
        place = dict(zip(self.mesh.axis_names, np.unravel_index(number, self.mesh.axis_sizes)))
        found = []
        for n, names in zip(shape, spec):
            k = 0
            for name in names:
                k = k * self.grid.counts[name] + int(place[name])
            width = n // self.grid.parts(names)
            found.append(slice(k * width, (k + 1) * width))
        return tuple(found)


def on_devices(
    monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], mesh: Mesh | AbstractMesh, *args: Any
) -> list[np.ndarray[Any, Any]]:
    """The results of a function, put together from those of the devices."""
    parts = Parts(f, mesh, *args)
    return parts.joined(Devices(mesh.size, monkeypatch).run(expanded(parts.local.graph), parts.inputs))


def check(monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], mesh: Mesh | AbstractMesh, *args: Any) -> None:
    wanted = stagec.tree.leaves(stagec.jit(f)(*args))
    for found, right in zip(on_devices(monkeypatch, f, mesh, *args), wanted, strict=True):
        assert found.dtype == right.dtype and found.shape == right.shape
        tolerance = 2e-2 if found.dtype.itemsize == 2 else 2e-4  # devices round sums of halves after each term
        np.testing.assert_allclose(
            np.asarray(found, np.complex128), np.asarray(right, np.complex128), rtol=tolerance, atol=tolerance
        )


def mapped(f: Callable[..., Any], ins: Any = BOTH, outs: Any = BOTH, mesh: Any = MESH, **options: Any) -> Any:
    return stagec.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **options)


RING = [(i, (i + 1) % 4) for i in range(4)]
WHOLE = {"check_vma": False}
COLLECTIVES: dict[str, tuple[Any, str]] = {
    "psum": (mapped(lambda v: lax.psum(v, "y"), outs=P("x")), "all_reduce sum"),
    "psum of both": (mapped(lambda v: lax.psum(v, ("x", "y")), outs=P()), "all_reduce sum"),
    "pmean": (mapped(lambda v: lax.pmean(v, "x"), outs=P(None, "y")), "all_reduce sum"),
    "pmax": (mapped(lambda v: lax.pmax(v, "x"), outs=P(None, "y")), "all_reduce maximum"),
    "pmin": (mapped(lambda v: lax.pmin(v, "y"), outs=P("x")), "all_reduce minimum"),
    "all_gather": (mapped(lambda v: lax.all_gather(v, "y", tiled=True)), "all_gather"),
    "all_gather last": (mapped(lambda v: lax.all_gather(v, "x", axis=1, tiled=True)), "all_gather"),
    "all_gather stacked": (
        mapped(lambda v: lax.all_gather(v, "y", axis=2), outs=P("x", "y")), "all_gather"
    ),
    "psum_scatter": (mapped(lambda v: lax.psum_scatter(v, "x", tiled=True)), "reduce_scatter sum"),
    "psum_scatter last": (
        mapped(lambda v: lax.psum_scatter(v, "y", scatter_dimension=1, tiled=True)), "reduce_scatter sum"
    ),
    "all_to_all": (mapped(lambda v: lax.all_to_all(v, "x", 0, 1, tiled=True)), "all_to_all"),
    "all_to_all back": (mapped(lambda v: lax.all_to_all(v, "y", 1, 0, tiled=True)), "all_to_all"),
    "all_to_all in place": (mapped(lambda v: lax.all_to_all(v, "y", 0, 0, tiled=True)), "all_to_all"),
    "ppermute": (mapped(lambda v: lax.ppermute(v, "y", RING)), "send_recv"),
    "ppermute to the end": (mapped(lambda v: lax.ppermute(v, "y", RING[:-1])), "send_recv"),
    "pshuffle": (mapped(lambda v: lax.pshuffle(v, "y", [2, 0, 3, 1])), "send_recv"),
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "axis_index": mapped(lambda v: v + lax.axis_index("y") * 10 + lax.axis_index("x")),
    "axis_index of both": mapped(lambda v: v + lax.axis_index(("y", "x"))),
    "all_gather of both": mapped(lambda v: lax.all_gather(v, ("x", "y"), tiled=True), P(("x", "y")), P(), **WHOLE),
    "psum_scatter of both": mapped(
        lambda v: lax.psum_scatter(v, ("y", "x"), tiled=True), P(None, "y"), P(("y", "x")), **WHOLE
    ),
    "groups": mapped(lambda v: lax.psum(v, "y", axis_index_groups=[[0, 2], [1, 3]])),
    "scatter in groups": mapped(lambda v: lax.psum_scatter(v, "y", axis_index_groups=[[0, 2], [3, 1]], tiled=True)),
    "pbroadcast": mapped(lambda v: lax.pbroadcast(v, "y", 2)),
    "sharing": mapped(lambda v, w: v @ w, (P("x"), P()), P("x")),
    "loop": mapped(
        lambda v: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "y", RING) * 0.5 + lax.psum(c, "x") / 2, v)
    ),
    "condition": mapped(
        lambda v: lax.while_loop(lambda c: lax.psum(snp.abs(c).sum(), ("x", "y")) > 1, lambda c: c * 0.5, v)
    ),
    "gradient inside": mapped(
        lambda w, v: stagec.grad(lambda w: (snp.tanh(v @ w) ** 2).sum())(w), (P(), P(("x", "y"))), P()
    ),
    "gradient outside": stagec.grad(
        lambda v: mapped(lambda v: lax.psum((lax.psum_scatter(v**2, "x", tiled=True)).sum(), ("x", "y")), outs=P())(v)
    ),
    "gradient of an exchange": stagec.grad(
        lambda v: (mapped(lambda v: lax.all_to_all(v, "x", 0, 1, tiled=True) ** 2)(v) * snp.arange(4.0)[:, None]).sum()
    ),
    "batch": stagec.vmap(lambda v: mapped(lambda v: lax.psum_scatter(v, "x", tiled=True))(v[None] * v[:, None])),
    "two of them": lambda v: mapped(lambda v: lax.psum(v, "y"), outs=P("x"))(v).T @ mapped(lambda v: v * 2)(v)[:, :2],
    "jitted inside": mapped(stagec.jit(lambda v: lax.psum_scatter(lax.psum(v, "y"), "x", tiled=True)), outs=P("x")),
}
ARRAY = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)


def arguments(name: str) -> list[Any]:
    if name == "sharing":
        return [ARRAY, ARRAY.T]
    return [ARRAY[:, :3].T.copy().reshape(-1)[:8], ARRAY[:, :8]] if name == "gradient inside" else [ARRAY]


@pytest.mark.parametrize("name", [*COLLECTIVES, *OTHERS])
def test_devices_compute_what_one_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = COLLECTIVES[name][0] if name in COLLECTIVES else OTHERS[name]
    check(monkeypatch, f, MESH, *arguments(name))


def test_xla_runs_the_programs_of_devices() -> None:
    pytest.importorskip("jax")
    script = Path(__file__).with_name("on_xla.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [*COLLECTIVES, *OTHERS]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "complex64"]
)
@pytest.mark.parametrize("name", ["psum", "pmax", "all_gather", "psum_scatter", "all_to_all", "ppermute"])
def test_devices_exchange_all_dtypes(dtype: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "pmax" and dtype == "complex64":
        pytest.skip("complex numbers have no order")
    array = (ARRAY * 5).astype(snp.dtype(dtype)) if dtype[0] != "u" else (np.abs(ARRAY) * 5).astype(dtype)
    check(monkeypatch, COLLECTIVES[name][0], MESH, array)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_devices_compute_operations_outside_of_shard_map(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = AbstractMesh((4,), ("x",))

    def program(x: Any, w: Any) -> Any:
        return OPERATIONS[name](lax.with_sharding_constraint(x, NamedSharding(mesh, P("x"))), w)

    check(monkeypatch, program, mesh, ARRAY[:, :8].copy(), ARRAY[0, :8].copy())


@pytest.mark.parametrize("seed", range(START, START + 12 * FUZZ))
def test_devices_run_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run, mesh, array, wanted, text = random_program(seed)
    (found,) = on_devices(monkeypatch, run, mesh, array)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5, err_msg=text)


def scattered(x: Any) -> Any:
    return lax.psum_scatter(x, "i", tiled=True) * lax.axis_index("i"), x - lax.pmean(x, "i")


def test_pmap_is_a_program_of_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    f = stagec.pmap(scattered, axis_name="i")
    array = ARRAY[:4, :, None] * ARRAY[0]
    check(monkeypatch, f, Mesh(np.array(stagec.devices()[:4]), ("i",)), array)
    text = stagec.jit(f, target=CUDA).lower(array).as_text("flow")
    assert re.findall(r"flow\.collective\.(\w+)", text) == ["reduce_scatter", "all_reduce"]


def flow(name: str, target: str = CUDA) -> str:
    text: str = stagec.jit(COLLECTIVES[name][0], target=target).lower(ARRAY).as_text("flow")
    return text


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_compiler_gets_one_collective_operation(name: str) -> None:
    wanted = COLLECTIVES[name][1]
    found = re.findall(r"flow\.collective\.(\w+(?: \w+)?)", flow(name))
    expected = 2 if name == "psum of both" else 1
    assert [f[: len(wanted)] for f in found] == [wanted] * expected


@pytest.mark.parametrize(("name", "colors"), [("psum", "00001111"), ("psum_scatter", "01230123")])
def test_devices_along_an_axis_of_a_mesh_are_a_channel(name: str, colors: str) -> None:
    text = flow(name)
    channel = re.search(r"flow\.channel\.split (%\w+), (%\w+), (%\w+)", text)
    assert channel is not None
    table = re.search(rf"{channel[2]} = util\.switch index from \[(.*?)\]", text)
    assert table is not None and re.sub(r"[^0-9]", "", table[1]) == colors


@pytest.mark.parametrize("target", [CUDA, "rocm:gfx942"])
def test_a_program_of_several_gpus_compiles_to_the_end(target: str) -> None:
    def step(w: Any, v: Any) -> Any:
        return w - 0.1 * stagec.grad(lambda w: (snp.tanh(v @ w) ** 2).sum())(w)

    f = mapped(step, (P(), P(("x", "y"))), P())
    text = stagec.jit(f, target=target).lower(ARRAY[0, :8], ARRAY[:, :8]).as_text("hal")
    assert "tensor<8x8xf32>" not in text and "hal.command_buffer.collective" in text


def test_a_program_of_several_gpus_takes_parts() -> None:
    lowered = stagec.jit(COLLECTIVES["psum"][0], target=CUDA).lower(ARRAY)
    assert "@main(%arg0: tensor<4x4xf32>" in lowered.as_text()
    assert "replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>" in lowered.as_text()


def test_a_constraint_makes_a_program_of_several_gpus() -> None:
    mesh = stagec.make_mesh((8,), ("x",))
    rows = NamedSharding(mesh, P("x"))

    def f(x: Any) -> Any:
        return lax.with_sharding_constraint(x, rows).sum(0)

    assert "all_reduce" in stagec.jit(f, target=CUDA).lower(ARRAY).as_text()
    assert "all_reduce" not in stagec.jit(f).lower(ARRAY).as_text()
    assert "all_reduce" not in stagec.jit(f, target="vulkan").lower(ARRAY).as_text()


def test_a_mesh_of_one_gpu_needs_no_collective_operation() -> None:
    f = mapped(lambda v: lax.psum(v, "x"), P("x"), P(), mesh=AbstractMesh((1,), ("x",)))
    assert "all_reduce" not in stagec.jit(f, target=CUDA).lower(ARRAY).as_text()


def test_a_program_of_several_gpus_does_not_run() -> None:
    f = stagec.jit(COLLECTIVES["psum"][0], target=CUDA)
    with pytest.raises(stagec.errors.UnsupportedError, match=r"8 devices of cuda.*compiled, but cannot run"):
        f.lower(ARRAY).compile()
    with pytest.raises(stagec.errors.StagecError, match=r"no cuda device here|compiled, but cannot run"):
        f(ARRAY)


@pytest.mark.parametrize("targets", [CUDA, ["cpu", CUDA]])
def test_a_program_of_several_gpus_is_not_saved(targets: Any) -> None:
    with pytest.raises(stagec.errors.UnsupportedError, match=r"cannot be exported for cuda:sm_80.*8 devices"):
        stagec.export(COLLECTIVES["psum"][0], targets=targets)(ARRAY)


def test_a_program_of_several_meshes_is_refused() -> None:
    other = AbstractMesh((2,), ("z",))

    def f(x: Any) -> Any:
        return mapped(lambda v: lax.psum(v, "z"), P("z"), P(), mesh=other)(COLLECTIVES["pmean"][0](x))

    with pytest.raises(stagec.errors.UnsupportedError, match="use one mesh with all axes"):
        stagec.jit(f, target=CUDA).lower(ARRAY)
