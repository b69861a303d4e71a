"""`jax.core` and `jax.extend.core`: questions that libraries ask of traces and values."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.errors import ConcretizationError

with stagec.compat.jax():
    import jax
    import jax.extend.core as core
    from jax import lax
    from jax.interpreters import ad


def seen_in(transform, ask, x=1.0):
    found = []
    transform(lambda x: (found.append(ask(x)), x)[1])(x)
    return found[0]


def test_traces_are_told_apart():
    asks = [
        core.trace_state_clean,
        core.unsafe_am_i_under_a_jit_DO_NOT_USE,
        core.unsafe_am_i_under_a_vmap_DO_NOT_USE,
        core.unsafe_get_axis_names_DO_NOT_USE,
        core.nonempty_axis_env_DO_NOT_USE,
    ]
    everything = lambda x=None: [ask() for ask in asks]  # noqa: E731
    batched = lambda f: stagec.vmap(f, axis_name="i")  # noqa: E731
    assert everything() == [True, False, False, [], False]
    assert seen_in(stagec.jit, everything) == [False, True, False, [], False]
    assert seen_in(batched, everything, snp.ones(2)) == [False, False, True, ["i"], True]
    assert seen_in(lambda f: stagec.jit(batched(f)), everything, snp.ones(2)) == [False, True, True, ["i"], True]


def test_a_derivative_has_the_trace_of_its_tracers():
    """As libraries find out which results depend on what is differentiated."""

    def f(x, y):
        main = core.find_top_trace((x, y)).main
        for value, depends in ((x, True), (2 * x + y, True), (snp.ones(2), False), (lax.stop_gradient(x), False)):
            assert (isinstance(value, ad.JVPTracer) and value._trace.main is main) is depends
        return x * y

    assert float(stagec.jvp(f, (3.0, 2.0), (1.0, 0.0))[1]) == 2
    assert float(stagec.jit(lambda x: stagec.jvp(f, (x, 2.0), (1.0, 1.0))[1])(3.0)) == 5
    assert isinstance(core.find_top_trace(()), core.Trace)


def test_a_trace_can_be_set_aside():
    def f(x):
        with core.take_current_trace() as trace:
            assert core.trace_state_clean() and core.is_concrete(snp.ones(2) + 1)
            with core.set_current_trace(trace):
                y = x + 1
        with jax.core.eval_context():
            assert float(snp.sin(0.0)) == 0
        with core.ensure_compile_time_eval():
            assert core.is_concrete(snp.ones(2) + 1) and not core.is_concrete(x + 1)
        return y

    assert float(stagec.jit(f)(1.0)) == 2


def test_a_trace_of_the_users_interprets_primitives():
    seen = []

    class Counted(core.Tracer):
        def __init__(self, trace, value):
            super().__init__(trace, jax.typeof(value))
            self.value = value

    class Counting(core.Trace):
        def __init__(self, parent):
            self.below = parent

        def process_primitive(self, primitive, tracers, params):
            values = [t.value if isinstance(t, Counted) else t for t in tracers]
            seen.append(primitive.name)
            found = primitive.bind_with_trace(self.below, values, None, params)
            return Counted(self, found)

    with core.take_current_trace() as parent:
        trace = Counting(parent)
        x = Counted(trace, snp.ones(2))
        with core.set_current_trace(trace):
            found = lax.sin(x) * 2
    assert seen == ["sin", "mul"] and found.value.tolist() == (snp.sin(snp.ones(2)) * 2).tolist()


def test_values_are_described():
    assert [core.is_concrete(v) for v in (1, snp.ones(2))] == [True, True]
    assert seen_in(stagec.jit, core.is_concrete) is False and seen_in(stagec.grad, core.is_concrete) is True
    assert core.concrete_or_error(int, snp.int32(3)) == 3
    with pytest.raises(ConcretizationError):
        stagec.jit(lambda x: core.concrete_or_error(int, x))(1)
    assert [core.valid_jaxtype(v) for v in (1, 2.0, np.ones(2), snp.ones(2), "a", None, object(), [1])] == [
        *[True] * 4,
        *[False] * 4,
    ]
    assert core.get_aval(1.0).weak_type and core.pytype_aval_mappings[np.ndarray](np.ones(2)).shape == (2,)
    assert core.primal_dtype_to_tangent_dtype(np.int32) == jax.dtypes.float0
    assert core.primal_dtype_to_tangent_dtype(np.float32) == np.float32
    assert not isinstance(jax.make_jaxpr(snp.sin)(1.0).jaxpr.outvars[0], core.DropVar)
