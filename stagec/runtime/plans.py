"""Plans: recorded calls of functions outside `jit`, one for arguments of the same avals.

A function of `stagec.numpy` checks dtypes and shapes, converts, broadcasts, and then applies primitives. The first
call with arguments of new avals records it as a graph. `runtime/outside.py` decides whether the graph runs as a
compiled program or NumPy computes it. In the latter case, later calls run generated Python code without the checks,
with one line of NumPy for each of the graph's primitives. A function that reads values cannot be recorded, and is
called as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from stagec.control import bodies
from stagec.control.graph_rules import inlined
from stagec.core import dtypes, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.graph import Equation, Graph, Literal, prune, replay
from stagec.core.recording import trace_flat
from stagec.core.trace import Tracer
from stagec.primitives.convert import convert_element_type_p
from stagec.runtime import outside, recording, straight_line
from stagec.runtime.array import Array, from_literal
from stagec.runtime.mesh import spread_mesh
from stagec.runtime.straight_line import Value, folded, frozen

location.assists(__file__)

_Run = Callable[[list[Any]], Any]

# Above this number of kinds of arguments, a function is probably called with a new one each time.
_MOST_KINDS = 512
# Constants of up to this many bytes are kept.
_SMALL = 4096
# Arrays of NumPy of up to this many bytes are copied.
_COPIED = 1 << 16
# Longer containers are not looked into.
_LONGEST = 16
# Types of static arguments, whose values are part of the key.
_STATIC = frozenset({type(None), str, type(Ellipsis), type})
_MARKS: dict[Any, object] = {kind: object() for kind in (bool, int, float, slice, tuple, list, np.ndarray)}
_NAMED, _ANY_FLOATS = object(), object()
# Which of Python's numbers are operands.
_NONE, _FLOATS, _NUMBERS = frozenset[type](), frozenset({float}), frozenset({float, int})
_REFUSED = object()
_forgetting: list[Callable[[], None]] = []


def forget() -> None:
    """Forget all plans: an option has changed that they may depend on."""
    for forgets in _forgetting:
        forgets()


config.on_update(forget)
recording.on_change(forget)


def is_plain(x: Array) -> bool:
    """Whether NumPy computes with the array now, and nothing else happens to it or to the results."""
    return state.plain and x.signature is x.aval and not config.checks_values()


def planned(function: Callable[..., Any], numbers: bool = False, exactly: bool = False) -> Callable[..., Any]:
    """`function`, which runs by a plan where neither a trace nor an override is in force.

    Args:
      function: of arrays, numbers, and static arguments.
      numbers: whether Python's floats and integers are operands like arrays, whose values the function
        does not look at; otherwise each value is a kind of its own.
      exactly: whether the results must have the bits that compiled code gives them.
    """
    current: dict[Any, Any] = {}

    def forgets() -> None:
        # Not emptied: another thread may be about to put a plan for the former options into it.
        nonlocal current
        current = {}

    _forgetting.append(forgets)
    operands = _NUMBERS if numbers else _NONE

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        table = current
        if state.plain:
            key: list[Any] | None = None if config._watches_calls else []
        else:
            called = state.trace is None and not config.watches_calls() and spread_mesh() is None
            key = [config.trace_key()] if called else None
        if key is not None:
            inputs: list[Any] = []
            for value in args:
                if type(value) is Array and value.signature is value.aval:
                    key.append(value.aval)
                    inputs.append(value)
                elif not _describe(value, key, inputs, operands):
                    return function(*args, **kwargs)
            for name, value in kwargs.items():
                key += (_NAMED, name)
                on_device = name == "device" and value is not None  # what is recorded places nothing
                if on_device or not _describe(value, key, inputs, operands):
                    return function(*args, **kwargs)
            found = table.get(tuple(key))
            if found is None:
                if len(table) >= _MOST_KINDS:
                    table.clear()
                if not numbers and any(type(v) is float for v in (*args, *kwargs.values())):
                    general = _of_all_floats(table, key[: not state.plain], function, args, kwargs, exactly)
                    if general is not None:
                        return general
                found = table[tuple(key)] = _recorded(function, args, kwargs, inputs, operands, exactly)
            elif type(found) is _Recorded:
                found = table[tuple(key)] = found.plan()
            if found is not _REFUSED:
                try:
                    return found(inputs)
                except _DoesNotFit:
                    pass  # the function itself raises the error
        return function(*args, **kwargs)

    return call


def cover(
    namespace: dict[str, Any],
    of_numbers: Collection[str] = (),
    left_out: Collection[str] = (),
    exactly: bool = False,
) -> None:
    """Have the public functions of a namespace run by plans.

    Args:
      namespace: a module's globals.
      of_numbers: names of those that do not look at the values of Python's numbers.
      left_out: names of those that stay as they are.
      exactly: whether results must have the bits that compiled code gives them.
    """
    covered: dict[Any, Any] = {}
    for name in namespace.get("__all__") or list(namespace):
        function = namespace[name]
        if isinstance(function, FunctionType) and not name.startswith("_") and name not in left_out:
            if function not in covered:
                covered[function] = made = planned(function, name in of_numbers, exactly)
                # Where pickle finds it.
                made.__module__, made.__qualname__ = namespace["__name__"], name
            namespace[name] = covered[function]


def _describe(value: Any, key: list[Any], inputs: list[Any], operands: frozenset[type] = _NONE) -> bool:
    """Add an argument to the key, and its arrays to the inputs; False if it is not known what it is.

    Args:
      operands: types of numbers that are inputs, too.
    """
    kind = type(value)
    if kind is Array:
        key.append(value.aval)
        inputs.append(value)
        return value.signature is value.aval  # on the CPU, and not committed
    if kind in operands:
        key.append(_MARKS[kind])
        inputs.append(value)
    elif kind in _STATIC or isinstance(value, (np.dtype, type)):
        key.append(value)
    elif kind is float:
        # Not the number itself: 0.0 equals -0.0, and NaN nothing.
        key += (_MARKS[kind], value.hex())
    elif kind is int or kind is bool:
        key += (_MARKS[kind], value)
    elif kind is slice:
        bounds = (value.start, value.stop, value.step)
        key += (_MARKS[kind], *bounds)
        return all(v is None or type(v) is int for v in bounds)
    elif (kind is tuple or kind is list) and len(value) <= _LONGEST:
        key += (_MARKS[kind], len(value))
        return all(_describe(v, key, inputs) for v in value)
    elif (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype in dtypes.ALL:
        key += (_MARKS[np.ndarray], value.shape, value.dtype)
        inputs.append(value)
    else:
        return False
    return True


class _DoesNotFit(Exception):
    """A number is out of the range of a dtype that it is combined with."""


class _Refusal(Exception):
    """A function that has no plan."""


class _Recorded:
    """A call that was recorded, and ran once: NumPy evaluates its operations one after the other.

    Args:
      captured: the values that lead the graph's inputs.
      kinds: of the inputs, as `_kind` has them.
      tree: the structure of the result.
      copies: whether arrays of NumPy are among the inputs.
    """

    def __init__(self, name: str, graph: Graph, captured: list[Any], kinds: list[Any], tree: Any, copies: bool) -> None:
        self._name, self._graph, self._captured, self._tree = name, graph, captured, tree
        self._kinds, self._copies = kinds, copies

    def __call__(self, inputs: list[Any]) -> Any:
        return _of_numpy(self._replayed, inputs) if self._copies else self._replayed(inputs)

    def _replayed(self, inputs: list[Any]) -> Any:
        with bodies.evaluating():
            results = replay(self._graph, [*self._captured, *_operands(inputs)])
        return pytree.unflatten(self._tree, [r if type(r) is Array else from_literal(r) for r in results])

    def plan(self) -> Any:
        """What runs later calls, or `_REFUSED`."""
        try:
            run = _compiled(inlined(self._graph), self._captured, self._kinds, self._tree)
        except _Refusal:
            return _REFUSED
        called = (lambda inputs: _of_numpy(run, inputs)) if self._copies else run
        return recording.recorded("eager", self._name, called)


@np.errstate(all="ignore")
def _of_numpy(run: _Run, inputs: list[Any]) -> Any:
    """What a plan makes of inputs, some of which are NumPy's: the caller may write to these, so no result is a view.

    Small ones are copied, and so are those that have other strides than an array, along which NumPy's loops are slow.
    """
    arrays, borrowed = [], []
    for value in inputs:
        if isinstance(value, (np.ndarray, np.generic)):
            aval = _aval(value)
            if value.nbytes > _COPIED and value.flags.forc and value.flags.aligned and value.dtype == aval.dtype:
                borrowed.append(value)
                value = Array.of(value.view(), aval)
            else:
                value = Array.of(np.array(value, aval.dtype), aval)
        arrays.append(value)
    made = run(arrays)
    if not borrowed:
        return made
    leaves, tree = pytree.flatten(made)
    return pytree.unflatten(tree, [_of_its_own(leaf, borrowed) for leaf in leaves])


def _of_its_own(made: Any, borrowed: list[Any]) -> Any:
    if type(made) is Array and any(np.may_share_memory(made.evaluated(), value) for value in borrowed):
        return Array.of(made.evaluated().copy(), made.aval)
    return made


def _operands(inputs: list[Any]) -> list[Any]:
    """A call's arrays, and its numbers as literals."""
    if all(type(v) is Array for v in inputs):
        return inputs
    low, high = _bounds([_kind(v) for v in inputs])
    if any(type(v) is int and not low <= v <= high for v in inputs):
        raise _DoesNotFit
    return [v if type(v) is Array else _operand(v) for v in inputs]


def _operand(value: Any) -> Any:
    aval = _aval(value)
    array = np.asarray(value, aval.dtype)
    return array if isinstance(value, (np.ndarray, np.generic)) else Literal(array, aval)


def _kind(value: Any) -> Any:
    """The aval of an array, or the type of a Python number."""
    return type(value) if type(value) in (int, float) else _aval(value)


def _aval(value: Any) -> ShapedArray:
    """The aval of an input: an array, an array of NumPy, or a Python number."""
    if type(value) is Array:
        return value.aval
    if isinstance(value, (np.ndarray, np.generic)):
        return ShapedArray.of(value.shape, dtypes.canonicalize(value.dtype))
    return ShapedArray.of((), *dtypes.python_scalar_dtype(type(value)))


def _of_all_floats(
    table: dict[Any, Any],
    key: list[Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    exactly: bool,
) -> Any:
    """The result of a program that takes the call's floats as operands, so that other floats compile none.

    Args:
      key: what the keys of all calls begin with.

    Returns:
      None where NumPy computes the call, or the function looks at the floats.
    """
    key, inputs = [*key, _ANY_FLOATS], list[Any]()
    for value in args:
        _describe(value, key, inputs, _FLOATS)
    for name, value in kwargs.items():
        key += (_NAMED, name)
        _describe(value, key, inputs, _FLOATS)
    found: Any = table.get(tuple(key))
    if found is None:
        made = _recorded(function, args, kwargs, inputs, _FLOATS, exactly)
        found = table[tuple(key)] = _REFUSED if type(made) is _Recorded else made
    return None if found is _REFUSED else found(inputs)


def _recorded(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: list[Any],
    operands: frozenset[type],
    exactly: bool,
) -> Any:
    """What runs the function for arguments like these, or `_REFUSED`."""
    avals = [_aval(v) for v in inputs]
    structure: list[Any] = []
    name = getattr(function, "__name__", "")

    def flat(*tracers: Any) -> list[Any]:
        remaining = iter(tracers)
        given = [_with_tracers(v, remaining, operands) for v in args]
        named = {name: _with_tracers(v, remaining, operands) for name, v in kwargs.items()}
        leaves, tree = pytree.flatten(function(*given, **named))
        if not all(isinstance(leaf, Tracer) or type(leaf) in (Array, Literal) for leaf in leaves):
            raise _Refusal
        structure.append(tree)
        return leaves

    try:
        with location.withheld_warnings() as warned:
            graph, captured = trace_flat(flat, avals, name=name)
        if warned:
            return _REFUSED  # it has to warn at each call
        graph, _ = prune(graph, keep_inputs=True)
    except Exception:
        # The function looks at values; or the call itself is wrong, and its error is raised where it is called.
        return _REFUSED
    if graph.effects:
        return _REFUSED
    program = outside.program(graph, captured, name, structure[0], exactly=exactly, kept=True)
    if program is None:
        of_numpy = [v for v in inputs if isinstance(v, (np.ndarray, np.generic))]
        if any(v.dtype.kind in "biu" and not v.ndim for v in of_numpy):
            return _REFUSED  # the function may look at a number's value
        return _Recorded(name, graph, captured, [_kind(v) for v in inputs], structure[0], bool(of_numpy))
    return program if all(type(v) is Array for v in inputs) else lambda inputs: program(_operands(inputs))


def _with_tracers(value: Any, tracers: Any, operands: frozenset[type] = _NONE) -> Any:
    kind = type(value)
    if kind is Array or kind in operands or isinstance(value, (np.ndarray, np.generic)):
        return next(tracers)
    # Numbers inside of containers are static.
    if kind is tuple or kind is list:
        return kind([_with_tracers(v, tracers) for v in value])
    return value


def _compiled(graph: Graph, captured: Sequence[Any], kinds: Sequence[Any], tree: Any) -> _Run:
    """A function of the inputs that runs the graph; the captured values lead the graph's own inputs."""
    graph = folded(graph, _SMALL)
    arguments = graph.inputs[len(captured) :]
    numbers = {v for v, kind in zip(arguments, kinds) if type(kind) is type}
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
    bounds = _bounds(kinds)
    values: dict[Any, Value] = {}
    for v, c in zip(graph.inputs, captured):
        values[v] = Value(code.constant(frozen(c.evaluated() if type(c) is Array else c)), v.aval, None)
    for v, i in given.items():
        if v not in numbers:
            values[v] = code.assign(f"g{i}.evaluated()", v.aval)
            continue
        if kinds[i] is int:
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


def _bounds(kinds: Sequence[Any]) -> tuple[int, int]:
    """The integers that fit each integer dtype among the operands."""
    found = {kind.dtype for kind in kinds if type(kind) is not type and dtypes.is_integer(kind.dtype)}
    ranges = [dtypes.integer_range(dtype) for dtype in (*found, dtypes.default_int())]
    return max(low for low, _ in ranges), min(high for _, high in ranges)
