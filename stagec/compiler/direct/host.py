"""The host program: it allocates memory and starts kernels, in the instructions of IREE's virtual machine.

The commands are recorded once, when the module is loaded; a call binds its memory to them. What the functions of the
runtime mean is what IREE's compiler uses them for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stagec.compiler.direct.library import Kernel
from stagec.compiler.direct.memory import Layout, laid_out
from stagec.compiler.direct.program import Constant, Program, Tensor

_FORMAT = "embedded-elf-x86_64"
_DEVICE, _BUFFER, _VIEW, _FENCE, _EXECUTABLE, _COMMANDS, _ALLOCATOR, _FILE = (
    f"!vm.ref<!hal.{name}>"
    for name in ("device", "buffer", "buffer_view", "fence", "executable", "command_buffer", "allocator", "file")
)
_BYTES = "!vm.buffer"
_PURE = "nosideeffects"
# The runtime's functions: name, types of operands and of the result, attributes.
_IMPORTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "allocator.allocate": ((_ALLOCATOR, "i64", "i32", "i32", "i64"), _BUFFER, ""),
    "allocator.import": ((_ALLOCATOR, "i32", "i64", "i32", "i32", _BYTES, "i64", "i64"), _BUFFER, ""),
    "buffer.assert": ((_BUFFER, _BYTES, _ALLOCATOR, "i64", "i32", "i32"), "", ""),
    "buffer_view.assert": ((_VIEW, _BYTES, "i32", "i32", "i64 ..."), "", ""),
    "buffer_view.buffer": ((_VIEW,), _BUFFER, _PURE),
    "buffer_view.create": ((_BUFFER, "i64", "i64", "i32", "i32", "i64 ..."), _VIEW, _PURE),
    "command_buffer.create": ((_DEVICE, "i32", "i32", "i64", "i32"), _COMMANDS, "minimum_version = 6 : i32"),
    "command_buffer.dispatch": (
        (
            _COMMANDS,
            _EXECUTABLE,
            "i64",
            "i32",
            "i32",
            "i32",
            "i64",
            "i32 ...",
            f"tuple<i32, i32, {_BUFFER}, i64, i64> ...",
        ),
        "",
        "minimum_version = 7 : i32",
    ),
    "command_buffer.execution_barrier": ((_COMMANDS, "i32", "i32", "i64"), "", ""),
    "command_buffer.finalize": ((_COMMANDS,), "", ""),
    "device.allocator": ((_DEVICE,), _ALLOCATOR, _PURE),
    "device.queue.alloca": ((_DEVICE, "i64", _FENCE, _FENCE, "i64", "i32", "i32", "i64", "i64"), _BUFFER, ""),
    "device.queue.barrier": ((_DEVICE, "i64", _FENCE, _FENCE, "i64"), "", ""),
    "device.queue.dealloca": ((_DEVICE, "i64", _FENCE, _FENCE, _BUFFER, "i64"), "", ""),
    "device.queue.execute.indirect": (
        (_DEVICE, "i64", _FENCE, _FENCE, _COMMANDS, "i64", f"tuple<{_BUFFER}, i64, i64> ..."),
        "",
        "",
    ),
    "device.queue.read": ((_DEVICE, "i64", _FENCE, _FENCE, _FILE, "i64", _BUFFER, "i64", "i64", "i64"), "", ""),
    "devices.get": (("i32",), _DEVICE, _PURE),
    "ex.file.from_memory": ((_DEVICE, "i64", "i32", _BYTES, "i64", "i64", "i32"), _FILE, ""),
    "executable.create": ((_DEVICE, "i64", _BYTES, _BYTES, _BYTES), _EXECUTABLE, _PURE),
    "executable.lookup.function": ((_EXECUTABLE, _BYTES), "i64", f"{_PURE}, minimum_version = 7 : i32"),
    "fence.await": (("i32", "i64", f"{_FENCE} ..."), "i32", "vm.yield"),
    "fence.create": ((_DEVICE, "i64"), _FENCE, ""),
    "fence.join": (("i64", f"{_FENCE} ..."), _FENCE, _PURE),
}
# The runtime's numbers of element types; integers have no sign.
_ELEMENTS = {
    "i1": 0x13000008,
    "bf16": 0x22000010,
    **{f"f{n}": 0x21000000 + n for n in (16, 32, 64)},
    **{f"complex<f{n}>": 0x23000000 + 2 * n for n in (32, 64)},
    **{f"{sign}i{n}": 0x10000000 + n for n in (8, 16, 32, 64) for sign in ("", "u")},
}
# Memory that the device owns; for kernels, copies and the host; and the same of constants.
_MEMORY, _USAGE, _CONSTANT_USAGE = 48, 3075, 527363
# What arguments must be good for.
_ARGUMENT_MEMORY = 16
_ANY_QUEUE = -1
_FOREVER = -1


class _Function:
    """Writes the body of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._constants: dict[tuple[str, int], str] = {}
        self._count = 0

    def number(self, value: int, type_: str = "i64") -> str:
        """A constant."""
        key = (type_, value)
        if key not in self._constants:
            self._constants[key] = f"%{type_}_{len(self._constants)}"
        return self._constants[key]

    def small(self, value: int) -> str:
        """A constant of 32 bits."""
        return self.number(value, "i32")

    def do(self, text: str) -> None:
        self.lines.append(text)

    def op(self, text: str) -> str:
        """An op with a result; returns its name."""
        self._count += 1
        self.lines.append(f"%{self._count} = {text}")
        return f"%{self._count}"

    def null(self, type_: str) -> str:
        return self.op(f"vm.const.ref.zero : {type_}")

    def load(self, name: str, type_: str) -> str:
        return self.op(f"vm.global.load.ref @{name} : {type_}")

    def store(self, value: str, name: str, type_: str) -> None:
        self.do(f"vm.global.store.ref {value}, @{name} : {type_}")

    def data(self, name: str) -> str:
        """Bytes of the module."""
        return self.op(f"vm.const.ref.rodata @{name} : {_BYTES}")

    def call(self, name: str, *operands: str | Sequence[str]) -> str:
        """A function of the runtime; what may be repeated is a sequence."""
        types, result, attributes = _IMPORTS[name]
        variadic = "" if all(isinstance(o, str) for o in operands) else ".variadic"
        given = ", ".join(o if isinstance(o, str) else f"[{', '.join(o)}]" for o in operands)
        pure = f" {{{_PURE}}}" if _PURE in attributes else ""
        text = f"vm.call{variadic} @hal.{name}({given}){pure} : ({', '.join(types)}) -> {result or '()'}"
        if variadic and not result:
            text = text.removesuffix(" -> ()")
        if result:
            return self.op(text)
        self.do(text)
        return ""

    def wait(self, fence: str, block: str) -> None:
        """Wait, and go on in a block of that name; or fail."""
        given = f"({self.small(_FOREVER)}, {self.number(0)}, {fence})"
        types = f"segment_sizes = dense<[-1, -1, 1]> : vector<3xi16>, segment_types = [i32, i64, {_FENCE}]"
        kinds = f"(i32, i64, {_FENCE}) -> ^{block}_known (i32)"
        self.do(f"vm.call.variadic.yieldable @hal.fence.await{given} <{types}> : {kinds}")
        self.do(f"^{block}_known(%{block}_status: i32):")
        self.do(f"vm.cond_br %{block}_status, ^{block}_failed, ^{block}")
        self.do(f"^{block}_failed:")
        self.do(f'vm.fail %{block}_status, "failed to wait"')
        self.do(f"^{block}:")

    def text(self) -> list[str]:
        numbers = [
            f"{name} = vm.const.{type_}{f' {value}' if value else '.zero'}"
            for (type_, value), name in self._constants.items()
        ]
        return [*numbers, *self.lines]


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
    variables = [("device", _DEVICE), ("commands", _COMMANDS)]
    variables += [(f"constant{i}", _BUFFER) for i in range(len(program.constants))]
    return "\n".join(
        [
            "module attributes {vm.toplevel} { vm.module public @module {",
            *(f"vm.global.ref private mutable @{name} : {type_}" for name, type_ in variables),
            *data,
            *(_import(name) for name in _IMPORTS),
            "vm.export @__init",
            *_initializer(program, libraries, layout),
            *_main(program, layout, asynchronous),
            "} }",
        ]
    )


def _import(name: str) -> str:
    types, result, attributes = _IMPORTS[name]
    given = ", ".join(f"%p{i} : {type_}" for i, type_ in enumerate(types))
    returned = f" -> {result}" if result else ""
    return f"vm.import private @hal.{name}({given}){returned}" + (f" attributes {{{attributes}}}" if attributes else "")


def _initializer(program: Program, libraries: Sequence[Library], layout: Layout) -> list[str]:
    f = _Function()
    device = f.call("devices.get", f.small(0))
    f.store(device, "device", _DEVICE)
    for i, constant in enumerate(program.constants.values()):
        _import_constant(f, i, constant)
    if program.calls:
        f.store(_recorded(f, program, libraries, layout), "commands", _COMMANDS)
    f.do("vm.return")
    yields = ", vm.yield" if program.constants else ""
    return [f"vm.func private @__init() attributes {{vm.unwind{yields}}} {{", *f.text(), "}"]


def _import_constant(f: _Function, i: int, constant: Constant) -> None:
    """Use the module's own bytes where the runtime can; else a copy."""
    device = f.load("device", _DEVICE)
    allocator, data = f.call("device.allocator", device), f.data(f"data{i}")
    queue, size, zero = f.number(_ANY_QUEUE), f.number(constant.bytes), f.number(0)
    memory, usage = f.small(_MEMORY), f.small(_CONSTANT_USAGE)
    found = f.call("allocator.import", allocator, f.small(1), queue, memory, usage, data, zero, size)
    there = f.op(f"vm.cmp.nz.ref {found} : {_BUFFER}")
    done, copied = f"constant{i}_there", f"constant{i}_copied"
    f.do(f"vm.cond_br {there}, ^{done}({found} : {_BUFFER}), ^{copied}")
    f.do(f"^{copied}:")
    buffer = f.call("allocator.allocate", allocator, queue, memory, usage, size)
    file = f.call("ex.file.from_memory", device, queue, f.small(1), data, zero, size, f.small(0))
    fence = f.call("fence.create", device, zero)
    f.call("device.queue.read", device, queue, f.null(_FENCE), fence, file, zero, buffer, zero, size, zero)
    f.wait(fence, f"constant{i}_read")
    f.do(f"vm.br ^{done}({buffer} : {_BUFFER})")
    f.do(f"^{done}(%constant{i}: {_BUFFER}):")
    f.store(f"%constant{i}", f"constant{i}", _BUFFER)


def _recorded(f: _Function, program: Program, libraries: Sequence[Library], layout: Layout) -> str:
    """The commands of a call, for memory that is bound later."""
    device = f.load("device", _DEVICE)
    slots = len(program.arguments) + len(layout.allocated)
    queue, zero, none = f.number(_ANY_QUEUE), f.number(0), f.null(_BUFFER)
    commands = f.call("command_buffer.create", device, f.small(0), f.small(3), queue, f.small(slots))
    functions = {}
    for i, library in enumerate(libraries):
        # The recorded commands keep it.
        data = (f.data("format"), f.data(f"library{i}"), f.null(_BYTES))
        executable = f.call("executable.create", device, queue, *data)
        for symbol, workgroups in library.kernels:
            function = f.call("executable.lookup.function", executable, f.data(f"symbol_{symbol}"))
            functions[symbol] = (executable, function, *(f.small(n) for n in workgroups))
    constants = [f.load(f"constant{i}", _BUFFER) for i in range(len(program.constants))]

    def barrier() -> None:
        f.call("command_buffer.execution_barrier", commands, f.small(28), f.small(13), zero)

    for i, call in enumerate(program.calls):
        if i in layout.barriers:
            barrier()
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


def _main(program: Program, layout: Layout, asynchronous: bool) -> list[str]:
    f = _Function()
    device, queue, zero = f.load("device", _DEVICE), f.number(_ANY_QUEUE), f.number(0)
    bound = [(_checked(f, i, tensor, device), tensor.bytes) for i, tensor in enumerate(program.arguments)]
    before = "%before" if asynchronous else f.null(_FENCE)
    allocated, fences = {}, []
    for slot, size in layout.allocated.items():
        fence = f.call("fence.create", device, zero)
        memory = (f.small(_MEMORY), f.small(_USAGE), f.number(size), zero)
        allocated[slot] = f.call("device.queue.alloca", device, queue, before, fence, zero, *memory)
        fences.append(fence)
        bound.append((allocated[slot], size))
    ready = before if not fences else fences[0] if len(fences) == 1 else f.call("fence.join", zero, fences)
    after = "%after" if asynchronous else f.call("fence.create", device, zero)
    if program.calls:
        done = f.call("fence.create", device, zero) if layout.arena >= 0 else after
        table = [f"({buffer}, {zero}, {f.number(size)})" for buffer, size in bound]
        commands = f.load("commands", _COMMANDS)
        f.call("device.queue.execute.indirect", device, queue, ready, done, commands, zero, table)
        if layout.arena >= 0:
            f.call("device.queue.dealloca", device, queue, done, after, allocated[layout.arena], zero)
    elif asynchronous:
        f.call("device.queue.barrier", device, queue, ready, after, zero)
    if not asynchronous and program.calls:
        f.wait(after, "computed")
    views = [_result(f, program, layout, i, allocated) for i in range(len(program.results))]
    types = ", ".join([_VIEW] * len(views))
    f.do(f"vm.return {', '.join(views)} : {types}" if views else "vm.return")
    given = [f"%argument{i}: {_VIEW}" for i in range(len(program.arguments))]
    if asynchronous:
        given += [f"%before: {_FENCE}", f"%after: {_FENCE}"]
    model = ', iree.abi.model = "coarse-fences"' if asynchronous else ""
    reflection = f'iree.reflection = {{iree.abi.declaration = "{_declaration(program, asynchronous)}"{model}}}'
    unwinds = "vm.unwind" if asynchronous else "vm.unwind, vm.yield"
    return [
        f"vm.export @main attributes {{iree.abi.stub, {reflection}}}",
        f"vm.func private @main({', '.join(given)}) -> ({types}) attributes {{{reflection}, {unwinds}}} {{",
        *f.text(),
        "}",
    ]


def _checked(f: _Function, i: int, tensor: Tensor, device: str) -> str:
    """The memory of an argument, which is as large as its type says."""
    view = f"%argument{i}"
    dimensions = [f.number(n) for n in tensor.shape]
    f.call(
        "buffer_view.assert", view, f.data(f"argument{i}"), f.small(_ELEMENTS[tensor.element]), f.small(1), dimensions
    )
    buffer = f.call("buffer_view.buffer", view)
    allocator, least = f.call("device.allocator", device), f.number(tensor.bytes)
    f.call("buffer.assert", buffer, f.data("memory"), allocator, least, f.small(_ARGUMENT_MEMORY), f.small(_USAGE))
    return buffer


def _result(f: _Function, program: Program, layout: Layout, i: int, allocated: dict[int, str]) -> str:
    n, tensor = program.returned[i], program.results[i]
    if n < len(program.arguments) and program.arguments[n] == tensor:
        return f"%argument{n}"
    place = layout.places[n]
    if place.slot in allocated:
        buffer = allocated[place.slot]
    else:
        buffer = f.call("buffer_view.buffer", f"%argument{place.slot}")
    dimensions = [f.number(size) for size in tensor.shape]
    where = (f.number(place.offset), f.number(place.bytes), f.small(_ELEMENTS[tensor.element]), f.small(1))
    return f.call("buffer_view.create", buffer, *where, dimensions)


def _declaration(program: Program, asynchronous: bool) -> str:
    """The function's signature, for tools that list what a module has."""
    given, made = (
        ", ".join(f"%{name}{i}: {_declared(tensor)}" for i, tensor in enumerate(tensors))
        for name, tensors in (("input", program.arguments), ("output", program.results))
    )
    return f"{'async' if asynchronous else 'sync'} func @main({given}) -> ({made})"


def _declared(tensor: Tensor) -> str:
    return f"tensor<{''.join(f'{n}x' for n in tensor.shape)}{tensor.element}>"
