"""Persistent kernels: one dispatch in which worker threads run kernels, copies and loops one after the other.

Between two dispatches, the runtime lets its workers sleep and wakes them up again, which takes as long as a kernel of
50 us. In a persistent kernel, they do not sleep. Each workgroup, which is a worker, goes through all steps, takes tiles
that nobody has taken yet, waits until all tiles are done that the step depends on, and runs them. It leaves a step when
all of its tiles are taken. So the tiles that a worker waits for were taken by workers that run now: none waits for one
that has not begun, and any number of workers will do.

The tiles of a step are divided into groups, one for each thread. A worker begins with its own group, and then helps
with others, so that in the rounds of a loop the caches of a core have what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stagec.compiler.direct.memory import Layout, barriers
from stagec.compiler.direct.parts import Item, LoopParts, Part, exchanged
from stagec.compiler.direct.program import Call, Copy, Fill, Number, Program

# The most groups of tiles, which threads share where there are more.
MOST_GROUPS = 8
# Shared counters, each in a cache line of its own: tiles that are done, workers that have joined, and tiles that are
# taken of each group. A worker counts the tiles that it has done when it leaves a group.
_LINE = 64
COUNTERS = range(0, _LINE * (2 + MOST_GROUPS), _LINE)
# The name of each function in its own module.
SYMBOL = "persistent"
# Workgroups, and tiles of a copy.
_MOST_WORKGROUPS = 32
# Bytes that are copied at a time, and of a vector.
_BLOCK, _VECTOR = 1 << 16, 64
# Tiles are counted in 32 bits.
_MOST_TILES = 1 << 31
# Where the state of a dispatch has the number of threads and the address of its buffers' addresses, and the sizes of it
# and of a workgroup's state.
_CONCURRENCY, _BUFFERS, _DISPATCH_BYTES, _WORKGROUP_BYTES = 22, 32, 64, 32

_BINARY = {"add": "add", "and": "and", "multiply": "mul", "or": "or", "subtract": "sub", "xor": "xor"}
_ORDERS = {"EQ": "eq", "NE": "ne", "LT": "slt", "LE": "sle", "GT": "sgt", "GE": "sge"}
_HEAD = "ptr %environment, ptr %dispatch, ptr %workgroup"
_ATTRIBUTES = 'attributes #0 = { nounwind "frame-pointer"="none" "no-builtins" }'
# What all persistent kernels have. The state of a worker: its group, how many groups there are, how many groups of the
# current step have no tiles left, the tiles of the steps before, how many tiles have to be done before the current step
# begins, the address of the shared counters, the tiles that it has run and not counted yet, and for each group its tiles
# of the steps before.
_WORKER = "i32, i32, i32, i32, i32, ptr, i32"
_COMMON = f"""
%worker = type {{ {_WORKER}, [{MOST_GROUPS} x i32] }}

define internal i32 @next(ptr %worker, i32 %tiles) #0 section ".text.{SYMBOL}" {{
entry:
%groups.at = getelementptr %worker, ptr %worker, i32 0, i32 1
%left.at = getelementptr %worker, ptr %worker, i32 0, i32 2
%before.at = getelementptr %worker, ptr %worker, i32 0, i32 3
%needed.at = getelementptr %worker, ptr %worker, i32 0, i32 4
%counters.at = getelementptr %worker, ptr %worker, i32 0, i32 5
%own.at = getelementptr %worker, ptr %worker, i32 0, i32 6
%home = load i32, ptr %worker
%groups = load i32, ptr %groups.at
%counters = load ptr, ptr %counters.at
br label %look
look:
%left = load i32, ptr %left.at
%is.over = icmp eq i32 %left, %groups
br i1 %is.over, label %over, label %group
group:
%sum = add i32 %home, %left
%less = sub i32 %sum, %groups
%is.beyond = icmp uge i32 %sum, %groups
%number = select i1 %is.beyond, i32 %less, i32 %sum
%number.next = add i32 %number, 1
%low.times = mul i32 %number, %tiles
%high.times = mul i32 %number.next, %tiles
%low = udiv i32 %low.times, %groups
%high = udiv i32 %high.times, %groups
%size = sub i32 %high, %low
%base.at = getelementptr %worker, ptr %worker, i32 0, i32 7, i32 %number
%base = load i32, ptr %base.at
%place.of = mul i32 %number, {_LINE}
%offset = add i32 %place.of, {2 * _LINE}
%taken.at = getelementptr i8, ptr %counters, i32 %offset
br label %take
take:
%taken = load atomic i32, ptr %taken.at monotonic, align 4
%place = sub i32 %taken, %base
%is.empty = icmp uge i32 %place, %size
br i1 %is.empty, label %empty, label %try
try:
%taken.next = add i32 %taken, 1
%swapped = cmpxchg ptr %taken.at, i32 %taken, i32 %taken.next monotonic monotonic
%is.mine = extractvalue {{ i32, i1 }} %swapped, 1
br i1 %is.mine, label %mine, label %take
empty:
%base.next = add i32 %base, %size
%left.next = add i32 %left, 1
store i32 %base.next, ptr %base.at
store i32 %left.next, ptr %left.at
%own = load i32, ptr %own.at
%is.none = icmp eq i32 %own, 0
br i1 %is.none, label %look, label %count
count:
%counted = atomicrmw add ptr %counters, i32 %own release
store i32 0, ptr %own.at
br label %look
over:
%before = load i32, ptr %before.at
%after = add i32 %before, %tiles
store i32 %after, ptr %before.at
store i32 0, ptr %left.at
ret i32 -1
mine:
%own.before = load i32, ptr %own.at
%own.next = add i32 %own.before, 1
store i32 %own.next, ptr %own.at
%needed = load i32, ptr %needed.at
br label %wait
wait:
%done = load atomic i32, ptr %counters acquire, align 4
%is.ready = icmp uge i32 %done, %needed
br i1 %is.ready, label %ready, label %pause
pause:
call void @llvm.x86.sse2.pause()
br label %wait
ready:
%tile = add i32 %low, %place
ret i32 %tile
}}

define internal void @run(ptr %worker, ptr %kernel, i32 %tiles, i32 %x, i32 %y, ptr %environment, ptr %dispatch,
    ptr %workgroup) #0 section ".text.{SYMBOL}" {{
entry:
%y.at = getelementptr i8, ptr %workgroup, i64 4
%z.at = getelementptr i8, ptr %workgroup, i64 8
br label %first
first:
%tile = call i32 @next(ptr %worker, i32 %tiles)
%is.over = icmp slt i32 %tile, 0
br i1 %is.over, label %last, label %more
more:
%row = udiv i32 %tile, %x
%tile.x = urem i32 %tile, %x
%plane = udiv i32 %row, %y
%tile.y = urem i32 %row, %y
store i32 %tile.x, ptr %workgroup
store i32 %tile.y, ptr %y.at
store i32 %plane, ptr %z.at
%code = call i32 %kernel(ptr %environment, ptr %dispatch, ptr %workgroup)
br label %first
last:
ret void
}}

define internal void @copy(ptr %worker, i32 %tiles, ptr %target, ptr %source, i64 %bytes, i64 %block, i64 %stride)
    #0 section ".text.{SYMBOL}" {{
entry:
%rounded = add i64 %bytes, %block
%rounded.less = sub i64 %rounded, 1
%blocks = udiv i64 %rounded.less, %block
%tiles.wide = zext i32 %tiles to i64
br label %first
first:
%tile = call i32 @next(ptr %worker, i32 %tiles)
%is.over = icmp slt i32 %tile, 0
br i1 %is.over, label %last, label %tile.begin
tile.begin:
%tile.wide = zext i32 %tile to i64
%tile.next = add i64 %tile.wide, 1
%start.times = mul i64 %tile.wide, %blocks
%end.times = mul i64 %tile.next, %blocks
%start = udiv i64 %start.times, %tiles.wide
%end = udiv i64 %end.times, %tiles.wide
br label %blocks.head
blocks.head:
%n = phi i64 [ %start, %tile.begin ], [ %n.next, %block.end ]
%is.more = icmp ult i64 %n, %end
br i1 %is.more, label %block.begin, label %blocks.end
block.begin:
%at = mul i64 %n, %block
%from = mul i64 %n, %stride
%left = sub i64 %bytes, %at
%is.last = icmp ult i64 %left, %block
%size = select i1 %is.last, i64 %left, i64 %block
%to.here = getelementptr i8, ptr %target, i64 %at
%from.here = getelementptr i8, ptr %source, i64 %from
%size.wide = and i64 %size, -64
br label %wide.head
wide.head:
%w = phi i64 [ 0, %block.begin ], [ %w.next, %wide.body ]
%is.wide = icmp ult i64 %w, %size.wide
br i1 %is.wide, label %wide.body, label %bytes.head
wide.body:
%wide.from = getelementptr i8, ptr %from.here, i64 %w
%wide.to = getelementptr i8, ptr %to.here, i64 %w
%wide = load <16 x i32>, ptr %wide.from, align 1
store <16 x i32> %wide, ptr %wide.to, align 1
%w.next = add i64 %w, 64
br label %wide.head
bytes.head:
%b = phi i64 [ %size.wide, %wide.head ], [ %b.next, %bytes.body ]
%is.byte = icmp ult i64 %b, %size
br i1 %is.byte, label %bytes.body, label %block.end
bytes.body:
%byte.from = getelementptr i8, ptr %from.here, i64 %b
%byte.to = getelementptr i8, ptr %to.here, i64 %b
%byte = load i8, ptr %byte.from
store i8 %byte, ptr %byte.to
%b.next = add i64 %b, 1
br label %bytes.head
block.end:
%n.next = add i64 %n, 1
br label %blocks.head
blocks.end:
br label %first
last:
ret void
}}
"""


class Code:
    """Writes the function of a persistent kernel.

    Attributes:
      tiles: how many tiles its steps have, in all rounds.
      widest: the tiles of the step that has most.
      waits: in how many places threads wait for each other.
    """

    def __init__(
        self,
        program: Program,
        layout: Layout,
        workgroups: Mapping[str, tuple[int, int, int]],
        rounds: Mapping[int, int],
        slots: Sequence[int],
    ) -> None:
        self.tiles, self.widest, self.waits = 0, 1, 0
        self._program, self._layout, self._workgroups, self._rounds = program, layout, workgroups, rounds
        self._places = {slot: i for i, slot in enumerate(slots)}
        self._kernels: dict[str, None] = {}
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._stored: dict[int, None] = {}
        self._count = 0
        self._times = 1
        self._most_operands = 2

    @property
    def is_worth_it(self) -> bool:
        """Whether threads would wait for each other between dispatches."""
        return self.waits > 0 and self.tiles < _MOST_TILES

    @property
    def kernels(self) -> tuple[str, ...]:
        """The symbols of the kernels that it calls."""
        return tuple(self._kernels)

    @property
    def workgroups(self) -> int:
        """As many as threads can have tiles of a step at the same time."""
        return min(_MOST_WORKGROUPS, self.widest)

    def text(self) -> str:
        """A module without its target."""
        count = len(self._places)
        entry = [
            "%bindings.at = getelementptr i8, ptr %dispatch, i64 32",
            "%bindings = load ptr, ptr %bindings.at",
            f"%counters.at = getelementptr ptr, ptr %bindings, i64 {count}",
            "%counters = load ptr, ptr %counters.at",
            "%done = load atomic i32, ptr %counters acquire, align 4",
            f"%is.over = icmp uge i32 %done, {self.tiles}",
            "br i1 %is.over, label %end, label %begin",
            "end:",
            "ret i32 0",
            "begin:",
        ]
        for i in range(count):
            entry += [
                f"%given{i}.at = getelementptr ptr, ptr %bindings, i64 {i}",
                f"%given{i} = load ptr, ptr %given{i}.at",
                f"%slot{i} = getelementptr ptr, ptr %slots, i64 {i}",
                f"store ptr %given{i}, ptr %slot{i}",
            ]
        head = [
            f"%slots = alloca [{max(1, count)} x ptr], align 16",
            f"%buffers = alloca [{self._most_operands} x ptr], align 16",
            f"%state = alloca [{_DISPATCH_BYTES} x i8], align 16",
            f"%place = alloca [{_WORKGROUP_BYTES} x i8], align 16",
            "%worker = alloca %worker, align 16",
            *(f"%number{n} = alloca i64, align 16" for n in self._stored),
        ]
        begin = [
            f"%state.buffers = getelementptr i8, ptr %state, i64 {_BUFFERS}",
            "store ptr %buffers, ptr %state.buffers",
            "store %worker zeroinitializer, ptr %worker",
            f"%concurrency.at = getelementptr i8, ptr %dispatch, i64 {_CONCURRENCY}",
            "%concurrency = load i8, ptr %concurrency.at",
            "%threads = zext i8 %concurrency to i32",
            "%threads.some = call i32 @llvm.umax.i32(i32 %threads, i32 1)",
            f"%groups = call i32 @llvm.umin.i32(i32 %threads.some, i32 {MOST_GROUPS})",
            f"%joined.at = getelementptr i8, ptr %counters, i64 {_LINE}",
            "%joined = atomicrmw add ptr %joined.at, i32 1 monotonic",
            "%home = urem i32 %joined, %groups",
            "store i32 %home, ptr %worker",
            *(
                f"%worker.{i} = getelementptr %worker, ptr %worker, i32 0, i32 {i}\nstore {value}, ptr %worker.{i}"
                for i, value in ((1, "i32 %groups"), (5, "ptr %counters"))
            ),
            "%before = getelementptr %worker, ptr %worker, i32 0, i32 3",
            "%needed = getelementptr %worker, ptr %worker, i32 0, i32 4",
        ]
        declared = [f'declare dso_local i32 @"{name}"(ptr, ptr, ptr)' for name in self._kernels]
        function = [f'define i32 @"{SYMBOL}"({_HEAD}) #0 section ".text.{SYMBOL}" {{', "entry:"]
        body = [*function, *head, *self._entry, *entry, *begin, *self._lines, "ret i32 0", "}"]
        return "\n".join([_COMMON, *declared, *body, _ATTRIBUTES, ""])

    # Steps.

    def run(self, items: Iterable[Item]) -> None:
        """Write items."""
        for item in items:
            if isinstance(item, Part):
                self._part(item)
            elif isinstance(item, Number):
                self.number(item)
            elif isinstance(item, LoopParts):
                self._loop(item)

    def _part(self, part: Part) -> None:
        waiting = barriers(part.commands, self._layout.ranges)
        for i, command in enumerate(part.commands):
            if i in waiting or (i == 0 and (self.tiles or self._times > 1)):
                self._lines.append(f"store i32 {self._let('load i32, ptr %before')}, ptr %needed")
                self.waits += 1
            if isinstance(command, Call):
                self._call(command)
            elif isinstance(command, Copy):
                step = self._layout.ranges[command.source].bytes
                block, stride = (step, 0) if step < command.bytes else (_BLOCK, _BLOCK)
                self._copy(command, self._address(command.source), block, stride)
            elif isinstance(command, Fill):
                pattern = int.from_bytes(command.pattern * (4 // len(command.pattern)), "little")
                source = self._alloca(f"[{_VECTOR} x i8]")
                lanes = ", ".join([f"i32 {pattern}"] * (_VECTOR // 4))
                self._lines.append(f"store <{_VECTOR // 4} x i32> <{lanes}>, ptr {source}")
                self._copy(command, source, _VECTOR, 0)

    def _counted(self, tiles: int) -> int:
        self.tiles += tiles * self._times
        self.widest = max(self.widest, tiles)
        return tiles

    def _call(self, call: Call) -> None:
        x, y, z = self._workgroups[call.kernel]
        self._kernels[call.kernel] = None
        operands = (*call.read, *call.written)
        self._most_operands = max(self._most_operands, len(operands))
        for i, n in enumerate(operands):
            place = self._let(f"getelementptr ptr, ptr %buffers, i64 {i}")
            self._lines.append(f"store ptr {self._address(n)}, ptr {place}")
        given = f'ptr @"{call.kernel}", i32 {self._counted(x * y * z)}, i32 {x}, i32 {y}'
        self._lines.append(f"call void @run(ptr %worker, {given}, ptr %environment, ptr %state, ptr %place)")

    def _copy(self, command: Copy | Fill, source: str, block: int, stride: int) -> None:
        given = f"i32 {self._counted(_tiles(command.bytes, block))}, ptr {self._address(command.target)}, ptr {source}"
        self._lines.append(f"call void @copy(ptr %worker, {given}, i64 {command.bytes}, i64 {block}, i64 {stride})")

    def _address(self, value: int) -> str:
        if value in self._program.counted:
            return f"%number{self._program.counted[value][0]}"
        found = self._layout.ranges[value]
        start = self._let(f"load ptr, ptr %slot{self._places[found.slot]}")
        return self._let(f"getelementptr i8, ptr {start}, i64 {found.offset}") if found.offset else start

    def _loop(self, loop: LoopParts) -> None:
        rounds, times = self._rounds[id(loop)], self._times
        if not rounds:
            return
        for state in loop.numbers:
            self._assign(state.during, self._value(state.before))
        counter, number = self._alloca("i64"), self._label()
        self._lines += [f"store i64 0, ptr {counter}", f"br label %round{number}", f"round{number}:"]
        self._times *= rounds
        self.run((*loop.condition, *loop.body))
        self._times = times
        values = [self._value(state.then) for state in loop.numbers]
        for state, value in zip(loop.numbers, values):
            self._assign(state.during, value)
        pairs = [(self._places[to], self._places[source]) for to, source in exchanged(loop, self._layout).items()]
        pointers = [self._let(f"load ptr, ptr %slot{source}") for _, source in pairs]
        self._lines += [f"store ptr {pointer}, ptr %slot{to}" for (to, _), pointer in zip(pairs, pointers)]
        done = self._let(f"load i64, ptr {counter}")
        following = self._let(f"add i64 {done}, 1")
        is_more = self._let(f"icmp ult i64 {following}, {rounds}")
        self._lines += [
            f"store i64 {following}, ptr {counter}",
            f"br i1 {is_more}, label %round{number}, label %after{number}",
            f"after{number}:",
        ]

    # Numbers.

    def number(self, number: Number) -> None:
        """Compute one of the host's numbers."""
        operands = [self._value(n) for n in number.operands]
        self._assign(number.result, self._computed(number, operands))

    def _computed(self, number: Number, operands: list[str]) -> str:
        operation, given = number.operation, ", ".join(operands)
        if operation == "constant":
            return str(int(number.value))
        if operation == "compare":
            return self._let(f"zext i1 {self._compared(str(number.value), given)} to i64")
        if operation in ("maximum", "minimum"):
            is_first = self._compared("GT" if operation == "maximum" else "LT", given)
            return self._let(f"select i1 {is_first}, i64 {operands[0]}, i64 {operands[1]}")
        if operation == "select":
            is_first = self._let(f"icmp ne i64 {operands[0]}, 0")
            return self._let(f"select i1 {is_first}, i64 {operands[1]}, i64 {operands[2]}")
        if operation == "convert":
            if number.result_type == "i1":
                return self._let(f"zext i1 {self._compared('NE', f'{given}, 0')} to i64")
            return self._narrowed(given, number.result_type)
        if operation == "negate":
            return self._narrowed(self._let(f"sub i64 0, {given}"), number.type)
        if operation == "not":
            return self._let(f"xor i64 {given}, {1 if number.type == 'i1' else -1}")
        return self._narrowed(self._let(f"{_BINARY[operation]} i64 {given}"), number.type)

    def _compared(self, direction: str, given: str) -> str:
        return self._let(f"icmp {_ORDERS[direction]} i64 {given}")

    def _narrowed(self, value: str, type_: str) -> str:
        """A number within the range of its type."""
        if type_ == "i32":
            return self._let(f"sext i32 {self._let(f'trunc i64 {value} to i32')} to i64")
        return value

    def _value(self, number: int) -> str:
        return self._let(f"load i64, ptr %number{number}")

    def _assign(self, number: int, value: str) -> None:
        self._stored.setdefault(number)
        self._lines.append(f"store i64 {value}, ptr %number{number}")

    # Lines.

    def _alloca(self, type_: str) -> str:
        self._count += 1
        self._entry.append(f"%a{self._count} = alloca {type_}, align 64")
        return f"%a{self._count}"

    def _label(self) -> int:
        self._count += 1
        return self._count

    def _let(self, text: str) -> str:
        self._count += 1
        self._lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"


def _tiles(size: int, block: int) -> int:
    """Into how many tiles a copy is divided, of whole blocks, and not below `_BLOCK` bytes."""
    return max(1, min(_MOST_WORKGROUPS, size // _BLOCK, -(-size // block)))
