"""A profile as a file in Chrome's trace format, which Perfetto reads too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stagec.core import location
from stagec.profiling.kernels import Measurement
from stagec.runtime.recording import Span

_KERNELS = "kernels, measured in runs of their own"


def events(spans: Sequence[Span], measured: Iterable[Measurement]) -> list[dict[str, Any]]:
    """The events of a trace: a row for each thread, and one for the kernels of each program.

    The kernels are drawn where the program's last run began.
    """
    origin = min((span.start for span in spans), default=0)
    process = os.getpid()
    threads = {name: number for number, name in enumerate(dict.fromkeys(span.thread for span in spans), start=1)}
    found = [_named("process_name", process, 0, "stagec")]
    found += [_named("thread_name", process, number, name) for name, number in threads.items()]
    # A span that encloses others precedes them.
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        details = {name: str(value) for name, value in span.details.items()}
        if span.line is not location.UNKNOWN:
            details["line"] = str(span.line)
        name = span.name if span.kind in ("call", "eager") else f"{span.kind} {span.name}"
        begin, duration = span.start - origin, span.end - span.start
        found.append(_complete(name, span.kind, process, threads[span.thread], begin, duration, details))
    last = {span.name: span.start - origin for span in spans if span.kind == "run"}
    found += _kernels(measured, process + 1, last)
    return found


def _kernels(measured: Iterable[Measurement], process: int, begins: dict[str, int]) -> Iterator[dict[str, Any]]:
    shown = [m for m in measured if m.dispatches]
    if shown:
        yield _named("process_name", process, 0, _KERNELS)
    for number, measurement in enumerate(shown, start=1):
        yield _named("thread_name", process, number, measurement.name)
        lines = {kernel.name: kernel.line for kernel in measurement.kernels}
        for d in measurement.dispatches:
            details = {"line": lines[d.kernel], "workgroups": d.workgroups}
            start = begins[measurement.name] + d.start
            yield _complete(d.kernel, "kernel", process, number, start, d.duration, details)


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _complete(
    name: str, kind: str, process: int, thread: int, start: int, duration: int, details: dict[str, Any]
) -> dict[str, Any]:
    """An event with a duration; the format has microseconds."""
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": process,
        "tid": thread,
        "ts": start / 1e3,
        "dur": duration / 1e3,
        "args": details,
    }
