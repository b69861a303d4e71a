"""Hints of meshes, shardings, and functions of several devices."""

# ruff: noqa: E501

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, lax
from stagec.compat.experimental.layout import Layout
from stagec.experimental import mesh_utils
from stagec.sharding import AbstractMesh, AxisType, Mesh, PartitionSpec

SPLIT = P("x")


def one():
    return stagec.make_mesh((1,), ("x",), devices=stagec.devices("cpu")[:1])


def rows(*spec):
    return NamedSharding(one(), P(*(spec or ("x",))))


def pair():
    """A mesh of two devices."""
    return stagec.make_mesh((2,), ("x",))


def of_parts(devices):
    """An array of two parts, which are on these devices."""
    parts = [stagec.device_put(snp.ones(1), stagec.devices("cpu")[i]) for i in devices]
    return stagec.make_array_from_single_device_arrays((2,), NamedSharding(pair(), P("x")), parts)


def inferring():
    return stagec.shard_map(abs, mesh=one(), out_specs=P())


def mapped_on(mesh):
    return stagec.shard_map(abs, mesh=mesh.abstract_mesh, in_specs=P("x"), out_specs=P("x"))


def divided(function):
    """Call a function of a CPU that is divided into two devices."""

    def call():
        before = stagec.config.num_cpu_devices
        stagec.config.update("num_cpu_devices", 2)
        try:
            return function()
        finally:
            stagec.config.update("num_cpu_devices", before)

    return call


def mapped(f, in_specs=SPLIT, out_specs=SPLIT, **options):
    return stagec.shard_map(f, mesh=one(), in_specs=in_specs, out_specs=out_specs, **options)


def under(mesh, function):
    with stagec.set_mesh(mesh):
        return function()


def twice(jitted):
    def f(w, x):
        slope = stagec.grad(lambda w: lax.psum(snp.sin(w * x).sum(), "x"))
        return stagec.grad(stagec.jit(slope) if jitted else slope)(w)

    return mapped(stagec.jit(f) if jitted else f, (P(), P("x")), P())(1.0, snp.ones(2))


CASES = [
    # Devices and meshes.
    (
        "leave process_index out for those of this process",
        lambda: stagec.local_devices(1),
        lambda: (stagec.local_devices(), stagec.local_devices(0)),
    ),
    (
        "divide the CPU with stagec.config.update('num_cpu_devices', 2), or use stagec.vmap",
        lambda: stagec.pmap(abs)(snp.ones(2)),
        lambda: (divided(lambda: stagec.pmap(abs)(snp.ones(2)))(), stagec.vmap(abs)(snp.ones(2))),
    ),
    (
        "divide the CPU with stagec.config.update('num_cpu_devices', 2), or make a smaller mesh",
        lambda: stagec.make_mesh((2,), ("x",), devices=stagec.devices("cpu")[:1]),
        lambda: (divided(pair)(), one()),
    ),
    (
        "give one size for each name, such as make_mesh((2, 4), ('x', 'y'))",
        lambda: stagec.make_mesh((1,), ("x", "y")),
        lambda: stagec.make_mesh((1, 1), ("x", "y")),
    ),
    ("give one size for each name", lambda: AbstractMesh((1,), ("x", "y")), lambda: AbstractMesh((1, 1), ("x", "y"))),
    ("pass what stagec.make_mesh returns", lambda: stagec.set_mesh("x"), lambda: under(one(), one)),
    (
        "pass some of stagec.devices()",
        lambda: Mesh(np.array(["cpu"]), ("x",)),
        lambda: Mesh(np.array(stagec.devices()), ("x",)),
    ),
    (
        "give each axis a name of its own",
        lambda: Mesh(np.array([stagec.devices("cpu")[:1]]), ("x", "x")),
        lambda: Mesh(np.array([stagec.devices("cpu")[:1]]), ("x", "y")),
    ),
    (
        "reshape the array of devices, as in np.array(devices).reshape(2, 4)",
        lambda: Mesh(np.array(stagec.devices("cpu")[:1]), ("x", "y")),
        lambda: Mesh(np.array(stagec.devices("cpu")[:1]).reshape(1, 1), ("x", "y")),
    ),
    (
        "give one AxisType for each axis",
        lambda: stagec.make_mesh((1, 1), ("x", "y"), (AxisType.Auto,)),
        lambda: stagec.make_mesh((1, 1), ("x", "y"), (AxisType.Auto,) * 2),
    ),
    (
        "give a shape with one element for each device, or pass some of the devices",
        lambda: mesh_utils.create_device_mesh((3, 1)),
        lambda: (
            mesh_utils.create_device_mesh((len(stagec.devices()), 1)),
            mesh_utils.create_device_mesh((1, 1), stagec.devices()[:1]),
        ),
    ),
    (
        "give ones for dcn_mesh_shape",
        lambda: mesh_utils.create_hybrid_device_mesh((1,), (2,), stagec.devices()[:1]),
        lambda: mesh_utils.create_hybrid_device_mesh((1,), (1,), stagec.devices()[:1]),
    ),
    # Specs and shardings.
    (
        "give a set of names: {'y'}",
        lambda: PartitionSpec("x", unreduced="y"),
        lambda: PartitionSpec("x", unreduced={"y"}),
    ),
    ("pass a PartitionSpec, such as P('x')", lambda: NamedSharding(one(), "x"), lambda: NamedSharding(one(), P("x"))),
    (
        "use each axis of the mesh once",
        lambda: rows("x", "x"),
        lambda: rows("x"),
    ),
    (
        "pad the axis to a multiple of 2, or leave it whole",
        divided(lambda: stagec.device_put(snp.ones(3), NamedSharding(pair(), P("x")))),
        divided(
            lambda: (
                stagec.device_put(snp.ones(4), NamedSharding(pair(), P("x"))),
                stagec.device_put(snp.ones(3), NamedSharding(pair(), P())),
            )
        ),
    ),
    (
        "leave the last entries of the spec out",
        lambda: stagec.device_put(snp.ones(3), rows(None, "x")),
        lambda: stagec.device_put(snp.ones(3), rows()),
    ),
    (
        "call it under `with stagec.set_mesh(mesh):`, or pass NamedSharding(mesh, spec)",
        lambda: stagec.device_put(1.0, P()),
        lambda: (under(one(), lambda: stagec.device_put(1.0, P())), stagec.device_put(1.0, NamedSharding(one(), P()))),
    ),
    (
        "pass a NamedSharding of a Mesh, which has devices",
        lambda: lax.with_sharding_constraint(snp.ones(1), NamedSharding(one().abstract_mesh, P("x"))),
        lambda: lax.with_sharding_constraint(snp.ones(1), NamedSharding(one(), P("x"))),
    ),
    (
        "pass a NamedSharding, a PartitionSpec under stagec.set_mesh(mesh), or a device",
        lambda: lax.with_sharding_constraint(1.0, 3),
        lambda: (
            lax.with_sharding_constraint(snp.ones(1), rows()),
            under(one(), lambda: lax.with_sharding_constraint(snp.ones(1), P("x"))),
            lax.with_sharding_constraint(1.0, stagec.devices()[0]),
        ),
    ),
    (
        "leave the call out, or pass a sharding",
        lambda: lax.with_sharding_constraint(snp.ones(1), None),
        lambda: lax.with_sharding_constraint(snp.ones(1), rows()),
    ),
    (
        "give both a sharding of one mesh, with stagec.device_put(x, NamedSharding(mesh, spec))",
        divided(lambda: stagec.device_put(1.0, NamedSharding(pair(), P())) + stagec.device_put(1.0, "cpu")),
        divided(
            lambda: (
                stagec.device_put(1.0, NamedSharding(pair(), P())) + stagec.device_put(1.0, NamedSharding(pair(), P()))
            )
        ),
    ),
    (
        "give one array for each device of the sharding",
        lambda: stagec.make_array_from_single_device_arrays((2,), rows(), []),
        lambda: stagec.make_array_from_single_device_arrays((2,), rows(), [snp.ones(2)]),
    ),
    (
        "put the part of each device of the sharding on that device",
        divided(lambda: of_parts([0, 0])),
        divided(lambda: of_parts([0, 1])),
    ),
    (
        "use one mesh, or move arrays between meshes with stagec.device_put outside of traced functions",
        divided(lambda: stagec.jit(lambda x: (x, x), out_shardings=(rows(), NamedSharding(pair(), P())))(snp.ones(2))),
        divided(
            lambda: (
                stagec.jit(lambda x: (x, x), out_shardings=(rows(), rows()))(snp.ones(2)),
                stagec.device_put(stagec.jit(abs, out_shardings=rows())(snp.ones(2)), NamedSharding(pair(), P())),
            )
        ),
    ),
    (
        "pass in_specs, or make a mesh with explicit axes the one in force around stagec.jit",
        lambda: stagec.jit(stagec.shard_map(abs, mesh=one(), out_specs=P("x")))(snp.ones(2)),
        lambda: (stagec.jit(mapped(abs))(snp.ones(2)), under(one(), lambda: stagec.jit(inferring())(snp.ones(2)))),
    ),
    (
        "pass the mesh of the arguments",
        divided(lambda: mapped_on(pair())(stagec.device_put(snp.ones(2), rows()))),
        lambda: mapped_on(one())(stagec.device_put(snp.ones(2), rows())),
    ),
    (
        "cut the parts as sharding.devices_indices_map(shape) says",
        lambda: stagec.make_array_from_callback((4,), rows(), lambda index: np.ones(3)),
        lambda: stagec.make_array_from_callback((4,), rows(), lambda index: np.ones(4)[index]),
    ),
    (
        "give parts of one dtype",
        divided(
            lambda: stagec.make_array_from_callback(
                (4,), NamedSharding(pair(), P("x")), lambda i: np.ones(2, "f4" if i[0].start else "i4")
            )
        ),
        divided(
            lambda: stagec.make_array_from_callback((4,), NamedSharding(pair(), P("x")), lambda i: np.ones(2, "f4"))
        ),
    ),
    (
        "pass the block of the array that this process has",
        lambda: stagec.make_array_from_process_local_data(rows(), np.ones(2), (4,)),
        lambda: stagec.make_array_from_process_local_data(rows(), np.ones(4), (4,)),
    ),
    ("leave it out; the compiler chooses", lambda: Layout(), lambda: None),
    # Functions of parts.
    (
        "leave entries out, or give the array more axes, as in x[None]",
        lambda: mapped(abs, P(None, "x"))(snp.ones(2)),
        lambda: (mapped(abs)(snp.ones(2)), mapped(abs, P(None, "x"))(snp.ones(2)[None])),
    ),
    (
        "split the result along the axis, as in P('x'), reduce it with lax.psum or lax.pmean, or pass check_vma=False to "
        "take the first device's",
        lambda: mapped(abs, out_specs=P())(snp.ones(2)),
        lambda: (
            mapped(abs)(snp.ones(2)),
            mapped(lambda x: lax.psum(x, "x"), out_specs=P())(snp.ones(2)),
            mapped(abs, out_specs=P(), check_vma=False)(snp.ones(2)),
        ),
    ),
    (
        "pad the axis to a multiple of 2, or leave it whole",
        divided(lambda: stagec.shard_map(abs, mesh=pair(), in_specs=P("x"), out_specs=P("x"))(snp.ones(3))),
        divided(lambda: stagec.shard_map(abs, mesh=pair(), in_specs=P(), out_specs=P())(snp.ones(3))),
    ),
    (
        "split one axis along each",
        lambda: mapped(abs, P("x", "x"))(snp.ones((2, 2))),
        lambda: mapped(abs, P("x"))(snp.ones((2, 2))),
    ),
    (
        "write P('x') for an array whose first axis is split along x, P() for a whole one",
        lambda: mapped(abs, "x")(snp.ones(2)),
        lambda: mapped(abs, P("x"))(snp.ones(2)),
    ),
    (
        "pass mesh=stagec.make_mesh(...), or call it under `with stagec.set_mesh(mesh):`",
        lambda: stagec.shard_map(abs, in_specs=P(), out_specs=P())(1.0),
        lambda: (
            stagec.shard_map(abs, mesh=one(), in_specs=P(), out_specs=P())(1.0),
            under(one(), lambda: stagec.shard_map(abs, in_specs=P(), out_specs=P())(1.0)),
        ),
    ),
    (
        "call it under `with stagec.set_mesh(mesh):`",
        lambda: stagec.sharding.auto_axes(abs, out_sharding=P())(1.0),
        lambda: under(one(), lambda: stagec.sharding.auto_axes(abs, out_sharding=P())(1.0)),
    ),
    (
        "say how results are split, as in out_sharding=P('x')",
        lambda: under(one(), lambda: stagec.sharding.auto_axes(abs)(snp.ones(2))),
        lambda: under(one(), lambda: stagec.sharding.auto_axes(abs)(snp.ones(2), out_sharding=P("x"))),
    ),
    (
        "say how arguments are split, as in in_sharding=P('x')",
        lambda: under(one(), lambda: stagec.sharding.explicit_axes(abs)(snp.ones(2))),
        lambda: under(one(), lambda: stagec.sharding.explicit_axes(abs)(snp.ones(2), in_sharding=P("x"))),
    ),
    (
        "name some of its axes, 'x'",
        lambda: under(one(), lambda: stagec.sharding.explicit_axes(abs, axes="z", in_sharding=P())(snp.ones(2))),
        lambda: under(one(), lambda: stagec.sharding.explicit_axes(abs, axes="x", in_sharding=P())(snp.ones(2))),
    ),
    (
        "give groups of one size that have each number from 0 to 1 once",
        lambda: stagec.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0]]), axis_name="i")(snp.ones(2)),
        lambda: stagec.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]), axis_name="i")(snp.ones(2)),
    ),
    (
        "take the derivative outside of shard_map, or leave jit out inside of it",
        lambda: twice(True),
        lambda: twice(False),
    ),
    (
        "leave the axis out of unreduced",
        lambda: mapped(lambda x: lax.psum(x, "x").sum(), out_specs=P(unreduced={"x"}))(snp.ones(2)),
        lambda: mapped(lambda x: lax.psum(x, "x").sum(), out_specs=P())(snp.ones(2)),
    ),
    (
        "sum it with psum first",
        lambda: mapped(lambda x: lax.pcast(x, "x", to="reduced"))(snp.ones(2)),
        lambda: mapped(lambda x: x + lax.pcast(lax.psum(x, "x"), "x", to="reduced"))(snp.ones(2)),
    ),
    (
        "pass to='reduced', or 'varying' first",
        lambda: mapped(lambda x: x + lax.pcast(lax.psum(x, "x"), "x", to="unreduced"))(snp.ones(2)),
        lambda: mapped(lambda x: x + lax.pcast(lax.psum(x, "x"), "x", to="reduced"))(snp.ones(2)),
    ),
    (
        "draw arrays of one or two dimensions",
        lambda: stagec.debug.visualize_sharding((), rows()),
        lambda: stagec.debug.visualize_sharding((2,), rows()),
    ),
    (
        "call it outside of traced functions",
        lambda: stagec.jit(stagec.debug.visualize_array_sharding)(snp.ones(2)),
        lambda: stagec.debug.visualize_array_sharding(snp.ones(2)),
    ),
]
