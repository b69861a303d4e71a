"""Calls that mean nothing are refused where they are made: with the user's line, the value, and a fix."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

F = np.arange(6, dtype=np.float32).reshape(2, 3)
V, N = F[0], np.arange(3, dtype=np.int32)
C = V.astype(np.complex64)
IMAGE, KERNEL = np.ones((1, 2, 5, 5), np.float32), np.ones((4, 2, 3, 3), np.float32)
PLACES = np.array([[0], [1]])


def gather(offsets, dropped, mapped, sizes, operand=F, indices=PLACES, **batching):
    return lax.gather(operand, indices, lax.GatherDimensionNumbers(offsets, dropped, mapped, **batching), sizes)


def scatter(window, inserted, mapped, operand=F, indices=PLACES, updates=F, **batching):
    numbers = lax.ScatterDimensionNumbers(window, inserted, mapped, **batching)
    return lax.scatter(operand, indices, updates, numbers)


# Each with what the message says of the value.
WRONG = {
    "integer_pow of a fraction": (lambda: lax.integer_pow(V, 1.5), "y must be an integer, got float: 1.5"),
    "a fraction of a bit": (lambda: lax.reduce_precision(V, 5.5, 1), "exponent_bits must be an integer"),
    "a fraction of a place": (lambda: lax.top_k(V, 1.5), "k must be an integer, got float: 1.5"),
    "a recall above 1": (lambda: lax.approx_max_k(V, 1, recall_target=2.0), "recall_target=2.0"),
    "a complex choice": (lambda: lax.cond(C[0], lambda: 1, lambda: 2), r"pred .* got complex64\[\]"),
    "bounds that are complex": (lambda: snp.arange(1j), "arange: the bounds must be real numbers, got 1j"),
    "bounds that have axes": (lambda: snp.arange(V), "arange: the bounds must be real numbers"),
    "products of vectors in a batch": (lambda: lax.batch_matmul(V, V), r"batch_matmul: float32\[3\] and float32\[3\]"),
    "matrices of other ranks": (lambda: lax.batch_matmul(F, F[None]), r"float32\[2,3\] and float32\[1,2,3\]"),
    "a position that is not there": (
        lambda: lax.index_in_dim(F, 3, 1),
        r"index 3 is out of bounds for axis 1 of float32\[2,3\], of size 3",
    ),
    "an element of a batch that is not there": (
        lambda: stagec.vmap(lambda x: lax.pbroadcast(x, "i", 7), axis_name="i")(V),
        "pbroadcast: index 7 is out of bounds for the batch 'i', of size 3",
    ),
    "windows to change without numbers": (
        lambda: lax.scatter_apply(V, PLACES, abs, None),
        "dimension_numbers must be a ScatterDimensionNumbers, got None",
    ),
    "an axis of an image twice": (
        lambda: lax.conv_general_dilated(
            IMAGE,
            KERNEL,
            (1, 1),
            "SAME",
            dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3)),
        ),
        r"lhs_spec=\(0, 1, 2, 2\) do not describe 4 axes",
    ),
    "an axis in two parts": (
        lambda: lax.dot_general(F, F, (((0,), (0,)), ((0,), (0,)))),
        "axis 0 is contracted and a batch axis",
    ),
    "numbers that are no pairs": (
        lambda: lax.dot_general(F, F, ((1,), (1,))),
        r"dimension_numbers is \(\(1,\), \(1,\)\)",
    ),
    "a narrower sum": (
        lambda: lax.dot_general(N, N, (((0,), (0,)), ((), ())), preferred_element_type="int16"),
        "preferred_element_type int16 is narrower than int32",
    ),
    "an initial value of another dtype": (
        lambda: lax.reduce(V, np.int32(0), lambda x, y: x + y, (0,)),
        r"the initial value is int32\[\], and the operand float32\[3\]",
    ),
    "an initial value with axes": (
        lambda: lax.reduce(V, V, lambda x, y: x, (0,)),
        r"the initial value is float32\[3\]",
    ),
    "nothing to reduce": (lambda: lax.reduce([], [], lambda x, y: x, (0,)), "there are no operands"),
    "edges without holes": (lambda: lax.pad(V, 0.0, [(0, 0)]), r"padding_config is \[\(0, 0\)\]"),
    "nothing to join": (lambda: lax.concatenate(None, 0), "need at least one array"),
    "half an axis": (lambda: lax.squeeze(F, 0.5), "an axis must be an integer, got float: 0.5"),
    "no such transform": (lambda: lax.fft(C, "DCT", (3,)), "fft_type='DCT'"),
    "no function to scan with": (lambda: lax.associative_scan(1, V), "takes a function, got int"),
    "two layouts for three arrays": (
        lambda: lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW")),
        r"dimension_numbers is \('NCHW', 'OIHW'\)",
    ),
    "one stride for two axes": (
        lambda: lax.conv_general_dilated(IMAGE, KERNEL, 1, "SAME"),
        r"window_strides is \(1,\) for 2 axes",
    ),
    "gathered axes out of order": (lambda: gather((2, 1), (), (0,), (1, 3)), r"offset_dims is \(2, 1\)"),
    "gathered axes twice": (lambda: gather((1, 1), (), (0,), (1, 3)), r"offset_dims is \(1, 1\)"),
    "gathered axes that are not there": (
        lambda: gather((2,), (0,), (0,), (1, 3)),
        r"offset_dims \(2,\) are not all among",
    ),
    "negative gathered axes": (lambda: gather((-1,), (0,), (0,), (1, 3)), r"offset_dims \(-1,\) are not all among"),
    "a dropped axis that is not there": (
        lambda: gather((1,), (5,), (0,), (1, 3)),
        r"collapsed_slice_dims \(5,\) are not all among the 2 axes of float32\[2,3\]",
    ),
    "a mapped axis that is not there": (
        lambda: gather((1,), (0,), (2,), (1, 3)),
        r"start_index_map \(2,\) are not all",
    ),
    "a mapped axis twice": (
        lambda: gather((1,), (0,), (0, 0), (1, 3), indices=np.array([[0, 0]])),
        r"start_index_map is \(0, 0\)",
    ),
    "an axis that is mapped and batch": (
        lambda: gather((1,), (), (0,), (1, 3), operand_batching_dims=(0,)),
        r"operand_batching_dims \(0,\) and start_index_map \(0,\) share axis 0",
    ),
    "batch axes of one side": (
        lambda: gather((1,), (), (1,), (1, 3), operand_batching_dims=(0,)),
        r"operand_batching_dims \(0,\) of .* differ",
    ),
    "a batch axis that is not there": (
        lambda: gather((), (1,), (1,), (1, 1), operand_batching_dims=(0,), start_indices_batching_dims=(5,)),
        r"start_indices_batching_dims \(5,\) are not all among the 1 axes",
    ),
    "inserted axes out of order": (
        lambda: scatter((), (1, 0), (0, 1), indices=np.array([[0, 1]]), updates=np.ones(1, np.float32)),
        r"inserted_window_dims is \(1, 0\)",
    ),
    "an inserted axis that is not there": (
        lambda: scatter((1,), (3,), (0,)),
        r"inserted_window_dims \(3,\) are not all",
    ),
    "a written axis that is not there": (
        lambda: scatter((1,), (0,), (3,)),
        r"scatter_dims_to_operand_dims \(3,\) are not all among the 2 axes of float32\[2,3\]",
    ),
    "updates without the axis": (lambda: scatter((5,), (0,), (0,)), r"update_window_dims \(5,\) .* 2 axes of updates"),
}


@pytest.mark.parametrize("run", [lambda f: f(), lambda f: stagec.jit(f)()], ids=["eager", "traced"])
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_refused(what, run):
    call, text = WRONG[what]
    with pytest.raises((TypeError, ValueError), match=text) as caught:
        run(call)
    message = str(caught.value)
    assert "test_wrong_calls.py:" in message and "\n  Fix: " in message


# What is near a wrong call, and right.
RIGHT = {
    "a power": (lambda: lax.integer_pow(V, np.int64(2)), (3,)),
    "a Python number reduces any dtype": (lambda: lax.reduce(V, 0, lambda x, y: x + y, (0,)), ()),
    "one axis": (lambda: lax.expand_dims(V, 0), (1, 3)),
    "one size": (lambda: lax.broadcast(V, 2), (2, 3)),
    "a wider sum": (
        lambda: lax.dot_general(N, N, (((0,), (0,)), ((), ())), preferred_element_type="float32"),
        (),
    ),
    "components in any order": (
        lambda: gather((), (0, 1), (1, 0), (1, 1), indices=np.array([[2, 0]])),
        (1,),
    ),
    "batch axes that go along": (
        lambda: gather((), (1,), (1,), (1, 1), operand_batching_dims=(0,), start_indices_batching_dims=(0,)),
        (2,),
    ),
}


@pytest.mark.parametrize("what", RIGHT)
def test_a_right_call_is_not(what):
    call, shape = RIGHT[what]
    assert call().shape == shape
