"""Programs with an open dimension whose rows are independent: row i of each result follows from row i of the arguments.

Such a program may compute its rows in blocks of a static size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stagec.core import dims, open_graph
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_values import symbols
from stagec.core.graph import Equation, Graph
from stagec.core.location import UNKNOWN, Location
from stagec.primitives.reduction import reduction_batch
from stagec.primitives.table import batch_elementwise


def open_size(graph: Graph) -> Dim | None:
    """The size of the open axis whose rows are independent: the first axis of all arrays that have it.

    None if the program has other open sizes, or an operation that may read other rows.
    """
    return None if obstacle(graph) else next(iter(open_graph.sizes(graph)))


def obstacle(graph: Graph, alone: bool = False, axes: int = 1) -> tuple[str, Location] | None:
    """Why a program with open dimensions may not compute its rows in blocks, and the line; None if it may.

    Args:
      alone: whether nothing else computes it, so that it may have loops and windows, which are not known to be faster.
      axes: how many leading axes number the rows, each with an open size of its own.
    """
    found = open_graph.sizes(graph)
    if not found:
        return "it has no open size", UNKNOWN
    sizes = list(found)
    size = " and ".join(map(str, sizes[:axes]))
    if len(sizes) > axes:
        return f"it has the open sizes {size} and {sizes[axes]}", found[sizes[axes]]
    for one in sizes:
        if dims.of_symbol(symbols(one)[0]) is not one:
            return f"its open size is {one}", found[one]
    where = "its first" if axes == 1 else "those that lead"
    if not all(_leads(a, sizes) for a in graph.in_avals):
        return f"an argument has {size} on another axis than {where}", UNKNOWN
    for equation in graph.equations:
        name = equation.primitive.name
        if not all(_leads(v.aval, sizes) for v in equation.outputs):
            return f"a result of {name} has {size} on another axis than {where}", equation.location
        if not _is_row_wise(equation, alone, sizes):
            return f"{name} may read other rows of {size}", equation.location
    if not all(a.is_open for a in graph.out_avals):
        return f"a result has no axis of size {size}", UNKNOWN
    return None


def _leads(aval: ShapedArray, sizes: Sequence[Dim]) -> bool:
    """Whether nothing is open, or the leading axes alone, which have these sizes."""
    return not aval.is_open or (
        list(aval.shape[: len(sizes)]) == [*sizes] and not any(map(is_open, aval.shape[len(sizes) :]))
    )


def _is_row_wise(equation: Equation, alone: bool, sizes: Sequence[Dim]) -> bool:
    """Whether open results follow row by row, and others from arrays alone that are not open."""
    primitive, params = equation.primitive, equation.params
    if primitive.effects:
        return False
    if not any(v.aval.is_open for v in (*equation.inputs, *equation.outputs)):
        # It must not depend on the number of rows either.
        return not open_graph.sizes(params)
    if alone and primitive.name in ("cond", "scan", "while"):
        return _has_row_wise_bodies(equation, sizes)
    if not all(v.aval.is_open for v in equation.outputs):
        return False
    if primitive.batch is batch_elementwise:
        # Operands have the shape of the result, or are numbers.
        return not open_graph.sizes(params)
    if primitive.batch is reduction_batch:
        return all(axis >= len(sizes) for axis in params["axes"])
    rule = _RULES.get(primitive.name) or (_MORE_RULES.get(primitive.name) if alone else None)
    return rule is not None and rule([v.aval for v in equation.inputs], params, len(sizes))


def _has_row_wise_bodies(equation: Equation, sizes: Sequence[Dim]) -> bool:
    """Whether all graphs of control flow are row-wise, and a loop is not one over the rows."""
    params = equation.params
    if equation.primitive.name == "scan":
        scanned = equation.inputs[params["num_consts"] + params["num_carry"] :]
        if is_open(params["length"]) or any(v.aval.is_open for v in scanned):
            return False
    bodies = [part for value in params.values() for part in (value if isinstance(value, tuple) else (value,))]
    return all(_is_row_wise_body(body, sizes) for body in bodies if isinstance(body, Graph))


def _is_row_wise_body(graph: Graph, sizes: Sequence[Dim]) -> bool:
    return all(_leads(a, sizes) for a in graph.in_avals) and all(
        all(_leads(v.aval, sizes) for v in e.outputs) and _is_row_wise(e, True, sizes) for e in graph.equations
    )


def _keeps_rows(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    """Rows keep their elements if the open axes lead before and after."""
    return avals[0].is_open


def _is_along_row(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    return bool(params["axis"] >= axes)


def _broadcasts_rows(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    """Rows stay rows, or the rows of the result are all the same."""
    return not avals[0].is_open or tuple(params["broadcast_dimensions"][:axes]) == (*range(axes),)


def _is_of_images(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    """A convolution whose batch is the open axis."""
    image, kernel = avals
    batch, _, out = (spec[0] for spec in params["dimension_numbers"])
    return axes == 1 and image.is_open and not kernel.is_open and batch == out == 0 and params["batch_group_count"] == 1


# Whether an operation computes each row from the same row, by the avals of its operands, its parameters, and how many
# axes number the rows. All results are open, on these leading axes alone. So is each operand that is open at all, and
# has the same sizes there.
_RULES: dict[str, Callable[[Sequence[ShapedArray], Mapping[str, Any], int], bool]] = {
    "broadcast_in_dim": _broadcasts_rows,
    "concatenate": lambda avals, params, axes: params["dimension"] >= axes,
    "conv_general_dilated": _is_of_images,
    "cumlogsumexp": _is_along_row,
    "cummax": _is_along_row,
    "cummin": _is_along_row,
    "cumprod": _is_along_row,
    "cumsum": _is_along_row,
    # An open axis that is summed, or that only one of two open operands has in the result, shows in its shape.
    "dot_general": lambda avals, params, axes: True,
    "iota": lambda avals, params, axes: params["dimension"] >= axes,
    "pad": lambda avals, params, axes: all(part == (0, 0, 0) for part in params["padding_config"][:axes]),
    "reshape": _keeps_rows,
    "rev": lambda avals, params, axes: all(axis >= axes for axis in params["dimensions"]),
    # The whole of the open axis has its size; an offset would make it smaller.
    "slice": lambda avals, params, axes: all(step == 1 for step in params["strides"][:axes]),
    "sort": lambda avals, params, axes: params["dimension"] >= axes,
    "squeeze": _keeps_rows,
    "top_k": lambda avals, params, axes: avals[0].ndim > axes,
    "transpose": lambda avals, params, axes: tuple(params["permutation"][:axes]) == (*range(axes),),
}


def _looks_up_by_row(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    """Each row of indices looks into one table, or into its own row."""
    table, indices = avals
    numbers = params["dimension_numbers"]
    own = numbers.operand_batching_dims[:axes] == numbers.start_indices_batching_dims[:axes] == (*range(axes),)
    return (
        indices.is_open
        and indices.ndim > axes
        and min((axes, *numbers.offset_dims)) >= axes
        and (own or not table.is_open)
    )


def _has_windows_in_rows(avals: Sequence[ShapedArray], params: Mapping[str, Any], axes: int) -> bool:
    sizes = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
    return all(params["padding"][i] == (0, 0) and all(params[name][i] == 1 for name in sizes) for i in range(axes))


# Further ones. A slice of all rows begins at the first one, wherever it is asked to.
_MORE_RULES: dict[str, Callable[[Sequence[ShapedArray], Mapping[str, Any], int], bool]] = {
    "dynamic_slice": lambda avals, params, axes: True,
    "dynamic_update_slice": lambda avals, params, axes: avals[0].is_open and avals[1].is_open,
    "gather": _looks_up_by_row,
    "reduce_window_max": _has_windows_in_rows,
    "reduce_window_min": _has_windows_in_rows,
    "reduce_window_prod": _has_windows_in_rows,
    "reduce_window_sum": _has_windows_in_rows,
    "split": _is_along_row,
}
