"""The axes that `vmap` names: which are in force, and how long they are."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location
from stagec.core.config import state


class Axis(int):
    """The length of a batch, and the axis's name where it has one. Otherwise a plain integer.

    Attributes:
      typed: whether values that are the same along the axis are another kind of value than those that differ, as in
        `shard_map`: then a sum's cotangent is not summed again, and the gradient of what does not differ is a sum.
      spmd: the axes of a mesh along which constraints inside of the batch split it.
      division: of a batch that devices divide, `(x, dim, name) -> x`, which records that each device has its own
        elements along an axis of a value, or all if the name is None; its `batch` stands for all batching rules.
    """

    name: Any
    typed: bool
    spmd: tuple[Any, ...]
    division: Any

    def __new__(
        cls, size: int, name: Any = None, typed: bool = False, spmd: tuple[Any, ...] = (), division: Any = None
    ) -> Axis:
        self = super().__new__(cls, size)
        self.name = name if name is not None else getattr(size, "name", None)
        self.typed = typed or getattr(size, "typed", False)
        self.spmd = spmd or getattr(size, "spmd", ())
        self.division = division or getattr(size, "division", None)
        return self

    # Graphs that a rule made for a named axis must not be reused for an axis of another name.
    def __eq__(self, other: object) -> bool:
        return int(self) == other and (type(other) is not Axis or self._key() == other._key())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int.__hash__(self)

    def _key(self) -> Any:
        return self.name, self.typed, self.spmd, self.division

    def __reduce__(self) -> Any:
        return Axis, (int(self), *self._key())


class OpenAxis:
    """A batch whose length is an open dimension. It has no name, since what uses names needs the length."""

    name = None
    typed = False

    def __init__(self, name: Any) -> None:
        if name is not None:
            raise location.error(
                errors.DimensionError,
                f"vmap: axis_name={name!r} names a batch whose size is an open dimension",
                fix="leave axis_name out, or leave the dimension static",
            )


def named_axes() -> tuple[tuple[Any, int, bool], ...]:
    """Names and lengths of the axes in force, and whether they are typed; the innermost first."""
    found = []
    trace = state.trace
    while trace is not None:
        axis = trace.axis
        if axis is not None and axis.name is not None:
            found.append((axis.name, int(axis), axis.typed))
        trace = trace.parent
    return tuple(found)


def axis_length(name: Any) -> int:
    """Length of a named axis.

    Raises:
      NameError: no `vmap` of that name is in force.
    """
    for known, size, _ in named_axes():
        if known == name:
            return size
    raise unbound(name)


def typed_axes() -> list[Any]:
    """The names of the typed axes in force."""
    return [] if state.trace is None else [name for name, _, typed in named_axes() if typed]


def unbound(name: Any) -> NameError:
    """The error for a name that no `vmap` in force has."""
    known = ", ".join([repr(n) for n, *_ in named_axes()])
    return location.error(
        NameError,
        f"unbound axis name: {name}",
        fix=f"call it inside a function that vmap(..., axis_name={name!r}) maps"
        + (f"; the names in force are {known}" if known else ""),
    )


def as_names(name: Any) -> tuple[Any, ...]:
    """A name, or several, as a tuple."""
    return tuple(name) if isinstance(name, (tuple, list)) else (name,)


def check_name(name: Any) -> Any:
    """A name of one axis, which has to be hashable."""
    try:
        hash(name)
    except TypeError:
        raise location.error(
            errors.ArgumentTypeError, f"axis_name {errors.brief(name)} is not hashable", fix="use a string"
        ) from None
    return name
