"""What flax.nnx uses of JAX: types that libraries define, types of references and keys, and shardings of results."""

import pytest

import stagec
from stagec.errors import UnsupportedError

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp
    from jax._src.state.types import AbstractRef
    from jax._src.tree_util import _registry
    from jax.experimental import cur_qdd, hijax
    from jax.extend.core import Effect


class Counter:
    def __init__(self, value):
        self.value = value

    def cur_qdd(self):
        return jax.typeof(self.value)


class Increase(hijax.HiPrimitive):
    def impl(self, counter, *, by):
        counter.value = counter.value + by
        return counter


increase_p = Increase("increase")


def test_a_primitive_of_values_that_are_not_arrays_is_computed():
    counter = increase_p.bind(Counter(jnp.float32(1)), by=2)
    assert float(counter.value) == 3 and cur_qdd(counter) == jax.typeof(counter.value)


def test_it_cannot_be_traced():
    counter = Counter(jnp.float32(1))
    with pytest.raises(UnsupportedError, match="increase: values that are not arrays cannot be traced"):
        jax.jit(lambda x: increase_p.bind(counter, by=x).value)(1.0)
    assert float(counter.value) == 1


def test_classes_have_types_and_effects_have_classes():
    class Mine(Effect):
        pass

    hijax.register_hitype(Counter, lambda counter: "counter")
    assert jax.core.pytype_aval_mappings[Counter](None) == "counter"
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
