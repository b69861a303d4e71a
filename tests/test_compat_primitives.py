"""Primitives that libraries define by JAX's interface, and libraries that define some."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import UnsupportedError

with stagec.compat.jax():
    import jax
    import jax.extend as jex
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir


def scaled(factor, name="scaled"):
    """`factor * x + 0 * y`, with all rules."""
    primitive = Primitive(name)
    function = lambda x, y, *, power: factor**power * x + 0 * y  # noqa: E731
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda x, y, *, power: jax.core.ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))

    def jvp(primals, tangents, *, power):
        assert isinstance(tangents[1], ad.Zero)
        return primitive.bind(*primals, power=power), primitive.bind(tangents[0], 1.0, power=power)

    def transpose(ct, x, y, *, power):
        assert ad.is_undefined_primal(x) and not ad.is_undefined_primal(y)
        return [primitive.bind(ct, 1.0, power=power), None]

    def batch(args, dims, *, power):
        assert dims[1] is batching.not_mapped
        return primitive.bind(*args, power=power), dims[0]

    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batch
    return lambda x: primitive.bind(x, 1.0, power=2)


def test_a_primitive_of_a_user_has_the_rules_that_were_given():
    f, x = scaled(3.0), snp.arange(3.0)
    assert float(f(2.0)) == 18 and float(stagec.jit(f)(2.0)) == 18
    assert float(stagec.grad(f)(2.0)) == 9 and float(stagec.jit(stagec.grad(f))(2.0)) == 9
    assert stagec.vmap(f)(x).tolist() == [0, 9, 18]
    assert stagec.jvp(f, (1.0,), (2.0,))[1] == 18
    both = stagec.vmap(stagec.value_and_grad(lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x)))(x)
    np.testing.assert_array_equal(both, [[0, 81, 162], [81, 81, 81]])
    assert "scaled[power=2]" in str(stagec.make_jaxpr(f)(1.0))


def test_programs_of_two_primitives_of_one_name_are_two():
    """The key of a program has what a primitive is lowered to, and not its name alone."""
    one, other = scaled(3.0, "alike"), scaled(5.0, "alike")
    assert [float(stagec.jit(f)(1.0)) for f in (one, other)] == [9, 25]


def test_a_primitive_with_several_results():
    primitive = Primitive("both_ways")
    primitive.multiple_results = True
    function = lambda x: [x + 1, x - 1]  # noqa: E731
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda x: [x, x])
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=True))
    seen = []

    def batch(size, name, _, args, dims):
        seen.append((size, name))
        return primitive.bind(*args), dims * 2

    batching.axis_primitive_batchers[primitive] = batch
    ad.primitive_jvps[primitive] = lambda primals, tangents: (primitive.bind(*primals), [*tangents, ad.Zero(1)])
    assert [float(v) for v in stagec.jit(primitive.bind)(3.0)] == [4, 2]
    up, _ = stagec.vmap(primitive.bind, axis_name="i")(snp.arange(2))
    assert up.tolist() == [1, 2] and seen == [(2, "i")]
    assert float(stagec.grad(lambda x: primitive.bind(x)[0])(3.0)) == 1


def emitting():
    """`x * y + z`, lowered by a function that emits StableHLO."""
    with stagec.compat.jax():
        from jax._src.lib.mlir.dialects import hlo
    primitive = Primitive("multiply_add")
    primitive.def_impl(lambda x, y, z: np.asarray(x) * y + z)
    primitive.def_abstract_eval(lambda x, y, z: jax.core.ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(primitive, lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result])

    def jvp(primals, tangents):
        (x, y, z), (x_dot, y_dot, z_dot) = primals, map(ad.instantiate_zeros, tangents)
        return primitive.bind(x, y, z), primitive.bind(x_dot, y, primitive.bind(x, y_dot, z_dot))

    def transpose(ct, x, y, z):
        zero = snp.zeros_like(ct)
        if ad.is_undefined_primal(x):
            return primitive.bind(ct, y, zero), None, ct
        return None, primitive.bind(x, ct, zero), ct

    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = lambda args, dims: (primitive.bind(*args), dims[0])
    return primitive


def test_a_lowering_may_emit_stablehlo():
    primitive = emitting()
    f = lambda a, b: primitive.bind(a, b, primitive.bind(a, b, b))  # noqa: E731
    assert float(f(2.0, 10.0)) == 50 and float(stagec.jit(f)(2.0, 10.0)) == 50
    assert [float(v) for v in stagec.jvp(stagec.jit(f), (2.0, 10.0), (1.0, 1.0))] == [50, 25]
    assert [float(v) for v in stagec.jit(stagec.grad(f, argnums=(0, 1)))(2.0, 10.0)] == [20, 5]
    assert stagec.jit(stagec.vmap(f))(snp.array([2.0, 3.0]), snp.array([10.0, 20.0])).tolist() == [50, 140]


def test_a_lowering_that_emits_gets_types_parameters_and_constants():
    with stagec.compat.jax():
        from jax.extend.mlir import ir
        from jax.extend.mlir.dialects import stablehlo
    primitive = Primitive("affine")
    primitive.multiple_results = True
    primitive.def_abstract_eval(
        lambda x, *, factor: [jax.core.ShapedArray(x.shape, d) for d in (x.dtype, np.dtype(bool))]
    )

    def lower(ctx, x, *, factor):
        kind = mlir.aval_to_ir_type(ctx.module_context, ctx.avals_in[0])
        constant = mlir.ir_constant(np.float32(factor))
        none = ir.DenseI64ArrayAttr.get([])
        y = stablehlo.multiply(x, stablehlo.BroadcastInDimOp(kind, constant, broadcast_dimensions=none).result)
        greater = ir.Attribute.parse("#stablehlo<comparison_direction GT>")
        return [y, stablehlo.CompareOp(y, x, comparison_direction=greater).result]

    mlir.register_lowering(primitive, lower)
    for factor in (3, -2):
        y, is_greater = stagec.jit(lambda x: primitive.bind(x, factor=factor))(snp.array([-1.0, 1.0]))  # noqa: B023
        assert y.tolist() == [-factor, factor] and is_greater.tolist() == [factor < 0, factor > 0]
    with pytest.raises(AttributeError, match="dialect stablehlo has no operation multiplied"):
        stablehlo.multiplied  # noqa: B018
    assert mlir.LoweringRuleContext.__name__ == "LoweringRuleContext"


def test_a_lowering_must_return_what_the_rule_for_shapes_says():
    primitive = Primitive("wrong")
    primitive.def_abstract_eval(lambda x: jax.core.ShapedArray((*x.shape, 2), x.dtype))
    mlir.register_lowering(primitive, lambda ctx, x: [x])
    with pytest.raises(stagec.errors.ShapeError, match=r"wrong: its lowering returns \(tensor<f32>\), and its rule"):
        stagec.jit(primitive.bind)(1.0)


def test_a_linear_primitive_needs_its_transpose_alone():
    primitive = Primitive("twice")
    primitive.def_impl(lambda x: 2 * x)
    primitive.def_abstract_eval(lambda x: x)
    ad.deflinear(primitive, lambda ct: [primitive.bind(ct)])
    assert float(stagec.grad(lambda x: primitive.bind(x) ** 2)(3.0)) == 24


def message(f, *args):
    with pytest.raises(UnsupportedError) as raised:
        f(*args)
    return str(raised.value)


def test_rules_that_are_missing_are_named():
    bare = Primitive("bare")
    assert "bare: the primitive has no rule for shapes" in message(bare.bind, 1.0)
    bare.def_abstract_eval(lambda x: x)
    text = message(bare.bind, 1.0)
    assert "bare: the primitive has no implementation" in text and "Fix: give it one with def_impl" in text
    text = message(stagec.jit(bare.bind), 1.0)
    assert "bare: the primitive has no lowering for cpu" in text and "lower_fun" in text
    array = snp.ones(100)
    mlir.register_lowering(bare, mlir.lower_fun(lambda x: x + array, multiple_results=False))
    np.testing.assert_array_equal(stagec.jit(bare.bind)(array), 2 * array)
    with pytest.raises(stagec.errors.StagecError, match="bare cannot be differentiated"):
        stagec.grad(bare.bind)(1.0)
    with pytest.raises(stagec.errors.StagecError, match="bare cannot be batched"):
        stagec.vmap(bare.bind)(array)


def test_traced_programs_can_be_evaluated_and_states_compared():
    made = jax.make_jaxpr(lambda x, y: (x + y, x * 2))(1.0, 2.0)
    assert isinstance(made, jex.core.ClosedJaxpr) and isinstance(made.jaxpr, jex.core.Jaxpr)
    assert [float(v) for v in jax.core.eval_jaxpr(made.jaxpr, made.consts, 3.0, 4.0)] == [7, 6]
    outside, seen = jex.core.get_opaque_trace_state(), []
    stagec.jit(lambda x: seen.append(jex.core.get_opaque_trace_state(convention="flax")) or x)(1.0)
    assert outside == jex.core.get_opaque_trace_state() and outside != seen[0]
    aval = jax.core.ShapedArray((3, 2), np.float32)
    assert jex.core.mapped_aval(3, 0, aval).shape == (2,) and jex.core.unmapped_aval(4, 2, aval).shape == (3, 2, 4)
    assert aval.to_tangent_aval() is aval
    assert jax.core.ShapedArray((2,), np.int32).to_tangent_aval() == jax.core.ShapedArray((2,), jax.dtypes.float0)
    assert jex.core.mapped_aval(3, None, aval) is jex.core.unmapped_aval(3, None, aval) is aval


def test_frames_of_a_library_can_be_left_out(tmp_path, monkeypatch):
    (tmp_path / "hides_its_frames.py").write_text(
        "from jax._src import traceback_util\n"
        "import jax.numpy as jnp\n"
        "traceback_util.register_exclusion(__file__)\n"
        "def add(x, y):\n"
        "    return jnp.add(x, y)\n"
        "def shown():\n"
        "    import sys\n"
        "    return traceback_util.include_frame(sys._getframe())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with stagec.compat.jax():
        import hides_its_frames
    with pytest.raises(stagec.errors.ShapeError, match=r"test_compat_primitives.py:\d+ in test_frames"):
        hides_its_frames.add(snp.ones(2), snp.ones(3))
    assert not hides_its_frames.shown() and hides_its_frames.traceback_util.include_frame(sys._getframe())


EQUINOX = """
import stagec
stagec.compat.install()
import equinox as eqx, jax, jax.numpy as jnp
x = jax.random.normal(jax.random.key(0), (16, 2))
y = x[:, :1] * x[:, 1:]
model = eqx.nn.MLP(2, 1, 8, 2, key=jax.random.key(1))

@eqx.filter_jit
def step(model):
    loss = lambda model: jnp.mean((jax.vmap(model)(x) - y) ** 2)
    value, slopes = eqx.filter_value_and_grad(loss)(model)
    return value, eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, slopes))

first, model = step(model)
for _ in range(50):
    last, model = step(model)
assert last < 0.7 * first, (first, last)
"""

LINEN = """
import stagec
stagec.compat.install()
import flax.linen as nn, jax, jax.numpy as jnp

class Model(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.LayerNorm()(nn.Dense(8)(x)))
        return nn.Dense(1)(nn.Dropout(0.1, deterministic=not train)(x))

x = jax.random.normal(jax.random.key(0), (16, 2))
y = x[:, :1] * x[:, 1:]
model = Model()
variables = model.init(jax.random.key(1), x, False)

@jax.jit
def step(variables, key):
    loss = lambda v: jnp.mean((model.apply(v, x, True, rngs={"dropout": key}) - y) ** 2)
    value, slopes = jax.value_and_grad(loss)(variables)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, variables, slopes)

first, variables = step(variables, jax.random.key(2))
for i in range(50):
    last, variables = step(variables, jax.random.key(i))
assert last < 0.7 * first, (first, last)
"""


@pytest.mark.parametrize("library, program", [("equinox", EQUINOX), ("flax", LINEN)])
def test_a_library_trains(library, program):
    if find_spec(library) is None:
        pytest.skip(f"{library} requires JAX, which tests do not install")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
