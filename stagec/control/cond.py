"""`cond` and `switch`: one of several functions runs, selected while the program runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control import bodies, cond_rules
from stagec.control.bodies import Body
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.callables import R
from stagec.core.functions import Role, call, check_callable
from stagec.core.graph import Graph, replay
from stagec.core.primitive import MultiplePrimitive
from stagec.primitives import arithmetic, logic, references
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.typing import ArrayLike

__all__ = ["cond", "cond_p", "switch"]

_NOTHING: Any = object()


def _shape(index: ShapedArray, *avals: ShapedArray, branches: tuple[Graph, ...]) -> list[ShapedArray]:
    columns = zip(*[g.out_avals for g in branches])
    return [column[0].update(weak_type=all(a.weak_type for a in column)) for column in columns]


def _chosen(index: Any, branches: tuple[Graph, ...]) -> Graph:
    # As in the compiled program, an index out of range selects the last branch.
    i = int(index)
    return branches[i if 0 <= i < len(branches) else -1]


def _eval(index: Any, *arrays: Any, branches: tuple[Graph, ...]) -> list[Any]:
    return bodies.evaluate(_chosen(index, branches), arrays)


def _lower(cx: Any, index: Any, *values: Any, branches: tuple[Graph, ...]) -> Any:
    operands = cx.tracers(values, cx.in_avals[1:])
    # A region of `case` takes no arguments: its operations read the values around it.
    return bodies.emit_case(cx, index, [functools.partial(replay, graph, operands) for graph in branches])


cond_p: MultiplePrimitive = MultiplePrimitive(
    "cond",
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=cond_rules.jvp,
    transpose=lambda cts, *operands, **params: cond_rules.transpose(cond_p, cts, *operands, **params),
    batch=cond_rules.batch,
    partial=lambda trace, args, params: cond_rules.partial(cond_p, trace, args, params),
    trim=cond_rules.trim,
)


def cond(
    pred: ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: Any,
    operand: Any = _NOTHING,
) -> R:
    """`true_fun(*operands)` where `pred` is true, else `false_fun(*operands)`; only that one runs.

    The older form `cond(pred, x, f, y, g)`, with an operand for each function, is `f(x)` or `g(y)`.

    Args:
      pred: a boolean or a number of rank 0; a number counts as true unless it is 0.
      true_fun, false_fun: each is traced once. They may close over arrays, and
        must return trees of equal structure, shapes and dtypes.
      operands: pytrees.
      operand: the one operand, by name.

    Raises:
      ShapeError: `pred` has axes, or the results differ in shape.
      DtypeError: the results differ in dtype.
      PytreeError: the results differ in structure.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> @stagec.jit
    ... def halve_or_double(x):
    ...     return lax.cond(x.sum() > 10, lambda y: y / 2, lambda y: y * 2, x)
    >>> halve_or_double(snp.array([1.0, 2.0]))
    Array([2., 4.], dtype=float32)
    """
    operands = _operands("cond", operands, operand)
    if len(operands) == 2 and not callable(true_fun) and callable(false_fun) and callable(operands[1]):
        first, second = false_fun, operands[1]
        return cond(pred, lambda x, y: first(x), lambda x, y: second(y), true_fun, operands[0])
    check_callable("cond", "stagec.lax.cond(x > 0, f, g, x)", true_fun, false_fun)
    chosen = as_operand(pred, "cond: pred")
    aval = aval_of(chosen)
    if aval.shape:
        raise location.error(
            errors.ShapeError,
            f"cond: pred must have rank 0, got {aval.long()}",
            [("pred", aval.long(), getattr(chosen, "origin", str)())],
            "reduce it with .all() or .any(); stagec.numpy.where chooses element by element",
        )
    if dtypes.is_complex(aval.dtype):
        raise location.error(
            errors.DtypeError,
            f"cond: pred must be a boolean or a real number, got {aval.long()}",
            fix="compare it, as in z != 0",
        )
    if bodies.runs_in_python(chosen):
        return (true_fun if bool(bodies.number(chosen)) else false_fun)(*operands)
    if aval.dtype != dtypes.bool_:
        chosen = logic.ne(chosen, 0)
    index = convert_element_type(chosen, dtypes.int32)
    return choose("cond", index, [false_fun, true_fun], operands)


def switch(index: ArrayLike, branches: Sequence[Callable[..., R]], *operands: Any, operand: Any = _NOTHING) -> R:
    """`branches[index](*operands)`; only that branch runs.

    Args:
      index: an integer of rank 0; one out of range is clamped.
      branches: at least one function; each is traced once, and they must return
        trees of equal structure, shapes and dtypes.
      operands: pytrees.
      operand: the one operand, by name.

    Raises:
      ShapeError: `index` has axes, there are no branches, or the results differ in shape.
      DtypeError: `index` is not an integer, or the results differ in dtype.
      PytreeError: the results differ in structure.

    >>> import stagec.numpy as snp
    >>> from stagec import lax
    >>> lax.switch(2, [snp.sin, snp.cos, snp.negative], snp.ones(2))
    Array([-1., -1.], dtype=float32)
    """
    operands = _operands("switch", operands, operand)
    # An object that is not a sequence is not a function, either.
    given: list[Any] = list(branches) if hasattr(branches, "__iter__") else [branches]
    check_callable("switch", "stagec.lax.switch(i, [f, g], x)", *given)
    branches = given
    chosen = as_operand(index, "switch: index")
    aval = aval_of(chosen)
    if aval.shape or not branches:
        what = f"index must have rank 0, got {aval.long()}" if branches else "there are no branches"
        fix = "index it first, as in index[0]" if branches else "give at least one function"
        raise location.error(errors.ShapeError, f"switch: {what}", fix=fix)
    if not dtypes.is_integer(aval.dtype):
        fix = "use stagec.lax.cond for a boolean" if aval.dtype == dtypes.bool_ else "convert it with astype(int)"
        raise location.error(errors.DtypeError, f"switch: index must be an integer, got {aval.long()}", fix=fix)
    last = len(branches) - 1
    if bodies.runs_in_python(chosen):
        return branches[min(max(bodies.number(chosen), 0), last)](*operands)
    if last == 0:
        only: R = call(branches[0], operands, _roles("switch", 1, len(operands))[0])
        return only
    # Clamped in its own dtype, where it cannot wrap around.
    high = np.asarray(min(last, np.iinfo(aval.dtype).max), aval.dtype)
    chosen = arithmetic.min(chosen, high)
    if not dtypes.is_unsigned(aval.dtype):
        chosen = arithmetic.max(chosen, np.asarray(0, aval.dtype))
    return choose("switch", convert_element_type(chosen, dtypes.int32), branches, operands)


def choose(name: str, index: Operand, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    """One of several functions of the same operands; `name` is for messages."""
    flat, trees = [], []
    for i, operand in enumerate(operands):
        leaves, tree = bodies.flatten(operand, f"{name}: operand {i}")
        flat += leaves
        trees.append(tree)
    avals, outer = [aval_of(o) for o in flat], [(o, False) for o in flat]
    roles = _roles(name, len(functions), len(operands))
    recorded = [bodies.record(f, trees, avals, role=r, outer=outer) for f, r in zip(functions, roles)]
    _check_results(name, functions, recorded)
    refs = list(dict.fromkeys(ref for body in recorded for ref in body.written))
    if refs:
        values = [references.read(r) for r in refs]
        carried = [references.carrying(refs, f) for f in functions]
        values, result = choose(name, index, carried, [values, *operands])
        references.write_all(refs, values)
        return result
    captured, graphs = bodies.with_common_captures(recorded)
    results = cond_p(index, *captured, *flat, branches=tuple(graphs))
    return recorded[0].out_tree.unflatten(results)


def _operands(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NOTHING:
        return operands
    if operands:
        what = f"{name}: operands were given by position and as operand="
        raise location.error(TypeError, what, fix="give them by position")
    return (operand,)


def _roles(name: str, functions: int, operands: int) -> list[Role]:
    names = ["false_fun", "true_fun"] if name == "cond" else [f"branch {i}" for i in range(functions)]
    return [Role(f"{name}: {n}", [f"operand_{i}" for i in range(operands)]) for n in names]


def _check_results(name: str, functions: Sequence[Callable[..., Any]], recorded: Sequence[Body]) -> None:
    """Raise unless all branches return the same structure, shapes and dtypes."""
    # `cond` keeps the false branch first; the message begins with the true one.
    order = [1, 0] if name == "cond" else list(range(len(functions)))
    first, reference = functions[order[0]], recorded[order[0]]
    for i in order[1:]:
        function, body = functions[i], recorded[i]
        names = [location.of_function(first), location.of_function(function)]
        if name == "cond":
            names = [f"true_fun, {names[0]}", f"false_fun, {names[1]}"]
        else:
            names = [f"branch 0, {names[0]}", f"branch {i}, {names[1]}"]
        if reference.out_tree != body.out_tree:
            raise location.error(
                errors.PytreeError,
                f"{name} branch outputs must have the same pytree structure",
                [(names[0], str(reference.out_tree), ""), (names[1], str(body.out_tree), "")],
                "return the same containers from every branch",
            )
        for path, a, b in zip(pytree.leaf_paths(body.out_tree), reference.out_avals, body.out_avals):
            if (a.shape, a.dtype) == (b.shape, b.dtype):
                continue
            kind: type[errors.StagecError] = errors.DtypeError if a.shape == b.shape else errors.ShapeError
            fix = (
                f"convert one of them, as with .astype({a.dtype.name!r})"
                if a.shape == b.shape
                else "broadcast, pad or slice one of them to the other's shape"
            )
            raise location.error(
                kind,
                f"{name}: the branches return {a.long()} and {b.long()}",
                [(n, f"result{pytree.keystr(path)}", v.long()) for n, v in zip(names, (a, b))],
                fix,
            )
