"""Arguments that JAX's functions take by name, outside of `stagec.numpy`: with JAX's results."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import dlpack, dtypes, lax, random, ref, tree_util
from stagec.scipy import linalg, special

F = np.arange(12, dtype=np.float32).reshape(3, 4)
V, N = F[0], np.arange(4, dtype=np.int8)
Z = (F % 3 + 1j * (F % 2 - F % 5)).astype(np.complex64)

# Called with either package.
CALLS = {
    **{
        f"conv_transpose with the padding of the convolution, {k}": lambda j, k=k, s=s, p=p: j.lax.conv_transpose(
            F[None, ..., None], F[:k, :2, None, None], s, p, rhs_dilation=(1, 2), use_consistent_padding=True
        )
        for k, s, p in ((2, (1, 1), [(0, 0), (1, 0)]), (3, (2, 3), [(1, 2), (0, 1)]), (1, (2, 2), "SAME"))
    },
    **{
        f"{padding} windows over holes, {dilation} apart": lambda j, p=padding, d=dilation: [
            j.lax.reduce_window(V[:n], 0.0, j.lax.add, (w,), (s,), p, base_dilation=(d,), window_dilation=(h,))
            for n in (1, 2, 3)
            for w in (1, 2, 3)
            for s in (1, 2)
            for h in (1, 2)
        ]
        for padding in ("SAME", "SAME_LOWER", "VALID")
        for dilation in (2, 3)
    },
    "top_k along the first axis": lambda j: j.lax.top_k(F[::-1] * np.float32([1, -1, 1, -1]), 2, axis=0),
    "top_k along a middle axis": lambda j: j.lax.top_k(
        np.arange(24.0, dtype=np.float32).reshape(2, 3, 4) % 7, 2, axis=1
    ),
    "a reduction of a tree": lambda j: j.lax.reduce(
        {"a": F, "b": [F, F * 2]},
        {"a": 0.0, "b": [1.0, -np.inf]},
        lambda x, y: {"a": x["a"] + y["a"], "b": [x["b"][0] * y["b"][0], j.lax.max(x["b"][1], y["b"][1])]},
        (0,),
    ),
    "windows of a tree": lambda j: j.lax.reduce_window(
        {"a": F, "b": F * 2},
        {"a": 0.0, "b": 0.0},
        lambda x, y: {"a": x["a"] + y["a"], "b": x["b"] + y["b"]},
        (1, 2),
        (1, 1),
        "VALID",
    ),
    "a reduction of a tuple": lambda j: j.lax.reduce((F, F), (0.0, 1.0), lambda x, y: (x[0] + y[0], x[1] * y[1]), (1,)),
    **{
        f"{name} of complex numbers": lambda j, name=name: [
            getattr(j.lax, name)(Z, axis=1, reverse=reverse) for reverse in (False, True)
        ]
        for name in ("cummax", "cummin")
    },
    "the larger and the smaller complex number": lambda j: (j.lax.max(Z, Z[::-1]), j.lax.min(Z, Z[::-1])),
    **{
        f"{kind} at indices, of {what}": lambda j, kind=kind, x=x, v=v: [
            way(lambda x, i=i: getattr(x.at[i], kind)(v))(j.numpy.asarray(x))
            for way in (lambda f: f, j.jit)
            for i in (1, np.array([1, 1]), np.array([2, 0]))
        ]
        for kind in ("max", "min")
        for what, x, v in (("complex numbers", Z[0], Z[1, 1]), ("bools", V > 1, True), ("more bools", V > 1, False))
    },
    "logaddexp2 of complex numbers": lambda j: j.numpy.logaddexp2(Z, Z[::-1]),
    "its derivative": lambda j: j.grad(lambda z: j.numpy.logaddexp2(z, z * 1j).real.sum())(Z),
    "mul to a wider dtype": lambda j: j.lax.mul(N, N, out_dtype=np.int32),
    "nextafter": lambda j: j.lax.nextafter(x1=V, x2=-V),
    "dot along other axes": lambda j: j.lax.dot(F, F, dimension_numbers=(((0,), (0,)), ((), ()))),
    "switch with one operand": lambda j: j.lax.switch(1, [j.numpy.sin, j.numpy.cos], operand=V),
    "a slice from before the start": lambda j: j.jit(
        lambda i: j.lax.dynamic_slice(F, (i, i), (2, 2), allow_negative_indices=[False, True])
    )(-1),
    "a slice of one axis": lambda j: j.jit(
        lambda i: j.lax.dynamic_slice_in_dim(F, i, 2, axis=1, allow_negative_indices=False)
    )(-1),
    "one row": lambda j: j.jit(lambda i: j.lax.dynamic_index_in_dim(F, i, allow_negative_indices=False))(-1),
    "an update from before the start": lambda j: j.jit(
        lambda i: j.lax.dynamic_update_slice(F, -F[:1, :1], (i, i), allow_negative_indices=False)
    )(-2),
    "an update of one axis": lambda j: j.jit(
        lambda i: j.lax.dynamic_update_slice_in_dim(F, -F[:, :1], i, axis=1, allow_negative_indices=False)
    )(-2),
    "an update of one row": lambda j: j.jit(
        lambda i: j.lax.dynamic_update_index_in_dim(F, -V, i, 0, allow_negative_indices=False)
    )(-1),
    "windows that a function changes": lambda j: j.lax.scatter_apply(
        F, np.array([[1]]), lambda x: -x, j.lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(1, 4)
    ),
}


@pytest.mark.parametrize("what", CALLS)
def test_an_argument_means_what_it_means_in_jax(what):
    jax = pytest.importorskip("jax")
    (found, structure), (expected, wanted) = (package.tree.flatten(CALLS[what](package)) for package in (stagec, jax))
    assert str(structure) == str(wanted)
    for a, b in zip(found, expected):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=2e-6)


def test_a_negative_start_that_is_not_allowed_is_refused():
    with pytest.raises(stagec.errors.IndexingError, match="dynamic_slice: start index -1 for an axis of size 3"):
        lax.dynamic_slice(F, (-1, 0), (1, 1), allow_negative_indices=False)


def test_top_k_has_derivatives_along_any_axis():
    weights = np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])
    found = stagec.grad(lambda x: (lax.top_k(x, 2, axis=0)[0] * weights).sum())(F)
    np.testing.assert_array_equal(found, [[0] * 4, weights[1], weights[0]])


def test_products_of_linalg_take_the_dtype_of_their_sums():
    for name in ("tensordot", "vecdot"):
        options = {"axes": 1} if name == "tensordot" else {}
        found = getattr(snp.linalg, name)(N, N, preferred_element_type="int32", **options)
        assert (found.dtype, int(found)) == (np.int32, 14)


def test_options_of_blocks_have_jaxs_names():
    with stagec.enable_x64(new_val=True), stagec.disable_jit(disable=True), stagec.debug_nans(new_val=True):
        assert (stagec.config.enable_x64, stagec.config.disable_jit, stagec.config.debug_nans) == (True, True, True)
    with stagec.numpy_rank_promotion(new_val="raise"), stagec.default_device(new_val="cpu"):
        assert (stagec.config.numpy_rank_promotion, stagec.config.default_device.platform) == ("raise", "cpu")


def test_functions_of_trees_name_their_arguments_as_jax_does():
    tree = tree_util.tree_structure((1, 2))
    assert tree_util.tree_unflatten(treedef=tree, leaves=[3, 4]) == (3, 4)
    found = tree_util.tree_transpose(outer_treedef=tree, inner_treedef=None, pytree_to_transpose=([1, 2], [3, 4]))
    assert found == [(1, 3), (2, 4)]
    assert tree_util.all_leaves(iterable=[1, 2]) and not tree_util.all_leaves(iterable=[1, (2,)])
    assert tree_util.treedef_tuple(treedefs=[tree, tree]).num_leaves == 4


def test_keys_may_be_asked_for_by_their_dtype():
    dtype = random.key_dtype()
    assert random.key(3, dtype=dtype).dtype == random.key_dtype("threefry2x32") == dtype
    assert dtypes.issubdtype(dtype, dtypes.prng_key)
    bits = random.key_data(random.key(3))
    np.testing.assert_array_equal(random.key_data(random.wrap_key_data(bits, dtype=dtype)), bits)


def test_functions_of_dtypes_take_jaxs_arguments():
    assert dtypes.canonicalize_dtype("float64", allow_extended_dtype=True) == np.float32
    assert dtypes.issubdtype(a="int4", b=np.integer) and snp.issubdtype(arg1="int4", arg2=np.integer)
    assert dtypes.result_type(1, np.int8(2), return_weak_type_flag=True) == (np.dtype("int8"), False)
    assert dtypes.result_type(1, 2.0, return_weak_type_flag=True) == (np.dtype("float32"), True)
    np.testing.assert_array_equal(dlpack.from_dlpack(external_array=V), V)


def test_other_arguments_are_taken():
    np.testing.assert_allclose(special.erf(x=0.5), 0.5204999, rtol=1e-6)
    assert linalg.dft(2, dtype="complex64").dtype == np.complex64
    drawn = [random.multinomial(random.key(1), 5.0, [0.5, 0.2, 0.3], unroll=n) for n in (1, 3)]
    np.testing.assert_array_equal(*drawn)
    np.testing.assert_array_equal(stagec.device_put(V, donate=True, may_alias=False), V)


def test_references_are_made_without_a_value_and_given_up():
    assert (stagec.empty_ref, stagec.free_ref) == (ref.empty_ref, ref.free_ref)
    made = ref.empty_ref(stagec.ShapeDtypeStruct((2,), "float32"))
    made[0] = 5.0
    assert float(made[0]) == 5.0
    ref.free_ref(made)
    with pytest.raises(stagec.errors.UnsupportedError, match="was frozen"):
        made[...]
