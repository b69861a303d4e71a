"""Run what the devices of a mesh get by XLA on eight devices of the CPU; prints the programs whose results are right.

`python tests/sharding/on_xla.py`
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).parents[2]))

import jax

import stagec
from tests.sharding.test_several_gpus import COLLECTIVES, CUDA, MESH, OTHERS, SKIPPED, Parts, arguments

try:
    from jax._src.lib import xla_client
except ImportError:
    print("this version of JAX has no such interface")
    sys.exit(SKIPPED)


def run(text: str, parts: Parts) -> list[list[np.ndarray[Any, Any]]]:
    """The results of a module on each device."""
    devices = jax.devices()
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = MESH.size, 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(MESH.size).reshape(-1, 1))
    program = devices[0].client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options)
    split = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), "d"), jax.sharding.PartitionSpec("d"))
    arrays = []
    for rows in zip(*[parts.inputs(number) for number in range(MESH.size)]):
        pieces = [jax.device_put(np.asarray(row), device) for row, device in zip(rows, devices)]
        shape = (MESH.size * pieces[0].shape[0], *pieces[0].shape[1:])
        arrays.append(jax.make_array_from_single_device_arrays(shape, split, pieces))
    results = program.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return [[np.asarray(result[number]) for result in results] for number in range(MESH.size)]


def main() -> None:
    for name, f in {**{n: f for n, (f, _) in COLLECTIVES.items()}, **OTHERS}.items():
        args = arguments(name)
        parts = Parts(f, MESH, *args)
        found = parts.joined(run(stagec.jit(f, target=CUDA, keep_unused=True).lower(*args).as_text(), parts))
        for value, right in zip(found, stagec.tree.leaves(stagec.jit(f)(*args)), strict=True):
            np.testing.assert_allclose(value, right, rtol=2e-4, atol=2e-4, err_msg=name)
        print(name)


if __name__ == "__main__":
    main()
