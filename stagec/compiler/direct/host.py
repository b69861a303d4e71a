"""The host program, in the instructions of IREE's virtual machine: it allocates memory, starts kernels, calls Python.

The commands are recorded once, when the module is loaded; a call binds its memory to them. The runtime's functions are
called as IREE's compiler calls them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stagec.compiler.direct.flow import AHEAD, ANY_QUEUE, MEMORY, USAGE, Flow, allocated
from stagec.compiler.direct.instructions import (
    BUFFER,
    BYTES,
    COMMANDS,
    DEVICE,
    ELEMENTS,
    FENCE,
    IMPORTS,
    VIEW,
    Function,
    imported,
)
from stagec.compiler.direct.library import Kernel
from stagec.compiler.direct.memory import Layout, barriers
from stagec.compiler.direct.parts import Item, Part, parts_of
from stagec.compiler.direct.persistent import COUNTERS
from stagec.compiler.direct.program import Constant, Copy, Fill, HostCall, Program, Tensor

# The usage of constants.
_CONSTANT_USAGE = 527363
# The memory type that arguments must have.
_ARGUMENT_MEMORY = 16


class Library(NamedTuple):
    """A shared library in one of IREE's formats, and the kernels that are in it."""

    data: bytes
    format: str
    kernels: Sequence[Kernel]


def text(
    program: Program, layout: Layout, items: Sequence[Item], libraries: Sequence[Library], asynchronous: bool
) -> str:
    """The host program, as a module of the VM dialect.

    Args:
      layout: the memory of the program.
      items: its steps.
      libraries: where the kernels are.
      asynchronous: whether the function takes two fences: one to wait for, and one that says that it is done.
    """
    data = [
        'vm.rodata private @memory <alignment = 1> "tensor"',
        *(f'vm.rodata private @format{i} <alignment = 1> "{library.format}"' for i, library in enumerate(libraries)),
        *(
            f'vm.rodata private @library{i} <alignment = 16, mime_type = "application/x-elf"> '
            f'dense<"0x{library.data.hex().upper()}"> : vector<{len(library.data)}xi8>'
            for i, library in enumerate(libraries)
        ),
        *(
            f'vm.rodata private @symbol_{k.symbol} <alignment = 1> "{k.symbol}"'
            for given in libraries
            for k in given.kernels
        ),
        *(f'vm.rodata private @argument{i} <alignment = 1> "input{i}"' for i in range(len(program.arguments))),
        *(
            f"vm.rodata private @data{i} <alignment = 64> {_elements(constant)}"
            for i, constant in enumerate(program.constants.values())
        ),
    ]
    parts = list(parts_of(items))
    variables = [("device", DEVICE), *((f"commands{part.number}", COMMANDS) for part in parts)]
    variables += [(f"constant{i}", BUFFER) for i in range(len(program.constants))]
    functions = "\n".join(
        [*_initializer(program, parts, libraries, layout), *_main(program, items, layout, asynchronous)]
    )
    return "\n".join(
        [
            "module attributes {vm.toplevel} { vm.module public @module {",
            *(f"vm.global.ref private mutable @{name} : {type_}" for name, type_ in variables),
            *data,
            *(imported(name) for name in IMPORTS if f"@hal.{name}(" in functions),
            *dict.fromkeys(map(_host_import, program.host_calls)),
            "vm.export @__init",
            functions,
            "} }",
        ]
    )


def _elements(constant: Constant) -> str:
    """Known elements as an attribute, in which one element stands for all that are equal to it."""
    width = len(constant.data) if len(constant.data) < constant.bytes else 1
    return f'dense<"0x{constant.data.hex()}"> : vector<{constant.bytes // width}xi{8 * width}>'


def _host_import(call: HostCall) -> str:
    return f"vm.import private @{call.symbol}{_host_type(call)}"


def _host_type(call: HostCall) -> str:
    made = ", ".join([VIEW] * len(call.results))
    returned = made if len(call.results) == 1 else f"({made})"
    return f"({', '.join([VIEW] * len(call.operands))}) -> {returned}"


def _initializer(program: Program, parts: Sequence[Part], libraries: Sequence[Library], layout: Layout) -> list[str]:
    f = Function()
    device = f.call("devices.get", f.small(0))
    f.store(device, "device", DEVICE)
    for i, constant in enumerate(program.constants.values()):
        _import_constant(f, i, constant)
    functions = _functions(f, libraries, device)
    for part in parts:
        f.store(_recorded(f, program, part, functions, layout), f"commands{part.number}", COMMANDS)
    f.do("vm.return")
    yields = ", vm.yield" if program.constants else ""
    return [f"vm.func private @__init() attributes {{vm.unwind{yields}}} {{", *f.text(), "}"]


def _import_constant(f: Function, i: int, constant: Constant) -> None:
    """Use the bytes of the module in place where the runtime can, else copy them."""
    device = f.load("device", DEVICE)
    allocator, data = f.call("device.allocator", device), f.data(f"data{i}")
    queue, size, zero = f.number(ANY_QUEUE), f.number(constant.bytes), f.number(0)
    memory, usage = f.small(MEMORY), f.small(_CONSTANT_USAGE)
    found = f.call("allocator.import", allocator, f.small(1), queue, memory, usage, data, zero, size)
    there = f.op(f"vm.cmp.nz.ref {found} : {BUFFER}")
    done, copied = f"constant{i}_there", f"constant{i}_copied"
    f.do(f"vm.cond_br {there}, ^{done}({found} : {BUFFER}), ^{copied}")
    f.do(f"^{copied}:")
    buffer = f.call("allocator.allocate", allocator, queue, memory, usage, size)
    file = f.call("ex.file.from_memory", device, queue, f.small(1), data, zero, size, f.small(0))
    fence = f.call("fence.create", device, zero)
    f.call("device.queue.read", device, queue, f.null(FENCE), fence, file, zero, buffer, zero, size, zero)
    f.wait(fence, f"constant{i}_read")
    f.do(f"vm.br ^{done}({buffer} : {BUFFER})")
    f.do(f"^{done}(%constant{i}: {BUFFER}):")
    f.store(f"%constant{i}", f"constant{i}", BUFFER)


def _functions(f: Function, libraries: Sequence[Library], device: str) -> dict[str, tuple[str, ...]]:
    """The operands of a dispatch that select the kernel, by the kernel's name."""
    functions = {}
    for i, library in enumerate(libraries):
        # The recorded commands keep the executable alive.
        data = (f.data(f"format{i}"), f.data(f"library{i}"), f.null(BYTES))
        executable = f.call("executable.create", device, f.number(ANY_QUEUE), *data)
        for symbol, workgroups in library.kernels:
            function = f.call("executable.lookup.function", executable, f.data(f"symbol_{symbol}"))
            functions[symbol] = (executable, function, *(f.small(n) for n in workgroups))
    return functions


def _recorded(f: Function, program: Program, part: Part, functions: dict[str, tuple[str, ...]], layout: Layout) -> str:
    """The commands of a part, recorded for buffers that each call binds."""
    device = f.load("device", DEVICE)
    queue, zero, zero32, none = f.number(ANY_QUEUE), f.number(0), f.small(0), f.null(BUFFER)
    # Commands of kernels, and of copies where there are some.
    slots = f.small(part.slots + (part.persistent is not None))
    commands = f.call("command_buffer.create", device, f.small(0), f.small(3), queue, slots)
    constants = [f.load(f"constant{i}", BUFFER) for i in range(len(program.constants))]

    def barrier() -> None:
        f.call("command_buffer.execution_barrier", commands, f.small(28), f.small(13), zero)

    def binding(n: int) -> tuple[str, str, str, str]:
        """The slot of a value, its buffer if that is a constant, its offset and its bytes."""
        found = layout.ranges[n]
        slot, buffer = (found.slot, none) if found.slot >= 0 else (0, constants[-1 - found.slot])
        return f.small(slot), buffer, f.number(found.offset), f.number(found.bytes)

    if part.persistent:
        bound = []
        for slot_of, bytes_of in zip(part.persistent.slots, part.persistent.sizes):
            place = f"{f.small(slot_of)}, {none}" if slot_of >= 0 else f"{zero32}, {constants[-1 - slot_of]}"
            bound.append(f"({zero32}, {place}, {zero}, {f.number(bytes_of)})")
        bound.append(f"({zero32}, {f.small(part.slots)}, {none}, {zero}, {f.number(COUNTERS.stop)})")
        f.call("command_buffer.dispatch", commands, *functions[part.persistent.symbol], zero, [], bound)
    waiting = barriers(part.commands, layout.ranges)
    for i, command in enumerate(part.commands):
        if i in waiting:
            barrier()
        if isinstance(command, Copy):
            (slot, buffer, start, _), (to, target, _, _) = binding(command.source), binding(command.target)
            step, first = layout.ranges[command.source].bytes, layout.ranges[command.target].offset
            for done in range(0, command.bytes, step):
                at, size = f.number(first + done), f.number(min(step, command.bytes - done))
                f.call("command_buffer.copy_buffer", commands, slot, to, buffer, start, target, at, size, zero)
        elif isinstance(command, Fill):
            slot, buffer, start, size = binding(command.target)
            pattern = f.number(int.from_bytes(command.pattern, "little"))
            length = f.small(len(command.pattern))
            f.call("command_buffer.fill_buffer", commands, buffer, start, size, slot, pattern, length, zero)
        else:
            bound = [f"({zero32}, {', '.join(binding(n))})" for n in (*command.read, *command.written)]
            f.call("command_buffer.dispatch", commands, *functions[command.kernel], zero, [], bound)
    barrier()
    f.call("command_buffer.finalize", commands)
    return commands


def _main(program: Program, items: Sequence[Item], layout: Layout, asynchronous: bool) -> list[str]:
    f = Function()
    device, queue, zero = f.load("device", DEVICE), f.number(ANY_QUEUE), f.number(0)
    views: dict[int, tuple[str, Tensor]] = {}
    flow = Flow(f, program, layout, lambda call: _call_host(f, call, flow, views), device)
    for i, tensor in enumerate(program.arguments):
        flow.buffers[i], flow.sizes[i] = _checked(f, i, tensor, device), tensor.bytes
        views[i] = f"%argument{i}", tensor
        flow.hold(f"%argument{i}", VIEW)
    before = "%before" if asynchronous else f.null(FENCE)
    fences = []
    flow.sizes.update(layout.allocated)
    # What later calls can use as soon as this one is done is allocated in the order of the queue. Results are not: the
    # runtime would never free most of them, if they are larger than 64 MiB together.
    queued = [slot for slot in layout.deallocated if asynchronous]
    for slot, size in layout.allocated.items():
        if slot in queued:
            fence = flow.fence()
            kind = (f.small(MEMORY), f.small(USAGE), f.number(size), zero)
            flow.buffers[slot] = f.call("device.queue.alloca", device, queue, before, fence, zero, *kind)
            fences.append(fence)
        else:
            flow.buffers[slot] = allocated(f, device, size)
    flow.ready = before if not fences else fences[0] if len(fences) == 1 else f.call("fence.join", zero, fences)
    if any(part.counted for part in parts_of(items)):  # persistent kernels have numbers of their own
        flow.buffers[layout.numbers] = flow.written(layout.numbers_bytes * AHEAD)
    flow.make_counters(items)
    after = "%after" if asynchronous else flow.fence()
    is_last = bool(items) and isinstance(items[-1], Part)
    flow.run(items, after if is_last and not queued else "")
    for i, slot in enumerate(queued):
        done = after if i == len(queued) - 1 else flow.fence()
        f.call("device.queue.dealloca", device, queue, flow.ready or f.null(FENCE), done, flow.buffers[slot], zero)
        flow.ready = done
    if asynchronous and flow.ready != after:
        f.call("device.queue.barrier", device, queue, flow.ready or f.null(FENCE), after, zero)
    if not asynchronous and items:
        flow.wait()
    # Not the views that Python functions have returned: the runtime would never free what it returns of these.
    own = {n: views[n] for n in range(len(program.arguments))}
    made = [_view(f, n, tensor, flow, own) for n, tensor in zip(program.returned, program.results)]
    for slot in range(layout.slots):
        if slot in flow.buffers:
            flow.hold(flow.buffers[slot], BUFFER)
    flow.hold(device, DEVICE)
    flow.release(without=made)
    types = ", ".join([VIEW] * len(made))
    f.do(f"vm.return {', '.join(made)} : {types}" if made else "vm.return")
    given = [f"%argument{i}: {VIEW}" for i in range(len(program.arguments))]
    if asynchronous:
        given += [f"%before: {FENCE}", f"%after: {FENCE}"]
    model = ', iree.abi.model = "coarse-fences"' if asynchronous else ""
    reflection = f'iree.reflection = {{iree.abi.declaration = "{_declaration(program, asynchronous)}"{model}}}'
    unwinds = "vm.unwind" if asynchronous and not program.has_control else "vm.unwind, vm.yield"
    return [
        f"vm.export @main attributes {{iree.abi.stub, {reflection}}}",
        f"vm.func private @main({', '.join(given)}) -> ({types}) attributes {{{reflection}, {unwinds}}} {{",
        *f.text(),
        "}",
    ]


def _checked(f: Function, i: int, tensor: Tensor, device: str) -> str:
    """The buffer of an argument, after a check that it is as large as its type says."""
    view = f"%argument{i}"
    dimensions = [f.number(n) for n in tensor.shape]
    f.call(
        "buffer_view.assert", view, f.data(f"argument{i}"), f.small(ELEMENTS[tensor.element]), f.small(1), dimensions
    )
    buffer = f.call("buffer_view.buffer", view)
    allocator, least = f.call("device.allocator", device), f.number(tensor.bytes)
    f.call("buffer.assert", buffer, f.data("memory"), allocator, least, f.small(_ARGUMENT_MEMORY), f.small(USAGE))
    return buffer


def _view(f: Function, n: int, tensor: Tensor, flow: Flow, views: dict[int, tuple[str, Tensor]]) -> str:
    """A view of a value: the one that there is, or else a new one."""
    found = flow.layout.ranges[n]
    if n in views and views[n][1] == tensor:
        return views[n][0]
    buffer = flow.buffers[found.slot] if found.slot >= 0 else f.load(f"constant{-1 - found.slot}", BUFFER)
    dimensions = [f.number(size) for size in tensor.shape]
    where = (f.number(found.offset), f.number(found.bytes), f.small(ELEMENTS[tensor.element]), f.small(1))
    return f.call("buffer_view.create", buffer, *where, dimensions)


def _call_host(f: Function, call: HostCall, flow: Flow, views: dict[int, tuple[str, Tensor]]) -> None:
    given = [_view(f, n, tensor, flow, views) for n, tensor in zip(call.read, call.operands)]
    made = f.several(f"vm.call @{call.symbol}({', '.join(given)}) : {_host_type(call)}", len(call.results))
    for n, tensor, view in zip(call.written, call.results, made):
        slot, buffer = flow.layout.ranges[n].slot, f.call("buffer_view.buffer", view)
        views[n] = view, tensor
        flow.buffers[slot], flow.sizes[slot] = buffer, tensor.bytes
        flow.hold(view, VIEW)
        flow.hold(buffer, BUFFER)


def _declaration(program: Program, asynchronous: bool) -> str:
    """The function's signature, for tools that list the functions of a module."""
    given, made = (
        ", ".join(f"%{name}{i}: {_declared(tensor)}" for i, tensor in enumerate(tensors))
        for name, tensors in (("input", program.arguments), ("output", program.results))
    )
    return f"{'async' if asynchronous else 'sync'} func @main({given}) -> ({made})"


def _declared(tensor: Tensor) -> str:
    return f"tensor<{''.join(f'{n}x' for n in tensor.shape)}{tensor.element}>"
