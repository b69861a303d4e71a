"""The state of a branch or a loop: the values of the names that it assigns, as leaves that programs can carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.exact_key import exact_key
from stagec.core.frames import Frame
from stagec.core.graph import Graph, replay
from stagec.core.operators import ArrayOperators
from stagec.core.recording import trace_flat
from stagec.primitives import references
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.references import Ref
from stagec.python_flow import values
from stagec.python_flow.jumps import RESULT
from stagec.python_flow.outcome import ambiguous
from stagec.python_flow.values import Buffer, Number, Value


class Undefined:
    """What a name holds where it may be unassigned."""

    def __init__(self, name: str, why: str, cause: Exception | None = None) -> None:
        self.name, self.why, self.cause = name, why, cause

    def error(self) -> Exception:
        if self.cause is not None:
            return self.cause
        fix = f"assign {self.name} before, so that it has a value in every case"
        return location.error(UnboundLocalError, f"{self.name} may have no value here: {self.why}", fix=fix)


class Region:
    """A branch or a loop of a function, while it is traced.

    Args:
      about: number, names that it assigns, those of them that are assigned anew, an attribute that it assigns.
      reads: returns one function for each name, which returns its value.
      put: sets all of them.
      others: functions that return objects that may be changed in place.
    """

    def __init__(self, about: Any, reads: Any, put: Callable[[Any], None], others: Any) -> None:
        self.number, self.names, rebound, self.attribute = about
        self.rebound = set(rebound)
        self._reads, self.put = reads(), put
        self._others = others

    def get(self) -> list[Any]:
        return [_read(name, read) for name, read in zip(self.names, self._reads)]

    def snapshot(self) -> list[tuple[Any, Any]]:
        """The containers that may be changed in place, and copies of them."""
        found = [_read("", read) for read in self._others()]
        return [(c, c.copy()) for c in found if type(c) in (list, dict, set)]


def _read(name: str, read: Callable[[], Any]) -> Any:
    try:
        value = read()
    except NameError:
        return Undefined(name, "it has not been assigned")
    if any(getattr(leaf, "is_part", False) for leaf in leaves_of(value)):
        return Undefined(name, "loops and branches do not carry arrays of traced length")
    stale = [leaf.root.stale for leaf in leaves_of(value) if isinstance(leaf, Buffer) and leaf.root.stale]
    return Undefined(name, "it may have been changed under another name", ambiguous(stale[0][0])) if stale else value


def restore(snapshot: Sequence[tuple[Any, Any]]) -> bool:
    """Undo what changed in containers; return whether anything had."""
    changed = False
    for container, copy in snapshot:
        if len(container) != len(copy) or any(a is not b for a, b in zip(_items(container), _items(copy))):
            changed = True
            container.clear()
            container.extend(copy) if type(container) is list else container.update(copy)
    return changed


def _items(container: Any) -> list[Any]:
    return [x for pair in container.items() for x in pair] if type(container) is dict else list(container)


def is_number(value: Any) -> bool:
    """Whether a program can carry a value."""
    kinds = (Value, ArrayOperators, np.ndarray, np.generic, bool, int, float, complex)
    return isinstance(value, kinds) and getattr(value, "dtype", None) != np.dtype(object)


def leaves_of(value: Any) -> list[Any]:
    """The leaves of nested tuples."""
    return [leaf for v in value for leaf in leaves_of(v)] if isinstance(value, tuple) else [value]


def rebuilt(value: Any, leaves: Any) -> Any:
    """Nested tuples as in `value`, of other leaves."""
    if not isinstance(value, tuple):
        return next(leaves)
    parts = [rebuilt(v, leaves) for v in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def same_form(a: Any, b: Any) -> bool:
    """Whether two values are tuples of the same lengths and types, or both are none."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return not isinstance(a, tuple) and not isinstance(b, tuple)
    return type(a) is type(b) and len(a) == len(b) and all(map(same_form, a, b))


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are one object, or equal numbers of Python."""
    return a is b or (type(a) in (bool, int, float, complex, str) and exact_key(a) == exact_key(b))


def kind_of(value: Any) -> str:
    """A value in an error: the shape and dtype of an array, else its class and text."""
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    aval = getattr(value, "aval", None)
    if aval is not None:
        return str(aval.long())
    return "None" if value is None else f"{errors.a_kind(type(value))} {errors.brief(value)}"


def operand(leaf: Any) -> Any:
    return as_operand(leaf.value if isinstance(leaf, Value) else leaf)


def fresh(value: Any, rivals: Sequence[Any] = ()) -> Value:
    """A leaf of the function for a value of the program."""
    value = as_array(value)
    return Buffer(value, [r for r in rivals if isinstance(r, Buffer)]) if value.aval.shape else Number(value)


def joined(avals: Sequence[ShapedArray]) -> ShapedArray | None:
    """The type that holds all of these; None where shapes differ."""
    if len({a.shape for a in avals}) > 1:
        return None
    dtype, weak = dtypes.lattice_result([(a.dtype, a.weak_type) for a in avals])
    return ShapedArray.of(avals[0].shape, dtype, weak)


class Recorded(NamedTuple):
    """What a region does, as a graph of captured values, of its arguments and of the arrays that it uses."""

    graph: Graph
    captured: list[Any]
    used: list[Ref]
    written: list[Ref]
    # The values of the names at its end, and where each leaf that is a number is among the graph's outputs.
    ends: list[Any]
    outputs: dict[int, int]

    def run(self, arguments: Sequence[Any], known: dict[Any, Any]) -> list[Any]:
        """The outputs: of leaves, then of `written`; `known` has the captured values by id, and those of arrays."""
        inputs = [known.get(id(c), c) for c in self.captured]
        return replay(self.graph, [*inputs, *arguments, *[known[r] for r in self.used]])


def record(
    region: Region, run: Callable[..., Any], avals: Sequence[ShapedArray], names: Sequence[str] = ()
) -> Recorded:
    """Run a region's statements on tracers.

    Args:
      run: of the tracers; returns the values that are results, by default those of the region's names.
    """
    if region.attribute:
        what = f"{region.attribute} is assigned where it depends on a traced value whether that happens"
        fix = "assign it to a name, and the name to the attribute after the loop or the branch"
        raise location.error(errors.UnsupportedError, what, fix=fix)
    ends: list[Any] = []
    outputs: dict[int, int] = {}
    frame = Frame(own_inputs=True)
    before, containers, stale = region.get(), region.snapshot(), len(values.marked.arrays)
    changed = False

    def flat(*tracers: Any) -> list[Any]:
        found = run(*tracers)
        ends.extend(region.get() if found is None else found)
        operands: list[Any] = []
        leaves = [leaf for end in ends for leaf in leaves_of(end)]
        for i, leaf in enumerate(leaves):
            if is_number(leaf):
                outputs[i] = len(operands)
                operands.append(operand(leaf))
        return operands + [references.read(r) for r in frame.written]

    try:
        graph, captured = trace_flat(flat, avals, names, getattr(state.trace, "name", "") or "region", False, frame)
    except BaseException:
        values.restore(stale)
        raise
    finally:
        changed = restore(containers)
        region.put(before)
    if changed:
        what = "a list, a dict or a set is changed where it depends on a traced value whether or how often that happens"
        fix = "keep the values in an array made before, as in x = numpy.zeros(n), and assign x[i]"
        raise location.error(errors.UnsupportedError, what, fix=fix)
    return Recorded(graph, captured, frame.used, frame.written, ends, outputs)


def gathered(recorded: Sequence[Recorded]) -> list[Any]:
    """The values from outside that regions read: keys for `known`, as pairs of key and operand."""
    found: dict[Any, Any] = {}
    for r in recorded:
        found.update({id(c): c for c in r.captured})
        found.update({ref: references.read(ref) for ref in r.used})
    return list(found.items())


def converted(value: Any, aval: ShapedArray) -> Any:
    have = aval_of(value)
    if (have.dtype, have.weak_type) == (aval.dtype, aval.weak_type):
        return value
    return convert_element_type(value, aval.dtype, aval.weak_type)


def is_guarded(name: str) -> bool:
    """Whether a name is read only where a flag says that it was assigned."""
    return name == RESULT
