"""The user's lines that the kernels of a compiled program come from."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from passes import printed
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler.driver import prepared, run
from stagec.compiler.flags import CompileOptions
from stagec.compiler.ready import by_flag_set
from stagec.compiler.session import parsed, serialize
from stagec.runtime import interruptible

# The phase after which all dispatches are there.
_PHASE = "flow"


def kernel_lines(
    module: Any, target: Target, kernels: Collection[str], options: CompileOptions, name: str
) -> dict[str, str]:
    """The line, as `file:line`, by the name of each kernel; kernels without a line are left out.

    Args:
      module: what was compiled: StableHLO after the passes, as an `ir.Module`.
      kernels: the names of those that ran, by which the flag set is found that compiled them.
      options: as for `compile_module`.
      name: the program's name in errors.
    """
    source = serialize(module)
    return interruptible.call(lambda: _lines(source, target, kernels, options, name))


def line_of(operation: Any) -> str:
    """The user's line that an operation comes from, as `file:line`; empty where it is not known."""
    line = printed.location(operation.location)
    return "" if line is None else f"{line.file}:{line.line}"


def _lines(
    source: bytes, target: Target, kernels: Collection[str], options: CompileOptions, name: str
) -> dict[str, str]:
    found: dict[str, str] = {}

    def collect(phase: str, module: Any) -> None:
        if phase == _PHASE:
            for operation in operations_in(module, "flow.dispatch"):
                for entry in operation.attributes["entry_points"]:
                    found.setdefault(entry.value[-1], line_of(operation))

    ready = prepared(source, target, name, options)
    for flag_set, formed in by_flag_set(ready, target, options):
        found.clear()
        if flag_set.direct:  # which takes its dispatches as they are
            collect(_PHASE, parsed(formed.source))
        else:
            run(formed.source, flag_set, until=_PHASE, seen=collect)
        if found.keys() >= set(kernels):
            return {kernel: line for kernel, line in found.items() if line}
    return {}
