"""Jitted functions and files in real workers of Dask: processes that start, compile once in total, and are killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from distributing import X, expected, wave, write_scripts

import stagec
import stagec.numpy as snp
from stagec.compiler import log

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install '.[test]'")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Three processes with two threads each, which share a cache that is empty at first."""
    environment = {"STAGEC_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    with (
        # Dask removes a worker that is restarting again when this time is over since it was killed.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=2, env=environment, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def compiled(client):
    """How many programs the processes have compiled that run now."""
    return sum(client.run(lambda: sum(r.message == "compiled" for r in log.records("compile"))).values())


def test_many_calls_compile_a_program_once_in_total(client):
    before = compiled(client)
    results = client.gather([client.submit(wave, X + i, pure=False) for i in range(24)])
    for i, result in enumerate(results):
        assert type(result) is stagec.Array
        np.testing.assert_allclose(result, expected(X + i), rtol=1e-5, atol=1e-6)
    assert compiled(client) - before == 1


def test_functions_go_by_name_or_by_value(client):
    scale = 3.0
    for function in (wave, stagec.jit(lambda x: x * scale), stagec.grad(lambda x: (x * x).sum()), snp.sin):
        (mapped,) = client.gather(client.map(function, [X]))
        np.testing.assert_allclose(mapped, function(X), rtol=1e-6)
        np.testing.assert_allclose(dask.delayed(function)(X).compute(), function(X), rtol=1e-6)


def test_arrays_go_between_workers(client):
    first, second, *_ = client.scheduler_info()["workers"]
    made = client.submit(wave, X, workers=[first], pure=False)
    used = client.submit(lambda x: (type(x).__name__, float(x.sum())), made, workers=[second], pure=False)
    assert used.result() == ("Array", pytest.approx(float(expected(X).sum()), rel=1e-5))


def test_a_loaded_file_is_called_on_every_worker(client, tmp_path):
    stagec.export(wave)(X[:4]).save(tmp_path / "wave")
    loaded = stagec.load(tmp_path / "wave")
    for worker in client.scheduler_info()["workers"]:
        result = client.submit(loaded, X[:4], workers=[worker], pure=False).result()
        np.testing.assert_allclose(result, expected(X[:4]), rtol=1e-5)


STALLS = """
def stalls_once(marker, x):
    "Compile `wave`; the first process that does never finishes."
    import os, time
    import stagec, stagec.numpy as snp
    from stagec.compiler import build
    compile_graph = build.compile_graph
    def stays(*arguments):
        try:
            with open(marker, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return compile_graph(*arguments)
        time.sleep(600)
    build.compile_graph = stays
    return stagec.jit(lambda x: snp.exp(x) + snp.cos(x))(x)
"""


def test_a_worker_that_is_killed_while_it_compiles_is_replaced_and_another_one_compiles(client, tmp_path):
    space = {}
    exec(STALLS, space)
    before = compiled(client)
    marker = tmp_path / "pid"
    futures = [client.submit(space["stalls_once"], str(marker), X, pure=False) for _ in range(6)]
    for _ in range(600):
        if marker.exists() and marker.read_text():
            break
        time.sleep(0.1)
    killed = int(marker.read_text())
    os.kill(killed, signal.SIGKILL)
    for result in client.gather(futures):
        np.testing.assert_allclose(result, np.exp(X) + np.cos(X), rtol=1e-5)
    client.wait_for_workers(3, timeout=60)
    assert killed not in client.run(os.getpid).values()
    assert compiled(client) - before <= 1


def test_restarted_workers_compile_nothing_again(client):
    client.submit(wave, X, pure=False).result()
    pids = set(client.run(os.getpid).values())
    client.restart()
    assert pids.isdisjoint(client.run(os.getpid).values())
    for result in client.gather([client.submit(wave, X, pure=False) for _ in range(6)]):
        np.testing.assert_allclose(result, expected(X), rtol=1e-5, atol=1e-6)
    assert compiled(client) == 0


KERNELS = {
    "jitted": wave,
    "a function of stagec.numpy": snp.sin,
    "the same, jitted": stagec.jit(snp.sin),
    "several of them": lambda x: snp.where(x > 0, snp.sqrt(snp.abs(x)), x),
    "a dtype that changes": lambda x: x > 0,
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_of_map_blocks_compute_what_they_compute_of_the_whole(client, kernel):
    blocks = da.from_array(X, chunks=5)
    mapped = blocks.map_blocks(kernel)  # Dask finds the dtype out with an array without elements
    whole = np.asarray(kernel(X))
    assert (mapped.dtype, mapped.shape) == (whole.dtype, whole.shape)
    np.testing.assert_allclose(mapped.compute(), whole, rtol=1e-6)
    np.testing.assert_allclose(mapped.max().compute(), whole.max(), rtol=1e-6)
    np.testing.assert_allclose((mapped + blocks).rechunk(6)[2:9].compute(), (whole + X)[2:9], rtol=1e-6)


def test_kernels_may_drop_and_add_axes(client):
    matrix = np.arange(24, dtype=np.float32).reshape(4, 6)
    blocks = da.from_array(matrix, chunks=(2, 6))
    sums = blocks.map_blocks(stagec.jit(lambda m: snp.sum(m, axis=1)), drop_axis=1)
    np.testing.assert_allclose(sums.compute(), matrix.sum(1))
    rows = sums.map_blocks(stagec.jit(lambda s: s[:, None] * snp.arange(3)), new_axis=1, chunks=((2, 2), (3,)))
    np.testing.assert_allclose(rows.compute(), matrix.sum(1)[:, None] * np.arange(3))
    means = da.reduction(
        blocks,
        chunk=lambda m, axis, keepdims: snp.sum(m, axis=axis, keepdims=keepdims),
        aggregate=lambda m, axis, keepdims: snp.sum(m, axis=axis, keepdims=keepdims),
        axis=0,
        dtype=np.float32,
    )
    np.testing.assert_allclose(means.compute(), matrix.sum(0))


def test_overlapping_blocks_and_products_of_blocks(client):
    blocks = da.from_array(X, chunks=4)
    smooth = stagec.jit(lambda x: (snp.roll(x, 1) + x + snp.roll(x, -1)) / 3)
    found = blocks.map_overlap(smooth, depth=1, boundary="periodic").compute()
    np.testing.assert_allclose(found, (np.roll(X, 1) + X + np.roll(X, -1)) / 3, rtol=1e-5, atol=1e-6)
    matrix = da.from_array(np.outer(X, X), chunks=(4, 6))
    product = da.blockwise(stagec.jit(snp.multiply), "ij", matrix, "ij", blocks.rechunk(6), "j", dtype=np.float32)
    np.testing.assert_allclose(product.compute(), np.outer(X, X) * X, rtol=1e-6)


def test_an_artifact_is_mapped_when_the_dtype_is_given(client, tmp_path):
    stagec.export(wave)(X[:4]).save(tmp_path / "wave")
    loaded = stagec.load(tmp_path / "wave")
    mapped = da.from_array(X, chunks=4).map_blocks(loaded, dtype=np.float32)
    np.testing.assert_allclose(mapped.compute(), expected(X), rtol=1e-5, atol=1e-6)


def test_xarray_applies_functions_block_by_block(client, tmp_path):
    xr = pytest.importorskip("xarray")
    table = xr.Dataset(
        {"a": (("t", "x"), np.outer(X, X)), "b": (("t", "x"), np.outer(X, X) + 1)},
        coords={"t": np.arange(12), "x": np.arange(12)},
    )
    found = xr.apply_ufunc(wave, table.chunk(t=4), dask="parallelized")
    assert found.a.chunks == ((4, 4, 4), (12,))
    for name in "ab":
        np.testing.assert_allclose(found[name].compute(), expected(table[name].data), rtol=1e-5, atol=1e-5)
    means = xr.apply_ufunc(
        stagec.jit(lambda x: snp.mean(x, axis=-1)),
        table.chunk(t=4),
        input_core_dims=[["x"]],
        dask="parallelized",
        output_dtypes=[np.float32],
    )
    np.testing.assert_allclose(means.b.compute(), table.b.data.mean(1), rtol=1e-5, atol=1e-6)


def test_the_script_of_the_page_runs(tmp_path):
    command = [sys.executable, write_scripts(tmp_path, "cluster.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "[853, 862, 870, 879]\n3.3166249\n", done.stderr
