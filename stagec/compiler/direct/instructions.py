"""The instructions of IREE's virtual machine: the runtime's functions, and the text of functions that call them."""

from __future__ import annotations

from collections.abc import Sequence

DEVICE, BUFFER, VIEW, FENCE, EXECUTABLE, COMMANDS, ALLOCATOR, FILE = (
    f"!vm.ref<!hal.{name}>"
    for name in ("device", "buffer", "buffer_view", "fence", "executable", "command_buffer", "allocator", "file")
)
BYTES = "!vm.buffer"
_PURE = "nosideeffects"
# The runtime's functions: name, types of operands and of the result, attributes.
IMPORTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "allocator.allocate": ((ALLOCATOR, "i64", "i32", "i32", "i64"), BUFFER, ""),
    "allocator.import": ((ALLOCATOR, "i32", "i64", "i32", "i32", BYTES, "i64", "i64"), BUFFER, ""),
    "buffer.assert": ((BUFFER, BYTES, ALLOCATOR, "i64", "i32", "i32"), "", ""),
    "buffer.load": ((BUFFER, "i64", "i32"), "i32", ""),
    "buffer.store": (("i32", BUFFER, "i64", "i32"), "", ""),
    "buffer_view.assert": ((VIEW, BYTES, "i32", "i32", "i64 ..."), "", ""),
    "buffer_view.buffer": ((VIEW,), BUFFER, _PURE),
    "buffer_view.create": ((BUFFER, "i64", "i64", "i32", "i32", "i64 ..."), VIEW, _PURE),
    "command_buffer.copy_buffer": ((COMMANDS, "i32", "i32", BUFFER, "i64", BUFFER, "i64", "i64", "i64"), "", ""),
    "command_buffer.create": ((DEVICE, "i32", "i32", "i64", "i32"), COMMANDS, "minimum_version = 6 : i32"),
    "command_buffer.dispatch": (
        (
            COMMANDS,
            EXECUTABLE,
            "i64",
            "i32",
            "i32",
            "i32",
            "i64",
            "i32 ...",
            f"tuple<i32, i32, {BUFFER}, i64, i64> ...",
        ),
        "",
        "minimum_version = 7 : i32",
    ),
    "command_buffer.fill_buffer": ((COMMANDS, BUFFER, "i64", "i64", "i32", "i64", "i32", "i64"), "", ""),
    "command_buffer.execution_barrier": ((COMMANDS, "i32", "i32", "i64"), "", ""),
    "command_buffer.finalize": ((COMMANDS,), "", ""),
    "device.allocator": ((DEVICE,), ALLOCATOR, _PURE),
    "device.queue.alloca": ((DEVICE, "i64", FENCE, FENCE, "i64", "i32", "i32", "i64", "i64"), BUFFER, ""),
    "device.queue.barrier": ((DEVICE, "i64", FENCE, FENCE, "i64"), "", ""),
    "device.queue.dealloca": ((DEVICE, "i64", FENCE, FENCE, BUFFER, "i64"), "", ""),
    "device.queue.execute.indirect": (
        (DEVICE, "i64", FENCE, FENCE, COMMANDS, "i64", f"tuple<{BUFFER}, i64, i64> ..."),
        "",
        "",
    ),
    "device.queue.read": ((DEVICE, "i64", FENCE, FENCE, FILE, "i64", BUFFER, "i64", "i64", "i64"), "", ""),
    "devices.get": (("i32",), DEVICE, _PURE),
    "ex.file.from_memory": ((DEVICE, "i64", "i32", BYTES, "i64", "i64", "i32"), FILE, ""),
    "executable.create": ((DEVICE, "i64", BYTES, BYTES, BYTES), EXECUTABLE, _PURE),
    "executable.lookup.function": ((EXECUTABLE, BYTES), "i64", f"{_PURE}, minimum_version = 7 : i32"),
    "fence.await": (("i32", "i64", f"{FENCE} ..."), "i32", "vm.yield"),
    "fence.create": ((DEVICE, "i64"), FENCE, ""),
    "fence.join": (("i64", f"{FENCE} ..."), FENCE, _PURE),
}
# The runtime's numbers of element types; integers have no sign.
ELEMENTS = {
    "i1": 0x13000008,
    "bf16": 0x22000010,
    **{f"f{n}": 0x21000000 + n for n in (16, 32, 64)},
    **{f"complex<f{n}>": 0x23000000 + 2 * n for n in (32, 64)},
    **{f"{sign}i{n}": 0x10000000 + n for n in (8, 16, 32, 64) for sign in ("", "u")},
}
_FOREVER = -1


class Function:
    """Writes the body of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        # By type and value, the lines before the first use, and the number of uses.
        self._constants: dict[tuple[str, int], list[int]] = {}
        self._count = 0

    def number(self, value: int, type_: str = "i64") -> str:
        """A constant."""
        self._constants.setdefault((type_, value), [len(self.lines), 0])[1] += 1
        return self._name(type_, value)

    def _name(self, type_: str, value: int) -> str:
        return f"%{type_}_{value}".replace("-", "m")

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

    def several(self, text: str, count: int) -> list[str]:
        """An op with `count` results; returns their names."""
        if count == 0:
            self.do(text)
            return []
        if count == 1:
            return [self.op(text)]
        self._count += 1
        self.lines.append(f"%{self._count}:{count} = {text}")
        return [f"%{self._count}#{i}" for i in range(count)]

    def null(self, type_: str) -> str:
        return self.op(f"vm.const.ref.zero : {type_}")

    def load(self, name: str, type_: str) -> str:
        return self.op(f"vm.global.load.ref @{name} : {type_}")

    def store(self, value: str, name: str, type_: str) -> None:
        self.do(f"vm.global.store.ref {value}, @{name} : {type_}")

    def data(self, name: str) -> str:
        """Bytes of the module."""
        return self.op(f"vm.const.ref.rodata @{name} : {BYTES}")

    def call(self, name: str, *operands: str | Sequence[str]) -> str:
        """Call a function of the runtime; a variadic operand is a sequence. Returns the name of the result, if any."""
        types, result, attributes = IMPORTS[name]
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
        """Wait for a fence, and continue in a block of that name; if waiting fails, so does the function."""
        given = f"({self.small(_FOREVER)}, {self.number(0)}, {fence})"
        types = f"segment_sizes = dense<[-1, -1, 1]> : vector<3xi16>, segment_types = [i32, i64, {FENCE}]"
        kinds = f"(i32, i64, {FENCE}) -> ^{block}_known (i32)"
        self.do(f"vm.call.variadic.yieldable @hal.fence.await{given} <{types}> : {kinds}")
        self.do(f"^{block}_known(%{block}_status: i32):")
        self.do(f"vm.cond_br %{block}_status, ^{block}_failed, ^{block}")
        self.do(f"^{block}_failed:")
        self.do(f'vm.fail %{block}_status, "failed to wait"')
        self.do(f"^{block}:")

    def text(self) -> list[str]:
        """The lines. A constant that is used once stands there: a register holds it from its line to its last use."""
        found, done = [], 0
        for (type_, value), (line, uses) in sorted(self._constants.items(), key=lambda item: item[1][1] == 1):
            if uses == 1:
                found += self.lines[done:line]
                done = line
            found.append(f"{self._name(type_, value)} = vm.const.{type_}{f' {value}' if value else '.zero'}")
        return [*found, *self.lines[done:]]


def imported(name: str) -> str:
    """The declaration of a function of the runtime."""
    types, result, attributes = IMPORTS[name]
    given = ", ".join(f"%p{i} : {type_}" for i, type_ in enumerate(types))
    returned = f" -> {result}" if result else ""
    return f"vm.import private @hal.{name}({given}){returned}" + (f" attributes {{{attributes}}}" if attributes else "")
