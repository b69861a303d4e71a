"""What a `for` loop can take one by one in the program: ranges, arrays, and `enumerate` and `zip` of these."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import errors, location
from stagec.core.operators import ArrayOperators
from stagec.python_flow.values import Buffer, Value, unwrapped, wrapped


class Indexed:
    """A sequence by its length, which may be traced, and a function of the position."""

    def __init__(self, length: Any, item: Callable[[Any], Any]) -> None:
        self.length, self.item = length, item

    @property
    def rounds(self) -> Any:
        """The length as an operand."""
        return unwrapped(self.length)

    def after(self, start: int) -> Indexed:
        if not start:
            return self
        return Indexed(self.length - start, lambda i: self.item(i + start))

    def __len__(self) -> int:
        return operator.index(self.length)

    def __getitem__(self, i: Any) -> Any:
        return self.item(i)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.length, Value):
            raise location.error(
                errors.ConcretizationError,
                "a range of a traced length is iterated outside of a for statement",
                [("length", self.length.aval.long(), "")],
                "write a for statement with an array that it assigns",
            )
        return (self.item(i) for i in range(self.length))


def indexed(items: Any) -> Indexed | None:
    """A sequence whose items the program can take, or None."""
    if isinstance(items, Indexed):
        return items
    if isinstance(items, range):
        return Indexed(len(items), lambda i: items.start + i * items.step if isinstance(i, Value) else items[i])
    if isinstance(items, ArrayOperators) or (isinstance(items, np.ndarray) and not items.dtype.hasobject):
        items = wrapped(items)
    if isinstance(items, Buffer):
        return Indexed(items.shape[0], lambda i: items[i])
    return None


def range_(*bounds: Any) -> Any:
    if not any(isinstance(b, Value) for b in bounds):
        return range(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    up = (stop - start + step - 1) // step
    down = (start - stop - step - 1) // -step
    count = (
        (up if step > 0 else down) if isinstance(step, int) else wrapped(snp.where(*unwrapped((step > 0, up, down))))
    )
    length = wrapped(snp.maximum(unwrapped(count), 0))
    return Indexed(length, lambda i: start + i * step)


def enumerate_(items: Any, start: Any = 0) -> Any:
    many = indexed(items)
    return enumerate(items, start) if many is None else Indexed(many.length, lambda i: (i + start, many.item(i)))


def zip_(*several: Any, strict: bool = False) -> Any:
    many = [indexed(items) for items in several]
    if not many or any(m is None or not isinstance(m.length, int) for m in many):
        return zip(*several, strict=strict)
    lengths = [m.length for m in many if m is not None]
    if strict and len(set(lengths)) > 1:
        return zip(*several, strict=True)
    return Indexed(min(lengths), lambda i: tuple([m.item(i) for m in many if m is not None]))


def reversed_(items: Any) -> Any:
    many = indexed(items)
    return reversed(items) if many is None else Indexed(many.length, lambda i: many.item(many.length - 1 - i))
