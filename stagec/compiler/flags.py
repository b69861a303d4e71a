"""Compiler flags: a ladder of flag sets for a target, the fast one first, the plainest last."""

from __future__ import annotations

from dataclasses import dataclass

from stagec.backends import Target
from stagec.compiler import reproducible


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compile.

    Args:
      asynchronous: results are signalled by fences instead of waited for.
      kernels: whether kernels written by stagec may replace operations (`passes.kernels`).
      straight: whether they may also replace elementwise operations and reductions.
      weights: the arguments that are the same at each call: packed copies may become further arguments.
      flag_set: use only the flag set of this name.
      is_open: whether the module has open dimensions, which errors mention.
      reproducible: whether results have the same bits on all processors.
      joins: whether kernels that wait for one another become one dispatch.

    >>> CompileOptions(flag_set="plain").kernels
    True
    """

    asynchronous: bool = False
    kernels: bool = True
    straight: bool = True
    weights: tuple[int, ...] = ()
    flag_set: str = ""
    is_open: bool = False
    reproducible: bool = False
    joins: bool = True


DEFAULT = CompileOptions()


@dataclass(frozen=True)
class FlagSet:
    """A named list of compiler flags.

    Args:
      in_order: whether a program waits for the work that it submitted before it submits more.
      reproducible: whether results have the same bits on all processors.
    """

    name: str
    flags: tuple[str, ...]
    in_order: bool = False
    reproducible: bool = False

    @property
    def kernels(self) -> bool:
        """Whether kernels written by stagec replace operations where there are some (`passes.kernels`)."""
        return self.name in ("direct", "kernels")

    @property
    def direct(self) -> bool:
        """Whether a module of kernels alone is compiled directly (`stagec.compiler.direct`)."""
        return self.name == "direct"

    @property
    def disables_fusion(self) -> bool:
        """Whether every operation of the program is a dispatch of its own."""
        return self.name == "separate"


_COMMON = (
    "--iree-input-type=stablehlo",
    # The compiler's default turns float64 into float32 without a word.
    "--iree-input-demote-f64-to-f32=false",
    # Values that are computed once, before the first call, are read back wrong: complex128 numbers, and on Vulkan
    # arrays of indices that are sorted, at the second call.
    "--iree-opt-const-expr-hoisting=false",
)
# Left out: --iree-dispatch-creation-enable-aggressive-fusion, which makes one kernel of a layer normalization, as
# `rows` does where it is allowed. It gives wrong results: `c / sum(c * c, 1)[None, :]` for a centred `c` (as in
# `corrcoef`) reads sums of rows that are not computed yet; and a reduction to a maximum and a sum is wrong when the
# maximum and two arrays computed from both are returned, although no row depends on another.
FLAG_SETS = ("direct", "kernels", "plain", "separate")


def ladder(target: Target, options: CompileOptions = DEFAULT) -> tuple[FlagSet, ...]:
    """The flag sets to try in order.

    Raises:
      ValueError: `options.flag_set` is not a flag set of this target.
      UnsupportedError: there is no reproducible code for the target.

    >>> [flag_set.name for flag_set in ladder(Target.parse("cpu"))]
    ['direct', 'kernels', 'plain', 'separate']
    >>> [flag_set.name for flag_set in ladder(Target.parse("cpu"), CompileOptions(kernels=False))]
    ['plain', 'separate']
    """
    base = (*_COMMON, *target.on.flags(target))
    if options.asynchronous:
        base += ("--iree-execution-model=async-external",)
    sets = target.on.flag_sets(target, options.kernels)
    if options.reproducible:
        reproducible.check_target(target, "the program")
        names = ["direct"]
    elif options.flag_set:
        if options.flag_set not in sets:
            raise ValueError(f"unknown flag set {options.flag_set!r} for {target}; use {', '.join(map(repr, sets))}")
        names = [options.flag_set]
    else:
        names = [*sets]
    own = {name: [flag for flag in sets[name] if flag not in base] for name in names}
    in_order = target.on.works_in_order(target)
    return tuple(FlagSet(name, (*base, *own[name]), in_order, options.reproducible) for name in names)
