"""Turns failed allocations of the runtime into `OutOfMemoryError`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stagec.core import errors, location
from stagec.core.aval import ShapedArray

# After a location in the runtime's sources: the message of a callback's own error may contain the word, too.
_EXHAUSTED = re.compile(r"\.cc?:\d+: RESOURCE_EXHAUSTED")


def is_exhausted(message: str) -> bool:
    """Whether a message of the runtime means that there is no memory."""
    return _EXHAUSTED.search(message) is not None


def check_memory(name: str, out_avals: Sequence[ShapedArray], error: RuntimeError) -> None:
    """Raise OutOfMemoryError if the runtime's error says that a program got no memory.

    Errors of callbacks, and of programs that they call, are of other classes or have other messages.
    """
    if type(error) is not RuntimeError or not is_exhausted(str(error)):
        return
    reason = str(error).partition("; while")[0]
    rows = [("results", f"{sum(a.nbytes for a in out_avals):,} bytes: {', '.join(a.long() for a in out_avals)}", "")]
    raise location.error(
        errors.OutOfMemoryError,
        f"{name} needs more memory than there is: {reason}",
        rows,
        "compute on parts, as with stagec.lax.map, or in a narrower dtype; stagec.checkpoint keeps less for gradients",
    ) from None
