"""What the mesh of `set_mesh` and `use_abstract_mesh` means for results, constraints and types."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.errors import DeviceError
from stagec.experimental.pjit import pjit
from stagec.sharding import AbstractMesh, AxisType, Mesh, SingleDeviceSharding, explicit_axes, use_abstract_mesh

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


def make(*kinds):
    return stagec.make_mesh((2, 4), ("x", "y"), axis_types=kinds)


def results():
    """What no argument says the devices of, made in each way."""
    x = np.arange(4.0, dtype=np.float32)
    double = stagec.jit(lambda x: x * 2)
    yield from (double(x), double(x), double(snp.asarray(x)), double(snp.asarray(x)), double(1))
    yield from (stagec.jit(lambda: snp.ones(3))(), double.lower(x).compile()(x))
    yield from (snp.ones(3), snp.asarray(x), snp.arange(3), snp.eye(2), snp.full(3, 2), snp.array([1.0]))
    yield from (snp.asarray(x) * 2, snp.sin(x), snp.linalg.inv(np.eye(2)), snp.where(x > 1, x, 0), snp.sort(x))
    yield from (lax.scan(lambda c, v: (c + v, c), 0.0, x)[1], stagec.grad(lambda x: x**2)(2.0), stagec.vmap(snp.sin)(x))
    yield from (stagec.random.key(0), stagec.random.normal(stagec.random.key(0), (2,)), snp.asarray(x).at[0].set(1))


@pytest.mark.parametrize("kind", [AUTO, EXPLICIT])
def test_results_are_whole_on_the_devices_of_the_mesh(kind):
    mesh = make(kind, kind)
    outside = list(results())
    assert {a.sharding for a in outside} == {SingleDeviceSharding(stagec.devices("cpu")[0])}
    with stagec.set_mesh(mesh):
        found = list(results())
        assert stagec.device_put(np.ones(2)).sharding == SingleDeviceSharding(stagec.devices("cpu")[0])
    for plain, spread in zip(outside, found, strict=True):
        assert isinstance(spread.sharding, NamedSharding) and spread.sharding.mesh == mesh, spread
        assert spread.is_fully_replicated and spread.committed and plain.aval == spread.aval
        assert (
            snp.array_equal(stagec.random.key_data(plain), stagec.random.key_data(spread))
            if (plain.dtype == stagec.random.key(0).dtype)
            else np.array_equal(plain, spread)
        )
    assert stagec.jit(lambda x: x * 2)(np.ones(3)).sharding == SingleDeviceSharding(stagec.devices("cpu")[0])


def test_arrays_of_other_devices_are_refused_under_a_mesh():
    other = stagec.device_put(np.ones(4), stagec.devices("cpu")[3])
    with stagec.set_mesh(make(AUTO, AUTO)):
        for call in (stagec.jit(lambda x: x * 2), lambda x: x * 2):
            with pytest.raises(DeviceError, match="Received incompatible devices") as raised:
                call(other)
            assert "the mesh in force" in str(raised.value) and "CpuDevice(id=3)" in str(raised.value)
    assert (other * 2).device == stagec.devices("cpu")[3]


def test_a_mesh_that_is_entered_says_nothing_of_results():
    with make(AUTO, AUTO):
        assert stagec.jit(lambda x: x * 2)(np.ones(3)).sharding == SingleDeviceSharding(stagec.devices("cpu")[0])


def test_manual_axes_are_refused():
    with pytest.raises(ValueError, match="contains manual axes: 'x'") as raised:
        stagec.set_mesh(Mesh(stagec.devices("cpu"), "x", AxisType.Manual))
    hint = "leave axis_types out, or give axes of type Auto or Explicit; shard_map makes axes manual"
    assert hint in str(raised.value)


def test_an_abstract_mesh_has_the_devices_of_the_mesh_in_force():
    mesh = make(EXPLICIT, EXPLICIT)
    with stagec.set_mesh(mesh):
        with use_abstract_mesh(AbstractMesh((8,), ("z",))):
            assert snp.ones(4).sharding == NamedSharding(Mesh(mesh.devices.reshape(8), "z"), P())
            assert lax.with_sharding_constraint(snp.ones(8), P("z")).sharding.spec == P("z")
        with pytest.raises(ValueError, match="cannot change the size of the mesh in force") as raised:
            use_abstract_mesh(AbstractMesh((4,), ("z",))).__enter__()
        assert "use a mesh of 8 devices" in str(raised.value)
        x = stagec.device_put(snp.ones((8, 4)), P("x", "y"))

        def mixed(x):
            with use_abstract_mesh(mesh.abstract_mesh.update_axis_types({"x": AUTO})):
                assert stagec.typeof(x).sharding.spec == P(None, "y")
                x = stagec.reshard(x, P("y", None))
                assert stagec.typeof(x).sharding.spec == P("y", None)
            return x

        result = stagec.jit(mixed)(x).sharding
        assert result.mesh.axis_types == (AUTO, EXPLICIT) and result.spec == P(("x", "y"))


def test_constraints_leave_the_axes_of_the_other_type():
    mesh = make(EXPLICIT, AUTO)
    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.ones((8, 4)), P("x"))
        y = stagec.jit(lambda x: lax.with_sharding_constraint(x, P("y")))(x)
        assert y.sharding.spec == P(("x", "y"))
        assert stagec.jit(lambda x: stagec.reshard(x, P(None, "x")))(y).sharding.spec == P("y", "x")
        assert stagec.typeof(y).sharding.spec == P("x", None)


def test_results_of_explicit_axes_are_on_the_mesh_around():
    mesh = make(AUTO, AUTO)
    product = explicit_axes(lambda x: (x @ x.T, x), in_sharding=P("x", "y"))
    with stagec.set_mesh(mesh):
        for run in (lambda f: f, stagec.jit):
            rows, whole = run(product)(snp.ones((8, 4)))
            assert rows.sharding == NamedSharding(mesh, P("x")) and whole.sharding == NamedSharding(mesh, P("x", "y"))


def test_out_sharding_names_explicit_axes_of_the_mesh_in_force():
    x = snp.arange(8.0).reshape(2, 4)
    with stagec.set_mesh(make(EXPLICIT, EXPLICIT)):
        assert x.at[:, snp.array([0, 1])].get(out_sharding=P("x")).sharding.spec == P("x", None)
        assert x.at[0].set(1, out_sharding=P(None, "y")).sharding.spec == P(None, "y")
        assert x.at[0].divide(2, out_sharding=P(None, "y"))[0].tolist() == [0, 0.5, 1, 1.5]
        with pytest.raises(ValueError, match="out_sharding is of AbstractMesh") as raised:
            x.at[0].set(1, out_sharding=NamedSharding(make(AUTO, AUTO), P("x")))
        assert "pass a PartitionSpec for the mesh in force" in str(raised.value)
    message = r"x.at\[i\].get: out_sharding P\('x',\) names 'x', an axis of type Auto"
    with stagec.set_mesh(make(AUTO, EXPLICIT)), pytest.raises(ValueError, match=message) as raised:
        x.at[0].get(out_sharding=P("x"))
    assert "name explicit axes alone; lax.with_sharding_constraint takes those of type Auto" in str(raised.value)


def test_pjit_counts_a_mesh_that_is_entered():
    mesh, x = make(AUTO, AUTO), np.arange(8.0, dtype=np.float32)
    split = stagec.device_put(x, NamedSharding(mesh, P("x")))
    with mesh:
        assert pjit(lambda: 1)().sharding == NamedSharding(mesh, P())
        assert [len(pjit(lambda x: x)(given).addressable_shards) for given in (x, snp.asarray(x), split)] == [8] * 3
        double = pjit(lambda x: {"a": x * 2, "b": x}, (P("x"),), {"a": None, "b": P("y")})
        for _ in range(3):
            found = double(x)
            assert found["a"].is_fully_replicated and found["b"].sharding.spec == P("y")
            assert found["a"].tolist() == (2 * x).tolist()
        assert double.lower(x).compile()(x)["a"].is_fully_replicated
        other = stagec.device_put(x, NamedSharding(Mesh(stagec.devices("cpu")[:2], "x"), P("x")))
        with pytest.raises(DeviceError, match="Received incompatible devices"):
            pjit(lambda x: x * 2)(other)
    assert pjit(lambda x: x * 2, out_shardings=None)(x).sharding == SingleDeviceSharding(stagec.devices("cpu")[0])
    assert pjit(lambda x: x * 2, out_shardings=None)(split).sharding.spec == P("x")


def test_a_mesh_is_found_in_the_arguments_of_auto_axes():
    mesh = make(EXPLICIT, EXPLICIT)
    x, rows = stagec.device_put(np.ones((8, 4)), NamedSharding(mesh, P("x", "y"))), NamedSharding(mesh, P("x", None))

    @stagec.sharding.auto_axes(axes="x", out_sharding=rows)
    def f(x):
        assert stagec.typeof(x).sharding.spec == P(None, "y")
        return x * 2

    assert f(x).sharding == stagec.jit(f)(x).sharding == rows
    with stagec.set_mesh(mesh.update(axis_names=("a", "b"))):
        assert stagec.typeof(x).sharding == NamedSharding(mesh.abstract_mesh, P("x", "y"))
        assert stagec.typeof(stagec.reshard(x, P("a"))).sharding.spec == P("a", None)


def test_sums_of_terms_are_terms():
    mesh = make(EXPLICIT, EXPLICIT)
    terms = P("x", None, unreduced={"y"})

    def f(x, y):
        product = stagec.reshard(x @ y, terms)
        found = product + product - (-product)
        assert stagec.typeof(found).sharding.spec == terms
        assert stagec.typeof(product * product).sharding.spec == P("x", None)
        return found

    with stagec.set_mesh(mesh):
        x, y = stagec.device_put(np.ones((8, 4)), P("x")), np.ones((4, 2))
        found = stagec.jit(f)(x, y)
        assert found.sharding.spec == terms and np.array_equal(stagec.reshard(found, P("x")), np.full((8, 2), 12))


@pytest.mark.parametrize("make_array", [stagec.nn.initializers.he_normal(), stagec.nn.initializers.constant(2)])
def test_arrays_are_made_where_out_sharding_says(make_array):
    with stagec.set_mesh(make(EXPLICIT, EXPLICIT)):
        assert make_array(stagec.random.key(0), (8, 2), out_sharding=P("x")).sharding.spec == P("x", None)
        assert snp.arange(8).reshape(2, 4, out_sharding=P("x")).sharding.spec == P("x", None)
        bits = lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (4, 8), out_sharding=P("x"))[1]
        assert bits.sharding.spec == P("x", None)
