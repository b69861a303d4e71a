"""Events of compilation: a ring of the recent ones, and a logger that is quiet by default."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stagec.core.config import LOG_KINDS as KINDS, config

logger = logging.getLogger("stagec")
logger.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Record:
    """One event: its kind, what happened, details by name, and when (seconds since the epoch)."""

    kind: str
    message: str
    fields: dict[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)


_records: deque[Record] = deque(maxlen=1000)
# Called with each event.
listeners: list[Callable[[Record], None]] = []


class _StderrHandler(logging.Handler):
    """Writes to the current `sys.stderr`, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:
            self.handleError(record)


_handler = _StderrHandler()
_handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d stagec %(message)s", "%H:%M:%S"))


def enabled(kind: str) -> bool:
    """Whether events of this kind are printed (`STAGEC_LOG=compile,cache` or `all`)."""
    words = str(config.log).replace(",", " ").split()
    return kind in words or "all" in words


def event(kind: str, message: str, **fields: Any) -> None:
    """Record that something happened; print it to stderr if `config.log` asks for its kind.

    Args:
      kind: `trace`, `lower`, `compile`, `cache` or `tier`.
      message: what happened, a short phrase.
      fields: details; numbers and strings.

    >>> event("compile", "compiled", name="f", seconds=0.2)
    >>> records("compile")[-1].fields["name"]
    'f'
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of event named {kind!r}; kinds are {', '.join(KINDS)}")
    record = Record(kind, message, fields)
    _records.append(record)
    for listen in listeners:
        listen(record)
    printed = enabled(kind)
    if not printed and not logger.isEnabledFor(logging.INFO):
        return
    details = " ".join(f"{name}={_short(value)}" for name, value in fields.items())
    line = logger.makeRecord(logger.name, logging.INFO, "stagec", 0, f"{kind}: {message} {details}".rstrip(), (), None)
    if logger.isEnabledFor(logging.INFO):
        logger.handle(line)
    if printed:
        _handler.handle(line)


def records(kind: str | None = None) -> list[Record]:
    """The last 1000 events, oldest first, of one kind or of all."""
    return [record for record in list(_records) if kind is None or record.kind == kind]


def clear() -> None:
    """Forget the recorded events."""
    _records.clear()


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
