; A persistent kernel: it goes through a table of steps, whose words persistent.py describes. Each workgroup is a
; worker, and goes through all of them. persistent.py adds the architecture and its instruction @pause.

; A worker: its group, how many groups there are, how many groups of the current step have no tiles left, the tiles of
; the steps before, how many of them have to be done before the current step begins, the address of the shared counters,
; the tiles that it has run and not counted yet, and the tiles of the steps before in each group.
%worker = type { i32, i32, i32, i32, i32, ptr, i32, [8 x i32] }

; A tile of the current step, when it may run; -1 where all of its tiles are taken. The worker begins with its own group.
; In another one, it looks 64 times after the step may begin whether its workers take the tiles themselves: otherwise, a
; step of one tile would move from core to core with its memory. Processors wait after a pause for longer than most
; steps take to be done, so there is none at first.
define internal i32 @next(ptr %worker, i32 %tiles) #0 section ".text.persistent" {
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
  %needed = load i32, ptr %needed.at
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
  %groups.less = sub i32 %groups, 1
  %low.sum = add i32 %low.times, %groups.less
  %high.sum = add i32 %high.times, %groups.less
  %low = udiv i32 %low.sum, %groups
  %high = udiv i32 %high.sum, %groups
  %size = sub i32 %high, %low
  %base.at = getelementptr %worker, ptr %worker, i32 0, i32 7, i32 %number
  %base = load i32, ptr %base.at
  %place.of = mul i32 %number, 64
  %offset = add i32 %place.of, 128
  %taken.at = getelementptr i8, ptr %counters, i32 %offset
  %is.own = icmp eq i32 %left, 0
  %patience = select i1 %is.own, i32 0, i32 64
  br label %leave
leave:
  %looks = phi i32 [ %patience, %group ], [ %looks.left, %later ], [ %looks.left, %later.pause ]
  %spins = phi i32 [ 0, %group ], [ %spins.next, %later ], [ %spins.next, %later.pause ]
  %theirs = load atomic i32, ptr %taken.at monotonic, align 4
  %theirs.place = sub i32 %theirs, %base
  %is.gone = icmp uge i32 %theirs.place, %size
  %so.far = load atomic i32, ptr %counters monotonic, align 4
  %may.begin = icmp uge i32 %so.far, %needed
  %is.late = icmp eq i32 %looks, 0
  %is.enough = or i1 %is.gone, %is.late
  br i1 %is.enough, label %take, label %later
later:
  %looked = zext i1 %may.begin to i32
  %looks.left = sub i32 %looks, %looked
  %spins.next = add i32 %spins, 1
  %is.idle = icmp ugt i32 %spins, 1024
  br i1 %is.idle, label %later.pause, label %leave
later.pause:
  call void @pause()
  br label %leave
take:
  %taken = load atomic i32, ptr %taken.at monotonic, align 4
  %place = sub i32 %taken, %base
  %is.empty = icmp uge i32 %place, %size
  br i1 %is.empty, label %empty, label %try
try:
  %taken.next = add i32 %taken, 1
  %swapped = cmpxchg ptr %taken.at, i32 %taken, i32 %taken.next monotonic monotonic
  %is.mine = extractvalue { i32, i1 } %swapped, 1
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
  br label %wait
wait:
  %times = phi i32 [ 0, %mine ], [ %times.more, %again ], [ %times.more, %pause ]
  %done = load atomic i32, ptr %counters acquire, align 4
  %is.ready = icmp uge i32 %done, %needed
  br i1 %is.ready, label %ready, label %again
again:
  %times.more = add i32 %times, 1
  %is.long = icmp ugt i32 %times, 1024
  br i1 %is.long, label %pause, label %wait
pause:
  call void @pause()
  br label %wait
ready:
  %tile = add i32 %low, %place
  ret i32 %tile
}

; Run the tiles of a kernel that this worker gets.
define internal void @run(ptr %worker, ptr %kernel, i32 %tiles, i32 %x, i32 %y, ptr %environment, ptr %dispatch,
    ptr %workgroup) #0 section ".text.persistent" {
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
}

; Copy the tiles that this worker gets of some bytes, in blocks. The source moves on by a stride after each block.
define internal void @copy(ptr %worker, i32 %tiles, ptr %target, ptr %source, i64 %bytes, i64 %block, i64 %stride)
    #0 section ".text.persistent" {
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
}

; The address that two words of the table describe: a buffer and an offset, or a number of the worker's own.
define internal ptr @address(ptr %slots, ptr %numbers, ptr %words) #0 section ".text.persistent" {
entry:
  %place = load i64, ptr %words
  %offset.at = getelementptr i64, ptr %words, i64 1
  %offset = load i64, ptr %offset.at
  %is.number = icmp slt i64 %place, 0
  br i1 %is.number, label %number, label %buffer
number:
  %which = xor i64 %place, -1
  %own = getelementptr i64, ptr %numbers, i64 %which
  ret ptr %own
buffer:
  %slot = getelementptr ptr, ptr %slots, i64 %place
  %start = load ptr, ptr %slot
  %there = getelementptr i8, ptr %start, i64 %offset
  ret ptr %there
}

; The result of an operation on two numbers.
define internal i64 @computed(i64 %operation, i64 %a, i64 %b) #0 section ".text.persistent" {
entry:
  switch i64 %operation, label %xor [
    i64 0, label %add
    i64 1, label %sub
    i64 2, label %mul
    i64 3, label %and
    i64 4, label %or
    i64 6, label %eq
    i64 7, label %ne
    i64 8, label %lt
    i64 9, label %le
    i64 10, label %gt
    i64 11, label %ge
    i64 12, label %max
    i64 13, label %min
  ]
add:
  %sum = add i64 %a, %b
  ret i64 %sum
sub:
  %difference = sub i64 %a, %b
  ret i64 %difference
mul:
  %product = mul i64 %a, %b
  ret i64 %product
and:
  %both = and i64 %a, %b
  ret i64 %both
or:
  %any = or i64 %a, %b
  ret i64 %any
xor:
  %one = xor i64 %a, %b
  ret i64 %one
eq:
  %is.eq = icmp eq i64 %a, %b
  br label %compared
ne:
  %is.ne = icmp ne i64 %a, %b
  br label %compared
lt:
  %is.lt = icmp slt i64 %a, %b
  br label %compared
le:
  %is.le = icmp sle i64 %a, %b
  br label %compared
gt:
  %is.gt = icmp sgt i64 %a, %b
  br label %compared
ge:
  %is.ge = icmp sge i64 %a, %b
  br label %compared
compared:
  %is = phi i1 [ %is.eq, %eq ], [ %is.ne, %ne ], [ %is.lt, %lt ], [ %is.le, %le ], [ %is.gt, %gt ], [ %is.ge, %ge ]
  %flag = zext i1 %is to i64
  ret i64 %flag
max:
  %is.first = icmp sgt i64 %a, %b
  br label %chosen
min:
  %is.least = icmp slt i64 %a, %b
  br label %chosen
chosen:
  %takes.a = phi i1 [ %is.first, %max ], [ %is.least, %min ]
  %choice = select i1 %takes.a, i64 %a, i64 %b
  ret i64 %choice
}

define i32 @persistent(ptr %environment, ptr %dispatch, ptr %given, ptr %table) #0 section ".text.persistent" {
entry:
  %bindings.at = getelementptr i8, ptr %dispatch, i64 32
  %bindings = load ptr, ptr %bindings.at
  %all = load i64, ptr %table
  %count.at = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %count.at
  %numbers.at = getelementptr i64, ptr %table, i64 2
  %numbers.count = load i64, ptr %numbers.at
  %counters.at = getelementptr ptr, ptr %bindings, i64 %count
  %counters = load ptr, ptr %counters.at
  %done = load atomic i32, ptr %counters acquire, align 4
  %done.wide = zext i32 %done to i64
  %is.done = icmp uge i64 %done.wide, %all
  br i1 %is.done, label %end, label %begin
end:
  ret i32 0

begin:
  %numbers = alloca i64, i64 %numbers.count, align 16
  %slots = alloca [64 x ptr], align 16
  %buffers = alloca [64 x ptr], align 16
  %filled = alloca [64 x i8], align 64
  %state = alloca [64 x i8], align 16
  %workgroup = alloca [32 x i8], align 16
  %worker = alloca %worker, align 16
  %state.buffers = getelementptr i8, ptr %state, i64 32
  store ptr %buffers, ptr %state.buffers
  store %worker zeroinitializer, ptr %worker
  %threads.at = getelementptr i8, ptr %dispatch, i64 22
  %threads.byte = load i8, ptr %threads.at
  %threads = zext i8 %threads.byte to i32
  %threads.some = call i32 @llvm.umax.i32(i32 %threads, i32 1)
  %groups = call i32 @llvm.umin.i32(i32 %threads.some, i32 8)
  %joined.at = getelementptr i8, ptr %counters, i64 64
  %joined = atomicrmw add ptr %joined.at, i32 1 monotonic
  %home = urem i32 %joined, %groups
  store i32 %home, ptr %worker
  %groups.at = getelementptr %worker, ptr %worker, i32 0, i32 1
  store i32 %groups, ptr %groups.at
  %counters.of = getelementptr %worker, ptr %worker, i32 0, i32 5
  store ptr %counters, ptr %counters.of
  %before.at = getelementptr %worker, ptr %worker, i32 0, i32 3
  %needed.at = getelementptr %worker, ptr %worker, i32 0, i32 4
  br label %bind
bind:
  %i = phi i64 [ 0, %begin ], [ %i.next, %bind ]
  %from.at = getelementptr ptr, ptr %bindings, i64 %i
  %from = load ptr, ptr %from.at
  %slot.at = getelementptr ptr, ptr %slots, i64 %i
  store ptr %from, ptr %slot.at
  %i.next = add i64 %i, 1
  %is.bound = icmp uge i64 %i.next, %count
  br i1 %is.bound, label %step, label %bind

step:
  %at = phi i64 [ 3, %bind ], [ %wait.next, %wait ], [ %run.next, %run ], [ %copy.next, %copy ], [ %fill.next, %fill ],
    [ %repeat.next, %repeat ], [ %constant.next, %constant ], [ %compute.next, %compute.last ],
    [ %select.next, %select ], [ %assign.next, %assign ], [ %move.next, %move ]
  %words = getelementptr i64, ptr %table, i64 %at
  %word1.at = getelementptr i64, ptr %words, i64 1
  %word2.at = getelementptr i64, ptr %words, i64 2
  %word3.at = getelementptr i64, ptr %words, i64 3
  %word4.at = getelementptr i64, ptr %words, i64 4
  %kind = load i64, ptr %words
  %word1 = load i64, ptr %word1.at
  %word2 = load i64, ptr %word2.at
  switch i64 %kind, label %end [
    i64 1, label %wait
    i64 2, label %operands
    i64 3, label %copy
    i64 4, label %fill
    i64 5, label %repeat
    i64 6, label %constant
    i64 7, label %compute
    i64 8, label %select
    i64 9, label %assign
    i64 10, label %move
  ]

wait:
  %before = load i32, ptr %before.at
  store i32 %before, ptr %needed.at
  %wait.next = add i64 %at, 1
  br label %step

operands:
  %word5.at = getelementptr i64, ptr %words, i64 5
  %operands.count = load i64, ptr %word5.at
  %kernel = load ptr, ptr %word1.at
  %x = load i64, ptr %word3.at
  %y = load i64, ptr %word4.at
  %tiles = trunc i64 %word2 to i32
  %x.small = trunc i64 %x to i32
  %y.small = trunc i64 %y to i32
  br label %operand
operand:
  %n = phi i64 [ 0, %operands ], [ %n.next, %operand ]
  %n.twice = mul i64 %n, 2
  %n.place = add i64 %n.twice, 6
  %pair = getelementptr i64, ptr %words, i64 %n.place
  %address = call ptr @address(ptr %slots, ptr %numbers, ptr %pair)
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %n
  store ptr %address, ptr %buffer.at
  %n.next = add i64 %n, 1
  %is.last = icmp uge i64 %n.next, %operands.count
  br i1 %is.last, label %run, label %operand
run:
  call void @run(ptr %worker, ptr %kernel, i32 %tiles, i32 %x.small, i32 %y.small, ptr %environment, ptr %state,
    ptr %workgroup)
  %run.end = add i64 %n.place, 2
  %run.next = add i64 %at, %run.end
  br label %step

copy:
  %copy.to = call ptr @address(ptr %slots, ptr %numbers, ptr %word1.at)
  %copy.from = call ptr @address(ptr %slots, ptr %numbers, ptr %word3.at)
  %copy.tiles.at = getelementptr i64, ptr %words, i64 5
  %copy.bytes.at = getelementptr i64, ptr %words, i64 6
  %copy.block.at = getelementptr i64, ptr %words, i64 7
  %copy.stride.at = getelementptr i64, ptr %words, i64 8
  %copy.tiles = load i64, ptr %copy.tiles.at
  %copy.bytes = load i64, ptr %copy.bytes.at
  %copy.block = load i64, ptr %copy.block.at
  %copy.stride = load i64, ptr %copy.stride.at
  %copy.count = trunc i64 %copy.tiles to i32
  call void @copy(ptr %worker, i32 %copy.count, ptr %copy.to, ptr %copy.from, i64 %copy.bytes, i64 %copy.block,
    i64 %copy.stride)
  %copy.next = add i64 %at, 9
  br label %step

fill:
  %fill.to = call ptr @address(ptr %slots, ptr %numbers, ptr %word1.at)
  %fill.tiles.at = getelementptr i64, ptr %words, i64 5
  %fill.pattern = load i64, ptr %word3.at
  %fill.bytes = load i64, ptr %word4.at
  %fill.tiles = load i64, ptr %fill.tiles.at
  %fill.count = trunc i64 %fill.tiles to i32
  %fill.lane = trunc i64 %fill.pattern to i32
  %fill.one = insertelement <16 x i32> poison, i32 %fill.lane, i64 0
  %fill.vector = shufflevector <16 x i32> %fill.one, <16 x i32> poison, <16 x i32> zeroinitializer
  store <16 x i32> %fill.vector, ptr %filled
  call void @copy(ptr %worker, i32 %fill.count, ptr %fill.to, ptr %filled, i64 %fill.bytes, i64 64, i64 0)
  %fill.next = add i64 %at, 6
  br label %step

repeat:
  %rounds = load i64, ptr %word2.at
  %to = load i64, ptr %word3.at
  %counter = getelementptr i64, ptr %numbers, i64 %word1
  %passed = load i64, ptr %counter
  %passed.next = add i64 %passed, 1
  store i64 %passed.next, ptr %counter
  %is.more = icmp ult i64 %passed.next, %rounds
  %after.repeat = add i64 %at, 4
  %repeat.next = select i1 %is.more, i64 %to, i64 %after.repeat
  br label %step

constant:
  %constant.at = getelementptr i64, ptr %numbers, i64 %word1
  store i64 %word2, ptr %constant.at
  %constant.next = add i64 %at, 3
  br label %step

compute:
  %narrow.at = getelementptr i64, ptr %words, i64 5
  %narrow = load i64, ptr %narrow.at
  %left.number = load i64, ptr %word3.at
  %right.number = load i64, ptr %word4.at
  %left.at = getelementptr i64, ptr %numbers, i64 %left.number
  %right.at = getelementptr i64, ptr %numbers, i64 %right.number
  %left = load i64, ptr %left.at
  %right = load i64, ptr %right.at
  %value = call i64 @computed(i64 %word2, i64 %left, i64 %right)
  %is.narrow = icmp ne i64 %narrow, 0
  br i1 %is.narrow, label %narrowed, label %compute.last
narrowed:
  %value.small = trunc i64 %value to i32
  %value.wide = sext i32 %value.small to i64
  br label %compute.last
compute.last:
  %value.kept = phi i64 [ %value, %compute ], [ %value.wide, %narrowed ]
  %computed.at = getelementptr i64, ptr %numbers, i64 %word1
  store i64 %value.kept, ptr %computed.at
  %compute.next = add i64 %at, 6
  br label %step

select:
  %true.number = load i64, ptr %word3.at
  %false.number = load i64, ptr %word4.at
  %flag.at = getelementptr i64, ptr %numbers, i64 %word2
  %true.at = getelementptr i64, ptr %numbers, i64 %true.number
  %false.at = getelementptr i64, ptr %numbers, i64 %false.number
  %flag = load i64, ptr %flag.at
  %is.true = icmp ne i64 %flag, 0
  %selected.at = select i1 %is.true, ptr %true.at, ptr %false.at
  %selected = load i64, ptr %selected.at
  %select.to = getelementptr i64, ptr %numbers, i64 %word1
  store i64 %selected, ptr %select.to
  %select.next = add i64 %at, 5
  br label %step

assign:
  %assign.from = getelementptr i64, ptr %numbers, i64 %word2
  %assign.to = getelementptr i64, ptr %numbers, i64 %word1
  %assigned = load i64, ptr %assign.from
  store i64 %assigned, ptr %assign.to
  %assign.next = add i64 %at, 3
  br label %step

move:
  %move.from = getelementptr ptr, ptr %slots, i64 %word2
  %move.to = getelementptr ptr, ptr %slots, i64 %word1
  %moved = load ptr, ptr %move.from
  store ptr %moved, ptr %move.to
  %move.next = add i64 %at, 3
  br label %step
}

attributes #0 = { nounwind "frame-pointer"="none" "no-builtins" }
