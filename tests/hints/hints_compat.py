"""Hints of code that was written for JAX."""

import collections
import pickle
import sys

import pytest

import stagec
import stagec.numpy as snp
from stagec.compat import profiler
from stagec.compat.example_libraries import optimizers, stax
from stagec.compat.experimental import array_serialization, hijax


class Held:
    cur_qdd = staticmethod(tuple)


class HeldType(hijax.MutableHiType):
    def read_loval(self, qdd, held):
        return []

    def new_from_loval(self, qdd):
        return Held()

    def update_from_loval(self, qdd, held):
        pass


hijax.register_hitype(Held, lambda held: HeldType())


def operation(rules, **attributes):
    """An operation of arrays, with these rules."""

    def init(self):
        self.__dict__.update(attributes)
        hijax.VJPHiPrimitive.__init__(self)

    return type("Operation", (hijax.VJPHiPrimitive,), {"__init__": init, **dict.fromkeys(rules, print)})()


def _started_twice():
    with profiler.trace("traces"):
        profiler.start_trace("traces")


def beside_jax():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "jax", type(sys)("jax"))
        stagec.compat.install()


def in_a_block():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "jax", type(sys)("jax"))
        with stagec.compat.jax():
            import jax

            assert jax.jit is stagec.jit


def named(module, attribute, *args, **kwargs):
    with stagec.compat.jax():
        __import__(module)
        return getattr(sys.modules[module], attribute)(*args, **kwargs)


def random(**kwargs):
    key = stagec.random.key(0)
    return named("jax.random", "normal", key, **kwargs)


def mapped_in_its_own_way():
    pair = collections.namedtuple("pair", "a b")
    named("jax.interpreters.batching", "register_vmappable", pair, int, int, None, None, None)
    stagec.vmap(lambda x: x)(pair(snp.ones(2), snp.ones(2)))


def listed(module):
    with stagec.compat.jax():
        __import__(module)


def sums(setting, y):
    with stagec.numpy_dtype_promotion(setting):
        return snp.ones(3) + y


def ranks(setting, y):
    with stagec.numpy_rank_promotion(setting):
        return snp.ones((2, 3)) + y


def primitive(**rules):
    """A primitive with the given rules, compiled where it has a lowering."""
    with stagec.compat.jax():
        from jax.extend.core import Primitive
        from jax.interpreters import mlir
    made = Primitive("double")
    for name in ("def_abstract_eval", "def_impl"):
        if name in rules:
            getattr(made, name)(rules[name])
    if "lowering" in rules:
        mlir.register_lowering(made, mlir.lower_fun(rules["lowering"], multiple_results=False), **rules.get("how", {}))
    return made


def emitted(shapes):
    """A call of a primitive whose lowering returns its operand."""
    with stagec.compat.jax():
        from jax.interpreters import mlir
    made = primitive(def_abstract_eval=shapes)
    mlir.register_lowering(made, lambda ctx, x: [x])
    return stagec.jit(made.bind)(1.0)


def set_option(name, value):
    with stagec.compat.jax():
        import jax
    jax.config.update(name, value)


SHAPE = stagec.ShapeDtypeStruct((2,), "float32")
KEPT = {"def_abstract_eval": lambda x, *rest: x}


CASES = [
    (
        "use a library for checkpoints, such as orbax",
        lambda: array_serialization.get_tensorstore_spec("folder"),
        lambda: pickle.dumps(snp.ones(3)),
    ),
    (
        "give one value more than boundaries",
        lambda: optimizers.piecewise_constant([1], [1.0]),
        lambda: optimizers.piecewise_constant([1], [1.0, 2.0]),
    ),
    (
        "call apply(params, inputs, rng=key)",
        lambda: stax.Dropout(0.5)[1]((), snp.ones(2)),
        lambda: stax.Dropout(0.5)[1]((), snp.ones(2), rng=stagec.random.key(0)),
    ),
    ("pass one number", lambda: optimizers.sgd([1.0, 2.0]), lambda: optimizers.sgd(1.0)),
    (
        "pass an array; stagec.eval_shape, and the methods trace and lower, take shapes",
        lambda: stagec.jit(snp.sin)(SHAPE),
        lambda: (
            [f(SHAPE) for f in (stagec.jit(snp.sin).lower, stagec.jit(snp.sin).trace)]
            + [stagec.jit(snp.sin)(snp.ones(2)), stagec.eval_shape(snp.sin, SHAPE)]
        ),
    ),
    (
        "leave the registration out, and stagec.vmap maps over its leaves",
        mapped_in_its_own_way,
        lambda: stagec.vmap(lambda d: d["a"])({"a": snp.ones(2)}),
    ),
    (
        "write the computation with jax.numpy, and jax.jit makes kernels",
        lambda: named("jax.experimental.pallas", "pallas_call", abs),
        lambda: stagec.jit(snp.abs)(snp.ones(2)),
    ),
    (
        "call a jitted function",
        lambda: named("jax.interpreters.pxla", "global_avals_to_results_handler", []),
        lambda: stagec.jit(snp.abs)(snp.ones(2)),
    ),
    (
        "leave the import out, or import it outside of stagec.compat",
        lambda: listed("jaxlib"),
        lambda: listed("jax"),
    ),
    (
        "use 'threefry2x32', and keys are made by it",
        lambda: set_option("jax_default_prng_impl", "rbg"),
        lambda: set_option("jax_default_prng_impl", "threefry2x32"),
    ),
    (
        "give it one with def_impl",
        lambda: primitive(**KEPT).bind(1.0),
        lambda: primitive(**KEPT, def_impl=lambda x: 2 * x).bind(1.0),
    ),
    (
        "register jax.interpreters.mlir.lower_fun of a function of arrays",
        lambda: stagec.jit(primitive(**KEPT).bind)(1.0),
        lambda: stagec.jit(primitive(**KEPT, lowering=lambda x: 2 * x).bind)(1.0),
    ),
    (
        "let def_abstract_eval say what the lowering returns",
        lambda: emitted(lambda x: stagec.core.aval.ShapedArray.of((2,), x.dtype)),
        lambda: emitted(lambda x: x),
    ),
    (
        "use stagec.jit",
        lambda: named("jax._src.compiler", "backend_compile_and_load"),
        lambda: stagec.jit(abs)(1.0),
    ),
    (
        "call install before anything imports JAX, or import in a block of `with stagec.compat.jax():`",
        beside_jax,
        in_a_block,
    ),
    (
        "docs/reference/missing.md lists the modules and names of JAX that stagec lacks",
        lambda: listed("jax.experimental.jax2tf"),
        lambda: listed("jax.experimental"),
    ),
    (
        "convert them with astype, or allow it with stagec.numpy_dtype_promotion('standard')",
        lambda: sums("strict", snp.arange(3)),
        lambda: (sums("strict", snp.arange(3).astype("float32")), sums("standard", snp.arange(3)), sums("strict", 1)),
    ),
    (
        "add axes with x[None], or allow it with stagec.numpy_rank_promotion('allow')",
        lambda: ranks("raise", snp.ones(3)),
        lambda: (ranks("raise", snp.ones(3)[None]), ranks("allow", snp.ones(3))),
    ),
    (
        "call start_trace first",
        lambda: profiler.stop_trace(),
        lambda: (profiler.start_trace("traces"), profiler.stop_trace()),
    ),
    (
        "call stop_trace first",
        lambda: _started_twice(),
        lambda: (profiler.start_trace("traces"), profiler.stop_trace()),
    ),
    (
        "return the arrays that it holds, or pass it as an argument: the caller's then changes",
        lambda: stagec.jit(lambda x: Held())(1.0),
        lambda: stagec.jit(lambda x, held: x)(1.0, Held()),
    ),
    (
        "set self.params before super().__init__()",
        lambda: operation((), in_avals=(), out_aval=None),
        lambda: operation((), in_avals=(), out_aval=None, params={}),
    ),
    (
        "define one of them",
        lambda: operation(("vjp_bwd", "vjp_bwd_retval"), in_avals=(), out_aval=None, params={}),
        lambda: operation(("vjp_bwd",), in_avals=(), out_aval=None, params={}),
    ),
]
