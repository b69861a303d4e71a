"""The function that `jit(python=True)` traces, and what a call does after the program has run."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location, pytree
from stagec.core.config import config, state
from stagec.core.trace import Tracer
from stagec.primitives import references
from stagec.python_flow import calls, checks, operators, values
from stagec.python_flow.outcome import Outcome, ambiguous
from stagec.python_flow.source import converted
from stagec.python_flow.states import Undefined
from stagec.python_flow.values import Buffer, unwrapped, wrapped

calls.runtime = operators


def python_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function to be traced, in which Python's control flow may depend on traced values.

    Raises:
      UnsupportedError: its source cannot be read or rewritten.
    """
    inner: Any = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(inner, types.FunctionType):
        what = f"jit(python=True) takes a function that is written in Python, got {errors.a_kind(type(function))}"
        raise location.error(errors.UnsupportedError, what, fix="define a function with def that calls it")
    new: Any = converted(inner, operators)
    if isinstance(function, types.MethodType):
        new = types.MethodType(new, function.__self__)

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        if config.disable_jit:
            return function(*args, **kwargs)
        before = checks.local.session
        session = checks.local.session = checks.Session()
        try:
            return _outcome(session, new, args, kwargs)
        finally:
            checks.local.session = before
            if before is None:
                values.restore(0)

    return traced


def _outcome(session: checks.Session, function: Any, args: Any, kwargs: Any) -> Any:
    given: list[tuple[Buffer, Any]] = []
    leaves: list[Any] = []

    def begin(leaf: Any) -> Any:
        if not isinstance(leaf, Tracer):
            return leaf
        value = wrapped(leaf)
        leaves.append(value)
        if isinstance(value, Buffer):
            given.append((value, references.read(value.reference)))
        return value

    args, kwargs = pytree.map_leaves(begin, (args, kwargs))
    result = _finished(function(*args, **kwargs))
    positions, changed, unclear = [], [], []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Buffer):
            value = references.read(leaf.reference)
            if leaf.stale:
                unclear.append((i, leaf.stale[0]))
            elif not any(leaf is b and value is v for b, v in given):
                positions.append(i)
                changed.append(value)
    if not positions and not unclear and not session.exceptions:
        return result
    failed = references.read(session.failed) if session.exceptions else None
    return Outcome(result, changed, failed, tuple(positions), tuple(unclear), tuple(session.exceptions))


def _finished(value: Any) -> Any:
    def leaf(x: Any) -> Any:
        if isinstance(x, Undefined):
            raise x.error()
        return unwrapped(x)

    return pytree.map_leaves(leaf, value)


def finish(rules: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function's result; writes what it changed to the caller's arrays, and raises what it raised."""
    if type(out) is not Outcome:
        return out
    if out.exceptions and state.trace is None and int(out.failed):
        raise out.exceptions[int(out.failed) - 1]
    leaves = _leaves(rules, args, kwargs)
    for position, line in out.unclear:
        if isinstance(leaves[position], (np.ndarray, Buffer)):
            raise ambiguous(line)
    for position in out.positions:
        _check_alone(leaves, position)
    for position, value in zip(out.positions, out.changed):
        leaf = leaves[position]
        if isinstance(leaf, Buffer):
            leaf[...] = value
        elif isinstance(leaf, np.ndarray) and leaf.flags.writeable and not isinstance(value, Tracer):
            np.copyto(leaf, np.asarray(value), casting="unsafe")
    return out.result


def _check_alone(leaves: Sequence[Any], position: int) -> None:
    """Raise if an array that the function changed is a part of another argument, too."""
    leaf = leaves[position]
    for i, other in enumerate(leaves):
        shares = isinstance(leaf, np.ndarray) and isinstance(other, np.ndarray) and np.may_share_memory(leaf, other)
        if i != position and (shares or (isinstance(leaf, Buffer) and getattr(other, "root", None) is leaf.root)):
            what = (
                "an array that the function changes was passed in two arguments, which are arrays of their own inside"
            )
            raise location.error(
                errors.UnsupportedError, what, fix="pass one array, and take its parts in the function"
            )


def _leaves(rules: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
    bound, named = rules.bind(args, kwargs)
    dynamic, dynamic_kwargs, _ = rules.split(bound, named)
    leaves: Sequence[Any] = rules.flatten(bound, named, dynamic, dynamic_kwargs)[0]
    return leaves
