"""The runtime's word for memory that it did not get, in words for users."""

from __future__ import annotations

from collections.abc import Sequence

from stagec.core import errors, location
from stagec.core.aval import ShapedArray


def is_exhausted(error: Exception | str) -> bool:
    """Whether an error of the runtime means that there is no memory."""
    return "RESOURCE_EXHAUSTED" in str(error)


def out_of_memory(name: str, out_avals: Sequence[ShapedArray], error: Exception | str) -> errors.OutOfMemoryError:
    """The error for a program that got no memory."""
    reason = str(error).partition("; while")[0]
    rows = [("results", f"{sum(a.nbytes for a in out_avals):,} bytes: {', '.join(a.long() for a in out_avals)}", "")]
    return location.error(
        errors.OutOfMemoryError,
        f"{name} needs more memory than there is: {reason}",
        rows,
        "compute on parts, as with stagec.lax.map, or in a narrower dtype; stagec.checkpoint keeps less for gradients",
    )
