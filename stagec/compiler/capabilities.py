"""What targets cannot do, and the error that says so before anything is compiled.

What a target merely lacks an operation for is rewritten (`passes.legalize`);
here is what no rewriting gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stagec.compiler.targets import Target
from stagec.core.aval import ShapedArray
from stagec.core.errors import UnsupportedError, message
from stagec.core.graph import Equation, Graph, all_equations, inner_graphs


@dataclass(frozen=True)
class Gap:
    """Something that some targets cannot do.

    Attributes:
      targets: a regular expression that their descriptions match as a whole.
      dtypes: names of the dtypes that it is about.
      primitives: names of the operations that it is about; all of them if empty.
      reason: ends the sentence that begins with the operation, the dtype and the target.
      fix: what the user can do.
    """

    targets: str
    dtypes: tuple[str, ...]
    primitives: tuple[str, ...]
    reason: str
    fix: str

    def concerns(self, target: Target) -> bool:
        """Whether it is a gap of this target."""
        return re.fullmatch(self.targets, str(target)) is not None

    def covers(self, primitive: str, avals: list[ShapedArray]) -> ShapedArray | None:
        """The first of an operation's operands and results that the target cannot do it for."""
        if self.primitives and primitive not in self.primitives:
            return None
        return next((a for a in avals if str(a.dtype) in self.dtypes), None)


GAPS: tuple[Gap, ...] = (
    Gap(
        r"vulkan:(portable|valhall\d?|mali-g(57|78|310|510|710|715))",
        ("float64", "complex128"),
        (),
        "which has no 64-bit floats",
        "compute in float32 or complex64, or run this function on the CPU: stagec.jit(f, device='cpu')",
    ),
)


def has_dtype(target: Target, dtype: str) -> bool:
    """Whether a target computes in a dtype at all.

    >>> has_dtype(Target.parse("vulkan:portable"), "float64"), has_dtype(Target.parse("vulkan:ada"), "float64")
    (False, True)
    """
    return not any(dtype in gap.dtypes and not gap.primitives and gap.concerns(target) for gap in GAPS)


def check(graph: Graph, target: Target) -> None:
    """Refuse a program that the target cannot run.

    Raises:
      UnsupportedError: it names the operation, the dtype, the target and the user's line.
    """
    for gap in GAPS:
        if gap.concerns(target):
            _check(graph, target, gap)


def _check(graph: Graph, target: Target, gap: Gap) -> None:
    found = list(_uses(graph, gap))
    if not found:
        return
    # A loop's own equation has the dtypes of its body; the line inside the body says more.
    equation, aval = next((f for f in found if not any(True for _ in inner_graphs(f[0]))), found[0])
    name = equation.primitive.name
    rows = [(f"operand {i}", a.aval.long(), "") for i, a in enumerate(equation.inputs)]
    rows += [("result", v.aval.long(), "") for v in equation.outputs]
    what = f"{name} of {aval.dtype} does not exist on {target}, {gap.reason}"
    raise UnsupportedError(message(what, str(equation.location), rows, gap.fix))


def _uses(graph: Graph, gap: Gap) -> Iterator[tuple[Equation, ShapedArray]]:
    for equation in all_equations(graph):
        aval = gap.covers(equation.primitive.name, [a.aval for a in (*equation.inputs, *equation.outputs)])
        if aval is not None:
            yield equation, aval
