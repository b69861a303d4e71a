"""What there is: types, processes, devices, arrays, versions."""

import gc

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import ArgumentTypeError, DeviceError, OutputTypeError


def test_typeof_is_known_while_tracing():
    seen = []
    stagec.jit(lambda x: (seen.append(stagec.typeof(x)), x)[1])(snp.ones((2, 3)))
    assert seen == [stagec.typeof(np.zeros((2, 3)))] and seen[0].long() == "float32[2,3]"
    assert stagec.typeof(1).weak_type and not stagec.typeof(np.int32(1)).weak_type
    assert stagec.typeof(seen[0] and 2.0).sharding.is_fully_replicated
    with pytest.raises(ArgumentTypeError, match="argument x is not an array or a number"):
        stagec.typeof("text")


def test_there_is_one_process_with_all_devices():
    assert stagec.device_count("cpu") == stagec.local_device_count("cpu") == 1
    assert stagec.local_devices(backend="cpu") == stagec.local_devices(0, "cpu") == stagec.devices("cpu")
    assert (stagec.process_count(), stagec.process_index(), stagec.process_indices()) == (1, 0, [0])
    with pytest.raises(DeviceError, match="process_index=1"):
        stagec.local_devices(1)


def test_live_arrays_are_those_that_somebody_refers_to():
    x = snp.arange(11)
    assert any(y is x for y in stagec.live_arrays("cpu"))
    assert not any(y is x for y in stagec.live_arrays("cuda"))
    number = id(x)
    del x
    gc.collect()
    assert not any(id(y) == number and y.shape == (11,) for y in stagec.live_arrays())


def test_a_deleted_array_does_not_live():
    x = snp.arange(13.0) + 0
    x.delete()
    assert not any(y is x for y in stagec.live_arrays())


def test_the_environment_names_versions_and_devices(capsys):
    assert stagec.print_environment_info() is None
    printed = capsys.readouterr().out
    assert printed == stagec.print_environment_info(return_string=True) + "\n"
    for text in (stagec.__version__, np.__version__, "iree-base-runtime", "CpuDevice(id=0)"):
        assert text in printed


def test_copies_begin_and_effects_are_done():
    tree = {"a": snp.ones(3), "b": 2}
    assert stagec.copy_to_host_async(tree) is tree
    seen = []
    stagec.jit(lambda x: stagec.debug.callback(seen.append, x))(1)
    stagec.effects_barrier()
    assert len(seen) == 1


def test_values_are_computed_while_tracing():
    @stagec.jit
    def f(x):
        with stagec.ensure_compile_time_eval():
            table = snp.cumsum(snp.arange(4))
            assert int(table[-1]) == 6
        return x + table

    assert f(1).tolist() == [1, 2, 4, 7]


def test_operations_on_traced_values_are_recorded_where_known_ones_are_computed():
    """As in JAX, whose libraries test traced conditions in such a block."""

    @stagec.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda primals, tangents: (cube(*primals), 7 * tangents[0]))
    cubed = stagec.custom_batching.custom_vmap(lambda x: x**3)
    cubed.def_vmap(lambda size, batched, x: (x**3 + 100, True))

    def uses(x):
        with stagec.ensure_compile_time_eval():
            assert float(stagec.jit(cube)(2.0)) == 8 and float(cubed(2.0)) == 8
            return stagec.jit(lambda v: v + 1)(cube(x)) + lax.fori_loop(0, 2, lambda i, c: c + i, 0) + cubed(x)

    assert float(uses(2.0)) == float(stagec.jit(uses)(2.0)) == 18
    assert float(stagec.grad(uses)(2.0)) == float(stagec.jit(stagec.grad(uses))(2.0)) == 7 + 12
    assert stagec.vmap(uses)(snp.array([2.0, 3.0])).tolist() == [118, 156]
    assert float(stagec.jit(uses)(3.0)) == 56


def test_functions_may_say_the_shapes_of_their_results():
    struct = stagec.ShapeDtypeStruct((2,), "int32", weak_type=True)
    assert stagec.eval_shape(lambda x: {"a": struct, "b": x}, 1.0)["a"] == struct
    with pytest.raises(OutputTypeError, match=r"returned something that is not an array(.|\n)*result\['a'\]"):
        stagec.jit(lambda x: {"a": struct, "b": x})(1.0)
    with pytest.raises(OutputTypeError, match="returned something"):
        stagec.eval_shape(lambda: "text")


def test_a_struct_is_like_what_has_a_shape():
    like = stagec.ShapeDtypeStruct.like
    assert like(snp.ones((2, 3))) == stagec.ShapeDtypeStruct((2, 3), "float32")
    assert like(np.zeros(2)) == stagec.ShapeDtypeStruct((2,), "float32")
    assert like(2) == stagec.ShapeDtypeStruct((), "int32", weak_type=True)
    assert like(like(2)) == like(2)
    with pytest.raises(ArgumentTypeError):
        like([1, 2])
