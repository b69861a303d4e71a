"""The error for an operation of StableHLO that cannot be read or written."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location

_MOST_CHARACTERS = 200


def refusal(op: Any, what: str, fix: str, where: str) -> errors.UnsupportedError:
    """The error for an unsupported operation: it names the line, the operation, and its text.

    Args:
      op: an `ir.Operation`.
      what: what is wrong with it, after its name.
      where: its line; empty if it is unknown.
    """
    text = op.get_asm(binary=True, large_elements_limit=8, skip_regions=True).decode("utf-8", "replace")
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _MOST_CHARACTERS else shown[: _MOST_CHARACTERS - 3] + "..."
    headline = f"{where}: {op.name} {what}" if where else f"{op.name} {what}"
    return location.error(errors.UnsupportedError, headline, [("operation", shown, "")], fix)
