"""Faults of loops and conditionals, which the host runs."""

import numpy as np

from tests.workarounds.records.record import Program, Script, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="update-after-control-flow",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE runs an update in place before a loop or a conditional that comes first in the program and reads "
        "the same memory",
        guard="forces a copy of what is updated, unless nothing else needs it",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="none found (searched: in-place update scheduled before scf.if that reads the same tensor)",
        shown_by=Program(
            """
func.func @main(%i: tensor<i32>, %x: tensor<3x4xi32>) -> (tensor<3x4xi32>, tensor<3x4xi32>) {
  %u = stablehlo.constant dense<7> : tensor<1x4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.add %x, %x : tensor<3x4xi32>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %0 : tensor<3x4xi32>
  }, {
    %3 = stablehlo.add %0, %0 : tensor<3x4xi32>
    stablehlo.return %3 : tensor<3x4xi32>
  }) : (tensor<i32>) -> tensor<3x4xi32>
  %2 = stablehlo.dynamic_update_slice %0, %u, %z, %z
    : (tensor<3x4xi32>, tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  return %1, %2 : tensor<3x4xi32>, tensor<3x4xi32>
}""",
            (np.int32(1), np.arange(12, dtype=np.int32).reshape(3, 4)),
        ),
    ),
    Workaround(
        id="state-that-a-loop-reads",
        backends=("cpu",),
        versions=("3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE does not see that a loop's body reads, from outside, the memory that the loop updates in place",
        guard="forces a copy of each array that a loop updates and that something else reads",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="https://github.com/iree-org/iree/issues/21053 (loops reuse a resource)",
        shown_by=Program(
            """
func.func @main(%x: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.add %x, %x : tensor<3x4xi32>
  %1 = stablehlo.optimization_barrier %0 : tensor<3x4xi32>
  %2:2 = stablehlo.while(%i = %zero, %s = %1) : tensor<i32>, tensor<3x4xi32>
  cond {
    %3 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %3 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
    %4 = stablehlo.reshape %3 : (tensor<4xi32>) -> tensor<1x4xi32>
    %5 = stablehlo.dynamic_update_slice %s, %4, %i, %zero
      : (tensor<3x4xi32>, tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5 : tensor<i32>, tensor<3x4xi32>
  }
  return %2#1 : tensor<3x4xi32>
}""",
            (np.arange(12, dtype=np.int32).reshape(3, 4),),
            placed=True,
        ),
    ),
    Workaround(
        id="update-of-what-a-loop-captures",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE updates an array from outside of a loop in place in the loop's body: later rounds read what "
        "earlier ones wrote",
        guard="forces a copy in the body, before the update or the inner loop that begins with the array",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="none found (searched: loop body updates captured tensor in place, scf.while copy-on-write elided "
        "wrong result second iteration)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5x1xf32>, %at: tensor<2x1xi32>) -> tensor<5x1xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.multiply %x, %x : tensor<5x1xf32>
  %1:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<5x1xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.slice %s [0:2, 0:1] : (tensor<5x1xf32>) -> tensor<2x1xf32>
    %3 = "stablehlo.scatter"(%0, %at, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<5x1xf32>, tensor<2x1xi32>, tensor<2x1xf32>) -> tensor<5x1xf32>
    %4 = stablehlo.add %s, %3 : tensor<5x1xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4 : tensor<i32>, tensor<5x1xf32>
  }
  return %1#1 : tensor<5x1xf32>
}""",
            (np.linspace(0.5, 1.5, 5, dtype=np.float32)[:, None], np.int32([[3], [1]])),
            placed=True,
        ),
    ),
    Workaround(
        id="one-result-twice",
        backends=("cpu",),
        versions=("3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE uses the memory offset that a value has in one branch of a conditional for the other branch, if a "
        "branch returns one value twice, a constant, or a value from outside",
        guard="copies results, so that each is made once and inside the branch or the loop's body",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="none found (searched: scf.if yields the same tensor twice, wrong offset)",
        shown_by=Program(
            """
func.func @main(%p: tensor<i32>, %x: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %0:2 = "stablehlo.case"(%p) ({
    stablehlo.return %zeros, %zeros : tensor<5x3xf32>, tensor<5x3xf32>
  }, {
    %1:3 = stablehlo.while(%i = %zero, %a = %zeros, %b = %zeros) : tensor<i32>, tensor<5x3xf32>, tensor<5x3xf32>
    cond {
      %2 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3]
        : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %3 = stablehlo.add %2, %2 : tensor<1x3xf32>
      %4 = stablehlo.dynamic_update_slice %a, %2, %i, %zero
        : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
      %5 = stablehlo.dynamic_update_slice %b, %3, %i, %zero
        : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
      %6 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %6, %4, %5 : tensor<i32>, tensor<5x3xf32>, tensor<5x3xf32>
    }
    stablehlo.return %1#1, %1#2 : tensor<5x3xf32>, tensor<5x3xf32>
  }) : (tensor<i32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  %1 = stablehlo.negate %0#0 : tensor<5x3xf32>
  %2 = stablehlo.negate %0#1 : tensor<5x3xf32>
  return %1, %2 : tensor<5x3xf32>, tensor<5x3xf32>
}""",
            (np.int32(1), np.arange(15, dtype=np.float32).reshape(5, 3)),
            placed=True,
        ),
    ),
    Workaround(
        id="source-read-on-both-sides-of-a-loop",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE clones fills, and dispatches that read no arrays, into the groups of dispatches that read their "
        "results, but overlooks readers in a loop or a conditional, and on its other side",
        guard="hides by barriers that a value is computed from nothing, and fills memory anew for each use, between "
        "the phases `flow` and `stream`",
        hooks=(
            "stagec.compiler.phase_workarounds:hold_sources",
            "stagec.compiler.phase_workarounds:fill_for_each_use",
        ),
        upstream="none found (searched: streamable op expected to be in an execution region)",
        shown_by=Program(
            """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %rows = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %a = stablehlo.sine %rows : tensor<4x4xf32>
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1:2 = stablehlo.while(%i = %zero, %s = %0) : tensor<i32>, tensor<4x4xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.dot_general %s, %a, contracting_dims = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<4x4xf32>
  }
  %4 = stablehlo.dot_general %1#1, %a, contracting_dims = [1] x [0]
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}""",
            (np.arange(16, dtype=np.float32).reshape(4, 4),),
            shows="streamable op expected to be in an execution region",
            flags=("--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false"),
            placed=True,
        ),
    ),
    Workaround(
        id="state-behind-a-barrier",
        backends=("cpu", "vulkan"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE does not make readers of a loop's state across an `optimization_barrier` wait for the round that "
        "writes it, so worker threads or a device read the memory too early",
        guard="removes such barriers, so that the state itself is read, between the phases `flow` and `stream`",
        hooks=("stagec.compiler.phase_workarounds:remove_state_barriers",),
        upstream="none found (searched: propagate timepoints util.optimization_barrier immediate timepoint loop "
        "missing wait wrong result)",
        shown_by=Script(
            """
from stagec.backends import Target
from stagec.compiler import driver
from stagec.compiler.flags import CompileOptions
from stagec.compiler.stages import stage_text
if not GUARDED:
    driver.WORKAROUNDS = {}
driver.may_crash = lambda *_: False  # so that it runs in this process
text = stage_text('''
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.optimization_barrier %s : tensor<4xf32>
    %2 = stablehlo.add %1, %1 : tensor<4xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}''', Target.parse("vulkan"), "stream", CompileOptions(flag_set="plain"))
# The memory of a round is allocated when the round before has written what is read.
allocations = [line for line in text.splitlines() if "stream.resource.alloca" in line]
assert allocations and all("await(" in line for line in allocations), "a round does not wait"
""",
            shows="a round does not wait",
        ),
    ),
    Workaround(
        id="reference-lost-in-branch",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE's register allocation moves a reference that a branch passes twice, and loses it: the program "
        "fails when it runs",
        guard="copies the reference for each further operand of a branch, at the end of the compiler's phases",
        hooks=("stagec.compiler.phase_workarounds:copy_repeated_references",),
        upstream="https://github.com/iree-org/iree/pull/24781 (ref ownership in branch remaps)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<3xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<3xf32>
  %rows = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %h:3 = stablehlo.optimization_barrier %zeros, %ones, %ones : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %0:6 = stablehlo.while(%i = %zero, %n = %zero, %a = %h#0, %b = %h#1, %c = %h#2, %y = %rows)
    : tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %n, %one : tensor<i32>
    %3 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3]
      : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %4 = stablehlo.reshape %3 : (tensor<1x3xf32>) -> tensor<3xf32>
    %5 = stablehlo.multiply %c, %4 : tensor<3xf32>
    %6 = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %8 = stablehlo.add %5, %7 : tensor<3xf32>
    %9 = stablehlo.reshape %a : (tensor<3xf32>) -> tensor<1x3xf32>
    %10 = stablehlo.dynamic_update_slice %y, %9, %i, %zero
      : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    stablehlo.return %1, %2, %b, %c, %8, %10
      : tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>
  }
  %1 = stablehlo.multiply %0#2, %0#3 : tensor<3xf32>
  %2 = stablehlo.add %1, %0#4 : tensor<3xf32>
  %3 = stablehlo.reduce(%2 init: %none) applies stablehlo.add across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.multiply %0#5, %0#5 : tensor<5x3xf32>
  %5 = stablehlo.reduce(%4 init: %none) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<5x3xf32>, tensor<f32>) -> tensor<f32>
  %6 = stablehlo.add %3, %5 : tensor<f32>
  return %6 : tensor<f32>
}""",
            (np.arange(15, dtype=np.float32).reshape(5, 3),),
            shows="OUT_OF_RANGE",
        ),
    ),
    Workaround(
        id="crashes-on-loops",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE crashes on other loops in one another, most of them after it has refused them with other flags",
        guard="runs it in a new process for modules with loops, and after a refusal: a crash is a refusal, too",
        hooks=("stagec.compiler.driver:may_crash",),
        upstream="none found (searched: scf.while nested segmentation fault RefineUsage timepoint coverage)",
        shown_by="`tests/compiler/test_outside.py` compiles loops that crash it",
    ),
    Workaround(
        id="state-that-is-never-read",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE drops a part of a loop's state that the body writes and never reads from the loop's arguments, "
        "keeps it among the results, and fails on the difference, or crashes",
        guard="adds a barrier at the end of the body that takes such a part in addition to the new value",
        hooks=("passes.legalize.loops:read_state",),
        upstream="none found (searched: scf.while unused iter arg written never read crash region branch point has "
        "operands but; scf.while region branch point has operands, but region successor needs inputs); "
        "https://github.com/iree-org/iree/issues/24722 is about a crash on loops with more state than results",
        shown_by=Program(
            """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %limit = stablehlo.constant dense<50.0> : tensor<f32>
  %0:2 = stablehlo.while(%a = %x, %b = %x) : tensor<4xf32>, tensor<4xf32>
  cond {
    %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.compare LT, %1, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %1 = stablehlo.add %a, %a : tensor<4xf32>
    %2 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}""",
            (np.arange(1, 5, dtype=np.float32),),
            shows="region branch point has",
        ),
    ),
    Workaround(
        id="state-that-is-read-elsewhere",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses a loop whose initial state is read elsewhere too, for a circular dependency",
        guard="puts a barrier before the initial state",
        hooks=("passes.legalize.loops:hold_state",),
        upstream="none found (searched: circular dependency scf.while initial value used elsewhere); "
        "https://github.com/iree-org/iree/pull/18217 is about such dependencies between devices",
        shown_by="fixed on CPUs, where loops compile without the barrier; not tried on GPUs so far",
    ),
    Workaround(
        id="branches-of-two-widths",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE loses numbers that a branch of the host program moves from register to register, if some have 32 "
        "bits and others 64",
        guard="passes all numbers of such a branch as 64 bits",
        hooks=("stagec.compiler.direct.flow:_are_mixed",),
        upstream="none found (searched: VM bytecode register allocation branch operand remap i32 i64 overlapping "
        "registers wrong move order)",
        shown_by=Script(
            """
from stagec.compiler.direct import flow
from stagec.compiler.direct.instructions import Function
from stagec.compiler.direct.program import Loop, Program
from stagec.compiler.invocation import invoked
from stagec.compiler.session import kept_session
from stagec.runtime.device import binding, instance

if not GUARDED:
    flow._are_mixed = lambda numbers: False
f = Function()
loop = flow.Flow(f, Program((), (), {}, (Loop((), 0, (), (), ()),), ()), None, None, "")
numbers = [(0, "i64"), (1, "i32"), (2, "i64")]
loop._numbers.update({0: "%x", 1: "%y", 2: "%z"})
f.do(f"vm.br ^rounds({loop._operands([], numbers)})")
loop._enter("rounds", [], numbers)
returned = ", ".join(loop._numbers[i] for i in range(3))
going = f.op(f"vm.cmp.lt.i32.s {loop._used}, {f.small(3)} : i32")
f.do(f"vm.cond_br {going}, ^round, ^end")
f.do("^round:")
loop._used = f.op(f"vm.add.i32 {loop._used}, {f.small(1)} : i32")
loop._numbers[0], loop._numbers[2] = loop._numbers[2], f.op(f"vm.add.i64 {loop._numbers[0]}, {f.number(1)} : i64")
f.do(f"vm.br ^rounds({loop._operands([], numbers)})")
f.do("^end:")
f.do(f"vm.return {returned} : i64, i32, i64")
lines = "\\n".join(f.text())
text = f'''module attributes {{vm.toplevel}} {{ vm.module public @module {{
vm.export @main
vm.func private @main(%x: i64, %y: i32, %z: i64) -> (i64, i32, i64) {{
{lines}
}}
}} }}'''
with kept_session(len(text)) as session, invoked(session) as run:
    assert run.parse(text.encode()), run.found
    payload = run.bytecode()
b = binding()
module = b.VmModule.copy_buffer(instance(), payload)
given, made = b.VmVariantList(3), b.VmVariantList(3)
for value in (10, 20, 30):
    given.push_int(value)
b.VmContext(instance(), [module]).invoke(module.lookup_function("main"), given, made)
found = [made.get_variant(i) for i in range(3)]
assert found == [31, 20, 12], found
""",
            shows="AssertionError: [85899345930, 20, 30]",
        ),
    ),
)
