"""The operations of a kernel as data: what `Writer` keeps, and what is printed as MLIR or as LLVM IR."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

# One type, or several.
Types: TypeAlias = str | tuple[str, ...]
# The instructions that a region follows, and those that one ends before.
OPEN = frozenset(("scf.for", "scf.if", "scf.while", "else", "do"))
CLOSE = frozenset(("else", "do", "end"))


class Instruction(NamedTuple):
    """One operation of a kernel.

    Regions are flat: the instruction that opens one is followed by its contents, and `end` closes it; `else` and `do`
    come between two regions of one operation. What opens a region has the names of its arguments among its details.

    | name | operands | types | details |
    |---|---|---|---|
    | `arith.addi`, `math.exp` and their like, `vector.fma` | values | their type | flags: `overflow<nsw>` |
    | `arith.constant` | | its type | the number as MLIR writes it |
    | `arith.cmpi`, `arith.cmpf` | two values | their type | the predicate |
    | `arith.select` | the condition, two values | theirs, after that of a vector of conditions | |
    | conversions, `vector.broadcast`, `vector.bitcast` | a value | its type, the result's | |
    | `memref.load`, `vector.load` | buffer, index | the buffer's, then the vector's | |
    | `memref.store`, `vector.store` | value, buffer, index | the buffer's, then the vector's | |
    | `vector.maskedload` | buffer, index, mask, other lanes | the buffer's, the mask's, the vector's | |
    | `vector.maskedstore` | buffer, index, mask, value | the buffer's, the mask's, the vector's | |
    | `vector.shuffle` | two vectors | their type | the lanes, as integers |
    | `vector.extract` | a vector | the element's, the vector's | the lane |
    | `vector.from_elements` | the elements | the vector's | |
    | `vector.reduction` | a vector | its type, the element's | the kind, and flags |
    | `memref.alloca` | | the buffer's | |
    | `memref.prefetch` | buffer, index | the buffer's | `read` or `write`, the locality |
    | `memref.extract_aligned_pointer_as_index` | buffer | the buffer's, `index` | |
    | `stream.dispatch.workgroup.id` | | | the axis |
    | `llvm.call_intrinsic` | values | theirs, then the result's if it has one | the intrinsic's name |
    | `func.call` | values | theirs, then the result's | the `Procedure` |
    | `scf.for` | start, stop, step, first values | those of the carried values | the counter, the values' names |
    | `scf.if` | the condition | the results' | |
    | `scf.while` | first values | theirs | the values' names |
    | `scf.condition` | the condition, values that are passed on | those values' | |
    | `do` | | of the values that are passed on | their names |
    | `scf.yield` | values | theirs | |

    Attributes:
      name: MLIR's name of the operation, or `else`, `do`, `end`.
      results: the names of its results, such as `%3`, or `%r3#0` and `%r3#1`.
      operands: the names of SSA values and buffers, in the order of the table.
      types: MLIR types.
      details: what else the operation consists of.
      location: that of the user's line, as an alias `loc(#at0)`.
    """

    name: str
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    details: tuple[Any, ...] = ()
    location: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Procedure:
    """A function that kernels call, without access to memory; `of` returns one object for equal ones.

    Attributes:
      parameters: the names of the operands.
      types: theirs, then the result's.
      body: its operations, constants first.
      result: the name of what it returns.
    """

    parameters: tuple[str, ...]
    types: tuple[str, ...]
    body: tuple[Instruction, ...]
    result: str

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def of(
        cls, parameters: tuple[str, ...], types: tuple[str, ...], body: tuple[Instruction, ...], result: str
    ) -> Procedure:
        """The procedure that consists of these."""
        return cls(parameters, types, body, result)


def with_loops(body: Iterable[Instruction]) -> Iterator[tuple[Instruction, bool]]:
    """Instructions, and whether each is in a loop."""
    outer = [False]
    for instruction in body:
        name = instruction.name
        is_in_loop = outer.pop() if name in CLOSE else outer[-1]
        if name in OPEN:
            outer.append(is_in_loop or name in ("scf.for", "scf.while"))
        yield instruction, is_in_loop


def inlined(body: Iterable[Instruction], kept: Collection[tuple[Procedure, bool]] = ()) -> Iterator[Instruction]:
    """Instructions with the bodies of procedures in place of their calls.

    Args:
      kept: the procedures whose calls stay, and whether those in loops do or those outside of loops.
    """
    found: dict[str, str] = {}
    for number, (call, is_in_loop) in enumerate(with_loops(body)):
        if found and not found.keys().isdisjoint(call.operands):
            call = call._replace(operands=tuple([found.get(name, name) for name in call.operands]))
        if call.name != "func.call" or (call.details[0], is_in_loop) in kept:
            yield call
            continue
        procedure = call.details[0]
        renamed = _Renamed(f"%q{number}_", zip(procedure.parameters, call.operands))
        for i in procedure.body:
            results, operands, details = (
                tuple([renamed[x] if isinstance(x, str) and x[:1] == "%" else x for x in part])
                for part in (i.results, i.operands, i.details)
            )
            yield Instruction(i.name, results, operands, i.types, details, call.location)
        found[call.results[0]] = renamed[procedure.result]


class _Renamed(dict[str, str]):
    """Names of a procedure's values where it is inlined."""

    def __init__(self, prefix: str, known: Iterable[tuple[str, str]]) -> None:
        super().__init__(known)
        self.prefix = prefix

    def __missing__(self, name: str) -> str:
        return f"{self.prefix}{name[1:]}"
