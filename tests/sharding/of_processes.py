"""Compare random programs on arrays of several processes with the same programs on whole arrays.

`mpiexec -n 2 python tests/sharding/of_processes.py FIRST COUNT [DEVICES]`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.api.program import evaluated
from stagec.control.expansion import expanded
from stagec.experimental import multihost_utils
from stagec.sharding import Mesh

Step = Callable[[Any, Any], Any]
OPERATIONS: dict[str, Step] = {
    "sin": lambda x, w: snp.sin(x) + x,
    "scale": lambda x, w: x * w[0],
    "rows": lambda x, w: x - x.mean(0),
    "columns": lambda x, w: x / (1 + snp.abs(x).max(1, keepdims=True)),
    "total": lambda x, w: x + x.sum() / 100,
    "smallest": lambda x, w: x - x.min() / 2,
    "product": lambda x, w: x @ (x.T @ x) / 64,
    "weights": lambda x, w: x @ snp.outer(w, w) / 8,
    "transposed": lambda x, w: (x.T * 2).T,
    "reshaped": lambda x, w: x.reshape(2, 4, 8).sum(0).repeat(2, 0) + x.reshape(-1).reshape(x.shape),
    "reversed": lambda x, w: x[::-1],
    "joined": lambda x, w: snp.concatenate([x[4:], x[:4]], 0),
    "columns joined": lambda x, w: snp.concatenate([x[:, 4:], x[:, :4]], 1),
    "running": lambda x, w: snp.cumsum(x, 0) / 8,
    "sorted": lambda x, w: snp.sort(x, 1),
    "chosen": lambda x, w: snp.where(x > x.mean(), x, -x),
    "any": lambda x, w: snp.where((x > 1).any(0), x, x + 1),
    "outer": lambda x, w: x + snp.einsum("i,j->ij", x[:, 0], w),
    "scanned": lambda x, w: lax.scan(lambda c, _: (snp.tanh(c) + c.sum(0) / 16, None), x, None, length=3)[0],
    "rows scanned": lambda x, w: lax.scan(lambda c, r: (c * 0.5 + r, c + r), x[0], x)[1],
    "gradient": lambda x, w: stagec.grad(lambda w: (snp.tanh(x * w) ** 2).sum())(w) + x,
    "branch": lambda x, w: lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x),
    "drawn": lambda x, w: x + stagec.random.normal(stagec.random.key(1), x.shape),
    "loop": lambda x, w: lax.fori_loop(0, 3, lambda i, x: x * 0.9 + i, x),
    "indexed": lambda x, w: x + snp.arange(8)[:, None] * w,
    "taken": lambda x, w: x[snp.array([3, 1, 0, 7, 6, 5, 4, 2])],
    "updated": lambda x, w: x.at[2].add(1.0),
    "rolled": lambda x, w: snp.roll(x, 1, 0) + snp.roll(x, -3, 0) * 0.5 + snp.roll(x, 2, 1),
    "shifted": lambda x, w: snp.concatenate([snp.outer(w[:3], w), x[:-3]], 0),
    "ended": lambda x, w: snp.concatenate([x[1:], w[None]], 0) - snp.concatenate([x[2:], x[:1], w[None]], 0),
    "convolved": lambda x, w: lax.conv(x[:, None], w[None, None, :3], (1,), "SAME")[:, 0],
    "kernel": lambda x, w: x + stagec.grad(lambda w: (lax.conv(x[:, None], w[None, None], (1,), "SAME") ** 2).sum())(w),
    "while": lambda x, w: lax.while_loop(lambda s: snp.abs(s).sum() > 4, lambda s: s * 0.5 - s.mean(0), x),
    "halved": lambda x, w: lax.map(
        lambda r: lax.while_loop(lambda s: snp.abs(s).max() > 1, lambda s: s * 0.5 + w / 64, r), x
    ),
    "halved together": lambda x, w: stagec.vmap(
        lambda r: lax.while_loop(lambda s: snp.abs(s).max() > 1, lambda s: s.at[0].set(s[0] / 4) * 0.5, r)
    )(x),
    "mapped": lambda x, w: lax.map(lambda r: r[0] * w + x.mean(0), x),
    "switch": lambda x, w: lax.switch((x.sum() > 0) + 0, [snp.sin, lambda x: x - x.sum(0), lambda x: x], x),
    "columns moved": lambda x, w: snp.pad(x[:, 2:], ((0, 0), (1, 1))) + snp.flip(x, 1),
    "columns sorted": lambda x, w: snp.sort(x, 0) + snp.cumsum(x, 1) / 8,
    "one row": lambda x, w: x + lax.dynamic_index_in_dim(x, 3, 0) + lax.dynamic_index_in_dim(x, 2, 1),
    "ends": lambda x, w: x - x[-1] + x[0] * 0.5 + x[:, :1] - x[2:4].sum(0) - 0.0 * x[3, 2],
    "rows read": lambda x, w: lax.fori_loop(0, 8, lambda i, c: c * 0.9 + x[i] - x[:, i][:, None], x),
    "rows filled": lambda x, w: lax.fori_loop(1, 4, lambda i, c: c.at[i * 2].set(c[i - 1] + w).at[:, i].set(w), x),
    "corner": lambda x, w: lax.dynamic_update_slice(x, snp.outer(w, w)[:3, :5], ((x[0, 0] > 0) * 7, 6)),
    "row written": lambda x, w: lax.dynamic_update_index_in_dim(x, w, 1, 0),
    "embedded": lambda x, w: x * 0.5 + snp.outer(w, w)[(snp.abs(x[:, 0]) * 3).astype(int) % 8],
    "jitted": lambda x, w: stagec.jit(lambda x: x - x.sum(0))(x),
    "checkpointed": lambda x, w: stagec.checkpoint(lambda x: snp.cos(x))(x),
    "softmax": lambda x, w: stagec.nn.softmax(x, 0) + stagec.nn.softmax(x, 1),
    "largest": lambda x, w: x + lax.top_k(x, 3)[0].sum(1, keepdims=True) / 4 + lax.top_k(x.T, 2)[1].sum(1) / 9,
    "factored": lambda x, w: x + snp.linalg.cholesky(snp.eye(8) * 4 + (x[:, :, None] * x[:, None, :]) / 16)[:, 7],
    "transformed": lambda x, w: snp.fft.irfft(snp.fft.rfft(x) * 0.9, n=8) + snp.fft.fft(x, axis=0).real / 9,
    "halves": lambda x, w: snp.concatenate(snp.split(x, 2, 1)[::-1], 1) + sum(snp.split(x, 2))[0],
    "rows counted": lambda x, w: x + snp.zeros((3, 8)).at[(snp.abs(x[:, 0]) * 9).astype(int) % 3].add(x)[1],
    "columns written": lambda x, w: x.at[2].set(w).at[5:7].multiply(0.5).at[:, 3].add(w),
    "along": lambda x, w: snp.take_along_axis(x, snp.argsort(x, 1), 1) + snp.take_along_axis(x, snp.argsort(x, 0), 0),
    "columns looked up": lambda x, w: x + x[snp.array([1, 5])].sum(0) + x[:, snp.array([7, 0])].sum(1)[:, None],
    "slope of a table": lambda x, w: (
        x - stagec.grad(lambda t: (t[(snp.abs(x[:, 1]) * 7).astype(int) % 8] * x).sum())(snp.outer(w, w)) / 8
    ),
    "keys": lambda x, w: (
        x + stagec.vmap(lambda k: stagec.random.uniform(k, (8,)))(stagec.random.split(stagec.random.key(2), 8))
    ),
    "bits": lambda x, w: lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.int32) & ~7, np.float32),
    "solved": lambda x, w: snp.linalg.solve(snp.eye(8) * 10 + x, x),
}


def mapped(mesh: Mesh) -> dict[str, Step]:
    """Operations by `shard_map` over a mesh."""
    names = mesh.axis_names

    def over(f: Callable[[Any], Any]) -> Step:
        run = stagec.shard_map(f, mesh=mesh, in_specs=P(names), out_specs=P(names))
        return lambda x, w: run(x)

    size = mesh.shape[names[-1]]
    ring = [(i, (i + 1) % size) for i in range(size)]
    return {
        "psum": over(lambda x: x + lax.psum(x, names) / 8),
        "ppermute": over(lambda x: lax.ppermute(x, names[-1], ring)),
        "ppermute to the end": over(lambda x: lax.ppermute(x, names[-1], ring[:-1])),
        "pshuffle": over(lambda x: lax.pshuffle(x, names[0], list(range(mesh.shape[names[0]]))[::-1])),
        "gather": over(lambda x: x * lax.all_gather(x, names[0]).sum()),
        "number": over(lambda x: x + lax.axis_index(names)),
        "slope": over(lambda x: x - 0.1 * stagec.grad(lambda y: lax.psum((y**2).sum(), names[0]))(x)),
    }


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    stagec.distributed.initialize()
    if len(sys.argv) > 3:
        stagec.config.update("num_cpu_devices", int(sys.argv[3]))
    devices = np.array([*stagec.devices("cpu"), None], dtype=object)[:-1]
    local = len(stagec.local_devices(backend="cpu"))
    meshes = [Mesh(devices, ("x",))]
    if local > 1:
        meshes.append(Mesh(devices.reshape(-1, local), ("x", "y")))
    elif len(devices) == 4:
        meshes.append(Mesh(devices.reshape(2, 2), ("x", "y")))
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        mesh = meshes[int(rng.integers(len(meshes)))]
        named = {**OPERATIONS, **mapped(mesh)}
        chosen = [str(n) for n in rng.choice(sorted(named), int(rng.integers(1, 5)))]
        x = rng.standard_normal((8, 8)).astype(np.float32)
        w = rng.standard_normal(8).astype(np.float32)
        specs = [P(mesh.axis_names[0]), P(None, mesh.axis_names[0]), P(mesh.axis_names), P(), P(*mesh.axis_names)]
        spec = specs[int(rng.integers(len(specs)))]

        def program(x: Any, w: Any, steps: Any = tuple(named[n] for n in chosen)) -> Any:
            for step in steps:
                x = step(x, w)
            return x, x.sum()

        split = stagec.device_put(x, NamedSharding(mesh, spec))
        found = stagec.jit(program)(split, w)
        values = [multihost_utils.process_allgather(v, tiled=True) for v in found]
        for value, right in zip(values, on_whole_arrays(program, x, w)):
            close = dict(rtol=2e-3, atol=2e-3 * max(1, np.abs(right).max()))
            np.testing.assert_allclose(value, right, **close, err_msg=f"seed {seed}: {chosen} of {spec} on {mesh}")
    print("right", count)


def on_whole_arrays(program: Any, x: Any, w: Any) -> list[np.ndarray[Any, Any]]:
    """The results by NumPy's evaluation of the same graph in this process alone."""
    graph = stagec.jit(program).trace(x, w).jaxpr.graph
    return [np.asarray(v) for v in evaluated(expanded(graph), [x, w])]


if __name__ == "__main__":
    main()
