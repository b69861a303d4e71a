"""`Compiled.memory_analysis`, and what a compiled function says of its arguments and results, beside JAX."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding

X = np.ones((64, 64), np.float32)
BYTES = X.nbytes


def memory(function, *args, **options):
    return stagec.jit(function, **options).lower(*args).compile().memory_analysis()


@pytest.mark.parametrize(
    ("function", "temporary"),
    [
        (lambda x: x + 1, 0),
        (lambda x: x @ x, 0),
        (lambda x: (x @ x) @ x, BYTES),
        (lambda x: ((x @ x) @ x) @ x, 2 * BYTES),
        (lambda x: (((x @ x) @ x) @ x) @ x, 2 * BYTES),  # the first product's memory is used again
        (lambda x: x, 0),
    ],
)
def test_temporary_memory_is_that_of_products_in_between(function, temporary):
    found = memory(function, X)
    assert (found.argument_size_in_bytes, found.output_size_in_bytes) in {(BYTES, BYTES), (0, 0)}
    assert (found.temp_size_in_bytes, found.alias_size_in_bytes) == (temporary, 0)
    assert found.peak_memory_in_bytes == found.argument_size_in_bytes + found.output_size_in_bytes + temporary


def test_closed_over_arrays_are_arguments_and_unused_arguments_are_not():
    found = memory(lambda x, y: x @ X, X, X)
    assert found.argument_size_in_bytes == 2 * BYTES and found.generated_code_size_in_bytes > 1000


def test_results_in_the_memory_of_donated_arguments_are_counted_once():
    found = memory(lambda x: x * 2, X, donate_argnums=0)
    assert found.alias_size_in_bytes == BYTES and found.peak_memory_in_bytes == BYTES


def test_code_of_the_compilers_own_allocates_as_it_runs():
    with stagec.config.override(cpu_kernels=False):
        assert memory(lambda x: x @ x, X) is None
    assert memory(lambda x: x.sum(), X, dynamic={"x": "n, m"}) is None


@pytest.mark.parametrize("stage", ["trace", "lower", "compile"])
def test_stages_describe_arguments_as_jax_does(stage):
    jax = pytest.importorskip("jax")

    def at(module):
        jitted = module.jit(lambda x, n, *, y: {"a": x * n + y["k"]}, donate_argnums=0, static_argnums=1)
        lowered = jitted.lower(X, 3, y={"k": X[0]})
        return {"trace": jitted.trace(X, 3, y={"k": X[0]}), "lower": lowered, "compile": lowered.compile()}[stage]

    ours, theirs = at(stagec), at(jax)
    assert ours.donate_argnums == tuple(theirs.donate_argnums) == (0,)
    assert str(ours.in_tree) == str(theirs.in_tree) and str(ours.out_tree) == str(theirs.out_tree)
    for name in ("args_info", "in_avals", "out_info"):
        a, b = (m.tree_util.tree_flatten_with_path(getattr(s, name)) for m, s in ((stagec, ours), (jax, theirs)))
        assert [str(path) for path, _ in a[0]] == [str(path) for path, _ in b[0]]
        for (_, one), (_, other) in zip(a[0], b[0], strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert getattr(one, "donated", None) == getattr(other, "donated", None)


def test_shardings_are_those_that_it_was_lowered_for():
    with stagec.config.override(num_cpu_devices=4):
        sharding = NamedSharding(stagec.make_mesh((4,), ("x",)), P("x"))
    alone = SingleDeviceSharding(stagec.devices("cpu")[0])
    for x in (stagec.device_put(X, sharding), stagec.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)):
        compiled = stagec.jit(lambda x, y: (x + 1, y.sum())).lower(x, X).compile()
        # As in JAX, all devices of the mesh have what is not split.
        assert compiled.input_shardings == ((sharding, NamedSharding(sharding.mesh, P())), {})
        assert compiled.output_shardings[0] == NamedSharding(sharding.mesh, P("x", None))
    plain = stagec.jit(lambda x: snp.sum(lax.sin(x))).lower(X).compile()
    assert (plain.input_shardings, plain.output_shardings) == (((alone,), {}), alone)
