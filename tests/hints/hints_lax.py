"""Hints of `stagec.lax`, of control flow, and of what stands on them."""

# ruff: noqa: E501

import functools

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax

X = snp.ones((2, 3))
V = snp.array([3.0, 1.0, 2.0])
P = snp.array([2, 0, 1])
C = snp.array([1 + 2j, 3j])
B = snp.array([True, False])
IMAGE = snp.ones((1, 2, 5, 5))
KERNEL = snp.ones((4, 2, 3, 3))
ROWS = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
WHOLE = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0,))
PUT = lax.ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
PUT_ROWS = lax.ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)
conv = functools.partial(lax.conv_general_dilated, IMAGE, KERNEL, (1, 1))


def put(operand, indices, updates, numbers=PUT, **options):
    return lax.scatter(operand, indices, updates, numbers, **options)


def doubled(x):
    return stagec.pure_callback(lambda v: 2 * v, x, x)


@stagec.custom_jvp
def with_jvp(x):
    return doubled(x)


with_jvp.defjvp(lambda primals, tangents: (with_jvp(*primals), 2 * tangents[0]))


@stagec.custom_vjp
def with_vjp(x):
    return doubled(x)


with_vjp.defvjp(lambda x: (doubled(x), None), lambda _, ct: (2 * ct,))


def scaled(p):
    return lambda x: x * p


def own_rule(x, p):
    return x * p


own = stagec.custom_jvp(own_rule)
own.defjvp(lambda primals, tangents: (own_rule(*primals), tangents[0] * primals[1] + primals[0] * tangents[1]))


@stagec.custom_jvp
def stepped(x, y):
    return lax.nextafter(x, y)


stepped.defjvp(lambda primals, tangents: (stepped(*primals), tangents[0]))


@stagec.custom_vjp
def reverse_only(x):
    return x * 2


reverse_only.defvjp(lambda x: (x * 2, None), lambda _, ct: (2 * ct,))


def many(value):
    with stagec.enable_x64():
        return lax.add(snp.array([1]), value)


def gathered(**numbers):
    return lax.gather(X, snp.array([[0], [1]]), lax.GatherDimensionNumbers(**numbers), (1, 3))


def along(axes):
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), operand_batching_dims=(0,), start_indices_batching_dims=axes)
    return lax.gather(X, snp.array([[0], [2]]), numbers, (1, 1))


def ragged(axes, groups):
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), axes, groups)
    return lax.ragged_dot_general(X, snp.ones((2, 3, 1)), snp.array([1, 1]), numbers)


CASES = [
    (
        "use a member of lax.RoundingMethod",
        lambda: lax.round(V, 7),
        lambda: lax.round(V, lax.RoundingMethod.TO_NEAREST_EVEN),
    ),
    (
        "give the update 1 axes, or 2 with size 1 along axis 0",
        lambda: lax.dynamic_update_index_in_dim(X, X[None], 0, 0),
        lambda: (
            lax.dynamic_update_index_in_dim(X, X[0], 0, 0),
            lax.dynamic_update_index_in_dim(X, X[:1], 0, 0),
        ),
    ),
    (
        "name the axes with dimension_numbers, or use batch_matmul or snp.matmul",
        lambda: lax.dot(X[None], X.T),
        lambda: (
            lax.dot(X[None], X.T, dimension_numbers=(((2,), (0,)), ((), ()))),
            lax.batch_matmul(X[None], X.T[None]),
            snp.matmul(X[None], X.T),
        ),
    ),
    ("add axes with x[None]", lambda: lax.mulhi(P, P[None]), lambda: lax.mulhi(P[None], P[None])),
    # Operands.
    (
        "convert the base to a floating dtype with astype(float)",
        lambda: lax.integer_pow(P, -1),
        lambda: lax.integer_pow(P.astype(float), -1),
    ),
    ("name each axis once", lambda: snp.sum(X, axis=(0, 0)), lambda: snp.sum(X, axis=(0, 1))),
    ("give an axis from -2 to 1", lambda: snp.sum(X, axis=2), lambda: [snp.sum(X, axis=i) for i in range(-2, 2)]),
    ("leave the axis out; an array without axes has none", lambda: snp.sum(V[0], axis=0), lambda: snp.sum(V[0])),
    ("give sizes of 0 or more", lambda: snp.zeros((2, -1)), lambda: snp.zeros((2, 0))),
    (
        "sizes and axes are Python integers; use // instead of / to compute them",
        lambda: snp.zeros(4 / 2),
        lambda: snp.zeros(4 // 2),
    ),
    (
        "convert with astype; sin accepts bfloat16, complex128, complex64, float16, float32, float64",
        lambda: lax.sin(P),
        lambda: lax.sin(P.astype("float32")),
    ),
    (
        "stagec.lax does not promote; convert with astype, or use the stagec.numpy function",
        lambda: lax.add(V, P),
        lambda: (lax.add(V, P.astype("float32")), snp.add(V, P)),
    ),
    (
        "stagec.lax does not broadcast (rank 0 excepted); use stagec.numpy, or broadcast_in_dim",
        lambda: lax.add(X, V),
        lambda: (snp.add(X, V), lax.add(X, lax.broadcast_in_dim(V, (2, 3), (1,)))),
    ),
    (
        "write it as a float, or use a wider dtype; stagec.enable_x64() and STAGEC_ENABLE_X64=1 enable those of 64 bits",
        lambda: P + 2**40,
        lambda: (P + 2.0**40, P.astype("int8").astype("int16") + 300, many(2**40)),
    ),
    ("keep values that are not numbers outside of arrays", lambda: snp.sin("text"), lambda: snp.sin(1.0)),
    (
        "pass an array or a number; a function without return returns None",
        lambda: snp.sin(print(end="")),
        lambda: snp.sin(1.0),
    ),
    ("keep values that are not numbers outside of arrays", lambda: snp.sin(["text"]), lambda: snp.sin(1.0)),
    ("wrap it in snp.array", lambda: snp.sin([1.0, 2.0]), lambda: snp.sin(snp.array([1.0, 2.0]))),
    # Convolutions.
    (
        "use 'SAME' or 'VALID'",
        lambda: lax.conv_transpose(IMAGE, KERNEL, (1, 1), "BEST"),
        lambda: [
            lax.conv_transpose(
                IMAGE, KERNEL.transpose(2, 3, 1, 0), (1, 1), p, dimension_numbers=("NCHW", "HWIO", "NCHW")
            )
            for p in ("SAME", "VALID")
        ],
    ),
    (
        "give (low, high) for each spatial axis, or use lax.conv_transpose",
        lambda: conv("SAME", lhs_dilation=(2, 2)),
        lambda: (
            conv(((1, 1), (1, 1)), lhs_dilation=(2, 2)),
            lax.conv_transpose(
                IMAGE, KERNEL.transpose(2, 3, 1, 0), (2, 2), "SAME", dimension_numbers=("NCHW", "HWIO", "NCHW")
            ),
        ),
    ),
    (
        "cut no more than the axis has: a pad is -size or more",
        lambda: conv(((-9, 0), (0, 0))),
        lambda: conv(((-1, 0), (0, 0))),
    ),
    (
        "check dimension_numbers: the operand's C axis is feature_group_count times the kernel's I axis",
        lambda: lax.conv(IMAGE, snp.ones((4, 3, 3, 3)), (1, 1), "SAME"),
        lambda: lax.conv(snp.ones((1, 3, 5, 5)), snp.ones((4, 3, 3, 3)), (1, 1), "SAME"),
    ),
    (
        "set one of the group counts to 1",
        lambda: lax.conv_general_dilated(
            snp.ones((2, 2, 5, 5)), snp.ones((4, 1, 3, 3)), (1, 1), "SAME", feature_group_count=2, batch_group_count=2
        ),
        lambda: lax.conv_general_dilated(
            snp.ones((2, 2, 5, 5)), snp.ones((4, 1, 3, 3)), (1, 1), "SAME", feature_group_count=2
        ),
    ),
    (
        "choose a feature_group_count that divides the operand's axis of size 2 and the 4 output features",
        lambda: conv("SAME", feature_group_count=3),
        lambda: lax.conv_general_dilated(IMAGE, snp.ones((4, 1, 3, 3)), (1, 1), "SAME", feature_group_count=2),
    ),
    (
        "use the same letters for the spatial axes in all three",
        lambda: conv("SAME", dimension_numbers=("NCHW", "OIXY", "NCHW")),
        lambda: conv("SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
    ),
    (
        "name each axis once, with 'N' and 'C' among them",
        lambda: conv("SAME", dimension_numbers=("NHHW", "OIHW", "NCHW")),
        lambda: conv("SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
    ),
    (
        "give both the same number of axes: two, and one for each spatial axis",
        lambda: lax.conv(IMAGE, V, (1, 1), "SAME"),
        lambda: conv("SAME"),
    ),
    # Conversions.
    (
        "give at least one exponent bit, and no negative number",
        lambda: lax.reduce_precision(V, 0, 3),
        lambda: lax.reduce_precision(V, 1, 3),
    ),
    (
        "reshape so that the last axis holds the parts of one float32",
        lambda: lax.bitcast_convert_type(V.astype("float16"), np.float32),
        lambda: lax.bitcast_convert_type(snp.ones(4, "float16").reshape(2, 2), np.float32),
    ),
    # Products.
    ("use * for products with scalars", lambda: lax.dot(V, 2.0), lambda: V * 2.0),
    (
        "use 'default', 'high', 'highest', or a member of lax.Precision",
        lambda: lax.dot(V, V, precision="best"),
        lambda: [lax.dot(V, V, precision=p) for p in ("default", "high", "highest", lax.Precision.HIGH)],
    ),
    (
        "sizes of paired axes must agree; transpose one of the operands",
        lambda: lax.dot_general(X, X, (((1,), (0,)), ((), ()))),
        lambda: lax.dot_general(X, X.T, (((1,), (0,)), ((), ()))),
    ),
    (
        "name as many axes of one operand as of the other",
        lambda: lax.dot_general(X, X, (((1,), (0, 1)), ((), ()))),
        lambda: lax.dot_general(X, X, (((0, 1), (0, 1)), ((), ()))),
    ),
    # Gather and scatter.
    (
        "name one offset dimension for each axis that is kept",
        lambda: (
            lax.gather(X, P[:, None], WHOLE, (1, 3))
            if False
            else lax.gather(X, snp.array([[0]]), lax.GatherDimensionNumbers((), (0,), (0,)), (1, 3))
        ),
        lambda: lax.gather(X, snp.array([[0]]), ROWS, (1, 3)),
    ),
    (
        "give them slice size 1, or name them in offset_dims",
        lambda: lax.gather(X, snp.array([[0]]), ROWS, (2, 3)),
        lambda: (lax.gather(X, snp.array([[0]]), ROWS, (1, 3)), lax.gather(X, snp.array([[0]]), WHOLE, (2, 3))),
    ),
    (
        "give the last axis of the indices one component for each axis in start_index_map",
        lambda: lax.gather(X, snp.array([[0, 1]]), ROWS, (1, 3)),
        lambda: lax.gather(X, snp.array([[0]]), ROWS, (1, 3)),
    ),
    (
        "give one size for each axis, at most the operand's",
        lambda: lax.gather(X, snp.array([[0]]), ROWS, (1, 4)),
        lambda: lax.gather(X, snp.array([[0]]), ROWS, (1, 3)),
    ),
    (
        "add an axis with indices[..., None]",
        lambda: lax.gather(X, snp.array(0), ROWS, (1, 3)),
        lambda: lax.gather(X, snp.array(0)[..., None], lax.GatherDimensionNumbers((0,), (0,), (0,)), (1, 3)),
    ),
    (
        "convert them with indices.astype(int)",
        lambda: lax.gather(X, snp.array([[0.0]]), ROWS, (1, 3)),
        lambda: lax.gather(X, snp.array([[0.0]]).astype(int), ROWS, (1, 3)),
    ),
    (
        "use 'clip', 'fill', 'drop' or 'promise_in_bounds'",
        lambda: V.at[P].get(mode="best"),
        lambda: [V.at[P].get(mode=m) for m in ("clip", "fill", "drop", "promise_in_bounds")],
    ),
    (
        "give an index from -3 to 2",
        lambda: lax.index_in_dim(V, 9),
        lambda: [lax.index_in_dim(V, i) for i in (-3, 2)],
    ),
    (
        "give a size of one or more",
        lambda: lax.index_in_dim(snp.ones(0), 0),
        lambda: lax.index_in_dim(snp.ones(1), 0),
    ),
    (
        "name each axis from 0 to 3 once, or give three strings: ('NCHW', 'OIHW', 'NCHW')",
        lambda: conv("SAME", dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3))),
        lambda: [
            conv("SAME", dimension_numbers=lax.ConvDimensionNumbers(*[(0, 1, 2, 3)] * 3)),
            conv("SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
        ],
    ),
    (
        "append the sizes of the window's axes to it",
        lambda: lax.scatter_apply(X, snp.array([[0]]), abs, PUT_ROWS),
        lambda: lax.scatter_apply(X, snp.array([[0]]), abs, PUT_ROWS, update_shape=(1, 3)),
    ),
    (
        "give updates the indices' axes but the last, and a window within the operand, as " + str(PUT) + " says",
        lambda: put(V, snp.array([[0]]), V),
        lambda: put(V, snp.array([[0]]), V[:1]),
    ),
    (
        "pass unique_indices=True if no index does",
        lambda: stagec.grad(lambda v: lax.scatter_mul(V, P[:, None], v, PUT).sum())(V),
        lambda: stagec.grad(lambda v: lax.scatter_mul(V, P[:, None], v, PUT, unique_indices=True).sum())(V),
    ),
    (
        "give a size for each spatial axis: two fewer than the operand's axes",
        lambda: lax.conv_general_dilated_patches(IMAGE, (3,), (1, 1), "SAME"),
        lambda: lax.conv_general_dilated_patches(IMAGE, (3, 3), (1, 1), "SAME"),
    ),
    (
        "give rhs the axes (output features, features * window, spatial axes of the result) that dimension_numbers name",
        lambda: lax.conv_general_dilated_local(IMAGE, snp.ones((4, 18, 3, 2)), (1, 1), "VALID", (3, 3)),
        lambda: lax.conv_general_dilated_local(IMAGE, snp.ones((4, 18, 3, 3)), (1, 1), "VALID", (3, 3)),
    ),
    (
        "give one size for each group, and no offset; stagec.vmap maps over lists of sizes",
        lambda: lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.array([[1, 1], [2, 0]])),
        lambda: (
            lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.array([1, 1])),
            stagec.vmap(lambda n: lax.ragged_dot(X, snp.ones((2, 3, 1)), n))(snp.array([[1, 1], [2, 0]])),
        ),
    ),
    (
        "convert them with astype('int32')",
        lambda: lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.ones(2)),
        lambda: lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.ones(2).astype("int32")),
    ),
    (
        "name one ragged axis of lhs, and one group axis of rhs if the ragged one is neither contracted nor batch",
        lambda: ragged([0, 1], [0]),
        lambda: ragged([0], [0]),
    ),
    (
        "give a size for each group of rhs",
        lambda: lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.array([2])),
        lambda: lax.ragged_dot(X, snp.ones((2, 3, 1)), snp.array([2, 0])),
    ),
    (
        "give an array of integers for each axis",
        lambda: lax.index_take(X, (P[:1],), (0, 1)),
        lambda: lax.index_take(X, (P[1:2], P[2:]), (0, 1)),
    ),
    (
        "use a member of lax.AccuracyMode, or a lax.Tolerance",
        lambda: lax.exp(V, accuracy="high"),
        lambda: (lax.exp(V, accuracy=lax.AccuracyMode.HIGHEST), lax.exp(V, accuracy=lax.Tolerance(rtol=1e-6))),
    ),
    (
        "compare it, as in z != 0",
        lambda: lax.cond(C[0], lambda: 1, lambda: 2),
        lambda: lax.cond(C[0] != 0, lambda: 1, lambda: 2),
    ),
    (
        "give a share above 0, and 1 at most",
        lambda: lax.approx_max_k(V, 1, recall_target=0),
        lambda: lax.approx_max_k(V, 1, recall_target=1),
    ),
    (
        "pass one number for each of start, stop and step; add an imaginary part afterwards",
        lambda: snp.arange(3 + 1j),
        lambda: snp.arange(3) + 1j,
    ),
    (
        "name the axes of operand, kernel and result: ('NCHW', 'OIHW', 'NCHW')",
        lambda: conv("SAME", dimension_numbers=("NCHW", "OIHW")),
        lambda: conv("SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
    ),
    (
        "give two matrices, with equal leading axes",
        lambda: lax.batch_matmul(X, X[None]),
        lambda: lax.batch_matmul(X[None], X.T[None]),
    ),
    (
        "leave preferred_element_type out, and convert the result with astype",
        lambda: lax.dot(P, P, preferred_element_type="int8"),
        lambda: lax.dot(P, P).astype("int8"),
    ),
    (
        "give ((lhs contracted, rhs contracted), (lhs batch, rhs batch)), each a tuple of axes",
        lambda: lax.dot_general(X, X, ((1,), (1,))),
        lambda: lax.dot_general(X, X, (((1,), (1,)), ((), ()))),
    ),
    (
        "give each axis one role",
        lambda: lax.dot_general(X, X, (((1,), (1,)), ((1,), (1,)))),
        lambda: lax.dot_general(X, X, (((1,), (1,)), ((0,), (0,)))),
    ),
    (
        "name each axis once, in increasing order",
        lambda: gathered(offset_dims=(2, 1), collapsed_slice_dims=(), start_index_map=(0,)),
        lambda: gathered(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0,)),
    ),
    (
        "name each axis once",
        lambda: gathered(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0, 0)),
        lambda: gathered(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)),
    ),
    (
        "count axes from 0",
        lambda: gathered(offset_dims=(-1,), collapsed_slice_dims=(0,), start_index_map=(0,)),
        lambda: gathered(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)),
    ),
    (
        "name batch axes of equal sizes, in the same order",
        lambda: along(()),
        lambda: along((0,)),
    ),
    (
        "give (low, high, interior) for each axis",
        lambda: lax.pad(V, 0.0, [(1, 1)]),
        lambda: lax.pad(V, 0.0, [(1, 1, 0)]),
    ),
    (
        "give the initial values the operands' structure",
        lambda: lax.reduce((V, V), ((0.0, 0.0),), lambda x, y: x, (0,)),
        lambda: lax.reduce((V, V), (0.0, 0.0), lambda x, y: x, (0,)),
    ),
    (
        "pass an array, or a list of them",
        lambda: lax.reduce([], [], lax.add, (0,)),
        lambda: (lax.reduce(V, 0, lax.add, (0,)), lax.reduce([V], [0], lambda x, y: (x[0] + y[0],), (0,))),
    ),
    (
        "give one number, of float32 or a Python number",
        lambda: lax.reduce(V, snp.int32(0), lax.add, (0,)),
        lambda: (lax.reduce(V, snp.float32(0), lax.add, (0,)), lax.reduce(V, 0, lax.add, (0,))),
    ),
]

STATE = snp.arange(4, dtype=snp.uint32)
CASES += [
    (
        "pass four uint32; stagec.random has generators whose keys are made by seeds",
        lambda: lax.rng_bit_generator(STATE[:2], (2,)),
        lambda: (lax.rng_bit_generator(STATE, (2,)), stagec.random.bits(stagec.random.key(0), (2,))),
    ),
    (
        "draw uint32, and convert them with bitcast_convert_type",
        lambda: lax.rng_bit_generator(STATE, (2,), "int32"),
        lambda: lax.bitcast_convert_type(lax.rng_bit_generator(STATE, (2,), "uint32")[1], "int32"),
    ),
    (
        "draw from 0 to 1, and scale what is drawn",
        lambda: lax.rng_uniform(V, V + 1, (3,)),
        lambda: V + lax.rng_uniform(0.0, 1.0, (3,)),
    ),
    (
        "pass tokens, which create_token makes",
        lambda: lax.after_all(V),
        lambda: lax.after_all(lax.create_token()),
    ),
    (
        "pass matrices, or stacks of them",
        lambda: lax.scaled_dot(V, V),
        lambda: (lax.scaled_dot(X, X.T), lax.scaled_dot(X[None], X.T[None])),
    ),
    (
        "pass scales with as many axes, whose sizes divide those of what they scale",
        lambda: lax.scaled_dot(X, X.T, lhs_scale=X[:, :2]),
        lambda: (lax.scaled_dot(X, X.T, lhs_scale=X), lax.scaled_dot(X, X.T, lhs_scale=X[:1, :1])),
    ),
    (
        "pass (b, m, k), (b, n, k), and scales (b, m, j) and (b, n, j)",
        lambda: stagec.nn.scaled_matmul(X, X, X, X),
        lambda: stagec.nn.scaled_matmul(*[X[None]] * 4),
    ),
]
