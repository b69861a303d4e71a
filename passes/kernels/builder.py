"""The evaluation of lazy values: `code.py` writes code, and `record.py` only finds what they read and cost."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from passes.kernels import conversions
from passes.kernels.elements import INT32, INT64, Element
from passes.kernels.instructions import Types
from passes.kernels.linear import ZERO, Linear
from passes.kernels.values import Index, Item, NotVectorsError, Value, View

# Strides between lanes at which vectors are formed from whole ones, by shuffles.
STEPS = (2, 3, 4)
# The context of operations without a location; one object, because elements are evaluated often.
ANYWHERE = contextlib.nullcontext()


class Symbols:
    """The symbols of a kernel's linear forms: the SSA value that each stands for, and its range where that is known."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.ranges: dict[int, tuple[int, int]] = {}

    def new(self, name: str = "", low: int | None = None, high: int | None = None) -> Linear:
        """A symbol for the `index` value of that name."""
        self.names.append(name)
        if low is not None and high is not None:
            if low == high:
                return Linear(low)
            self.ranges[len(self.names) - 1] = (low, high)
        return Linear.of(len(self.names) - 1)

    def bounds(self, form: Linear, width: int = 1) -> tuple[int, int] | None:
        """The range of a form, over all lanes."""
        return form.bounds(self.ranges, width)


class Builder(abc.ABC):
    """The interface that functions of lazy values build operations with.

    Attributes:
      width: lanes of the vectors that are being built.
      halves: whether the processor has conversions from and to float16.
      symbols: shared by all builders of a kernel.
      registers: values whose element is in a register, for any index that they are read at.
    """

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.width = 1
        self.halves = True
        self.registers: dict[Value, Item] = {}
        self._memo: dict[tuple[Value, Index], Item] = {}

    @contextlib.contextmanager
    def lanes(self, width: int) -> Iterator[None]:
        """Build vectors of so many lanes."""
        before, self.width = self.width, width
        try:
            yield
        finally:
            self.width = before

    # Operations that differ between the two builders.

    @abc.abstractmethod
    def op(self, name: str, operands: Sequence[str], types: Types, *details: Any) -> str:
        """An operation with one result, whose name is returned; its parts are those of an `Instruction`."""

    @abc.abstractmethod
    def constant(self, number: Any, element: Element) -> str:
        """A number as a scalar."""

    @abc.abstractmethod
    def load(self, view: View, index: Index) -> Item:
        """An element of memory, or a vector of them."""

    @abc.abstractmethod
    def position(self, form: Linear) -> str:
        """A form without lanes as an SSA value of type `index`."""

    @abc.abstractmethod
    def undecided(
        self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element
    ) -> Item:
        """An element of one of several parts, by the position of a form between bounds, which is not known here."""

    def located(self, location: Any) -> contextlib.AbstractContextManager[None]:
        """Give what is written the location of the user's line."""
        return ANYWHERE

    def repeated(self, key: Any, known: dict[Any, Any], make: Callable[[], list[Item]]) -> list[Item]:
        """The results of a pure function, which is the same for equal keys."""
        return make()

    def called(
        self,
        key: Any,
        known: dict[Any, Any],
        operands: Sequence[tuple[Item, Element]],
        result: Element,
        make: Callable[[Builder, Sequence[Item]], Item],
    ) -> Item:
        """The result of a long pure function of some items, which is the same for equal keys."""
        return self.repeated(key, known, lambda: [make(self, [item for item, _ in operands])])[0]

    # Operations that both builders share.

    def part(self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element) -> Item:
        """The element of one of several parts: of the first if a form is below the first bound, and so on."""
        reach = self.symbols.bounds(form, self.width if form.stride else 1)
        if reach is not None:
            first, last = (sum(bound <= at for bound in bounds) for at in reach)
            if first == last:
                return parts[first]()
        return self.undecided(form, bounds, parts, element)

    def where(self, form: Linear, position: int, inside: Item, outside: Item, element: Element) -> Item:
        """`inside` where a form equals a position, else `outside`; both must be computable for any index."""
        reach = self.symbols.bounds(form, self.width if form.stride else 1)
        if reach is not None and (reach == (position, position) or not reach[0] <= position <= reach[1]):
            return inside if reach == (position, position) else outside
        if not form.stride or self.width == 1:
            test = self.op("arith.cmpi", (self.position(form), self.position(Linear(position))), "index", "eq")
            names, is_vector = self.unify([inside, outside], [element] * 2)
            type_ = self.type(element, is_vector)
            return Item(self.op("arith.select", (test, names[0], names[1]), type_), is_vector)
        found = self.numbers(form, INT32).name
        test = self.op("arith.cmpi", (found, self.full(position, INT32, True)), INT32.of(self.width), "eq")
        names = [self.vector(item, element) for item in (inside, outside)]
        return Item(conversions.select(self, test, names[0], names[1], element, True), True)

    def get(self, value: Value, index: Index) -> Item:
        """An element of a value, or a vector of them if the index has lanes."""
        if value.splat is not None:
            return Item(self.constant(value.splat, value.element))
        if value.scalar is not None:
            return Item(value.scalar)
        if value.linear is not None:
            return Item(self.number(value.linear, value.element))
        if value in self.registers:
            return self.registers[value]
        index = value.normalized(index)
        key = (value, index)
        found = self._memo.get(key)
        if found is None and value.view is not None:
            return self.load(value.view, index)
        if found is None:
            assert value.function is not None, "a value is a constant, in memory, or a function"
            with self.located(value.location):
                found = self._memo[key] = value.function(self, index)
        return found

    def remember(self, value: Value, index: Index, item: Item) -> None:
        """Keep an element until `forget`."""
        self._memo[value, value.normalized(index)] = item

    def forget(self) -> None:
        """Drop all remembered elements, before another index is evaluated."""
        self._memo = {}

    def vector(self, item: Item, element: Element) -> str:
        """An item as a vector."""
        if item.is_vector or self.width == 1:
            return item.name
        if element.parts > 1:
            order = [*range(element.parts)] * self.width
            return self.op("vector.shuffle", (item.name, item.name), element.text, *order)
        return self.op("vector.broadcast", (item.name,), (element.text, element.of(self.width)))

    def unify(self, items: Sequence[Item], elements: Sequence[Element]) -> tuple[list[str], bool]:
        """Items as scalars, or all as vectors if one of them is a vector."""
        if not any(item.is_vector for item in items):
            return [item.name for item in items], False
        return [self.vector(item, element) for item, element in zip(items, elements)], True

    def type(self, element: Element, is_vector: bool) -> str:
        """The type of an item."""
        return element.of(self.width) if is_vector else element.text

    def memory(self, element: Element, is_vector: bool) -> str:
        """The type of an item as it is loaded and stored."""
        return element.memory(self.width if is_vector else 1)

    def full(self, number: Any, element: Element, is_vector: bool) -> str:
        """A number as an item."""
        scalar = Item(self.constant(number, element))
        return self.vector(scalar, element) if is_vector else scalar.name

    def number(self, form: Linear, element: Element) -> str:
        """A form without lanes as a number of an element type."""
        if form.is_constant:
            return self.constant(form.constant, element)
        name = self.position(form)
        if element.is_float or element.parts > 1:
            wide = self.op("arith.index_cast", (name,), ("index", "i64"))
            return conversions.converted(self, wide, INT64, element, False)
        return self.op("arith.index_cast", (name,), ("index", element.text))

    def numbers(self, form: Linear, element: Element) -> Item:
        """A form as a number of an element type, in each lane if it has lanes."""
        first = Item(self.number(Linear(form.constant, form.terms), element))
        if not form.stride:
            return first
        steps = [self.constant(form.stride * lane, element) for lane in range(self.width)]
        base, offsets = self.vector(first, element), self.from_elements(steps, element.text)
        add = "arith.addf" if element.is_float else "arith.addi"
        return Item(self.op(add, (base, offsets.name), element.of(self.width)), True)

    def known(self, item: Item) -> Any:
        """The number that an item is, if that is known; else None."""
        return None

    def index_of(self, item: Item, element: Element, low: int = 0, high: int | None = None) -> Linear:
        """A scalar of an integer type as a symbol, clamped to a range if one is given."""
        unsigned = "ui" if element.kind in "ub" else ""
        name = self.op(f"arith.index_cast{unsigned}", (item.name,), (element.text, "index"))
        if high is None:
            return self.symbols.new(name)
        if high <= low:
            return Linear(low)
        if not unsigned or element.bits == 64:
            name = self.op("arith.maxsi", (name, self.position(Linear(low))), "index")
        name = self.op("arith.minsi", (name, self.position(Linear(high))), "index")
        return self.symbols.new(name, low, high)

    def lane_by_lane(self, value: Value, index: Index) -> Item:
        """A vector of elements that are computed one after the other."""
        parts = [self.get(value, tuple(i.at_lane(j) for i in index)).name for j in range(self.width)]
        return self.from_elements(parts, value.element.text)

    def at_lane(self, item: Item, element: Element, lane: int) -> Item:
        """One element of a vector."""
        if not item.is_vector:
            return item
        return Item(self.op("vector.extract", (item.name,), (element.text, element.of(self.width)), lane))

    @abc.abstractmethod
    def note_gather(self, index: Index) -> None:
        """Note that a vector is gathered from elements at unrelated addresses."""

    def from_elements(self, parts: Sequence[str], type_: str) -> Item:
        """A vector of elements of one type; complex elements are pairs."""
        if not type_.startswith("vector"):
            return Item(self.op("vector.from_elements", parts, f"vector<{len(parts)}x{type_}>"), True)
        names, number, size = list(parts), type_.partition("x")[2].rstrip(">"), 2
        while len(names) > 1:
            order, type_ = [*range(2 * size)], f"vector<{size}x{number}>"
            names = [self.op("vector.shuffle", (a, b), type_, *order) for a, b in zip(names[::2], names[1::2])]
            size *= 2
        return Item(names[0], True)

    def divided(self, form: Linear, size: int) -> tuple[Linear, Linear]:
        """Quotient and remainder of a nonnegative form."""
        if size == 1:
            return form, ZERO
        whole = tuple((s, c // size) for s, c in form.terms if c % size == 0)
        undivided = tuple((s, c) for s, c in form.terms if c % size)
        stride = form.stride // size if form.stride % size == 0 else 0
        quotient = Linear(form.constant // size, whole, stride)
        remainder = Linear(form.constant % size, undivided, form.stride - stride * size)
        bounds = self.symbols.bounds(remainder, self.width)
        if bounds is not None and bounds[0] >= 0 and bounds[1] < size:
            return quotient, remainder
        if form.stride:
            raise NotVectorsError
        # Otherwise the form is divided when the program runs.
        bounds = self.symbols.bounds(form)
        high = None if bounds is None else bounds[1] // size
        name, by = self.position(form), self.position(Linear(size))
        upper = self.op("arith.divui", (name, by), "index")
        lower = self.op("arith.remui", (name, by), "index")
        return self.symbols.new(upper, 0, high), self.symbols.new(lower, 0, size - 1)
