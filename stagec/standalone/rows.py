"""Functions for any number of rows: which these are, and the numbers of rows that they compute at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stagec.compiler.row_blocks import block_sizes
from stagec.core import dims
from stagec.core.aval import ShapedArray
from stagec.core.dims_terms import Symbol
from stagec.core.dims_values import symbols
from stagec.core.graph import Graph
from stagec.core.location import UNKNOWN, Location
from stagec.core.open_graph import is_open
from stagec.lowering import row_wise
from stagec.standalone.forming import refused

# The elements of an array in the largest blocks, and the most rows: so that calls of kernels, and the threads that
# share one, take little of the time.
_ELEMENTS, _MOST = 1 << 16, 1 << 12


def counted(name: str, graph: Graph, arrays: Sequence[tuple[str, ShapedArray]]) -> Symbol | None:
    """The number of rows, a size that is known only at a call; None if all sizes are known.

    Args:
      name: the function's, in messages.
      arrays: the names and avals of its arguments and results.

    Raises:
      UnsupportedError: the rows are not independent, or other sizes are open.
    """
    found = symbols([aval.shape for _, aval in arrays])
    if not found:
        return None
    if len(found) > 1:
        raise _refused(name, f"the sizes {' and '.join(map(str, found))} are known only when it is called")
    for label, aval in arrays:
        if aval.is_open and (str(aval.shape[0]) != found[0].name or any(map(dims.is_open, aval.shape[1:]))):
            raise _refused(name, f"{label} is {aval.short()}, where {found[0]} is not the number of rows")
    obstacle = row_wise.obstacle(graph, alone=True) if is_open(graph) else None
    if obstacle is not None:
        reason, line = obstacle
        raise _refused(name, f"{found[0]} is known only when it is called, and {reason}", line)
    return found[0]


def _refused(name: str, reason: str, line: Location = UNKNOWN) -> Exception:
    fix = "export it for sizes that are numbers, or leave nothing open but the number of independent rows"
    return refused(name, reason, fix, line)


def blocks(graph: Graph, symbol: Symbol) -> tuple[int, ...]:
    """The numbers of rows that are computed at once, from large to small."""
    avals = [*graph.in_avals, *(v.aval for e in graph.equations for v in e.outputs)]
    longest = max([math.prod(a.shape[1:]) for a in avals if a.is_open], default=1)
    sizes = block_sizes(graph) if avals else (1,)
    large = min(_MOST, _ELEMENTS // max(1, longest)) // sizes[0] * sizes[0]
    return tuple([rows for rows in dict.fromkeys((large, *sizes)) if 0 < rows <= symbol.upper])
