"""What the page of `stagec view` shows: the texts of all stages, and the user's lines that their rows come from."""

from __future__ import annotations

import ast
import linecache
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from passes import printed, verdicts
from passes.errors import shown_file
from passes.patterns import Pattern
from stagec.api.jit import JitFunction
from stagec.api.stages import Lowered
from stagec.compiler import build, dump, stages
from stagec.core.dims import is_open
from stagec.core.dims_terms import Size
from stagec.core.graph_text import format_graph
from stagec.profiling.profile import profile
from stagec.viewing import code
from stagec.viewing.code import Row

T = TypeVar("T")

# The phase after which all dispatches are there.
_DISPATCHES = "flow"
# Rows around a line of a file that is not Python, or that no definition holds.
_AROUND = 5
# Separates a graph's equation from its line, as no text does.
_MARK = "\0"


def gather(
    function: JitFunction[..., Any], args: Sequence[Any], kwargs: dict[str, Any], run: Callable[[], profile] | None
) -> Any:
    """The data of a page, as JSON; None if the function computes nothing.

    Args:
      args, kwargs: of the function; shapes and dtypes are enough.
      run: returns the profile of a run, for the kernels' shares of time. It is called after the function is traced.

    Raises:
      CompileError: the function does not compile.
    """
    steps: list[tuple[str, float]] = []
    lowered = _timed(steps, "trace", lambda: function.trace(*args, **kwargs).lower())
    runnable = lowered._runnable
    if runnable.trivial:
        return None
    ran = None if run is None else run()
    options, name = runnable.code.options, lowered._trace.name
    module = _timed(steps, "lower", lowered.compiler_ir)
    before = dump.module_text(module)
    laws = _Laws()
    report = build.optimize(module, options, laws.passed, laws.rewrote)
    steps += [(f"pass {record.name}", record.seconds) for record in report.records]
    after = dump.module_text(module)
    module = build.with_open_kernels(module, runnable.code.graph, options, name, runnable.code.used_names)
    followed = stages.followed(module, options.target, _DISPATCHES, options.of_compiler(), name)
    steps += followed.phases
    kernels: dict[str, list[str]] = {}
    for launch in followed.launches:
        kernels.setdefault(launch.kernel, []).extend([launch.line] if launch.line else [])
    panes = [
        ("graph", "Graph", _graph_rows(lowered)),
        ("stablehlo", "StableHLO", _mlir_rows(before)),
        ("optimized", "After the passes", _mlir_rows(after)),
        ("dispatches", "Dispatches", _mlir_rows(followed.text)),
        ("llvm", "LLVM IR", code.of_llvm(followed.code, kernels)),
        ("assembly", "Assembly", code.of_assembly(followed.assembly, kernels)),
    ]
    panes = [pane for pane in panes if pane[2]]
    named = {key for _, _, rows in panes for _, keys in rows for key in keys}
    return {
        "title": repr(lowered).removeprefix("<stagec.Lowered ").removesuffix(">"),
        "name": name,
        "flags": followed.flags,
        "panes": [_source(named), *({"id": i, "title": t, "rows": rows} for i, t, rows in panes)],
        "passes": [
            {"name": r.name, "seconds": r.seconds, "before": r.ops_before, "after": r.ops_after, "hits": dict(r.hits)}
            for r in report.records
        ],
        "timeline": [{"name": step, "seconds": seconds} for step, seconds in steps],
        "laws": laws.rows,
        "plan": _plan(followed.plan, named),
        "kernels": [] if ran is None else [_kernel(k) for k in ran.kernels],
        "unmeasured": [] if ran is None else [f"{n}: {why}" for n, why in ran.unmeasured.items()],
        "buffers": _buffers(lowered, followed),
    }


class _Laws:
    """What the passes rewrote: each law, whether it is proven, the lines of the operation, and what came in its place.

    Attributes:
      rows: in order, as JSON.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._known = 0

    def rewrote(self, law: Pattern, operation: Any, made: Sequence[Any]) -> None:
        keys = [f"{at.file}:{at.line}" for at in printed.lines(operation.location)]
        after = ", ".join(map(_kind, made)) or "what it read"
        row = {"law": law.name, "keys": keys, "before": _kind(operation), "after": after}
        self.rows.append({**row, "known": verdicts.described(law)})

    def passed(self, name: str, module: Any) -> None:
        for row in self.rows[self._known :]:
            row["pass"] = name
        self._known = len(self.rows)


def _kind(operation: Any) -> str:
    types = ", ".join(str(result.type).removeprefix("tensor<").removesuffix(">") for result in operation.results)
    return f"{operation.name.removeprefix('stablehlo.')} {types}"


_DECISION = re.compile(r"// ([^(]+?)(?: \(([^()]*):(\d+)\))?: (.*)")


def _plan(lines: Iterable[str], named: Iterable[str]) -> list[dict[str, str]]:
    """What the plan of the kernels says, with the user's line if it is one of those that are shown."""
    known = {f"{shown_file(file)}:{at}": key for key in named for file, _, at in [key.rpartition(":")]}
    found = filter(None, map(_DECISION.fullmatch, lines))
    return [{"line": known.get(f"{d[2]}:{d[3]}", ""), "text": f"{d[1]}: {d[4]}"} for d in found]


def _timed(steps: list[tuple[str, float]], step: str, work: Callable[[], T]) -> T:
    """The result of `work()`, whose seconds are added to the steps."""
    started = time.perf_counter()
    result = work()
    steps.append((step, time.perf_counter() - started))
    return result


def _graph_rows(lowered: Lowered) -> list[Row]:
    trace = lowered._trace
    text = format_graph(trace.graph, len(trace.captured), lambda at: f"{_MARK}{at.file}:{at.line}")
    rows = [row.partition(_MARK) for row in text.splitlines()]
    return [(shown, (key,) if key else ()) for shown, _, key in rows]


def _mlir_rows(text: str) -> list[Row]:
    rows = [(row, tuple(dict.fromkeys(f"{at.file}:{at.line}" for at in lines))) for row, lines in printed.located(text)]
    while rows and not rows[-1][0].strip():
        rows.pop()
    shown = _sources({key for _, keys in rows for key in keys})
    return [(row, tuple(key for key in keys if key in shown)) for row, keys in rows]


def _sources(keys: Iterable[str]) -> set[str]:
    """The lines that can be shown; the kernels that stagec writes have lines of texts that are not files."""
    split = {key: key.rpartition(":") for key in keys}
    # Each file once: one that does not exist is looked for in all folders of modules.
    lengths = {file: len(linecache.getlines(file)) for file in {file for file, _, _ in split.values()}}
    return {key for key, (file, _, number) in split.items() if 0 < int(number) <= lengths[file]}


def _source(keys: Iterable[str]) -> dict[str, Any]:
    """The pane with the user's source: of each file, the definitions that hold one of the lines."""
    lines: dict[str, set[int]] = {}
    for key in sorted(_sources(keys)):
        file, _, at = key.rpartition(":")
        lines.setdefault(file, set()).add(int(at))
    rows: list[Any] = []
    for file, numbers in lines.items():
        rows.append((os.path.relpath(file) if os.path.isabs(file) else file, (), ""))
        text = linecache.getlines(file)
        last = 0
        for number in sorted(_shown(text, numbers)):
            if last and number != last + 1:
                rows.append(("...", (), ""))
            rows.append((text[number - 1].rstrip("\n"), (f"{file}:{number}",), number))
            last = number
    return {"id": "source", "title": "Python", "rows": rows}


def _shown(text: Sequence[str], numbers: set[int]) -> set[int]:
    """The numbers of the rows of a file that are shown: those of the outermost functions and classes around lines."""
    try:
        body = ast.parse("".join(text)).body
    except SyntaxError:
        body = []
    spans = [_span(node) for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    found: set[int] = set()
    for number in numbers:
        around = (max(1, number - _AROUND), min(len(text), number + _AROUND))
        first, last = next((span for span in spans if span[0] <= number <= span[1]), around)
        found.update(range(first, last + 1))
    return found


def _span(node: Any) -> tuple[int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno


def _kernel(kernel: Any) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "line": kernel.line,
        "launches": kernel.launches,
        "seconds": kernel.seconds,
    }


def _buffers(lowered: Lowered, followed: stages.Followed) -> list[dict[str, Any]]:
    """The sizes of arguments, of results, and of what dispatches return."""
    trace = lowered._trace
    hidden = len(trace.captured)
    names = [f"captured {i}" for i in range(hidden)] + list(trace.leaf_names)
    found = [_buffer("argument", n, a.short(), a.nbytes) for n, a in zip(names, trace.graph.in_avals)]
    found += [_buffer("result", "", a.short(), a.nbytes) for a in trace.graph.out_avals]
    for launch in followed.launches:
        found += [_buffer("dispatch", launch.kernel, t, size, launch.line) for t, size in launch.results]
    return found


def _buffer(kind: str, name: str, shape: str, size: Size | None, line: str = "") -> dict[str, Any]:
    """A row; the size of an open dimension is shown as text."""
    return {"kind": kind, "name": name, "type": shape, "bytes": str(size) if is_open(size) else size, "line": line}
