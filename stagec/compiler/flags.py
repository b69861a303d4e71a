"""Compiler flags: a ladder of flag sets for a target, the fast one first, the plainest last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stagec.compiler.targets import Target

# Products of at least this many multiply-adds gain from operands packed into tiles. Measured in
# float32: 768 cubed 0.97x, 512x512x2048 1.2x, 1024 cubed 1.4x, 2048 cubed 2.9x, for 0.15 s more to
# compile. Batches of small products and thin ones (8 rows: 0.5x) are better off without.
DATA_TILING_SIZE = 800**3
# Without, rows or columns that do not fill tiles of 16 are computed element by element: 333 cubed 6x,
# 512x512x500 2.5x, 100 cubed 1.5x slower.
DATA_TILING_UNEVEN_SIZE = 100**3
DATA_TILE = 16
DATA_TILING_ROWS = 64


@dataclass(frozen=True)
class CompileOptions:
    """What a caller may ask of one compile.

    Args:
      matmul_size: multiply-adds of the program's largest product that is not thin, for one element of
        its batch; measured from the module if None.
      asynchronous: results are signalled by fences instead of waited for.
      kernels: whether kernels of our own may take the place of operations (`passes.kernels`).
      straight: whether of elementwise operations and reductions, too.
      flag_set: use only the flag set of this name.
      extra_flags: appended to every flag set, one string a flag.
      dump: a directory to write the module to when it cannot be compiled; a temporary one if empty.

    >>> CompileOptions(flag_set="plain").extra_flags
    ()
    """

    matmul_size: int | None = None
    asynchronous: bool = False
    kernels: bool = True
    straight: bool = True
    flag_set: str = ""
    extra_flags: tuple[str, ...] = ()
    dump: str = ""


class Traits(NamedTuple):
    """What the flags depend on in a program.

    Args:
      matmul_size: multiply-adds of the largest product that is not thin.
      complex128: whether it makes complex128 values of constants or of parts.
    """

    matmul_size: int = 0
    complex128: bool = False


@dataclass(frozen=True)
class FlagSet:
    """A named list of compiler flags."""

    name: str
    flags: tuple[str, ...]

    @property
    def kernels(self) -> bool:
        """Whether kernels of our own take the place of operations, where there are such (`passes.kernels`)."""
        return self.name in ("direct", "kernels")

    @property
    def direct(self) -> bool:
        """Whether a module of kernels alone goes the short way through the compiler (`stagec.compiler.direct`)."""
        return self.name == "direct"

    @property
    def separate(self) -> bool:
        """Whether the compiler gets the program with every operation in a kernel of its own."""
        return self.name == "separate"

    @property
    def improved(self) -> bool:
        """Whether the compiler's kernels are changed for speed (`stagec.compiler.rare`)."""
        return self.name not in ("careful", "separate")


_COMMON = (
    "--iree-input-type=stablehlo",
    # The compiler's default turns float64 into float32 without a word.
    "--iree-input-demote-f64-to-f32=false",
)
# Name -> what is added to the base. `microkernels` is the fastest for large products; it and `packed`
# are refused for some programs (gradients of attention, "large vector sizes").
_FAST: dict[str, tuple[str, ...]] = {
    "microkernels": ("--iree-opt-data-tiling", "--iree-llvmcpu-enable-ukernels=all"),
    "packed": ("--iree-opt-data-tiling",),
}
# StableHLO leaves the order of a reduction open, as NumPy does. Vectorized partial sums run a row
# softmax 1.7x faster and round less than one long chain; elementwise arithmetic is not touched.
# The optimization levels bring little more: O2 compiles a training step 1.3x slower and runs it 1.4x slower.
_VECTOR_SUMS = "--iree-llvmcpu-reassociate-fp-reductions=true"
_NO_HOISTING = "--iree-opt-const-expr-hoisting=false"
# Left out, though it makes one kernel of a layer normalization, as `rows` does where it may be:
# --iree-dispatch-creation-enable-aggressive-fusion gives wrong results. `c / sum(c * c, 1)[None, :]` for a centred `c`
# (as in `corrcoef`) reads the sums of rows that are not there yet; and one reduction to a maximum and a sum goes wrong
# when that maximum and two arrays computed from both are returned, though no row needs another.
_CAREFUL = (
    "--iree-llvmcpu-reassociate-fp-reductions=false",
    "--iree-opt-level=O0",
    "--iree-opt-const-eval=false",
    # The compiler does not come to an end with a loop that only counts from a constant.
    _NO_HOISTING,
)
FLAG_SETS = ("direct", "kernels", *_FAST, "plain", "careful", "separate")


def ladder(
    target: Target, options: CompileOptions | None = None, *, matmul_size: int = 0, complex128: bool = False
) -> tuple[FlagSet, ...]:
    """The flag sets to try in order, for a program with the given `Traits`.

    Raises:
      ValueError: `options.flag_set` is not a flag set of this target.

    >>> [rung.name for rung in ladder(Target.parse("cpu"), matmul_size=1024**3)]
    ['direct', 'kernels', 'microkernels', 'packed', 'plain', 'careful', 'separate']
    >>> [rung.name for rung in ladder(Target.parse("cpu"), CompileOptions(kernels=False))]
    ['plain', 'careful', 'separate']
    """
    options = options or CompileOptions()
    size = matmul_size if options.matmul_size is None else options.matmul_size
    base = (*_COMMON, *_target_flags(target))
    if options.asynchronous:
        base += ("--iree-execution-model=async-external",)
    # What is computed once, ahead of the first call, reads back wrong: from complex128 constants; and on Vulkan
    # arrays of indices that are sorted with a program, at its second call.
    if complex128 or target.backend == "vulkan":
        base += (_NO_HOISTING,)
    sets = {name: (*flags, _VECTOR_SUMS) for name, flags in _FAST.items()} if target.backend == "cpu" else {}
    if target.backend == "cpu" and options.kernels:
        sets = {"kernels": (_VECTOR_SUMS,), **sets}
        if target.arch != "aarch64":
            sets = {"direct": sets["kernels"], **sets}
    sets["plain"] = (_VECTOR_SUMS,) if target.backend == "cpu" else ()
    sets["careful"] = _CAREFUL if target.backend == "cpu" else _CAREFUL[1:]
    sets["separate"] = sets["careful"]
    if options.flag_set:
        if options.flag_set not in sets:
            raise ValueError(f"unknown flag set {options.flag_set!r} for {target}; use {', '.join(map(repr, sets))}")
        names = [options.flag_set]
    else:
        names = [name for name in sets if name not in _FAST or size >= DATA_TILING_SIZE]
    own = {name: [flag for flag in sets[name] if flag not in base] for name in names}
    return tuple(FlagSet(name, (*base, *own[name], *options.extra_flags)) for name in names)


def _target_flags(target: Target) -> tuple[str, ...]:
    if target.backend == "vulkan":
        if target.description:  # the module carries it
            return ()
        return ("--iree-hal-target-device=vulkan", f"--iree-vulkan-target={target.compiled_arch}")
    if target.backend == "cuda":
        return ("--iree-hal-target-device=cuda", f"--iree-cuda-target={target.compiled_arch}")
    flags: tuple[str, ...] = (
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
