"""Targets, which programs are compiled for, and the interface of the backends that they belong to."""

from __future__ import annotations

import abc
import difflib
import functools
from dataclasses import dataclass
from typing import ClassVar, Protocol

from stagec.core import location
from stagec.core.aval import ShapedArray
from stagec.core.errors import TargetError

# StableHLO leaves the order of a reduction open, as NumPy does. Vectorized partial sums run a row
# softmax 1.7x faster and round less than one long chain; elementwise arithmetic is not touched.
# The optimization levels bring little more: O2 compiles a training step 1.3x slower and runs it 1.4x slower.
VECTOR_SUMS = "--iree-llvmcpu-reassociate-fp-reductions=true"
# Flags of the plainest flag set. Nothing is hoisted, because the compiler does not terminate on a loop that only
# counts from a constant.
PLAINEST = ("--iree-opt-level=O0", "--iree-opt-const-eval=false")


@dataclass(frozen=True)
class Target:
    """What a program is compiled for; equal targets give the same code.

    Args:
      backend: the name of one of `stagec.backends.BACKENDS`.
      arch: the processor within it; `host` is this machine's own CPU.
      features: further features, sorted; those of CPUs in LLVM's spelling.

    >>> Target.parse("cpu:x86-64-v3")
    Target(backend='cpu', arch='x86-64-v3', features=())
    >>> str(Target.parse("cuda"))
    'cuda:sm_80'
    """

    backend: str
    arch: str
    features: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str | Target) -> Target:
        """Read a target's description, such as `cpu`, `cpu:x86-64-v3+gfni` or `cuda:sm_86`.

        Raises:
          TargetError: the backend, architecture or feature is not known; close names are suggested.

        >>> Target.parse("vulkan:ampere").arch
        'ampere'
        """
        if isinstance(text, Target):
            return text
        if not isinstance(text, str):
            what = f"a target is a string, not {type(text).__name__}"
            raise location.error(TargetError, what, fix="pass a string such as 'cpu'")
        return _parse(text)

    def __str__(self) -> str:
        if self.is_host:
            return self.backend
        return f"{self.backend}:{self.arch}" + "".join(f"+{feature}" for feature in self.features)

    @property
    def on(self) -> Backend:
        """The backend."""
        return REGISTRY[self.backend]

    @property
    def compiled_arch(self) -> str:
        """The architecture that the compiler is given: the newest it knows that `arch` can run.

        >>> Target.parse("cuda:sm_90").compiled_arch
        'sm_89'
        """
        return self.on.compiled_arch(self)

    @property
    def is_host(self) -> bool:
        """Whether this is the processor that runs Python, with all that it has."""
        return self.arch == "host"

    def contributors(self) -> dict[str, str]:
        """Everything about the target that changes the compiled code, by name, for a cache key."""
        parts = {"target": str(self)}
        if self.compiled_arch != self.arch:
            parts["target compiled as"] = self.compiled_arch
        return parts | self.on.contributors(self)

    def missing_here(self) -> frozenset[str]:
        """CPU features that this target's code may use and this machine lacks."""
        return self.on.missing_here(self)

    def required_features(self) -> frozenset[str]:
        """CPU features that this target's code may use, in the kernel's spelling; for `host`, all that there are.

        >>> sorted(Target.parse("cpu:x86-64-v2+gfni").required_features())
        ['cx16', 'gfni', 'lahf_lm', 'popcnt', 'sse4_1', 'sse4_2', 'ssse3']
        """
        return self.on.required_features(self)

    @property
    def machine(self) -> str:
        """The architecture that CPU code runs on, as `platform.machine` calls it; empty for other backends.

        >>> Target.parse("cpu:x86-64-v3").machine, Target.parse("vulkan").machine
        ('x86_64', '')
        """
        return self.on.machine(self)


@dataclass(frozen=True)
class Gap:
    """Operations that a target does not support.

    Attributes:
      dtypes: the names of the dtypes.
      primitives: the names of the operations; all of them if empty.
      reason: ends the sentence that begins with the operation, the dtype and the target.
      fix: what the user can do.
    """

    dtypes: tuple[str, ...]
    primitives: tuple[str, ...]
    reason: str
    fix: str

    def covers(self, primitive: str, avals: list[ShapedArray]) -> ShapedArray | None:
        """The first of an operation's operands and results whose dtype the target does not support for it; None if
        it does.
        """
        if self.primitives and primitive not in self.primitives:
            return None
        return next((a for a in avals if str(a.dtype) in self.dtypes), None)


class Backend(abc.ABC):
    """One way to compile and run programs. Other modules ask for the properties below, never for the name.

    Attributes:
      name: as users write it, and the platform of its devices.
      usage: how a target is written, for errors.
      laws: the set of `passes.pipeline.LAWS` that its modules need.
      queues: the runtime's drivers; small programs and transfers use the first, large programs the second, if there
        is one.
      is_host: whether programs run in Python's process, in its memory.
      has_linker: whether the compiler calls a linker.
      is_exclusive: whether only one thread at a time may use a device.
      crashes: whether the compiler may crash, so that it runs in a new process.
      collectives: whether a program's devices have memories of their own, and communicate by operations of the program.
      has_instrumentation: whether the runtime can record the times of kernels.
      has_races: whether compiled modules are searched for barriers that the compiler left out.
      libraries: the driver's library on Linux, and on Windows.
      missing: what to do where there is no device.
    """

    name: ClassVar[str]
    usage: ClassVar[str]
    laws: ClassVar[str]
    queues: ClassVar[tuple[str, ...]]
    is_host: ClassVar[bool] = False
    has_linker: ClassVar[bool] = False
    is_exclusive: ClassVar[bool] = False
    crashes: ClassVar[bool] = False
    collectives: ClassVar[bool] = False
    has_instrumentation: ClassVar[bool] = False
    has_races: ClassVar[bool] = False
    libraries: ClassVar[tuple[str, str]] = ("", "")
    missing: ClassVar[str] = ""

    # Targets.

    @abc.abstractmethod
    def parse(self, text: str, arch: str) -> Target:
        """A target from its description, and the part of it that names the architecture; may raise `TargetError`."""

    @abc.abstractmethod
    def known(self) -> tuple[str, ...]:
        """The descriptions of its targets, for help and completion."""

    @abc.abstractmethod
    def flags(self, target: Target) -> tuple[str, ...]:
        """The compiler's flags for a target."""

    def flag_sets(self, target: Target, kernels: bool) -> dict[str, tuple[str, ...]]:
        """The flags that each flag set adds, by name, in the order in which they are tried.

        Args:
          kernels: whether kernels written by stagec may replace operations.
        """
        return {"plain": (), "separate": PLAINEST}

    def works_in_order(self, target: Target) -> bool:
        """Whether a program waits for the work that it submitted before it submits more."""
        return False

    def compiled_arch(self, target: Target) -> str:
        """The architecture that the compiler is given: the newest it knows that the target can run."""
        return target.arch

    def description(self, target: Target) -> str:
        """The target as an attribute of the module, where no flag of the compiler names it, else empty."""
        return ""

    def contributors(self, target: Target) -> dict[str, str]:
        """Properties of this machine that change the code, by name, for a cache key."""
        return {}

    def has_runtime(self, target: Target) -> bool:
        """Whether Python can load programs there, on some machine; else C programs only can call them."""
        return True

    def missing_here(self, target: Target) -> frozenset[str]:
        """CPU features that a target's code may use and this machine lacks."""
        return frozenset()

    def required_features(self, target: Target) -> frozenset[str]:
        """CPU features that a target's code may use."""
        return frozenset()

    def machine(self, target: Target) -> str:
        """The architecture of a CPU."""
        return ""

    def gaps(self, target: Target) -> tuple[Gap, ...]:
        """What a target does not support, even after legalization."""
        return ()

    # Devices.

    def architecture(self, device: DeviceInfo) -> str:
        """What to compile for, for a device: the second part of a target."""
        return ""

    def is_software(self, device: DeviceInfo) -> bool:
        """Whether a graphics driver does a device's work on the CPU."""
        return False

    def rank(self, target: Target, device: DeviceInfo) -> int:
        """How well code for a target uses a device, for a choice between targets; -1 if it does not run there."""
        return -1


class DeviceInfo(Protocol):
    """The properties of a device that backends use.

    Attributes:
      id: its number among the devices of the backend.
      device_kind: the product, as the driver calls it.
    """

    id: int
    device_kind: str

    @property
    def architecture(self) -> str:
        """The architecture to compile for, from its backend."""

    def info(self) -> str:
        """The driver's description, as lines of text."""


# Filled by `stagec.backends`, in the order in which platforms are tried.
REGISTRY: dict[str, Backend] = {}


@functools.lru_cache(maxsize=256)
def _parse(text: str) -> Target:
    name, _, arch = text.strip().lower().partition(":")
    if name not in REGISTRY:
        *usages, last = [backend.usage for backend in REGISTRY.values()]
        raise unknown("target", text, name, tuple(REGISTRY), f"use {', '.join(usages)} or {last}")
    return REGISTRY[name].parse(text, arch)


def unknown(kind: str, text: str, name: str, known: tuple[str, ...], fix: str) -> TargetError:
    """The error for a name that is not known, with those that are close to it."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? Otherwise {fix}" if close else fix
    rows = [("target", repr(text), "a `target` or `targets` argument, or STAGEC_TARGET")]
    return location.error(TargetError, f"{name!r} is not a known {kind}", rows, hint)
