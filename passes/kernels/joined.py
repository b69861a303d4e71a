"""Small arrays that are one operand or one result of a kernel, which may have only so many of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from passes import bindings, build
from passes.analysis.strided import row_strides
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.values import Value, View

# The most elements of an array that is copied to lie with others, and the most arrays that lie together.
_SMALL, _MOST = 1024, 24


def together(kinds: Sequence[tuple[int, Any]]) -> Iterator[list[int]]:
    """Groups of small arrays that may lie in one, by their numbers.

    Args:
      kinds: how many elements each array has, and their type.
    """
    by_element: dict[Any, list[int]] = {}
    for i, (size, element) in enumerate(kinds):
        if size <= _SMALL:
            by_element.setdefault(element, []).append(i)
    for group in by_element.values():
        for first in range(0, len(group), _MOST):
            if len(group) > first + 1:
                yield group[first : first + _MOST]


def parts(whole: View, kinds: Iterable[Value]) -> Iterator[View]:
    """Where arrays lie that follow one another in memory."""
    start = 0
    for kind in kinds:
        yield View(whole.buffer, row_strides(kind.shape), whole.offset + start)
        start += kind.size


class Operands:
    """Small operands of a kernel, in one array.

    Args:
      values: the operands, with their shapes and elements.
      before: the operation that the kernel takes the place of.
    """

    def __init__(self, values: dict[Any, Value], before: Any) -> None:
        self.values = values
        with bindings.ir.InsertionPoint(before), before.location:
            self._array = build.concatenate([build.reshape(v, (kind.size,)) for v, kind in values.items()], 0)

    def read(self, k: Lowering) -> None:
        """Make them known to a kernel."""
        k.operand(self._array)
        view = k.env[self._array].view
        assert view is not None, "two elements are no scalar"
        for (value, kind), place in zip(self.values.items(), parts(view, self.values.values())):
            kind.view = place
            k.env[value] = k.loaded(kind) if kind.size == 1 else kind

    def erase(self) -> None:
        """Remove the array again."""
        flat = [value.owner for value in self._array.owner.operands]
        for op in (self._array.owner, *flat):
            op.erase()


def operands(values: Sequence[Any], results: int, before: Any) -> list[Operands]:
    """The operands of a kernel that lie together, if it would have too many beside so many results."""
    if len(values) + results <= cost.MAX_BUFFERS:
        return []
    kinds = []
    for value in values:
        try:
            kinds.append(Value(*element_type(value.type)))
        except RefusedError:
            return []
    groups = together([(kind.size, kind.element) for kind in kinds])
    return [Operands({values[i]: kinds[i] for i in group}, before) for group in groups]


def separate(array: Any, view: View, type_: Any) -> Any:
    """A result that may lie in an array with others, at the current insertion point."""
    if array.type == type_:
        return array
    start = view.offset.constant
    return build.reshape(build.slice_(array, [start], [start + Value(*element_type(type_)).size]), type_.shape)
