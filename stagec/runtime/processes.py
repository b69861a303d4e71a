"""The processes of one program, and what they say to each other, over MPI."""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.control.grid import Grid
from stagec.core import dtypes, errors, location
from stagec.runtime import devices
from stagec.runtime.mesh import Mesh


class World:
    """All processes of the program.

    Args:
      comm: an MPI communicator of mpi4py.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._parts: dict[Any, Any] = {}

    def part(self, color: int, key: int, name: Any) -> Any:
        """The communicator of the processes with this process's color; all processes ask for it together."""
        found = self._parts.get(name)
        if found is None:
            found = self._parts[name] = self.comm.Split(color, key)
        return found


# How long a process that failed waits until its message has been read.
_READ_SECONDS = 0.2
_world: list[World] = []


def world() -> World | None:
    """The processes, or None where there is one."""
    return _world[0] if _world else None


def join() -> World:
    """Join the processes that `mpiexec` has started."""
    if not _world:
        try:
            from mpi4py import MPI  # an extra
        except ImportError as error:
            raise location.error(
                errors.NotInstalledError,
                f"stagec.distributed.initialize needs mpi4py and an MPI library: {error}",
                fix="pip install mpi4py mpich, and start the program with mpiexec -n 4 python program.py",
            ) from None
        _world.append(World(MPI.COMM_WORLD))
        devices.processes = (_world[0].rank, _world[0].size)
        if _world[0].size > 1:
            sys.excepthook = _abort
    return _world[0]


def leave() -> None:
    """Forget the other processes."""
    _world.clear()
    devices.processes = (0, 1)
    sys.excepthook = sys.__excepthook__


def _abort(kind: type[BaseException], value: BaseException, trace: Any) -> None:
    """End all processes where one fails: the others would wait for it for ever."""
    traceback.print_exception(kind, value, trace)
    sys.stderr.flush()
    # `mpiexec` ends the processes at once, and what it has not read of their output is lost.
    time.sleep(_READ_SECONDS)
    _world[0].comm.Abort(1)


class ProcessGrid(Grid):
    """How the processes divide a mesh: each has a block of its devices.

    Attributes:
      counts: for each axis, how many processes divide it.
      place: the position of this process along each axis.
    """

    def __init__(self, mesh: Mesh) -> None:
        found = world()
        assert found is not None, "a mesh of one process has no grid"
        owners = np.vectorize(lambda d: d.process_index, otypes=[int])(mesh.devices)
        self._world = found
        mine = np.argwhere(owners == found.rank)
        extents = mine.max(0) - mine.min(0) + 1 if len(mine) else np.zeros(owners.ndim, int)
        if len(mine) != math.prod(extents) or any(n % e for n, e in zip(owners.shape, extents) if e) or not len(mine):
            raise self._refused(mesh)
        self._extents = dict(zip(mesh.axis_names, map(int, extents)))
        super().__init__({name: int(n // e) for name, n, e in zip(mesh.axis_names, owners.shape, extents)})
        self.place = {name: int(start // e) for name, start, e in zip(self.names, mine.min(0), extents)}
        self._owners = owners.reshape([k for n, e in zip(owners.shape, extents) for k in (n // e, e)])
        blocks = self._owners.transpose([*range(0, 2 * owners.ndim, 2), *range(1, 2 * owners.ndim, 2)])
        self.ranks = blocks.reshape(*[self.counts[n] for n in self.names], -1)
        if (self.ranks != self.ranks[..., :1]).any():
            raise self._refused(mesh)

    def _refused(self, mesh: Mesh) -> errors.StagecError:
        return location.error(
            errors.UnsupportedError,
            f"{mesh}: the devices of a process are not a block of the mesh",
            fix="make the mesh with stagec.make_mesh, or arrange the devices by process",
        )

    def spanning(self, names: Sequence[Any]) -> tuple[Any, ...]:
        """Those of an axis's names that divide it among processes.

        Raises:
          UnsupportedError: a process would have separate pieces.
        """
        found = super().spanning(names)
        if found:
            before = list(names[: names.index(found[-1])])
            if any(self._extents[n] > 1 for n in before):
                raise location.error(
                    errors.UnsupportedError,
                    f"an array is split along {tuple(names)}, and the devices of a process have separate pieces of it",
                    fix="name the axes that divide processes first",
                )
        return found

    def index(self, names: Sequence[Any]) -> int:
        """Which of them this process has."""
        found = 0
        for n in names:
            found = found * self.counts[n] + self.place[n]
        return found

    def company(self, names: Sequence[Any]) -> Any:
        """The communicator of the processes that differ along these axes only, in their order."""
        others = [n for n in self.names if n not in names]
        color = 0
        for n in others:
            color = color * self.counts[n] + self.place[n]
        key = (tuple(self.ranks[..., 0].ravel().tolist()), tuple(self.counts.items()), tuple(names))
        return self._world.part(color, self.index(names), key)


@functools.lru_cache(64)
def grid(mesh: Mesh) -> ProcessGrid:
    """How the processes divide a mesh."""
    return ProcessGrid(mesh)


# NumPy's functions and MPI's operations, by the names of reductions.
_OPERATIONS = {
    "sum": (np.add, "SUM"),
    "max": (np.maximum, "MAX"),
    "min": (np.minimum, "MIN"),
    "prod": (np.multiply, "PROD"),
    "and": (np.bitwise_and, "BAND"),
    "or": (np.bitwise_or, "BOR"),
}
# In companies of at most so many processes, each gets all values and combines them: with MPICH, two processes sum 1 MB
# in a fifth of the time of MPI's own reduction, and four in two thirds.
_FEW = 8


def all_reduce(company: Any, operation: str, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of all processes of a company combined, in each of them."""
    from mpi4py import MPI

    function, name = _OPERATIONS[operation]
    sent = np.ascontiguousarray(value)
    if value.dtype in (dtypes.bfloat16, np.float16) or value.dtype in dtypes.SMALL:
        sent = sent.astype(np.float32)
    if company.Get_size() <= _FEW:
        received = function.reduce(_gathered(company, sent), axis=0, dtype=sent.dtype)
    else:
        received = np.empty_like(sent)
        # MPI takes flags for numbers of a byte.
        buffers = (_bytes(sent), _bytes(received)) if sent.dtype == np.bool_ else (sent, received)
        company.Allreduce(*buffers, getattr(MPI, name))
    return received.astype(value.dtype, copy=False).reshape(value.shape)


# What each thread receives into: MPICH takes four times as long for 1 MB that it receives in new memory.
_received = threading.local()
_RECEIVED_BYTES = 1 << 26


def _gathered(company: Any, sent: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of all processes, in their order, until the thread gathers again."""
    shape = (company.Get_size(), *sent.shape)
    count = shape[0] * sent.nbytes
    memory: np.ndarray[Any, Any] | None = getattr(_received, "memory", None)
    if memory is None or memory.size < count:
        memory = np.empty(count, np.uint8)
        if count <= _RECEIVED_BYTES:
            _received.memory = memory
    received = memory[:count].view(sent.dtype).reshape(shape)
    company.Allgather(_bytes(sent), _bytes(received))
    return received


def all_gather(company: Any, axis: int, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The parts of all processes of a company, joined along an axis."""
    received = _gathered(company, np.ascontiguousarray(value))
    joined = np.moveaxis(received, 0, axis)
    shape = list(value.shape)
    shape[axis] *= received.shape[0]
    return joined.copy().reshape(shape)


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.reshape(-1).view(np.uint8)


def rotate(company: Any, axis: int, shift: int, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """This process's part of an array whose rows, of all processes together, are moved by a number of places."""
    rows = np.ascontiguousarray(np.moveaxis(value, axis, 0))
    rank, size = company.Get_rank(), company.Get_size()
    parts, rest = divmod(shift, len(rows))
    found = np.empty_like(rows)
    # What stays together goes to one process, and what passes the end of a part to the one after it.
    for there, sent, received in (
        (parts, rows[: len(rows) - rest], found[rest:]),
        (parts + 1, rows[len(rows) - rest :], found[:rest]),
    ):
        if len(sent):
            target, source = (rank + there) % size, (rank - there) % size
            company.Sendrecv(_bytes(sent), target, recvbuf=_bytes(received), source=source)
    return np.moveaxis(found, 0, axis)
