"""What flax.nnx uses of JAX: types that libraries define, types of references and keys, and shardings of results."""

import dataclasses
import functools

import pytest

import stagec
from stagec.errors import OutputTypeError, UnsupportedError

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp
    from jax._src.state.types import AbstractRef
    from jax._src.tree_util import _registry
    from jax.experimental import cur_qdd, hijax
    from jax.extend.core import Effect


@dataclasses.dataclass(frozen=True)
class Held:
    """What a counter holds."""

    avals: tuple
    structure: object


@dataclasses.dataclass(frozen=True)
class CounterType(hijax.MutableHiType):
    def lo_ty_qdd(self, held):
        return [low for aval in held.avals for low in aval.lo_ty()]

    def read_loval(self, held, counter):
        leaves, structure = jax.tree.flatten(counter.value)
        assert structure == held.structure
        return [low for aval, leaf in zip(held.avals, leaves) for low in aval.lower_val(leaf)]

    def new_from_loval(self, held, *lows):
        return Counter(jax.tree.unflatten(held.structure, [a.raise_val(x) for a, x in zip(held.avals, lows)]))

    def update_from_loval(self, held, counter, *lows):
        counter.value = self.new_from_loval(held, *lows).value


class Counter:
    def __init__(self, value):
        self.value = value

    def cur_qdd(self):
        leaves, structure = jax.tree.flatten(self.value)
        return Held(tuple(map(jax.typeof, leaves)), structure)

    def set(self, value):
        leaves, structure = jax.tree.flatten(value)
        set_p.bind(self, *leaves, structure=structure)

    def get(self):
        return jax.tree.unflatten(cur_qdd(self).structure, get_p.bind(self))


class New(hijax.HiPrimitive):
    def to_lojax(self, *leaves, structure):
        return Counter(jax.tree.unflatten(structure, leaves))


class Set(hijax.HiPrimitive):
    multiple_results = True

    def to_lojax(self, counter, *leaves, structure):
        counter.value = jax.tree.unflatten(structure, leaves)
        return []


class Get(hijax.HiPrimitive):
    multiple_results = True

    def to_lojax(self, counter):
        return jax.tree.leaves(counter.value)


hijax.register_hitype(Counter, lambda counter: CounterType())
new_p, set_p, get_p = New("new"), Set("set"), Get("get")


def new(value):
    leaves, structure = jax.tree.flatten(value)
    return new_p.bind(*leaves, structure=structure)


def test_a_primitive_of_values_that_are_not_arrays_is_computed():
    counter = new(jnp.float32(1))
    counter.set(counter.get() + 2)
    assert counter.get() == 3 and cur_qdd(counter).avals == (jax.typeof(counter.get()),)
    assert jax.typeof(counter) == CounterType() and jax.tree.leaves([counter]) == [counter]


def test_a_jitted_function_changes_its_arguments_at_each_call():
    traced = []

    @jax.jit
    def step(counters, x):
        traced.append(x)
        counter = counters["a"]
        assert isinstance(counter, Counter) and cur_qdd(counter).avals[0].shape == (2,)
        counter.set(counter.get() + x)
        counter.set(counter.get() * 2)
        return counter.get().sum()

    mine, other = new(jnp.zeros(2)), new(jnp.ones(2))
    assert [float(step({"a": c, "b": jnp.ones(3)}, 1.0)) for c in (mine, other, mine)] == [4, 8, 12]
    assert mine.get().tolist() == [6, 6] and other.get().tolist() == [4, 4]
    assert len(traced) == 1


def test_what_a_value_holds_may_take_another_structure():
    counter = new({})

    @jax.jit
    def step(x):
        counter.set({**counter.get(), str(len(counter.get())): x})

    for x in range(3):
        step(x)
    assert {key: int(value) for key, value in counter.get().items()} == {"0": 0, "1": 1, "2": 2}


def test_functions_inside_functions_change_what_is_outside():
    counter = new(jnp.float32(1))

    @jax.jit
    def outer(x):
        @jax.jit
        def inner(y):
            local = new(y)
            local.set(local.get() * 10)
            counter.set(counter.get() + local.get())
            return counter.get()

        before = counter.get()
        return before, inner(x), inner(2 * x), counter.get()

    assert list(map(float, outer(1.0))) == [1, 11, 31, 31] and float(counter.get()) == 31
    assert list(map(float, outer(1.0))) == [31, 41, 61, 61]


@pytest.mark.parametrize("jit", (lambda f: f, jax.jit), ids=("outside", "jit"))
def test_loops_and_branches_change_what_is_outside(jit):
    counter = new(jnp.float32(1))

    @jit
    def run(n):
        def step(_, x):
            counter.set(counter.get() + x)
            return None, counter.get()

        _, ys = jax.lax.scan(step, None, jnp.arange(3.0))
        jax.lax.fori_loop(0, n, lambda i, _: counter.set(counter.get() * 2), None)
        jax.lax.cond(n > 5, lambda: counter.set(jnp.float32(0)), lambda: None)
        return ys

    assert run(2).tolist() == [1, 2, 4] and float(counter.get()) == 16
    run(6)
    assert float(counter.get()) == 0


def test_a_differentiated_function_changes_what_has_no_derivative():
    counter = new(jnp.float32(0))

    def loss(x, c):
        c.set(jax.lax.stop_gradient(x * 3))
        return x**2 + c.get()

    assert jax.grad(loss)(4.0, counter) == 8 and counter.get() == 12
    assert jax.jit(jax.grad(lambda x: loss(x, counter)))(5.0) == 10 and counter.get() == 15
    with pytest.raises(UnsupportedError, match="differentiated was written to a reference from outside"):
        jax.grad(lambda x: [counter.set(x), x][1])(1.0)
    assert counter.get() == 15


def test_shapes_are_known_without_a_change():
    counter = new(jnp.ones((2, 3)))

    def step(c):
        c.set(c.get().sum(0))
        return c.get()

    assert jax.eval_shape(step, counter).shape == (3,) and counter.get().shape == (2, 3)


def test_donated_arguments_come_after_it():
    counter, x = new({"a": jnp.ones(3), "b": jnp.ones(4)}), jnp.ones(3)

    @functools.partial(jax.jit, donate_argnums=1)
    def step(c, x):
        c.set({"a": c.get()["a"] + x})
        return x + 1

    assert step(counter, x).tolist() == [2, 2, 2] and x.is_deleted() and counter.get()["a"].tolist() == [2, 2, 2]


def test_what_would_be_two_values_outside_is_refused():
    counter = new(1.0)
    with pytest.raises(UnsupportedError, match="a reference was passed twice"):
        jax.jit(lambda a, b: a.set(b.get()))(counter, counter)
    with pytest.raises(OutputTypeError, match="pass it as an argument: the caller's then changes"):
        jax.jit(lambda c: c)(counter)
    with pytest.raises(UnsupportedError, match="closes over a reference that was also passed"):
        jax.jit(lambda c: c.set(counter.get()))(counter)


def test_classes_have_types_and_effects_have_classes():
    class Mine(Effect):
        pass

    assert jax.core.pytype_aval_mappings[Counter](None) == CounterType()
    hijax.control_flow_allowed_effects.add_type(Mine)
    own, other = Mine(), Effect()
    assert hijax.control_flow_allowed_effects.filter_in([own, other]) == {own}
    assert hijax.control_flow_allowed_effects.filter_not_in([own, other]) == {other}


def test_references_and_keys_have_types():
    ref = jax.typeof(jax.new_ref(jnp.zeros((2, 3))))
    assert isinstance(ref, AbstractRef) and (ref.shape, ref.ndim, ref.size) == ((2, 3), 2, 6)
    assert repr(ref) == "Ref{float32[2,3]}"
    keys = jax.typeof(jax.random.split(jax.random.key(0), 4))
    assert keys.shape == (4,) and jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)


def test_the_registry_knows_containers():
    assert dict in _registry and float not in _registry


def test_results_may_be_said_to_have_the_sharding_of_a_type():
    x = jnp.ones((2, 3))
    for sharding in (None, jax.typeof(x).sharding, x.sharding):
        assert jnp.zeros(3, out_sharding=sharding).sharding == x.sharding
        assert jax.random.normal(jax.random.key(0), (2,), out_sharding=sharding).tolist() is not None
        numbers = (((1,), (0,)), ((), ()))
        assert jax.lax.dot_general(x, jnp.ones((3, 4)), numbers, out_sharding=sharding).shape == (2, 4)


def test_the_axes_of_the_mesh_in_force_stand_for_it():
    from stagec.sharding import NamedSharding, PartitionSpec, get_abstract_mesh

    with stagec.set_mesh(stagec.make_mesh((1,), ("x",))):
        sharding = NamedSharding(get_abstract_mesh(), PartitionSpec("x"))
        placed = stagec.lax.with_sharding_constraint(jnp.arange(4), sharding)
    assert placed.tolist() == [0, 1, 2, 3] and placed.sharding.spec == PartitionSpec("x")


class Power(hijax.VJPHiPrimitive):
    def __init__(self, aval, *, power):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {"power": power}
        super().__init__()

    def expand(self, x):
        return x**self.power


class ByJvp(Power):
    def jvp(self, primals, tangents):
        return self(*primals), 10 * self.power * primals[0] ** (self.power - 1) * tangents[0]


class ByCotangents(Power):
    def vjp_fwd(self, nonzero, x):
        assert nonzero == (True,)
        return self(x), x

    def vjp_bwd_retval(self, x, ct):
        return (10 * ct * self.power * x ** (self.power - 1),)


class ByAccumulators(Power):
    vjp_fwd = ByCotangents.vjp_fwd

    def vjp_bwd(self, x, ct, total):
        for _ in range(10):
            total.accum(ct * self.power * x ** (self.power - 1))


class ByLinearization(Power):
    def lin(self, nonzero, x):
        return self(x), x

    def linearized(self, x, x_dot):
        return 10 * x_dot * self.power * x ** (self.power - 1)


@pytest.mark.parametrize("kind", (ByJvp, ByCotangents, ByAccumulators, ByLinearization))
@pytest.mark.parametrize("jit", (lambda f: f, jax.jit), ids=("outside", "jit"))
def test_operations_have_the_derivatives_that_they_define(kind, jit):
    f = jit(lambda x: kind(jax.typeof(x), power=3)(x))
    assert f(2.0) == 8 and jax.grad(f)(2.0) == 120
    assert jax.vmap(f)(jnp.arange(3.0)).tolist() == [0, 1, 8]
    assert jax.vmap(jax.grad(f))(jnp.arange(3.0)).tolist() == [0, 30, 120]


def test_operations_compare_by_their_parameters():
    aval = jax.typeof(1.0)
    assert Power(aval, power=3) == Power(aval, power=3) != Power(aval, power=2)
    assert (
        hash(Power(aval, power=3)) == hash(Power(aval, power=3)) and repr(Power(aval, power=3)) == "Power[{'power': 3}]"
    )
    with pytest.raises(AttributeError, match="Both has no in_avals"):
        type("Both", (hijax.VJPHiPrimitive,), {})()
    with pytest.raises(AttributeError, match="defines both vjp_bwd and vjp_bwd_retval"):
        type("Both", (ByCotangents, ByAccumulators), {})(aval, power=1)


def test_a_primitive_of_arrays_has_the_derivative_that_it_defines():
    class Sine(hijax.HiPrimitive):
        def to_lojax(self, x, *, times):
            return jnp.sin(x) * times

        def jvp(self, primals, tangents, *, times):
            return self.bind(*primals, times=times), 7 * tangents[0]

    sine = Sine("sine")
    assert sine.bind(0.0, times=2) == 0 and jax.grad(lambda x: sine.bind(x, times=2))(0.0) == 7
    assert jax.jit(jax.vmap(jax.grad(lambda x: sine.bind(x, times=2))))(jnp.zeros(2)).tolist() == [7, 7]
