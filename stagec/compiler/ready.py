"""The StableHLO module that each flag set of the ladder compiles: with kernels written by stagec, or without."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

from passes import PassOptions, kernels as own_kernels, pipeline
from passes.analysis.aliases import mutated_arguments, results_may_share, returned_arguments
from passes.analysis.host_scalars import is_whole
from passes.analysis.in_place import keep_safe_reuse
from passes.kernels.dispatch import Kernels
from passes.kernels.weights import packed_arguments
from passes.legalize.disable_fusion import disable_fusion
from stagec.backends import Target
from stagec.compiler import direct, log
from stagec.compiler.flags import CompileOptions, FlagSet, ladder
from stagec.compiler.session import parsed, serialize
from stagec.core import forking
from stagec.runtime.packing import Packing
from stagec.runtime.traits import Traits


@dataclasses.dataclass(eq=False)
class Ready:
    """A module as the compiler takes it.

    Attributes:
      traits: what it does with the memory of its arguments.
      module: the module as an `ir.Module`, if its context is still there.
      kernels: those of our own in it; their executables are inserted when its bytes are asked for.
    """

    traits: Traits
    module: Any = None
    kernels: Kernels | None = None
    _source: bytes = b""

    @classmethod
    def of(cls, module: Any) -> Ready:
        """An `ir.Module` that will not change any more, and may be gone later."""
        return cls(_traits(module), _source=serialize(module))

    @property
    def source(self) -> bytes:
        """The module's bytes, with the executables of its kernels."""
        if not self._source:
            if self.kernels is not None:
                self.kernels.insert_executables()
            self._source = serialize(self.module)
        return self._source


def _traits(module: Any) -> Traits:
    packed = tuple(map(Packing.parse, packed_arguments(module)))
    return Traits(mutated=mutated_arguments(module), packed=packed, may_alias=_may_alias(module))


def _may_alias(module: Any) -> bool:
    """Whether a result may be the memory of an argument, or of another result."""
    return bool(returned_arguments(module)) or results_may_share(module)


def by_flag_set(module: Any, target: Target, options: CompileOptions) -> Iterator[tuple[FlagSet, Ready]]:
    """The flag sets to try in order, each with the module that it compiles.

    The flag set `kernels` is left out where no kernel is formed, unless it is the only one asked for.

    Args:
      module: what `driver.prepared` returned; the first flag set may change it.
    """
    source = serialize(module)
    whole: Ready | None = None
    with_kernels: tuple[Ready, bool, bool] | None = None
    for flag_set in ladder(target, options):
        if not target.on.is_host:
            yield flag_set, _for_device(source, flag_set.disables_fusion)
        elif flag_set.kernels:
            if with_kernels is None:
                with_kernels = with_own_kernels(source, flag_set, target, options, module)
            elif with_kernels[2] and not flag_set.direct:
                with_kernels = with_own_kernels(source, flag_set, target, options)
            ready, formed, _ = with_kernels
            if not formed:
                whole = ready
            if formed or options.flag_set or options.reproducible:
                yield flag_set, ready
        elif flag_set.disables_fusion:
            yield flag_set, _for_cpu(source, target, disables_fusion=True)
        else:
            whole = whole or _for_cpu(source, target)
            yield flag_set, whole


def _for_device(source: bytes, disables_fusion: bool) -> Ready:
    module = parsed(source)
    if disables_fusion:
        disable_fusion(module)
    return Ready.of(module)


_lock = forking.lock()
_deep = 0
_before = 0
# Kernels are formed by functions that call each other, some for each operation of a chain. A frame takes up to half a
# kilobyte of a thread's stack.
_DEPTH = 8000


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Let Python's functions nest deeper for a block. The limit is one for all threads: the last one restores it."""
    global _deep, _before
    with _lock:
        if not _deep:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _DEPTH))
        _deep += 1
    try:
        yield
    finally:
        with _lock:
            _deep -= 1
            if not _deep and sys.getrecursionlimit() == max(_before, _DEPTH):
                sys.setrecursionlimit(_before)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    global _deep
    if _deep:  # other threads do not exist here
        _deep = 0
        sys.setrecursionlimit(_before)


def with_own_kernels(
    source: bytes, flag_set: FlagSet, target: Target, options: CompileOptions, module: Any = None, alone: bool = False
) -> tuple[Ready, bool, bool]:
    """The module with kernels of our own; `module` is changed if it is given.

    Args:
      alone: whether there is nothing but kernels, so that these need not be faster than the compiler's own code.

    Returns:
      the module, whether it has kernels or needs none, and whether it has control flow for direct compilation only.
    """
    if module is None:
        module = parsed(source)
    try:
        # Direct compilation is also for programs that only call Python functions or return their arguments.
        settings = pass_options(target, reproducible=options.reproducible)
        parts = options.straight, options.weights, flag_set.direct
        with deep_recursion():
            kernels, matches = own_kernels.formed(module, settings, *parts, alone or options.reproducible)
        formed = bool(matches) or direct.is_direct(module)
        controlled = flag_set.direct and is_whole(module)
    except Exception as error:  # a fault of stagec's, which the other flag sets do not have
        log.event("compile", f"no kernels: {type(error).__name__}: {error}")
        return _for_cpu(source, target), False, False
    # Direct compilation updates no memory that is still needed, so the pass `memory` has nothing to do.
    _resolve_hazards(module, target, *["cse"] * controlled)
    return Ready(_traits(module), module, kernels), formed, controlled


def _for_cpu(source: bytes, target: Target, disables_fusion: bool = False) -> Ready:
    """The module with in-place hazards resolved; if asked, with every operation in a dispatch of its own."""
    module = parsed(source)
    _resolve_hazards(module, target)
    if disables_fusion:
        disable_fusion(module)
    return Ready.of(module)


def _resolve_hazards(module: Any, target: Target, passes: str = "sorts, memory, cse") -> None:
    # The compiler may write the results of in-place updates early.
    keep_safe_reuse(module)
    for step in pipeline.parse(passes):
        step.run(module, pass_options(target))


def pass_options(
    target: Target, *, fast_math: bool | str = False, doubles: bool = True, reproducible: bool = False
) -> PassOptions:
    """What passes may know of a target."""
    return PassOptions(fast_math, target.on.laws, doubles, target.machine, target.required_features(), reproducible)
