"""From the kernels of a module to object files, by the part of the compiler that generates machine code."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from passes import bindings, printed
from passes.kernels.dispatch import NO_PIPELINE, Kernel as WrittenKernel
from passes.match import operations_in
from stagec.compiler.direct.machines import MACHINES
from stagec.compiler.direct.program import NotDirectError, Program
from stagec.compiler.invocation import invocation

_KEPT = ("cpu", "cpu_features", "data_layout", "native_vector_size", "max_stack_allocation_size", "target_triple")

# IREE's formats of the libraries that are linked here.
LINKED = frozenset(machine.format for machine in MACHINES)
# The function that the loader looks for is prefixed with the name of its executable.
EXECUTABLE = "kernels"
FLAGS = ("--iree-llvmcpu-link-embedded=false", "--iree-llvmcpu-link-static")


class Kernel(NamedTuple):
    """A kernel of a library.

    Attributes:
      symbol: its name.
      workgroups: their number along three axes.
    """

    symbol: str
    workgroups: tuple[int, int, int]


def target(flags: tuple[str, ...], reproducible: bool = False, formats: Collection[str] = LINKED) -> dict[str, str]:
    """How the compiler describes the processor that its flags name: attributes of an executable's target, as text.

    Args:
      reproducible: whether products and sums are never contracted, which is added to the description.
      formats: those of executables, one of which is that of the processor's.

    Raises:
      NotDirectError: it is another processor.
    """
    found = _target(flags)
    if found is None or found.backend != "llvm-cpu" or found.format not in formats:
        raise NotDirectError("it is for another processor")
    described = {name: found.attributes[name] for name in _KEPT if name in found.attributes}
    # Apple's name of the architecture.
    described["target_triple"] = described["target_triple"].replace('"arm64-', '"aarch64-')
    return {**described, "reproducible": "true"} if reproducible else described


@functools.lru_cache(maxsize=64)
def _target(flags: tuple[str, ...]) -> printed.ExecutableTarget | None:
    with invocation(*flags) as run:
        ok = run.parse(b"module {}") and run.execute(CompileToPhase="preprocessing")
        return printed.executable_target(run.text().decode()) if ok else None


def described(program: Program, written: Mapping[str, WrittenKernel]) -> list[Kernel]:
    """The kernels that a program calls, each once, in the order of its first call.

    Raises:
      NotDirectError: a kernel is not stagec's, or its number of workgroups is known only when the program runs.
    """
    found = []
    for symbol in dict.fromkeys(call.kernel for call in program.kernel_calls):
        kernel = written.get(symbol)
        if kernel is None:
            raise NotDirectError(f"the kernel {symbol} is not stagec's")
        if kernel.blocks is not None:
            raise NotDirectError("the number of workgroups is known only when the program runs")
        x, y, z = (*kernel.workgroups, 1, 1, 1)[:3]
        found.append(Kernel(symbol, (x, y, z)))
    return found


def assembled(module: Any, program: Program, kernels: Sequence[Kernel], target: Mapping[str, str], path: str) -> Any:
    """A module with one executable, whose functions are kernels that are moved out of another module.

    Args:
      module: the module with a `stream.executable` for each kernel.
      target: what the function of that name returned.
      path: where the compiler writes the object file.
    """
    calls = {call.kernel: call for call in reversed(program.kernel_calls)}
    sources = _executables(module)
    functions = {k.symbol: _function(sources[k.symbol]) for k in kernels}
    heads, exports, bodies = [], [], []
    for i, kernel in enumerate(kernels):
        call, memory = calls[kernel.symbol], _memory(functions[kernel.symbol])
        flags = ["ReadOnly|Indirect"] * len(call.read) + ["Indirect"] * len(call.written)
        pipeline = ", ".join(f'#hal.pipeline.binding<storage_buffer, "{f}">' for f in flags)
        heads.append(f"#layout{i} = #hal.pipeline.layout<bindings = [{pipeline}], flags = Indirect>")
        counts = "\n".join(f"%c{axis} = arith.constant {n} : index" for axis, n in enumerate(kernel.workgroups))
        exports.append(
            f"hal.executable.export public @{kernel.symbol} ordinal({i}) layout(#layout{i}) "
            f"count(%device: !hal.device) -> (index, index, index) {{\n{counts}\n"
            "hal.return %c0, %c1, %c2 : index, index, index\n}"
        )
        spans = "\n".join(
            f"%s{j} = hal.interface.binding.subspan layout(#layout{i}) binding({j}) alignment(64) offset(%zero) "
            f'flags("{flags[j]}") : {type_}'
            for j, type_ in memory.items()
        )
        numbers = "\n".join(f"%w{axis} = hal.interface.workgroup.id[{axis}] : index" for axis in range(3))
        bodies.append(
            f"func.func @{kernel.symbol}() attributes {{translation_info = {NO_PIPELINE}}} {{\n"
            f"%zero = arith.constant 0 : index\n{spans}\n{numbers}\nreturn\n}}"
        )
    described = ", ".join(f"{name} = {value}" for name, value in target.items())
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    # Kernels do not call the compiler's microkernels, which it would read and link nevertheless.
    options = (
        f"{described}, debug_symbols = false, link_embedded = false, link_static = true, link_ukernel_bitcode = false, "
        f'static_library_output = "{quoted}"'
    )
    lines = [
        *heads,
        f"hal.executable public @{EXECUTABLE} {{",
        f'hal.executable.variant public @cpu target(<"llvm-cpu", "static", {{{options}}}>) {{',
        *exports,
        "builtin.module {",
        *bodies,
        "} } }",
    ]
    with module.context:
        made = bindings.ir.Module.parse("\n".join(lines))
        variant = made.body.operations[0].regions[0].blocks[0].operations[0]
        inner = list(variant.regions[0].blocks[0].operations)[len(kernels)]
        for target_function in inner.regions[0].blocks[0].operations:
            _move(functions[target_function.attributes["sym_name"].value], target_function)
    return made


def _executables(module: Any) -> dict[str, Any]:
    return {
        op.attributes["sym_name"].value: op for op in module.body.operations if op.operation.name == "stream.executable"
    }


def _function(executable: Any) -> Any:
    inner = executable.regions[0].blocks[0].operations[1]
    found = list(inner.regions[0].blocks[0].operations)
    if len(found) != 1:
        raise NotDirectError("a kernel has several functions")
    return found[0]


def _body(function: Any) -> list[Any]:
    """The operations of a function. No typed views are made, which would import the Python modules of their
    dialects.
    """
    found: list[Any] = []
    ir = bindings.ir

    def visit(operation: Any) -> Any:
        if operation == function.operation:
            return ir.WalkResult.ADVANCE
        found.append(operation)
        return ir.WalkResult.SKIP

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _spans(function: Any) -> dict[int, Any]:
    """The ops that give access to a kernel's bindings, by the number of the binding."""
    (block,) = function.regions[0].blocks
    numbers = {argument: i for i, argument in enumerate(block.arguments)}
    spans = (op for op in _body(function) if op.name == "stream.binding.subspan")
    return {numbers[op.operands[0]]: op for op in spans}


def _memory(function: Any) -> dict[int, str]:
    """The type of each binding that a kernel uses, by its number."""
    return {i: str(op.results[0].type) for i, op in _spans(function).items()}


def _move(source: Any, target: Any) -> None:
    """Move the ops of one function into another, whose bindings and workgroup numbers replace those of the first."""
    *made, last = _body(target)
    spans = [op for op in made if op.name == "hal.interface.binding.subspan"]
    numbers = [op for op in made if op.name == "hal.interface.workgroup.id"]
    gone = list(_spans(source).values())
    for old, new in zip(gone, spans):
        old.results[0].replace_all_uses_with(new.results[0])
    for op in operations_in(source, "stream.dispatch.workgroup.id"):
        op.results[0].replace_all_uses_with(numbers[int(op.attributes["dimension"].value)].results[0])
        gone.append(op)
    for op in gone:
        op.erase()
    *body, _ = _body(source)
    for op in body:
        op.move_before(last)
