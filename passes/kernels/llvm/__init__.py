"""Kernels as LLVM IR: their instructions, printed one by one.

The text needs none of LLVM's passes over IR: constants are folded, loops are vectors, and addresses are shared by the
writer already. What the compiler's own route adds is written here as it does it, bit for bit: which operations may be
contracted, how a vector is summed, and the functions that have no instruction (`functions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from passes.kernels.dispatch import Kernel
from passes.kernels.instructions import Instruction, inlined, with_loops
from passes.kernels.llvm.control import CONTROL
from passes.kernels.llvm.function import Function, UntranslatedError as UntranslatedError
from passes.kernels.llvm.operations import OPERATIONS
from passes.kernels.llvm.types import type_of

_PRINTERS = {**OPERATIONS, **CONTROL}
# The environment, the state of the dispatch, and that of the workgroup.
_STATE = "ptr noalias noundef nonnull align 16 %environment, ptr noalias noundef nonnull align 16 %dispatch"
_WORKGROUP = "ptr noalias noundef nonnull align 16 %workgroup"
# Where the dispatch's state has the address of the bindings' addresses.
_BINDINGS = 32
# A procedure that more places of a kernel call is a function of its own; else its body takes the place of the calls.
# In loops, calls cost time: a power with a constant exponent takes twice as long.
_FEW, _FEW_IN_LOOPS = 3, 16
# How processors are put into a state that rounds to nearest, traps nothing, and computes with subnormal numbers; and
# back, after the call between the two.
_STATES = {
    "x86_64": (
        """%before = alloca i32
%during = alloca i32
call void @llvm.x86.sse.stmxcsr(ptr %before)
store i32 8064, ptr %during
call void @llvm.x86.sse.ldmxcsr(ptr %during)""",
        "call void @llvm.x86.sse.ldmxcsr(ptr %before)",
    ),
    "aarch64": (
        """%before = call i64 @llvm.aarch64.get.fpcr()
call void @llvm.aarch64.set.fpcr(i64 0)""",
        "call void @llvm.aarch64.set.fpcr(i64 %before)",
    ),
}
_ATTRIBUTES = 'attributes #0 = { nounwind "frame-pointer"="none" "no-builtins" }'


def printed(kernels: Iterable[tuple[str, Kernel]], triple: str, reproducible: bool = False, rounds: bool = True) -> str:
    """A module of LLVM IR with a function for each kernel, under its symbol, in a section of its own.

    The section contains the procedures that the kernel calls, too.

    Args:
      reproducible: whether all processors compute the same bits: no product and sum are rounded together, and subnormal
        numbers are numbers, though the runtime tells processors to take them for zero.
      rounds: whether the processor has instructions that round to whole numbers.

    Raises:
      UntranslatedError: a kernel has an instruction that has no form here.
    """
    functions = []
    for symbol, kernel in kernels:
        body, state = symbol, _STATES.get(triple.partition("-")[0])
        if reproducible and state:
            body = f"{symbol}.body"
            functions.append(_with_subnormals(symbol, body, *state))
        functions += _functions(symbol, body, kernel, not reproducible, rounds)
    return "\n".join([f'target triple = "{triple}"', *functions, _ATTRIBUTES, ""])


def _with_subnormals(symbol: str, body: str, enter: str, leave: str) -> str:
    """The function of a kernel, which calls another one in a state of the processor that it sets and sets back."""
    return f"""define i32 @"{symbol}"({_STATE}, {_WORKGROUP}) #0 section ".text.{symbol}" {{
entry:
{enter}
%code = call i32 @"{body}"(ptr %environment, ptr %dispatch, ptr %workgroup)
{leave}
ret i32 %code
}}"""


def _functions(symbol: str, name: str, kernel: Kernel, contracts: bool, rounds: bool) -> Iterator[str]:
    """A kernel's function of that name, and those of its procedures."""
    if kernel.blocks is not None:
        raise UntranslatedError("a kernel of a number of rows that is known when it runs")
    calls = Counter([(i.details[0], in_loop) for i, in_loop in with_loops(kernel.body) if i.name == "func.call"])
    kept = [call for call, count in calls.items() if count > (_FEW_IN_LOOPS if call[1] else _FEW)]
    names = {procedure: f"{symbol}.{n}" for n, procedure in enumerate(dict.fromkeys(p for p, _ in kept))}
    function = Function(names, contracts, rounds)
    function.entry.append(f"%table = getelementptr i8, ptr %dispatch, i64 {_BINDINGS}")
    function.entry.append("%bindings = load ptr, ptr %table, align 8")
    for i, buffer in enumerate((*kernel.inputs, *kernel.outputs)):
        place = function.first(f"getelementptr i8, ptr %bindings, i64 {8 * i}")
        function.values[buffer.name] = function.first(f"load ptr, ptr {place}, align 8")
    _write(function, inlined(kernel.body, kept))
    linkage = "" if name == symbol else "internal "
    yield _defined(f'{linkage}i32 @"{name}"({_STATE}, {_WORKGROUP})', symbol, function, "i32 0")
    for procedure, name in names.items():
        *types, result = map(type_of, procedure.types)
        given = ", ".join([f"{type_} {parameter}" for type_, parameter in zip(types, procedure.parameters)])
        function = Function(contracts=contracts, rounds=rounds)
        function.values.update((parameter, parameter) for parameter in procedure.parameters)
        _write(function, procedure.body)
        returned = f"{result} {function.values[procedure.result]}"
        yield _defined(f'internal {result} @"{name}"({given})', symbol, function, returned)


def _write(function: Function, body: Iterable[Instruction]) -> None:
    for instruction in body:
        printer = _PRINTERS.get(instruction.name)
        if printer is None:
            raise UntranslatedError(instruction.name)
        printer(function, instruction)


def _defined(head: str, section: str, function: Function, returned: str) -> str:
    lines = (f'define {head} #0 section ".text.{section}" {{', "entry:", function.text(), f"ret {returned}", "}")
    return "\n".join(lines)
