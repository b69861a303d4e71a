"""How the results of a program are split among devices, which follows from how its operands are.

The devices of a mesh share one memory, so a program is the same however its operands are split, and this decides only
which device a part of a result counts to. A value without operands that are split is whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Equation, Graph, Literal, Var, all_equations, graphs_in
from stagec.core.primitive import Primitive
from stagec.core.recording import GraphTracer
from stagec.core.trace import Tracer
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.operand import aval_of
from stagec.runtime.array import Array, Placed, Split
from stagec.runtime.mesh import UNCONSTRAINED, AbstractMesh, Axes, Mesh, PartitionSpec, spread_mesh
from stagec.runtime.sharding import NamedSharding
from stagec.transforms.batch import BatchTracer
from stagec.transforms.jvp import JvpTracer

# Operations whose axes are those of the operands also where they change sizes.
_RESIZING = frozenset({
    "concatenate", "dynamic_slice", "pad", "reduce_window_max", "reduce_window_min", "reduce_window_prod",
    "reduce_window_sum", "slice", "split",
})  # fmt: skip

# For each axis of a value, the names of a mesh's axes along which it is split; None for a value that is not split.
Spec: TypeAlias = "tuple[tuple[Any, ...], ...] | None"


def constrains(graph: Graph) -> bool:
    """Whether a graph says how a value is split."""
    return bool(named_meshes(graph))


def named_meshes(graph: Graph) -> list[Mesh | AbstractMesh]:
    """The meshes along whose axes a graph says that values are split."""
    found: list[Mesh | AbstractMesh] | None = graph.derived.get(named_meshes)
    if found is None:
        constraints = [e for e in all_equations(graph) if e.primitive is sharding_constraint_p]
        found = graph.derived[named_meshes] = [e.params["mesh"] for e in constraints]
    return found


def result_shardings(graph: Graph, values: Sequence[Any]) -> list[NamedSharding | None] | None:
    """How the results of a call are split; None where nothing is.

    Args:
      values: of all inputs.
    """
    return _of_results(graph, list(map(_sharding, values)))


def call_shardings(graph: Graph, values: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
    """How the inputs of a call are split, and how its results will be; None for each that is not.

    Args:
      values: arrays, or descriptions that may have a sharding, of all inputs.
    """
    given = [_sharding(v) if type(v) is Array else getattr(v, "sharding", None) for v in values]
    split = [s if type(s) is NamedSharding else None for s in given]
    return split, _of_results(graph, split) or [None] * len(graph.outputs)


def _of_results(graph: Graph, shardings: Sequence[Any]) -> list[NamedSharding | None] | None:
    if not any(shardings) and not constrains(graph):
        return None
    key = (result_shardings, tuple(shardings))
    found: list[NamedSharding | None] | None = graph.derived.get(key)
    if found is None:
        found = graph.derived[key] = _propagated(graph, shardings)
    return found


def _sharding(value: Any) -> Any:
    """How a value is split; None for one that is not."""
    return value.signature.sharding if type(value) is Array and type(value.signature) is Split else None


def _propagated(graph: Graph, shardings: Sequence[Any]) -> list[NamedSharding | None]:
    walk = _Walk(next((s.mesh for s in shardings if type(s) is NamedSharding), None))
    specs = [_spec(s, a.ndim) for s, a in zip(shardings, graph.in_avals)]
    own = dict(zip(graph.inputs, shardings))
    found = [
        own[a] if type(a) is Var and a in own else walk.placed(s, a.aval.ndim)
        for s, a in zip(walk.graph(graph, specs), graph.outputs)
    ]
    given = {(s, a.ndim): None for s, a in zip(shardings, graph.in_avals) if type(s) is NamedSharding}
    return [_as_given(s, a.ndim, list(given)) for s, a in zip(found, graph.out_avals)]


def _as_given(sharding: NamedSharding | None, ndim: int, given: Sequence[tuple[NamedSharding, int]]) -> Any:
    """That of an argument in place of an equal one, so that specs are written as the user writes them."""
    if sharding is None or sharding.mesh.explicit_axes:
        return sharding
    alike = (s for s, n in given if n == ndim and s.mesh == sharding.mesh and s.is_equivalent_to(sharding, ndim))
    return next(alike, sharding)


def _joint(mesh: Mesh | AbstractMesh | None, other: Mesh | AbstractMesh) -> Mesh | AbstractMesh:
    """The mesh of values that are on both: the one that has devices, else the second.

    Raises:
      DeviceError: they have different devices.
    """
    if not isinstance(mesh, Mesh) or not isinstance(other, Mesh):
        return mesh if isinstance(mesh, Mesh) else other
    if mesh is not other and set(mesh.devices.flat) != set(other.devices.flat):
        raise location.error(
            errors.DeviceError,
            f"one program has values on {mesh} and on {other}, which have different devices",
            fix="use one mesh, or move arrays between meshes with stagec.device_put outside of traced functions",
        )
    return other


def _spec(sharding: Any, ndim: int) -> Spec:
    return _axes(sharding.spec, ndim) if type(sharding) is NamedSharding else None


def _axes(spec: PartitionSpec, ndim: int) -> Spec:
    """The names in a spec; with the spec where it tells of terms."""
    return Axes.of(spec, ndim) if spec.unreduced or spec.reduced else spec.axes(ndim)


def as_partitions(spec: Spec) -> PartitionSpec:
    """The spec as the user has written it, else without whole axes at its end."""
    if type(spec) is Axes and UNCONSTRAINED not in spec.written.partitions:
        return spec.written
    entries = list(spec or ())
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(*entries)


def operation_sharding(
    primitive: Primitive, avals: Sequence[ShapedArray], outs: Sequence[ShapedArray], params: Any, args: Sequence[Any]
) -> list[NamedSharding | None]:
    """The same of one operation on values."""
    if primitive is sharding_constraint_p:
        given = _sharding(args[0])
        moves = type(given) is not NamedSharding or params["spec"].source is not None
        mesh = params["mesh"] if moves else _joint(given.mesh, params["mesh"])
        spec = params["spec"].after(_spec(given, avals[0].ndim))
        found = NamedSharding(mesh, as_partitions(spec)) if isinstance(mesh, Mesh) else None
        return [found.filled(avals[0].ndim) if found is not None and type(spec) is not Axes else found]
    shardings = list(map(_sharding, args))
    walk = _Walk(next((s.mesh for s in shardings if type(s) is NamedSharding), None))
    specs = [_spec(s, a.ndim) for s, a in zip(shardings, avals)]
    return [walk.placed(s, o.ndim) for s, o in zip(walk.operation(primitive, avals, outs, params, specs), outs)]


def names_meshes(params: dict[str, Any]) -> bool:
    """Whether a graph among the parameters of an operation says how values are split."""
    return any(map(constrains, graphs_in(params)))


def sign_results(graph: Graph, values: Sequence[Any], results: Sequence[Array]) -> list[NamedSharding | None] | None:
    """Let the results of a call, which it has just made, be split as they follow; returns how."""
    found = result_shardings(graph, values)
    if spread(0) is not None:
        found = [s or spread(r.aval.ndim) for s, r in zip(found or [None] * len(results), results)]
    if found is not None:
        _refuse_committed(values, found)
        sign(results, found)
    return found


def _refuse_committed(values: Sequence[Any], shardings: Sequence[NamedSharding | None]) -> None:
    """Raise where an operand is committed to one device, and a constraint splits a result among others."""
    alone = [v for v in values if type(v) is Array and type(v.signature) is Placed and v.committed]
    for sharding in shardings if alone else ():
        if sharding is not None and sharding.assignment != (alone[0].device,):
            raise location.error(
                errors.DeviceError,
                f"Received incompatible devices for jitted computation: an argument, {alone[0].aval.long()}, is "
                f"committed to {alone[0].device!r}, and a constraint is of {sharding.mesh}",
                fix="leave the device of the argument out, or put it on the mesh, with "
                "stagec.device_put(x, NamedSharding(mesh, spec))",
            )


def spread(ndim: int) -> NamedSharding | None:
    """That of arrays of which nothing else says where they are: whole on all devices of the mesh of `set_mesh`."""
    mesh = spread_mesh()
    return None if mesh is None or state.trace is not None else _whole(mesh, ndim)


@functools.lru_cache(256)
def _whole(mesh: Mesh, ndim: int) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec()).filled(ndim)


def are_spread(values: Sequence[Any]) -> bool:
    """Whether all arrays among values are as `spread` says, or nowhere: then so are the results of an operation."""
    return all(
        type(v) is not Array
        or v.signature is v.aval
        or (type(v.signature) is Split and v.signature.sharding == spread(v.aval.ndim))
        for v in values
    )


def sign(results: Sequence[Array], shardings: Sequence[NamedSharding | None]) -> None:
    """Let arrays that nobody else has seen be split.

    Raises:
      DeviceError: they are on a device that does not share the memory of the sharding's.
    """
    for result, sharding in zip(results, shardings):
        if sharding is None:
            continue
        if result.home is not sharding.home:
            raise location.error(
                errors.DeviceError,
                f"a result on {result.home!r} cannot be split among devices of {sharding.mesh}",
                fix="run the function on the devices of the mesh, or leave the sharding out",
            )
        result.signature = Split(result.aval, sharding)


def explicit_mesh(value: Any, own: bool = False) -> Mesh | AbstractMesh | None:
    """The mesh in force, else that of a value which is split along explicit axes; None without explicit axes.

    Args:
      own: that of an array comes first.
    """
    mesh: Mesh | AbstractMesh | None = state.mesh
    if mesh is None or (own and type(_sharding(value)) is NamedSharding):
        while type(value) in (JvpTracer, BatchTracer):
            value = value.primal if type(value) is JvpTracer else value.value
        if type(value) is GraphTracer:
            return _mesh_of_trace(value._trace)
        sharding = _sharding(value)
        mesh = sharding.mesh if type(sharding) is NamedSharding else None
    return mesh if mesh is not None and mesh.explicit_axes else None


def _mesh_of_trace(trace: Any) -> Mesh | AbstractMesh | None:
    while trace is not None:
        if getattr(trace, "mesh", None) is not None:
            found: Mesh | AbstractMesh = trace.mesh
            return found
        outer = getattr(trace, "outer", None) or ()
        around = next((m for value, _ in outer if type(value) is Array and (m := explicit_mesh(value))), None)
        if around is not None:
            return around
        trace = trace.parent
    return None


def source_of(value: Any, target: NamedSharding) -> tuple[Mesh, PartitionSpec] | None:
    """Where a differentiated value is, if that is on other devices than `target`."""
    while type(value) is JvpTracer:
        value = value.primal
    given = _sharding(value)
    moves = type(given) is NamedSharding and given.device_set != target.device_set and isinstance(given.mesh, Mesh)
    return (given.mesh, given.spec) if moves else None


def explicit_sharding(value: Any) -> NamedSharding | None:
    """How a value is split along explicit axes; None where there are none, or that is not known."""
    mesh = explicit_mesh(value)
    if mesh is None or mesh.manual_axes or (type(value) is Array and type(value.signature) is not Split):
        return None
    spec = spec_of(value)
    return None if spec is None else NamedSharding(mesh, spec).filled(aval_of(value).ndim)


def spec_of(value: Any) -> PartitionSpec | None:
    """How a value is split, which may be traced under a mesh with explicit axes; None where that is not known."""
    if not isinstance(value, Tracer):
        sharding = _sharding(value) if type(value) is Array else getattr(value, "sharding", None)
        return as_partitions(_spec(sharding, len(value.shape))) if sharding else PartitionSpec()
    mesh = explicit_mesh(value)
    found = _UNKNOWN if mesh is None else _spec_of_traced(value, mesh)
    return None if found is _UNKNOWN else as_partitions(found)


_UNKNOWN: Any = object()


def _spec_of_traced(value: Any, mesh: Mesh | AbstractMesh) -> Any:
    if type(value) is JvpTracer:
        return _spec_of_traced(value.primal, mesh)
    if type(value) is BatchTracer:
        spec = _spec_of_traced(value.value, mesh)
        return (*spec[: value.dim], *spec[value.dim + 1 :]) if type(spec) in (tuple, Axes) else spec
    if type(value) is not GraphTracer:
        return _spec(_sharding(value), aval_of(value).ndim)
    trace = value._trace
    splits = _splits(trace, mesh)
    if splits is None:
        return _UNKNOWN
    for var, captured in zip(trace.captured_vars, trace.captured):
        if var not in splits:
            spec = _spec_of_traced(captured, mesh)
            splits[var] = None if spec is _UNKNOWN else spec
    walk = _Walk(mesh)
    for e in trace.equations[trace.followed :]:
        walk.equation(e, splits)
    trace.followed = len(trace.equations)
    return splits.get(value._var)


def _splits(trace: Any, mesh: Mesh | AbstractMesh) -> dict[Any, Spec] | None:
    """How the values of a trace are split, as far as they were followed; None where that of the inputs is not known."""
    if trace.splits is None and trace.outer is not None:
        splits: dict[Any, Spec] = {}
        for var, (outer, is_row) in zip(trace.inputs, trace.outer):
            spec = None if outer is None else _spec_of_traced(outer, mesh)
            if spec is _UNKNOWN:
                return None
            splits[var] = spec[1:] if is_row and spec is not None else spec
        trace.splits = splits
    found: dict[Any, Spec] | None = trace.splits
    return found


def split_inputs(
    tracers: Sequence[Any], specs: Sequence[PartitionSpec | None], mesh: Mesh | AbstractMesh | None
) -> None:
    """Let a graph that is about to be recorded know how its inputs are split."""
    if None not in specs:
        trace = state.trace
        trace.splits = {t._var: _axes(s, t.aval.ndim) for t, s in zip(tracers, specs) if s is not None}
        trace.mesh = mesh


def follow(value: Any) -> None:
    """Let the graph that records a value know from here on how values are split; all others of it are whole."""
    if type(value) is JvpTracer:
        follow(value.primal)
    elif type(value) is BatchTracer:
        follow(value.value)
    elif type(value) is GraphTracer and value._trace.splits is None:
        value._trace.splits = {}


class _Walk:
    """Follows how values are split through a graph.

    Attributes:
      mesh: the devices, once an operand or a constraint has named them.
      meshes: all that have been named, whose axes may have other names.
      sizes: of the axes of all meshes.
    """

    def __init__(self, mesh: Mesh | AbstractMesh | None) -> None:
        self.mesh = mesh
        self.meshes: list[Mesh | AbstractMesh] = [] if mesh is None else [mesh]
        self.sizes: dict[Any, int] = {} if mesh is None else dict(mesh.shape)

    def placed(self, spec: Spec, ndim: int) -> NamedSharding | None:
        """How a result is split, on the last mesh that has the axes."""
        names = {name for axis in spec or () if type(axis) is tuple for name in axis}
        mesh = next((m for m in self.meshes[::-1] if names <= set(m.axis_names)), None)
        if not isinstance(mesh, Mesh):
            return None
        sharding = NamedSharding(mesh, as_partitions(spec))
        return sharding if type(spec) is Axes else sharding.filled(ndim)

    def graph(self, graph: Graph, specs: Sequence[Spec]) -> list[Spec]:
        known: dict[Any, Spec] = dict(zip(graph.inputs, specs))
        for e in graph.equations:
            self.equation(e, known)
        return [None if type(a) is Literal else known.get(a) for a in graph.outputs]

    def equation(self, e: Equation, known: dict[Any, Spec]) -> None:
        """Add the results of an equation to what is known."""
        given = [None if type(a) is Literal else known.get(a) for a in e.inputs]
        if e.primitive is sharding_constraint_p:
            self.mesh = _joint(self.mesh, e.params["mesh"])
            self.sizes |= self.mesh.shape
            self.meshes.append(self.mesh)
            known[e.outputs[0]] = e.params["spec"].after(given[0])
        elif any(given) or names_meshes(e.params):
            outs = [v.aval for v in e.outputs]
            avals = [a.aval for a in e.inputs]
            known.update(zip(e.outputs, self.operation(e.primitive, avals, outs, e.params, given)))

    def operation(
        self,
        primitive: Primitive,
        avals: Sequence[ShapedArray],
        outs: Sequence[ShapedArray],
        params: dict[str, Any],
        specs: Sequence[Spec],
    ) -> list[Spec]:
        terms = _terms(primitive, specs)
        if terms is not None:
            return [terms]
        if primitive.follows is not None:
            axes = primitive.follows(avals, outs[0], params)
            return [self._joined(outs[0], [[] if a is None else [_at(specs[a[0]], a[1])] for a in axes])]
        inner = _called(params, avals, outs)
        if inner is not None:
            return self._through(inner, avals, outs, specs)
        # A loop's state is its last operands.
        is_loop = len(outs) > 1 or "cond" in params
        states = list(zip(avals, specs))[len(avals) - len(outs) :] if is_loop else []
        if len(states) == len(outs) and all(a.shape == o.shape for (a, _), o in zip(states, outs)):
            return [s for _, s in states]
        return [self._same(avals, out, specs, primitive.name in _RESIZING) for out in outs]

    def _same(self, avals: Sequence[ShapedArray], out: ShapedArray, specs: Sequence[Spec], resizing: bool) -> Spec:
        candidates: list[list[Any]] = [[] for _ in out.shape]
        for aval, spec in zip(avals, specs):
            if aval.ndim == out.ndim:
                for i, n in enumerate(out.shape):
                    if resizing or aval.shape[i] == n:
                        candidates[i].append(_at(spec, i))
        return self._joined(out, candidates)

    def _joined(self, out: ShapedArray, candidates: Iterable[Sequence[Any]]) -> Spec:
        """Each axis as the first operand that is split there, unless another axis is split along the same names."""
        used: set[Any] = set()
        found = []
        for n, options in zip(out.shape, candidates):
            names = next((o for o in options if o and not used & set(o)), ())
            count = 1
            for name in names:
                count *= self.sizes.get(name, 1)
            names = names if n % count == 0 else ()
            used.update(names)
            found.append(names)
        return tuple(found)

    def _through(
        self, inner: Graph, avals: Sequence[ShapedArray], outs: Sequence[ShapedArray], specs: Sequence[Spec]
    ) -> list[Spec]:
        """Through the graph of a call, or of a loop over the first axis of some operands."""
        first = len(avals) - len(inner.inputs)
        given = []
        for v, aval, spec in zip(inner.inputs, avals[first:], specs[first:]):
            given.append(spec[1:] if spec and v.aval.ndim < aval.ndim else spec)
        found = self.graph(inner, given)
        return [
            ((), *spec) if spec and a.aval.ndim < out.ndim else spec for spec, a, out in zip(found, inner.outputs, outs)
        ]


def _terms(primitive: Primitive, specs: Sequence[Spec]) -> Axes | None:
    """The spec of a sum of values of which devices have terms, where all operands are such values."""
    first = specs[0] if specs and primitive.name in ("add", "neg", "sub") else None
    if type(first) is Axes and first.written.unreduced and all(s == first and type(s) is Axes for s in specs):
        return first if all(s.written == first.written for s in specs if type(s) is Axes) else None
    return None


def _called(params: dict[str, Any], avals: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> Graph | None:
    """The graph that an operation calls with its operands, or with all but the first, as a conditional does."""
    for name, value in params.items():
        if name == "cond":  # which returns no state
            continue
        inner = value[0] if isinstance(value, tuple) and value else value
        count = len(avals) - 1 if isinstance(value, tuple) else len(avals)
        if isinstance(inner, Graph) and len(inner.inputs) == count and len(inner.outputs) == len(outs):
            return inner
    return None


def _at(spec: Spec, axis: int) -> tuple[Any, ...]:
    return () if spec is None else spec[axis]
