"""Kernels as LLVM IR: their instructions, printed one by one.

The text needs none of LLVM's passes over IR: constants are folded, loops are vectors, and addresses are shared by the
writer already. What the compiler's own route adds is written here as it does it, bit for bit: which operations may be
contracted, how a vector is summed, and the functions that have no instruction (`functions`).
"""

from __future__ import annotations

from collections.abc import Iterable

from passes.kernels.dispatch import Kernel
from passes.kernels.llvm.control import CONTROL
from passes.kernels.llvm.function import Function, UntranslatedError as UntranslatedError
from passes.kernels.llvm.operations import OPERATIONS

_PRINTERS = {**OPERATIONS, **CONTROL}
# The environment, the state of the dispatch, and that of the workgroup.
_STATE = "ptr noalias noundef nonnull align 16 %environment, ptr noalias noundef nonnull align 16 %dispatch"
_WORKGROUP = "ptr noalias noundef nonnull align 16 %workgroup"
# Where the dispatch's state has the address of the bindings' addresses.
_BINDINGS = 32
_ATTRIBUTES = 'attributes #0 = { nounwind "frame-pointer"="none" "no-builtins" }'


def printed(kernels: Iterable[tuple[str, Kernel]], triple: str) -> str:
    """A module of LLVM IR with a function for each kernel, under its symbol, in a section of its own.

    Raises:
      UntranslatedError: a kernel has an instruction that has no form here.
    """
    functions = [_function(symbol, kernel) for symbol, kernel in kernels]
    return "\n".join([f'target triple = "{triple}"', *functions, _ATTRIBUTES, ""])


def _function(symbol: str, kernel: Kernel) -> str:
    if kernel.blocks is not None:
        raise UntranslatedError("a kernel of a number of rows that is known when it runs")
    function = Function()
    for i, buffer in enumerate((*kernel.inputs, *kernel.outputs)):
        place = function.first(f"getelementptr i8, ptr %bindings, i64 {8 * i}")
        function.values[buffer.name] = function.first(f"load ptr, ptr {place}, align 8")
    for instruction in kernel.body:
        printer = _PRINTERS.get(instruction.name)
        if printer is None:
            raise UntranslatedError(instruction.name)
        printer(function, instruction)
    return "\n".join(
        [
            f'define i32 @"{symbol}"({_STATE}, {_WORKGROUP}) #0 section ".text.{symbol}" {{',
            "entry:",
            f"%table = getelementptr i8, ptr %dispatch, i64 {_BINDINGS}",
            "%bindings = load ptr, ptr %table, align 8",
            function.text(),
            "ret i32 0",
            "}",
        ]
    )
