"""Convolutions: what is done to their operands and results becomes a part of them, and some are products."""

from __future__ import annotations

import dataclasses
from typing import Any

from passes import attributes as attrs, build
from passes.match import producer, rank_of, shape_of, size_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import unit_map
from passes.simplify.sides import Side

CONVOLUTION = "stablehlo.convolution"


@dataclasses.dataclass(frozen=True)
class _Window:
    """The attributes of a convolution's window, for each spatial dimension."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[int, ...]

    @classmethod
    def of(cls, op: Any) -> _Window:
        rank = rank_of(op.lhs) - 2
        ones = (1,) * rank
        return cls(
            attrs.ints(op, "window_strides", ones),
            tuple(attrs.pairs(op, "padding", rank)),
            attrs.ints(op, "lhs_dilation", ones),
            attrs.ints(op, "rhs_dilation", ones),
            attrs.ints(op, "window_reversal", (0,) * rank),
        )

    def attributes(self) -> dict[str, Any]:
        """The attributes by their names."""
        flips = ", ".join("true" if flip else "false" for flip in self.reversal)
        return {
            "window_strides": build.i64_array(self.strides),
            "padding": build.pairs(self.padding),
            "lhs_dilation": build.i64_array(self.lhs_dilation),
            "rhs_dilation": build.i64_array(self.rhs_dilation),
            **({"window_reversal": f"array<i1: {flips}>"} if any(self.reversal) else {}),
        }


def _convolution(
    op: Any,
    lhs: Any,
    rhs: Any,
    window: _Window | None = None,
    dims: attrs.ConvolutionDimensions | None = None,
    result: Any = None,
) -> Any:
    """A copy of a convolution, with other operands, and maybe another window, dimension numbers, or result type."""
    attributes = attrs.copied(op)
    if window is not None:
        attributes.pop("window_reversal", None)
        attributes |= window.attributes()
    if dims is not None:
        attributes["dimension_numbers"] = attrs.convolution_numbers(dims)
    type_ = op.operation.results[0].type if result is None else result
    return build.op(CONVOLUTION, [lhs, rhs], type_, attributes=attributes)


def _is_plain(op: Any) -> bool:
    """Whether a convolution has static shapes, spatial dimensions, and elements."""
    if rank_of(op.lhs) < 3:
        return False
    return 0 not in (*shape_of(op.lhs), *shape_of(op.rhs), *shape_of(op.operation.results[0]))


@pattern(CONVOLUTION, of=("stablehlo.reverse", "stablehlo.reshape"))
def convolution_with_reversed_kernel(op: Any) -> Any:
    """convolution(x, reverse(y)) along spatial dimensions -> convolution(x, y) with a reversed window.

    Exact. Between the two may be a reshape that adds dimensions of size 1.
    """
    if not _is_plain(op):
        return None
    middle = producer(op.rhs, "stablehlo.reshape")
    inner = producer(op.rhs if middle is None else middle.operand, "stablehlo.reverse")
    if inner is None:
        return None
    places = unit_map(shape_of(inner.operand), shape_of(op.rhs))
    flipped = {places.get(d) for d in attrs.ints(inner, "dimensions")} - {None} if places is not None else {None}
    window, spatial = _Window.of(op), attrs.convolution_dimensions(op).rhs_spatial
    flipped -= {d for d in flipped if d is not None and shape_of(op.rhs)[d] == 1}
    if not flipped <= set(spatial):
        return None
    reversal = tuple(int(bool(flip) != (d in flipped)) for d, flip in zip(spatial, window.reversal))
    kernel = inner.operand if middle is None else build.reshape(inner.operand, shape_of(op.rhs))
    return _convolution(op, op.lhs, kernel, dataclasses.replace(window, reversal=reversal))


@pattern(CONVOLUTION)
def convolution_that_is_a_product(op: Any) -> Any:
    """A convolution whose window is one element, or all of the left operand -> dot_general.

    Exact apart from the order of the sums. If features come between batch and pixels, the product is one for each batch
    element, and the kernel is repeated. Measured on a CPU with AVX-512: windows of one element are 1.0 to 1.3 times as
    fast, a window of 7 x 7 x 64 over all of the operand 2.3 times.
    """
    if not _is_plain(op) or any(attrs.integer(op, f"{name}_group_count") != 1 for name in ("feature", "batch")):
        return None
    dims, window = attrs.convolution_dimensions(op), _Window.of(op)
    shape, kernel, result = shape_of(op.lhs), shape_of(op.rhs), op.operation.results[0]
    summed = {dims.lhs_feature: dims.rhs_input}
    pixels = []
    for i, (d, e, out) in enumerate(zip(dims.lhs_spatial, dims.rhs_spatial, dims.out_spatial)):
        if window.padding[i] != (0, 0) or window.lhs_dilation[i] != 1:
            return None
        if kernel[e] == 1 and window.strides[i] == 1:
            pixels.append((d, out))
        elif kernel[e] == shape[d] and (window.rhs_dilation[i] == 1 and not window.reversal[i]):
            summed[d] = e
        else:
            return None
    # Dimensions of the result, in the order of a product's, for operands in either order.
    sizes, rows = shape_of(result), [out for _, out in sorted([*pixels, (dims.lhs_batch, dims.out_batch)])]
    columns = [out for _, out in sorted(pixels)]
    repeats = sizes[dims.out_batch] * size_of(op.rhs) <= size_of(result)
    for form, order in (
        (_ROWS_FIRST, [*rows, dims.out_feature]),
        (_FEATURES_FIRST, [dims.out_feature, *rows]),
        (_BATCHES, [dims.out_batch, dims.out_feature, *columns] if repeats else []),
    ):
        long = [d for d in order if sizes[d] != 1]
        if order and long == sorted(long):
            return _product(op, dims, summed, form)
    return None


# How a convolution is a product: of pixels and kernel; of kernel and pixels; or of kernel and pixels for each image.
_ROWS_FIRST, _FEATURES_FIRST, _BATCHES = range(3)


def _product(op: Any, dims: attrs.ConvolutionDimensions, summed: dict[int, int], form: int) -> Any:
    """The product, where `summed` has the right operand's dimension for each of the left one's that is summed over."""
    result, axes, kernel = op.operation.results[0], sorted(summed), op.rhs
    kept = [d for d in range(rank_of(kernel)) if d == dims.rhs_output or d in summed.values()]
    if len(kept) != rank_of(kernel):
        kernel = build.reshape(kernel, [shape_of(kernel)[d] for d in kept])
    left = Side(op.lhs, (), tuple(axes))
    right = Side(kernel, (), tuple(kept.index(summed[d]) for d in axes))
    if form == _BATCHES:
        shape = (shape_of(op.lhs)[dims.lhs_batch], *shape_of(kernel))
        kernel = build.broadcast_in_dim(kernel, shape, range(1, len(shape)))
        left = left._replace(batch=(dims.lhs_batch,))
        right = Side(kernel, (0,), tuple(d + 1 for d in right.contract))
    attributes = attrs.copied(op)
    precision = {name: attributes[name] for name in ("precision_config",) if name in attributes}
    first, second = (left, right) if form == _ROWS_FIRST else (right, left)
    made = build.dot_general(
        first.value,
        second.value,
        contracting=(first.contract, second.contract),
        batching=(first.batch, second.batch),
        attributes=precision,
        element=result.type.element_type,
    )
    return build.reshape(made, shape_of(result))


PATTERNS = laws_of(globals())
