"""`jax.extend.mlir.ir`: MLIR's types, attributes and operations, which are loaded with the compiler."""

from __future__ import annotations

from typing import Any

from passes import bindings


def __getattr__(name: str) -> Any:
    return getattr(bindings.ir, name)
