"""What libraries have of XLA's compiler: levels that they pass, and a function that they replace for tests."""

from __future__ import annotations

import enum

from stagec.compat.refusals import refused


class CompilerEffortLevel(enum.IntEnum):
    """How long XLA may take; without an effect here."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


class Inline(enum.Enum):
    """When calls of jitted functions become a part of the caller: with JAX_EARLY and JAX_LATE in the trace."""

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"

    def __bool__(self) -> bool:
        """As the argument `inline` of `jit`."""
        return self in (Inline.JAX_EARLY, Inline.JAX_LATE)


backend_compile_and_load = refused(
    "jax._src.compiler.backend_compile_and_load", "stagec does not compile with XLA", "use stagec.jit"
)
