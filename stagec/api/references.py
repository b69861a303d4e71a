"""References in jitted functions: their values are arguments of the program, and their final values are results.

Values that change in place, of types that a program defines, are references too; what they hold is a pytree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stagec.core import errors, location
from stagec.core.pytree import PyTreeDef, structure
from stagec.primitives.hitypes import Mutable
from stagec.primitives.references import Ref, read, write

if TYPE_CHECKING:
    from stagec.api.traces import TracedSignature


class TracedReferences(NamedTuple):
    """The references of a trace.

    Attributes:
      passed: how many of the arguments are references.
      outer: the references that the function closes over; their values come after all arguments.
      written: the references among `outer` that it writes.
      begin: structures of the values of `outer` before the call.
      end: structures of the values of all references after it.
    """

    passed: int
    outer: tuple[Any, ...]
    written: tuple[Any, ...]
    begin: tuple[PyTreeDef, ...]
    end: tuple[PyTreeDef, ...]


def structures(refs: Iterable[Any]) -> tuple[PyTreeDef, ...]:
    """Those of the references' values here."""
    return tuple([structure(read(ref)) for ref in refs])


def per_value(rows: Sequence[Any], passed: Mapping[int, PyTreeDef]) -> list[Any]:
    """Rows, one for each leaf of the arguments, as rows for each of their values."""
    return [row for i, row in enumerate(rows) for _ in range(passed[i].num_leaves if i in passed else 1)]


def passed_references(leaves: Sequence[Any], names: Callable[[], Sequence[str]]) -> dict[int, Ref]:
    """The references among a call's leaves, by position.

    Raises:
      UnsupportedError: one was passed twice.
    """
    found = {i: leaf for i, leaf in enumerate(leaves) if type(leaf) in (Ref, Mutable)}
    if len(set(found.values())) < len(found):
        first = {ref: i for i, ref in reversed(found.items())}
        again = next(i for i, ref in found.items() if first[ref] != i)
        rows = [(names()[i], found[i].aval.long(), "") for i in (first[found[again]], again)]
        what = "a reference was passed twice; what is written to one of the arguments would have to change the other"
        raise location.error(errors.UnsupportedError, what, rows, "pass each reference once")
    return found


def all_references(trace: TracedSignature, passed: dict[int, Ref]) -> list[Ref]:
    """The references of a call: those passed, then those that the function closes over.

    Raises:
      UnsupportedError: one is among both.
    """
    assert trace.references is not None, "the trace has references"
    refs = [*passed.values(), *trace.references.outer]
    twice = next((r for r in trace.references.outer if r in set(passed.values())), None)
    if twice is not None:
        raise location.error(
            errors.UnsupportedError,
            f"{trace.name} closes over a reference that was also passed to it",
            [("reference", twice.aval.long(), "")],
            "pass it, or close over it",
        )
    return refs


def write_back(trace: TracedSignature, refs: Sequence[Ref], outs: Sequence[Any]) -> list[Any]:
    """Write the final values to the references, and return the function's own results."""
    assert trace.references is not None, "the trace has references"
    count = trace.out_tree.num_leaves
    values = iter(outs[count:])
    written = {*refs[: trace.references.passed], *trace.references.written}
    for ref, end in zip(refs, trace.references.end):
        value = end.unflatten([next(values) for _ in range(end.num_leaves)])
        if ref in written:
            write(ref, value)
    return list(outs[:count])


def only_called(trace: TracedSignature) -> errors.UnsupportedError:
    """The error for a stage of a program that reads or writes references."""
    return location.error(
        errors.UnsupportedError,
        f"{trace.name} reads or writes references, so it can only be called, not lowered, exported or explained",
        fix="pass the values as arguments, and return the new ones",
    )
