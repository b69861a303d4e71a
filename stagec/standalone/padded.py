"""Programs for all sizes up to some: arrays are padded to these, and operations take no notice of the padding.

The elements at the end of an open axis have no defined values. An operation that reads along such an axis gets them
replaced by what does not change its result, such as zeros in a sum; of all others, they remain among the padding.
"""

from __future__ import annotations

from collections.abc import Mapping

from stagec.core import dims, open_graph
from stagec.core.dims_terms import Symbol
from stagec.core.graph import Graph
from stagec.core.recording import trace_closed
from stagec.standalone.padded_rules import RULES
from stagec.standalone.padded_steps import NUMBER, UnpaddedError, grows, of_graph


def padded(graph: Graph, values: Mapping[Symbol, int], name: str) -> Graph:
    """The graph for arguments that are padded to some sizes; the numbers of the sizes follow, as int32.

    Args:
      graph: it has no other open sizes.
      name: the function's, in messages.

    Raises:
      UnpaddedError: an operation has no form for this.
    """
    _check_sizes(graph)
    function = of_graph(graph, tuple(values), values, RULES)
    return trace_closed(function, [*open_graph.at(graph, values).in_avals, *[NUMBER] * len(values)], name=name)


def _check_sizes(graph: Graph) -> None:
    """Check that the sizes grow with their symbols, so that padded arrays have room for smaller ones."""
    for size, line in open_graph.sizes(graph).items():
        if not dims.is_whole(size):
            raise UnpaddedError(f"the size {size} may be no whole number", line)
        if not dims.is_positive(size):
            raise UnpaddedError(f"the size {size} may be 0", line)
        if not grows(size):
            raise UnpaddedError(f"the size {size} may shrink where others grow", line)
