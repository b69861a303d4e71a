"""Compiler flags: a ladder of flag sets for a target, the fast one first, the plainest last."""

from __future__ import annotations

from dataclasses import dataclass

from stagec.compiler.targets import Target

# A product of at least this many multiply-adds gains from packed operands (a 192-cube).
DATA_TILING_SIZE = 192**3


@dataclass(frozen=True)
class CompileOptions:
    """What a caller may ask of one compile.

    Args:
      matmul_size: multiply-adds of the program's largest product; measured from the module if None.
      asynchronous: results are signalled by fences instead of waited for.
      flag_set: use only the flag set of this name.
      extra_flags: appended to every flag set, one string a flag.
      dump: a directory to write the module to when it cannot be compiled; a temporary one if empty.

    >>> CompileOptions(flag_set="plain").extra_flags
    ()
    """

    matmul_size: int | None = None
    asynchronous: bool = False
    flag_set: str = ""
    extra_flags: tuple[str, ...] = ()
    dump: str = ""


@dataclass(frozen=True)
class FlagSet:
    """A named list of compiler flags."""

    name: str
    flags: tuple[str, ...]


_COMMON = (
    "--iree-input-type=stablehlo",
    # The compiler's default turns float64 into float32 without a word.
    "--iree-input-demote-f64-to-f32=false",
)
_TILED = (
    "--iree-opt-data-tiling",
    "--iree-llvmcpu-enable-inner-tiled",
    "--iree-llvmcpu-enable-llvm-ukernels=all",
)


def ladder(target: Target, options: CompileOptions | None = None, *, matmul_size: int = 0) -> tuple[FlagSet, ...]:
    """The flag sets to try in order, for a program whose largest product has `matmul_size` multiply-adds.

    >>> [rung.name for rung in ladder(Target.parse("cpu"), matmul_size=1024**3)]
    ['tiled', 'packed', 'plain', 'careful']
    >>> [rung.name for rung in ladder(Target.parse("cpu"))]
    ['plain', 'careful']
    """
    options = options or CompileOptions()
    size = matmul_size if options.matmul_size is None else options.matmul_size
    base = (*_COMMON, *_target_flags(target))
    if options.asynchronous:
        base += ("--iree-execution-model=async-external",)
    rungs = [FlagSet("plain", base)]
    if target.backend == "cpu":
        tiled = FlagSet("tiled", (*base, *_TILED))
        packed = FlagSet("packed", (*base, "--iree-opt-data-tiling"))
        careful = FlagSet("careful", (*base, "--iree-opt-level=O0", "--iree-opt-const-eval=false"))
        fast = [tiled, packed] if size >= DATA_TILING_SIZE or options.flag_set in ("tiled", "packed") else []
        rungs = [*fast, *rungs, careful]
    else:
        rungs.append(FlagSet("careful", (*base, "--iree-opt-level=O0", "--iree-opt-const-eval=false")))
    if options.flag_set:
        rungs = [rung for rung in rungs if rung.name == options.flag_set]
        if not rungs:
            raise ValueError(f"unknown flag set {options.flag_set!r}; use 'tiled', 'packed', 'plain' or 'careful'")
    return tuple(FlagSet(rung.name, rung.flags + options.extra_flags) for rung in rungs)


def _target_flags(target: Target) -> tuple[str, ...]:
    if target.backend == "vulkan":
        return ("--iree-hal-target-device=vulkan", f"--iree-vulkan-target={target.compiled_arch}")
    if target.backend == "cuda":
        return ("--iree-hal-target-device=cuda", f"--iree-cuda-target={target.compiled_arch}")
    flags = (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        # Large fused kernels need more than the default; the runtime's workers get 4 MiB stacks.
        "--iree-llvmcpu-stack-allocation-limit=1048576",
        "--iree-llvmcpu-debug-symbols=false",
    )
    if target.triple:
        flags += (f"--iree-llvmcpu-target-triple={target.triple}",)
    cpu = "generic" if target.arch == "aarch64" else target.arch
    flags += (f"--iree-llvmcpu-target-cpu={cpu}",)
    if target.features:
        flags += ("--iree-llvmcpu-target-cpu-features=" + ",".join(f"+{feature}" for feature in target.features),)
    return flags
