"""Random loops that end sooner on one device than on another, against the same as a batch."""

import os
import random

import numpy as np
import pytest
from test_random_control_flow import random_function, repeated

import stagec
from stagec import P, lax
from stagec.errors import CarryError

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))


@pytest.mark.parametrize("seed", range(START, START + 6 * FUZZ))
@pytest.mark.parametrize("way", ["pmap", "shard_map", "shard_map, unchecked"])
def test_devices_compute_what_a_batch_does(way, seed):
    rng = random.Random(seed)
    function = random_function(rng, 3, 2, set())
    communicates = rng.random() < 0.3
    data = np.random.default_rng(seed).uniform(-1, 1, (3, 4, 3)).astype(np.float32)

    def looped(*vectors):
        rounds, found = repeated(function)(*vectors)
        return rounds, [lax.pmean(v, "x") + v for v in found] if communicates else found

    def of_parts(*parts):
        return stagec.tree.map(lambda v: v[None], looped(*[v[0] for v in parts]))

    mapped = stagec.pmap(looped, axis_name="x")
    if way != "pmap":
        mesh, checked = stagec.make_mesh((4,), ("x",)), way == "shard_map"
        mapped = stagec.jit(stagec.shard_map(of_parts, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=checked))
    batch = stagec.jit(stagec.vmap(looped, axis_name="x"))
    try:
        found = mapped(*data)
    except CarryError as error:  # the function's loops may begin with what is the same on all devices
        assert way == "shard_map" and "differs between devices" in str(error)
        return
    for one, other in zip(stagec.tree.leaves(found), stagec.tree.leaves(batch(*data)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)

    def slopes(f):
        return stagec.jit(stagec.grad(lambda *vectors: sum(v.sum() for v in f(*vectors)[1]), (0, 1, 2)))(*data)

    for one, other in zip(slopes(mapped), slopes(batch), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
