"""Programs for several GPUs, each with memory of its own: one program, which each device runs on its parts of arrays.

Devices communicate by collective operations that are part of the program. It is compiled, and not run here.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.backends import Target
from stagec.compiler import log
from stagec.control import device_rows, graph_rules
from stagec.control.grid import Grid
from stagec.control.partition import Partition, slices_of_one
from stagec.control.partition_axes import Divided, Spec, part, whole
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, Literal, all_equations
from stagec.core.recording import trace_closed
from stagec.primitives.arithmetic import div, rem
from stagec.primitives.complex import complex as complex_of, imag, real
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.convert import convert_element_type
from stagec.primitives.joining import concatenate
from stagec.primitives.keys import random_unwrap_p, random_wrap_p
from stagec.primitives.logic import bitwise_xor
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.reduce import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum
from stagec.primitives.shape import reshape, transpose
from stagec.primitives.slicing import slice_in_dim
from stagec.runtime.mesh import AbstractMesh, Mesh
from stagec.runtime.propagation import named_meshes

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": reduce_sum, "max": reduce_max, "min": reduce_min, "prod": reduce_prod, "and": reduce_and, "or": reduce_or,
}  # fmt: skip


def mesh_of(graph: Graph, target: Target) -> Mesh | AbstractMesh | None:
    """The mesh of a program whose devices have memories of their own; None where one device runs it.

    Raises:
      UnsupportedError: the program is for meshes of different axes.
    """
    if not target.on.collectives:
        return None
    meshes = [mesh for mesh in named_meshes(graph) if mesh.size > 1]
    for mesh in meshes:
        if mesh.shape_tuple != meshes[0].shape_tuple:
            raise location.error(
                errors.UnsupportedError,
                f"a program for {target} splits arrays along {meshes[0]} and along {mesh}",
                fix="use one mesh with all axes",
            )
    return meshes[0] if meshes else None


class DeviceGrid(Grid):
    """A mesh each of whose devices has a part of its own; a device's number is its position in the mesh."""

    def __init__(self, mesh: Mesh | AbstractMesh) -> None:
        super().__init__(dict(mesh.shape_tuple))
        self._numbers = np.arange(mesh.size).reshape(mesh.axis_sizes)

    def groups(self, names: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        """The numbers of the devices that differ along these axes only, in their order, for each such group."""
        axes = [self.names.index(n) for n in names]
        moved = np.moveaxis(self._numbers, axes, range(-len(axes), 0))
        return tuple([tuple(row) for row in moved.reshape(-1, self.parts(names)).tolist()])

    def place(self) -> Any:
        """The numbers of the device that runs the program along the axes: a value of the program."""
        number = device_rows.device_number_p()
        found = []
        for k, name in enumerate(self.names):
            stride = math.prod(self._numbers.shape[k + 1 :])
            found.append(reshape(rem(div(number, np.int32(stride)), np.int32(self.counts[name])), (1,)))
        return concatenate(found, 0)


class PerDevice(NamedTuple):
    """The program that each device of a mesh runs.

    Attributes:
      graph: from the device's parts of the arguments to its parts of the results.
      inputs, outputs: how arguments and results are divided.
    """

    graph: Graph
    inputs: list[Spec]
    outputs: list[Spec]


def per_device(graph: Graph, captured: int, mesh: Mesh | AbstractMesh, name: str) -> PerDevice:
    """What each device runs of a graph.

    Args:
      captured: how many of the first inputs are closed-over values, which each device has whole.
    """
    grid = DeviceGrid(mesh)
    found = _first_constraints(graph, grid)
    given = [whole(v.aval.ndim) for v in graph.inputs[:captured]]
    given += [found.get(v, whole(v.aval.ndim)) for v in graph.inputs[captured:]]
    made: list[Spec] = []

    def local(*parts: Any) -> list[Any]:
        outs = _Devices(grid, grid.place(), name).replay(graph, list(zip(parts, given)))
        made.extend(spec for _, spec in outs)
        return [v for v, _ in outs]

    avals = [part(v.aval, s, grid) for v, s in zip(graph.inputs, given)]
    return PerDevice(trace_closed(local, avals, name=name), given, made)


def _first_constraints(graph: Graph, grid: DeviceGrid) -> dict[Any, Spec]:
    """How the first that says so splits a graph's inputs: the `in_specs` of a `shard_map`, or a constraint."""
    found: dict[Any, Spec] = {}
    for e in graph.equations:
        if e.primitive is sharding_constraint_p:
            rows = [(e.inputs[0], tuple([grid.spanning(names) for names in e.params["spec"]]))]
        elif e.primitive.lower is graph_rules.lower:
            inner = _first_constraints(e.params["graph"], grid)
            rows = [(a, inner[v]) for a, v in zip(e.inputs, e.params["graph"].inputs) if v in inner]
        else:
            continue
        for atom, spec in rows:
            fits = all(n % grid.parts(names) == 0 for n, names in zip(atom.aval.shape, spec))
            if type(atom) is not Literal and fits:
                found.setdefault(atom, spec)
    return found


class _Devices(Partition):
    """The part of one device, which communicates with the others by operations of the program."""

    grid: DeviceGrid

    def __init__(self, grid: DeviceGrid, place: Any, name: str) -> None:
        super().__init__(grid, place)
        self.name = name
        # By their identities, sums with their terms and the names along which they were added up, and what was gathered
        # with its parts: what takes these apart again needs no more.
        self._sums: dict[int, tuple[Any, Any, tuple[Any, ...]]] = {}
        self._gathered: dict[int, tuple[Any, Any, Spec]] = {}

    def at(self, place: Any, trial: bool = False) -> Partition:
        return _Devices(self.grid, place, self.name)

    def report(self, e: Equation, avals: Sequence[ShapedArray]) -> None:
        size = sum(a.nbytes for a in avals)
        words = f"{e.primitive.name} at {e.location} gathers {size} bytes, having no rule for parts"
        log.event("lower", f"{self.name}: {words}", bytes=size)

    def moved(self, value: Any, spec: Spec, wanted: Spec) -> Divided:
        if spec == wanted:
            return value, spec
        gathered = self._gathered.get(id(value))
        if gathered is not None and self._exchange(gathered[2], wanted) is not None:
            _, value, spec = gathered
        value, spec = self._scattered(value, spec, wanted)
        exchange = self._exchange(spec, wanted)
        if exchange is not None:
            split, concat = exchange
            names = spec[concat]
            value = self._exchanged(value, split, concat, self.grid.groups(names))
            spec = tuple([names if k == split else () if k == concat else s for k, s in enumerate(spec)])
        found = super().moved(value, spec, wanted)
        if all(want in ((), have) for have, want in zip(spec, wanted)):
            self._gathered[id(found[0])] = found[0], value, spec
        return found

    def _scattered(self, value: Any, spec: Spec, wanted: Spec) -> Divided:
        """A sum, which each device has, as parts of one, where this is wanted."""
        _, terms, names = self._sums.get(id(value), (None, None, None))
        if names is None or names not in wanted or spec[wanted.index(names)]:
            return value, spec
        axis, groups = wanted.index(names), self.grid.groups(names)
        found = _along(axis, terms, lambda v: device_rows.device_reduce_scatter_p(v, groups=groups))
        return found, (*spec[:axis], names, *spec[axis + 1 :])

    def _exchanged(self, value: Any, split: int, concat: int, groups: Any) -> Any:
        """This device's parts along one axis of the values of its group, joined along another."""
        count, shape = len(groups[0]), aval_of(value).shape
        parts = reshape(value, (*shape[:split], count, shape[split] // count, *shape[split + 1 :]))
        order = [split, *[i for i in range(len(shape) + 1) if i != split]]
        found = _each(transpose(parts, order), lambda v: device_rows.device_all_to_all_p(v, groups=groups))
        own = list(aval_of(found).shape[1:])
        own[concat] *= count
        return reshape(transpose(found, [*range(1, concat + 1), 0, *range(concat + 1, len(shape) + 1)]), own)

    def _exchange(self, spec: Spec, wanted: Spec) -> tuple[int, int] | None:
        """The axis that is to be divided, and the one that is, where an exchange of parts makes the one the other."""
        for i, j in itertools.permutations(range(len(spec)), 2):
            if spec[j] and wanted[i] == spec[j] and not wanted[j] and not spec[i]:
                return i, j
        return None

    def whole_axis(self, value: Any, axis: int, names: Sequence[Any]) -> Any:
        groups = self.grid.groups(names)
        return _along(axis, value, lambda v: device_rows.device_all_gather_p(v, groups=groups))

    def communicates(self, graph: Graph) -> bool:
        return any(e.primitive in device_rows.COMMUNICATING for e in all_equations(graph))

    def reduced(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        dtype = aval_of(value).dtype
        groups = self.grid.groups(names)
        if dtypes.is_bool(dtype):
            operation = {"and": "min", "or": "max"}.get(operation, operation)
        elif operation in ("and", "or") or (dtypes.is_complex(dtype) and operation != "sum"):
            # NCCL has no such reduction.
            rows = self.whole_axis(reshape(value, (1, *aval_of(value).shape)), 0, names)
            return _REDUCTIONS[operation](rows, (0,))

        def each(v: Any) -> Any:
            own = aval_of(v).dtype
            if operation not in ("max", "min") or not dtypes.is_signed(own):
                return device_rows.device_all_reduce_p(v, operation=operation, groups=groups)
            # The compiler takes each integer for an unsigned one: with the sign bit inverted, they are in order.
            sign = literal(np.iinfo(own).min, own)
            found = device_rows.device_all_reduce_p(bitwise_xor(v, sign), operation=operation, groups=groups)
            return bitwise_xor(found, sign)

        total = _each(value, each)
        if operation == "sum":
            self._sums[id(total)] = total, value, tuple(names)
        return total

    def rotated(self, e: Equation, args: list[Divided]) -> Divided | None:
        found = super().rotated(e, args)
        return self.permuted(e, args) if found is None else found

    def permuted(self, e: Equation, args: list[Divided]) -> Divided | None:
        """Slices of one array of which each device has one row, joined in another order: devices exchange their rows.

        What is joined with them, such as zeros, takes the place of rows.
        """
        slices = slices_of_one(e, args)
        if not slices:
            return None
        _, first = slices[0]
        base, spec = first.base
        names = spec[first.axis]
        if self.grid.parts(names) != first.size:
            return None
        sources = {p + k: v.start + k for p, v in slices for k in range(v.limit - v.start)}
        if len(set(sources.values())) < len(sources):  # a device would send its row to several
            return None
        pairs = tuple([(g[s], g[d]) for g in self.grid.groups(names) for d, s in sources.items()])
        return self.with_others(_each(base, lambda v: device_rows.device_permute_p(v, pairs=pairs)), first, e, args)

    def shifted(self, value: Any, spec: Spec, axis: int, shift: int) -> Any:
        if not shift:
            return value
        groups = self.grid.groups(spec[axis])
        size, length = len(groups[0]), aval_of(value).shape[axis]
        parts, rest = divmod(shift, length)
        found = []
        # What stays together goes to one device, and what passes the end of a part to the one after it.
        for there, start, limit in ((parts + 1, length - rest, length), (parts, 0, length - rest)):
            if start == limit:
                continue
            rows = slice_in_dim(value, start, limit, 1, axis)
            if there % size:
                pairs = tuple([(g[k], g[(k + there) % size]) for g in groups for k in range(size)])
                rows = _each(rows, functools.partial(device_rows.device_permute_p, pairs=pairs))
            found.append(rows)
        return concatenate(found, axis) if len(found) > 1 else found[0]


def _along(axis: int, value: Any, move: Callable[[Any], Any]) -> Any:
    """As `_each`, for an operation along the first axis in the place of another."""
    rank = aval_of(value).ndim
    found = _each(transpose(value, [axis, *[i for i in range(rank) if i != axis]]), move)
    return transpose(found, [*range(1, axis + 1), 0, *range(axis + 1, rank)])


def _each(value: Any, move: Callable[[Any], Any]) -> Any:
    """Apply an operation to a value whose dtype NCCL has, to others as such ones."""
    aval = aval_of(value)
    dtype = aval.dtype
    if dtypes.is_key(dtype):
        return random_wrap_p(*map(move, random_unwrap_p(value)))
    if dtypes.is_complex(dtype):
        return complex_of(move(real(value)), move(imag(value)))
    if dtypes.is_bool(dtype):
        carried = dtypes.uint8
    elif dtypes.is_integer(dtype) and dtype.itemsize == 2:
        carried = dtypes.int32 if dtypes.is_signed(dtype) else dtypes.uint32
    else:
        return move(value)
    return convert_element_type(move(convert_element_type(value, carried)), dtype)
