; How threads share the workgroups of a kernel. One of them calls `pool.run`, and others are in `pool.serve`.

; In the upper half the number of the kernel's run, in the lower one how many of its workgroups are not taken.
@pool.ticket = internal global i64 0, align 64
; The kernel, the state of its dispatch, its workgroups along two axes, and how many are done. A thread that has taken a
; workgroup may read these, which do not change before that workgroup is done.
@pool.code = internal global ptr null
@pool.dispatch = internal global ptr null
@pool.x = internal global i32 0
@pool.y = internal global i32 0
@pool.done = internal global i32 0

declare i32 @llvm.wasm.memory.atomic.wait32(ptr, i32, i64)
declare i32 @llvm.wasm.memory.atomic.notify(ptr, i32)

; Runs workgroups until all are taken.
define internal void @pool.work() {
entry:
  %group = alloca [4 x i32], align 16
  %group.y = getelementptr i32, ptr %group, i32 1
  %group.z = getelementptr i32, ptr %group, i32 2
  br label %look
look:
  %ticket = load atomic i64, ptr @pool.ticket seq_cst, align 8
  %left = trunc i64 %ticket to i32
  %none = icmp eq i32 %left, 0
  br i1 %none, label %end, label %take
take:
  %less = sub i64 %ticket, 1
  %swap = cmpxchg ptr @pool.ticket, i64 %ticket, i64 %less seq_cst seq_cst
  %taken = extractvalue { i64, i1 } %swap, 1
  br i1 %taken, label %do, label %look
do:
  %i = sub i32 %left, 1
  %code = load ptr, ptr @pool.code
  %dispatch = load ptr, ptr @pool.dispatch
  %x = load i32, ptr @pool.x
  %y = load i32, ptr @pool.y
  %at.x = urem i32 %i, %x
  %row = udiv i32 %i, %x
  %at.y = urem i32 %row, %y
  %at.z = udiv i32 %row, %y
  store i32 %at.x, ptr %group
  store i32 %at.y, ptr %group.y
  store i32 %at.z, ptr %group.z
  %result = call i32 %code(ptr %dispatch, ptr %dispatch, ptr %group)
  %before = atomicrmw add ptr @pool.done, i32 1 seq_cst
  br label %look
end:
  ret void
}

; Runs all workgroups of a kernel, on this thread and those that serve.
define internal void @pool.run(ptr %code, ptr %dispatch, i32 %x, i32 %y, i32 %count) {
entry:
  %number = getelementptr i32, ptr @pool.ticket, i32 1
  store ptr %code, ptr @pool.code
  store ptr %dispatch, ptr @pool.dispatch
  store i32 %x, ptr @pool.x
  store i32 %y, ptr @pool.y
  store i32 0, ptr @pool.done
  %last = load atomic i64, ptr @pool.ticket seq_cst, align 8
  %next = add i64 %last, 4294967296
  %left = zext i32 %count to i64
  %ticket = or i64 %next, %left
  store atomic i64 %ticket, ptr @pool.ticket seq_cst, align 8
  %woken = call i32 @llvm.wasm.memory.atomic.notify(ptr %number, i32 -1)
  call void @pool.work()
  br label %wait
wait:
  %done = load atomic i32, ptr @pool.done seq_cst, align 4
  %all = icmp eq i32 %done, %count
  br i1 %all, label %end, label %wait
end:
  ret void
}

; What a worker does: for some microseconds after the last workgroup, it looks for the next kernel before it sleeps.
define void @pool.serve() {
entry:
  %number = getelementptr i32, ptr @pool.ticket, i32 1
  br label %again
again:
  %before = load atomic i32, ptr %number seq_cst, align 4
  call void @pool.work()
  br label %spin
spin:
  %n = phi i32 [ 0, %again ], [ %more, %idle ]
  %now = load atomic i32, ptr %number seq_cst, align 4
  %same = icmp eq i32 %now, %before
  br i1 %same, label %idle, label %again
idle:
  %more = add i32 %n, 1
  %enough = icmp eq i32 %more, 10000
  br i1 %enough, label %sleep, label %spin
sleep:
  %why = call i32 @llvm.wasm.memory.atomic.wait32(ptr %number, i32 %before, i64 -1)
  br label %again
}
