"""A program that is written for JAX's several devices runs with stagec in JAX's place, as it is."""

import os
import subprocess
import sys

PROGRAM = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import mesh_utils
from jax.experimental.shard_map import shard_map as older_shard_map
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

assert len(jax.devices()) == 8
mesh = jax.make_mesh((4, 2), ("x", "y"))
jax.set_mesh(mesh)
a = jax.device_put(jnp.arange(8 * 16.0).reshape(8, 16), P("x", "y"))
b = jax.device_put(jnp.arange(16 * 4.0).reshape(16, 4), P("y", None))

@jax.shard_map(in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None))
def blocks(a, b):
    assert a.shape == (2, 8) and b.shape == (8, 4)
    return jax.lax.psum(jnp.dot(a, b), "y")

wanted = np.asarray(a) @ np.asarray(b)
for product in (blocks(a, b), jnp.dot(a, b, out_sharding=P("x")), jax.jit(partial(jnp.dot, out_sharding=P("x")))(a, b)):
    np.testing.assert_allclose(product, wanted)
    assert product.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)

with jax.set_mesh(jax.make_mesh((4, 2), ("i", "j"), (AxisType.Auto, AxisType.Auto))):
    whole = jnp.array([[3.0]])
    shapes = [jax.shard_map(lambda: whole, in_specs=(), out_specs=s)().shape for s in (P("i", "j"), P("i"), P())]
assert shapes == [(4, 2), (4, 1), (1, 1)]

line = Mesh(mesh_utils.create_device_mesh(8), "d")
rows = NamedSharding(line, P("d"))
assert older_shard_map(lambda x: jnp.sum(x, keepdims=True), line, P("d"), P("d"))(jnp.arange(32)).shape == (8,)

@jax.jit
def moved(x):
    return jax.lax.with_sharding_constraint(x.sum(0), rows)

assert moved(jnp.ones((4, 8))).sharding == rows

@jax.jit
def layer(x, w, b):
    return jax.nn.sigmoid(x @ w + b)

@jax.jit
@partial(older_shard_map, mesh=line, in_specs=(P("d"), P("d", None), P(None)), out_specs=P(None))
def layer_of_parts(x, w, b):
    return jax.nn.sigmoid(jax.lax.psum(x @ w, "d") + b)

rng = np.random.default_rng(0)
x, w, b = rng.normal(size=32), rng.normal(size=(32, 4)), rng.normal(size=4)
by_jit = layer(jax.device_put(x, rows), jax.device_put(w, rows), b)
np.testing.assert_allclose(by_jit, layer(x, w, b), rtol=1e-5)
np.testing.assert_allclose(layer_of_parts(x, w, b), layer(x, w, b), rtol=1e-5)

@partial(jax.pmap, axis_name="i", donate_argnums=(0,))
def update(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((w * x) ** 2).sum())(w), "i")

replicated = jnp.stack([jnp.ones(3)] * 8)
np.testing.assert_allclose(update(replicated, jnp.ones((8, 3))), 0.8 * np.ones((8, 3)), rtol=1e-6)
print("right")
"""


def test_a_program_for_eight_devices_runs_unchanged() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stagec.compat", "-c", PROGRAM], capture_output=True, text=True, env=os.environ
    )
    assert done.stdout == "right\n", done.stdout + done.stderr
