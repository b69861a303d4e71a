"""From a graph to kernels and the program that calls them, for a processor that need not be this machine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from passes import printed
from passes.kernels.dispatch import Kernel
from stagec.compiler import build, driver, ready, reproducible, session
from stagec.compiler.build import ProgramOptions
from stagec.compiler.direct import library, reading
from stagec.compiler.direct.program import NotDirectError, Program
from stagec.compiler.flags import FlagSet
from stagec.core import errors, location
from stagec.core.graph import Graph
from stagec.runtime import interruptible
from stagec.runtime.packing import Packing


class Formed(NamedTuple):
    """A program of kernels.

    Attributes:
      program: its arguments are the graph's, then packed copies of some of them.
      kernels: by symbol, in the order of the first calls.
      packed: the copies.
    """

    program: Program
    kernels: dict[str, Kernel]
    packed: tuple[Packing, ...]


def formed(graph: Graph, options: ProgramOptions, name: str, names: Sequence[str]) -> Formed:
    """The kernels of a graph for a CPU.

    Args:
      name: the function's, in messages.
      names: what the user calls the graph's inputs.

    Raises:
      UnsupportedError: a part of the program is no kernel; it names the user's line.
    """
    if options.reproducible:
        reproducible.check_processor(options.target, name)
    module = build.lower_graph(graph, options, name, names)
    build.optimize(module, options)
    try:
        return interruptible.call(lambda: _formed(module, options, name))
    except NotDirectError as error:
        raise refused(name, str(error), line=error.location) from None


def _formed(module: Any, options: ProgramOptions, name: str) -> Formed:
    asked = options.of_compiler()
    source = session.serialize(module)
    opened = driver.prepared(source, options.target, name)
    made, _, _ = ready.with_own_kernels(source, FlagSet("direct", ()), options.target, asked, opened, alone=True)
    if made.kernels is None:
        raise NotDirectError("it has no kernels of stagec's own")
    program, written = reading.read(made.module), made.kernels.by_symbol
    kernels = {kernel.symbol: written[kernel.symbol] for kernel in library.described(program, written)}
    return Formed(program, kernels, made.traits.packed)


_FIX = "compute this part outside of the function, or use stagec.save and stagec.load, which have a runtime"


def refused(
    name: str, reason: str, fix: str = _FIX, line: str | location.Location = location.UNKNOWN
) -> errors.UnsupportedError:
    """The error for a function that needs more than kernels.

    Args:
      line: where the reason is; as text, as MLIR prints it.
    """
    what = f"{name} cannot run without a runtime: {reason}"
    if isinstance(line, str):
        found = printed.location(line)
        line = location.UNKNOWN if found is None else location.Location(found.file, found.line, name)
    if line is location.UNKNOWN:
        return location.error(errors.UnsupportedError, what, fix=fix)
    return errors.UnsupportedError(errors.message(what, str(line), fix=fix))
