"""The host program, in the instructions of IREE's virtual machine: it allocates memory, starts kernels, calls Python.

The commands are recorded once, when the module is loaded; a call binds its memory to them. What the functions of the
runtime mean is what IREE's compiler uses them for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from stagec.compiler.direct.memory import Layout, laid_out
from stagec.compiler.direct.program import Call, Constant, Copy, HostCall, Program, Tensor

_FORMAT = "embedded-elf-x86_64"
# Memory that the device owns; for kernels, copies and the host; and the same of constants.
_MEMORY, _USAGE, _CONSTANT_USAGE = 48, 3075, 527363
# What arguments must be good for.
_ARGUMENT_MEMORY = 16
_ANY_QUEUE = -1


class Library(NamedTuple):
    """A shared library, and the kernels that are in it."""

    data: bytes
    kernels: Sequence[Kernel]


def text(program: Program, libraries: Sequence[Library], asynchronous: bool) -> str:
    """The host program, as a module of the VM dialect.

    Args:
      libraries: where the kernels are.
      asynchronous: whether the function takes two fences: one to wait for, and one that says that it is done.
    """
    layout = laid_out(program)
    data = [
        f'vm.rodata private @format <alignment = 1> "{_FORMAT}"',
        'vm.rodata private @memory <alignment = 1> "tensor"',
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
        *(f"vm.rodata private @data{i} <alignment = 64> {c.text}" for i, c in enumerate(program.constants.values())),
    ]
    parts = _parts(program)
    variables = [("device", DEVICE), *((f"commands{i}", COMMANDS) for i in range(len(parts)))]
    variables += [(f"constant{i}", BUFFER) for i in range(len(program.constants))]
    return "\n".join(
        [
            "module attributes {vm.toplevel} { vm.module public @module {",
            *(f"vm.global.ref private mutable @{name} : {type_}" for name, type_ in variables),
            *data,
            *map(imported, IMPORTS),
            *dict.fromkeys(map(_host_import, program.host_calls)),
            "vm.export @__init",
            *_initializer(program, libraries, layout),
            *_main(program, layout, asynchronous),
            "} }",
        ]
    )


class _Part(NamedTuple):
    """Kernels and copies that are started together, and the Python function that is called after them.

    Attributes:
      calls: of kernels, and copies, each with its position among all calls.
      then: the last part has none.
      slots: how many buffers are there by then, beside what the program allocates.
    """

    calls: list[tuple[int, Call | Copy]]
    then: HostCall | None
    slots: int


def _parts(program: Program) -> list[_Part]:
    found: list[_Part] = []
    calls: list[tuple[int, Call | Copy]] = []
    slots = len(program.arguments)
    for i, call in enumerate(program.calls):
        if not isinstance(call, HostCall):
            calls.append((i, call))
            continue
        found.append(_Part(calls, call, slots))
        calls, slots = [], slots + len(call.written)
    return [*found, _Part(calls, None, slots)]


def _host_import(call: HostCall) -> str:
    return f"vm.import private @{call.symbol}{_host_type(call)}"


def _host_type(call: HostCall) -> str:
    made = ", ".join([VIEW] * len(call.results))
    returned = made if len(call.results) == 1 else f"({made})"
    return f"({', '.join([VIEW] * len(call.operands))}) -> {returned}"


def _initializer(program: Program, libraries: Sequence[Library], layout: Layout) -> list[str]:
    f = Function()
    device = f.call("devices.get", f.small(0))
    f.store(device, "device", DEVICE)
    for i, constant in enumerate(program.constants.values()):
        _import_constant(f, i, constant)
    functions = _functions(f, libraries, device)
    for i, part in enumerate(_parts(program)):
        if part.calls:
            f.store(_recorded(f, program, part, functions, layout), f"commands{i}", COMMANDS)
    f.do("vm.return")
    yields = ", vm.yield" if program.constants else ""
    return [f"vm.func private @__init() attributes {{vm.unwind{yields}}} {{", *f.text(), "}"]


def _import_constant(f: Function, i: int, constant: Constant) -> None:
    """Use the module's own bytes where the runtime can; else a copy."""
    device = f.load("device", DEVICE)
    allocator, data = f.call("device.allocator", device), f.data(f"data{i}")
    queue, size, zero = f.number(_ANY_QUEUE), f.number(constant.bytes), f.number(0)
    memory, usage = f.small(_MEMORY), f.small(_CONSTANT_USAGE)
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
    """The operands of a dispatch that say which kernel it is, by the kernel's name."""
    functions = {}
    for i, library in enumerate(libraries):
        # The recorded commands keep it.
        data = (f.data("format"), f.data(f"library{i}"), f.null(BYTES))
        executable = f.call("executable.create", device, f.number(_ANY_QUEUE), *data)
        for symbol, workgroups in library.kernels:
            function = f.call("executable.lookup.function", executable, f.data(f"symbol_{symbol}"))
            functions[symbol] = (executable, function, *(f.small(n) for n in workgroups))
    return functions


def _recorded(f: Function, program: Program, part: _Part, functions: dict[str, tuple[str, ...]], layout: Layout) -> str:
    """The commands of a part, for memory that is bound later."""
    device = f.load("device", DEVICE)
    slots = part.slots + len(layout.allocated)
    queue, zero, none = f.number(_ANY_QUEUE), f.number(0), f.null(BUFFER)
    commands = f.call("command_buffer.create", device, f.small(0), f.small(3), queue, f.small(slots))
    constants = [f.load(f"constant{i}", BUFFER) for i in range(len(program.constants))]

    def barrier() -> None:
        f.call("command_buffer.execution_barrier", commands, f.small(28), f.small(13), zero)

    for i, call in part.calls:
        if i in layout.barriers:
            barrier()
        if isinstance(call, Copy):
            _record_copy(f, commands, call, layout, constants)
            continue
        bound = []
        for n in (*call.read, *call.written):
            place = layout.places[n]
            slot, buffer = (place.slot, none) if place.slot >= 0 else (0, constants[-1 - place.slot])
            bound.append(
                f"({f.small(0)}, {f.small(slot)}, {buffer}, {f.number(place.offset)}, {f.number(place.bytes)})"
            )
        f.call("command_buffer.dispatch", commands, *functions[call.kernel], zero, [], bound)
    barrier()
    f.call("command_buffer.finalize", commands)
    return commands


def _record_copy(f: Function, commands: str, call: Copy, layout: Layout, constants: Sequence[str]) -> None:
    """Fill memory with a number, or with a constant as often as it goes into it."""
    place, zero, none = layout.places[call.written[0]], f.number(0), f.null(BUFFER)
    if call.pattern:
        pattern = f.number(int.from_bytes(call.pattern, "little")), f.small(len(call.pattern)), zero
        there = none, f.number(place.offset), f.number(place.bytes), f.small(place.slot)
        f.call("command_buffer.fill_buffer", commands, *there, *pattern)
    for n in call.read:
        source = layout.places[n]
        given = f.small(0), f.small(place.slot), constants[-1 - source.slot], zero, none
        for at in range(0, place.bytes, source.bytes):
            part = f.number(place.offset + at), f.number(min(source.bytes, place.bytes - at)), zero
            f.call("command_buffer.copy_buffer", commands, *given, *part)


def _main(program: Program, layout: Layout, asynchronous: bool) -> list[str]:
    f = Function()
    device, queue, zero = f.load("device", DEVICE), f.number(_ANY_QUEUE), f.number(0)
    memory = _Memory(f, layout)
    for i, tensor in enumerate(program.arguments):
        memory.bind(i, _checked(f, i, tensor, device), tensor.bytes)
        memory.views[i] = f"%argument{i}", tensor
    before = "%before" if asynchronous else f.null(FENCE)
    fences = []
    for slot, size in layout.allocated.items():
        fence = f.call("fence.create", device, zero)
        wanted = (f.small(_MEMORY), f.small(_USAGE), f.number(size), zero)
        memory.bind(slot, f.call("device.queue.alloca", device, queue, before, fence, zero, *wanted), size)
        fences.append(fence)
    ready = before if not fences else fences[0] if len(fences) == 1 else f.call("fence.join", zero, fences)

    def execute(i: int, ready: str, done: str) -> None:
        commands = f.load(f"commands{i}", COMMANDS)
        f.call("device.queue.execute.indirect", device, queue, ready, done, commands, zero, memory.table())

    *first, last = list(enumerate(_parts(program)))
    for i, part in first:
        if part.calls:
            done = f.call("fence.create", device, zero)
            execute(i, ready, done)
            f.wait(done, f"part{i}")
            ready = f.null(FENCE)
        assert part.then is not None, "a part that is not the last one ends with a call"
        _call_host(f, part.then, memory)
    i, part = last
    after = "%after" if asynchronous else f.call("fence.create", device, zero)
    arena = memory.buffers[layout.arena] if layout.arena >= 0 else ""
    if part.calls:
        done = f.call("fence.create", device, zero) if arena else after
        execute(i, ready, done)
        ready = done
    if arena:
        f.call("device.queue.dealloca", device, queue, ready, after, arena, zero)
    elif asynchronous and not part.calls:
        f.call("device.queue.barrier", device, queue, ready, after, zero)
    if not asynchronous and (part.calls or arena):
        f.wait(after, "computed")
    views = [memory.view(n, tensor) for n, tensor in zip(program.returned, program.results)]
    types = ", ".join([VIEW] * len(views))
    f.do(f"vm.return {', '.join(views)} : {types}" if views else "vm.return")
    given = [f"%argument{i}: {VIEW}" for i in range(len(program.arguments))]
    if asynchronous:
        given += [f"%before: {FENCE}", f"%after: {FENCE}"]
    model = ', iree.abi.model = "coarse-fences"' if asynchronous else ""
    reflection = f'iree.reflection = {{iree.abi.declaration = "{_declaration(program, asynchronous)}"{model}}}'
    unwinds = "vm.unwind" if asynchronous else "vm.unwind, vm.yield"
    return [
        f"vm.export @main attributes {{iree.abi.stub, {reflection}}}",
        f"vm.func private @main({', '.join(given)}) -> ({types}) attributes {{{reflection}, {unwinds}}} {{",
        *f.text(),
        "}",
    ]


def _checked(f: Function, i: int, tensor: Tensor, device: str) -> str:
    """The memory of an argument, which is as large as its type says."""
    view = f"%argument{i}"
    dimensions = [f.number(n) for n in tensor.shape]
    f.call(
        "buffer_view.assert", view, f.data(f"argument{i}"), f.small(ELEMENTS[tensor.element]), f.small(1), dimensions
    )
    buffer = f.call("buffer_view.buffer", view)
    allocator, least = f.call("device.allocator", device), f.number(tensor.bytes)
    f.call("buffer.assert", buffer, f.data("memory"), allocator, least, f.small(_ARGUMENT_MEMORY), f.small(_USAGE))
    return buffer


class _Memory:
    """The memory of a call, as registers of the host program.

    Attributes:
      buffers: by slot.
      views: what the caller or a Python function brought, with its type, by the number of the memory.
    """

    def __init__(self, f: Function, layout: Layout) -> None:
        self._f, self._layout = f, layout
        self.buffers: dict[int, str] = {}
        self.views: dict[int, tuple[str, Tensor]] = {}
        self._sizes: dict[int, int] = {}

    def bind(self, slot: int, buffer: str, size: int) -> None:
        self.buffers[slot], self._sizes[slot] = buffer, size

    def slot(self, n: int) -> int:
        return self._layout.places[n].slot

    def table(self) -> list[str]:
        """What is there, for commands that were recorded for as many slots."""
        f = self._f
        return [f"({self.buffers[s]}, {f.number(0)}, {f.number(self._sizes[s])})" for s in sorted(self.buffers)]

    def view(self, n: int, tensor: Tensor) -> str:
        """A view of some memory."""
        f, place = self._f, self._layout.places[n]
        if n in self.views and self.views[n][1] == tensor:
            return self.views[n][0]
        if place.slot >= 0:
            buffer = self.buffers[place.slot]
        else:
            buffer = f.load(f"constant{-1 - place.slot}", BUFFER)
        dimensions = [f.number(size) for size in tensor.shape]
        where = (f.number(place.offset), f.number(place.bytes), f.small(ELEMENTS[tensor.element]), f.small(1))
        return f.call("buffer_view.create", buffer, *where, dimensions)


def _call_host(f: Function, call: HostCall, memory: _Memory) -> None:
    given = [memory.view(n, tensor) for n, tensor in zip(call.read, call.operands)]
    made = f.several(f"vm.call @{call.symbol}({', '.join(given)}) : {_host_type(call)}", len(call.results))
    for n, tensor, view in zip(call.written, call.results, made):
        memory.views[n] = view, tensor
        memory.bind(memory.slot(n), f.call("buffer_view.buffer", view), tensor.bytes)


def _declaration(program: Program, asynchronous: bool) -> str:
    """The function's signature, for tools that list what a module has."""
    given, made = (
        ", ".join(f"%{name}{i}: {_declared(tensor)}" for i, tensor in enumerate(tensors))
        for name, tensors in (("input", program.arguments), ("output", program.results))
    )
    return f"{'async' if asynchronous else 'sync'} func @main({given}) -> ({made})"


def _declared(tensor: Tensor) -> str:
    return f"tensor<{''.join(f'{n}x' for n in tensor.shape)}{tensor.element}>"
