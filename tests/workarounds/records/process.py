"""Faults of the runtime, and of the compiler's library in the Python process."""

from tests.workarounds.records.record import Script, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="argument-overwritten",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE may overwrite an argument that reaches `sort`, `scatter` or `dynamic_update_slice` without any "
        "computation in between, even if it is the memory of a NumPy array",
        guard="finds such arguments before it compiles, and passes copies when the program is called; donated ones "
        "need none",
        hooks=("passes.analysis.aliases:mutated_arguments",),
        upstream="https://github.com/iree-org/iree/issues/16168 (an argument is updated in place; closed, and seen "
        "again in its comments)",
        shown_by=Script(
            """
from tests.workarounds import reproduce
from tests.workarounds.records import Program
import iree.runtime, numpy as np, stagec
from stagec import lax

given = np.arange(8, dtype=np.float32)
if GUARDED:
    x = stagec.numpy.asarray(given)
    with stagec.config.override(cpu_kernels=False):
        stagec.jit(lambda x: lax.dynamic_update_slice(x, np.float32([5, 5]), (np.int32(3),)))(x)
    kept = np.asarray(x)
else:
    program = Program('''
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %u = stablehlo.constant dense<5.0> : tensor<2xf32>
  %k = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %k : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}''')
    x = iree.runtime.asdevicearray(reproduce.config("local-sync").device, given)
    reproduce.results(program, reproduce.compiled_alone(program), x)
    kept = np.array(x.to_host())
assert np.array_equal(kept, given), "the argument was overwritten"
""",
            shows="the argument was overwritten",
        ),
    ),
    Workaround(
        id="result-is-argument",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE may return an argument's own memory as a result",
        guard="finds programs that could, compares addresses after the call, and copies",
        hooks=("passes.analysis.aliases:results_may_share", "passes.analysis.aliases:returned_arguments"),
        upstream="none found (searched: result aliases argument buffer returned input same memory ABI copy): it is "
        "how IREE's ABI works",
        shown_by=Script(
            """
from tests.workarounds import reproduce
from tests.workarounds.records import Program
import iree.runtime, numpy as np, stagec

given = np.arange(8, dtype=np.float32)
if GUARDED:
    x = stagec.numpy.asarray(given)
    y = stagec.jit(lambda x: x.reshape(2, 4))(x)
    shared = np.shares_memory(np.asarray(x), np.asarray(y))
else:
    program = Program('''
func.func @main(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}''')
    x = iree.runtime.asdevicearray(reproduce.config("local-sync").device, given)
    (y,) = reproduce.called(program, reproduce.compiled_alone(program), x)
    shared = np.shares_memory(np.asarray(x.to_host()), np.asarray(y.to_host()))
assert not shared, "the result is the argument's memory"
""",
            shows="the result is the argument's memory",
        ),
    ),
    Workaround(
        id="started-by-mpi",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE's runtime cannot make a device in a process that `mpiexec` has started, where it does not find the "
        "MPI library, which it looks for in the system's folders only",
        guard="hides the variables of `mpiexec` while it makes a device; processes talk to each other over mpi4py",
        hooks=("stagec.runtime.device:HalDevice.hal_device",),
        upstream="none found (searched: MPI runtime library not available PMI_SIZE create_default_device)",
        shown_by=Script(
            """
import os
os.environ["PMI_SIZE"] = "2"
if GUARDED:
    from stagec.runtime.devices import cpu
    cpu().hal_device()
else:
    import iree.runtime
    iree.runtime.get_driver("local-sync").create_default_device()
""",
            shows="MPI runtime library not available",
        ),
    ),
    Workaround(
        id="unknown-target",
        backends=("vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE ends the process on an unknown name of a target",
        guard="checks [targets](../reference/index.md) against a list before the compiler sees them",
        hooks=("stagec.backends.record:Target.parse",),
        upstream="https://github.com/iree-org/iree/issues/21722 (a crash on an unknown Vulkan target; closed)",
        shown_by=Script(
            """
from tests.workarounds import reproduce
from stagec.backends import Target
from tests.workarounds.records import Program
import stagec

if GUARDED:
    try:
        Target.parse("vulkan:nonsense")
    except stagec.errors.TargetError:
        raise SystemExit(0)
reproduce.compiled_alone(Program(
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }",
    flags=("--iree-hal-target-device=vulkan", "--iree-vulkan-target=nonsense"),
))
"""
        ),
    ),
    Workaround(
        id="unknown-dialects",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE crashes on operations of unknown dialects, which its contexts let through",
        guard="parses with unknown dialects forbidden, so that a fault in a pass of yours is an error",
        hooks=("stagec.compiler.driver:prepared",),
        upstream="none found (searched: unregistered dialect op crash compiler API allow unregistered dialects); "
        "https://github.com/iree-org/iree/pull/16032 fixed another such crash",
        shown_by=Script(
            """
from tests.workarounds import reproduce
from stagec.backends import Target
from stagec.compiler.driver import compile_module
from tests.workarounds.records import Program
import stagec

text = '''
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "nonsense.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}'''
if GUARDED:
    try:
        compile_module(text, Target.parse("cpu"))
    except stagec.errors.CompileError:
        raise SystemExit(0)
reproduce.compiled_alone(Program(text))
"""
        ),
    ),
    Workaround(
        id="alignment",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE's code relies on memory that is aligned to 64 bytes, and NumPy's often is not",
        guard="aligns its own arrays, and copies a NumPy array that is not aligned when it is passed",
        hooks=("stagec.runtime.memory:aligned_empty",),
        upstream="none found (searched: import host allocation unaligned numpy buffer crash aligned vector load "
        "local-task; memref.assume_alignment 64 unaligned input buffer crash llvm-cpu movaps)",
        shown_by="whether it crashes depends on the instructions that LLVM chooses",
    ),
    Workaround(
        id="loops-over-nothing",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.HANG,
        fault="IREE's worker threads may hang on loops over arrays without elements",
        guard="does not compile them: NumPy evaluates the graph",
        hooks=("stagec.compiler.build:obtain",),
        upstream="https://github.com/iree-org/iree/issues/20166 (a loop over an array without elements hangs on "
        "`local-task`)",
        shown_by="reported, and not seen here: programs without elements are not compiled",
    ),
    Workaround(
        id="memory-of-rounds",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE's worker threads leak a part of the memory that a loop's rounds allocate, and of separate results "
        "that are larger than 64 MiB together, at each call",
        guard="allocates it on the host: that of a loop's rounds after the round before",
        hooks=("stagec.compiler.phase_workarounds:allocate_on_host", "stagec.compiler.direct.flow:allocated"),
        upstream="https://github.com/iree-org/iree/pull/23689 (references that branches leak)",
        shown_by="a leak of memory, which `tests/runtime/test_traps.py` measures",
    ),
    Workaround(
        id="python-stack",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE's runtime ends the process where a module of Python functions is made with no room left on "
        "Python's stack",
        guard="checks for room first; endless recursion through a callback is a `RecursionError`",
        hooks=("stagec.runtime.callbacks:CallingContexts",),
        upstream="none found (searched: PyModuleInterface RecursionError terminate python exception)",
        shown_by="`tests/control` shows that recursion through a callback ends in an error",
    ),
    Workaround(
        id="number-of-workers",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE's runtime may start one worker thread only on processors with two kinds of cores",
        guard="sets the number of workers from the process's own CPU set",
        hooks=("stagec.core.threads:worker_count",),
        upstream="https://github.com/iree-org/iree/issues/24761 (one thread only on processors with two kinds of "
        "cores)",
        shown_by="it needs such a processor",
    ),
    Workaround(
        id="kernel-without-operands",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE runs a kernel of stagec's own that reads nothing ahead of the first call, and uses one of its "
        "several results for another",
        guard="writes no kernels for constants alone",
        hooks=("passes.kernels:form",),
        upstream="none found (searched: const-expr hoisting multi result dispatch wrong result)",
        shown_by="stagec writes no such kernels",
    ),
    Workaround(
        id="complex128-computed-ahead",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE reads back wrong numbers where it has computed complex128 constants ahead of the first call",
        guard="computes them in each call, in programs with complex128 constants",
        hooks=("stagec.compiler.flags:ladder",),
        upstream="none found (searched: const-eval complex f64 wrong values)",
        shown_by="not shown by a small program so far",
    ),
    Workaround(
        id="free-threading",
        backends=("cpu", "vulkan", "cuda", "rocm"),
        versions=("3.13",),
        symptom=Symptom.HANG,
        fault="In free-threaded builds of Python, MLIR's bindings lock a mutex twice where they meet the context of a "
        "session of the compiler",
        guard="lets modules pass between the compiler and the bindings as bytecode there, so that each has contexts of "
        "its own",
        hooks=("stagec.compiler.session:shares_contexts",),
        upstream="none found (searched: free-threaded deadlock live_contexts_mutex forContext); "
        "https://github.com/llvm/llvm-project/pull/179163 changed the table that the mutex guards",
        shown_by="it needs such a build; `tests/compiler/test_free_threading.py` compiles as there",
    ),
    Workaround(
        id="printed-schedule",
        backends=("cpu", "vulkan", "cuda", "rocm"),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE writes the attribute for the order of kernels in a form that it does not read",
        guard="writes it anew where a module passes as bytecode",
        hooks=("stagec.compiler.invocation:readable",),
        upstream="none found (searched: stream.partitioning_config print parse favor-debug roundtrip)",
        shown_by=Script(
            """
from stagec.compiler import mlir, session

mlir.load()
attribute = '#stream.partitioning_config<"debug">'
module = session.parsed(f"module attributes {{stream.partitioning = {attribute}}} {{}}".encode())
written = session.serialize(module)
if GUARDED:
    from stagec.compiler.invocation import readable
    written = readable(written)
try:
    session.parsed(written)
except mlir.ir().MLIRError as error:
    raise ValueError(" ".join(str(error).split())) from None
""",
            shows="expected string",
        ),
    ),
    Workaround(
        id="contexts-never-destroyed",
        backends=("cpu", "vulkan", "cuda", "rocm"),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="MLIR's bindings never destroy the context of a session of the compiler, so each keeps up to three "
        "megabytes until the process runs out of memory",
        guard="destroys the contexts of closed sessions once nothing refers to them",
        hooks=("stagec.compiler.session:_destroy_contexts",),
        upstream="https://github.com/iree-org/iree/issues/14371 (its description names the leak; "
        "https://github.com/llvm/llvm-project/pull/76010 was to correct it)",
        shown_by=Script(
            """
from stagec.compiler import mlir, session

mlir.load()
if not GUARDED:
    session._destroy_contexts = lambda: None
kept = []
for i in range(66):
    text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\\n"
    text += f"%c = stablehlo.constant dense<{i}.5> : tensor<8xf32> %0 = stablehlo.add %x, %c : tensor<8xf32>\\n"
    with session.new_session() as opened:
        mlir.ir().Module.parse(text + "return %0 : tensor<8xf32> }", opened.context)
    with open("/proc/self/status") as status:
        kept.append(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS")))
assert kept[-1] - kept[5] < 6, f"60 sessions kept memory: {kept[-1] - kept[5]} MB"
""",
            shows="60 sessions kept memory",
        ),
    ),
)
