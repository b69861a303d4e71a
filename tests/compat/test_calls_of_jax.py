"""Calls that libraries written for JAX make, with their results."""

import dataclasses

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import ArgumentTypeError, CompileError, DtypeError, PytreeError, ShapeError


class Spec:
    """Has a shape and a dtype, as avals of other libraries."""

    shape, dtype = (2, 3), np.dtype("float32")


class Unnamed:
    """A callable whose name is no text, as modules of arrays have it."""

    __name__ = snp.ones(2)

    def __call__(self, x):
        return 2 * x


def test_shapes_are_evaluated_for_whatever_has_a_shape_and_a_dtype():
    assert stagec.eval_shape(lambda x: x.sum(0), Spec()).shape == (3,)
    assert stagec.eval_shape(lambda _: Spec(), 1.0).shape == (2, 3)
    assert stagec.jit(lambda x: x).lower(Spec()).out_info.shape == (2, 3)


def test_a_call_with_a_shape_instead_of_an_array_says_so():
    for spec in (Spec(), stagec.ShapeDtypeStruct((2, 3), "float32")):
        for f in (stagec.jit(lambda x: x), stagec.jit(lambda x: x, dynamic={"x": "b, _"})):
            with pytest.raises(
                ArgumentTypeError, match=r"argument x\[0\] of .* but no elements(.|\n)*Fix: pass an array"
            ):
                f([spec])


def test_cond_takes_an_operand_for_each_function():
    calls = [lambda p: lax.cond(p, 2.0, lambda x: x + 1, {"y": 3.0}, lambda y: y["y"] - 1)]
    for f in (*calls, *map(stagec.jit, calls)):
        assert (float(f(True)), float(f(False))) == (3, 2)
    with pytest.raises(ArgumentTypeError, match="cond: operand 0"):
        stagec.jit(lambda p: lax.cond(p, lambda x, f: 1, lambda x, f: 2, len, max))(True)  # both are operands


def test_jit_takes_arguments_about_shardings_and_xla():
    none = {"in_shardings": (None, None), "out_shardings": None}
    f = stagec.jit(lambda x, y: x + y, **none, compiler_options={"xla_embed_ir_in_executable": True})
    assert float(f(1.0, 2.0)) == 3
    with pytest.raises(TypeError, match=r"jit\(out_shardings=\): 3 is no sharding"):
        stagec.jit(lambda x: x, out_shardings=3)(1.0)


def test_options_that_xla_does_not_have_are_refused():
    lowered = stagec.jit(lambda x: x * 2).lower(1.0)
    for give in (lambda options: stagec.jit(lambda x: x, compiler_options=options), lowered.compile):
        with pytest.raises(CompileError, match="compiler_options has 'fast', which is no option of XLA"):
            give({"xla_embed_ir_in_executable": True, "fast": True})
        with pytest.raises(ArgumentTypeError, match="compiler_options is a list"):
            give(["xla_embed_ir_in_executable"])
        give({})


def test_stages_have_what_those_of_jax_have():
    traced = stagec.jit(lambda x: (x * 2, {"sum": x.sum()})).trace(snp.ones(3))
    assert traced.out_avals == traced.out_info == traced.lower().out_info
    compiled = traced.lower().compile()
    assert (compiled.input_formats, compiled.output_formats) == (compiled.input_shardings, compiled.output_shardings)
    assert compiled.runtime_executable() is compiled.runtime_executable() is not None


def test_values_are_printed_as_by_jax():
    theirs = pytest.importorskip("jax")
    for m in (stagec, theirs):
        shown = [m.typeof(m.numpy.ones((2, 3))), m.typeof(1.0), m.typeof(m.random.key(0)), m.lax.Precision.HIGHEST]
        expected = ["float32[2,3]", "~float32[]", "key<fry>[]", "HIGHEST"]
        assert [*map(str, shown), str(m.devices("cpu")[0])] == [*expected, "cpu:0"]


def test_grids_are_a_list_that_can_be_appended_to():
    grids = snp.meshgrid(snp.arange(2), snp.arange(3))
    assert [x.shape for x in grids + [snp.ones(4)]] == [(3, 2), (3, 2), (4,)]


def test_axes_may_be_any_sequence():
    x = snp.arange(6).reshape(2, 3)
    assert snp.expand_dims(x, range(2)).shape == (1, 1, 2, 3)
    np.testing.assert_array_equal(snp.roll(x, (1, 2), range(2)), np.roll(x, (1, 2), (0, 1)))


@pytest.mark.parametrize("data", [0, 2**31, 4232753995, 2**32 - 1, -1])
def test_keys_take_all_numbers_of_32_bits(data):
    found = stagec.random.key_data(stagec.random.fold_in(stagec.random.key(0), data))
    traced = stagec.jit(stagec.random.fold_in)(stagec.random.key(0), np.uint32(data & 0xFFFFFFFF))
    np.testing.assert_array_equal(found, stagec.random.key_data(traced))
    jax = pytest.importorskip("jax")
    theirs = jax.random.fold_in(jax.random.key(0), np.uint32(data & 0xFFFFFFFF))
    np.testing.assert_array_equal(found, jax.random.key_data(theirs))


def test_keys_are_compared_by_functions_too():
    one, other = stagec.random.split(stagec.random.key(0))
    assert bool(snp.equal(one, one)) and not bool(snp.equal(one, other))
    assert bool(snp.not_equal(one, other)) and not bool(lax.eq(one, other)) and bool(snp.array_equal(one, one))
    both = stagec.random.split(stagec.random.key(0))
    assert stagec.jit(lambda keys: snp.equal(keys, one))(both).tolist() == [True, False]
    with pytest.raises(DtypeError, match="cannot hold keys and numbers"):
        snp.equal(one, 1)


def test_a_callable_needs_no_name():
    f, x = Unnamed(), snp.ones(2)
    assert stagec.jit(f)(x).tolist() == stagec.vmap(f)(x).tolist() == stagec.checkpoint(f)(x).tolist() == [2, 2]
    assert stagec.jit(lambda x: stagec.vmap(f)(x))(x).tolist() == [2, 2]
    custom = stagec.custom_jvp(f)
    custom.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    assert float(stagec.grad(f)(1.0)) == 2 and float(stagec.grad(custom)(1.0)) == 3
    assert "Unnamed" in repr(stagec.jit(f).lower(x))


@dataclasses.dataclass
class Note:
    """Compares, and does not hash."""

    text: str


class Noted:
    def __init__(self, x, note):
        self.x, self.note = x, note


stagec.tree_util.register_pytree_node(Noted, lambda t: ((t.x,), t.note), lambda note, xs: Noted(*xs, note))


def test_static_data_of_a_pytree_is_compared_and_need_not_be_hashable():
    traced = []

    @stagec.jit
    def f(noted):
        traced.append(noted.note)
        return noted.x + 1

    for note in (Note("a"), Note("a"), {1, 2}, {2, 1}, Note("b")):
        assert float(f(Noted(1.0, note))) == 2
    assert traced == [Note("a"), {1, 2}, Note("b")]
    with pytest.raises(PytreeError, match="the static data of Noted is not hashable"):
        f(Noted(1.0, np.ones(2)))


def test_static_arguments_of_checkpoint_need_not_be_hashable():
    f = stagec.checkpoint(lambda x, parts: x**2 * len(parts), static_argnums=1)
    assert float(stagec.grad(f)(3.0, [1, 2])) == 12


def test_device_get_returns_traced_values_as_they_are():
    seen = []
    stagec.jit(lambda x: (seen.append(stagec.device_get({"x": x, "n": 1})["x"] is x), x)[1])(1.0)
    assert seen == [True]


def test_none_has_the_shape_that_numpy_says():
    assert snp.shape(None) == np.shape(None) == () and snp.ndim(None) == 0 and snp.size(None) == 1


def test_einsum_takes_names_and_another_product():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(snp.einsum(x, ["b", "a"], y, ["a", "c"], ["c", "b"]), (x @ y).T)
    np.testing.assert_allclose(snp.einsum(x, ["z", "k"], y, ["k", "a"]), (x @ y).T)
    np.testing.assert_allclose(snp.einsum(x, [..., 40], y, [40, 2], [..., 2]), x @ y)
    seen = []

    def product(a, b, numbers, precision=None, preferred_element_type=None):
        seen.append((numbers, precision, preferred_element_type))
        return 2 * lax.dot_general(a, b, numbers, precision, preferred_element_type)

    found = snp.einsum("ij,jk", x, y, precision="highest", _dot_general=product)
    np.testing.assert_allclose(found, 2 * x @ y)
    assert seen == [((((1,), (0,)), ((), ())), "highest", np.float32)]
    with pytest.raises(ShapeError, match="cannot be sorted"):
        snp.einsum(x, ["b", 1], y, [1, "c"])


def test_scan_takes_the_argument_that_flax_passes():
    total, _ = lax.scan(lambda c, x: (c + x, None), 0.0, snp.ones(3), _split_transpose=False)
    assert total == 3
