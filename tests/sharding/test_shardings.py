"""Arrays on several devices of one process: what they say of themselves, and what is refused."""

import copy
import pickle
import re

import numpy as np
import pytest
from platforms import first_device

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.core.graph import prune
from stagec.errors import DeviceError
from stagec.sharding import AbstractMesh, AxisType, Mesh, SingleDeviceSharding


@pytest.fixture
def mesh():
    return stagec.make_mesh((2, 4), ("x", "y"))


def test_devices_of_the_cpu_share_it():
    devices = stagec.devices("cpu")
    assert [d.id for d in devices] == list(range(8)) and stagec.local_device_count("cpu") == 8
    assert stagec.devices("cpu")[3] is devices[3] is stagec.device_put(1.0, devices[3]).device
    assert stagec.device_put(1.0, "cpu:5").device is devices[5]
    x = stagec.device_put(snp.arange(3.0), devices[5])
    y = stagec.jit(lambda x: x * 2)(x)
    assert y.device is devices[5] and (y + 1).device is devices[5] and y.tolist() == [0, 2, 4]
    with stagec.default_device(devices[2]):
        assert snp.ones(2).device is devices[0]  # as NumPy makes it
        assert stagec.jit(lambda x: x + 1)(np.ones(2)).device is devices[2]
    with pytest.raises(ValueError, match="num_cpu_devices: '0' is not a positive number"):
        stagec.config.update("num_cpu_devices", "0")


def test_shards_are_views_of_the_whole(mesh):
    whole = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    x = stagec.device_put(whole, NamedSharding(mesh, P("y", "x")))
    assert len(x.addressable_shards) == 8 and x.devices() == set(stagec.devices("cpu")) and x.committed
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, whole[shard.index])
        assert shard.data.device is shard.device and shard.replica_id == 0
        assert isinstance(shard.data.sharding, SingleDeviceSharding)
    replicated = stagec.device_put(whole, NamedSharding(mesh, P(None, "x")))
    assert [s.replica_id for s in replicated.addressable_shards] == [0, 1, 2, 3] * 2
    assert np.shares_memory(np.asarray(x.addressable_data(0)), np.asarray(x))
    np.testing.assert_array_equal(x.addressable_data(-1), whole[3:, 2:])
    with pytest.raises(IndexError, match="index 8 of an array with 8 parts"):
        x.addressable_data(8)
    assert x.sharding.is_equivalent_to(NamedSharding(mesh, P("y", ("x",))), 2)
    assert not x.sharding.is_equivalent_to(replicated.sharding, 2)
    assert stagec.device_put(x, stagec.devices("cpu")[1]).device is stagec.devices("cpu")[1]


def test_what_is_copied_keeps_its_sharding(mesh):
    x = stagec.device_put(snp.ones((4, 4)), NamedSharding(mesh, P("x")))
    assert copy.copy(x).sharding == x.sharding
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x.sharding)) == x.sharding
    assert hash(pickle.loads(pickle.dumps(mesh))) == hash(mesh)


def test_jitted_functions_keep_shardings_when_they_are_called_again(mesh):
    f = stagec.jit(lambda x, y: (x + y, x.sum(), x))
    x = stagec.device_put(snp.ones((4, 4)), NamedSharding(mesh, P("x", "y")))
    for _ in range(3):
        both, total, same = f(x, 1.0)
        assert both.sharding.spec == same.sharding.spec == P("x", "y") and total.sharding.is_fully_replicated
        assert f(snp.ones((4, 4)), 1.0)[0].sharding == SingleDeviceSharding(stagec.devices("cpu")[0])
    with stagec.config.override(disable_jit=True):
        assert f(x, 1.0)[0].sharding.spec == P("x", "y")


def test_the_mesh_in_force_is_part_of_a_trace(mesh):
    @stagec.jit
    def f(x):
        return lax.with_sharding_constraint(x, P("x"))

    other = stagec.make_mesh((4, 2), ("x", "y"))
    for _ in range(2):
        for m in (mesh, other):
            with stagec.set_mesh(m):
                assert f(snp.ones(8)).sharding == NamedSharding(m, P("x"))
    with pytest.raises((ValueError, RuntimeError), match=r"P\('x',\) names axes of a mesh, and no mesh is in force"):
        f(snp.ones(8))


def test_unconstrained_axes_stay_as_they_are(mesh):
    x = stagec.device_put(snp.ones((4, 4)), NamedSharding(mesh, P("x", "y")))
    free = NamedSharding(mesh, P(P.UNCONSTRAINED, None))
    assert stagec.jit(lambda x: lax.with_sharding_constraint(x + 1, free))(x).sharding.spec == P("x", None)
    written = NamedSharding(mesh, P("x", None))
    assert stagec.jit(lambda x: x + 1, out_shardings=written)(x).sharding == written


def test_a_donated_array_is_given_up(mesh):
    x = stagec.device_put(snp.ones((8, 8)), NamedSharding(mesh, P("x")))
    y = stagec.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert x.is_deleted() and y.sharding.spec == P("x", None) and float(y.sum()) == 128


def test_keys_are_split_like_arrays(mesh):
    keys = stagec.random.split(stagec.random.key(0), 8)
    draw = stagec.shard_map(
        lambda k: stagec.vmap(lambda k: stagec.random.normal(k, (2,)))(k),
        mesh=mesh,
        in_specs=P(("x", "y")),
        out_specs=P(("x", "y")),
    )
    wanted = stagec.vmap(lambda k: stagec.random.normal(k, (2,)))(keys)
    np.testing.assert_array_equal(draw(keys), wanted)
    np.testing.assert_array_equal(stagec.pmap(lambda k: stagec.random.normal(k, (2,)))(keys), wanted)


def test_shard_map_in_loops_and_branches(mesh):
    mapped = stagec.shard_map(lambda x: x - lax.pmean(x, "x") / 2, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    x = np.arange(8.0, dtype=np.float32)
    wanted = x
    for _ in range(3):
        wanted = wanted - np.tile(wanted.reshape(2, 4).mean(0), 2) / 2
    run = stagec.jit(lambda x: lax.scan(lambda c, _: (mapped(c), None), x, None, length=3)[0])
    np.testing.assert_allclose(run(x), wanted, rtol=1e-6)
    chosen = stagec.jit(lambda p, x: lax.cond(p, mapped, lambda x: x, x))
    np.testing.assert_allclose(chosen(True, x), mapped(x))
    np.testing.assert_array_equal(chosen(False, x), x)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda m: NamedSharding(m, P("z")), ValueError, "axis 'z' of P('z',) is not found"),
        (lambda m: NamedSharding(m, P("x", "x")), ValueError, "has duplicate entries for 'x'"),
        (lambda m: NamedSharding(m, ("x",)), TypeError, "('x',) is no spec"),
        (lambda m: Mesh(np.array(stagec.devices("cpu")), ("x", "y")), ValueError, "devices.ndim == 1"),
        (lambda m: Mesh(np.array([1, 2]), ("x",)), TypeError, "1 is no device"),
        (lambda m: Mesh(np.array(stagec.devices("cpu")).reshape(2, 4), ("x", "x")), ValueError, "a name of its own"),
        (lambda m: stagec.make_mesh((16,), ("x",)), RuntimeError, "(16,) needs 16 devices, and there are 8"),
        (lambda m: AbstractMesh((2,), ("x", "y")), ValueError, "1 sizes for 2 names"),
        (lambda m: stagec.set_mesh(3), TypeError, "3 is no mesh"),
        (lambda m: stagec.device_put(snp.ones(3), NamedSharding(m, P("x"))), ValueError, "partitioned 2 times"),
        (lambda m: stagec.device_put(snp.ones(4), NamedSharding(m, P(None, "x"))), ValueError, "rank at least 2"),
        (lambda m: stagec.pmap(lambda x: x)(snp.ones(9)), RuntimeError, "requires 9 devices, but only 8 are available"),
        (
            lambda m: stagec.device_put(snp.ones(4), NamedSharding(m, P("x"))) + stagec.device_put(1.0, "cpu:1"),
            RuntimeError,
            "on 8 devices, CpuDevice(id=0) first",
        ),
        (
            lambda m: stagec.shard_map(lambda x: x, in_specs=P("x"), out_specs=P("x"))(snp.ones(4)),
            ValueError,
            "no mesh was given",
        ),
        (
            lambda m: stagec.shard_map(lambda x: x, mesh=m, in_specs=P("x"), out_specs=P("x"))(snp.ones(5)),
            ValueError,
            "axis 0 of x is not evenly divisible: 5 by 2",
        ),
        (
            lambda m: stagec.shard_map(lambda x: x, mesh=m, in_specs=P("x"), out_specs=P(None, "x"))(snp.ones(4)),
            ValueError,
            "has 2 entries, and result has 1 axes",
        ),
        (
            lambda m: stagec.shard_map(lambda x: x, mesh=m, in_specs="x", out_specs=P("x"))(snp.ones(4)),
            TypeError,
            "in_specs must hold PartitionSpecs, got 'x'",
        ),
        (
            lambda m: stagec.shard_map(lambda x: x, mesh=m.abstract_mesh, in_specs=P("x"), out_specs=P("x"))(
                snp.ones(4)
            ),
            ValueError,
            "has no devices, and neither has an argument",
        ),
        (
            lambda m: m.update(axis_types=AxisType.Auto)(stagec.smap)(lambda x: x, out_axes=0, axis_name="x"),
            TypeError,
            "smap: in_axes was not given",
        ),
        (
            lambda m: stagec.pmap(lambda x: x, devices=stagec.devices("cpu"))(snp.ones(4)),
            ValueError,
            "4 elements for the 8 devices that were passed",
        ),
        (
            lambda m: stagec.jit(lambda x: x, in_shardings=((),))(snp.ones(4)),
            ValueError,
            "jit: in_shardings does not fit what it describes",
        ),
        (
            lambda m: stagec.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1, 2]]), axis_name="i")(
                snp.ones(3)
            ),
            ValueError,
            "do not divide an axis of 3",
        ),
    ],
)
def test_what_does_not_fit_is_refused(mesh, call, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        call(mesh)


def test_axes_have_types(mesh):
    assert mesh.are_all_axes_explicit and mesh.explicit_axes == ("x", "y")
    mixed = mesh.update(axis_types=(AxisType.Auto, AxisType.Explicit))
    assert mixed.auto_axes == ("x",) and not mixed.are_all_axes_auto and mixed != mesh
    assert mixed.abstract_mesh == AbstractMesh((2, 4), ("x", "y"), (AxisType.Auto, AxisType.Explicit))
    seen = []
    f = stagec.shard_map(
        lambda x: seen.append(stagec.sharding.get_abstract_mesh()) or x,
        mesh=mesh,
        **{"in_specs": P("x"), "out_specs": P("x"), "axis_names": {"x"}},
    )
    f(snp.ones(4))
    assert seen[0].manual_axes == ("x",) and seen[0].explicit_axes == ("y",)


def specs_seen(x, types, wrapped):
    """The specs of values in a function under a mesh, and of its result."""
    seen = []

    def inner(x):
        mesh = stagec.sharding.get_abstract_mesh()
        seen.append((mesh.auto_axes, mesh.explicit_axes))
        return x @ x.T

    def outer(x):
        y = wrapped(inner)(x)
        seen.append(stagec.sharding.get_abstract_mesh().axis_types)
        return y * 2

    with stagec.set_mesh(stagec.make_mesh((2, 4), ("x", "y"), types)):
        results = [stagec.jit(outer)(x), outer(x)]
    assert seen[:2] == seen[2:] and seen[1] == types
    for result in results:
        np.testing.assert_allclose(result, 2 * np.asarray(x) @ np.asarray(x).T)
    return seen[0], [r.sharding.spec for r in results]


def test_axes_are_of_another_type_in_a_function():
    x, both = snp.arange(64.0).reshape(8, 8), (AxisType.Explicit, AxisType.Explicit)
    auto = stagec.sharding.auto_axes
    for wrapped, types in (
        (lambda f: auto(f, out_sharding=P("x", "y")), (("x", "y"), ())),
        (auto(axes="x", out_sharding=P("x", "y")), (("x",), ("y",))),
        (lambda f: lambda x: auto(f, axes=("y",))(x, out_sharding=P("x", "y")), (("y",), ("x",))),
    ):
        assert specs_seen(x, both, wrapped) == (types, [P("x", "y")] * 2)


def test_values_have_a_known_sharding_in_a_function_with_explicit_axes():
    x, both = snp.arange(64.0).reshape(8, 8), (AxisType.Auto, AxisType.Auto)
    explicit = stagec.sharding.explicit_axes
    for wrapped, types in (
        (lambda f: explicit(f, in_sharding=P("x")), ((), ("x", "y"))),
        (lambda f: lambda x: explicit(f, axes="y")(x, in_sharding=(P(None, "y"),)), (("x",), ("y",))),
    ):
        assert specs_seen(x, both, wrapped)[0] == types
    shown = []
    with stagec.set_mesh(stagec.make_mesh((2, 4), ("x", "y"), both)):
        f = explicit(lambda x, n: shown.append(stagec.typeof(x).sharding.spec) or x, in_sharding=(P("y"), P()))
        stagec.jit(lambda x: f(x, 2))(x)
    assert shown == [P("y", None)]


def test_second_derivatives_of_what_is_not_known_to_differ_are_refused(mesh):
    def f(w, x):
        inner = stagec.jit(stagec.grad(lambda w: lax.psum(snp.sin(w * x).sum(), "x")))
        return stagec.jit(stagec.grad(inner))(w)

    mapped = stagec.shard_map(f, mesh=mesh, in_specs=(P(), P("x")), out_specs=P())
    with pytest.raises(stagec.StagecError, match="along which axes the gradient varies"):
        mapped(snp.float32(1), snp.arange(4.0))


def test_devices_that_do_not_share_a_memory_make_no_mesh():
    other = first_device("vulkan")
    with pytest.raises(stagec.errors.UnsupportedError, match="do not share one memory"):
        Mesh(np.array([stagec.devices("cpu")[0], other, None], dtype=object)[:-1], ("x",))
    alone = NamedSharding(Mesh(np.array([other, None], dtype=object)[:-1], ("x",)), P("x"))
    x = stagec.device_put(snp.ones(2), alone)
    assert (x + 1).tolist() == [2, 2] and x.devices() == {other}
    here = NamedSharding(stagec.make_mesh((2,), ("x",)), P("x"))
    with pytest.raises(stagec.errors.DeviceError, match="cannot be split among devices of Mesh"):
        stagec.jit(lambda x: lax.with_sharding_constraint(x + 1, here), device=other)(snp.ones(2))


def test_results_of_pmap_may_hold_none():
    (shared, split), doubled = stagec.pmap(lambda x: ((None, x), 2 * x), out_axes=(None, 0))(snp.ones((2, 3)))
    assert shared is None and split.shape == (3,) and doubled.shape == (2, 3)


def test_python_values_without_a_spec_are_passed_on(mesh):
    class Unhashable:
        __hash__ = None

    x, seen = snp.arange(8.0), []

    def f(config, x, shape, w):
        seen.append((config, shape))
        return x + snp.ones(shape) * w

    given = {"a": Unhashable(), "b": None}
    mapped = stagec.shard_map(f, mesh=mesh, in_specs=(None, P("x"), None, None), out_specs=P("x"))
    for run in (mapped, stagec.jit(lambda x: mapped(given, x, (4,), snp.ones(4)))):
        found = run(given, x, (4,), snp.ones(4)) if run is mapped else run(x)
        assert found.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and found.sharding.spec == P("x")
        assert seen[-1][0]["a"] is given["a"] and seen[-1] == (given, (4,))
    with pytest.raises(stagec.errors.ShapeError, match="not evenly divisible: 3 by 2"):
        mapped(given, snp.arange(3.0), (4,), 1)


def test_spmd_axis_name_splits_the_batch(mesh):
    x = snp.arange(32.0).reshape(4, 8)
    rows = stagec.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("y"), out_specs=P("y"))
    for names, split in (("x", P("x", "y")), (("x",), P("x", "y")), (None, P(None, "y"))):
        for run in (stagec.vmap(rows, spmd_axis_name=names), stagec.jit(stagec.vmap(rows, spmd_axis_name=names))):
            found = run(x)
            assert found.sharding.spec == split
            np.testing.assert_array_equal(found, x * 2)
    constrained = stagec.vmap(
        lambda r: lax.with_sharding_constraint(r, NamedSharding(mesh, P())), 1, 1, spmd_axis_name=("x", "y")
    )
    assert stagec.jit(constrained)(x).sharding.spec == P(None, ("x", "y"))
    with pytest.raises(ValueError, match=r"spmd_axis_name='y' cannot appear in P\('y',\)"):
        stagec.vmap(rows, spmd_axis_name="y")(x)


def test_manual_axes_cannot_be_named_again(mesh):
    whole = NamedSharding(mesh, P("x", "y"))
    for names in ({"x"}, {"x", "y"}):
        mapped = stagec.shard_map(
            lambda x: lax.with_sharding_constraint(x, whole),
            mesh=mesh,
            in_specs=P("x"),
            out_specs=P("x"),
            axis_names=names,
        )
        with pytest.raises(ValueError, match="names 'x', which is a manual axis"):
            stagec.jit(mapped)(snp.ones((4, 4)))
    rest = stagec.shard_map(
        lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P(None, "y"))),
        mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"},
    )  # fmt: skip
    assert stagec.jit(rest)(snp.ones((4, 4))).sharding.spec == P("x", "y")


def test_parts_are_committed_as_their_array_is(mesh):
    x = snp.ones(3)
    assert not x.committed and not any(s.data.committed for s in x.addressable_shards)
    for y in (stagec.device_put(x, stagec.devices("cpu")[2]), stagec.device_put(x, NamedSharding(mesh, P()))):
        assert y.committed and all(s.data.committed for s in y.addressable_shards)


def test_a_compiled_stage_splits_its_results(mesh):
    rows, x = NamedSharding(mesh, P(("x", "y"))), snp.arange(64.0).reshape(8, 8)
    f = stagec.jit(lambda x, y: (x @ y, x.sum()), in_shardings=rows, out_shardings=(rows, None))
    compiled = f.lower(x, x).compile()
    for given in (x, x, stagec.device_put(x, rows), np.asarray(x)):
        product, total = compiled(given, x)
        assert product.sharding == rows == compiled.output_shardings[0] and total.sharding.is_fully_replicated
        np.testing.assert_array_equal(product.addressable_data(3), (np.asarray(x) @ np.asarray(x))[3:4])
    split = stagec.jit(lambda x: x * 2).lower(stagec.device_put(x, rows)).compile()
    assert split(stagec.device_put(x, rows)).sharding == rows.filled(2)


def test_full_arrays_are_made_where_they_are_wanted(mesh):
    rows, second = NamedSharding(mesh, P("x")), stagec.devices("cpu")[1]
    assert lax.full((4,), 1.0, sharding=rows).sharding == rows
    x = stagec.device_put(snp.ones(4), second)
    assert lax.full_like(x, 2).devices() == {second} and not lax.full_like(x, 2, shape=(2,)).committed
    assert lax.full_like(x, 2, sharding=rows).sharding == rows
    assert stagec.jit(lambda x: lax.full_like(x, 2, sharding=rows))(snp.ones(4)).sharding == rows
    assert not lax.full_like(snp.ones(4), 2).committed


def halvings(x, key):
    """Its loops have rounds of their own for each element, within a loop of as many rounds for all."""

    def step(s, k):
        count, s = lax.while_loop(
            lambda c: snp.abs(c[1]).max() > 1,
            lambda c: (c[0] + 1, c[1] * 0.5 + 0.01),
            (0, s + stagec.random.normal(k, (3,))),
        )
        return lax.cond(count > 1, lambda s: s * 3, lambda s: s - 1, s), count

    return lax.scan(step, x, stagec.random.split(key, 20))


@pytest.mark.parametrize("way", ["pmap", "shard_map", "shard_map, unchecked"])
def test_devices_do_not_wait_for_the_loops_of_others(way):
    xs, keys = snp.arange(12.0).reshape(4, 3), stagec.random.split(stagec.random.key(0), 4)
    mapped = stagec.pmap(halvings)
    if way != "pmap":
        of_parts = stagec.shard_map(
            lambda x, k: stagec.tree.map(lambda v: v[None], halvings(x[0], k[0])),
            mesh=stagec.make_mesh((4,), ("x",)), in_specs=P("x"), out_specs=P("x"), check_vma=way == "shard_map",
        )  # fmt: skip
        mapped = stagec.jit(of_parts)
    one = stagec.jit(halvings)
    for found, wanted in zip(mapped(xs, keys), zip(*[one(x, k) for x, k in zip(xs, keys)])):
        np.testing.assert_array_equal(found, snp.stack(wanted))
    graph, _ = prune(stagec.make_graph(mapped)(xs, keys).graph)
    assert "reduce_or" not in str(graph)  # which a loop asks that goes on until all are done
    gradient = stagec.jit(stagec.grad(lambda x: mapped(x, keys)[0].sum()))(xs)
    slope = stagec.grad(lambda x, k: one(x, k)[0].sum())
    wanted = [slope(x, k) for x, k in zip(xs, keys)]
    np.testing.assert_array_equal(gradient, snp.stack(wanted))


def test_a_loop_that_devices_share_has_one_result_for_all():
    def counted(x):
        count = lax.while_loop(lambda n: n < x.shape[0], lambda n: n + 1, 0)
        return x * count, count

    run = stagec.shard_map(counted, mesh=stagec.make_mesh((4,), ("x",)), in_specs=P("x"), out_specs=(P("x"), P()))
    doubled, count = run(snp.arange(8.0))
    np.testing.assert_array_equal(doubled, 2 * np.arange(8.0))
    assert count == 2


def test_a_jitted_function_with_a_device_has_its_results_there():
    split = stagec.device_put(snp.arange(8.0), NamedSharding(stagec.make_mesh((2,), ("x",)), P("x")))
    device = stagec.devices()[1]
    doubled = stagec.jit(lambda x: x * 2, device=device)
    for _ in range(2):
        assert doubled(split).sharding == SingleDeviceSharding(device)
    assert doubled.lower(split).compile()(split).sharding == SingleDeviceSharding(device)


def test_a_constraint_of_axes_without_devices_is_on_those_of_the_array(mesh):
    split = stagec.device_put(snp.arange(8.0).reshape(2, 4), NamedSharding(mesh, P("x", "y")))
    rows = NamedSharding(mesh.abstract_mesh, P("x"))
    assert lax.with_sharding_constraint(split, rows).sharding == NamedSharding(mesh, P("x"))
    with pytest.raises(ValueError, match="has no devices"):
        lax.with_sharding_constraint(snp.ones((2, 4)), rows)


def test_a_constraint_to_a_device_commits_to_it():
    device = stagec.devices()[2]
    moved = lax.with_sharding_constraint(snp.ones(3), SingleDeviceSharding(device))
    assert moved.committed and moved.device == device


def test_arguments_of_a_program_that_are_not_split_are_on_its_mesh(mesh):
    split = stagec.device_put(snp.ones((2, 4)), NamedSharding(mesh, P("x")))
    compiled = stagec.jit(lambda x, y: (x, y)).lower(split, np.ones(3)).compile()
    assert compiled.input_shardings[0][1] == NamedSharding(mesh, P())


def test_a_description_is_updated():
    described = stagec.ShapeDtypeStruct((2, 2), "int32", sharding="rows").update(shape=(4,), weak_type=True)
    assert (described.shape, described.dtype, described.weak_type, described.sharding) == ((4,), "int32", True, "rows")


def test_what_a_loop_or_a_branch_constrains_is_split_outside_of_jit(mesh):
    def doubled(x):
        return lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P("x", "y")))

    x = snp.ones((2, 8))
    results = [
        lax.scan(lambda c, _: (doubled(c), None), x, None, length=3)[0],
        lax.cond(True, doubled, doubled, x),
        lax.fori_loop(0, 2, lambda _, x: doubled(x), x),
    ]
    assert [r.sharding.shard_shape(r.shape) for r in results] == [(1, 2)] * 3


def test_committed_arguments_are_as_in_shardings_says(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    x = np.ones((8, 4), np.float32)
    f = stagec.jit(lambda x, y=0: x * 2, in_shardings=rows)
    alike = NamedSharding(mesh.update(axis_names=("a", "b")), P("a"))
    for given in (x, snp.asarray(x), stagec.device_put(x, rows), stagec.device_put(x, alike)):
        assert np.array_equal(f(given), 2 * x)
    for given in (stagec.device_put(x, columns), stagec.device_put(x, stagec.devices("cpu")[1])):
        with pytest.raises(ValueError, match="in_shardings does not match the sharding on the respective") as raised:
            f(given)
        assert "P('x',)" in str(raised.value) and str(given.sharding) in str(raised.value)
        assert "leave in_shardings out, or move the argument first, with stagec.device_put(x, sharding)" in str(
            raised.value
        )
    assert stagec.jit(lambda x: f(x))(stagec.device_put(x, columns)).sharding.spec == P("x", None)
    with pytest.raises(
        ValueError, match="in_shardings is of positional arguments, and 'x' was passed by name"
    ) as raised:
        f(x=x)
    assert "pass by position what in_shardings is of" in str(raised.value)


def test_constraints_do_not_move_arrays_to_other_devices(mesh):
    rows = NamedSharding(mesh, P("x"))
    turned = NamedSharding(Mesh(mesh.devices[::-1], ("x", "y")), P("x"))
    for x in (stagec.device_put(np.ones(8), turned), stagec.device_put(np.ones(8), stagec.devices("cpu")[0])):
        with pytest.raises(DeviceError, match="incompatible devices: the array is committed to") as raised:
            lax.with_sharding_constraint(x, rows)
        assert "move the array, with stagec.device_put(x, sharding)" in str(raised.value)
        assert stagec.device_put(x, rows).sharding == rows
    with pytest.raises(ValueError, match="Unconstrained dims are not allowed in in_shardings, got P") as raised:
        stagec.jit(abs, in_shardings=NamedSharding(mesh, P(P.UNCONSTRAINED, "x")))
    assert "write None for an axis that is whole, or leave in_shardings out" in str(raised.value)


def test_an_argument_of_one_device_is_not_split_by_a_constraint(mesh):
    rows = NamedSharding(mesh, P("x"))
    f = stagec.jit(lambda x: lax.with_sharding_constraint(x * 2, rows))
    with pytest.raises(DeviceError, match="Received incompatible devices for jitted computation") as raised:
        f(stagec.device_put(np.ones(8), stagec.devices("cpu")[0]))
    assert "leave the device of the argument out, or put it on the mesh" in str(raised.value)
    assert f(np.ones(8)).sharding.spec == P("x")


def test_stages_tell_how_results_are_split(mesh):
    auto = mesh.update(axis_types=(AxisType.Auto,) * 2)
    f = stagec.jit(lambda x: (x * 2, 1))
    for m, of_types in ((mesh, P("x", None)), (auto, None)):
        lowered = f.lower(stagec.device_put(np.ones((8, 4)), NamedSharding(m, P("x"))))
        assert getattr(lowered.out_info[0].sharding, "spec", None) == of_types
        product, one = lowered.compile().out_info
        assert product.sharding == NamedSharding(m, of_types or P("x")) and product.shape == (8, 4)
        assert one.sharding == NamedSharding(m, P())
    assert f.lower(np.ones(3)).compile().out_info[0].sharding == SingleDeviceSharding(stagec.devices("cpu")[0])
    with pytest.raises(ValueError, match=r"make_mesh: axis_sizes must be a sequence of ints, got \(4,\)") as raised:
        stagec.make_mesh(((4,), 2), ("x", "y"))
    assert "give the size of each axis, such as make_mesh((2, 4), ('x', 'y'))" in str(raised.value)


def test_gradients_move_back_between_meshes():
    """A network whose layers are on other devices, as pipelines have it."""
    devices = stagec.devices("cpu")
    first, second = (NamedSharding(Mesh(devices[i : i + 4], "x"), P("x")) for i in (0, 4))
    w = np.arange(12.0, dtype=np.float32).reshape(4, 3) / 12
    layer, last = stagec.jit(lambda w, x: snp.tanh(x @ w)), stagec.jit(lambda w, x: (x @ w).sum())

    def loss(a, b, x, move):
        return last(b, move(layer(a, x)))

    x = np.ones((8, 4), np.float32)
    wanted = stagec.value_and_grad(loss, (0, 1))(w, w.T[:, :2], x, lambda x: x)
    whole = [s.update(spec=P()) for s in (first, second)]
    args = [stagec.device_put(a, s) for a, s in zip((w, w.T[:, :2], x), (*whole, first))]
    found = stagec.value_and_grad(loss, (0, 1))(*args, lambda x: stagec.device_put(x, second))
    for got, as_one in zip(stagec.tree.leaves(found), stagec.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(got, as_one, rtol=1e-6)
    places = [first.device_set, second.device_set]
    assert [g.devices() for g in found[1]] == places and found[0].devices() == places[1]


def test_devices_call_an_ordered_callback_one_after_the_other(mesh):
    seen = []

    @stagec.shard_map(mesh=mesh, in_specs=P(("x", "y")), out_specs=P(("x", "y")))
    def f(x):
        stagec.experimental.io_callback(lambda v: seen.append(v.tolist()), None, x, ordered=True)
        return x + 1

    for run in (f, stagec.jit(f)):
        seen.clear()
        assert run(snp.arange(8.0)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
        stagec.effects_barrier()
        assert seen == [[float(i)] for i in range(8)]
