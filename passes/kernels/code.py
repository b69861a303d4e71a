"""The builder that writes values as the text of a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from passes.kernels import conversions, rare
from passes.kernels.builder import ANYWHERE, STEPS, Builder, Symbols
from passes.kernels.elements import Element
from passes.kernels.instructions import Procedure, Types
from passes.kernels.linear import Linear
from passes.kernels.squares import transposed
from passes.kernels.values import Buffer, Index, Item, NotVectorsError, View
from passes.kernels.writer import Writer, spelled_float


class Code(Builder):
    """Evaluates values into the text of a kernel."""

    def __init__(self, symbols: Symbols, writer: Writer) -> None:
        super().__init__(symbols)
        self.writer = writer
        self._positions: list[dict[Linear, str]] = [{}]
        self._splats: dict[str, tuple[Any, Element]] = {}
        # As what numbers of narrow types were loaded, to be stored again as they are; and for vectors of one number.
        self._as_loaded: dict[tuple[str, Element], tuple[str, bool]] = {}
        # Vectors that were loaded in squares and transposed, by the buffer and the address of their lanes.
        self.transposed_loads: dict[tuple[Buffer, Linear], str] = {}

    def op(self, name: str, operands: Sequence[str], types: Types, *details: Any) -> str:
        """Writes an operation."""
        return self.writer.op(name, operands, types, *details)

    def located(self, location: Any) -> contextlib.AbstractContextManager[None]:
        """Give the operations written in the block the location of the user's line."""
        return self.writer.at(location) if location else ANYWHERE

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """A region: values computed in it are not available after it."""
        self._positions.append({})
        memo, self._memo = self._memo, dict(self._memo)
        try:
            yield
        finally:
            self._positions.pop()
            self._memo = memo

    def constant(self, number: Any, element: Element) -> str:
        """A constant at the head of the function."""
        text = spelled(number, element)
        name = self.writer.constant(f"dense<[{text}]>" if element.parts > 1 else text, element.text)
        self._splats[name] = (number, element)
        return name

    def called(
        self,
        key: Any,
        known: dict[Any, Any],
        operands: Sequence[tuple[Item, Element]],
        result: Element,
        make: Callable[[Builder, Sequence[Item]], Item],
    ) -> Item:
        """A call of a procedure, which is written once for each width of vectors."""
        if (key, self.width) not in known:
            inner = Code(self.symbols, Writer())
            inner.width, inner.halves = self.width, self.halves
            names = tuple([f"%p{n}" for n in range(len(operands))])
            item = make(inner, [Item(name, given.is_vector) for name, (given, _) in zip(names, operands)])
            types = [self.type(element, given.is_vector) for given, element in operands]
            types.append(self.type(result, item.is_vector))
            body = tuple([i._replace(location="") for i in rare.branched(inner.writer.body())])
            known[key, self.width] = Procedure.of(names, tuple(types), body, item.name), item.is_vector
        procedure, is_vector = known[key, self.width]
        given = [item.name for item, _ in operands]
        return Item(self.op("func.call", given, procedure.types, procedure), is_vector)

    def known(self, item: Item) -> Any:
        """The number that an item is, if that is known; else None."""
        return self._splats[item.name][0] if item.name in self._splats else None

    def vector(self, item: Item, element: Element) -> str:
        """An item as a vector; a constant becomes a constant vector."""
        known = self._splats.get(item.name)
        if known is not None and not item.is_vector and self.width > 1:
            text = spelled(*known)
            text = f"[{', '.join([text] * self.width)}]" if element.parts > 1 else text
            return self.writer.constant(f"dense<{text}>", element.of(self.width))
        name = super().vector(item, element)
        if name != item.name and (item.name, element) in self._as_loaded:
            self._as_loaded[name, element] = self._as_loaded[item.name, element]
        return name

    def position(self, form: Linear) -> str:
        """Address arithmetic; prefixes of a form are shared within a region."""
        if form.is_constant:
            return self.writer.constant(form.constant)
        assert not form.stride, "lanes have no position of their own"
        for known in self._positions:
            if form in known:
                return known[form]
        name = self._computed(form)
        self._positions[-1][form] = name
        return name

    def _computed(self, form: Linear) -> str:
        if form.constant:
            return self._sum(self.position(Linear(0, form.terms)), self.writer.constant(form.constant))
        *others, (symbol, coefficient) = form.terms
        term = self.symbols.names[symbol]
        if coefficient != 1:
            by = self.writer.constant(coefficient)
            term = self.op("arith.muli", (term, by), "index", "overflow<nsw>")
        return self._sum(self.position(Linear(0, tuple(others))), term) if others else term

    def _sum(self, a: str, b: str) -> str:
        return self.op("arith.addi", (a, b), "index", "overflow<nsw>")

    def undecided(
        self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element
    ) -> Item:
        """One element of an array of parts, by a branch when the program runs."""
        if self.width > 1:
            raise NotVectorsError
        first, *rest = bounds
        name = self.writer.fresh("p")
        test = self.op("arith.cmpi", (self.position(form), self.position(Linear(first))), "index", "slt")
        with self.writer.region("scf.if", (test,), element.text, results=(name,), ends=False), self.scope():
            self.writer.do("scf.yield", (parts[0]().name,), element.text)
        with self.writer.region("else"), self.scope():
            item = self.undecided(form, rest, parts[1:], element) if rest else parts[1]()
            self.writer.do("scf.yield", (item.name,), element.text)
        return Item(name)

    def at_most(self, form: Linear, high: int, low: int = 0) -> Linear:
        """The smaller of a form, which is at least `low`, and a number."""
        bounds = self.symbols.bounds(form)
        if bounds is not None and bounds[1] <= high:
            return form
        name = self.op("arith.minsi", (self.position(form), self.position(Linear(high))), "index")
        return self.symbols.new(name, low, high)

    def multiple(self, form: Linear, of: int, high: int) -> Linear:
        """The greatest multiple of a number that is at most a form, which is from 0 to `high`."""
        if form.is_constant:
            return Linear(form.constant // of * of)
        name = self.op("arith.divui", (self.position(form), self.position(Linear(of))), "index")
        return self.symbols.new(name, 0, high // of) * of

    def portion(self, number: Linear, count: int, units: int, step: int = 1) -> tuple[Linear, Linear]:
        """The range of the units, each `step` long, of one of `count` workgroups."""
        each = -(-units // count)
        low = number * (each * step)
        if count * each == units:
            return low, low + each * step
        return self.at_most(low, units * step), self.at_most(low + each * step, units * step)

    def note_gather(self, index: Index) -> None:
        """Do nothing: only a recorder counts gathers."""

    def load(self, view: View, index: Index) -> Item:
        """`memref.load` or `vector.load`; other lanes are loaded one by one."""
        buffer, address = view.buffer, view.address(index)
        element = buffer.element
        if not address.stride or self.width == 1:
            name = self._loaded(buffer, Linear(address.constant, address.terms), 1)
            return self._widened(name, element, False)
        if address.stride in (1, -1):
            name = self._loaded(buffer, address.at_lane(0 if address.stride > 0 else self.width - 1), self.width)
            if address.stride < 0:
                name = self._shuffled(name, name, range(self.width)[::-1], element)
        elif (buffer, address) in self.transposed_loads:
            name = self.transposed_loads[buffer, address]
        elif abs(address.stride) in STEPS and abs(address.stride) <= self.width:
            name = self._stepped(buffer, address)
        else:
            lanes = [self._loaded(buffer, address.at_lane(j), 1) for j in range(self.width)]
            name = self.from_elements(lanes, element.memory(1)).name
        return self._widened(name, element, True)

    def _widened(self, name: str, element: Element, is_vector: bool) -> Item:
        """A loaded value in its form in registers."""
        found = Item(conversions.loaded(self, name, element, is_vector), is_vector)
        if found.name != name:
            self._as_loaded[found.name, element] = name, is_vector
        return found

    def _narrowed(self, name: str, element: Element, is_vector: bool) -> str:
        """A value in registers in its form in memory."""
        loaded, was_vector = self._as_loaded.get((name, element), ("", False))
        if not loaded:
            return conversions.stored(self, name, element, is_vector)
        if was_vector == is_vector:
            return loaded
        return self.op("vector.broadcast", (loaded,), (element.stored, element.memory(self.width)))

    def _at(self, buffer: Buffer, address: Linear) -> str:
        """The index of the first number of the element at an address of a buffer."""
        return self.position(address * buffer.element.parts)

    def _loaded(self, buffer: Buffer, address: Linear, width: int) -> str:
        return self.writer.load(buffer, self._at(buffer, address), _vector(buffer, width))

    def _shuffled(self, a: str, b: str, order: Sequence[int], element: Element) -> str:
        """Elements of two vectors as stored; indices beyond the first vector select from the second one."""
        vector = element.memory(self.width)
        indices = [j * element.parts + part for j in order for part in range(element.parts)]
        return self.op("vector.shuffle", (a, b), vector, *indices)

    def _stepped(self, buffer: Buffer, address: Linear) -> str:
        """Every second, third or fourth element of consecutive vectors; the last vector ends with the last element."""
        width, step = self.width, abs(address.stride)
        last = step * (width - 1)
        if address.stride < 0:
            name = self._stepped(buffer, address.at_lane(width - 1).lanes(step))
            return self._shuffled(name, name, range(width)[::-1], buffer.element)
        found, lanes = "", 0
        for number in range(step):
            start = min(number * width, last - (width - 1))
            part = self._loaded(buffer, address.at_lane(0) + start, width)
            # The lanes that come from this vector and not from an earlier one.
            upto = sum(step * j < start + width for j in range(width))
            order = [j if j < lanes else width + step * j - start if j < upto else 0 for j in range(width)]
            if not number:
                order = [step * j if j < upto else 0 for j in range(width)]
            found = self._shuffled(found or part, part, order, buffer.element)
            lanes = upto
        return found

    def load_transposed(self, buffer: Buffer, address: Linear) -> None:
        """Load a square whose rows begin at the lanes of an address, and keep its columns as vectors for `load`."""
        element = buffer.element
        rows = [self._loaded(buffer, address.at_lane(j), self.width) for j in range(self.width)]
        for number, name in enumerate(transposed(self.writer, rows, element.memory(self.width), element.parts)):
            self.transposed_loads[buffer, address + number] = name

    def store(self, view: View, index: Index, item: Item) -> None:
        """Write an element, or a vector of them."""
        buffer, address = view.buffer, view.address(index)
        element, name = buffer.element, item.name
        is_vector = bool(address.stride) and self.width > 1
        if is_vector:
            name = self.vector(item, element)
        assert is_vector or not item.is_vector, "a vector needs an address for each lane"
        name = self._narrowed(name, element, is_vector)
        if not is_vector:
            self._stored(name, buffer, Linear(address.constant, address.terms), 1)
        elif address.stride == 1:
            self._stored(name, buffer, address.at_lane(0), self.width)
        else:
            vector = element.memory(self.width)
            for j in range(self.width):
                if element.parts == 1:
                    part = self.op("vector.extract", (name,), (element.stored, vector), j)
                else:
                    order = [j * element.parts + part for part in range(element.parts)]
                    part = self.op("vector.shuffle", (name, name), vector, *order)
                self._stored(part, buffer, address.at_lane(j), 1)

    def store_interleaved(self, view: View, index: Index, items: Sequence[Item]) -> None:
        """Write one vector of elements for each column of a row-major array, whose rows are the lanes of an index."""
        element, width, count = view.buffer.element, self.width, len(items)
        columns = [self._narrowed(self.vector(item, element), element, True) for item in items]
        first = view.address(index).at_lane(0)
        for number in range(count):
            places = [divmod(number * width + j, count) for j in range(width)]  # rows and columns
            first_column, *others = dict.fromkeys(column for _, column in places)
            name, lanes = columns[first_column], [row for row, _ in places]
            for other in others:
                order = [width + row if column == other else lane for lane, (row, column) in zip(lanes, places)]
                name, lanes = self._shuffled(name, columns[other], order, element), list(range(width))
            self._stored(name, view.buffer, first + number * width, width)

    def _stored(self, name: str, buffer: Buffer, address: Linear, width: int) -> None:
        self.writer.store(name, buffer, self._at(buffer, address), _vector(buffer, width))

    def loop(
        self,
        start: Linear,
        stop: Linear,
        step: int,
        body: Callable[[Linear, list[str]], Sequence[str] | None],
        carried: Sequence[str] = (),
        types: Sequence[str] = (),
        whole: bool = False,
    ) -> list[str]:
        """`scf.for`; `body(symbol, values)` returns the next values. A loop of one iteration is written as its body.

        Args:
          whole: whether `stop - start` is a multiple of `step`, even if neither is known.
        """
        low, high = (form.constant if form.is_constant else None for form in (start, stop))
        if low is not None and high is not None and high <= low:
            return list(carried)
        if low is not None and high is not None and high - low <= step:
            with self.scope():
                return list(body(start, list(carried)) or ())
        bottom, top = self.symbols.bounds(start), self.symbols.bounds(stop)
        if low is not None and high is not None:
            last: int | None = low + (high - 1 - low) // step * step
        else:
            last = None if top is None or bottom is None else max(top[1] - (step if whole else 1), bottom[0])

        def inside(name: int | str, values: list[str]) -> Sequence[str]:
            # In each iteration the counter is below `stop`, even if `stop` is not known.
            symbol = self.symbols.new(str(name), bottom[0] if bottom else None, last)
            with self.scope():
                return body(symbol, values) or ()

        return self.writer.loop(self.position(start), self.position(stop), step, inside, carried, types)


def _vector(buffer: Buffer, width: int) -> str:
    """The type of so many elements of a buffer as a vector; empty for a number."""
    type_ = buffer.element.memory(width)
    return "" if type_ == buffer.element.stored else type_


def spelled(number: Any, element: Element) -> str:
    """A number as MLIR writes it in an attribute of an element type; both parts of a complex one.

    >>> spelled(255, Element.parse("ui8")), spelled(float("inf"), Element.parse("f32"))
    ('-1', '0x7F800000')
    >>> spelled(1, Element.parse("f64"))
    '1.00000000000000000e+00'
    >>> spelled(2j, Element.parse("complex<f32>"))
    '0.00000000000000000e+00, 2.00000000000000000e+00'
    """
    if element.kind == "b":
        return "true" if number else "false"
    if element.kind == "c":
        return ", ".join(spelled(part, element.part) for part in (number.real, number.imag))
    if element.is_float:
        return spelled_float(float(number), element.computed)
    bits = int(number) % (1 << element.bits)
    return str(bits - (1 << element.bits) if bits >= 1 << (element.bits - 1) else bits)
