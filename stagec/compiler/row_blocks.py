"""Programs with an open number of independent rows, as kernels for blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passes import kernels as own_kernels
from passes.kernels import open_columns
from passes.kernels.processor import Processor
from passes.kernels.row_blocks import NoBlocksError, RowBlocks
from stagec.backends import Target
from stagec.compiler import log, ready, session
from stagec.compiler.mlir import ir
from stagec.core import open_graph
from stagec.core.dims_values import symbols
from stagec.core.graph import Graph
from stagec.lowering import row_wise

# The sizes of blocks, of which each computes the rows that the larger ones leave. Each size is one more dispatch for
# each kernel. Products load a matrix once for a block; short rows do not fill the vectors.
_OF_PRODUCTS = (64, 8, 3, 1)
_OF_SHORT_ROWS = (64, 1)
_OF_LONG_ROWS = (1,)
_LONG = 512


def block_sizes(graph: Graph) -> tuple[int, ...]:
    """The sizes of blocks for a program, from large to small."""
    if any(e.primitive.name == "dot_general" for e in graph.equations):
        return _OF_PRODUCTS
    rows = [a.shape[1:] for a in (*graph.in_avals, *graph.out_avals) if a.is_open]
    return _OF_LONG_ROWS if min(map(math.prod, rows)) >= _LONG else _OF_SHORT_ROWS


def formed(module: Any, graph: Graph, target: Target, weights: Sequence[int], optimized: Callable[[Graph], Any]) -> Any:
    """The module of a graph with an open dimension, of kernels for blocks of rows; None if it cannot be computed so.

    Args:
      module: of the graph; it stays as it is.
      weights: the arguments that are the same at each call.
      optimized: returns the module of a graph for static sizes, after the passes.
    """
    size = row_wise.open_size(graph)
    if size is None:
        return None
    (symbol,) = symbols(size)
    settings = ready.pass_options(target)
    try:
        found = RowBlocks(ir().Module.parse(session.serialize(module), module.context))
        for rows in block_sizes(graph):
            if rows <= symbol.upper:
                part = optimized(open_graph.at(graph, {symbol: rows}))
                found.add(own_kernels.formed(part, settings, True, weights)[0], rows)
    except NoBlocksError as error:
        log.event("compile", f"rows are not computed in blocks: {error}")
        return None
    found.finish()
    return found.module


def with_sums(module: Any, target: Target) -> Any:
    """The module with kernels for its sums over an open first axis; it is changed in place."""
    settings = ready.pass_options(target)
    open_columns.form(module, Processor.of(settings.machine, settings.features))
    return module
