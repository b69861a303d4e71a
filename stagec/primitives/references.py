"""Mutable references: arrays that a program writes in place, as it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stagec.core import dtypes, errors, frames, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.frames import Frame
from stagec.core.pytree import LEAF, PyTreeDef
from stagec.core.trace import Tracer
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.hitypes import Contents, Mutable, is_mutable
from stagec.primitives.operand import as_operand, aval_of
from stagec.typing import ArrayLike

READ_IT = "read the value with ref[...]"


@dataclasses.dataclass(frozen=True)
class AbstractRef:
    """The type of a reference: that of the array it holds is `inner_aval`."""

    inner_aval: ShapedArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        return self.inner_aval.size

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval.long()}}}"


class Ref:
    """An array that can be written: `ref[...]` reads it, `ref[i] = v` and `ref[i] += v` write it.

    Made by `new_ref`. Shape and dtype stay what they are.
    """

    __slots__ = ("__weakref__", "_frozen", "_trace", "_value", "aval")

    def __init__(self, value: Array, aval: ShapedArray) -> None:
        self._trace = state.trace
        self._value = value
        self._frozen = False
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    def __len__(self) -> int:
        if not self.aval.shape:
            raise location.error(TypeError, "len() of a reference of rank 0", fix="take len() of ranks above 0")
        return self.aval.shape[0]

    def __getitem__(self, index: Any) -> Array:
        value: Array = read(self)
        return value if index is Ellipsis else value[index]

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        write(self, read(self).at[index].set(self._accepted(value)))

    def get(self) -> Array:
        """The value, `ref[...]`."""
        return self[...]

    def set(self, value: ArrayLike) -> None:
        """Write the whole value, `ref[...] = value`."""
        self[...] = value

    def _accepted(self, value: ArrayLike) -> Any:
        operand = as_operand(value, "the value")
        aval = aval_of(operand)
        if dtypes.lattice_result([(self.dtype, False), (aval.dtype, aval.weak_type)])[0] != self.dtype:
            raise location.error(
                errors.DtypeError,
                f"{aval.long()} does not fit a reference of {self.aval.long()}",
                fix=f"convert the value with astype({self.dtype.name!r})",
            )
        return operand

    def __iter__(self) -> Any:
        raise location.error(TypeError, "references cannot be iterated", fix=f"{READ_IT}, and iterate that")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.__jax_array__()

    def __jax_array__(self) -> Any:
        raise location.error(errors.ArgumentTypeError, "a reference was used as an array", fix=READ_IT)

    def __bool__(self) -> bool:
        raise location.error(TypeError, "the truth value of a reference was asked for", fix=READ_IT)

    def __repr__(self) -> str:
        if self._frozen or isinstance(self._value, Tracer):
            return f"Ref({self.aval.long()})"
        text = repr(self._value).removeprefix("Array").replace("\n  ", "\n")
        return f"Ref{text}"


def new_ref(init_val: ArrayLike, *, memory_space: None = None, kind: None = None, pin: bool = False) -> Ref:
    """A reference that holds an array, and can be written.

    Args:
      init_val: the initial value. The array itself is never changed.
      memory_space, kind: None; for code written for JAX.
      pin: accepted for code written for JAX.

    Under `jit`, in the loops and conditionals of `lax`, and in differentiated functions, references may be made inside,
    and those from outside may be read and written. Outside, their values are the last ones written.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> @stagec.jit
    ... def squares(n):
    ...     ref = stagec.new_ref(snp.zeros(5))
    ...     def step(i, _):
    ...         ref[i] = i * 1.0
    ...         ref[i] *= ref[i]
    ...     lax.fori_loop(0, n, step, None)
    ...     return ref[...]
    >>> squares(4)
    Array([0., 1., 4., 9., 0.], dtype=float32)
    """
    for name, given in (("memory_space", memory_space), ("kind", kind)):
        if given is not None:
            what = f"new_ref: {name}={given!r} is not supported"
            raise location.error(errors.UnsupportedError, what, fix=f"leave {name} out")
    operand = as_operand(init_val, "new_ref: init_val")
    aval = aval_of(operand).strip_weak_type()
    return Ref(as_array(convert_element_type(operand, aval.dtype)), aval)


def freeze(ref: Ref) -> Array:
    """The value of a reference, which must not be used any more.

    >>> import stagec
    >>> ref = stagec.new_ref(1.0)
    >>> ref[...] += 1
    >>> stagec.freeze(ref)
    Array(2., dtype=float32)
    """
    value: Array = read(ref)
    if state.trace is not ref._trace:
        raise location.error(
            errors.UnsupportedError,
            "freeze: the reference is from outside of the function",
            [("reference", ref.aval.long(), "")],
            f"{READ_IT}, or freeze the reference where it was made",
        )
    ref._frozen = True
    return value


def read(ref: Ref | Mutable) -> Any:
    """The value of the reference in the current trace."""
    _check_usable(ref)
    return frames.read(ref, state.trace)


def write(ref: Ref | Mutable, value: Any) -> None:
    _check_usable(ref)
    frames.write(ref, value, state.trace)


def _check_usable(ref: Ref | Mutable) -> None:
    if isinstance(ref, Mutable):
        return
    if not isinstance(ref, Ref):
        what = f"expected a reference, got {errors.a_kind(type(ref))}"
        raise location.error(errors.ArgumentTypeError, what, fix="make one with stagec.new_ref")
    if ref._frozen:
        what = "the reference was frozen, and cannot be used any more"
        raise location.error(errors.UnsupportedError, what, fix="use the value that stagec.freeze returned")


def carrying(refs: Sequence[Ref], function: Callable[..., Any]) -> Callable[..., Any]:
    """`(values, *args) -> (last values, result)`: a function to be recorded, with references in its arguments."""

    def carried(values: Sequence[Any], *args: Any) -> Any:
        frame: Frame = state.trace.frame
        for ref, value in zip(refs, values):
            frame.carry(ref, value)
        result = function(*args)
        return [read(ref) for ref in refs], result

    return carried


def inner_references(values: Sequence[Any], structures: Mapping[int, PyTreeDef]) -> tuple[list[Any], list[Any]]:
    """A function's leaves, with references of the trace's own at some positions, and these references.

    Args:
      values: of the leaves. Those of a reference have one of the `structures`.
    """
    given, leaves, inner = iter(values), [], []
    for i in range(len(values) - sum(s.num_leaves - 1 for s in structures.values())):
        if i not in structures:
            leaves.append(next(given))
            continue
        value = structures[i].unflatten([next(given) for _ in range(structures[i].num_leaves)])
        leaf = value.raised() if isinstance(value, Contents) else Ref(value, aval_of(value))
        leaves.append(leaf)
        inner.append(Mutable(leaf) if isinstance(value, Contents) else leaf)
    return leaves, inner


def returning(function: Callable[..., Sequence[Any]], positions: Sequence[int]) -> Callable[..., list[Any]]:
    """A flat function with references at some positions, as a function of their values.

    Returns:
      A function that returns the last values as well, after the results.
    """

    def flat(*leaves: Any) -> list[Any]:
        given, inner = inner_references(leaves, dict.fromkeys(positions, LEAF))
        return [*function(*given), *[read(ref) for ref in inner]]

    return flat


def write_all(refs: Sequence[Ref], values: Sequence[Any]) -> None:
    for ref, value in zip(refs, values):
        write(ref, value)


def returned(leaf: Any) -> str:
    """The fix for a reference among results; empty for other leaves."""
    if is_mutable(leaf):
        return "return the arrays that it holds, or pass it as an argument: the caller's then changes"
    return "return ref[...], its value" if isinstance(leaf, Ref) else ""
