"""What can hold for every element of an array: bounds, and whether NaN, -0.0 or fractions can be among them."""

from __future__ import annotations

import dataclasses
import functools
import math

FLOATS = ("f16", "bf16", "f32", "f64")


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What holds for every element.

    Attributes:
      low: a lower bound of the numbers.
      high: an upper bound of the numbers.
      nan: whether NaN can be among them.
      minus_zero: whether -0.0 can be among them.
      whole: whether each is an integer, infinite, or NaN.
    """

    low: float
    high: float
    nan: bool = False
    minus_zero: bool = False
    whole: bool = True

    @property
    def finite(self) -> bool:
        """Whether each is a finite number."""
        return not self.nan and self.low > -math.inf and self.high < math.inf

    @property
    def nonnegative(self) -> bool:
        """Whether the sign bit of each number is clear."""
        return self.low >= 0 and not self.minus_zero

    @property
    def zero(self) -> bool:
        """Whether zero can be among them."""
        return self.low <= 0 <= self.high

    @property
    def size(self) -> float:
        """An upper bound of the absolute values of the numbers."""
        return max(abs(self.low), abs(self.high))

    def within(self, low: float, high: float) -> bool:
        """Whether all are numbers between two bounds."""
        return not self.nan and low <= self.low and self.high <= high

    def __or__(self, other: Facts) -> Facts:
        """What holds for every element of either."""
        return Facts(
            min(self.low, other.low),
            max(self.high, other.high),
            self.nan or other.nan,
            self.minus_zero or other.minus_zero,
            self.whole and other.whole,
        )


@functools.cache
def of_type(element: str) -> Facts | None:
    """What holds for every value of an element type, by its name in MLIR; None for complex numbers and narrow floats.

    >>> of_type("ui8")
    Facts(low=0, high=255, nan=False, minus_zero=False, whole=True)
    """
    if element == "i1":
        return Facts(0, 1)
    if element in FLOATS:
        return Facts(-math.inf, math.inf, True, True, False)
    if element.startswith("ui"):
        return Facts(0, 2 ** int(element[2:]) - 1)
    if element.startswith("i") and element != "index":
        half = 2 ** (int(element[1:]) - 1)
        return Facts(-half, half - 1)
    return None
