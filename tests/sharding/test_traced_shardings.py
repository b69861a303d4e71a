"""How values are split inside of traced functions, and what follows from the mesh in force."""

import functools
import pickle

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.sharding import AxisType, Mesh, SingleDeviceSharding, get_mesh


@pytest.fixture
def mesh():
    return stagec.make_mesh((2, 4), ("x", "y"))


def auto(mesh):
    return mesh.update(axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def specs_of(f, *args):
    """The spec of a traced value that a function makes."""
    found = []

    def run(*args):
        found.append(stagec.typeof(f(*args)).sharding.spec)
        return 0

    stagec.jit(run)(*args)
    return found[-1]


def test_typeof_tells_how_traced_values_are_split(mesh):
    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.ones((4, 8)), P("x", "y"))
        assert stagec.typeof(x).sharding == NamedSharding(mesh.abstract_mesh, P("x", "y"))
        assert str(stagec.typeof(x)) == "float32[4@x,8@y]"
        assert stagec.typeof(x) == stagec.typeof(x + 1) != stagec.typeof(x.T)
        assert hash(stagec.typeof(x)) == hash(stagec.typeof(x + 1))
        assert specs_of(lambda x: x.T, x) == P("y", "x")
        assert specs_of(lambda x: x.sum(0), x) == P("y")
        assert specs_of(lambda x: x @ x.T, x) == P("x", None)
        assert specs_of(lambda x: stagec.jit(snp.sin)(x)[None], x) == P(None, "x", "y")
        assert specs_of(lambda x: stagec.reshard(x, P(None, "x")), x) == P(None, "x")
        rows = []
        stagec.vmap(lambda r: rows.append(stagec.typeof(r).sharding.spec))(x)
        stagec.jvp(lambda r: rows.append(stagec.typeof(r).sharding.spec) or r, (x,), (x,))
        assert rows == [P("y"), P("x", "y")]
        # The same function for an argument that is split otherwise.
        f = stagec.jit(lambda x: snp.float32(len([n for n in stagec.typeof(x).sharding.spec if n])))
        assert [float(f(a)) for a in (x, snp.ones((4, 8)), x, stagec.reshard(x, P("y")))] == [2, 0, 2, 1]
    with stagec.set_mesh(auto(mesh)):
        assert str(stagec.typeof(x)) == "float32[4,8]"


def test_typeof_tells_so_without_a_mesh_in_force_and_in_loops(mesh):
    x = stagec.device_put(snp.ones((4, 8)), NamedSharding(mesh, P("x", "y")))
    seen = []

    def note(*values):
        seen.append(tuple(stagec.typeof(v).sharding.spec for v in values))
        return values[0]

    def body(carry, row):
        note(carry, row)
        return lax.cond(row[0] > 0, lambda c: note(c) + row, lambda c: c, carry), row

    for run in (lambda f: f, stagec.jit):
        seen.clear()
        carry, _ = run(lambda x: lax.scan(body, x.sum(0), x.T.reshape(8, 4)[:, :1] + snp.zeros(8)))(x)
        assert seen == [(P("y"), P(None)), (P("y"),)] and carry.sharding.spec == P("y")
        seen.clear()
        run(lambda x: lax.fori_loop(0, 3, lambda i, x: note(x) * i, x))(x)
        run(lambda x: lax.while_loop(lambda x: x.sum() < 99, lambda x: note(x) * 2, x))(x)
        run(stagec.checkpoint(note))(x)
        assert {s for row in seen for s in row} == {P("x", "y")}
    assert stagec.typeof(x).sharding == NamedSharding(mesh.abstract_mesh, P("x", "y"))


def test_gradients_are_split_as_what_they_are_of(mesh):
    x = stagec.device_put(snp.ones((4, 8)), NamedSharding(mesh, P("x", "y")))
    w = stagec.device_put(snp.ones((8, 4)), NamedSharding(mesh, P("y")))
    b = stagec.device_put(snp.ones(4), NamedSharding(mesh, P()))

    def loss(x, w, b):
        return (x @ w + b).sum()

    for run in (lambda f: f, stagec.jit):
        found = run(stagec.grad(loss, (0, 1, 2)))(x, w, b)
        assert [g.sharding.spec for g in found] == [P("x", "y"), P("y", None), P(None)]
        assert [float(g[(0,) * g.ndim]) for g in found] == [4, 4, 4]
        found = run(lambda x: stagec.vjp(snp.sum, x)[1](1.0)[0])(x)
        assert found.sharding == x.sharding and found.tolist() == [[1] * 8] * 4


STEPS = [
    lambda x: snp.pad(x, ((0, 2), (4, 0))), lambda x: snp.concatenate([x, x], 0), lambda x: snp.concatenate([x, x], 1),
    lambda x: x[:, :4], lambda x: x[2:], lambda x: snp.split(x, 2, 1)[1], lambda x: snp.split(x, 2)[0],
    lambda x: lax.dynamic_slice(x, (x.sum().astype(int), 0), (2, 4)),
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 2), "VALID"),
    lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x),
    lambda x: lax.while_loop(lambda c: c[0, 0] < x[0, 0], lambda c: c + x, x),
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("axes", [AxisType.Explicit, AxisType.Auto])
def test_axes_that_change_their_size_stay_split(mesh, step, axes):
    mesh = mesh.update(axis_types=(axes,) * 2)
    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.ones((4, 8)), P("x", "y"))
        assert stagec.jit(step)(x).sharding.spec == P("x", "y")
        assert axes == AxisType.Auto or specs_of(step, x) == P("x", "y")


@pytest.mark.parametrize("like", [snp.zeros_like, snp.ones_like, lambda x: lax.full_like(x, 2, int)])
def test_types_of_arrays_like_others_are_theirs(mesh, like):
    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.ones((4, 8)), P("x", "y"))
        assert specs_of(like, x) == stagec.jit(like)(x).sharding.spec == P("x", "y")
        assert specs_of(lambda x: like(x[0, 0]), x) == P()
    with stagec.set_mesh(auto(mesh)):
        assert stagec.jit(like)(x).sharding.is_fully_replicated


def test_arrays_that_are_stacked_stay_split(mesh):
    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.ones((4, 8)), P("x", "y"))
        assert specs_of(lambda x: snp.stack([x, x]), x) == P(None, "x", "y")
        assert specs_of(lambda x: snp.stack([x, x], 1), x) == P("x", None, "y")
        # What cannot be split evenly is whole.
        assert specs_of(lambda x: snp.pad(x, ((0, 1), (0, 0))), x) == P(None, "y")


def test_shard_map_infers_specs_of_traced_arguments(mesh):
    x = stagec.device_put(snp.arange(8.0), NamedSharding(mesh, P("y")))
    sums = stagec.shard_map(lambda x: x.sum()[None], mesh=mesh, out_specs=P("y"))
    assert sums(x).tolist() == [1, 5, 9, 13]
    with stagec.set_mesh(mesh):
        assert stagec.jit(lambda x: sums(x * 2))(x).tolist() == [2, 10, 18, 26]
        assert stagec.grad(lambda x: (sums(x) ** 2).sum())(x).tolist() == [2, 2, 10, 10, 18, 18, 26, 26]
    assert stagec.jit(lambda x: sums(x * 2))(x).tolist() == [2, 10, 18, 26]
    x = stagec.device_put(x, NamedSharding(auto(mesh), P("y")))
    with pytest.raises(ValueError, match="how a traced argument is split is not known") as raised:
        stagec.jit(lambda x: sums(x * 2))(x)
    assert "test_traced_shardings.py" in str(raised.value) and "pass in_specs" in str(raised.value)


def test_a_function_that_reads_the_mesh_is_run_for_each_mesh(mesh):
    other = stagec.make_mesh((8,), ("z",))
    f = stagec.jit(lambda x: x * len(get_mesh().axis_names))
    for _ in range(3):
        for m, wanted in ((mesh, 2.0), (other, 1.0), (None, 0.0)):
            with stagec.set_mesh(m):
                assert [float(f(snp.float32(1))) for _ in range(3)] == [wanted] * 3
    decorated = mesh(lambda: get_mesh())
    assert decorated() is mesh and get_mesh().empty


def test_batches_and_other_axes_stay_split(mesh):
    x = stagec.device_put(snp.arange(32.0).reshape(4, 8), NamedSharding(mesh, P("x", "y")))
    rows = stagec.vmap(stagec.shard_map(lambda r: r * 2, mesh=mesh, in_specs=P("y"), out_specs=P("y")))
    assert rows(x).sharding.spec == P("x", "y") and np.array_equal(rows(x), 2 * np.asarray(x))
    part = stagec.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    assert part(x).sharding.spec == P("x", "y")
    whole = stagec.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P(), out_specs=P(), axis_names={"x"})
    assert whole(x).sharding.spec == P(None, "y")
    pinned = stagec.vmap(lambda r: lax.with_sharding_constraint(r, NamedSharding(mesh, P("y"))))
    assert stagec.jit(pinned)(x).sharding.spec == P("x", "y")


def test_an_abstract_mesh_has_the_devices_of_the_arguments(mesh):
    x = stagec.device_put(snp.arange(8.0), NamedSharding(mesh, P("y")))
    double = stagec.shard_map(lambda x: x * 2, mesh=mesh.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    for found in (double(x), stagec.jit(double)(x)):
        assert found.sharding == NamedSharding(mesh, P("x"))
    other = stagec.device_put(x, NamedSharding(stagec.make_mesh((8,), ("x",)), P("x")))
    with pytest.raises(ValueError, match="an argument is split along Mesh"):
        double(other)


def test_values_of_meshes_with_different_devices_do_not_meet(mesh):
    small = stagec.make_mesh((2,), ("x",))
    f = stagec.jit(lambda x: (x, x), out_shardings=(NamedSharding(mesh, P("x")), NamedSharding(small, P("x"))))
    with pytest.raises(ValueError, match="which have different devices"):
        f(snp.arange(8.0))


def test_a_sharding_of_one_device_is_that_device():
    third = SingleDeviceSharding(stagec.devices("cpu")[3])
    for f in (
        stagec.jit(lambda x: x * 2, in_shardings=third),
        stagec.jit(lambda x: x * 2, out_shardings=third),
        lambda x: snp.full_like(x, 2, device=third),
        lambda x: snp.zeros_like(stagec.device_put(x, third)),
    ):
        assert f(snp.ones(2)).sharding == third


def test_arrays_like_others_are_split_as_they_are(mesh):
    split = NamedSharding(mesh, P("x", "y"))
    x = stagec.device_put(snp.ones((4, 8)), split)
    like = stagec.ShapeDtypeStruct((4, 8), np.float32, sharding=split)
    assert snp.zeros_like(x).sharding == snp.ones_like(like).sharding == split
    assert snp.zeros_like(x, shape=(2,)).sharding.num_devices == 1
    keys = stagec.device_put(stagec.random.split(stagec.random.key(0), 8), NamedSharding(mesh, P("x")))
    assert keys.sharding == NamedSharding(mesh, P("x"))


def test_a_copy_survives_the_donation_of_the_other():
    x = stagec.device_put(np.ones(4, np.float32), stagec.devices("cpu")[0])
    copied = stagec.device_put(x, stagec.devices("cpu")[0], may_alias=False)
    stagec.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert x.is_deleted() and copied.tolist() == [1, 1, 1, 1] and copied.committed


def test_parts_have_to_be_on_their_devices():
    devices = stagec.devices("cpu")
    pair = NamedSharding(Mesh(np.array(devices[:2]), ("x",)), P("x"))
    for places in ((2, 3), (0, 0), (0, 2)):
        parts = [stagec.device_put(snp.ones(2), devices[i]) for i in places]
        with pytest.raises(ValueError, match="and the sharding has parts on") as raised:
            stagec.make_array_from_single_device_arrays((4,), pair, parts)
        assert "put the part of each device" in str(raised.value)


def test_callbacks_run_for_each_device(mesh):
    seen = []

    def host(x):
        seen.append(x.shape)
        return x + 1

    @stagec.shard_map(mesh=mesh, in_specs=P("y"), out_specs=P("y"))
    def mapped(x):
        return stagec.pure_callback(host, stagec.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert mapped(snp.arange(8.0)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and seen == [(2,)] * 4


def test_a_batch_without_a_name_has_none():
    with pytest.raises(NameError, match="batch"):
        stagec.pmap(lambda x: lax.psum(x, "batch"))(snp.ones(4))


def test_results_may_be_on_meshes_whose_axes_have_other_names():
    auto = (AxisType.Auto,) * 2
    squares, rows = stagec.make_mesh((2, 2), ("a", "b"), auto), stagec.make_mesh((1, 4), ("c", "d"), auto)
    wanted = NamedSharding(squares, P("a", "b")), NamedSharding(rows, P("c", "d"))

    @stagec.jit
    def f(x):
        return tuple(lax.with_sharding_constraint(x + i, s) for i, s in enumerate(wanted))

    assert [y.shape for y in stagec.eval_shape(f, snp.ones((4, 4)))] == [(4, 4)] * 2
    found = f(snp.ones((4, 4)))
    assert [y.sharding for y in found] == list(wanted)
    assert [float(y.sum()) for y in found] == [16, 32]


def test_shapes_of_results_say_how_they_are_split_along_explicit_axes():
    for kind in (AxisType.Explicit, AxisType.Auto):
        mesh = stagec.make_mesh((2, 2), ("a", "b"), (kind,) * 2)
        split = NamedSharding(mesh, P("a", "b"))
        given = stagec.ShapeDtypeStruct((4, 8), "float32", sharding=split)
        turned = NamedSharding(mesh, P("b", "a")) if kind is AxisType.Explicit else None
        typed = turned and turned.update(mesh=mesh.abstract_mesh)  # a type has no devices
        assert stagec.eval_shape(lambda x: x.T, given).sharding == typed
        assert stagec.jit(lambda x: x.T).trace(given).out_info.sharding == typed
        assert stagec.jit(lambda x: x.T).lower(given).out_info.sharding == turned


def test_typeof_tells_along_which_manual_axes_a_value_differs(mesh):
    rows = []

    def f(x, w):
        total = lax.psum(x, "y")
        for v in (x, w, w * x, total, lax.psum(total, "x"), lax.pcast(w, "y", to="varying")):
            rows.append((set(stagec.typeof(v).mat.varying), stagec.typeof(v).str_short()))
        assert stagec.typeof(x) == stagec.typeof(x + 1) != stagec.typeof(w)
        assert stagec.typeof(w).mat.invarying(stagec.get_abstract_mesh()) == {"x", "y"}
        assert stagec.typeof(x).sharding.mesh.axis_types == (AxisType.Manual,) * 2
        stagec.jit(lambda x: rows.append((set(stagec.typeof(x).mat.varying), "in jit")))(w)
        return total

    for kind in (mesh, auto(mesh)):
        split = stagec.shard_map(f, mesh=kind, in_specs=(P(("x", "y")), P()), out_specs=P("x"))
        assert split(snp.arange(8.0), snp.float32(2)).tolist() == [6, 22]
        both, x = {"x", "y"}, {"x"}
        assert [v for v, _ in rows] == [both, set(), both, x, set(), {"y"}, both]
        assert [text for _, text in rows[:4]] == [
            "float32[1]{V:(x,y)}",
            "float32[]",
            "float32[1]{V:(x,y)}",
            "float32[1]{V:x}",
        ]
        rows.clear()
    unchecked = stagec.shard_map(
        lambda x: rows.append(stagec.typeof(x).mat.varying) or x,
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    unchecked(snp.arange(8.0))
    assert rows == [frozenset()] and stagec.typeof(snp.ones(1)).mat.varying == frozenset()


def test_what_is_gathered_may_count_as_the_same(mesh):
    x = snp.arange(4.0)
    gathered = stagec.shard_map(
        lambda x: lax.all_gather(x, "y", tiled=True, to="invarying"), mesh=mesh, in_specs=P("y"), out_specs=P()
    )
    assert gathered(x).tolist() == [0, 1, 2, 3]
    assert stagec.grad(lambda x: (gathered(x) ** 2).sum())(x).tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="all_gather: to is 'same'"):
        stagec.vmap(lambda x: lax.all_gather(x, "y", to="same"), axis_name="y")(x)
    with pytest.raises(TypeError, match="pcast: axis_name is"):
        stagec.vmap(lambda x: lax.pcast(x, {"y"}, to="varying"), axis_name="y")(x)


def test_only_mapped_axes_are_inferred(mesh):
    def f(x):
        assert x.shape == (2, 8) and stagec.typeof(x).sharding.spec == P(None, "y")
        return x * 2

    with stagec.set_mesh(mesh):
        x = stagec.device_put(snp.arange(32.0).reshape(4, 8), P("x", "y"))
        for run in (stagec.shard_map(f, out_specs=P("x"), axis_names={"x"}), stagec.smap(f, out_axes=0, axis_name="x")):
            for g in (run, stagec.jit(run)):
                assert g(x).sharding.spec == P("x", "y")
                np.testing.assert_array_equal(g(x), np.asarray(x) * 2)


def test_terms_are_added_up_where_they_are_resharded(mesh):
    a, b = np.arange(16.0, dtype=np.float32).reshape(2, 8), np.arange(24.0, dtype=np.float32).reshape(8, 3)
    terms = P(None, None, unreduced={"y"})
    with stagec.set_mesh(mesh):
        product = stagec.shard_map(
            lambda a, b: lax.pcast(a @ b, "y", to="unreduced"), in_specs=(P(None, "y"), P("y")), out_specs=terms
        )
        total = stagec.shard_map(lambda t: lax.psum(t, "y"), in_specs=terms, out_specs=P())
        rows = stagec.shard_map(lambda t: lax.psum_scatter(t, "y", tiled=True), in_specs=terms, out_specs=P("y"))
        for run in (product, stagec.jit(product)):
            found = run(a, b)
            assert found.sharding.spec == terms and not found.is_fully_replicated
            np.testing.assert_allclose(sum(np.asarray(s.data) for s in found.addressable_shards[:4]), a @ b)
            for done in (stagec.reshard(found, P()), total(found), stagec.jit(total)(found)):
                np.testing.assert_allclose(done, a @ b)
        x = snp.arange(8.0).reshape(4, 2)
        np.testing.assert_array_equal(rows(stagec.reshard(x, terms)), x)
        f = lambda a, b: (stagec.reshard(product(a, b), P()) ** 2).sum()  # noqa: E731
        g = lambda a, b: (total(product(a, b)) ** 2).sum()  # noqa: E731
        for run in (f, g):
            of_a, of_b = stagec.jit(stagec.grad(run, argnums=(0, 1)))(a, b)
            np.testing.assert_allclose(of_a, 2 * (a @ b) @ b.T)
            np.testing.assert_allclose(of_b, 2 * a.T @ (a @ b))
        with pytest.raises(ValueError, match="result is the same along 'y', and out_specs"):
            stagec.shard_map(lambda a: a, in_specs=P(), out_specs=P(unreduced={"y"}))(a)
        with pytest.raises(stagec.errors.UnsupportedError, match="knows of some axes of the mesh alone"):
            stagec.shard_map(lambda a: a, in_specs=terms, out_specs=P(), axis_names={"y"})(a)
    with pytest.raises(ValueError, match="has axes that are not explicit"):
        stagec.shard_map(lambda a: a, mesh=auto(mesh), in_specs=terms, out_specs=P())(a)


def test_what_is_reduced_has_terms_of_a_cotangent(mesh):
    x, w = np.arange(8.0, dtype=np.float32), np.float32([1, 2])
    same = P(None, reduced={"y"})
    with stagec.set_mesh(mesh):
        f = stagec.shard_map(lambda w, x: x * w, in_specs=(same, P("y")), out_specs=P("y"))
        spread = stagec.shard_map(lambda w: lax.pcast(w, "y", to="reduced"), in_specs=P(), out_specs=same)
        found = stagec.jit(stagec.grad(lambda w: (f(w, x) ** 2).sum()))(stagec.device_put(w, same))
        assert found.sharding.spec == P(None, unreduced={"y"})
        wanted = 2 * (x.reshape(4, 2) ** 2).sum(0) * w
        np.testing.assert_allclose(stagec.reshard(found, P()), wanted)
        np.testing.assert_allclose(stagec.grad(lambda w: (f(spread(w), x) ** 2).sum())(w), wanted)
        gathered = stagec.shard_map(lambda x: lax.all_gather(x, "y", tiled=True, to="reduced"), out_specs=same)
        x = stagec.device_put(x, P("y"))
        assert gathered(x).sharding.spec == same and gathered(x).tolist() == list(range(8))
        assert stagec.grad(lambda x: (gathered(x) ** 2).sum())(x).tolist() == [2.0 * i for i in range(8)]
        for to, given in (("reduced", P("y")), ("unreduced", P())):
            with pytest.raises(ValueError, match=f"pcast: to='{to}' of a value that"):
                cast = functools.partial(lax.pcast, axis_name="y", to=to)
                stagec.shard_map(cast, mesh=mesh, in_specs=given, out_specs=P("y"))(x)


def test_specs_with_terms_are_values(mesh):
    spec = P("x", unreduced={"y"})
    assert spec != P("x") and hash(spec) == hash(P("x", unreduced={"y"})) and repr(spec) == "P('x', unreduced={'y'})"
    assert pickle.loads(pickle.dumps(spec)) == spec == P(unreduced={"y"}).update(["x"])
    assert spec.of_cotangent() == P("x", reduced={"y"}) != spec
    sharding = NamedSharding(mesh, spec)
    assert not sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2) and not sharding.is_fully_replicated
    for bad in (P("x", unreduced={"x"}), P(unreduced={"x"}, reduced={"x"})):
        with pytest.raises(ValueError, match="duplicate entries for 'x'"):
            NamedSharding(mesh, bad)
    with pytest.raises(TypeError, match="PartitionSpec: unreduced is 'x'"):
        P(unreduced="x")


def test_types_of_values_in_a_nested_shard_map(mesh):
    rows = []

    def inner(x, w):
        rows.extend([set(stagec.typeof(v).mat.varying) for v in (x, w)])
        return lax.psum(x, "y")

    def outer(x, w):
        found = stagec.smap(inner, in_axes=(0, None), out_axes=None, axis_name="y")(x, w)
        rows.append(set(stagec.typeof(found).mat.varying))
        return found + w

    with stagec.set_mesh(auto(mesh)):
        run = stagec.smap(outer, in_axes=(0, None), out_axes=0, axis_name="x")
        for f in (run, stagec.jit(run)):
            assert f(snp.arange(8.0), snp.float32(1)).tolist() == [7, 23]
            assert rows[:3] == [{"x", "y"}, set(), {"x"}]
        x = snp.arange(8.0)
        gradient = stagec.grad(lambda x: (run(x, snp.float32(1)) ** 2).sum())(x)
        np.testing.assert_array_equal(gradient, np.repeat([14.0, 46.0], 4))
