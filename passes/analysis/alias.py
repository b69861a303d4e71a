"""Which arguments' memory a compiled program may give back as a result."""

from __future__ import annotations

from typing import Any

from passes.analysis.clobber import Flow
from passes.match import functions


def returned_arguments(module: Any, function: str = "main") -> tuple[int, ...]:
    """Indices of a function's arguments that a result may share its memory with.

    Errs on the safe side, as `clobbered_arguments` does: an argument that is
    not listed is never behind a result.
    """
    flow = Flow(functions(module))
    flow.clobbered(function)
    last = list(flow.functions[function].regions[0].blocks[0].operations)[-1].operation
    return tuple(sorted(flow.union(last.operands)))
