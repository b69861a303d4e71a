"""Rules for operations that move elements, and for those whose shapes are operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import printed
from passes.errors import InterpretError
from passes.numeric.interpreter import evaluate
from stagec import lax
from stagec.core import dtypes
from stagec.foreign.site import Site, Value, rule

# Constants of more elements are no shapes, so they need not be known while tracing.
_SMALL = 64


@rule("constant", "chlo.constant")
def _constant(site: Site) -> Value:
    dtype, shape = site.dtype(), site.shape()  # refuses types that stagec does not have
    if math.prod(shape) > _SMALL:
        kind, inside = printed.constant(site.op.get_asm(large_elements_limit=8))
        if kind == "dense" and inside[:1] not in ("", "[", '"'):
            # One number may fill an array larger than the memory.
            return lax.full(shape, printed.dense(f"dense<{inside}> : tensor<", dtype, ()), dtype)
    try:
        return evaluate(site.op, [])[0]
    except InterpretError:
        kind, inside = printed.constant(site.op.get_asm())
        if kind != "dense_resource":
            raise
    blob = site.resource(inside)
    if 8 * len(blob) != dtypes.itemsize_bits(dtype) * math.prod(shape):
        raise site.refusal(
            f"has elements in {kind}<{inside}>, which the module holds {len(blob)} bytes of",
            "print the module with all elements of its constants, as dense<...>",
        )
    # A byte is a boolean, and may be any number.
    return np.frombuffer(blob, np.uint8 if dtypes.is_bool(dtype) else dtype).astype(dtype).reshape(shape)


# The dynamic form of an operation has what the other one reads from its type or attributes as a further operand.


@rule("iota", "dynamic_iota")
def _iota(site: Site, shape: Value = None) -> Value:
    return lax.broadcasted_iota(site.dtype(), site.sizes(shape), site.integer("iota_dimension"))


@rule("reshape", "dynamic_reshape", "chlo.dynamic_reshape")
def _reshape(site: Site, x: Value, shape: Value = None) -> Value:
    return lax.reshape(x, site.sizes(shape))


@rule("broadcast_in_dim", "dynamic_broadcast_in_dim")
def _broadcast_in_dim(site: Site, x: Value, shape: Value = None) -> Value:
    return lax.broadcast_in_dim(x, site.sizes(shape), site.ints("broadcast_dimensions"))


@rule("broadcast")
def _broadcast(site: Site, x: Value) -> Value:
    return lax.broadcast(x, site.ints("broadcast_sizes"))


@rule("transpose")
def _transpose(site: Site, x: Value) -> Value:
    return lax.transpose(x, site.ints("permutation"))


@rule("reverse")
def _reverse(site: Site, x: Value) -> Value:
    return lax.rev(x, site.ints("dimensions"))


@rule("concatenate")
def _concatenate(site: Site, *parts: Value) -> Value:
    return lax.concatenate(parts, site.integer("dimension"))


@rule("slice")
def _slice(site: Site, x: Value) -> Value:
    return lax.slice(x, site.ints("start_indices"), site.ints("limit_indices"), site.ints("strides"))


@rule("real_dynamic_slice")
def _real_dynamic_slice(site: Site, x: Value, starts: Value, limits: Value, strides: Value) -> Value:
    strides = site.numbers(strides, "strides")
    if all(isinstance(v, np.ndarray) for v in (starts, limits)):
        return lax.slice(x, site.numbers(starts, "starts"), site.numbers(limits, "limits"), strides)
    # Only the lengths have to be known.
    lengths = _lengths(site, strides)
    sizes = [(length - 1) * step + 1 if length else 0 for length, step in zip(lengths, strides)]
    parts = [lax.index_in_dim(starts, i, keepdims=False) for i in range(len(sizes))]
    part = lax.dynamic_slice(x, [_not_negative(s) for s in parts], sizes, allow_negative_indices=False)
    return lax.slice(part, [0] * len(sizes), sizes, strides)


def _lengths(site: Site, strides: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of a slice of unknown starts: those of the result's type, or what is added to the starts."""
    _, starts, limits, _ = site.op.operands
    terms = list(limits.owner.operands) if getattr(limits.owner, "name", "") == "stablehlo.add" else []
    added = [term for term in terms if term != starts]
    if site.is_static() or len(terms) == 0 or len(added) != 1:
        return site.shape()
    sizes = site.numbers(site.operand(added[0]), "sizes")
    return tuple(-(-size // step) for size, step in zip(sizes, strides))


@rule("pad", "dynamic_pad")
def _pad(site: Site, x: Value, value: Value, *given: Value) -> Value:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    parts = [site.numbers(v, "padding") for v in given] or list(map(site.ints, names))
    return lax.pad(x, value, list(zip(*parts)))


@rule("dynamic_slice")
def _dynamic_slice(site: Site, x: Value, *starts: Value) -> Value:
    return lax.dynamic_slice(
        x, [_not_negative(s) for s in starts], site.ints("slice_sizes"), allow_negative_indices=False
    )


@rule("dynamic_update_slice")
def _dynamic_update_slice(site: Site, x: Value, update: Value, *starts: Value) -> Value:
    return lax.dynamic_update_slice(x, update, [_not_negative(s) for s in starts], allow_negative_indices=False)


def _not_negative(start: Value) -> Value:
    """The start of a slice, clamped to 0 as StableHLO does; negative indices would count from the end."""
    return start if start.dtype.kind == "u" else lax.max(start, np.zeros((), start.dtype))


@rule("get_dimension_size")
def _get_dimension_size(site: Site, x: Value) -> Value:
    return np.asarray(x.shape[site.integer("dimension")], np.int32)


@rule("set_dimension_size")
def _set_dimension_size(site: Site, x: Value, size: Value) -> Value:
    axis = site.integer("dimension")
    length = int(site.known(size, "size"))
    if not 0 <= length <= x.shape[axis]:
        what = f"sets axis {axis} of length {x.shape[axis]} to {length}"
        raise site.refusal(what, "set a length within the bounds of the dimension")
    return lax.slice_in_dim(x, 0, length, axis=axis)


@rule("tuple")
def _tuple(site: Site, *values: Value) -> tuple[Any, ...]:
    return tuple(values)


@rule("get_tuple_element")
def _get_tuple_element(site: Site, values: tuple[Any, ...]) -> Value:
    return values[site.integer("index")]
