"""Writes `modules/`: functions as `jax.export` serializes them, their arguments, and what JAX computes.

Run with JAX and flatbuffers installed: `python tests/foreign/make_modules.py`. The files in the repository were made
with JAX 0.10.2 on a CPU.
"""

import collections
import os
import pathlib
import zlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

FOLDER = pathlib.Path(__file__).parent / "modules"
rng = np.random.default_rng(0)
x = rng.standard_normal((6, 8)).astype("float32")
square = (x @ x.T + 6 * np.eye(6)).astype("float32")
image = rng.standard_normal((2, 3, 9, 10)).astype("float32")
kernel = rng.standard_normal((4, 3, 3, 3)).astype("float32")
rows = rng.integers(0, 6, 3).astype("int32")
columns = rng.integers(0, 8, 6).astype("int32")


def loss(parameters, x):
    hidden = jnp.tanh(x @ parameters["w"] + parameters["b"])
    return {"loss": (hidden**2).mean(), "hidden": [hidden, None]}


def convolution(x, k):
    return (lax.conv_general_dilated(x, k, (2, 1), "SAME") ** 2).sum()


def loop(x):
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 0.5 + x), (0, x))


def chunks(x):
    return lax.scan(lambda c, v: (c + v, c * v), jnp.zeros(8, x.dtype), x)


FUNCTIONS = {
    "argmax": (lambda x: (jnp.argmax(x, 1), jnp.nanargmin(x, 0)), x),
    "associative_scan": (lambda x: lax.associative_scan(lambda a, b: a * b + a, x), x),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int8), x),
    "cholesky": (jnp.linalg.cholesky, square),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x), x),
    "conversions": (
        lambda x: (x.astype("bfloat16") * 2, (x * 100).astype("int8"), x > 0, lax.reduce_precision(x, 5, 3)),
        x,
    ),
    "convolution": (lambda x, k: lax.conv_general_dilated(x, k, (2, 1), "SAME", rhs_dilation=(1, 2)), image, kernel),
    "convolution_grad": (jax.grad(convolution, (0, 1)), image, kernel),
    "cumulative": (lambda x: (jnp.cumsum(x, 1), lax.cummax(x, 0), jnp.cumprod(x, 1)), x),
    "eigh": (lambda a: jnp.linalg.eigvalsh(a), square),
    "fft": (lambda x: (jnp.fft.rfft(x), jnp.fft.ifft2(x), jnp.fft.irfft(x)), x),
    "gather": (lambda x, i: (x[i], x[i, ::2], x.at[i, i].get(mode="fill", fill_value=7)), x, rows),
    "grad": (jax.grad(lambda p, x: loss(p, x)["loss"]), {"w": x.T.copy(), "b": x[0, :6]}, x),
    "loss": (loss, {"w": x.T.copy(), "b": x[0, :6]}, x),
    "lu": (lambda a: (tuple(jnp.linalg.slogdet(a)), jnp.linalg.inv(a)), square),
    "map": (lambda x: lax.map(lambda r: jnp.sort(r) * r.sum(), x), x),
    "normal": (lambda x: jax.random.normal(jax.random.key(0), (5,)) + x[0, 0], x),
    "permutation": (lambda x: jax.random.permutation(jax.random.key(3), x), x),
    "pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), "SAME"), x),
    "pool_grad": (jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (2, 2), "SAME").sum()), x),
    "qr": (lambda x: tuple(jnp.linalg.qr(x)), x.T.copy()),
    "scan": (chunks, x),
    "scan_grad": (jax.grad(lambda x: chunks(x)[1].sum()), x),
    "scatter": (lambda x, i: (x.at[i].add(1.0), x.at[:, i].mul(2.0), x.at[i, i].max(0.5), x.at[9].set(1.0)), x, rows),
    "softmax": (jax.nn.softmax, x),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(-x, descending=True), jnp.sort(x, axis=0, descending=True)), x),
    "sort_by_several": (lambda x: jnp.lexsort((x[0], jnp.round(x[1]))), x),
    "sort_grad": (jax.grad(lambda x: jnp.sum(jnp.sort(x) ** 2 * jnp.arange(8))), x),
    "special": (lambda x: (lax.erf(x), lax.erf_inv(x * 0.3), lax.lgamma(x), jnp.cbrt(x), lax.bessel_i1e(x)), x),
    "svd": (lambda x: jnp.linalg.svd(x, compute_uv=False), x),
    "switch": (lambda i, x: lax.switch(i, [lambda a: a * 2, lambda a: a - 1, jnp.sin], x), np.int32(7), x),
    "top_k": (lambda x: lax.top_k(x, 3), x),
    "triangular_solve": (lambda a, b: jax.scipy.linalg.solve_triangular(jnp.tril(a), b, lower=True), square, x),
    "unique": (lambda i: jnp.unique(i, size=5, fill_value=-1), columns),
    "vmap": (jax.vmap(lambda x, i: (x[i], x.at[i].mul(2.0), lax.dynamic_slice(x, (i,), (3,)))), x, columns),
    "while": (loop, x),
}


def main():
    FOLDER.mkdir(exist_ok=True)
    arrays = {}
    for name, (function, *arguments) in FUNCTIONS.items():
        exported = export.export(jax.jit(function), platforms=("cpu",))(*arguments)
        (FOLDER / f"{name}.jax").write_bytes(zlib.compress(bytes(exported.serialize()), 9))
        for i, leaf in enumerate(jax.tree.leaves(arguments)):
            arrays[f"{name}/in{i}"] = np.asarray(leaf)
        for i, leaf in enumerate(jax.tree.leaves(exported.call(*arguments))):
            leaf = np.asarray(leaf)
            arrays[f"{name}/out{i}"] = leaf.astype("float32") if leaf.dtype == "bfloat16" else leaf
    np.savez_compressed(FOLDER / "arrays.npz", **arrays)
    (length,) = export.symbolic_shape("length")
    open_shape = export.export(jax.jit(lambda x: jnp.concatenate([x, x * 2]).reshape(2, -1).sum(0)))
    described = jax.ShapeDtypeStruct((length, 3), "float32")
    (FOLDER / "open_shape.jax").write_bytes(zlib.compress(bytes(open_shape(described).serialize()), 9))
    platforms = export.export(jax.jit(jnp.sin), platforms=("cpu", "cuda"))(x)
    (FOLDER / "two_platforms.jax").write_bytes(zlib.compress(bytes(platforms.serialize()), 9))
    # What is refused: a class, effects in an order, and two devices.
    pair = collections.namedtuple("Pair", "a b")
    export.register_namedtuple_serialization(pair, serialized_name="Pair")
    mesh = jax.sharding.NamedSharding(jax.make_mesh((2,), ("i",)), jax.sharding.PartitionSpec("i"))
    refused = {
        "refused_class": (jax.jit(lambda x: pair(x, x)), x),
        "refused_devices": (jax.jit(lambda x: x + 1, in_shardings=mesh), x),
    }
    for name, (function, argument) in refused.items():
        data = bytes(export.export(function)(argument).serialize())
        (FOLDER / f"{name}.jax").write_bytes(zlib.compress(data, 9))


if __name__ == "__main__":
    main()
