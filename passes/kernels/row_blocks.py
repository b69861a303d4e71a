"""Programs for any number of rows, from the kernels of programs for a few static numbers.

If each row of the results follows from the same row of the arguments, the kernels of the program for `r` rows compute
any block of `r` rows: their memory begins at the block's first row. One dispatch computes all blocks of a size. Blocks
of smaller sizes compute the rows that are left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from passes import bindings, build
from passes.kernels.dispatch import (
    OPEN_SIZES,
    Blocks,
    Kernel,
    Kernels,
    as_stored,
    as_tensor,
    call,
    index_constant,
    stored_type,
)
from passes.match import functions

# They change no byte of an array.
_VIEWS = frozenset({"stablehlo.reshape", "stablehlo.bitcast_convert"})


class NoBlocksError(Exception):
    """A program cannot be computed in blocks of rows; the message says why."""


class Place(Enum):
    """Where a kernel finds its part of an array."""

    SHARED = "it has no rows"
    ROW = "at the block's first row"
    BLOCK = "each block has an array of its own"


class Placed(NamedTuple):
    """An array of the program for a static number of rows, as the program for any number has it."""

    value: Any
    place: Place


class RowBlocks:
    """Calls of kernels in `main` of a module whose arguments and results have an open number of rows.

    Args:
      module: with a function `main` that returns results of the right types; they are replaced.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.kernels = Kernels(module, dialects=OPEN_SIZES)
        function = functions(module)["main"]
        self._block = function.regions[0].blocks[0]
        self._arguments = list(self._block.arguments)
        self._end = list(self._block.operations)[-1].operation
        self._results: list[Any] = [None] * len(self._end.operands)
        self._stored: dict[int, Any] = {}
        with module.context, self._at_end():
            self._types = [stored_type(value.type) for value in self._end.operands]
            self.rows = self._number_of_rows()
            self._left = self.rows

    def _at_end(self) -> Any:
        return bindings.ir.InsertionPoint(self._end)

    def _index(self, name: str, *operands: Any) -> Any:
        """The result of an operation on indices."""
        ir = bindings.ir
        return ir.Operation.create(name, [ir.IndexType.get()], list(operands), loc=self._end.location).result

    def _constant(self, value: int) -> Any:
        with self._end.location:
            return index_constant(value)

    def _number_of_rows(self) -> Any:
        for i, argument in enumerate(self._arguments):
            if _has_rows(argument):
                return self._index("tensor.dim", self._argument(i), self._constant(0))
        raise NoBlocksError("no argument has rows")

    def _argument(self, number: int) -> Any:
        """An argument as an operand of kernels."""
        if number not in self._stored:
            with bindings.ir.Location.unknown():
                self._stored[number] = as_stored(self._arguments[number])
        return self._stored[number]

    def add(self, formed: Kernels, rows: int) -> None:
        """Compute as many blocks of `rows` rows as are left.

        Args:
          formed: the kernels of the program for `rows` rows, whose `main` calls nothing else.

        Raises:
          NoBlocksError: an operation is no kernel.
        """
        with self.module.context, self._at_end():
            first = self._index("arith.subi", self.rows, self._left)
            size = self._constant(rows)
            blocks = self._index("arith.divui", self._left, size)
            self._left = self._index("arith.remui", self._left, size)
            _Pass(self, formed, rows, blocks, first).run()

    def finish(self) -> None:
        """Return the results, and erase what computed others."""
        self.kernels.insert_executables()
        with self.module.context, self._at_end(), bindings.ir.Location.unknown():
            for i, value in enumerate(self._results):
                self._end.operands[i] = as_tensor(value, self._end.operands[i].type)
            self.kernels.weights.attach()
        for op in reversed([op.operation for op in self._block.operations][:-1]):
            if not any(True for result in op.results for _ in result.uses):
                op.erase()


def _has_rows(value: Any) -> bool:
    type_ = value.type
    return type_.rank > 0 and type_.is_dynamic_dim(0)


def _location(op: Any, context: Any) -> Any:
    """The location of an operation of another context."""
    ir = bindings.ir
    return ir.Module.parse(f"module {{}} {op.location}", context).operation.location


class _Pass:
    """The calls that compute the blocks of one size."""

    def __init__(self, target: RowBlocks, formed: Kernels, rows: int, blocks: Any, first: Any) -> None:
        self.target, self.formed, self.rows, self.blocks, self.first = target, formed, rows, blocks, first
        block = functions(formed.module)["main"].regions[0].blocks[0]
        *self.operations, self.end = (op.operation for op in block.operations)
        given = len(target._arguments)
        extra = target.kernels.weights.shared_with(formed.weights)
        self.places: dict[Any, Placed] = {}
        for i, argument in enumerate(block.arguments):
            if i >= given:
                self.places[argument] = Placed(extra[i - given], Place.SHARED)
            elif _has_rows(target._arguments[i]):
                self.places[argument] = Placed(target._argument(i), Place.ROW)
            else:
                self.places[argument] = Placed(target._arguments[i], Place.SHARED)
        self.returned: dict[Any, int] = {}
        for i, value in enumerate(self.end.operands):
            while not isinstance(value.owner, bindings.ir.Block) and value.owner.name in _VIEWS:
                value = value.owner.operands[0]
            if value in self.returned or isinstance(value.owner, bindings.ir.Block):
                raise NoBlocksError("a result that is another array's")
            self.returned[value] = i

    def run(self) -> None:
        for op in self.operations:
            if op.name == "flow.dispatch":
                self._call(op)
            elif op.name in _VIEWS and self.places[op.operands[0]].place is not Place.SHARED:
                self.places[op.results[0]] = self.places[op.operands[0]]
            elif all(self.places[v].place is Place.SHARED for v in op.operands):
                self._clone(op)
            else:
                raise NoBlocksError(f"{op.name} is no kernel")

    def _check_shared(self, op: Any) -> None:
        if any(result in self.returned for result in op.results):
            raise NoBlocksError("a result that has no rows")

    def _clone(self, op: Any) -> None:
        """An operation on arrays without rows."""
        if op.operands or op.regions or len(op.results) != 1:
            raise NoBlocksError(f"{op.name} is no kernel")
        self._check_shared(op)
        made = bindings.ir.Operation.parse(op.get_asm(), context=self.target.module.context)
        bindings.ir.InsertionPoint.current.insert(made)
        self.places[op.results[0]] = Placed(made.results[0], Place.SHARED)

    def _call(self, op: Any) -> None:
        ir = bindings.ir
        kernel = self.formed.by_symbol[ir.SymbolRefAttr(op.attributes["entry_points"][0]).value[0]]
        operands = [self.places[value] for value in op.operands]
        types = [ir.Type.parse(str(result.type)) for result in op.results]
        if all(placed.place is Place.SHARED for placed in operands):
            self._check_shared(op)
            with ir.Location.unknown():
                made = self.target.kernels.dispatch(kernel, [placed.value for placed in operands], types)
            self.places.update((r, Placed(v, Place.SHARED)) for r, v in zip(op.results, made))
            return
        # Results that are written in place come first: the memory of tied operands precedes that of other results.
        order = sorted(range(len(op.results)), key=lambda i: op.results[i] not in self.returned)
        results = [(op.results[i], types[i]) for i in order]
        places = [p.place for p in operands]
        places += [Place.ROW if result in self.returned else Place.BLOCK for result, _ in results]
        by_row = frozenset(i for i, place in enumerate(places) if place is Place.ROW)
        by_block = frozenset(i for i, place in enumerate(places) if place is Place.BLOCK)
        outputs = tuple([kernel.outputs[i] for i in order])
        kernel = dataclasses.replace(kernel, outputs=outputs, blocks=Blocks(self.rows, by_row, by_block))
        made = self._dispatch(kernel, operands, results, op)
        for (result, _), value in zip(results, made):
            if result in self.returned:
                self.target._results[self.returned[result]] = value
                self.places[result] = Placed(value, Place.ROW)
            else:
                self.places[result] = Placed(value, Place.BLOCK)

    def _dispatch(
        self, kernel: Kernel, operands: Sequence[Placed], results: Sequence[tuple[Any, Any]], op: Any
    ) -> list[Any]:
        """Call a kernel for all blocks. Results of rows that other blocks have begun are written in place."""
        ir, target = bindings.ir, self.target
        symbol = target.kernels.symbol_of(kernel)
        values = [p.value for p in operands]
        dims = [self._size(p.place) for p in operands if p.place is not Place.SHARED]
        values.append(self.first)
        made_types, made_dims, tied = [], [], []
        for result, type_ in results:
            at = self.returned.get(result)
            if at is None:
                shape = (ir.ShapedType.get_dynamic_size(), *type_.shape)
                made_types.append(build.tensor_type(shape, type_.element_type))
                made_dims.append(self.blocks)
                tied.append(-1)
                continue
            made_types.append(target._types[at])
            made_dims.append(target.rows)
            before = target._results[at]
            tied.append(-1 if before is None else len(values))
            if before is not None:
                values.append(before)
                dims.append(target.rows)
        index = ir.IndexType.get()
        attributes = {"tied_operands": ir.ArrayAttr.get([ir.IntegerAttr.get(index, i) for i in tied])}
        with _location(op, target.module.context):
            return call(symbol, made_types, values, [self.blocks], (dims, made_dims), attributes)

    def _size(self, place: Place) -> Any:
        return self.target.rows if place is Place.ROW else self.blocks
