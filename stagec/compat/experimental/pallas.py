"""Stand-ins for `jax.experimental.pallas` and its modules: any name can be imported, and calling it is an error.

Libraries import them for kernels that they run on the devices of XLA alone.
"""

from __future__ import annotations

from typing import Any

from stagec.compat.refusals import refused


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    what = f"jax.experimental.pallas: {name}"
    return refused(
        what, "Pallas is for XLA's devices", "write the computation with jax.numpy, and jax.jit makes kernels"
    )
