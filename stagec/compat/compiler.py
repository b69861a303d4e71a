"""A stand-in for `jax._src.compiler`, which libraries import to replace a function of it for tests."""

from __future__ import annotations

from stagec.compat.refusals import refused

backend_compile_and_load = refused(
    "jax._src.compiler.backend_compile_and_load", "stagec does not compile with XLA", "use stagec.jit"
)
