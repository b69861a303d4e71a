"""`jax.experimental.array_serialization`: a class for annotations and `isinstance`; it has no instances."""

from stagec.compat.refusals import Absent

__all__ = ["GlobalAsyncCheckpointManagerBase"]


class GlobalAsyncCheckpointManagerBase(Absent):
    """The base of JAX's own writers of checkpoints."""
