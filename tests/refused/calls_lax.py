"""Wrong calls of the operations of `lax`."""

import numpy as np
from data import IMAGE, KERNEL, B, F, N, V

CALLS = {
    "mulhi ranks": (lambda j: j.lax.mulhi(N, N[None]), "mulhi: int32[3] and int32[1,3] differ in their number of axes"),
    "dot of a stack": (
        lambda j: j.lax.dot(F[None], F.T),
        "dot: float32[1,2,3] and float32[3,2] are not vectors or matrices",
    ),
    "reduce_or along no axis": (lambda j: j.lax.reduce_or(V, ()), "reduce_or does not accept float32"),
    "permutation size": (
        lambda j: j.lax.linalg.lu_pivots_to_permutation(N, 3.5),
        "lu_pivots_to_permutation: permutation_size must be an integer, got float: 3.5",
    ),
    "conv ranks differ": (
        lambda j: j.lax.conv(IMAGE, KERNEL[0], (1, 1), "SAME"),
        "convolution: operand of shape (1, 2, 5, 5) and kernel of shape (2, 3,",
    ),
    "conv channels differ": (
        lambda j: j.lax.conv(IMAGE, KERNEL[:, :1], (1, 1), "SAME"),
        "conv_general_dilated: operand float32[1,2,5,5] has 2 features, kernel",
    ),
    "conv padding name": (
        lambda j: j.lax.conv(IMAGE, KERNEL, (1, 1), "SOME"),
        "padding: there is no padding named 'SOME'",
    ),
    "conv padding pairs count": (
        lambda j: j.lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), [(0, 0)]),
        "conv_general_dilated: padding ((0, 0),) for 2 axes",
    ),
    "conv padding int": (
        lambda j: j.lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), 1),
        "conv_general_dilated: padding must be a name or pairs of integers,",
    ),
    "conv dtypes": (
        lambda j: j.lax.conv(IMAGE, KERNEL.astype(np.int32), (1, 1), "SAME"),
        "conv_general_dilated: operands have different dtypes:",
    ),
    "conv stride zero": (
        lambda j: j.lax.conv(IMAGE, KERNEL, (0, 1), "SAME"),
        "conv_general_dilated: window_strides is (0, 1) for 2 axes",
    ),
    "conv stride float": (
        lambda j: j.lax.conv(IMAGE, KERNEL, (1.5, 1), "SAME"),
        "conv_general_dilated: window_strides must be an integer, got float:",
    ),
    "conv lhs_dilation zero": (
        lambda j: j.lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME", lhs_dilation=(0, 1)),
        "conv_general_dilated: lhs_dilation is (0, 1) for 2 axes",
    ),
    "conv groups": (
        lambda j: j.lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME", feature_group_count=3),
        "conv_general_dilated: feature_group_count=3 does not divide",
    ),
    "conv batch groups": (
        lambda j: j.lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME", batch_group_count=2),
        "conv_general_dilated: batch_group_count=2 does not divide",
    ),
    "conv both groups": (
        lambda j: j.lax.conv_general_dilated(
            np.ones((2, 2, 5, 5), np.float32),
            np.ones((4, 1, 3, 3), np.float32),
            (1, 1),
            "SAME",
            batch_group_count=2,
            feature_group_count=2,
        ),
        "conv_general_dilated: features and batch are both grouped",
    ),
    "dot_general sizes": (
        lambda j: j.lax.dot_general(F, F, (((1,), (0,)), ((), ()))),
        "dot_general: contracting dimensions differ: axis 1 of float32[2,3]",
    ),
    "dot_general counts": (
        lambda j: j.lax.dot_general(F, F, (((0, 1), (0,)), ((), ()))),
        "dot_general: dimension numbers (((0, 1), (0,)), ((), ())) do not pair",
    ),
    "dot_general axis out of range": (
        lambda j: j.lax.dot_general(F, F, (((2,), (0,)), ((), ()))),
        "dot_general: axis 2 is out of bounds for array of dimension 2",
    ),
    "dot_general batch sizes": (
        lambda j: j.lax.dot_general(F, F.T, (((), ()), ((0,), (0,)))),
        "dot_general: batch dimensions differ: axis 0 of float32[2,3] and axis",
    ),
    "dot_general repeated": (
        lambda j: j.lax.dot_general(F, F, (((1, 1), (1, 1)), ((), ()))),
        "dot_general: duplicate value in axes (1, 1)",
    ),
    "dot sizes": (lambda j: j.lax.dot(F, F), "dot_general: contracting dimensions differ: axis 1 of float32[2,3]"),
    "dot precision": (lambda j: j.lax.dot(F, F.T, precision="exact"), "unknown precision 'exact'"),
    "gather slice too large": (
        lambda j: j.lax.gather(F, np.array([[0]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)),
        "gather: slice_sizes (1, 4) do not fit in float32[2,3]",
    ),
    "gather negative slice": (
        lambda j: j.lax.gather(F, np.array([[0]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, -1)),
        "gather: shape (1, -1) has a negative size",
    ),
    "gather float indices": (
        lambda j: j.lax.gather(F, np.array([[0.0]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
        "gather: indices must be integers of rank 1 or more, got float32[1,1]",
    ),
    "gather scalar indices": (
        lambda j: j.lax.gather(F, np.array(0), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
        "gather: indices must be integers of rank 1 or more, got int32[]",
    ),
    "gather index depth": (
        lambda j: j.lax.gather(F, np.array([[0, 1]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
        "gather: indices int32[1,2] have 2 components, start_index_map (0,)",
    ),
    "gather collapsed size": (
        lambda j: j.lax.gather(F, np.array([[0]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (2, 3)),
        "gather: axes (0,) need slice size 1, got (2, 3)",
    ),
    "gather mode": (
        lambda j: j.lax.gather(F, np.array([[0]]), j.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode="wrap"),
        "unknown gather/scatter mode 'wrap'",
    ),
    "gather no numbers": (
        lambda j: j.lax.gather(F, np.array([[0]]), None, (1, 3)),
        "gather: dimension_numbers must be a GatherDimensionNumbers, got None",
    ),
    "gather fill_value dtype": (
        lambda j: j.lax.gather(
            F,
            np.array([[0]]),
            j.lax.GatherDimensionNumbers((1,), (0,), (0,)),
            (1, 3),
            mode="fill",
            fill_value=np.ones(2),
        ),
        "gather: fill_value has shape (2,)",
    ),
    "scatter update size": (
        lambda j: j.lax.scatter_add(
            F, np.array([[0]]), np.ones((1, 4), np.float32), j.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        ),
        "scatter_add: updates float32[1,4] do not fit indices int32[1,1] and",
    ),
    "scatter dtype": (
        lambda j: j.lax.scatter_add(
            F, np.array([[0]]), np.ones((1, 3), np.int32), j.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        ),
        "scatter_add: operands have different dtypes: float32[2,3], int32[1,3]",
    ),
    "scatter float indices": (
        lambda j: j.lax.scatter(
            F, np.array([[0.0]]), np.ones((1, 3), np.float32), j.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        ),
        "scatter: indices must be integers of rank 1 or more, got float32[1,1]",
    ),
    "scatter_mul bool": (
        lambda j: j.lax.scatter_sub(
            B, np.array([[0]]), np.ones((1,), bool), j.lax.ScatterDimensionNumbers((), (0,), (0,))
        ),
        "scatter_sub does not accept bool",
    ),
    "dynamic_slice starts count": (
        lambda j: j.lax.dynamic_slice(F, (0,), (1, 1)),
        "dynamic_slice: got 1 start indices for 2 axes",
    ),
    "dynamic_slice sizes count": (
        lambda j: j.lax.dynamic_slice(F, (0, 0), (1,)),
        "dynamic_slice: slice_sizes (1,) do not fit in float32[2,3]",
    ),
    "dynamic_slice too large": (
        lambda j: j.lax.dynamic_slice(F, (0, 0), (3, 1)),
        "dynamic_slice: slice_sizes (3, 1) do not fit in float32[2,3]",
    ),
    "dynamic_slice negative size": (
        lambda j: j.lax.dynamic_slice(F, (0, 0), (-1, 1)),
        "dynamic_slice: shape (-1, 1) has a negative size",
    ),
    "dynamic_slice float start": (
        lambda j: j.lax.dynamic_slice(F, (0.0, 0.0), (1, 1)),
        "dynamic_slice: start indices must be integers, got float32[]",
    ),
    "dynamic_slice vector start": (
        lambda j: j.lax.dynamic_slice(F, (N, N), (1, 1)),
        "dynamic_slice: float32[2,3] needs 2 start indices of rank 0, got 2",
    ),
    "dynamic_update_slice rank": (
        lambda j: j.lax.dynamic_update_slice(F, V, (0, 0)),
        "dynamic_update_slice: update float32[3] does not fit in float32[2,3]",
    ),
    "dynamic_update_slice dtype": (
        lambda j: j.lax.dynamic_update_slice(F, np.ones((1, 1), np.int32), (0, 0)),
        "dynamic_update_slice: operands have different dtypes: float32[2,3],",
    ),
    "dynamic_update_slice starts": (
        lambda j: j.lax.dynamic_update_slice(F, F, (0,)),
        "dynamic_update_slice: got 1 start indices for 2 axes",
    ),
    "slice limit": (
        lambda j: j.lax.slice(F, (0, 0), (3, 3)),
        "slice: 0:3:1 is not within an axis of size 2 of float32[2,3]",
    ),
    "slice stride zero": (
        lambda j: j.lax.slice(F, (0, 0), (2, 3), (0, 1)),
        "slice: 0:2:0 is not within an axis of size 2 of float32[2,3]",
    ),
    "slice float": (lambda j: j.lax.slice(F, (0.5, 0), (2, 3)), "slice: a start must be an integer, got float: 0.5"),
    "reduce axis": (
        lambda j: j.lax.reduce(V, np.float32(0), j.lax.add, (1,)),
        "reduce: axis 1 is out of bounds for array of dimension 1",
    ),
    "reduce result shape": (
        lambda j: j.lax.reduce(V, np.float32(0), lambda x, y: j.numpy.stack([x, y]), (0,)),
        "reduce: the computation returns float32[2], not float32[]",
    ),
    "reduce result dtype": (
        lambda j: j.lax.reduce(V, np.float32(0), lambda x, y: x > y, (0,)),
        "reduce: the computation returns bool[], not float32[]",
    ),
    "reduce operand shapes": (
        lambda j: j.lax.reduce((V, F), (np.float32(0), np.float32(0)), lambda a, b: a, (0,)),
        "reduce: operands float32[3], float32[2,3] with initial values",
    ),
    "reduce inits count": (
        lambda j: j.lax.reduce((V, V), (np.float32(0),), lambda a, b: a, (0,)),
        "reduce: 2 operands but 1 initial values",
    ),
    "reduce result count": (
        lambda j: j.lax.reduce((V, V), (np.float32(0), np.float32(0)), lambda a, b: a[0], (0,)),
        "reduce: the computation returns float32[], not float32[], float32[]",
    ),
    "reduce not callable": (lambda j: j.lax.reduce(V, np.float32(0), 3, (0,)), "reduce takes a function, got int"),
    "reduce_window rank": (
        lambda j: j.lax.reduce_window(F, 0.0, j.lax.add, (2,), (1,), "VALID"),
        "reduce_window: window_dimensions is (2,) for 2 axes",
    ),
    "reduce_window zero": (
        lambda j: j.lax.reduce_window(F, 0.0, j.lax.add, (0, 2), (1, 1), "VALID"),
        "reduce_window: window_dimensions is (0, 2) for 2 axes",
    ),
    "reduce_window padding": (
        lambda j: j.lax.reduce_window(F, 0.0, j.lax.add, (1, 2), (1, 1), "FULL"),
        "padding: there is no padding named 'FULL'",
    ),
    "reduce_window init shape": (
        lambda j: j.lax.reduce_window(F, V, j.lax.add, (1, 2), (1, 1), "VALID"),
        "reduce_window: the initial value must have rank 0, got float32[3]",
    ),
    "argmax index dtype": (lambda j: j.lax.argmax(F, 0, np.float32), "argmax does not accept float32"),
    "reduce_and floats": (lambda j: j.lax.reduce_and(F, (0,)), "reduce_and does not accept float32"),
    "sort dimension": (lambda j: j.lax.sort(F, dimension=2), "sort: axis 2 is out of bounds for array of dimension 2"),
    "sort shapes": (lambda j: j.lax.sort((V, F)), "sort: operands have different shapes: float32[3], float32[2,3]"),
    "sort num_keys 0": (lambda j: j.lax.sort((V, V), num_keys=0), "sort: num_keys=0 with 2 operands"),
    "sort scalar": (lambda j: j.lax.sort(np.float32(1)), "sort: axis -1 is out of bounds for array of dimension 0"),
    "sort empty": (lambda j: j.lax.sort(()), "sort: there is nothing to sort"),
    "top_k too many": (lambda j: j.lax.top_k(V, 4), "top_k: k=4 of float32[3]"),
    "top_k scalar": (lambda j: j.lax.top_k(np.float32(1), 1), "top_k: k=1 of float32[]"),
    "concatenate ranks": (
        lambda j: j.lax.concatenate([V, F], 0),
        "concatenate: shapes differ outside of axis 0: float32[3], float32[2,3]",
    ),
    "concatenate dtypes": (
        lambda j: j.lax.concatenate([V, N], 0),
        "concatenate: operands have different dtypes: float32[3], int32[3]",
    ),
    "concatenate axis": (
        lambda j: j.lax.concatenate([V, V], 1),
        "concatenate: axis 1 is out of bounds for array of dimension 1",
    ),
    "concatenate empty": (lambda j: j.lax.concatenate([], 0), "concatenate: need at least one array to concatenate"),
    "pad rank": (
        lambda j: j.lax.pad(F, np.float32(0), [(0, 0, 0)]),
        "pad: padding ((0, 0, 0),) does not fit float32[2,3]",
    ),
    "pad too negative": (
        lambda j: j.lax.pad(V, np.float32(0), [(-5, 0, 0)]),
        "pad: padding ((-5, 0, 0),) cuts more than float32[3] has",
    ),
    "pad dtype": (
        lambda j: j.lax.pad(V, np.int32(0), [(0, 0, 0)]),
        "pad: operands have different dtypes: float32[3], int32[]",
    ),
    "pad value shape": (
        lambda j: j.lax.pad(V, V, [(0, 0, 0)]),
        "pad: the padding value must have rank 0, got float32[3]",
    ),
    "broadcast_in_dim dims count": (
        lambda j: j.lax.broadcast_in_dim(V, (2, 3), ()),
        "broadcast_in_dim: float32[3] needs one broadcast dimension for each",
    ),
    "broadcast_in_dim size": (
        lambda j: j.lax.broadcast_in_dim(V, (2, 4), (1,)),
        "broadcast_in_dim: float32[3] does not broadcast to (2, 4) along (1,)",
    ),
    "broadcast_in_dim negative size": (
        lambda j: j.lax.broadcast_in_dim(np.float32(1), (-1,), ()),
        "broadcast_in_dim: shape (-1,) has a negative size",
    ),
    "broadcast float size": (
        lambda j: j.lax.broadcast(V, (1.5,)),
        "broadcast: each size of a shape must be an integer, got float: 1.5",
    ),
    "transpose count": (lambda j: j.lax.transpose(F, (0,)), "transpose: axes (0,) do not match array float32[2,3]"),
    "transpose repeated": (
        lambda j: j.lax.transpose(F, (0, 0)),
        "transpose: axes (0, 0) do not match array float32[2,3]",
    ),
    "reshape size": (lambda j: j.lax.reshape(F, (4,)), "reshape: cannot reshape array of size 6 into shape (4,)"),
    "reshape dims": (
        lambda j: j.lax.reshape(F, (6,), dimensions=(0, 0)),
        "transpose: axes (0, 0) do not match array float32[2,3]",
    ),
    "reshape float": (
        lambda j: j.lax.reshape(F, (6.0,)),
        "reshape: each size of a shape must be an integer, got float: 6.0",
    ),
    "expand_dims twice": (lambda j: j.lax.expand_dims(F, (0, 0)), "expand_dims: duplicate value in axes (0, 0)"),
    "select shapes": (lambda j: j.lax.select(B, V, F), "select_n: shapes differ: bool[3], float32[2,3], float32[3]"),
    "select dtypes": (
        lambda j: j.lax.select(B, V, N),
        "select_n: operands have different dtypes: int32[3], float32[3]",
    ),
    "select_n none": (lambda j: j.lax.select_n(B), "select_n: there are no cases"),
    "select_n three bool": (lambda j: j.lax.select_n(B, V, V, V), "select_n: 3 cases for bool[3]"),
    "select_n float": (lambda j: j.lax.select_n(V, V, V), "select_n's first operand does not accept float32"),
    "clamp shapes": (lambda j: j.lax.clamp(V, F, V), "clamp: shapes differ: float32[3], float32[2,3], float32[3]"),
    "clamp dtypes": (
        lambda j: j.lax.clamp(0, V, np.float64(1).astype(np.int32)),
        "clamp: operands have different dtypes: float32[], float32[3], int32[]",
    ),
    "add shapes": (lambda j: j.lax.add(V, F), "add: shapes differ: float32[3], float32[2,3]"),
    "add dtypes": (lambda j: j.lax.add(V, N), "add: operands have different dtypes: float32[3], int32[3]"),
    "sin int": (lambda j: j.lax.sin(N), "sin does not accept int32"),
    "bitwise_and float": (lambda j: j.lax.bitwise_and(V, V), "and does not accept float32"),
    "eq complex lt": (
        lambda j: j.lax.lt(V.astype(np.complex64), V.astype(np.complex64)),
        "lt does not accept complex64",
    ),
    "add strings": (lambda j: j.lax.add("a", "b"), "operand 0: expected an array or a number, got str: 'a'"),
    "convert string dtype": (
        lambda j: j.lax.convert_element_type(V, "flaot32"),
        "flaot32 is not a dtype that stagec arrays can have",
    ),
    "bitcast bool": (lambda j: j.lax.bitcast_convert_type(B, np.float32), "bitcast_convert_type does not accept bool"),
    "iota bool": (lambda j: j.lax.iota(bool, 3), "iota does not accept bool"),
    "iota float size": (
        lambda j: j.lax.iota(np.int32, 1.5),
        "broadcasted_iota: each size of a shape must be an integer, got float:",
    ),
    "broadcasted_iota dim": (
        lambda j: j.lax.broadcasted_iota(np.int32, (2, 3), 2),
        "broadcasted_iota: axis 2 is out of bounds for array of dimension 2",
    ),
    "cumsum axis": (lambda j: j.lax.cumsum(F, 2), "cumsum: axis 2 is out of bounds for array of dimension 2"),
    "full negative": (lambda j: j.lax.full((-1,), 0.0), "full: shape (-1,) has a negative size"),
    "full not scalar": (lambda j: j.lax.full((3,), F), "full: fill_value is float32[2,3]"),
    "collapse range": (lambda j: j.lax.collapse(F, 1, 0), "collapse: there are no axes from 1 to 0 in float32[2,3]"),
    "split sizes": (lambda j: j.lax.split(V, (1, 1)), "split: sizes (1, 1) do not add up to axis 0 of float32[3]"),
    "split axis": (lambda j: j.lax.split(V, (1, 2), axis=1), "split: axis 1 is out of bounds for array of dimension 1"),
    "rng_uniform shape": (
        lambda j: j.lax.rng_uniform(0.0, F, (2,)),
        "rng_uniform: expected two real numbers, got float32[] and float32[2,3]",
    ),
    "scatter none": (
        lambda j: j.lax.scatter(F, np.array([[0]]), V, None),
        "scatter: dimension_numbers must be a ScatterDimensionNumbers, got None",
    ),
    "reduce arity": (
        lambda j: j.lax.reduce(V, np.float32(0), lambda x: x, (0,)),
        "reduce: computation, ..., does not take 2 arguments",
    ),
    "reduce_window arity": (
        lambda j: j.lax.reduce_window(V, np.float32(0), lambda x: x, (2,), (1,), "VALID"),
        "reduce_window: computation, ..., does not take 2 arguments",
    ),
}
