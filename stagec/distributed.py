"""Several processes that run one program, by the names of `jax.distributed`."""

from __future__ import annotations

from typing import Any

from stagec.core.boundary import publish as _publish
from stagec.runtime import processes as _processes

__all__ = ["initialize", "is_initialized", "shutdown"]


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Any = None,
    **kwargs: Any,
) -> None:
    """Join the processes that `mpiexec` or Slurm has started, over MPI.

    From here on, `stagec.devices()` are the devices of all processes, and an array may be split among them. A process
    that fails with an exception ends the others.

    Args:
      coordinator_address, num_processes, process_id, local_device_ids, kwargs: accepted for code written for JAX; MPI
        knows them.

    Raises:
      NotInstalledError: mpi4py or an MPI library is missing.
    """
    _processes.join()


def is_initialized() -> bool:
    """Whether `initialize` was called.

    >>> is_initialized()
    False
    """
    return _processes.world() is not None


def shutdown() -> None:
    """Forget the other processes."""
    _processes.leave()


_publish(globals())
