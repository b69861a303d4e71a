"""The host part of a function as LLVM IR, for WebAssembly, where no C compiler takes part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from stagec.compiler.direct.program import Number
from stagec.standalone.function import Function, Routine
from stagec.standalone.names import constant
from stagec.standalone.plan import Address, Assign, Base, Keep, Load, Move, Repeat, Run, Statement, Store, Switch, While

_TYPES = {"i1": "i32", "i32": "i32", "i64": "i64"}
_ORDERS = {"EQ": "eq", "NE": "ne", "LT": "slt", "LE": "sle", "GT": "sgt", "GE": "sge"}


def printed(function: Function, routine: Routine, is_shared: bool) -> str:
    """The function, which takes the addresses of its arguments and results, of the sizes of padded arrays, of its
    constants if they are in a file, and of the workspace.

    The names of its kernels begin with its own.

    Args:
      is_shared: whether threads share the workgroups of kernels, by what `pool.ll` defines.
    """
    return _Printer(function, routine, is_shared).text()


class _Printer:
    def __init__(self, function: Function, routine: Routine, is_shared: bool) -> None:
        self.function, self.routine, self.is_shared = function, routine, is_shared
        self.lines: list[str] = []
        self._count = 0
        self._block = "entry"

    def text(self) -> str:
        plan = self.routine.plan
        buffers = [len(kernel.inputs) + len(kernel.outputs) for kernel in self.routine.kernels.values()]
        # What IREE's runtime would pass to kernels: the state of the dispatch, with the address of a table of the
        # addresses of memory, each in 8 bytes; and the numbers of the workgroup.
        self.do(f"%table = alloca [{max(buffers, default=1)} x i64], align 16")
        self.do("%dispatch = alloca [5 x i64], align 16")
        self.do("%group = alloca [4 x i32], align 16")
        self.do(f"store ptr %table, ptr {self.let('getelementptr i8, ptr %dispatch, i64 32')}")
        for n, type_ in plan.numbers.items():
            self.do(f"%n{n} = alloca {_TYPES[type_]}")
        for n in plan.pointers:
            self.do(f"%p{n} = alloca ptr")
        for n, first in plan.pointers.items():
            self.do(f"store ptr {self.address(first)}, ptr %p{n}")
        self.statements(plan.statements)
        # No identifier has a dot, so names of other values are free.
        names = [p.name for p in (*self.function.arguments, *self.function.results, *self.function.numbers)]
        names += ["weights"] if self.function.in_file else []
        given = ", ".join([f"ptr %given.{name}" for name in (*names, "work")])
        head = f"define void @{self.routine.named(self.function.name)}({given}) {{"
        return "\n".join([head, "entry:", *self.lines, "ret void", "}", ""])

    # Text.

    def do(self, line: str) -> None:
        self.lines.append(line)

    def let(self, text: str) -> str:
        self._count += 1
        self.do(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def label(self) -> int:
        self._count += 1
        return self._count

    def begin(self, block: str) -> None:
        """Begin a block, which follows the one before."""
        self.do(f"br label %{block}")
        self.start(block)

    def start(self, block: str) -> None:
        """Begin a block that others branch to."""
        self.do(f"{block}:")
        self._block = block

    # Values.

    def address(self, address: Address) -> str:
        base, offset = address.base, address.offset
        if base.kind == "pointer":
            name = self.let(f"load ptr, ptr %p{base.number}")
        elif base.kind == "constant" and self.function.in_file:
            name = "%given.weights"
            offset += self.function.constants.offsets[base.number]
        elif base.kind == "constant":
            name = f"@{constant(self.function.name, base.number)}"
        elif base.kind == "workspace":
            name = "%given.work"
        else:
            arguments = (*self.function.arguments, *self.function.numbers)
            found = arguments if base.kind == "argument" else self.function.results
            name = f"%given.{found[base.number].name}"
        return self.let(f"getelementptr i8, ptr {name}, i64 {offset}") if offset else name

    def number(self, n: int) -> str:
        known = self.routine.plan.literals.get(n)
        if known is not None:
            return str(int(known.value))
        return self.let(f"load {self.type_of(n)}, ptr %n{n}")

    def type_of(self, n: int) -> str:
        known = self.routine.plan.literals.get(n)
        return _TYPES[self.routine.plan.numbers[n] if known is None else known.type]

    def is_true(self, n: int) -> str:
        return self.let(f"icmp ne {self.type_of(n)} {self.number(n)}, 0")

    # Statements.

    def statements(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Run):
            self.run(statement)
        elif isinstance(statement, Move):
            self.move(statement)
        elif isinstance(statement, Repeat):
            self.repeat(statement)
        elif isinstance(statement, Keep):
            self.keep(statement)
        elif isinstance(statement, Load):
            self.load(statement)
        elif isinstance(statement, Store):
            stored, value = self.type_of(statement.number), self.number(statement.number)
            if statement.type == "i1":
                stored, value = "i8", self.let(f"trunc {stored} {value} to i8")
            self.do(f"store {stored} {value}, ptr {self.address(statement.target)}, align 1")
        elif isinstance(statement, Assign):
            numbers = [(self.type_of(target), self.number(n), f"%n{target}") for target, n in statement.numbers]
            pointers = [("ptr", self.let(f"load ptr, ptr %p{n}"), f"%p{target}") for target, n in statement.pointers]
            for type_, value, place in (*numbers, *pointers):
                self.do(f"store {type_} {value}, ptr {place}")
        elif isinstance(statement, Number):
            value = _RULES[statement.operation](self, statement, list(map(self.number, statement.operands)))
            self.do(f"store {_TYPES[statement.result_type]} {value}, ptr %n{statement.result}")
        elif isinstance(statement, While):
            n = self.label()
            self.begin(f"while{n}")
            self.statements(statement.condition)
            self.do(f"br i1 {self.is_true(statement.test)}, label %do{n}, label %end{n}")
            self.start(f"do{n}")
            self.statements(statement.body)
            self.do(f"br label %while{n}")
            self.start(f"end{n}")
        else:
            self.switch(statement)

    def run(self, run: Run) -> None:
        for i, address in enumerate(run.memory):
            place = self.let(f"getelementptr i64, ptr %table, i64 {i}")
            self.do(f"store ptr {self.address(address)}, ptr {place}")
        counts = self.routine.kernels[run.call.kernel].workgroups
        symbol = self.routine.kernel(self.function.name, run.call.kernel)
        total = math.prod(counts)
        if self.is_shared and total > 1:
            x, y = (*counts, 1, 1)[:2]
            self.do(f"call void @pool.run(ptr @{symbol}, ptr %dispatch, i32 {x}, i32 {y}, i32 {total})")
            return

        def body(i: str) -> None:
            for axis, count in enumerate(counts):
                number = self.let(f"urem i32 {i}, {count}") if count > 1 else "0"
                self.do(f"store i32 {number}, ptr {self.let(f'getelementptr i32, ptr %group, i64 {axis}')}")
                i = self.let(f"udiv i32 {i}, {count}") if count > 1 else i
            self.let(f"call i32 @{symbol}(ptr %dispatch, ptr %dispatch, ptr %group)")

        self.times(total, body)

    def times(self, count: int, body: Callable[[str], None]) -> None:
        """Repeat what is written for a counter."""
        if count == 1:
            body("0")
            return
        n, before = self.label(), self._block
        self.begin(f"loop{n}")
        self.do(f"%i{n} = phi i32 [ 0, %{before} ], [ %next{n}, %loop{n} ]")
        body(f"%i{n}")
        self.do(f"%next{n} = add i32 %i{n}, 1")
        again = self.let(f"icmp ult i32 %next{n}, {count}")
        self.do(f"br i1 {again}, label %loop{n}, label %after{n}")
        self.start(f"after{n}")

    def copy(self, target: str, source: str, size: int) -> None:
        self.do(f"call void @llvm.memcpy.p0.p0.i32(ptr {target}, ptr {source}, i32 {size}, i1 false)")

    def move(self, move: Move) -> None:
        target, source = self.address(move.target), self.address(move.source)
        whole, left = divmod(move.bytes, move.period)

        def body(i: str) -> None:
            offset = self.let(f"mul i32 {i}, {move.period}")
            self.copy(self.let(f"getelementptr i8, ptr {target}, i32 {offset}"), source, move.period)

        self.times(whole, body)
        if left:
            self.copy(self.let(f"getelementptr i8, ptr {target}, i32 {whole * move.period}"), source, left)

    def repeat(self, repeat: Repeat) -> None:
        target, size = self.address(repeat.target), len(repeat.pattern)
        if size == 1:
            value = repeat.pattern[0]
            self.do(f"call void @llvm.memset.p0.i32(ptr {target}, i8 {value}, i32 {repeat.bytes}, i1 false)")
            return
        type_, value = f"i{8 * size}", int.from_bytes(repeat.pattern, "little")

        def body(i: str) -> None:
            place = self.let(f"getelementptr {type_}, ptr {target}, i32 {i}")
            self.do(f"store {type_} {value}, ptr {place}, align 1")

        self.times(repeat.bytes // size, body)

    def keep(self, keep: Keep) -> None:
        n, source = self.label(), self.address(keep.pointer)
        target = self.address(Address(Base("result", keep.result)))
        self.do(f"br i1 {self.let(f'icmp eq ptr {source}, {target}')}, label %after{n}, label %move{n}")
        self.start(f"move{n}")
        self.copy(target, source, keep.bytes)
        self.begin(f"after{n}")

    def load(self, load: Load) -> None:
        type_, stored = self.type_of(load.number), "i8" if load.type == "i1" else load.type
        value = self.let(f"load {stored}, ptr {self.address(load.source)}, align 1")
        if load.type == "i1":
            value = self.let(f"zext i1 {self.let(f'icmp ne i8 {value}, 0')} to i32")
        self.do(f"store {type_} {value}, ptr %n{load.number}")

    def switch(self, switch: Switch) -> None:
        n, last = self.label(), len(switch.branches) - 1
        cases = " ".join([f"i32 {i}, label %case{n}_{i}" for i in range(last)])
        self.do(f"switch i32 {self.number(switch.selector)}, label %case{n}_{last} [ {cases} ]")
        for i, branch in enumerate(switch.branches):
            self.start(f"case{n}_{i}")
            self.statements(branch)
            self.do(f"br label %after{n}")
        self.start(f"after{n}")


def _binary(operation: str) -> Rule:
    return lambda p, number, operands: p.let(f"{operation} {_TYPES[number.type]} {', '.join(operands)}")


def _intrinsic(name: str) -> Rule:
    def rule(p: _Printer, number: Number, operands: Sequence[str]) -> str:
        type_ = _TYPES[number.type]
        return p.let(f"call {type_} @llvm.{name}.{type_}({', '.join([f'{type_} {value}' for value in operands])})")

    return rule


def _compare(p: _Printer, number: Number, operands: Sequence[str]) -> str:
    found = p.let(f"icmp {_ORDERS[str(number.value)]} {_TYPES[number.type]} {', '.join(operands)}")
    return p.let(f"zext i1 {found} to i32")


def _convert(p: _Printer, number: Number, operands: Sequence[str]) -> str:
    source, target = _TYPES[number.type], _TYPES[number.result_type]
    (value,) = operands
    if number.result_type == "i1":
        return p.let(f"zext i1 {p.let(f'icmp ne {source} {value}, 0')} to i32")
    if source == target:
        return value
    return p.let(f"{'sext' if target == 'i64' else 'trunc'} {source} {value} to {target}")


def _not(p: _Printer, number: Number, operands: Sequence[str]) -> str:
    return p.let(f"xor {_TYPES[number.type]} {operands[0]}, {1 if number.type == 'i1' else -1}")


def _select(p: _Printer, number: Number, operands: Sequence[str]) -> str:
    type_, (chosen, a, b) = _TYPES[number.type], operands
    return p.let(f"select i1 {p.let(f'icmp ne i32 {chosen}, 0')}, {type_} {a}, {type_} {b}")


Rule = Callable[[_Printer, Number, Sequence[str]], str]
_RULES: dict[str, Rule] = {
    "add": _binary("add"),
    "and": _binary("and"),
    "compare": _compare,
    "convert": _convert,
    "maximum": _intrinsic("smax"),
    "minimum": _intrinsic("smin"),
    "multiply": _binary("mul"),
    "negate": lambda p, number, operands: _binary("sub")(p, number, ["0", *operands]),
    "not": _not,
    "or": _binary("or"),
    "select": _select,
    "subtract": _binary("sub"),
    "xor": _binary("xor"),
}
