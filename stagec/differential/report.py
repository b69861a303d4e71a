"""A small program that is computed wrongly, as text and as a Python file that reproduces the difference."""

from __future__ import annotations

import base64
import dataclasses
import io
import textwrap
from typing import Any

import numpy as np

from stagec.api.environment import print_environment_info
from stagec.compiler import build, dump
from stagec.core.graph import Graph, all_equations
from stagec.core.graph_text import format_graph
from stagec.differential.ways import Way

_SCRIPT = '''"""A part of {name}, {way}, for which stagec's results differ from NumPy's.

{outcomes}

Run this file with Python; it needs stagec alone.

{environment}
"""

import base64
import io

import numpy as np

import stagec

PROGRAM = """
{text}"""

# A NumPy archive without Python objects.
INPUTS = np.load(io.BytesIO(base64.b64decode("""
{inputs}
""")), allow_pickle=False)

if __name__ == "__main__":
    stagec.config.update("enable_x64", True)
    program = stagec.jit(stagec.from_stablehlo(PROGRAM), target={target!r}, fast_math={fast_math!r})
    print(stagec.check(program, *[INPUTS[f"arr_{{i}}"] for i in range({count})]))
'''


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """The smallest program that was found to differ in one way of computing.

    Attributes:
      way: the way.
      graph: the program.
      inputs: NumPy's values of its inputs.
      outcomes: what differs, in words.
      name: the function of which it is a part.
      whole: how many operations that function has.
    """

    way: Way
    graph: Graph
    inputs: list[Any]
    outcomes: tuple[str, ...]
    name: str
    whole: int

    def __str__(self) -> str:
        count = len(list(all_equations(self.graph)))
        headline = f"{self.way.name}: {count} of the {self.whole} operations of {self.name} are enough to differ"
        if count == self.whole > 1:
            headline = (
                f"{self.way.name}: no part of the {self.whole} operations of {self.name} differs; the program may "
                "enlarge errors of rounding"
            )
        lines = [headline, *(f"  {outcome}" for outcome in self.outcomes)]
        lines += [f"  {equation.primitive} at {equation.location}" for equation in self.graph.equations[:8]]
        lines += textwrap.indent(format_graph(self.graph), "  ").splitlines()
        return "\n".join(lines)

    def script(self) -> str:
        """A Python file that checks the program on its inputs."""
        options = self.way.options
        module = build.lower_graph(self.graph, options, self.name)
        archive = io.BytesIO()
        np.savez_compressed(archive, *self.inputs, allow_pickle=False)
        outcomes = "\n".join(self.outcomes)
        if options.passes:
            outcomes += "\nIt was compiled with passes of the user's own, which are not in this file."
        return _SCRIPT.format(
            name=self.name,
            way=self.way.name,
            outcomes=outcomes,
            environment=print_environment_info(return_string=True),
            text=dump.module_text(module, locations=False),
            inputs="\n".join(textwrap.wrap(base64.b64encode(archive.getvalue()).decode(), 116)),
            target=str(options.target) if options.target.on.is_host else options.target.backend,
            fast_math=options.fast_math,
            count=len(self.inputs),
        )
