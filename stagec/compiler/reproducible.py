"""What keeps a program from having the same bits on all processors."""

from __future__ import annotations

from passes import printed
from stagec.backends import Target
from stagec.core import location
from stagec.core.errors import UnsupportedError, message
from stagec.core.graph import Graph
from stagec.core.open_graph import is_open

_OUTSIDE = "leave this operation out of the function, or leave reproducible=True out"


def refused(name: str, reason: str, fix: str = _OUTSIDE, line: str = "") -> UnsupportedError:
    """The error for a program that cannot be reproducible.

    Args:
      line: where the reason is, as MLIR prints it; by default, the line that is calling.
    """
    what = f"{name} cannot have the same bits on all processors: {reason}"
    found = printed.location(line) if line else None
    if found is None:
        return location.error(UnsupportedError, what, fix=fix)
    return UnsupportedError(message(what, str(location.Location(found.file, found.line, name)), fix=fix))


def has_code(target: Target) -> bool:
    """Whether reproducible programs for a target run in Python: all of their code is stagec's own."""
    return "direct" in target.on.flag_sets(target, True)


def check_processor(target: Target, name: str) -> None:
    """Check that a CPU can compute the bits of others.

    Raises:
      UnsupportedError: it cannot.
    """
    if target.machine == "armv7":
        raise refused(name, f"the vectors of {target} take subnormal numbers for zero", "leave this target out")
    if target.machine == "x86_64" and "sse4_1" not in target.required_features():
        raise refused(name, f"{target} has no instructions for rounding", "use cpu:x86-64-v2 or a higher level")


def check_target(target: Target, name: str) -> None:
    """Check that programs in Python can have the bits of others.

    Raises:
      UnsupportedError: the compiler generates their code, or the processor cannot.
    """
    check_processor(target, name)
    if not has_code(target):
        fix = "use cpu:aarch64 or a level of x86-64, or to_c and to_wasm of what stagec.export returns"
        raise refused(name, f"the code for {target} is the compiler's, whose sums have an order of their own", fix)


def check(graph: Graph, target: Target, kernels: bool, name: str) -> None:
    """Check what is known before a program is compiled.

    Args:
      kernels: whether kernels may be written.

    Raises:
      UnsupportedError: the target has code by the compiler, or dimensions are open.
    """
    check_target(target, name)
    if not kernels:
        raise refused(name, "stagec's own kernels are switched off", "leave out the options that switch them off")
    if is_open(graph):
        raise refused(name, "dimensions are open", "compile it for each size")
