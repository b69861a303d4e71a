"""A function to be compiled to run alone: its arguments, its results, and a plan for each processor."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from passes.kernels.dispatch import Kernel
from stagec.backends import Target
from stagec.compiler.build import ProgramOptions
from stagec.core import dims_values, open_graph
from stagec.core.aval import ShapedArray
from stagec.core.dims_terms import Symbol
from stagec.core.graph import Graph
from stagec.standalone.forming import formed, refused
from stagec.standalone.names import LIBRARY, WORDS, Scalar, identifier, scalar_of
from stagec.standalone.padded import padded
from stagec.standalone.padded_steps import NUMBER
from stagec.standalone.plan import Base, Plan, Result, planned
from stagec.standalone.sizes import Open, blocks, open_sizes


class Parameter(NamedTuple):
    """An argument or a result.

    Attributes:
      name: an identifier in C.
      label: what the user calls it.
      aval: its shape and dtype.
      scalar: its elements in C.
    """

    name: str
    label: str
    aval: ShapedArray
    scalar: Scalar

    @property
    def bytes(self) -> int:
        """The bytes of a number."""
        return self.aval.dtype.itemsize // self.scalar.parts


class OpenSize(NamedTuple):
    """A size that the caller passes.

    Attributes:
      name: an identifier in C.
      symbol: with the numbers for which the function is right.
      counts_rows: whether it is the number of independent rows, or a factor of it.
    """

    name: str
    symbol: Symbol
    counts_rows: bool

    @property
    def shown(self) -> str:
        """The numbers in words."""
        least, most = self.symbol.lower, self.symbol.upper
        return f"{least} or more" if most == math.inf else f"from {least} to {most}"


class Routine(NamedTuple):
    """The function for a processor.

    Attributes:
      plan: what it does.
      kernels: by symbol.
      rows: how many rows it computes; 0 if their number is not open.
      values: the other open sizes, or what arrays are padded to along their axes.
    """

    plan: Plan
    kernels: dict[str, Kernel]
    rows: int = 0
    values: tuple[int, ...] = ()

    def named(self, function: str) -> str:
        """The name of the code for these sizes."""
        return "_".join([function, *map(str, self.values), *([str(self.rows)] if self.rows else [])])

    def kernel(self, function: str, symbol: str) -> str:
        """The name of a kernel among all that a library has."""
        return f"{self.named(function)}_{symbol}"


# Where constants lie in a file: what kernels expect of any array, and after what says whose file it is.
ALIGNMENT = 64


class Constants:
    """The bytes of constants, each once."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def add(self, data: bytes) -> Base:
        """What the plan calls a constant with these bytes."""
        if not data:  # which nothing reads, and C has no arrays of no elements
            return Base("workspace")
        key = hashlib.blake2b(data).digest()
        if key not in self._known:
            self._known[key] = len(self.data)
            self.data.append(data)
        return Base("constant", self._known[key])

    @property
    def offsets(self) -> list[int]:
        """Where each starts in one file, and at last the end of it."""
        sizes = [ALIGNMENT, *[-(-len(data) // ALIGNMENT) * ALIGNMENT for data in self.data]]
        return list(itertools.accumulate(sizes))

    @property
    def mark(self) -> bytes:
        """What such a file begins with, which another file does not."""
        return b"stagec's weights" + hashlib.blake2b(b"".join(self._known), digest_size=32).digest()

    def in_file(self) -> bytes:
        """The content of the file."""
        parts = [self.mark, *self.data]
        return b"".join([part + bytes(-len(part) % ALIGNMENT) for part in parts])


@dataclasses.dataclass(frozen=True)
class Function:
    """A function with its code for some processors.

    Attributes:
      name: an identifier.
      label: what the user calls it.
      arguments, results: in the order of the leaves.
      routines: by target; if sizes are open, for each value of those that count no rows several, for fewer and fewer
        rows at once.
      constants: what all of them read.
      in_file: whether the caller passes these, as the content of a file.
      sizes: those that are open.
      numbers: further arguments of routines, if arrays are padded: the sizes along whose axes they are.
      reproducible: whether results have the same bits on all processors.
    """

    name: str
    label: str
    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    routines: dict[Target, tuple[Routine, ...]]
    constants: Constants
    in_file: bool = False
    sizes: tuple[OpenSize, ...] = ()
    numbers: tuple[Parameter, ...] = ()
    reproducible: bool = False

    @property
    def every_routine(self) -> list[Routine]:
        """Those for all targets."""
        return [routine for routines in self.routines.values() for routine in routines]

    @property
    def rows(self) -> list[OpenSize]:
        """The sizes whose product is the number of independent rows."""
        return [size for size in self.sizes if size.counts_rows]

    @property
    def others(self) -> list[OpenSize]:
        """The sizes for whose values there is code."""
        return [size for size in self.sizes if not size.counts_rows]

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is the only open size, which follows from the length of any array with rows."""
        return [size.counts_rows for size in self.sizes] == [True]

    def has_rows(self, parameter: Parameter) -> bool:
        """Whether an array has independent rows."""
        return {size.symbol for size in self.rows} <= {*dims_values.symbols(parameter.aval.shape)} and bool(self.rows)

    def row(self, parameter: Parameter, values: Sequence[int] = ()) -> int:
        """The numbers in a row of an array that has rows, or in the whole of another one.

        Args:
          values: of the other sizes.
        """
        known = {size.symbol: n for size, n in zip(self.others, values)}
        sizes = parameter.aval.shape[len(self.rows) if self.has_rows(parameter) else 0 :]
        return math.prod([dims_values.evaluate(n, known) for n in sizes]) * parameter.scalar.parts

    def is_padded(self, parameter: Parameter) -> bool:
        """Whether routines take a padded copy of an array."""
        others = {size.symbol for size in self.others}
        return bool(self.numbers) and not others.isdisjoint(dims_values.symbols(parameter.aval.shape))

    def copies(self, routine: Routine) -> dict[str, int]:
        """Where the padded copies of arrays are in the workspace, and under "" where the routine's own part begins."""
        found, end = {}, 0
        for parameter in (*self.arguments, *self.results):
            if self.is_padded(parameter):
                found[parameter.name] = end
                rows = routine.rows if self.has_rows(parameter) else 1
                bytes_ = rows * self.row(parameter, routine.values) * parameter.bytes
                end += -(-bytes_ // ALIGNMENT) * ALIGNMENT
        return {**found, "": end}

    def needed(self, routine: Routine) -> int:
        """The bytes of workspace for a routine."""
        return self.copies(routine)[""] + routine.plan.workspace

    @property
    def workspace(self) -> int:
        """The bytes of memory that a call needs besides its arguments and results."""
        return max(map(self.needed, self.every_routine))

    @property
    def stack(self) -> int:
        """The bytes of stack that a kernel needs at most for its arrays."""
        return max([k.scratch for routine in self.every_routine for k in routine.kernels.values()], default=0)


class Source(NamedTuple):
    """A traced function, as `stagec.api` knows it.

    Attributes:
      name: the function's.
      graph: what must be computed: results that are arguments or constants are left out, and unused arguments.
      options: by target.
      captured: the arrays that the function closes over, which lead its inputs.
      used: the inputs, captured ones included, that the graph takes.
      results: where each result comes from: `("computed", i)`, `("input", i)` or `("constant", array)`.
      arguments, returned: names and avals.
      holds: whether the function is right for some values of its open sizes.
    """

    name: str
    graph: Graph
    options: Mapping[Target, ProgramOptions]
    captured: Sequence[Any]
    used: Sequence[int]
    results: Sequence[tuple[str, Any]]
    arguments: Sequence[tuple[str, ShapedArray]]
    returned: Sequence[tuple[str, ShapedArray]]
    holds: Callable[[Mapping[Symbol, int]], bool]

    def at(self, values: Mapping[Symbol, int]) -> Source:
        """The function for some sizes."""
        arguments, returned = (
            [(label, aval.at(values)) for label, aval in arrays] for arrays in (self.arguments, self.returned)
        )
        options = {target: dataclasses.replace(options, is_open=False) for target, options in self.options.items()}
        graph = open_graph.at(self.graph, values)
        return self._replace(graph=graph, options=options, arguments=arguments, returned=returned)

    def padded_to(self, values: Mapping[Symbol, int], rows: Mapping[Symbol, int]) -> Source:
        """The function for a number of rows, and for these sizes and smaller ones, which are further arguments."""
        made, end = self.at({**values, **rows}), len(self.captured) + len(self.arguments)
        graph = open_graph.at(self.graph, rows) if rows else self.graph
        return made._replace(
            graph=padded(graph, values, self.name),
            arguments=[*made.arguments, *[(str(symbol), NUMBER) for symbol in values]],
            used=[*self.used, *range(end, end + len(values))],
        )


def compiled(source: Source, name: str = "", in_file: bool = False) -> Function:
    """Plan a function for its targets.

    Args:
      name: the identifier, instead of the function's own name.
      in_file: whether the caller passes the constants.

    Raises:
      UnsupportedError: the function needs more than kernels, or an array has no form in C.
    """
    found = open_sizes(source.name, source.graph, [*source.arguments, *source.returned], source.holds)
    taken = {*WORDS, *(("weights",) if in_file else ()), *(("row", "rows") if found.rows else ())}
    name = identifier(name or source.name, {*taken, *LIBRARY})
    taken.add(name)
    arguments, results = (
        tuple([_parameter(source, label, aval, taken) for label, aval in arrays])
        for arrays in (source.arguments, source.returned)
    )
    ordered = dims_values.symbols([aval.shape for _, aval in (*source.arguments, *source.returned)])
    sizes = tuple([OpenSize(identifier(symbol.name, taken), symbol, symbol in found.rows) for symbol in ordered])
    numbers: tuple[Parameter, ...] = ()
    if found.is_padded:
        numbers = tuple([_parameter(source, f"{symbol}_size", NUMBER, taken) for symbol in found.others])
    constants = Constants()
    routines = {
        target: tuple([_routine(p, p.options[target], constants, n, values) for p, n, values in _parts(source, found)])
        for target in source.options
    }
    reproducible = any(options.reproducible for options in source.options.values())
    return Function(name, source.name, arguments, results, routines, constants, in_file, sizes, numbers, reproducible)


def _parts(source: Source, found: Open) -> Iterator[tuple[Source, int, tuple[int, ...]]]:
    """The function for numbers of rows, and for values of other sizes."""
    for values in found.values:
        known = dict(zip(found.others, values))
        graph = open_graph.at(source.graph, known) if known else source.graph
        counts = blocks(graph, found.rows, not known) if found.rows else (0,)
        for count in counts:
            # Where several sizes count rows, the rows of a block lie along the first axis.
            rows = dict(zip(found.rows, (count, *itertools.repeat(1, len(found.rows)))))
            if found.is_padded:
                yield source.padded_to(known, rows), count, values
            else:
                yield source.at({**known, **rows}) if known or rows else source, count, values


def _parameter(source: Source, label: str, aval: ShapedArray, taken: set[str]) -> Parameter:
    scalar = scalar_of(aval.dtype)
    if scalar is None:
        raise refused(source.name, f"{label} has elements of {aval.dtype}, which C does not have")
    return Parameter(identifier(label, taken), label, aval, scalar)


def _routine(
    source: Source, options: ProgramOptions, constants: Constants, rows: int, values: tuple[int, ...]
) -> Routine:
    names = [name for name, _ in source.arguments]
    hidden = len(source.captured)
    used = [f"captured{i}" if i < hidden else names[i - hidden] for i in source.used]
    found = formed(source.graph, options, source.name, used)

    def of_input(i: int) -> Base:
        return constants.add(np.asarray(source.captured[i]).tobytes()) if i < hidden else Base("argument", i - hidden)

    # Of a captured array that is read as a packed copy alone, nothing else is kept.
    read = found.program.values_read
    given = [of_input(i) if n in read else Base("constant", -1) for n, i in enumerate(source.used)]
    for packing in found.packed:
        array = np.asarray(source.captured[source.used[packing.argument]])
        given.append(constants.add(packing.of(array).tobytes()))
    results = []
    for (kind, where), (_, aval) in zip(source.results, source.returned):
        if kind == "computed":
            place: int | Base = where
        else:
            place = of_input(where) if kind == "input" else constants.add(np.asarray(where).tobytes())
        results.append(Result(place, aval.nbytes))
    of_program = {
        n: constants.add(known.data * (known.bytes // max(1, len(known.data))))
        for n, known in found.program.constants.items()
    }
    return Routine(planned(found.program, given, results, of_program), found.kernels, rows, values)
