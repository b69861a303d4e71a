"""Attributes of StableHLO ops as plain Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from passes import printed
from passes.match import remembered

Read = TypeVar("Read")


def copied(op: Any) -> dict[str, Any]:
    """All attributes of an op, by name, to be given to another op."""
    return dict(op.operation.attributes.items())


def ints(op: Any, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
    """An array attribute, `array<i64: ...>` or dense, as a flat tuple."""
    attributes = op.operation.attributes
    if name not in attributes:
        return default
    return tuple(map(int, attributes[name]))


def integer(op: Any, name: str) -> int:
    """An integer attribute."""
    return int(op.operation.attributes[name].value)


def boolean(op: Any, name: str, default: bool = False) -> bool:
    """A boolean attribute."""
    attributes = op.operation.attributes
    return bool(attributes[name].value) if name in attributes else default


def text(op: Any, name: str, default: str = "") -> str:
    """A string attribute."""
    attributes = op.operation.attributes
    return str(attributes[name].value) if name in attributes else default


def word(op: Any, name: str, default: str = "") -> str:
    """The case of an enumeration attribute: `LT` for `#stablehlo<comparison_direction LT>`."""
    attributes = op.operation.attributes
    return _once(attributes[name], printed.enumeration) if name in attributes else default


def _once(attribute: Any, read: Callable[[Any], Read]) -> Read:
    """What `read` makes of an attribute's text, once in an `attributes_read_once` block: printing takes 14 us."""
    known = remembered.numbers
    if known is None:
        return read(attribute)
    if attribute not in known:
        known[attribute] = read(attribute)
    found: Read = known[attribute]
    return found


def pairs(op: Any, name: str, rank: int) -> list[tuple[int, int]]:
    """A dense `rank x 2` attribute, such as padding, as pairs; zeros when absent."""
    attributes = op.operation.attributes
    if name not in attributes:
        return [(0, 0)] * rank
    return [(int(low), int(high)) for low, high in np.asarray(attributes[name]).reshape(-1, 2)]


def dimension_numbers(op: Any, name: str) -> dict[str, Any]:
    """The fields of `#stablehlo.dot<...>`, `gather<...>` or `scatter<...>`; absent fields have no key.

    Lists are returned as tuples, and numbers as ints.
    """
    return _once(op.operation.attributes[name], printed.dimension_numbers)


class Cut(NamedTuple):
    """The bounds of a `stablehlo.slice` along each dimension."""

    starts: tuple[int, ...]
    limits: tuple[int, ...]
    strides: tuple[int, ...]


def cut(op: Any) -> Cut:
    """The bounds of a `stablehlo.slice`."""
    return Cut(ints(op, "start_indices"), ints(op, "limit_indices"), ints(op, "strides"))


class Padding(NamedTuple):
    """What a `stablehlo.pad` adds before, after and between the elements of each dimension."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]


def padding(op: Any) -> Padding:
    """The amounts of a `stablehlo.pad`."""
    return Padding(ints(op, "edge_padding_low"), ints(op, "edge_padding_high"), ints(op, "interior_padding"))


# The direction of a `stablehlo.compare` with its operands exchanged, and that of its negation.
EXCHANGED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}


def sort_dimension(op: Any) -> int:
    """The dimension along which a `stablehlo.sort` sorts."""
    given = integer(op, "dimension") if "dimension" in op.operation.attributes else -1
    return given % len(op.operation.operands[0].type.shape)


class DotDimensions(NamedTuple):
    """Batch and contracting dimensions of the two sides of a product."""

    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]


def dot_dimensions(op: Any) -> DotDimensions:
    """The dimension numbers of a `stablehlo.dot_general`."""
    fields = dimension_numbers(op, "dot_dimension_numbers")
    return DotDimensions(
        fields.get("lhs_batching_dimensions", ()),
        fields.get("rhs_batching_dimensions", ()),
        fields.get("lhs_contracting_dimensions", ()),
        fields.get("rhs_contracting_dimensions", ()),
    )


class ConvolutionDimensions(NamedTuple):
    """Where batch, feature and spatial dimensions lie in the operands and the result."""

    lhs_batch: int
    lhs_feature: int
    lhs_spatial: tuple[int, ...]
    rhs_input: int
    rhs_output: int
    rhs_spatial: tuple[int, ...]
    out_batch: int
    out_feature: int
    out_spatial: tuple[int, ...]


def convolution_dimensions(op: Any) -> ConvolutionDimensions:
    """The dimension numbers of a `stablehlo.convolution`."""
    lhs, rhs, out = _once(op.operation.attributes["dimension_numbers"], printed.convolution)

    def spatial(items: list[str]) -> tuple[int, ...]:
        return tuple(items.index(str(i)) for i in range(len(items) - 2))

    return ConvolutionDimensions(
        lhs.index("b"),
        lhs.index("f"),
        spatial(lhs),
        rhs.index("i"),
        rhs.index("o"),
        spatial(rhs),
        out.index("b"),
        out.index("f"),
        spatial(out),
    )


def convolution_numbers(dims: ConvolutionDimensions) -> str:
    """The text of the attribute that `convolution_dimensions` reads."""

    def layout(places: dict[int, str], spatial: tuple[int, ...]) -> str:
        found = places | {d: str(i) for i, d in enumerate(spatial)}
        return f"[{', '.join(found[d] for d in range(len(found)))}]"

    lhs = layout({dims.lhs_batch: "b", dims.lhs_feature: "f"}, dims.lhs_spatial)
    rhs = layout({dims.rhs_input: "i", dims.rhs_output: "o"}, dims.rhs_spatial)
    out = layout({dims.out_batch: "b", dims.out_feature: "f"}, dims.out_spatial)
    return f"#stablehlo.conv<{lhs}x{rhs}->{out}>"
