"""`jax.experimental.array_serialization`: names that libraries import and have no use for with whole arrays."""

from stagec.compat.refusals import Absent, refused

__all__ = ["GlobalAsyncCheckpointManager", "GlobalAsyncCheckpointManagerBase", "get_tensorstore_spec"]


class GlobalAsyncCheckpointManagerBase(Absent):
    """The base of JAX's own writers of checkpoints."""


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """JAX's own writer of checkpoints."""


get_tensorstore_spec = refused(
    "get_tensorstore_spec", "stagec writes no checkpoints of its own", "use a library for checkpoints, such as orbax"
)
