"""`stagec.profile`: where the time of calls goes, and how long each kernel takes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from stagec.compiler import log
from stagec.core import errors, location
from stagec.profiling import chrome
from stagec.profiling.kernels import Kernel, Measurement, measured
from stagec.runtime import recording
from stagec.runtime.recording import Recording, Span

# The parts of a call, in the order of the table's columns. Lowering and the passes belong to the compile.
PARTS = ("trace", "compile", "cache", "transfer", "run")
_IN_COMPILE = ("lower", "passes", "compile")


@dataclass(frozen=True)
class Row:
    """What the calls of one function took; of what happens outside of calls, the row of a program or operation.

    Attributes:
      kind: `call`, or `eager` for operations outside `jit`; else the kind of the spans.
      name: the function.
      count: the number of calls.
      seconds: of all calls together.
      parts: the seconds of each of `PARTS`.
      arguments, results: bytes that its programs read and returned.
    """

    kind: str
    name: str
    count: int
    seconds: float
    parts: dict[str, float]
    arguments: int
    results: int

    @property
    def rest(self) -> float:
        """What remains of the seconds: the work of Python around the parts."""
        return max(0.0, self.seconds - sum(self.parts.values()))


class profile:
    """Record the calls of a block: what each spent its time on, and the time of each kernel.

    While a block is recorded, each call waits until its results are there, and calls of any thread are recorded.

    Args:
      kernels: measure the kernels of the programs that ran, when the block ends. Each program runs several times more
        for it, in a process of its own, with the arguments of its first run, which are kept until then.

    Raises:
      StagecError: another block is being recorded, or this profile has recorded one.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def norm(x):
    ...     return snp.sqrt(snp.sum(x * x))
    >>> with stagec.profile() as found:
    ...     for _ in range(3):
    ...         _ = norm(snp.ones(100_000))
    >>> [row.count for row in found.calls if row.name == "norm"]
    [3]
    >>> all(kernel.seconds > 0 for kernel in found.kernels)
    True
    """

    def __init__(self, kernels: bool = True) -> None:
        self._recording = Recording(keeps=kernels)
        self._measures = kernels
        self._measured: tuple[Measurement, ...] = ()

    def __enter__(self) -> profile:
        if self._recording.spans:
            raise location.error(
                errors.StagecError, "a profile records one block", fix="make another for each block: stagec.profile()"
            )
        if not recording.begin(self._recording):
            raise location.error(
                errors.StagecError, "another block is being profiled", fix="profile the outer block alone"
            )
        log.listeners.append(self._note)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        log.listeners.remove(self._note)
        recording.end(self._recording)
        programs = list(self._recording.programs.values())
        # What ran in vain is not measured.
        if self._measures and error is None:
            self._measured = tuple(measured(runs) for runs in programs)
        self._recording.programs.clear()
        self._recording.codes.clear()

    def _note(self, event: log.Record) -> None:
        """Record an event of a compile, which has just ended."""
        end, fields = time.perf_counter_ns(), dict(event.fields)
        seconds = fields.pop("seconds", None)
        if seconds is None:
            return
        name = fields.pop("name", event.message.partition(":")[0])
        passes = fields.pop("passes_seconds", 0.0)
        if passes:
            self._recording.add("passes", name, end - int(passes * 1e9), end)
            end -= int(passes * 1e9)
        self._recording.add(event.kind, name, end - int(seconds * 1e9), end, **fields)

    @property
    def spans(self) -> list[Span]:
        """All that was recorded."""
        return list(self._recording.spans)

    @property
    def calls(self) -> list[Row]:
        """What each function spent, the costliest first."""
        groups: dict[tuple[str, str], list[Span]] = {}
        for span in self.spans:
            outer = span if span.call is None else span.call
            while outer.call is not None:
                outer = outer.call
            groups.setdefault((outer.kind, outer.name), []).append(span)
        return sorted((_row(*key, found) for key, found in groups.items()), key=lambda row: -row.seconds)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of the programs that ran, those first that took most of the time."""
        found = [kernel for measurement in self._measured for kernel in measurement.kernels]
        return sorted(found, key=lambda kernel: -kernel.total)

    @property
    def unmeasured(self) -> dict[str, str]:
        """Why kernels were not measured, by the names of the programs."""
        return {m.name: m.missing for m in self._measured if m.missing}

    def table(self, limit: int = 30) -> str:
        """The calls and the kernels as text.

        Args:
          limit: the number of rows of each table.
        """
        parts = [_calls_table(self.calls, limit)]
        if self.kernels:
            parts.append(_kernels_table(self.kernels, limit))
        parts += [f"kernels of {name} were not measured: {why}" for name, why in self.unmeasured.items()]
        return "\n\n".join(parts)

    def save(self, path: Any) -> None:
        """Write a trace that Perfetto (ui.perfetto.dev) and `chrome://tracing` show.

        Args:
          path: a file name; by custom it ends in `.json`.

        Raises:
          OSError: the file cannot be written.
        """
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": chrome.events(self.spans, self._measured), "displayTimeUnit": "ms"}, file)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        count = sum(row.count for row in self.calls)
        return f"<stagec.profile of {count} call{'s' if count != 1 else ''}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the tables where IPython displays it: in notebooks, and in its shell."""
        printer.text(self.table())


def _row(kind: str, name: str, spans: Sequence[Span]) -> Row:
    outer = [span for span in spans if span.call is None]
    parts = dict.fromkeys(PARTS, 0.0)
    for span in spans:
        part = "compile" if span.kind in _IN_COMPILE else span.kind
        if part in parts:
            parts[part] += span.seconds
    runs = [span.details for span in spans if span.kind == "run"]
    return Row(
        kind,
        name,
        len(outer),
        sum(span.seconds for span in outer),
        parts,
        sum(run["arguments"] for run in runs),
        sum(run["results"] for run in runs),
    )


def _calls_table(rows: Sequence[Row], limit: int) -> str:
    head = ("", "count", *PARTS, "rest", "total", "bytes in", "bytes out")
    cells: list[tuple[str, ...]] = [head]
    for row in rows[:limit]:
        shown = row.name if row.kind == "call" else f"{row.name} ({row.kind})"
        times = [_seconds(row.parts[part]) for part in PARTS]
        sizes = (_bytes(row.arguments), _bytes(row.results))
        cells.append((shown, str(row.count), *times, _seconds(row.rest), _seconds(row.seconds), *sizes))
    return _aligned(cells) + _left_out(len(rows), limit)


def _kernels_table(kernels: Sequence[Kernel], limit: int) -> str:
    whole = sum(kernel.total for kernel in kernels) or 1.0
    cells: list[tuple[str, ...]] = [("kernel", "share", "per run", "launches", "runs", "program", "line")]
    for k in kernels[:limit]:
        share = f"{100 * k.total / whole:.1f} %"
        cells.append((k.name, share, _seconds(k.seconds), str(k.launches), str(k.runs), k.program, _brief(k.line)))
    return _aligned(cells, left=("program", "line")) + _left_out(len(kernels), limit)


def _brief(line: str) -> str:
    """A line as `file.py:3  its text`."""
    file, _, number = line.rpartition(":")
    if not file:
        return ""
    found = location.Location(file, int(number), "")
    return f"{found.brief()}  {found.source()}".rstrip()


def _left_out(count: int, limit: int) -> str:
    return f"\n... and {count - limit} more" if count > limit else ""


def _aligned(rows: Sequence[tuple[str, ...]], left: Iterable[str] = ()) -> str:
    """A table; numbers are aligned to the right, the first column and those named to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    to_left = [i == 0 or name in left for i, name in enumerate(rows[0])]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if on_left else c.rjust(w) for c, w, on_left in zip(row, widths, to_left)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _seconds(value: float) -> str:
    """A duration with its unit; empty for none."""
    if not value:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.0f} ns"


def _bytes(count: int) -> str:
    if not count:
        return ""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
