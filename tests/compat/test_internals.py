"""What libraries use of JAX's interface for those who extend it."""

import collections
import inspect

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.errors import UnsupportedError

with stagec.compat.jax():
    import jax
    from jax import api_util, export, monitoring
    from jax._src import dtypes, util, xla_bridge
    from jax._src.dispatch import wait_for_tokens
    from jax._src.distributed import global_state
    from jax._src.public_test_util import check_close, check_grads
    from jax.experimental import colocated_python, multihost_utils
    from jax.experimental.array_serialization import serialization
    from jax.experimental.layout import Format, Layout
    from jax.extend import linear_util as lu
    from jax.extend.backend import backends, get_backend
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir, partial_eval as pe, xla


@lu.transformation
def scaled(factor, x):
    y = yield (factor * x,), {}
    yield y + 1


@lu.transformation_with_aux
def counted(*args, **kwargs):
    y = yield args, kwargs
    yield y, len(args)


def test_functions_are_transformed_by_generators():
    inner = lu.wrap_init(lambda x, power=1: x**power, {"power": 2})
    assert scaled(scaled(inner, 2), 3).call_wrapped(1.0) == 38
    function, count = counted(scaled(inner, 5))
    assert function.call_wrapped(2.0) == 101 and count() == 1
    assert lu.transformation2(lambda f, k, x: k * f(x), inner, 3).call_wrapped(2.0) == 12


def test_functions_of_trees_become_functions_of_leaves():
    args, kwargs = ({"a": 1, "b": 2}, 3), {"c": 4}
    leaves, tree = jax.tree.flatten((args, kwargs))
    info = api_util.debug_info("test", max, args, kwargs)
    f = lu.wrap_init(lambda t, x, *, c: {"sum": t["a"] + x, "rest": [t["b"], c]}, debug_info=info)
    flat, out_tree = api_util.flatten_fun(f, tree)
    assert out_tree is not None and flat.call_wrapped(*leaves) == [2, 4, 4]
    assert jax.tree.unflatten(out_tree(), [1, 2, 3]) == {"rest": [1, 2], "sum": 3}
    leaves, tree = jax.tree.flatten(args)
    flat, out_tree = api_util.flatten_fun_nokwargs(lu.wrap_init(lambda t, x: (t, x)), tree)
    assert flat.call_wrapped(*leaves) == leaves and out_tree() == tree


def test_some_arguments_can_be_fixed_or_donated():
    f, chosen = api_util.argnums_partial(lu.wrap_init(lambda x, y, z: (x, y, z)), (0, -1), (1, 2, 3))
    assert chosen == (1, 3) and f.call_wrapped(10, 30) == (10, 2, 30)
    tree = jax.tree.structure((([1, 2], 3), {"k": 4, "l": 5}))
    assert api_util.donation_vector((0,), ("l",), tree) == (True, True, False, False, True)
    assert api_util.rebase_donate_argnums((1, 3), (0, 2)) == (0, 1)
    assert api_util.flatten_axes("axes", jax.tree.structure(([1, 2], 3)), (0, None)) == [0, 0, None]
    assert api_util.shaped_abstractify(1.0).shape == ()


def test_what_known_arguments_determine_is_computed():
    def f(x, y):
        once = jax.jit(lambda x, y: (x * 2, y * 3))(x, y)
        return [*once, y + 1, x + snp.arange(100.0)]

    unknown = pe.PartialVal.unknown(jax.core.ShapedArray((), np.float32))
    for run in (lambda f: f(2.0), lambda f: jax.jit(f)(2.0)):

        def partly(y):
            program, outs, consts = pe.trace_to_jaxpr_nounits(lu.wrap_init(f), [unknown, pe.PartialVal.known(y)])
            assert [out.is_known() for out in outs] == [False, True, True, False]
            found = jax.core.eval_jaxpr(program, consts, 5.0)
            return [found[0], outs[1].const, outs[2].get_known(), found[1]]

        for a, b in zip(run(partly), f(5.0, 2.0), strict=True):
            np.testing.assert_array_equal(a, b)
    _, outs, _ = pe.trace_to_jaxpr_nounits(lu.wrap_init(lambda x: [x]), [pe.PartialVal.known(1.0)], instantiate=True)
    assert not outs[0].is_known() and outs[0].get_aval().shape == ()
    program, avals, consts = pe.trace_to_jaxpr_dynamic(lu.wrap_init(lambda x: [x + 1]), [unknown.aval])
    assert jax.core.eval_jaxpr(program, consts, 1.0)[0] == 2 and avals[0].shape == ()


def elementwise(name, function):
    primitive = Primitive(name)
    primitive.def_impl(function)
    primitive.def_abstract_eval(
        lambda *xs: jax.core.ShapedArray(np.broadcast_shapes(*[x.shape for x in xs]), xs[0].dtype)
    )
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
    return primitive


def test_rules_for_derivatives_are_made_from_parts():
    product = elementwise("product", lambda x, y: x * y)
    ad.defbilinear(product, lambda ct, x, y: product.bind(ct, y), lambda ct, x, y: product.bind(x, ct))
    assert float(jax.jvp(product.bind, (2.0, 3.0), (1.0, 10.0))[1]) == 23
    assert [float(v) for v in jax.grad(product.bind, (0, 1))(2.0, 3.0)] == [3, 2]
    assert float(jax.grad(lambda x: product.bind(x, 4.0))(2.0)) == 4
    power = elementwise("power", lambda x, y: x**y)
    ad.defjvp(power, lambda t, x, y: t * y * x ** (y - 1), None)
    assert float(jax.grad(power.bind)(2.0, 3.0)) == 12 and float(jax.grad(power.bind, 1)(2.0, 3.0)) == 0
    exponential = elementwise("exponential", jax.numpy.exp)
    ad.defjvp2(exponential, lambda t, result, x: t * result)
    assert float(jax.jit(jax.grad(exponential.bind))(0.0)) == 1
    zero = ad.Zero(jax.typeof(1.0))
    assert ad.add_tangents(zero, 2.0) == 2 and ad.add_tangents(2.0, zero) == 2
    assert float(ad.add_tangents(snp.float32(1), snp.float32(2))) == 3
    assert ad.zeros_like_aval(jax.typeof(np.ones(2, np.float32))).tolist() == [0, 0]


def test_rules_for_batches_are_made_from_kinds():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    negated = elementwise("negated", lambda x: -x)
    batching.defvectorized(negated)
    np.testing.assert_array_equal(jax.vmap(negated.bind, 1, 1)(x), -x)
    added = elementwise("added", lambda x, y: x + y)
    batching.defbroadcasting(added)
    np.testing.assert_array_equal(jax.vmap(added.bind, (0, None))(x, x), x[:, None] + x)
    np.testing.assert_array_equal(jax.vmap(added.bind, (1, 0))(x, np.arange(3.0)), x.T + np.arange(3.0)[:, None])
    summed = Primitive("summed")
    summed.def_impl(lambda x, axes: jax.numpy.sum(x, axes))
    summed.def_abstract_eval(lambda x, axes: x.update(shape=np.delete(x.shape, axes)))
    batching.defreducer(summed)
    cube = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for axis in range(3):
        f = lambda x: summed.bind(x, axes=(1,))  # noqa: E731
        np.testing.assert_array_equal(jax.vmap(f, axis)(cube), np.moveaxis(cube, axis, 0).sum(2))
    seen = []
    batching.fancy_primitive_batchers[negated] = lambda axis, args, dims: (seen.append(axis), (args[0], dims[0]))[1]
    del batching.primitive_batchers[negated]
    jax.vmap(negated.bind, axis_name="i")(x)
    assert (seen[0].size, seen[0].name) == (2, "i")
    assert batching.bdim_at_front(x, 1, 3).shape == (3, 2) and batching.bdim_at_front(x, None, 4).shape == (4, 2, 3)


def test_classes_can_be_mapped_in_their_own_way_by_nobody():
    class Own:
        pass

    batching.register_vmappable(Own, int, int, None, None, None)
    with pytest.raises(stagec.errors.ArgumentTypeError):
        jax.vmap(lambda x: x)(Own())
    pair = collections.namedtuple("pair", "a b")
    batching.register_vmappable(pair, int, int, None, None, None)
    value = pair(np.ones(3), np.ones(3))
    for call in (lambda: jax.vmap(lambda x: x[0].a)([value]), lambda: jax.vmap(lambda x: [pair(x, x)])(np.ones(3))):
        with pytest.raises(UnsupportedError, match=r"takes or returns a pair, which was registered with .*vmappable"):
            call()
    batching.unregister_vmappable(pair)
    assert jax.vmap(lambda x: x.a + x.b)(value).tolist() == [2, 2, 2]


def test_libraries_teach_how_values_become_arrays(monkeypatch):
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0, dtype=np.float32)

    with pytest.raises(stagec.errors.ArgumentTypeError):
        jax.jit(lambda x: x)(Wrapped())
    monkeypatch.setitem(xla.canonicalize_dtype_handlers, Wrapped, xla.canonicalize_dtype_handlers[np.ndarray])
    assert jax.jit(lambda x: x + 1)(Wrapped()).tolist() == [1, 2, 3]
    assert snp.sin(Wrapped()).shape == (3,)


def test_events_reach_listeners():
    heard = []
    for register in (monitoring.register_event_listener, monitoring.register_scalar_listener):
        register(lambda *args, **kwargs: heard.append((args, kwargs)))
    monitoring.record_event("/a", kind=1)
    monitoring.record_scalar("/b", 2.0)
    monitoring.record_event_duration_secs("/c", 3.0)
    assert heard == [(("/a",), {"kind": 1}), (("/b", 2.0), {})]
    monitoring.clear_event_listeners()
    monitoring.record_event("/a")
    assert len(heard) == 2


def test_listeners_hear_of_compiles_and_of_the_cache_as_in_jax(tmp_path):
    heard, spans = [], []
    monitoring.register_event_listener(lambda event, **about: heard.append((event, about)))
    monitoring.register_event_duration_secs_listener(lambda event, seconds, **about: heard.append((event, about)))
    monitoring.register_event_time_span_listener(lambda event, start, end, **about: spans.append((event, end - start)))

    def new(x):
        return jax.jit(lambda x: x * 2)(x) + 41.5  # the inner trace is a part of the other one

    def events():
        known = [(event.removeprefix("/jax/"), about.get("fun_name")) for event, about in heard]
        heard.clear()
        return known

    trace, lower = (
        ("core/compile/jaxpr_trace_duration", "new"),
        ("core/compile/jaxpr_to_mlir_module_duration", "jit(new)"),
    )
    compiled = ("core/compile/backend_compile_duration", "jit(new)")
    cache = {
        name: (f"compilation_cache/{name}", None)
        for name in "compile_requests_use_cache cache_misses cache_hits".split()
    }
    times = [(f"compilation_cache/{name}_sec", None) for name in ("compile_time_saved", "cache_retrieval_time")]
    with stagec.config.override(cache_dir=str(tmp_path)):
        jax.jit(new)(np.ones(3))
        assert events() == [trace, lower, cache["compile_requests_use_cache"], cache["cache_misses"], compiled]
        jax.jit(new)(np.ones(3))
        assert events() == []
        jax.clear_caches()
        jax.jit(new)(np.ones(3))
        assert events() == [trace, cache["compile_requests_use_cache"], cache["cache_hits"], *times, compiled]
    with stagec.config.override(enable_cache=False):
        jax.clear_caches()
        jax.jit(new)(np.ones(3))
        assert events() == [trace, lower, compiled]
    assert [event for event, _ in spans].count("/jax/core/compile/backend_compile_duration") == 3
    assert all(seconds > 0 for _, seconds in spans)
    monitoring.clear_event_listeners()
    jax.clear_caches()
    jax.jit(new)(np.ones(3))
    assert events() == []


def test_helpers_of_sequences():
    assert util.split_list([1, 2, 3, 4], [1, 2]) == [[1], [2, 3], [4]]
    assert util.partition_list([True, False, True], "abc") == (["b"], ["a", "c"])
    assert util.merge_lists([True, False, True], "b", "ac") == ["a", "b", "c"]
    assert util.unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4)) and util.unzip3([(1, 2, 3)]) == ((1,), (2,), (3,))
    with pytest.raises(ValueError):
        util.safe_map(max, [1], [1, 2])


def test_the_backend_is_described():
    backend = get_backend("cpu")
    assert backend.platform == "cpu" and backend.devices() == stagec.devices("cpu") and backend.device_count() == 1
    assert xla_bridge.get_backend().platform == stagec.default_backend()
    with pytest.raises(stagec.errors.DeviceError):
        get_backend("tpu")
    (device,) = jax.devices("cpu")
    assert device.client.platform == "cpu" and device.client.local_device_count() == 1
    assert device.addressable_memories() == [device.default_memory()] and device.default_memory().kind == "device"
    assert backends()["cpu"].devices() == [device] and backend.process_index() == 0
    wait_for_tokens()


def test_layouts_cannot_be_made():
    whole = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    assert Format(None, whole) is whole and whole._addressable_device_assignment == (whole.device,)
    assert jax.device_put(1.0, Format(None, whole)).committed
    for make in (Format, lambda: Format(None, None), lambda: Format(Layout((0, 1)), whole)):
        with pytest.raises(UnsupportedError):
            make()


def test_processes_are_known_to_libraries_that_write_checkpoints():
    assert (global_state.process_id, global_state.num_processes, global_state.client) == (0, 1, None)
    assert jax._src.tree_util.tree_leaves is jax.tree_util.tree_leaves and not hasattr(jax._src, "no_such_module")
    assert not multihost_utils.reached_preemption_sync_point(1)
    with pytest.raises(UnsupportedError, match="no GlobalAsyncCheckpointManagerBase"):
        serialization.GlobalAsyncCheckpointManagerBase()
    with pytest.raises(UnsupportedError, match="such as orbax"):
        serialization.get_tensorstore_spec("folder")


def test_python_runs_where_the_devices_are():
    double = colocated_python.colocated_python(lambda x: 2 * x)
    assert double(snp.ones(2)).tolist() == double.specialize(devices=jax.devices())(snp.ones(2)).tolist() == [2, 2]
    assert colocated_python.colocated_cpu_devices(jax.devices()) == tuple(jax.devices())
    assert colocated_python.colocated_python_class(dict) is dict


def test_symbolic_shapes_are_open_dimensions():
    (n,) = export.symbolic_shape("(n)", constraints=["n>=2"])
    assert export.is_symbolic_dim(n) and not export.is_symbolic_dim(3)
    found = jax.eval_shape(lambda x: snp.squeeze(x[None] @ np.ones((3, 2)), 0), jax.ShapeDtypeStruct((n, 3), "float32"))
    assert found.shape == (n, 2)
    assert bool(n >= 2)  # the bound
    assert export.symbolic_shape("a, 2*a, _, ...", like=(1, 2, 3, 4, 5))[2:] == (3, 4, 5)
    assert export.symbolic_shape("..., 7", like=(1, 2, 3)) == (1, 2, 7)
    scope = export.SymbolicScope(["b >= 8"])
    assert bool(export.symbolic_shape("b", scope=scope)[0] >= 8)


def test_parameters_are_found_by_numbers_and_by_names():
    signature = inspect.signature(lambda x, y, *args, z: None)
    infer = api_util.infer_argnums_and_argnames
    assert infer(signature, None, None) == ((), ()) and infer(signature, 1, None) == ((1,), ("y",))
    assert infer(signature, None, ("x", "z")) == ((0,), ("x", "z")) and infer(signature, (0,), "y") == ((0,), ("y",))


def test_close_pytrees_are_told_from_others_as_by_jax():
    x = np.float32(1)
    check_close({"a": x, "b": snp.arange(3)}, {"a": x + np.float32(5e-7), "b": np.arange(3)})
    check_close(np.ones(4, np.float32), np.full(4, 1 + 3e-6, np.float32))  # tolerances grow with the size
    check_close(x, x + np.float32(1e-2), atol={np.float32: 1e-1}), check_close(x, 2 * x, rtol=1)
    for other in (x + np.float32(1e-5), np.ones(1, np.float32)):
        with pytest.raises(AssertionError, match="results of f"):
            check_close({"a": x}, {"a": other}, err_msg="results of f")
    check_grads(snp.sin, (1.0,), 1)


def test_complex_dtypes_hold_the_numbers_of_others():
    narrow = "bool int8 uint32 float16 bfloat16 float32 complex64".split()
    assert [dtypes.to_complex_dtype(d) for d in narrow] == [np.complex64] * len(narrow)
    for enabled in (False, True):
        with stagec.enable_x64(enabled):
            assert [dtypes.to_complex_dtype(d) for d in (np.float64, "int64", "complex128")] == [np.complex128] * 3


def test_limits_are_scalars_of_the_dtype():
    with stagec.compat.jax():
        from jax import numpy as jnp
    for dtype in ("float8_e4m3fn", "bfloat16", "float32"):
        assert jnp.finfo(dtype).max.astype(np.float32) == snp.finfo(dtype).max
        assert jnp.finfo(snp.ones(2, dtype)).max.dtype == dtype
