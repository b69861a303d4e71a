"""What is known of one operation of StableHLO or CHLO, as a record."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Callable
from typing import Any


class Cost(enum.IntEnum):
    """What it takes to compute one element."""

    FREE = 0
    """No code of its own: elements are only moved, or not even that."""
    CHEAP = 1
    """One instruction: as cheap to compute again as to read."""
    MODERATE = 2
    """A few instructions."""
    COSTLY = 3
    """A division, a root, or a function that takes dozens of instructions."""


class Precision(enum.Enum):
    """How exactly the result of an operation on floats is defined."""

    EXACT = "the result is representable in the operands' type: nothing is rounded"
    ROUNDED = "the result is rounded once, as IEEE 754 defines it"
    OPEN = "targets differ in the last digits"


class Memory(enum.Enum):
    """Which memory a result may occupy, besides new memory; `Operation.sources` names the operands."""

    NEW = "new memory, whatever the compiler folds: no operand makes the operation the identity"
    FOLDED = "an operand's memory if the operation turns out to be the identity, such as x + 0"
    SAME = "the memory of the operand with the same index, byte for byte"
    VIEW = "an operand's memory, all of it, with another shape, order of axes or type"
    PART = "a part of an operand's memory"
    UPDATED = "an operand's memory, in which elements have been replaced"


class Regions(enum.Enum):
    """What the regions of an operation are."""

    NONE = "there are none"
    ELEMENTS = "functions of scalars, applied to elements within one kernel"
    CONDITIONAL = "branches, one of which runs"
    LOOP = "the condition and the body of a loop"


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
      name: the full name, such as `"stablehlo.add"`.
      operands: the operands' names, separated by spaces, `*name` for a variable number; None if the views of the
        operation are MLIR's own.
      elementwise: whether each element of the result follows from the same element of the operands (or from an
        operand that is one number), and no other.
      retypes: whether, of an elementwise operation, the result may have another type than the first operand.
      numpy: the result as a function of the operands' arrays; None if it depends on attributes or regions, too.
      ufunc: the NumPy function that combines integers in a reduction.
      cost: what it takes to compute one element.
      precision: how exactly the result is defined for real numbers.
      by_parts: whether the parts of a complex result follow from the parts of the operands without a product.
      commutative: whether the two operands can be exchanged.
      associative: whether operands can be grouped in another way; if it rounds, only integers.
      idempotent: whether the result of equal operands is the operand.
      dual: the operation g with f(x, g(x, y)) = x and g(x, f(x, y)) = x, over which it distributes.
      even: whether f(-x) is f(x).
      odd: whether f(-x) is -f(x), for a function that costs more than the negation.
      monotone: 1 if a greater number never has a smaller result, -1 if it never has a greater one, else 0. Integers
        may wrap, and results in which targets differ may be in another order.
      domain: the bounds of the numbers whose result is not NaN.
      inverse: the function that it inverts, up to rounding, and within that function's domain.
      chooses: whether each element of the result is one of an operand's elements, bit for bit.
      integral: whether results are whole numbers.
      modular: whether each bit of an integer result depends only on that bit and lower ones of the operands. Then
        signed and unsigned integers have the same bits, and a narrow type computes the low bits of a wide one.
      partial: whether some integers have no defined result, so that targets differ, as on division by zero.
      random: whether equal operands may give different results.
      of_booleans: the logical operation that it is on booleans.
      host: the element types for which the host program of a compiled module computes it on scalars.
      memory: which memory a result may occupy.
      sources: the names of the operands whose memory it may share; empty for all of them.
      written: the names of the operands in whose memory the compiler computes the results.
      indices: the names of the operands that say which elements it reads or writes.
      layout: whether it only splits, merges, adds or exchanges axes: no element is dropped or computed.
      moves: whether it takes elements from other indices and computes none.
      joins: whether each element comes from one of several operands, depending on its index.
      repeats: whether it reads elements of an operand several times.
      may_be_empty: whether results of static shape may have no elements although all operands have some.
      regions: what its regions are.
      effects: whether it may do more than compute its results, so that its order among others with effects is kept.
    """

    name: str
    operands: str | None = ""
    elementwise: bool = False
    retypes: bool = False
    numpy: Callable[..., Any] | None = None
    ufunc: Any = None
    cost: Cost = Cost.MODERATE
    precision: Precision = Precision.OPEN
    by_parts: bool = False
    commutative: bool = False
    associative: bool = False
    idempotent: bool = False
    dual: str = ""
    even: bool = False
    odd: bool = False
    monotone: int = 0
    domain: tuple[float, float] = (-math.inf, math.inf)
    inverse: str = ""
    chooses: bool = False
    integral: bool = False
    modular: bool = False
    partial: bool = False
    random: bool = False
    of_booleans: str = ""
    host: tuple[str, ...] = ()
    memory: Memory = Memory.FOLDED
    sources: str = ""
    written: str = ""
    indices: str = ""
    layout: bool = False
    moves: bool = False
    joins: bool = False
    repeats: bool = False
    may_be_empty: bool = False
    regions: Regions = Regions.NONE
    effects: bool = False

    @property
    def dialect(self) -> str:
        """`"stablehlo"` or `"chlo"`."""
        return self.name.partition(".")[0]

    @property
    def short(self) -> str:
        """The name without the dialect."""
        return self.name.partition(".")[2]

    @property
    def is_control(self) -> bool:
        """Whether its regions run on the host, one operation after the other."""
        return self.regions in (Regions.CONDITIONAL, Regions.LOOP)

    @property
    def reduces(self) -> bool:
        """Whether it combines elements of some arrays, beginning with initial values."""
        return "*init_values" in (self.operands or "").split()

    @property
    def is_view(self) -> bool:
        """Whether a result may be memory of an operand even if nothing is folded."""
        return self.memory not in (Memory.NEW, Memory.FOLDED)

    def positions(self, names: str, count: int) -> list[int]:
        """The positions of the operands of these names, where there are `count` operands.

        >>> scatter = Operation("stablehlo.scatter", "*inputs scatter_indices *updates")
        >>> scatter.positions("inputs", 5), scatter.positions("scatter_indices updates", 5)
        ([0, 1], [2, 3, 4])
        """
        groups = _groups(self.operands or "", count)
        return [position for name in names.split() for position in groups[name]]


@functools.cache
def _groups(operands: str, count: int) -> dict[str, range]:
    """The positions that belong to each name; all names with a star have equally many operands."""
    words = operands.split()
    stars = sum(word.startswith("*") for word in words)
    each = (count - len(words) + stars) // stars if stars else 0
    found, start = {}, 0
    for word in words:
        size = each if word.startswith("*") else 1
        found[word.lstrip("*")] = range(start, start + size)
        start += size
    return found
