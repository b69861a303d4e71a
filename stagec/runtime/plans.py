"""Plans: recorded calls of functions outside `jit`, one for arguments of the same avals.

A function of `stagec.numpy` checks dtypes and shapes, converts, broadcasts, and then applies primitives. The second
call with arguments of the same avals records it as a graph. Later calls run generated Python code without the checks,
with one line of NumPy for each of the graph's primitives. A function that reads values cannot be recorded, and is
called as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from stagec.core import dtypes, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.graph import Equation, Graph, Literal, prune, trace_flat
from stagec.core.trace import Tracer
from stagec.primitives.convert import convert_element_type_p
from stagec.runtime import recording, straight_line
from stagec.runtime.array import Array
from stagec.runtime.straight_line import Value, folded, frozen

_Run = Callable[[list[Any]], Any]

# Above this number of kinds of arguments, a function is probably called with a new one each time.
_MOST_KINDS = 512
# Constants of up to this many bytes are kept.
_SMALL = 1024
# Longer containers are not looked into.
_LONGEST = 16
# Types of static arguments, whose values are part of the key.
_STATIC = frozenset({type(None), str, type(Ellipsis), type})
_MARKS = {kind: object() for kind in (bool, int, float, tuple, list)}
_NAMED = object()
_SEEN, _REFUSED = object(), object()
_tables: list[dict[Any, Any]] = []


def forget() -> None:
    """Forget all plans: an option has changed that they may depend on."""
    for table in _tables:
        table.clear()


config.on_update(forget)
recording.on_change(forget)


def is_plain(x: Array) -> bool:
    """Whether NumPy computes with the array now, and nothing else happens to it or to the results."""
    return state.plain and x.signature is x.aval and not config.checks_values()


def planned(function: Callable[..., Any], numbers: bool = False) -> Callable[..., Any]:
    """`function`, which runs by a plan where neither a trace nor an override is in force.

    Args:
      function: of arrays, numbers, and static arguments.
      numbers: whether Python's floats and integers are operands like arrays, whose values the function
        does not look at; otherwise each value is a kind of its own.
    """
    table: dict[Any, Any] = {}
    _tables.append(table)
    describe = _describe_numbers if numbers else _describe

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.plain and not config._checks_values:
            key: list[Any] = []
            inputs: list[Any] = []
            for value in args:
                if type(value) is Array and value.signature is value.aval:
                    key.append(value.aval)
                    inputs.append(value)
                elif not describe(value, key, inputs):
                    return function(*args, **kwargs)
            for name, value in kwargs.items():
                key += (_NAMED, name)
                if not describe(value, key, inputs):
                    return function(*args, **kwargs)
            found = table.get(tuple(key))
            if found is None:
                if len(table) >= _MOST_KINDS:
                    table.clear()
                table[tuple(key)] = _SEEN
            elif found is not _REFUSED:
                if found is _SEEN:
                    found = table[tuple(key)] = _plan(function, args, kwargs, inputs, describe)
                if found is not _REFUSED:
                    try:
                        return found(inputs)
                    except _DoesNotFit:
                        pass  # the function itself raises the error
        return function(*args, **kwargs)

    return call


def cover(namespace: dict[str, Any], of_numbers: Collection[str] = (), left_out: Collection[str] = ()) -> None:
    """Have the public functions of a namespace run by plans.

    Args:
      namespace: a module's globals.
      of_numbers: names of those that do not look at the values of Python's numbers.
      left_out: names of those that stay as they are.
    """
    covered: dict[Any, Any] = {}
    for name in namespace.get("__all__") or list(namespace):
        function = namespace[name]
        if isinstance(function, FunctionType) and not name.startswith("_") and name not in left_out:
            if function not in covered:
                covered[function] = made = planned(function, numbers=name in of_numbers)
                # Where pickle finds it.
                made.__module__, made.__qualname__ = namespace["__name__"], name
            namespace[name] = covered[function]


def _describe(value: Any, key: list[Any], inputs: list[Any]) -> bool:
    """Add an argument to the key, and its arrays to the inputs; False if it is not known what it is."""
    kind = type(value)
    if kind is Array:
        key.append(value.aval)
        inputs.append(value)
        return value.signature is value.aval  # on the CPU, and not committed
    if kind in _STATIC or isinstance(value, (np.dtype, type)):
        key.append(value)
    elif kind is float:
        # Not the number itself: 0.0 equals -0.0, and NaN nothing.
        key += (_MARKS[kind], value.hex())
    elif kind is int or kind is bool:
        key += (_MARKS[kind], value)
    elif (kind is tuple or kind is list) and len(value) <= _LONGEST:
        key += (_MARKS[kind], len(value))
        return all(_describe(v, key, inputs) for v in value)
    else:
        return False
    return True


def _describe_numbers(value: Any, key: list[Any], inputs: list[Any]) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        key.append(_MARKS[kind])
        inputs.append(value)
        return True
    return _describe(value, key, inputs)


class _DoesNotFit(Exception):
    """A number is out of the range of a dtype that it is combined with."""


class _Refusal(Exception):
    """A function that has no plan."""


def _plan(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Any], describe: Any
) -> Any:
    """What runs the function for arguments like these, or `_REFUSED`."""
    avals = [v.aval if type(v) is Array else _aval_of_number(type(v)) for v in inputs]
    structure: list[Any] = []

    def recorded(*tracers: Any) -> list[Any]:
        remaining = iter(tracers)
        numbers = describe is _describe_numbers
        given = [_with_tracers(v, remaining, numbers) for v in args]
        named = {name: _with_tracers(v, remaining, numbers) for name, v in kwargs.items()}
        leaves, tree = pytree.flatten(function(*given, **named))
        if not all(isinstance(leaf, Tracer) or type(leaf) in (Array, Literal) for leaf in leaves):
            raise _Refusal
        structure.append(tree)
        return leaves

    try:
        with location.withheld_warnings() as warned:
            graph, captured = trace_flat(recorded, avals, name=getattr(function, "__name__", ""))
        if warned:
            return _REFUSED  # it has to warn at each call
        graph, _ = prune(graph, keep_inputs=True)
        if graph.effects:
            return _REFUSED
        return recording.recorded(
            "eager", getattr(function, "__name__", ""), _compiled(graph, captured, inputs, structure[0])
        )
    except Exception:
        # The function looks at values; or the call itself is wrong, and its error is raised where it is called.
        return _REFUSED


def _aval_of_number(kind: type) -> ShapedArray:
    dtype, weak = dtypes.python_scalar_dtype(kind)
    return ShapedArray.of((), dtype, weak)


def _with_tracers(value: Any, tracers: Any, numbers: bool) -> Any:
    kind = type(value)
    if kind is Array or (numbers and (kind is float or kind is int)):
        return next(tracers)
    # Numbers inside of containers are static.
    return kind([_with_tracers(v, tracers, False) for v in value]) if kind in (tuple, list) else value


def _compiled(graph: Graph, captured: Sequence[Any], inputs: Sequence[Any], tree: Any) -> _Run:
    """A function of the inputs that runs the graph; the captured values lead the graph's own inputs."""
    graph = folded(graph, _SMALL)
    arguments = graph.inputs[len(captured) :]
    numbers = {v for v, given in zip(arguments, inputs) if type(given) is not Array}
    # A Python number becomes a NumPy scalar of the dtype that it is cast to.
    casts: dict[Any, np.dtype[Any]] = {}
    equations: list[Equation] = []
    same: dict[Any, Any] = {}
    for e in graph.equations:
        source: Any = e.inputs[0] if e.inputs else None
        cast: Any = e.params.get("new_dtype")
        if source in numbers and _is_cast(e) and casts.setdefault(source, cast) == cast:
            same[e.outputs[0]] = source
        else:
            equations.append(e)
    read = [a for e in equations for a in e.inputs]
    if any(v in graph.outputs or (v in read and v.aval.dtype != cast) for v, cast in casts.items()):
        raise _Refusal
    if any(a in numbers or a in same for a in graph.outputs):
        raise _Refusal

    given = {v: i for i, v in enumerate(arguments)}
    code = straight_line.Code()
    code.lines.append(f"[{', '.join([f'g{i}' for i in given.values()])}] = given" if given else "")
    bounds = _bounds(inputs)
    values: dict[Any, Value] = {}
    for v, c in zip(graph.inputs, captured):
        values[v] = Value(code.constant(frozen(c.evaluated() if type(c) is Array else c)), v.aval, None)
    for v, i in given.items():
        if v not in numbers:
            values[v] = code.assign(f"g{i}.evaluated()", v.aval)
            continue
        if type(inputs[i]) is int:
            code.lines.append(f"if not {bounds[0]} <= g{i} <= {bounds[1]}: raise {code.constant(_DoesNotFit)}")
        dtype = casts.get(v, v.aval.dtype)
        make = code.constant(_maker(v.aval.dtype, dtype))
        values[v] = code.assign(f"{make}(g{i})", v.aval.update(dtype=dtype), scalar=True)
    values |= {v: values[source] for v, source in same.items()}
    made = straight_line.write(code, Graph(graph.inputs, equations, graph.outputs), values)
    wrap = code.constant(Array.of)
    results = [
        f"g{given[a]}" if a in given else f"{wrap}({code.array(value)}, {code.constant(a.aval)})"
        for a, value in zip(graph.outputs, made)
    ]
    if tree == pytree.LEAF:
        return code.function("given", results[0])
    return code.function("given", f"{code.constant(pytree.unflatten)}({code.constant(tree)}, [{', '.join(results)}])")


def _is_cast(e: Equation) -> bool:
    """Whether a number is converted in a way that Python's number can be converted at once."""
    return e.primitive is convert_element_type_p and (
        dtypes.is_float(e.params["new_dtype"]) or e.params["new_dtype"] == e.inputs[0].aval.dtype
    )


def _maker(dtype: np.dtype[Any], cast: np.dtype[Any]) -> Callable[[Any], Any]:
    """Makes a NumPy scalar of a Python number, which is rounded to its own dtype before it is cast."""
    first, second = dtype.type, cast.type
    return first if dtype == cast else lambda number: second(first(number))


def _bounds(inputs: Sequence[Any]) -> tuple[int, int]:
    """The integers that fit each integer dtype among the operands."""
    found = {v.aval.dtype for v in inputs if type(v) is Array and dtypes.is_integer(v.aval.dtype)}
    ranges = [dtypes.integer_range(dtype) for dtype in (*found, dtypes.default_int())]
    return max(low for low, _ in ranges), min(high for _, high in ranges)
