"""Faults of IREE's code for GPUs, and of Vulkan drivers."""

import numpy as np

from tests.workarounds.records.record import Program, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="missing-barrier",
        backends=("vulkan",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE passes an array that several operations read from one half of a kernel to the other in memory that "
        "threads share, and leaves out the barrier between them",
        guard="stores widened arrays, searches the compiled code for such kernels, and compiles the program again with "
        "fusion disabled",
        hooks=(
            "stagec.compiler.spirv:racing_kernels",
            "passes.legalize.spirv:widen_once",
            "passes.legalize.disable_fusion:disable_fusion",
        ),
        upstream="https://github.com/iree-org/iree/issues/15666 (a missing barrier in a fused dispatch, for LLVMGPU)",
        shown_by=Program(
            """
func.func @main(%x: tensor<64x32xi8>) -> (tensor<32xi32>, tensor<64xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %wide = stablehlo.convert %x : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %0 = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64x32xi32>, tensor<i32>) -> tensor<32xi32>
  %1 = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x32xi32>, tensor<i32>) -> tensor<64xi32>
  return %0, %1 : tensor<32xi32>, tensor<64xi32>
}""",
            (np.ones((64, 32), np.int8),),
            target="vulkan",
        ),
    ),
    Workaround(
        id="zeros-that-the-driver-sees",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="Mesa's lavapipe folds a product with a constant zero to zero, even of NaN, and never writes the "
        "quotient by a constant zero: `x / 0` is what the memory held before",
        guard="reads such a zero from memory, and tests for NaN in `x - x`",
        hooks=("passes.legalize.spirv:arithmetic_with_zero", "passes.legalize.spirv:subtract_itself"),
        upstream="none found (searched, on GitHub only and without IREE's name: mesa lavapipe llvmpipe multiply by "
        "zero constant folded NaN fmul fdiv division by zero undefined result): a fault of the driver",
        shown_by="`tests/passes/legalize/test_legalize_spirv.py` runs the programs on a device",
    ),
    Workaround(
        id="indices-computed-ahead",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE computes arrays of indices ahead of the first call, and overwrites them when they are sorted "
        "with others",
        guard="computes them in each call",
        hooks=("stagec.backends.vulkan:Vulkan.flags",),
        upstream="https://github.com/iree-org/iree/issues/24665 (a sort overwrites the indices that it moves along)",
        shown_by="it needs a device; the programs are among the cases of `sort`",
    ),
    Workaround(
        id="scatter-of-single-elements",
        backends=("vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE executes `x.at[i].add(y)` of single elements at unique indices once for each thread, or for each "
        "workgroup",
        guard="scatters pairs of each element, which are distributed over the threads",
        hooks=("passes.legalize.scatters:scatter_pairs",),
        upstream="none found (searched: scatter accumulates several times per workgroup unique_indices wrong result "
        "SPIR-V; scatter add executed by every thread not distributed accumulates more than once); "
        "https://github.com/iree-org/iree/issues/20358 is about sorts that every thread does",
        shown_by="`tests/passes/legalize/test_legalize_scatters.py` runs the programs on a device",
    ),
    Workaround(
        id="sorted-and-not-read",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE crashes on, or refuses, a sort with a further operand whose result is not used",
        guard="reads the result in a select that never selects it",
        hooks=("passes.legalize.disable_fusion:read_sorted",),
        upstream="https://github.com/iree-org/iree/issues/20699 (a sort with an unused result fails to bufferize; "
        "closed)",
        shown_by="`tests/compiler/test_spirv.py` shows the rewrite",
    ),
    Workaround(
        id="long-expressions-of-indices",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.HANG,
        fault="IREE's time to compile grows exponentially with the number of operations, one on the other, that are "
        "computed from an iota alone, such as the rounds of random bits whose key is known",
        guard="stores the iota if there are more than 16",
        hooks=("passes.legalize.iotas:store",),
        upstream="https://github.com/iree-org/iree/issues/24886 (compile time exponential in the length of what an "
        "index is computed from, on CPUs)",
        shown_by="a matter of time; `tests/passes/legalize/test_legalize_spirv.py` shows the rewrite",
    ),
    Workaround(
        id="freed-result-of-conditional",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE frees what a conditional returns, although it is the memory of something else",
        guard="gives it memory of its own",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="https://github.com/iree-org/iree/pull/24781 (it names #24841, on results of control flow that "
        "share an allocation)",
        shown_by="it needs a device; random programs with conditionals run on one",
    ),
    Workaround(
        id="threads-on-one-device",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="the device is lost when threads submit work, or wait, at the same time: IREE's runtime signals the "
        "values of a semaphore in the wrong order, which Mesa's drivers find",
        guard="lets only one thread at a time do so, and has it wait first for the work of other threads",
        hooks=("stagec.backends.vulkan:Vulkan.is_exclusive", "stagec.runtime.timeline:TimelineSemaphore.turn"),
        upstream="none found (searched: mesa lavapipe device lost multithreaded queue submit wait "
        "VK_ERROR_DEVICE_LOST threads; iree vulkan vkSignalSemaphore VK_ERROR_DEVICE_LOST lavapipe timeline values "
        "strictly increase)",
        shown_by="a race between threads, which no short test shows every time",
    ),
    Workaround(
        id="two-threads-in-one-call",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="the device is lost in a call that submits several pieces of work, such as a loop's rounds: IREE's own "
        "thread submits what had to wait for other work, deallocations above all, while the program's thread goes on",
        guard="allocates on the host, frees memory when nothing refers to it, and waits for each piece of work before "
        "the next, on devices without a profile of their own",
        hooks=(
            "stagec.backends.vulkan:Vulkan.works_in_order",
            "stagec.compiler.phase_workarounds:work_in_order",
        ),
        upstream="none found (searched: iree vulkan queue wakeup semaphore vkSignalSemaphore race device lost); the "
        "count is taken and signalled in two steps in runtime/src/iree/hal/drivers/vulkan/queue.c",
        shown_by="a race between threads; `tests/compiler/test_driver.py` shows the rewrite",
    ),
    Workaround(
        id="exit-of-a-forked-child",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="Mesa's lavapipe joins its threads when a process exits, also in a forked child, which has none of them",
        guard="has such a child end without the exit handlers of C libraries",
        hooks=("stagec.core.forking:skip_exit_handlers",),
        upstream="none found (searched, on GitHub only and without IREE's name: mesa util_queue atexit fork child "
        "pthread_join crash lavapipe llvmpipe): a fault of the driver",
        shown_by="`tests/runtime/test_fork.py`, where the child has first used the memory of those threads' stacks",
    ),
    Workaround(
        id="threads-that-spin",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE's runtime waits with two threads that never sleep where the driver is Mesa's lavapipe, and "
        "keeps two cores busy while nothing runs",
        guard="restricts such threads to one core",
        hooks=("stagec.runtime.spinning:kept_to_one_core",),
        upstream="none found (searched: vulkan semaphore wait any busy loop lavapipe high CPU usage idle); "
        "https://github.com/iree-org/iree/issues/19708 is about threads that spin on HIP",
        shown_by="a matter of time",
    ),
    Workaround(
        id="unsigned-division",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses divisions of unsigned integers by vectors of one element, depending on the shape; "
        "drivers compute wrong remainders of the least integer and of large floats",
        guard="divides by signed divisions, and computes remainders from integers",
        hooks=(
            "passes.legalize.spirv:divide_unsigned",
            "passes.legalize.spirv:remainder_by_division",
            "passes.legalize.spirv:remainder_of_floats",
        ),
        upstream="none found (searched: spirv vector<1> udiv failed to legalize divui); "
        "https://github.com/iree-org/iree/issues/21292 is about roundings of vectors of one element",
        shown_by="`tests/primitives/test_registry.py` runs the cases on a device",
    ),
    Workaround(
        id="own-sort-of-cuda",
        backends=("cuda",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses its own sort for CUDA where the axis is a multiple of 32",
        guard="sorts by a network of exchanges",
        hooks=("passes.legalize.sorting:sort_any_by_positions", "passes.legalize.sorting:sort_by_network"),
        upstream="none found (searched: cuda sort distribution fails multiple of 32); "
        "https://github.com/iree-org/iree/issues/20358 is about wrong results of sorts on GPUs",
        shown_by="small sorts compile by now; whether they are right is not known without a GPU",
    ),
    Workaround(
        id="features-first-in-convolutions",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE leaves out a barrier between the threads of convolutions with an odd number of features, for some "
        "sizes of images, unless features come last",
        guard="transposes such convolutions into that layout",
        hooks=("passes.legalize.convolutions:odd_features_last",),
        upstream="none found (searched: spirv vulkan conv2d nchw missing workgroup barrier); "
        "https://github.com/iree-org/iree/issues/15666 is about one in a fused dispatch, for LLVMGPU",
        shown_by=Program(
            """
func.func @main(%x: tensor<1x2x7x7xf32>, %k: tensor<3x2x3x3xf32>) -> tensor<1x3x7x7xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x2x7x7xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x7x7xf32>
  return %0 : tensor<1x3x7x7xf32>
}""",
            (np.ones((1, 2, 7, 7), np.float32), np.ones((3, 2, 3, 3), np.float32)),
            target="vulkan",
        ),
    ),
    Workaround(
        id="groups-of-convolutions",
        backends=("vulkan",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE leaves out a barrier between the threads of convolutions with groups, unless features come last",
        guard="computes one convolution for each group",
        hooks=("passes.legalize.convolutions:one_for_each_group",),
        upstream="https://github.com/iree-org/iree/issues/15666 (a missing barrier in a fused dispatch, for LLVMGPU)",
        shown_by=Program(
            """
func.func @main(%x: tensor<1x4x5x5xf32>, %k: tensor<4x2x3x3xf32>) -> tensor<1x4x5x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
    : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x5x5xf32>
  return %0 : tensor<1x4x5x5xf32>
}""",
            (np.ones((1, 4, 5, 5), np.float32), np.ones((4, 2, 3, 3), np.float32)),
            target="vulkan",
        ),
    ),
)
