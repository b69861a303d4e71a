"""The precision of products and functions, by JAX's names."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from stagec.core import dtypes, location
from stagec.core.config import config
from stagec.core.precisions import PRECISIONS

__all__ = ["AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike", "Tolerance"]


class Precision(enum.Enum):
    """The precision of products, on hardware that offers several; JAX's names."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __str__(self) -> str:
        return self.name


class DotAlgorithmPreset(enum.Enum):
    """The rounding that a product may have: the types of operands and sums, and the number of products for one.

    Results may be more exact: a preset is a lower bound of the precision.
    """

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15


class DotAlgorithm(NamedTuple):
    """The rounding that a product may have, in detail; like a preset, a lower bound of the precision.

    Args:
      lhs_precision_type, rhs_precision_type, accumulation_type: dtypes of the operands and of their sum.
      lhs_component_count, rhs_component_count, num_primitive_operations: how many products stand for one.
      allow_imprecise_accumulation: whether hardware may sum less exactly.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


# What `precision=` of products may be.
PrecisionLike = (
    str | Precision | DotAlgorithm | DotAlgorithmPreset | tuple[str, str] | tuple[Precision, Precision] | None
)


class AccuracyMode(enum.Enum):
    """The precision of a function; accepted, since stagec has one implementation of each."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """The error that a function may have."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


# What `accuracy=` of functions may be.
Accuracy = AccuracyMode | Tolerance | None


def canonical_precision(precision: Any) -> str | None:
    """One of `None`, `"high"` and `"highest"`, from JAX's names, enums, or a pair of them."""
    if precision is None:
        precision = config.default_matmul_precision
    if isinstance(precision, DotAlgorithm):
        kinds = [dtypes.canonicalize(precision.lhs_precision_type), dtypes.canonicalize(precision.rhs_precision_type)]
        if any(kind.itemsize >= 4 for kind in kinds):
            return "highest"
        return "high" if precision.num_primitive_operations > 1 else None
    if isinstance(precision, (tuple, list)):
        precision = precision[0] if precision else None
    text = getattr(precision, "name", precision)
    text = text.lower() if isinstance(text, str) else text
    try:
        return None if text is None else PRECISIONS[text]
    except (KeyError, TypeError):
        raise location.error(
            ValueError,
            f"unknown precision {precision!r}",
            fix="use 'default', 'high', 'highest', or a member of stagec.lax.Precision",
        ) from None


def check_accuracy(name: str, accuracy: Any) -> None:
    """Raise unless `accuracy` is None, a mode or a tolerance; it does not affect the result."""
    if accuracy is not None and not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise location.error(
            ValueError,
            f"{name}: accuracy={accuracy!r}",
            fix="use a member of stagec.lax.AccuracyMode, or a stagec.lax.Tolerance",
        )
