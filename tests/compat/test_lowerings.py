"""Lowerings of users' primitives by the names of JAX's modules that its guide to primitives uses."""

import functools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

with stagec.compat.jax():
    import jax
    from jax._src import api, dispatch
    from jax._src.lax import lax
    from jax._src.lib.mlir.dialects import hlo
    from jax.extend.core import Primitive
    from jax.extend.mlir import ir
    from jax.interpreters import mlir


def primitive(name, lowering, shape=lambda x: x, **where):
    made = Primitive(name)
    made.def_abstract_eval(shape)
    mlir.register_lowering(made, lowering, **where)
    return made


def test_the_functions_of_jaxs_own_modules_are_the_public_ones():
    assert float(api.grad(lambda a, b: lax.add(lax.mul(a, a), b))(3.0, 1.0)) == 6
    assert lax.add_p is stagec.lax.add_p


def test_outside_of_traces_an_implementation_is_enough():
    bare = Primitive("bare_product")
    bare.def_impl(lambda x, y, *, power: np.multiply(x, y) ** power)
    found = bare.bind(2.0, np.arange(3.0), power=2)
    assert found.dtype == np.float32 and found.tolist() == [0, 4, 16]
    with pytest.raises(NotImplementedError, match="no rule for shapes"):
        stagec.jit(bare.bind)(2.0, 3.0)
    halves = Primitive("halves")
    halves.multiple_results = True
    halves.def_impl(lambda x: np.split(np.asarray(x), 2))
    assert [h.tolist() for h in halves.bind(snp.arange(4))] == [[0, 1], [2, 3]]


def test_a_lowering_may_be_for_one_platform():
    seen = []

    def lower(ctx, x):
        seen.append(ctx.module_context.platforms)
        return [hlo.AddOp(x, x).result]

    def other(ctx, x):
        raise AssertionError("the program is for the CPU")

    doubled = primitive("doubled_here", lower, platform="cpu")
    for platform in ("tpu", "cuda", "gpu", None):
        mlir.register_lowering(doubled, other, platform=platform)
    assert float(stagec.jit(doubled.bind)(3.0)) == 6 and seen == [("cpu",)]
    elsewhere = primitive("elsewhere", lower, platform="gpu")
    with pytest.raises(NotImplementedError, match="elsewhere: the primitive has no lowering for cpu"):
        stagec.jit(elsewhere.bind)(3.0)


def test_a_lowering_is_an_implementation_too():
    scaled = Primitive("scaled_by")
    scaled.def_abstract_eval(lambda x, *, factor: x)
    mlir.register_lowering(scaled, mlir.lower_fun(lambda x, *, factor: factor * x, multiple_results=False))
    scaled.def_impl(functools.partial(dispatch.apply_primitive, scaled))
    assert [scaled.bind(snp.ones(2), factor=f).tolist() for f in (2, 3)] == [[2, 2], [3, 3]]


def test_attributes_need_no_keywords():
    def lower(ctx, x):
        kind = ir.RankedTensorType(x.type)
        ones = hlo.constant(ir.DenseElementsAttr.get(np.full(kind.shape, 1, np.float32)))
        two = hlo.broadcast_in_dim(kind, mlir.ir_constant(np.float32(2)), mlir.dense_int_array([]))
        less = hlo.compare(x, ones, hlo.ComparisonDirectionAttr.get("LT"))
        return mlir.flatten_ir_values([hlo.select(less, ones, hlo.reverse(two, mlir.dense_int_array([0])))])

    chosen = primitive("chosen", lower)
    assert stagec.jit(chosen.bind)(snp.arange(3.0)).tolist() == [1, 2, 2]
    wrong = primitive("wrong_attribute", lambda ctx, x: [hlo.add(x, x, mlir.i64_attr(1))])
    with pytest.raises(TypeError, match=r"stablehlo.add: pass the attribute 1 : i64 by its keyword"):
        stagec.jit(wrong.bind)(1.0)


def test_operations_have_regions():
    def summed(ctx, x):
        scalar = ir.RankedTensorType.get([], ir.F32Type.get())
        made = hlo.ReduceOp([scalar], [x], [mlir.ir_constant(np.float32(0))], mlir.dense_int_array([0]))
        block = made.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(block):
            hlo.return_([hlo.add(*block.arguments)])
        return made.results

    def chosen(ctx, pred, x):
        made = hlo.IfOp([x.type], pred)
        for region, operation in zip(made.regions, (hlo.sine, hlo.negate)):
            with ir.InsertionPoint(region.blocks.append()):
                hlo.return_([operation(x)])
        return made.results

    total = primitive("total", summed, lambda x: jax.core.ShapedArray((), x.dtype))
    branch = primitive("branch", chosen, lambda pred, x: x)
    assert float(stagec.jit(total.bind)(snp.arange(4.0))) == 6
    run = stagec.jit(branch.bind)
    assert float(run(False, 2.0)) == -2 and float(run(True, 2.0)) == pytest.approx(np.sin(2), rel=1e-6)
