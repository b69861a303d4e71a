"""Programs for eight devices, written for JAX's names: run by JAX in a process of its own, and by stagec.

`python tests/sharding/programs.py` runs them by JAX and prints, for each, its results and how they are split.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def programs(jax: Any, jnp: Any, lax: Any, sharding: Any) -> dict[str, Callable[[], Any]]:
    """The programs by name; each returns an array or a tuple of arrays."""
    P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding
    mesh = sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    x8, w, x44 = jnp.arange(8.0), jnp.float32(3.0), jnp.arange(16.0).reshape(4, 4)
    both = NamedSharding(mesh, P("x", "y"))
    split = jax.device_put(x44, both)
    found: dict[str, Callable[[], Any]] = {}

    def mapped(name: str, f: Any, in_specs: Any, out_specs: Any, *args: Any, **options: Any) -> None:
        options = {"mesh": mesh, **options}
        found[name] = lambda: jax.shard_map(f, in_specs=in_specs, out_specs=out_specs, **options)(*args)

    # How arguments and results are cut and put together.
    mapped("split", lambda x: x * 2, P("x"), P("x"), x8)
    mapped("repeated", lambda x: x * 2, P("x"), P(("x", "y")), x8)
    mapped("reordered", lambda x: x * 2, P(("y", "x")), P(("x", "y")), x8)
    mapped("transposed", lambda x: x.T, P("x", "y"), P("y", "x"), x44)
    mapped("last axis", lambda x: x + 1, P(None, "y"), P(None, "y"), x44)
    mapped("trees", lambda d: {"s": d["a"] + d["b"]}, ({"a": P("x"), "b": P()},), P("x"), {"a": x8, "b": w})
    mapped("of a mesh's part", lambda x: x * lax.axis_size("x"), P("x"), P("x"), x8, axis_names={"x"})
    mapped(
        "nested",
        lambda x: jax.shard_map(
            lambda y: lax.psum(y, "y"), mesh=None, in_specs=P("y"), out_specs=P(), axis_names={"y"}
        )(x),
        *(P("x"), P("x"), x8),
        axis_names={"x"},
    )
    mapped("first of several", lambda x: x, P("x"), P(), x8, check_vma=False)

    # Collective operations.
    whole = {"check_vma": False}
    ring = [(i, (i + 1) % 4) for i in range(4)]
    mapped("psum", lambda x: lax.psum(x, "x"), P("x", "y"), P(None, "y"), x44)
    mapped("psum of both", lambda x: lax.psum(x, ("x", "y")), P("x", "y"), P(), x44)
    mapped("pmax", lambda x: lax.pmax(x, "x"), P("x", "y"), P(None, "y"), x44)
    mapped("pmin", lambda x: lax.pmin(x, "y"), P("x", "y"), P("x"), x44)
    mapped("pmean", lambda x: lax.pmean(x.sum(), ("x", "y")), P("x", "y"), P(), x44)
    mapped("all_gather", lambda x: lax.all_gather(x, "y", axis=1, tiled=True), P("x", "y"), P("x", "y"), x44)
    mapped("all_gather whole", lambda x: lax.all_gather(x, "y", axis=1, tiled=True), P("x", "y"), P("x"), x44, **whole)
    mapped("all_gather of both", lambda x: lax.all_gather(x, ("x", "y"), tiled=True), P(("x", "y")), P(), x8, **whole)
    mapped(
        "psum_scatter",
        lambda x: lax.psum_scatter(x, "y", scatter_dimension=1, tiled=True),
        *(P("x", None), P("x", "y"), x44),
        **whole,
    )
    mapped(
        "psum_scatter of both", lambda x: lax.psum_scatter(x, ("x", "y"), tiled=True), P(), P(("x", "y")), x8, **whole
    )
    mapped("ppermute", lambda x: lax.ppermute(x, "y", ring), P("x", "y"), P("x", "y"), x44)
    mapped("pshuffle", lambda x: lax.pshuffle(x, "y", [1, 0, 3, 2]), P("y"), P("y"), x8)
    mapped("all_to_all", lambda x: lax.all_to_all(x, "y", 1, 0, tiled=True), P("y", None), P(None, "y"), x44)
    mapped(
        "axis_index",
        lambda x: lax.axis_index(("x", "y"))[None] + 0 * x[0, :1].astype(int),
        *(P("x", "y"), P(("x", "y")), x44),
    )

    # Gradients that the function takes: with respect to what is the same along an axis, they are summed over it.
    def inside(name: str, f: Any, in_specs: Any, out_specs: Any) -> None:
        mapped(name, f, in_specs, out_specs, w, x8)

    both_in = (P(), P("x"))
    inside("grad of a part", lambda w, x: jax.grad(lambda w: jnp.sum(w * x))(w), both_in, P())
    inside("grad without data", lambda w, x: jax.grad(lambda w: w + 0 * x.sum())(w), both_in, P())
    inside("grad of psum", lambda w, x: jax.grad(lambda w: lax.psum(w * x.sum(), "x"))(w), both_in, P())
    inside("grad of psum by a part", lambda w, x: jax.grad(lambda x: lax.psum((w * x).sum(), "x"))(x), both_in, P("x"))
    inside("grad of psum alone", lambda w, x: jax.grad(lambda w: lax.psum(w, "x"))(w), both_in, P())
    inside("grad of all_gather", lambda w, x: jax.grad(lambda x: lax.all_gather(x, "x").sum() * w)(x), both_in, P("x"))
    inside(
        "grad of pcast",
        lambda w, x: jax.grad(lambda w: jnp.sum(w * x))(lax.pcast(w, "x", to="varying"))[None],
        *(both_in, P("x")),
    )
    inside("hessian", lambda w, x: jax.hessian(lambda w: lax.psum(jnp.sin(w * x).sum(), "x"))(w), both_in, P())
    inside(
        "grad of grad",
        lambda w, x: jax.grad(jax.grad(lambda w: lax.psum(jnp.sin(w * x).sum(), "x")))(w),
        *(both_in, P()),
    )
    inside("grad in jit", lambda w, x: jax.jit(jax.grad(lambda w: jnp.sum(w * x)))(w), both_in, P())
    inside(
        "grad in scan",
        lambda w, x: lax.scan(
            lambda w, _: (w - 0.01 * jax.grad(lambda w: jnp.sum((w * x - 1) ** 2))(w), None), w, None, length=3
        )[0],
        *(both_in, P()),
    )
    inside("jacrev", lambda w, x: jax.jacrev(lambda w: lax.psum(w * x[:2], "x"))(w), both_in, P())

    def pulled(w: Any, x: Any) -> Any:
        y, pull = jax.vjp(lambda w, x: lax.psum(jnp.sum(w * x**2), "x"), w, x)
        return pull(jnp.ones_like(y))

    inside("vjp", pulled, both_in, (P(), P("x")))
    for name, f, out in (
        ("a part", lambda w, x: jax.grad(lambda w: jnp.sum(w * x))(w)[None], P("x")),
        ("psum", lambda w, x: jax.grad(lambda w: lax.psum(w * x.sum(), "x"))(w), P()),
        ("psum by a part", lambda w, x: jax.grad(lambda x: lax.psum((w * x).sum(), "x"))(x), P("x")),
        ("all_gather", lambda w, x: jax.grad(lambda x: lax.all_gather(x, "x").sum() * w)(x), P("x")),
    ):
        mapped(f"unchecked grad of {name}", f, both_in, out, w, x8, check_vma=False)

    # Transformations of the whole.
    def total(w: Any, x: Any) -> Any:
        f = lambda w, x: lax.psum(jnp.sin(w * x).sum(), "x")  # noqa: E731
        return jax.shard_map(f, mesh=mesh, in_specs=both_in, out_specs=P())(w, x)

    found["grad outside"] = lambda: jax.grad(total, (0, 1))(w, x8)
    found["jit of grad outside"] = lambda: jax.jit(jax.grad(total, (0, 1)))(w, x8)
    found["vmap outside"] = lambda: jax.vmap(total, (None, 0))(w, jnp.stack([x8, x8 + 1]))
    found["jacfwd outside"] = lambda: jax.jacfwd(total, 1)(w, x8)

    # pmap.
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    found["pmap"] = lambda: jax.pmap(lambda x: x * lax.psum(x, "i"), axis_name="i")(x8)
    found["pmap of grad"] = lambda: jax.pmap(
        lambda x, w: jax.grad(lambda w: lax.psum(w * x, "i"))(w), axis_name="i", in_axes=(0, None)
    )(x8, w)
    found["pmap in groups"] = lambda: jax.pmap(lambda x: lax.psum(x, "i", axis_index_groups=groups), axis_name="i")(x8)
    found["pmap gathers in groups"] = lambda: jax.pmap(
        lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 2, 4, 6], [1, 3, 5, 7]]), axis_name="i"
    )(x8)
    found["pmap to one"] = lambda: jax.pmap(lambda x: lax.pmean(x, "i"), axis_name="i", out_axes=None)(x8)
    found["pmap static"] = lambda: jax.pmap(lambda x, n: x * n, "i", static_broadcasted_argnums=1)(x8, 3)
    found["pmap of axis 1"] = lambda: jax.pmap(lambda x: x.sum(), "i", in_axes=1)(x8.reshape(2, 4))

    # jit.
    found["in_shardings"] = lambda: jax.jit(lambda x: x + 1, in_shardings=both)(x44)
    found["out_shardings"] = lambda: jax.jit(lambda x: x + 1, out_shardings=both)(x44)
    found["static"] = lambda: jax.jit(lambda x, n: x + n, in_shardings=(both,), out_shardings=both, static_argnums=1)(
        x44, 3
    )
    found["constraint"] = lambda: jax.jit(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("y"))))(x44)
    uneven = NamedSharding(mesh, P("x", "y"))
    found["uneven constraint"] = lambda: jax.jit(lambda x: lax.with_sharding_constraint(x, uneven))(jnp.ones((4, 3)))
    found["prefix"] = lambda: jax.jit(lambda d: d["a"] + d["b"], in_shardings=({"a": both, "b": None},))(
        {"a": x44, "b": x44}
    )
    found["followed"] = lambda: jax.jit(
        lambda x: (
            *(x.sum(1), x.T, x @ x.T, x.reshape(2, 2, 4), x[:, None, :], jnp.broadcast_to(x.sum(0), (3, 4))),
            *(x.mean(), jnp.argmax(x, 0), x > 2, jnp.where(x > 2, x, 0), jnp.cumsum(x, 0)),
        )
    )(split)
    found["outside jit"] = lambda: (split + 1, split.sum(0), split.T)
    found["from a callback"] = lambda: jax.make_array_from_callback(
        (4, 4), both, lambda i: np.arange(16.0, dtype=np.float32).reshape(4, 4)[i]
    )
    found["from parts"] = lambda: jax.make_array_from_single_device_arrays(
        (4, 4), both, [s.data for s in split.addressable_shards]
    )

    def under(f: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with jax.set_mesh(mesh):
                return f()

        return run

    found["of the mesh in force"] = under(
        lambda: jax.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())(x8)
    )
    found["constraint in force"] = under(
        lambda: jax.jit(lambda x: lax.with_sharding_constraint(x, P("x", "y")) * 2)(x44)
    )
    found["put in force"] = under(lambda: jax.device_put(x44, P("x")))
    return found


def described(result: Any) -> list[tuple[Any, list[Any]]]:
    """The values of results, and along which axes each is split."""
    rows = []
    for value in result if isinstance(result, tuple) else (result,):
        leaves = list(value.values()) if isinstance(value, dict) else [value]
        for leaf in leaves:
            names = [n if isinstance(n, tuple) else () if n is None else (n,) for n in leaf.sharding.spec]
            while names and not names[-1]:
                names.pop()
            rows.append((np.asarray(leaf).tolist(), [list(n) for n in names]))
    return rows


def main() -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    from jax import lax

    json.dump({n: described(f()) for n, f in programs(jax, jnp, lax, jax.sharding).items()}, sys.stdout)


if __name__ == "__main__":
    main()
