"""What an element of a lazy value reads and costs, found by evaluating it without writing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from passes.kernels.builder import STEPS, Builder, Symbols
from passes.kernels.elements import Element
from passes.kernels.instructions import Types
from passes.kernels.linear import Linear
from passes.kernels.values import Buffer, Index, Item, NotVectorsError, Value, View

# The name of values that are not computed.
NOWHERE = "%_"
# The cost of operations, in additions.
_COSTLY = {
    **dict.fromkeys(("arith.divf", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "math.sqrt"), 8),
    **dict.fromkeys(("math.exp", "math.log", "math.log1p", "math.expm1", "math.tanh", "math.rsqrt"), 20),
    **dict.fromkeys(("math.sin", "math.cos", "math.powf", "arith.remf", "math.cbrt", "math.atan2"), 40),
}


class Read(NamedTuple):
    """An address in a buffer that is read, and the values that are computed from it, the innermost last."""

    buffer: Buffer
    address: Linear
    path: tuple[Value, ...]


class Recorder(Builder):
    """Evaluates a value without writing code, to find what it reads and costs.

    Attributes:
      reads: the addresses that are read, by buffer.
      cost: about how many additions it takes; a load counts as one.
      length: how many operations are written; a call of a procedure counts as one.
      gathers: how many of the loads are gathered lane by lane.
      forms: the addresses, and the forms that were divided to find them: axes may be collapsed only if all of these
        keep their values.
      fixed: the symbols whose values are used as numbers, or divided.
      undecided_parts: how many elements come from a part that the range of the index does not determine.
      visited: the values that have been evaluated.
      has_computed: whether elements that are read decide which others are.
      in_order: whether operands were evaluated from the first to the last one, which the order of reads shows.
      cuts: where the range of a symbol must be cut, so that each piece reads one part of a joined array.
    """

    def __init__(self, symbols: Symbols, width: int = 1) -> None:
        super().__init__(symbols)
        self.width = width
        self.reads: list[Read] = []
        self.forms: list[Linear] = []
        self._path: list[Value] = []
        self.cost = self.length = 0
        self.gathers = 0
        self.fixed: set[int] = set()
        self.cuts: dict[int, set[int]] = {}
        self.undecided_parts = 0
        self.has_computed = False
        self.in_order = True
        self.visited: set[Value] = set()

    def copy(self) -> Recorder:
        """A recorder that has evaluated the same values, and goes on by itself."""
        made = Recorder(self.symbols, self.width)
        made.cost, made.length = self.cost, self.length
        made.gathers, made.undecided_parts = self.gathers, self.undecided_parts
        made.has_computed, made.in_order = self.has_computed, self.in_order
        made.reads, made.forms, made.fixed = list(self.reads), list(self.forms), set(self.fixed)
        made.cuts = {symbol: set(ends) for symbol, ends in self.cuts.items()}
        made.visited, made._memo = set(self.visited), dict(self._memo)
        return made

    def op(self, name: str, operands: Sequence[str], types: Types, *details: Any) -> str:
        """Count the cost of an operation."""
        self.cost += _COSTLY.get(name, 1)
        self.length += 1
        return NOWHERE

    def constant(self, number: Any, element: Element) -> str:
        """Return a name: constants cost nothing."""
        return NOWHERE

    def get(self, value: Value, index: Index) -> Item:
        """Record which values are evaluated on the path to a read."""
        self.visited.add(value)
        self._path.append(value)
        try:
            return super().get(value, index)
        finally:
            self._path.pop()

    def repeated(self, key: Any, known: dict[Any, Any], make: Callable[[], list[Item]]) -> list[Item]:
        """Evaluate once, and count the cost each time."""
        if key not in known:
            cost, length, items = self.cost, self.length, make()
            known[key] = self.cost - cost, self.length - length, items
        else:
            cost, length, items = known[key]
            self.cost, self.length = self.cost + cost, self.length + length
        return items

    def called(
        self,
        key: Any,
        known: dict[Any, Any],
        operands: Sequence[tuple[Item, Element]],
        result: Element,
        make: Callable[[Builder, Sequence[Item]], Item],
    ) -> Item:
        """Count the cost, and one operation."""
        length = self.length
        item = super().called(key, known, operands, result, make)
        self.length = length + 1
        return item

    def load(self, view: View, index: Index) -> Item:
        """Record the address."""
        address = view.address(index)
        self.reads.append(Read(view.buffer, address, tuple(self._path)))
        self.forms.append(address)
        self.cost += 1
        self.length += 1
        step = abs(address.stride)
        if step in STEPS and step <= self.width:
            self.cost += 2 * step
        elif address.stride not in (0, 1, -1):
            self.gathers += 1
            self.cost += self.width
        return Item(NOWHERE, bool(address.stride))

    def index_of(self, item: Item, element: Element, low: int = 0, high: int | None = None) -> Linear:
        """Record that an element is an index."""
        self.has_computed = True
        return super().index_of(item, element, low, high)

    def is_contiguous(self, symbol: int) -> bool:
        """Whether vectors along an axis are known to be whole ones in memory, or to be formed of such."""
        if self.fixed or self.has_computed or len(self.forms) > len(self.reads):
            return False
        return all(abs(read.address.coefficient(symbol)) in (0, 1, *STEPS) for read in self.reads)

    def position(self, form: Linear) -> str:
        """Record the symbols: their values matter, not only the addresses computed from them."""
        self.fixed.update(symbol for symbol, _ in form.terms)
        return NOWHERE

    def divided(self, form: Linear, size: int) -> tuple[Linear, Linear]:
        """Record the form: its symbols' ranges determine which of them the quotient has, and which the remainder."""
        self.forms.append(form)
        return super().divided(form, size)

    def part(self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element) -> Item:
        """Record the symbols, whose ranges may determine the part."""
        self.fixed.update(symbol for symbol, _ in form.terms)
        return super().part(form, bounds, parts, element)

    def undecided(
        self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element
    ) -> Item:
        """Record where to cut, and what all parts read."""
        if len(form.terms) == 1 and abs(form.terms[0][1]) == 1:
            symbol, sign = form.terms[0]
            ends = [bound - form.constant if sign > 0 else form.constant - bound + 1 for bound in bounds]
            self.cuts.setdefault(symbol, set()).update(ends)
        elif self.width > 1:
            raise NotVectorsError
        self.undecided_parts += 1
        self.fixed.update(symbol for symbol, _ in form.terms)
        items, most, before = [], (0, 0), (self.cost, self.length)
        for part in parts:
            self.cost, self.length = before
            items.append(part())
            most = max(most[0], self.cost), max(most[1], self.length)
        self.cost, self.length = most
        return Item(NOWHERE, any(item.is_vector for item in items))

    def lane_by_lane(self, value: Value, index: Index) -> Item:
        """Count one lane for all."""
        before = self.cost
        self.get(value, tuple(Linear(i.constant, i.terms) for i in index))
        self.cost += (self.cost - before) * (self.width - 1)
        self.note_gather(index)
        return Item(NOWHERE, True)

    def note_gather(self, index: Index) -> None:
        """Count a gather, and record the symbols."""
        self.gathers += 1
        for i in index:
            if i.stride:
                self.fixed.update(symbol for symbol, _ in i.terms)
