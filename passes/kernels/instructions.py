"""The operations of a kernel as data: what `Writer` keeps, and what is printed as MLIR or as LLVM IR."""

from __future__ import annotations

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
