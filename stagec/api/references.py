"""References in jitted functions: their values are arguments of the program, and their final values are results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stagec.core import errors, location
from stagec.primitives.references import Ref, write

if TYPE_CHECKING:
    from stagec.api.traces import TracedSignature


class TracedReferences(NamedTuple):
    """The references of a trace.

    Attributes:
      passed: how many of the arguments are references.
      outer: the references that the function closes over; their values come after all arguments.
      written: the references among `outer` that it writes.
    """

    passed: int
    outer: tuple[Ref, ...]
    written: tuple[Ref, ...]


def passed_references(leaves: Sequence[Any], names: Callable[[], Sequence[str]]) -> dict[int, Ref]:
    """The references among a call's leaves, by position.

    Raises:
      UnsupportedError: one was passed twice.
    """
    found = {i: leaf for i, leaf in enumerate(leaves) if type(leaf) is Ref}
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
    count = len(outs) - len(refs)
    written = {*refs[: trace.references.passed], *trace.references.written}
    for ref, value in zip(refs, outs[count:]):
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
