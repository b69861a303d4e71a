"""Graph -> StableHLO module: a replay under a trace whose rules emit operations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from passes.analysis.in_place import ATTRIBUTE
from passes.match import HOST_MODULE
from stagec.backends import CPU, Backend
from stagec.core import location, open_graph
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, open_error
from stagec.core.dtypes import carried
from stagec.core.errors import StagecError
from stagec.core.graph import Graph, Literal, host_callbacks, replay
from stagec.core.host import HostCallback
from stagec.core.primitive import Primitive
from stagec.core.small import MOVING
from stagec.core.trace import Trace, Tracer, current
from stagec.lowering import open_copies, open_rules, open_shapes, open_values, portable_shapes
from stagec.lowering.types import Types
from stagec.primitives.checks import i64_array
from stagec.primitives.small import lower_conversion

_local = threading.local()


def thread_types(is_open: bool = False) -> Types:
    """This thread's MLIR context, made on first use; another one for programs with open dimensions."""
    name = "open_types" if is_open else "types"
    if not hasattr(_local, name):
        context = bindings.new_context()
        if is_open:
            open_shapes.load_dialects(context)
        setattr(_local, name, Types(context))
    found: Types = getattr(_local, name)
    return found


class LowerTracer(Tracer):
    """A value of the module being built."""

    __slots__ = ("value",)

    def __init__(self, trace: LowerTrace, value: Any, aval: ShapedArray) -> None:
        self._trace = trace
        self.value = value
        self.aval = aval


class LowerTrace(Trace):
    """Emits each primitive's StableHLO at the module's insertion point."""

    @property
    def of_own_code(self) -> bool:
        return True

    def __init__(self, types: Types, callbacks: Sequence[HostCallback] = (), backend: Backend = CPU) -> None:
        self.types = types
        self.callbacks = list(callbacks)
        self.backend = backend
        # The sizes of open dimensions, the module with the forms of operations on them, and the avals of values that
        # have some.
        self.sizes: Any = None
        self.forms: Any = None
        self.avals: dict[Any, ShapedArray] = {}
        self.copies = 0

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        in_avals = [_aval_of(a) for a in args]
        out = primitive.shape(*in_avals, **params)
        out_avals: list[ShapedArray] = list(out) if primitive.multiple else [out]
        small = any(a.small for a in (*in_avals, *out_avals))
        assert not small or primitive.name in MOVING, f"{primitive} would compute with the bits of small numbers"
        cx = Context(self, in_avals, out_avals)
        if isinstance(primitive.lower, str):
            operands = [cx.spread(a, out_avals[0].shape) for a in args]
            results = cx.emit(primitive.lower, operands)
        else:
            try:
                results = primitive.lower(cx, *[cx.value(a) for a in args], **params)
            except (bindings.ir.MLIRError, TypeError, ValueError) as error:
                if self.forms is None or isinstance(error, StagecError):
                    raise
                reason = (str(error).splitlines() or ["it needs numbers"])[-1]
                raise open_error(primitive.name, reason) from error
        if not primitive.multiple and not isinstance(results, (list, tuple)):
            results = [results]
        assert len(results) == len(out_avals), f"lowering of {primitive} gave {len(results)} results"
        tracers = [LowerTracer(self, v, a) for v, a in zip(results, out_avals)]
        return tracers if primitive.multiple else tracers[0]


def _aval_of(value: Any) -> ShapedArray:
    if isinstance(value, (Tracer, Literal)):
        return value.aval
    array = np.asarray(value)
    return ShapedArray.of(array.shape, array.dtype)


class Context:
    """What a lowering rule may use: avals of this equation, and ways to emit operations.

    Values are `ir.Value`s. Attributes are MLIR attributes or their text.
    """

    __slots__ = ("in_avals", "out_avals", "trace", "types")

    def __init__(self, trace: LowerTrace, in_avals: list[ShapedArray], out_avals: list[ShapedArray]) -> None:
        self.trace = trace
        self.types = trace.types
        self.in_avals = in_avals
        self.out_avals = out_avals

    @property
    def backend(self) -> Backend:
        """The backend, for rules that lower differently for some."""
        return self.trace.backend

    @property
    def location(self) -> Any:
        line = location.ambient.location
        return self.types.unknown if line is None else self.types.location(line)

    def emit(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        avals: Sequence[ShapedArray] | None = None,
        regions: Sequence[Callable[[Any], None]] = (),
    ) -> Any:
        """Create one operation; its results have `avals`, by default this equation's.

        Returns:
          The result, or a list where there are several.
        """
        results = self.emit_all(name, operands, attributes, avals, regions)
        return results[0] if len(results) == 1 else results

    def emit_all(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        avals: Sequence[ShapedArray] | None = None,
        regions: Sequence[Callable[[Any], None]] = (),
    ) -> list[Any]:
        """As `emit`; the results are always a list."""
        avals = self.out_avals if avals is None else avals
        if self.is_open:
            open_shapes.check(self, name, operands, avals)
        forms = self.trace.forms
        if forms is not None and len(avals) == 1:
            found = forms.emitted(self, name, operands, attributes or {}, avals[0], regions)
            if found is not None:
                return [found]
        if self.is_open:
            if name in open_copies.IN_PLACE:
                operands = open_copies.copied(self, operands, name == "stablehlo.while")
            if name == "stablehlo.sort" and len(operands) > 1:
                # A result that nothing reads would become an array of unknown size on the stack.
                return open_copies.held(self, self.create_all(name, operands, attributes, avals, regions))
        return self.create_all(name, operands, attributes, avals, regions)

    def create_all(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None,
        avals: Sequence[ShapedArray],
        regions: Sequence[Callable[[Any], None]] = (),
    ) -> list[Any]:
        """As `emit_all`, for an operation of any dialect."""
        types = self.types
        op = bindings.ir.Operation.create(
            name,
            [types.tensor(a) for a in avals],
            list(operands),
            {k: types.attribute(v) for k, v in attributes.items()} if attributes else None,
            regions=len(regions),
            loc=self.location,
        )
        for fill, region in zip(regions, op.regions):
            fill(region)
        results = list(op.results)
        if self.is_open and name in open_values.CARRYING:
            results = [open_values.tied(self, v, a) for v, a in zip(results, avals)]
        if self.trace.sizes is not None:
            # MLIR knows less of them.
            self.trace.avals.update((v, a) for v, a in zip(results, avals) if a.is_open)
        return results

    @property
    def is_open(self) -> bool:
        """Whether the module has open dimensions, and is for the compiler here, which takes some operations only."""
        return self.trace.forms is open_shapes

    @property
    def open_rules(self) -> Any:
        """The lowerings of operations that need other ones where a dimension is open; None where none is."""
        opened = self.is_open and any(a.is_open for a in (*self.in_avals, *self.out_avals))
        return open_rules if opened else None

    @property
    def rules_of_open_programs(self) -> Any:
        """As `open_rules`, also for arrays of known shape in a module with open dimensions."""
        return open_rules if self.is_open else None

    def call_host(self, callback: HostCallback, operands: Sequence[Any]) -> list[Any]:
        """Call a Python function of the process that runs the program."""
        callee = f"@{_host_name(self.trace.callbacks.index(callback), callback)}"
        return self.emit_all("func.call", operands, {"callee": callee})

    def region(self, avals: Sequence[ShapedArray], function: Callable[..., Sequence[Any]]) -> Callable[[Any], None]:
        """A region whose block takes `avals` and returns what the stagec `function` of them returns."""

        def fill(region: Any) -> None:
            ir, types = bindings.ir, self.types
            block = region.blocks.append(*[types.tensor(a) for a in avals], arg_locs=[self.location] * len(avals))
            with ir.InsertionPoint(block), current(self.trace):
                arguments = list(block.arguments)
                if self.is_open:
                    arguments = [open_values.tied(self, v, a) for v, a in zip(arguments, avals)]
                outs = function(*[LowerTracer(self.trace, v, a) for v, a in zip(arguments, avals)])
                results = [self.value(o) for o in outs]
                if self.is_open:
                    results = open_copies.region_results(self, region, results)
                ir.Operation.create("stablehlo.return", [], results, loc=self.location)

        return fill

    def graph_region(self, graph: Graph) -> Callable[[Any], None]:
        """A region that computes a graph."""
        return self.region(graph.in_avals, lambda *args: replay(graph, args))

    def combining_region(self, name: str, aval: ShapedArray) -> Callable[[Any], None]:
        """A region that combines two scalars by one operation."""

        def combined(a: Any, b: Any) -> Sequence[Any]:
            return self.tracers([self.emit(name, [a.value, b.value], avals=[aval])], [aval])

        return self.region([aval, aval], combined)

    def apply(self, function: Callable[..., Any], *values: Any, avals: Sequence[ShapedArray] | None = None) -> Any:
        """Lower to other primitives: run a stagec function on this equation's operands."""
        avals = self.in_avals if avals is None else avals
        with current(self.trace):
            out = function(*self.tracers(values, avals))
        return [self.value(o) for o in out] if isinstance(out, (list, tuple)) else self.value(out)

    def tracers(self, values: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Tracer]:
        """Values as the arguments of stagec functions, for use in regions below them."""
        return [LowerTracer(self.trace, v, a) for v, a in zip(values, avals, strict=True)]

    def value(self, operand: Any) -> Any:
        """The `ir.Value` of a tracer or of a constant."""
        if isinstance(operand, LowerTracer):
            return operand.value
        if isinstance(operand, Tracer):
            raise StagecError(f"a value of another trace reached the lowering: {operand!r}")
        return self.constant(operand.value if isinstance(operand, Literal) else operand)

    def constant(self, value: Any, aval: ShapedArray | None = None) -> Any:
        """A constant; with `aval`, a scalar broadcast to its shape. The size of an open dimension counts as one."""
        if type(value) is Dim:
            assert aval is not None, "sizes have no dtype of their own"
            scalar = self.trace.sizes.scalar(value, aval)
            return self.broadcast(scalar, aval, ()) if aval.shape else scalar
        if aval is not None and aval.is_open:
            return self.broadcast(self.constant(value, aval.update(shape=())), aval, ())
        array = np.asarray(value) if aval is None else np.asarray(value).astype(aval.dtype)
        if aval is not None and aval.shape != array.shape:
            array = np.broadcast_to(array, aval.shape)
        held = carried(array.dtype)
        if held != array.dtype:
            array = np.ascontiguousarray(array).view(held).reshape(array.shape)
        return build.constant(array, loc=self.location)

    def counts_along(self, value: Any, dimension: int) -> bool:
        """Whether a value is each element's own index along a dimension."""
        if isinstance(value.owner, bindings.ir.Block) or value.owner.name != "stablehlo.iota":
            return False
        return value.owner.attributes["iota_dimension"].value == dimension

    def spread(self, operand: Any, shape: tuple[int, ...]) -> Any:
        """The operand's value with `shape`, which rank-0 operands are broadcast to."""
        aval = _aval_of(operand)
        if aval.shape == shape:
            return self.value(operand)
        if not isinstance(operand, Tracer):
            value = operand.value if isinstance(operand, Literal) else operand
            return self.constant(value, aval.update(shape=shape))
        return self.broadcast(operand.value, aval.update(shape=shape), ())  # type: ignore[attr-defined]

    def convert_small(self, value: Any, new_dtype: np.dtype[Any]) -> Any:
        """Convert this equation's operand from or to a dtype of up to eight bits."""
        return lower_conversion(self, value, self.in_avals[0], new_dtype)

    def broadcast(self, value: Any, aval: ShapedArray, dimensions: Sequence[int]) -> Any:
        """`stablehlo.broadcast_in_dim`"""
        return self.emit("stablehlo.broadcast_in_dim", [value], {"broadcast_dimensions": i64_array(dimensions)}, [aval])


def lower(
    graph: Graph,
    name: str = "main",
    argument_names: Sequence[str] = (),
    output_of: dict[int, int] | None = None,
    backend: Backend = CPU,
    constants: Sequence[Any] = (),
    portable: bool = False,
) -> Any:
    """Emit the module of a graph, with one public function `main`.

    Args:
      name: the module's name, which profilers and symbols show.
      argument_names: for the arguments' locations.
      output_of: argument -> result that reuses its buffer.
      backend: what the module will be compiled for.
      constants: values of the graph's first inputs, which `main` does not take.
      portable: emit StableHLO alone, for other compilers; operations on open dimensions are those of other dialects
        otherwise.

    Returns:
      A verified `ir.Module`.
    """
    ir = bindings.ir
    is_open = open_graph.is_open(graph)
    types = thread_types(is_open and not portable)
    with types.context, types.unknown:
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(_symbol(name))
        in_avals = graph.in_avals[len(constants) :]
        in_types = [types.tensor(a) for a in in_avals]
        out_types = [types.tensor(a) for a in graph.out_avals]
        with ir.InsertionPoint(module.body):
            callbacks = host_callbacks(graph)
            for i, callback in enumerate(callbacks):
                results = [types.tensor(a) for a in callback.out_avals or ()]
                _function(_host_name(i, callback), [types.tensor(a) for a in callback.in_avals], results, "private")
            function = _function("main", in_types, out_types, "public")
        if output_of:
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [
                    ir.DictAttr.get(
                        {ATTRIBUTE: ir.IntegerAttr.get(ir.IndexType.get(), output_of[i])} if i in output_of else {}
                    )
                    for i in range(len(in_types))
                ]
            )
        locations = [
            ir.Location.name(argument_names[i], types.unknown) if i < len(argument_names) else types.unknown
            for i in range(len(in_types))
        ]
        block = function.regions[0].blocks.append(*in_types, arg_locs=locations)
        trace = LowerTrace(types, callbacks, backend)
        if is_open:
            trace.forms = portable_shapes if portable else open_shapes
            of_sizes = portable_shapes.ArraySizes if portable else open_values.IndexSizes
            trace.sizes = of_sizes(types, block, in_avals)
            trace.avals.update((v, a) for v, a in zip(block.arguments, in_avals) if a.is_open)
        with ir.InsertionPoint(block), current(trace):
            arguments = [LowerTracer(trace, v, a) for v, a in zip(block.arguments, in_avals)]
            cx = Context(trace, [], [])
            if is_open and portable:
                trace.sizes.check_arguments(list(block.arguments), in_avals, argument_names)
                trace.sizes.check_graph(graph)
            results = [cx.value(o) for o in replay(graph, [*constants, *arguments])]
            ir.Operation.create("func.return", [], results)
        trace.ended = True
        if not module.operation.verify():
            raise AssertionError("the lowered module does not verify")
    return module


def _function(name: str, in_types: list[Any], out_types: list[Any], visibility: str) -> Any:
    """A function without a body, at the insertion point."""
    ir = bindings.ir
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(in_types, out_types)),
        "sym_visibility": ir.StringAttr.get(visibility),
    }
    return ir.Operation.create("func.func", [], [], attributes, regions=1)


def _host_name(i: int, callback: HostCallback) -> str:
    """The import that stands for the i-th of `host_callbacks(graph)`."""
    return f"{HOST_MODULE}{callback.symbol(i)}"


def _symbol(name: str) -> str:
    return "jit_" + "".join(c if c.isalnum() or c == "_" else "_" for c in name).rstrip("_")
