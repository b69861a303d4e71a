"""Times of the kernels of a program, by the runtime's own instrumentation.

The runtime records the begin and the end of each dispatch, but its Python bindings have no way to read that. Its tool
`iree-benchmark-module`, which is in the same package, can write the record to a file. So the program runs again in a
process of the tool, with the arguments of its first run. Where several kernels are one dispatch, it is compiled again
with a dispatch for each.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagec.api.program import GraphCode
from stagec.compiler import build, mlir
from stagec.compiler.direct.parts import PERSISTENT
from stagec.core import dtypes
from stagec.runtime.device import binding, runtime_flags
from stagec.runtime.executable import Executable
from stagec.runtime.recording import Runs

# Of `--device_profiling_mode`, by whether kernels run on the host.
_MODES = {True: "host-execution", False: "dispatch-events"}
# A program is measured in this number of runs, or as many as fit into some seconds.
_MOST_RUNS = 20
_SECONDS = 0.5
_LONGEST_SECONDS = 600


@dataclass(frozen=True)
class Dispatch:
    """One launch of a kernel: when it began after the run of the program, and how long it took, in nanoseconds."""

    kernel: str
    start: int
    duration: int
    workgroups: int


@dataclass(frozen=True)
class Kernel:
    """A kernel of a program.

    Attributes:
      name: as the compiler calls it.
      program: the name of the function that was compiled.
      line: the user's line, as `file:line`; empty where it is not known.
      launches: how often it is launched in one run of the program.
      seconds: the time of all its launches in one run, the median of several.
      runs: how often the program ran in the profile.
    """

    name: str
    program: str
    line: str
    launches: int
    seconds: float
    runs: int

    @property
    def total(self) -> float:
        """The seconds that it took in all runs of the profile, if each was like those measured."""
        return self.seconds * self.runs


@dataclass(frozen=True)
class Measurement:
    """The kernels of one program.

    Attributes:
      name: the program's.
      kernels: in the order of their first launches.
      dispatches: the launches of one run.
      missing: why they could not be measured, if so.
    """

    name: str
    kernels: tuple[Kernel, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    missing: str = ""


def measured(runs: Runs) -> Measurement:
    """Measure the kernels of a program that ran."""
    executable = runs.executable
    try:
        dispatched = _runs(executable, executable.payload, runs.arguments or [], _count(runs))
        if isinstance(runs.code, GraphCode) and any(d.kernel.startswith(PERSISTENT) for d in dispatched[0]):
            apart = _with_a_dispatch_for_each(runs.code, executable.name)
            dispatched = _runs(executable, apart, runs.arguments or [], _count(runs))
    except _CannotMeasureError as error:
        return Measurement(executable.name, missing=str(error))
    counted = dispatched[1:] or dispatched  # not the first run, in which memory is touched for the first time
    first = counted[0]
    names = list(dict.fromkeys(d.kernel for d in first))
    lines = _lines(runs.code, names, executable.name)
    kernels = [
        Kernel(
            name,
            executable.name,
            lines.get(name, ""),
            sum(d.kernel == name for d in first),
            statistics.median(_seconds(run, name) for run in counted),
            len(runs.spans),
        )
        for name in names
    ]
    return Measurement(executable.name, tuple(kernels), tuple(first))


def _seconds(run: Iterable[Dispatch], kernel: str) -> float:
    return sum(d.duration for d in run if d.kernel == kernel) / 1e9


class _CannotMeasureError(Exception):
    """The runtime's tool cannot run the program; the argument says why."""


def _count(runs: Runs) -> int:
    """How often to run the program: once if it writes to its arguments, which the tool does not renew."""
    executable = runs.executable
    if executable.mutated or executable.in_place:
        return 1
    longest = max(span.seconds for span in runs.spans) if runs.spans else _SECONDS
    return max(2, min(_MOST_RUNS, int(_SECONDS / max(longest, 1e-6))))


def _runs(executable: Executable, payload: Any, arguments: Sequence[Any], count: int) -> list[list[Dispatch]]:
    """The dispatches of each of several runs in a process of the runtime's tool."""
    device = executable.device
    if executable.calls_python:
        raise _CannotMeasureError("it calls Python, which the runtime's tool cannot")
    if not device.backend.has_instrumentation:
        raise _CannotMeasureError(f"the runtime does not instrument {device.platform}")
    with tempfile.TemporaryDirectory(prefix="stagec-profile-") as folder:
        module, record = os.path.join(folder, "program.vmfb"), os.path.join(folder, "record.ireeprof")
        with open(module, "wb") as file:
            file.write(payload)
        inputs = [_written(folder, i, np.asarray(a)) for i, a in enumerate(arguments)]
        _tool(
            "iree-benchmark-module",
            f"--module={module}",
            "--function=main",
            f"--device={device.address(executable.driver)}",
            f"--benchmark_min_time={count}x",
            f"--device_profiling_mode={_MODES[device.is_cpu]}",
            f"--device_profiling_output={record}",
            *runtime_flags(),
            *inputs,
        )
        text = _tool("iree-profile", "export", "--format=ireeperf-jsonl", "--output=-", record)
    found = _dispatches(text)
    size, rest = divmod(len(found), count)
    if rest:
        raise _CannotMeasureError(f"{len(found)} launches in {count} runs: not all runs are alike")
    runs = [found[n * size : (n + 1) * size] for n in range(count)]
    return [_from_its_begin(run) for run in runs]


def _with_a_dispatch_for_each(code: GraphCode, name: str) -> bytes:
    """A program in which each kernel has a dispatch of its own."""
    return build.compile_graph(code.graph, replace(code.options, joins=False), name, code.used_names)[0]


def _from_its_begin(run: list[Dispatch]) -> list[Dispatch]:
    begin = min((d.start for d in run), default=0)
    return [Dispatch(d.kernel, d.start - begin, d.duration, d.workgroups) for d in run]


def _dispatches(text: str) -> list[Dispatch]:
    """The launches of kernels in a record that was exported, in their order."""
    names: dict[tuple[int, int], str] = {}
    found: list[Dispatch] = []
    for line in text.splitlines():
        row = json.loads(line)
        kind = row["record_type"]
        if kind == "executable_function":
            names[row["executable_id"], row["function_ordinal"]] = row["name"]
        elif (kind == "host_execution_event" and row["op"] == "dispatch") or kind == "dispatch_event":
            start = row["start_host_time_ns"] if kind == "host_execution_event" else row["start_tick"]
            kernel = names[row["executable_id"], row["function_ordinal"]]
            x, y, z = row["workgroup_count"]
            found.append(Dispatch(kernel, start, row["duration_ns"], x * y * z))
    return sorted(found, key=lambda d: d.start)


def _written(folder: str, number: int, array: np.ndarray[Any, Any]) -> str:
    """Write an argument to a file; returns the tool's flag for it."""
    path = os.path.join(folder, f"argument{number}.npy")
    if array.dtype.kind == "c":  # for which the tool has no name
        np.save(path, array)
        return f"--input=@{path}"
    with open(path, "wb") as file:
        file.write(np.ascontiguousarray(array).tobytes())
    return f"--input={'x'.join([*map(str, array.shape), _element(array.dtype)])}=@{path}"


def _element(dtype: np.dtype[Any]) -> str:
    """The runtime's name of an element type."""
    if dtype == dtypes.bool_ or dtype in dtypes.SMALL:
        return "i8"
    if dtype == dtypes.bfloat16:
        return "bf16"
    return f"{'f' if dtype.kind == 'f' else 'i'}{dtype.itemsize * 8}"


def _tool(name: str, *arguments: str) -> str:
    path = os.path.join(os.path.dirname(binding().__file__), name)
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_LONGEST_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _CannotMeasureError(f"{name}: {error}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "WARNING" not in line]
        raise _CannotMeasureError(f"{name}: {said[-1].strip() if said else f'exit code {done.returncode}'}")
    return done.stdout


def _lines(code: Any, kernels: Sequence[str], name: str) -> dict[str, str]:
    """The user's lines of kernels; none for a program that was loaded from a file."""
    if not isinstance(code, GraphCode) or not kernels:
        return {}
    mlir.load()
    from stagec.compiler import stages  # needs the compiler's library

    options = code.options
    graph = build.limited_graph(code.graph, options) or code.graph
    module = build.lower_graph(graph, options, name, code.used_names)
    build.optimize(module, options)
    module = build.with_open_kernels(module, graph, options, name, code.used_names)
    return stages.kernel_lines(module, options.target, kernels, options.of_compiler(), name)
