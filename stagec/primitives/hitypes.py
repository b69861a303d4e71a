"""Values of types that a program defines, which change in place: the arrays that they hold in traced functions.

A traced function gets a value of its own, which holds tracers. As with a reference, the frame of a trace that began
after the value was made keeps what the value holds there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import frames, pytree
from stagec.core.config import state
from stagec.core.trace import Trace, under
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand

# The classes of such values, each with the function that returns the type of one.
types: dict[type, Callable[[Any], Any]] = {}


@dataclasses.dataclass(frozen=True)
class Form:
    """The type of a value, and that of what it holds at the moment."""

    ty: Any
    qdd: Any


class Contents:
    """What a value holds at the moment: a pytree of arrays."""

    __slots__ = ("arrays", "form")

    def __init__(self, form: Form, arrays: Sequence[Any]) -> None:
        self.form, self.arrays = form, tuple(arrays)

    def raised(self) -> Any:
        """A new value that holds them. It belongs to the trace in force."""
        return _remember(self.form.ty.new_from_loval(self.form.qdd, *self.arrays))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contents) or self.form != other.form:
            return False
        return all(mine is yours for mine, yours in zip(self.arrays, other.arrays, strict=True))

    __hash__ = None  # type: ignore[assignment]


pytree.register_pytree_node(Contents, lambda c: (c.arrays, c.form), Contents)


class Mutable:
    """A value that changes, as frames know references."""

    __slots__ = ("_trace", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        trace = state.trace
        while trace is not None and id(value) not in trace.made:
            trace = trace.parent
        self._trace: Trace | None = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mutable) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    @property
    def aval(self) -> Mutable:
        return self

    def long(self) -> str:
        return repr(types[type(self.value)](self.value))

    @property
    def _value(self) -> Contents:
        def read() -> Contents:
            form = Form(types[type(self.value)](self.value), self.value.cur_qdd())
            return Contents(form, [as_array(as_operand(low)) for low in form.ty.read_loval(form.qdd, self.value)])

        return under(self._trace, read)

    @_value.setter
    def _value(self, contents: Contents) -> None:
        form = contents.form
        under(self._trace, form.ty.update_from_loval, form.qdd, self.value, *contents.arrays)


def is_mutable(value: Any) -> bool:
    """Whether a value changes in place, by its type."""
    typeof = types.get(type(value))
    return typeof is not None and bool(typeof(value).has_qdd)


def as_reference(value: Any) -> Any:
    """A value that changes as what frames know; others are returned."""
    return Mutable(value) if is_mutable(value) else value


def _remember(value: Any) -> Any:
    if state.trace is not None and is_mutable(value):
        state.trace.made[id(value)] = value
    return value


def here(value: Any) -> Any:
    """A value that holds what `value` does in the trace in force."""
    found = as_reference(value)
    if not isinstance(found, Mutable) or found._trace is state.trace:
        return value
    contents: Contents = frames.read(found, state.trace)
    return contents.raised()


def expand(rule: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run the rule of a primitive on values that hold what `args` do here, which get what it changes."""
    trace = state.trace
    if trace is None:
        return rule(*args, **params)
    given = [here(arg) for arg in args]
    copied = [(mine, Mutable(arg)) for mine, arg in zip(given, args) if mine is not arg]
    result = rule(*given, **params)
    for mine, outer in copied:
        contents = Mutable(mine)._value
        if contents != frames.read(outer, trace):
            frames.write(outer, contents, trace)
    for made in result if isinstance(result, list | tuple) else [result]:
        _remember(made)
    return result
