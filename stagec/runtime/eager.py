"""Evaluation outside `jit`: NumPy evaluates each primitive at once, or a program runs it (`runtime/outside.py`).

Data that is committed to a device is copied to the host for it. The result is
committed to the same device, and copied there when a compiled program reads it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from stagec.compiler import estimate
from stagec.core import errors, location, small
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.graph import Equation, Graph, Literal, Var, inner_graphs
from stagec.core.primitive import Primitive
from stagec.core.trace import Trace, Tracer, closed_over, leaked, set_base, with_operands
from stagec.runtime import devices, interruptible, outside, recording
from stagec.runtime.array import Array, Split, signature
from stagec.runtime.placement import committed_device
from stagec.runtime.propagation import are_spread, names_meshes, operation_sharding, sign, spread

# Elements of the largest operand of an operation that may take long.
_MAY_BE_LONG = 1 << 16
# Estimated; the calls of longer ones can be interrupted.
_LONG_SECONDS = 0.05


class EagerTrace(Trace):
    """The trace in force when no transformation is."""

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if devices.processes[1] > 1 and _spans(args, params):
            return _of_processes(primitive, args, params)
        values: list[np.ndarray[Any, Any]] = []
        avals: list[ShapedArray] = []
        plain = True
        for a in args:
            if type(a) is Array:
                values.append(a.evaluated())
                avals.append(a.aval)
                plain = plain and a.signature is a.aval
            elif type(a) is Literal:
                values.append(a.value)
                avals.append(a.aval)
            elif isinstance(a, Tracer):
                raise leaked(a) if a._trace.ended else closed_over(a)
            else:
                array = np.asarray(a)
                # NumPy's loops are up to 80 times as slow along other strides, such as those of reversed arrays.
                values.append(array if array.flags.forc else array.copy())
                avals.append(ShapedArray.of(array.shape, array.dtype))
        try:
            out = primitive.shape(*avals, **params)
        except (errors.ShapeError, errors.DtypeError) as error:
            raise with_operands(error, args) from None
        if small.concerns(primitive, avals, out):
            return small.computed(self, primitive, args, avals, out, params)
        may_be_long = primitive.multiple or primitive.numpy_ns[1] > estimate.QUICK_NS
        if (may_be_long or config.reproduces()) and not state.evaluates:
            run = _program(primitive, avals, out, params)
            if run is not None:
                return run(args) if primitive.multiple else run(args)[0]
        if _is_long(primitive, avals, out, params):
            result = interruptible.call(functools.partial(_evaluate, primitive, values, params))
        else:
            result = _evaluate(primitive, values, params)
        outs = zip(result, out, strict=True) if primitive.multiple else [(result, out)]
        made = [_wrap(r, a, values, primitive) for r, a in outs]
        if not plain:
            found = committed_device(args, primitive.name, lambda i: f"operand {i}")
            if found is not None:
                for m in made:
                    m.signature = signature(m.aval, found, True)
        names_mesh = "mesh" in params or (primitive.multiple and names_meshes(params))
        if not state.plain and not names_mesh and (whole := spread(0)) is not None and are_spread(args):
            made = [m.split(spread(m.aval.ndim) or whole) for m in made]
        elif names_mesh or (not plain and any(type(a) is Array and type(a.signature) is Split for a in args)):
            sign(made, operation_sharding(primitive, avals, [m.aval for m in made], params, args))
        if config.checks_values():
            from stagec.runtime import nonfinite  # imports much, for few

            nonfinite.check_operation(primitive, values, avals, made)
        return made if primitive.multiple else made[0]


def _spans(args: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether an operand or a result is an array of several processes."""
    if "mesh" in params and params["mesh"].is_multi_process:
        return True
    split = [a.signature.sharding for a in args if type(a) is Array and type(a.signature) is Split]
    return any(not s.is_fully_addressable for s in split)


def _of_processes(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """An operation on arrays of several processes, which is always a program."""
    inputs = [Var(a.aval if hasattr(a, "aval") else ShapedArray.of(np.shape(a), np.asarray(a).dtype)) for a in args]
    out = primitive.shape(*[v.aval for v in inputs], **params)
    equation = _equation(primitive, inputs, out, params)
    run = outside.program(Graph(inputs, [equation], [*equation.outputs]), (), primitive.name, called=True)
    assert run is not None, "processes have a compiler"
    return run(args) if primitive.multiple else run(args)[0]


def _evaluate(primitive: Primitive, values: list[Any], params: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return primitive.eval(*values, **params)


def _is_long(primitive: Primitive, avals: list[ShapedArray], out: Any, params: dict[str, Any]) -> bool:
    """Whether NumPy's evaluation runs on a helper, so that a signal interrupts it; Python's functions need none."""
    for a in avals:
        if a.size >= _MAY_BE_LONG:
            break
    else:
        return False
    equation = _equation(primitive, [Var(a) for a in avals], out, params)
    in_numpy = "callback" not in params and not inner_graphs(equation)
    return in_numpy and estimate.numpy_seconds_of(equation) > _LONG_SECONDS


def _equation(primitive: Primitive, inputs: list[Var], out: Any, params: dict[str, Any]) -> Equation:
    outs = [Var(a) for a in (out if primitive.multiple else [out])]
    return Equation(primitive, [*inputs], outs, params, location.capture())


def _program(primitive: Primitive, avals: list[ShapedArray], out: Any, params: dict[str, Any]) -> Any:
    """What runs an operation as a compiled program; None where NumPy evaluates it."""
    if config.checks_values():
        return None
    if primitive.name == "jit" and "reproducible" not in params:  # the same graph in the next call
        graph = params["graph"]
        found = graph.derived.get(_program) or outside.program(graph, (), params["name"], called=True)
        graph.derived[_program] = found
        return found
    inputs = [Var(a) for a in avals]
    equation = _equation(primitive, inputs, out, params)
    return outside.program(Graph(inputs, [equation], [*equation.outputs]), (), primitive.name)


def _wrap(result: Any, aval: ShapedArray, inputs: list[np.ndarray[Any, Any]], primitive: Primitive) -> Array:
    if type(result) is Array:
        return result
    array = np.asarray(result)
    if array.dtype != aval.dtype:
        array = array.astype(aval.dtype)
    assert array.shape == aval.shape, f"{primitive}: eval gave shape {array.shape}, the shape rule {aval.shape}"
    # An operation may return its operand, or a view of it: memory that the caller can write to is copied.
    if any(i.flags.writeable and (array is i or np.may_share_memory(array, i)) for i in inputs):
        array = array.copy()
    return Array.of(array, aval)


class _RecordedTrace(EagerTrace):
    """The same while a recording is active, which gets the time of each primitive."""

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return recording.called("eager", primitive.name, super().process, primitive, args, params)


@recording.on_change
def _choose_base() -> None:
    set_base(EagerTrace() if recording.active is None else _RecordedTrace())


_choose_base()
