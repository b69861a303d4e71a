"""`jax.extend.mlir`: MLIR's bindings, and operations of StableHLO, for lowerings that emit them."""

from stagec.compat.extend.mlir import dialects as dialects, ir as ir
