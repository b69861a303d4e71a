"""Insert the text of a kernel into a module as an executable, and the op that calls it.

The compiler leaves a `stream.executable` of scf, memref, vector and arith ops
unchanged if its pipeline is `no_pipeline`; `flow.dispatch` calls it from
StableHLO programs. A dispatch ties no result to an operand: it only reads
operands, and its results are new memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from passes import bindings, build
from passes.analysis.aliases import BYTES
from passes.analysis.in_place import OWN_ELEMENTS
from passes.kernels import mlir_text
from passes.kernels.elements import Element
from passes.kernels.instructions import Instruction
from passes.kernels.plan import Plan
from passes.kernels.weights import Weights
from passes.kernels.writer import Buffer, Writer
from passes.operations import CONTROL
from passes.types import spelled

# Operations whose regions are host code, where kernels can be called; other regions are parts of one operation.
HOST = ("func.func", *CONTROL)
# The dialects of what computes with open sizes.
OPEN_SIZES = ("arith", "tensor")
# `pipeline = None` and `CPUDefault`, its other names in older versions, do not parse any more.
NO_PIPELINE = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"


class Blocks(NamedTuple):
    """What makes a kernel compute one block of rows after another, as many as a call asks for.

    The kernel has a further operand after its inputs: the first row. The third index of a workgroup counts those of a
    block, and the blocks.

    Attributes:
      rows: how many rows a block has.
      by_row: which inputs and outputs have the rows of all blocks, at the rows' own places.
      by_block: which of them have memory of their own for each block.
    """

    rows: int
    by_row: frozenset[int]
    by_block: frozenset[int]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A function that workgroups run.

    Attributes:
      name: what it computes; `Kernels` makes it unique.
      inputs: memory that it reads, in the order of the dispatch's operands.
      outputs: memory that it writes, in the order of the results.
      workgroups: how many there are along each of up to three axes, known when
        compiling: a sum is then split in the same way on every machine.
      body: its operations, constants first.
      locations: the location, or its text, of each alias in the body.
      scratch: bytes of memory on the stack of each workgroup.
      blocks: how its memory depends on the block of rows, if it computes one of many.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    workgroups: tuple[int, ...]
    body: Sequence[Instruction]
    locations: dict[str, Any]
    scratch: int = 0
    blocks: Blocks | None = None

    @classmethod
    def written(
        cls, name: str, writer: Writer, inputs: Sequence[Buffer], outputs: Sequence[Buffer], workgroups: Sequence[int]
    ) -> Kernel:
        """The kernel that a writer has written."""
        memory = tuple(inputs), tuple(outputs)
        locations = {alias: location for location, alias in writer.locations.items()}
        return cls(name, *memory, tuple(workgroups), writer.body(), locations, writer.scratch_bytes)

    def text(self, symbol: str) -> str:
        """The kernel as a module that holds one `stream.executable`."""
        buffers = (*self.inputs, *self.outputs)
        counts = (*self.workgroups, 1, 1, 1)[:3]
        bindings_ = [f"%b{i}: !stream.binding" for i in range(len(buffers))]
        here = "loc(#at0)" if self.locations else "loc(unknown)"
        body = self.body
        offsets, workload, last = ["%zero"] * len(buffers), "", "%g2"
        lines: list[str] = []
        if self.blocks is not None:
            bindings_.insert(len(self.inputs), "%first: index")
            workload, last = "%blocks: index", "%all"
            offsets, lines = self._block_offsets(self.blocks, buffers, counts[2])
            body = tuple(map(_within_block, body))
        lines += [
            f"{b.name} = stream.binding.subspan %b{i}[{offset}] : !stream.binding -> {b.type}"
            for i, (b, offset) in enumerate(zip(buffers, offsets))
        ]
        spans = "\n".join(f"        {line} {here}" for line in lines)
        groups = "\n".join(f"      %g{i} = arith.constant {count} : index {here}" for i, count in enumerate(counts))
        if self.blocks is not None:
            groups += f"\n      %all = arith.muli %blocks, %g2 : index {here}"
        aliases = "\n".join(f"{alias} = {location}" for alias, location in self.locations.items())
        return f"""module {{
  stream.executable private @{symbol} {{
    stream.executable.export public @{symbol} workgroups({workload}) -> (index, index, index) {{
{groups}
      stream.return %g0, %g1, {last} : index, index, index {here}
    }} {here}
    builtin.module {{
      func.func @{symbol}({", ".join(bindings_)}) attributes {{translation_info = {NO_PIPELINE}}} {{
        %zero = arith.constant 0 : index {here}
{spans}
{mlir_text.printed(body)}
        return {here}
      }} {here}
    }} {here}
  }} {here}
}}
{aliases}
"""

    def _block_offsets(self, blocks: Blocks, buffers: Sequence[Buffer], groups: int) -> tuple[list[str], list[str]]:
        """The offsets in bytes of a block's parts of the memory, and the code that computes them.

        Args:
          groups: how many workgroups of one block there are along the third axis.
        """
        lines = [
            "%third = stream.dispatch.workgroup.id[2] : index",
            f"%block_groups = arith.constant {groups} : index",
            "%block = arith.divui %third, %block_groups : index",
            f"%block_rows = arith.constant {blocks.rows} : index",
            "%block_row = arith.muli %block, %block_rows : index",
            "%row = arith.addi %first, %block_row : index",
        ]
        offsets = []
        for i, buffer in enumerate(buffers):
            if i not in blocks.by_row | blocks.by_block:
                offsets.append("%zero")
                continue
            size, index = (buffer.bytes // blocks.rows, "%row") if i in blocks.by_row else (buffer.bytes, "%block")
            lines += [
                f"%step{i} = arith.constant {size} : index",
                f"%offset{i} = arith.muli {index}, %step{i} : index",
            ]
            offsets.append(f"%offset{i}")
        return offsets, lines


def _within_block(instruction: Instruction) -> Instruction:
    """An instruction of one block's kernel in that of many: the third index counts the workgroups of all blocks."""
    if instruction.name == "stream.dispatch.workgroup.id" and instruction.details == (2,):
        third = "%third", "%block_groups"
        return instruction._replace(name="arith.remui", operands=third, types=("index",), details=())
    return instruction


class Kernels:
    """The kernels of a module, each written once however often it is called, and the plan that explains them.

    Calls refer to executables, which `insert_executables` inserts: a program whose kernels LLVM itself compiles needs
    none.

    Args:
      weights: arguments that are the same at each call.
      dialects: those of the operations around the calls, which the module's context may not have loaded.
      alone: whether the compiler has no code for what is no kernel.
    """

    def __init__(
        self, module: Any, weights: Iterable[int] = (), dialects: Sequence[str] = (), alone: bool = False
    ) -> None:
        # Calls of kernels are operations of `flow`, and the module may be compiled in this context.
        bindings.prepare(module.context)
        for dialect in ("flow", *dialects):
            module.context.dialects[dialect]
        self.module = module
        self.alone = alone
        self.plan = Plan()
        self.weights = Weights(module, weights)
        self.by_symbol: dict[str, Kernel] = {}
        self._symbols: dict[Any, str] = {}
        # Equal calls share a kernel, whose code is long to compare.
        self._called: dict[int, tuple[Kernel, str]] = {}
        self._names: set[str] = {_symbol(op) for op in module.body.operations}
        self._inserted: set[str] = set()
        self._parsed: list[Any] = []

    def found(self, name: str) -> list[Any]:
        """The operations of that name in host code, where kernels can be called, in their order."""
        found: list[Any] = []
        result = bindings.ir.WalkResult
        advance, skip = result.ADVANCE, result.SKIP

        def visit(op: Any) -> Any:
            known = op.name
            if known == name:
                found.append(op)
            return advance if known in HOST or known == "builtin.module" else skip

        self.module.operation.walk(visit, bindings.ir.WalkOrder.PRE_ORDER)
        return found

    def dispatch(
        self, kernel: Kernel, operands: Sequence[Any], results: Sequence[Any], own_elements: Sequence[int] = ()
    ) -> list[Any]:
        """Call a kernel at the current insertion point and location.

        Args:
          kernel: the kernel; its inputs and outputs have the sizes of the operands
            and results, but may have other shapes.
          operands: tensors.
          results: tensor types. Further outputs of the kernel are memory for it alone.
          own_elements: the operands whose elements are each read only for the same
            element of the results, and before that is written.

        Returns:
          The results, as values of these types.
        """
        attributes = {}
        if own_elements:
            attributes[OWN_ELEMENTS] = bindings.ir.DenseI64ArrayAttr.get(list(own_elements))
        types = [stored_type(type_) for type_ in results]
        for buffer in kernel.outputs[len(types) :]:
            types.append(build.tensor_type((buffer.size,), bindings.ir.Type.parse(buffer.element)))
        made = call(self.symbol_of(kernel), types, [as_stored(value) for value in operands], attributes=attributes)
        return [as_tensor(value, type_) for value, type_ in zip(made, results)]

    def symbol_of(self, kernel: Kernel) -> str:
        """The name of the executable of a kernel, which is that of an equal one if there is one."""
        known = self._called.get(id(kernel))
        if known is not None:
            return known[1]
        # Locations are not part of the key: equal code is emitted once, with the locations of its first user.
        key = (kernel.inputs, kernel.outputs, kernel.workgroups, tuple(i[:-1] for i in kernel.body), kernel.blocks)
        if key not in self._symbols:
            name = self._named(kernel.name)
            self._symbols[key] = name
            self.by_symbol[name] = kernel
        self._called[id(kernel)] = kernel, self._symbols[key]
        return self._symbols[key]

    def _named(self, name: str) -> str:
        """A name made unique."""
        symbol, number = name, 0
        while symbol in self._names:
            number += 1
            symbol = f"{name}_{number}"
        self._names.add(symbol)
        return symbol

    def insert(self, name: str, text: Callable[[str], str]) -> str:
        """Insert an executable, whose text is `text(symbol)`; returns the symbol, which is `name` made unique."""
        symbol = self._named(name)
        self._insert(text(symbol))
        return symbol

    def insert_executables(self) -> None:
        """Insert the executables of the kernels that are called, for the compiler and for who reads the module."""
        for symbol, kernel in self.by_symbol.items():
            if symbol not in self._inserted:
                self._inserted.add(symbol)
                self._insert(kernel.text(symbol))

    def _insert(self, text: str) -> None:
        ir = bindings.ir
        parsed = ir.Module.parse(text, self.module.context)
        # Not the pass `memory`, which the module has gone through: after a second run, the compiler miscompiles loops.
        bindings.run_passes(parsed, "cse")
        operation = parsed.body.operations[0].operation
        operation.detach_from_parent()
        with self.module.context, ir.Location.unknown():
            ir.InsertionPoint.at_block_begin(self.module.body).insert(operation)
        # The module that an op was parsed in must outlive it.
        self._parsed.append(parsed)


def call(
    symbol: str,
    types: Sequence[Any],
    operands: Sequence[Any],
    workload: Sequence[Any] = (),
    sizes: tuple[Sequence[Any], Sequence[Any]] = ((), ()),
    attributes: Mapping[str, Any] | None = None,
) -> list[Any]:
    """The results of a call of an executable, at the current location.

    Args:
      workload: what its number of workgroups is computed from.
      sizes: the open sizes of the operands, and of the results.
    """
    ir = bindings.ir
    every = (workload, operands, *sizes)
    given = {
        "entry_points": ir.ArrayAttr.get([ir.SymbolRefAttr.get([symbol, symbol])]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(part) for part in every]),
        **(attributes or {}),
    }
    values = [value for part in every for value in part]
    return list(ir.Operation.create("flow.dispatch", list(types), values, attributes=given).results)


def index_constant(value: int) -> Any:
    """A number as an `index`."""
    index = bindings.ir.IndexType.get()
    attributes = {"value": bindings.ir.IntegerAttr.get(index, value)}
    return bindings.ir.Operation.create("arith.constant", [index], [], attributes).result


def _symbol(op: Any) -> str:
    attributes = op.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def stored_type(type_: Any) -> Any:
    """The type of a tensor as an operand or result of a dispatch: signless integers; booleans stay."""
    element = Element.parse(spelled(type_.element_type))
    if element.kind != "u":
        # Booleans are bytes in the memory of tensors too.
        return type_
    return build.tensor_type(type_.shape, bindings.ir.Type.parse(element.stored))


def as_stored(value: Any) -> Any:
    type_ = stored_type(value.type)
    return value if type_ == value.type else _converted(value, type_)


def as_tensor(value: Any, type_: Any) -> Any:
    return value if type_ == value.type else _converted(value, type_)


def _converted(value: Any, type_: Any) -> Any:
    if "i1" not in map(spelled, (value.type.element_type, type_.element_type)):
        return build.op("stablehlo.bitcast_convert", [value], type_)
    return build.op("stablehlo.convert", [value], type_, attributes={BYTES: "unit"})
