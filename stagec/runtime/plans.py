"""Plans: what a function does outside `jit`, recorded once for arguments of a kind.

A function of `stagec.numpy` looks at dtypes and shapes, converts, broadcasts, and then
applies primitives. The second call with arguments of the same avals records it as a graph. From
then on NumPy evaluates the graph's primitives one after the other, without what is around them.
A function that looks at values cannot be recorded, and is called as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.graph import Equation, Graph, Literal, prune, trace_flat
from stagec.core.trace import Tracer
from stagec.primitives.convert import convert_element_type_p
from stagec.runtime.array import Array

_Run = Callable[[list[Any]], Any]

# Kinds of arguments for a function: more than this many, and it is called with something new each time.
_MOST_KINDS = 512
# Constants of up to this many bytes are kept.
_SMALL = 1024
# Longer containers are not looked into.
_LONGEST = 16
# What a function may look at: an argument of these types is part of the key.
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
                        pass  # the function says so
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
    for name, function in namespace.items():
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
    if kind in _STATIC or isinstance(value, np.dtype):
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
        rest = iter(tracers)
        numbers = describe is _describe_numbers
        given = [_with_tracers(v, rest, numbers) for v in args]
        named = {name: _with_tracers(v, rest, numbers) for name, v in kwargs.items()}
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
        return _compiled(graph, captured, inputs, structure[0])
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


class _Step(NamedTuple):
    """A primitive's evaluation: which values it reads, what it makes, and which values nothing reads afterwards."""

    evaluate: Callable[..., Any]
    params: dict[str, Any]
    read: tuple[int, ...]
    made: tuple[ShapedArray, ...]
    multiple: bool
    done: tuple[int, ...]


@np.errstate(all="ignore")
def _folded(graph: Graph) -> Graph:
    """The graph with what follows from constants alone, where it is small, as constants."""
    known: dict[Any, Literal] = {}
    equations = []
    for e in graph.equations:
        inputs: list[Any] = [known.get(a, a) for a in e.inputs]
        aval = e.outputs[0].aval
        if not e.primitive.multiple and aval.nbytes <= _SMALL and all(type(a) is Literal for a in inputs):
            value = _as(aval, e.primitive.eval(*[a.value for a in inputs], **e.params))
            known[e.outputs[0]] = Literal(value, aval)
        else:
            equations.append(Equation(e.primitive, inputs, e.outputs, e.params, e.location))
    return Graph(graph.inputs, equations, [known.get(a, a) for a in graph.outputs])


def _compiled(graph: Graph, captured: Sequence[Any], inputs: Sequence[Any], tree: Any) -> _Run:
    """A function of the inputs that runs the graph; the captured values lead the graph's own inputs."""
    graph = _folded(graph)
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

    # Where values are: constants, inputs, literals, and what the steps make, one after the other.
    literals = [a for a in (*read, *graph.outputs) if type(a) is Literal]
    first = [*graph.inputs, *literals, *[v for e in equations for v in e.outputs]]
    places: dict[int, int] = {id(a): i for i, a in enumerate(first)}
    places |= {id(v): places[id(source)] for v, source in same.items()}
    results = [(places[id(a)], a.aval) for a in graph.outputs]
    steps: list[_Step] = []
    needed = {i for i, _ in results}
    for e in reversed(equations):
        used = tuple([places[id(a)] for a in e.inputs])
        made = tuple([v.aval for v in e.outputs])
        steps.append(_Step(e.primitive.eval, e.params, used, made, e.primitive.multiple, tuple({*used} - needed)))
        needed |= {*used}
    steps.reverse()
    constants = [_frozen(c.evaluated() if type(c) is Array else c) for c in captured]
    values_of_literals = [_frozen(a.value) for a in literals]
    makers = [_maker(v.aval.dtype, casts.get(v, v.aval.dtype)) if v in numbers else None for v in arguments]
    bounds = _bounds(inputs) if any(type(v) is int for v in inputs) else None
    is_single = tree == pytree.LEAF

    def begin(given: list[Any]) -> list[Any]:
        """The values before the first step."""
        values: list[Any] = constants.copy()
        for value, make in zip(given, makers):
            if make is None:
                values.append(value.evaluated())
            elif bounds is None or type(value) is not int or bounds[0] <= value <= bounds[1]:
                values.append(make(value))
            else:
                raise _DoesNotFit
        return values + values_of_literals

    if len(steps) == 1 and is_single and not steps[0].multiple:
        # Most functions are one primitive.
        ((evaluate, params, used, (aval,), _, _),) = steps
        if results[0][0] == len(first) - 1:

            @np.errstate(all="ignore")
            def run_one(given: list[Any]) -> Any:
                values = begin(given)
                return Array.of(_as(aval, evaluate(*[values[i] for i in used], **params)), aval)

            return run_one

    @np.errstate(all="ignore")
    def run(given: list[Any]) -> Any:
        values = begin(given)
        for evaluate, params, used, made, multiple, done in steps:
            result = evaluate(*[values[i] for i in used], **params)
            for i in done:
                values[i] = None
            if multiple:
                values += [_as(aval, r) for aval, r in zip(made, result, strict=True)]
            else:
                values.append(_as(made[0], result))
        outputs = [_result(i, aval, values, given) for i, aval in results]
        return outputs[0] if is_single else pytree.unflatten(tree, outputs)

    def _result(i: int, aval: ShapedArray, values: list[Any], given: list[Any]) -> Array:
        argument = i - len(constants)
        return given[argument] if 0 <= argument < len(given) else Array.of(values[i], aval)

    return run


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
    infos = [np.iinfo(dtype) for dtype in (*found, dtypes.default_int())]
    return max(int(i.min) for i in infos), min(int(i.max) for i in infos)


def _frozen(value: Any) -> np.ndarray[Any, Any]:
    array = np.array(value)
    array.setflags(write=False)
    return array


def _as(aval: ShapedArray, result: Any) -> np.ndarray[Any, Any]:
    """What an evaluation gave, as an array of the shape rule's dtype."""
    if type(result) is not np.ndarray:
        result = result.evaluated() if type(result) is Array else np.asarray(result)
    if result.dtype is not aval.dtype and result.dtype != aval.dtype:
        result = result.astype(aval.dtype)
    assert result.shape == aval.shape, f"an evaluation gave shape {result.shape}, the shape rule {aval.shape}"
    return result
