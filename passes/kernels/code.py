"""Values written as the text of a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from passes.kernels import conversions
from passes.kernels.builder import ANYWHERE, STEPS, Builder, Symbols
from passes.kernels.elements import Element
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
        # Vectors that have been loaded in squares and turned, by the buffer and the place of their lanes.
        self.turned: dict[tuple[Buffer, Linear], str] = {}

    def op(self, text: str) -> str:
        """Writes an operation."""
        return self.writer.op(text)

    def located(self, location: str) -> contextlib.AbstractContextManager[None]:
        """Give what is written the location of the user's line."""
        return self.writer.at(location) if location else ANYWHERE

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """A region: what is computed in it is unknown after it."""
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

    def known(self, item: Item) -> Any:
        """The number that an item is known to be, if it is."""
        return self._splats[item.name][0] if item.name in self._splats else None

    def vector(self, item: Item, element: Element) -> str:
        """An item as a vector; constants as constants."""
        known = self._splats.get(item.name)
        if known is not None and not item.is_vector and self.width > 1:
            text = spelled(*known)
            text = f"[{', '.join([text] * self.width)}]" if element.parts > 1 else text
            return self.writer.constant(f"dense<{text}>", element.of(self.width))
        return super().vector(item, element)

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
        *rest, (symbol, coefficient) = form.terms
        term = self.symbols.names[symbol]
        if coefficient != 1:
            by = self.writer.constant(coefficient)
            term = self.op(f"arith.muli {term}, {by} overflow<nsw> : index")
        return self._sum(self.position(Linear(0, tuple(rest))), term) if rest else term

    def _sum(self, a: str, b: str) -> str:
        return self.op(f"arith.addi {a}, {b} overflow<nsw> : index")

    def undecided(
        self, form: Linear, bounds: Sequence[int], parts: Sequence[Callable[[], Item]], element: Element
    ) -> Item:
        """A choice when the program runs, of one element."""
        if self.width > 1:
            raise NotVectorsError
        first, *rest = bounds
        name = self.writer.fresh("p")
        test = self.op(f"arith.cmpi slt, {self.position(form)}, {self.position(Linear(first))} : index")
        with self.writer.region(f"{name} = scf.if {test} -> ({element.text}) {{", ""), self.scope():
            self.writer.do(f"scf.yield {parts[0]().name} : {element.text}")
        with self.writer.region("} else {"), self.scope():
            item = self.undecided(form, rest, parts[1:], element) if rest else parts[1]()
            self.writer.do(f"scf.yield {item.name} : {element.text}")
        return Item(name)

    def at_most(self, form: Linear, high: int) -> Linear:
        """A form, or a number if the form is above it."""
        bounds = self.symbols.bounds(form)
        if bounds is not None and bounds[1] <= high:
            return form
        name = self.op(f"arith.minsi {self.position(form)}, {self.position(Linear(high))} : index")
        return self.symbols.new(name, 0, high)

    def note_gather(self, index: Index) -> None:
        """Nothing is kept of it."""

    def load(self, view: View, index: Index) -> Item:
        """`memref.load` or `vector.load`; other lanes are loaded one by one."""
        buffer, place = view.buffer, view.address(index)
        element = buffer.element
        if not place.stride or self.width == 1:
            name = self._loaded(buffer, Linear(place.constant, place.terms), 1)
            return Item(conversions.loaded(self, name, element, False))
        if place.stride in (1, -1):
            name = self._loaded(buffer, place.at_lane(0 if place.stride > 0 else self.width - 1), self.width)
            if place.stride < 0:
                name = self._shuffled(name, name, range(self.width)[::-1], element)
        elif (buffer, place) in self.turned:
            name = self.turned[buffer, place]
        elif place.stride in STEPS and place.stride <= self.width:
            name = self._stepped(buffer, place)
        else:
            lanes = [self._loaded(buffer, place.at_lane(j), 1) for j in range(self.width)]
            name = self.from_elements(lanes, element.memory(1)).name
        return Item(conversions.loaded(self, name, element, True), True)

    def _at(self, buffer: Buffer, place: Linear) -> str:
        """Where the first number of an element lies in the memory of a buffer."""
        return f"{buffer.name}[{self.position(place * buffer.element.parts)}] : {buffer.type}"

    def _loaded(self, buffer: Buffer, place: Linear, width: int) -> str:
        type_ = buffer.element.memory(width)
        if type_ == buffer.element.stored:
            return self.op(f"memref.load {self._at(buffer, place)}")
        return self.op(f"vector.load {self._at(buffer, place)}, {type_}")

    def _shuffled(self, a: str, b: str, order: Sequence[int], element: Element) -> str:
        """Elements of two vectors as they are in memory, by their numbers in the first one and after it."""
        vector = element.memory(self.width)
        places = [j * element.parts + part for j in order for part in range(element.parts)]
        return self.op(f"vector.shuffle {a}, {b} {places} : {vector}, {vector}")

    def _stepped(self, buffer: Buffer, place: Linear) -> str:
        """Every second element, or third and so on, of vectors that follow one another; the last ends with the last."""
        width, step = self.width, place.stride
        last = step * (width - 1)
        found, lanes = "", 0
        for number in range(step):
            start = min(number * width, last - (width - 1))
            part = self._loaded(buffer, place.at_lane(0) + start, width)
            # The lanes that this vector has and those before it had not.
            upto = sum(step * j < start + width for j in range(width))
            order = [j if j < lanes else width + step * j - start if j < upto else 0 for j in range(width)]
            if not number:
                order = [step * j if j < upto else 0 for j in range(width)]
            found = self._shuffled(found or part, part, order, buffer.element)
            lanes = upto
        return found

    def turn(self, buffer: Buffer, place: Linear) -> None:
        """Load a square whose rows begin where the lanes of a place are, and have its columns at hand as vectors."""
        element = buffer.element
        rows = [self._loaded(buffer, place.at_lane(j), self.width) for j in range(self.width)]
        for number, name in enumerate(transposed(self.writer, rows, element.memory(self.width), element.parts)):
            self.turned[buffer, place + number] = name

    def store(self, view: View, index: Index, item: Item) -> None:
        """Write an element, or a vector of them."""
        buffer, place = view.buffer, view.address(index)
        element, name = buffer.element, item.name
        is_vector = bool(place.stride) and self.width > 1
        if is_vector:
            name = self.vector(item, element)
        assert is_vector or not item.is_vector, "a vector needs a place for each lane"
        name = conversions.stored(self, name, element, is_vector)
        if not is_vector:
            self._stored(name, buffer, Linear(place.constant, place.terms), 1)
        elif place.stride == 1:
            self._stored(name, buffer, place.at_lane(0), self.width)
        else:
            vector = element.memory(self.width)
            for j in range(self.width):
                if element.parts == 1:
                    part = self.op(f"vector.extract {name}[{j}] : {element.stored} from {vector}")
                else:
                    order = [j * element.parts + part for part in range(element.parts)]
                    part = self.op(f"vector.shuffle {name}, {name} {order} : {vector}, {vector}")
                self._stored(part, buffer, place.at_lane(j), 1)

    def _stored(self, name: str, buffer: Buffer, place: Linear, width: int) -> None:
        type_ = buffer.element.memory(width)
        if type_ == buffer.element.stored:
            self.writer.do(f"memref.store {name}, {self._at(buffer, place)}")
        else:
            self.writer.do(f"vector.store {name}, {self._at(buffer, place)}, {type_}")

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
        """`scf.for`; `body(symbol, values)` returns the next values. A loop of one round is written without one.

        Args:
          whole: from `start` to `stop` are whole steps, whatever the two are.
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
            # A round has a counter below `stop`, whatever that is.
            symbol = self.symbols.new(str(name), bottom[0] if bottom else None, last)
            with self.scope():
                return body(symbol, values) or ()

        return self.writer.loop(self.position(start), self.position(stop), step, inside, carried, types)


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
