"""`scan`: runs a function along the leading axis of arrays, with a carry from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control import bodies, scan_rules
from stagec.control.variation import check_variation
from stagec.core import dims, dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.callables import R, X
from stagec.core.functions import Role, call, check_callable
from stagec.core.graph import Graph, Literal, replay
from stagec.core.primitive import MultiplePrimitive
from stagec.core.pytree import PyTreeDef
from stagec.core.wrapping import wraps
from stagec.primitives import arithmetic, logic, references
from stagec.primitives.axes import as_int
from stagec.primitives.convert import as_array
from stagec.primitives.dimension import dimension_size
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.shape import expand_dims, reshape
from stagec.primitives.slicing import index_in_dim, row_at, slice_in_dim, with_row
from stagec.transforms.batch import batch_front

_COUNTER = ShapedArray.of((), dtypes.int32)


def _shape(
    *avals: ShapedArray, graph: Graph, length: int, reverse: bool, unroll: int, num_consts: int, num_carry: int
) -> list[ShapedArray]:
    outs = graph.out_avals
    return outs[:num_carry] + [a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]


def _eval(
    *arrays: Any, graph: Graph, length: int, reverse: bool, unroll: int, num_consts: int, num_carry: int
) -> list[Any]:
    first = num_consts + num_carry
    consts, carry, xs = list(arrays[:num_consts]), list(arrays[num_consts:first]), arrays[first:]
    stacked = [np.zeros((length, *a.shape), a.dtype) for a in graph.out_avals[num_carry:]]
    for i in range(length - 1, -1, -1) if reverse else range(length):
        results = bodies.evaluate(graph, [*consts, *carry, *[x[i] for x in xs]])
        carry = results[:num_carry]
        for whole, y in zip(stacked, results[num_carry:]):
            whole[i] = y
    return [*carry, *stacked]


def _lower(
    cx: Any,
    *values: Any,
    graph: Graph,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> list[Any]:
    if dims.is_open(length):
        unroll = 1
    first = num_consts + num_carry
    tracers = cx.tracers(values, cx.in_avals)
    consts, xs = tracers[:num_consts], tracers[first:]

    def step(i: Operand, state: list[Any]) -> list[Any]:
        index = arithmetic.sub(_count(length - 1), i) if reverse else i
        rows = [row_at(x, index) for x in xs]
        results = replay(graph, [*consts, *state[:num_carry], *rows])
        stacked = [with_row(whole, index, y) for whole, y in zip(state[num_carry:], results[num_carry:])]
        return results[:num_carry] + stacked

    def unfinished(i: Any, *state: Any) -> list[Any]:
        return [logic.lt(i, _count(rounds))]

    def advance(i: Any, *state: Any) -> list[Any]:
        state_now = list(state)
        for k in range(unroll):
            state_now = step(arithmetic.add(i, _count(k)) if k else i, state_now)
        return [arithmetic.add(i, _count(unroll)), *state_now]

    ys = cx.out_avals[num_carry:]
    avals = cx.in_avals[num_consts:first] + ys
    state = [*values[num_consts:first], *[cx.constant(np.zeros((), a.dtype), a) for a in ys]]
    rounds = length - length % unroll
    if dims.is_open(length) or rounds > unroll:
        start = cx.constant(np.zeros((), np.int32))
        state = bodies.emit_while(cx, [start, *state], [_COUNTER, *avals], unfinished, advance)[1:]
    else:
        rounds = 0
    if rounds == length:
        return state
    remaining = cx.tracers(state, avals)
    return cx.apply(lambda: _repeat(step, range(rounds, length), remaining), avals=[])


def _repeat(step: Callable[..., list[Any]], positions: range, state: list[Any]) -> list[Any]:
    for i in positions:
        state = step(_count(i), state)
    return state


def _count(i: int) -> Operand:
    if dims.is_open(i):
        return dimension_size(i, np.dtype(np.int32), weak_type=False)
    return Literal(np.asarray(i, np.int32), _COUNTER)


scan_p: MultiplePrimitive = MultiplePrimitive(
    "scan",
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=scan_rules.jvp,
    transpose=lambda cts, *operands, **params: scan_rules.transpose(scan_p, cts, *operands, **params),
    batch=scan_rules.batch,
    partial=lambda trace, args, params: scan_rules.partial(scan_p, trace, args, params),
    trim=scan_rules.trim,
)


def scan(
    f: Callable[[Any, Any], tuple[R, X]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[R, X]:
    """Run `f` along the leading axis of `xs`, threading a carry.

    The program holds one step, however many there are.

    Args:
      f: `(carry, x) -> (carry, y)`. Traced once, and once more where a Python
        number in `init` takes another dtype in the loop.
      init: pytree; the carry keeps its structure, shapes and dtypes.
      xs: pytree whose leaves share the leading size `n`; None for steps without input. Of a reference, each step
        gets a reference to its row.
      length: `n`, where `xs` has no leaves.
      reverse: go from the last row to the first; `ys` has the order of `xs`.
      unroll: the number of steps in one round of the compiled loop; True for all.
      _split_transpose: accepted for code written for JAX.

    Returns:
      `(carry, ys)`; each leaf of `ys` has shape `(n, ...)`.

    Raises:
      CarryError: `f` changed the carry's structure, shapes or dtypes.
      PytreeError: `f` did not return a pair.
      ShapeError: the leading sizes differ, or are not known.

    >>> import stagec.numpy as snp
    >>> from stagec import lax
    >>> total, before = lax.scan(lambda c, x: (c + x, c), 0, snp.arange(4))
    >>> total, before
    (Array(6, dtype=int32), Array([0, 0, 1, 3], dtype=int32, weak_type=True))
    """
    check_callable("scan", "stagec.lax.scan(f, init, xs)", f)
    refs = [leaf for leaf in pytree.leaves(xs) if isinstance(leaf, references.Ref)]
    if refs:
        return _over_references(f, init, xs, refs, length, reverse, unroll)
    operands, carry_tree = bodies.flatten(init, "scan: init")
    rows, xs_tree = bodies.flatten(xs, "scan: xs")
    n = _length("scan", rows, xs_tree, length)
    steps = unrolled("scan", unroll, n)
    if n and bodies.runs_in_python(*operands, *rows):
        return _scan_in_python(f, carry_tree.unflatten(operands), rows, xs_tree, n, reverse)
    avals = [aval_of(o) for o in operands]
    row_avals = [a.update(shape=a.shape[1:]) for a in [aval_of(r) for r in rows]]
    trees = [carry_tree, xs_tree]
    outer = [(value, False) for value in operands] + [(row, True) for row in rows]
    body = bodies.record(f, trees, [*avals, *row_avals], role=Role("scan: f", ("carry", "x")), outer=outer)
    carry_out, ys_tree = _pair(f, body.out_tree)
    operands, avals, changed = bodies.promote_weak(operands, body.out_avals[: carry_out.num_leaves])
    if changed:
        body = bodies.record(f, trees, [*avals, *row_avals], outer=outer)
        carry_out, ys_tree = _pair(f, body.out_tree)
    bodies.check_carry("scan", f, carry_tree, avals, carry_out, body.out_avals[: carry_out.num_leaves])
    check_variation("scan", f, carry_tree, operands, body, rows)
    if body.written:
        refs, carried = list(body.written), references.carrying(body.written, f)

        def with_references(state: Any, x: Any) -> Any:
            values, (carry, y) = carried(state[0], state[1], x)
            return (values, carry), y

        start = ([references.read(r) for r in refs], carry_tree.unflatten(operands))
        (values, carry), ys = scan(with_references, start, xs, n, reverse, unroll)
        references.write_all(refs, values)
        return carry, ys
    results = scan_p(
        *body.captured,
        *operands,
        *rows,
        graph=body.graph,
        length=n,
        reverse=bool(reverse),
        unroll=steps,
        num_consts=len(body.captured),
        num_carry=len(operands),
    )
    return carry_tree.unflatten(results[: len(operands)]), ys_tree.unflatten(results[len(operands) :])


def _over_references(
    f: Callable[..., Any], init: Any, xs: Any, refs: Sequence[references.Ref], *options: Any
) -> tuple[Any, Any]:
    """`scan`, where some of `xs` are references: each step reads and writes its row of them."""
    leaves, tree = pytree.flatten(xs)
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, references.Ref)]
    values = [references.read(leaf) if i in positions else leaf for i, leaf in enumerate(leaves)]

    @wraps(f)
    def step(carry: Any, x: Any) -> Any:
        given, inner = references.inner_references(pytree.leaves(x), dict.fromkeys(positions, pytree.LEAF))
        result = f(carry, tree.unflatten(given))
        if not isinstance(result, tuple) or len(result) != 2:
            return result  # the error is `scan`'s
        return result[0], (result[1], [references.read(ref) for ref in inner])

    carry, (ys, rows) = scan(step, init, tree.unflatten(values), *options)
    references.write_all(refs, rows)
    return carry, ys


def map_(f: Callable[[Any], R], xs: Any, batch_size: int | None = None) -> R:
    """Apply `f` to each row of `xs`, one after the other, and stack the results.

    Args:
      f: a function of one row. Traced once.
      xs: pytree whose leaves share the leading size.
      batch_size: how many rows one round of the loop computes at once, as `stagec.vmap` does; what remains of the
        rows is computed after the loop.

    Raises:
      ShapeError: the leading sizes differ, or there is no leaf.

    >>> import stagec.numpy as snp
    >>> from stagec import lax
    >>> lax.map(lambda row: row.sum(), snp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """

    check_callable("map", "stagec.lax.map(f, xs)", f)

    def step(_: None, x: Any) -> tuple[None, Any]:
        return None, call(f, [x], Role("map: f", ("x",)))

    rows, tree = bodies.flatten(xs, "map: xs")
    _length("map", rows, tree, None)
    if batch_size is None:
        return scan(step, None, xs)[1]
    size = as_int(batch_size, "map", "batch_size")
    if size < 0:
        fix = "give a positive integer; None or 0 goes through the rows one by one"
        raise location.error(errors.ShapeError, f"map: batch_size={size}", fix=fix)
    return _map_batches(f, xs, size) if size else scan(step, None, xs)[1]


def _map_batches(f: Callable[[Any], Any], xs: Any, batch_size: int) -> Any:
    leaves, tree = pytree.flatten(xs)
    values = [as_operand(leaf, "a leaf of xs") for leaf in leaves]
    sizes = {aval_of(v).shape[:1] for v in values}
    rows = min((n for shape in sizes for n in shape), default=0)
    if len(sizes) != 1 or not rows:
        # What is wrong with the sizes, the loop says; without rows, there are no batches.
        return scan(lambda _, x: (None, f(x)), None, xs)[1]
    size = min(batch_size, rows)
    whole = rows - rows % size
    out_tree = pytree.LEAF

    def batch(count: int, parts: Sequence[Any]) -> list[Any]:
        def flat(*row: Any) -> list[Any]:
            nonlocal out_tree
            found, out_tree = pytree.flatten(call(f, [tree.unflatten(row)], Role("map: f", ("x",))))
            return [as_operand(leaf, "a result of map's function") for leaf in found]

        return batch_front(flat, parts, [0] * len(parts), count)

    def part(v: Any, low: int, high: int) -> Any:
        return v if (low, high) == (0, rows) else slice_in_dim(v, low, high)

    heads = [part(v, 0, whole) for v in values]
    shapes = [aval_of(v).shape[1:] for v in values]
    batches = [reshape(h, (whole // size, size, *shape)) for h, shape in zip(heads, shapes)]
    done = scan(lambda _, x: (None, batch(size, x)), None, batches)[1]
    outs = [reshape(o, (whole, *aval_of(o).shape[2:])) for o in done]
    if whole < rows:
        remainder = batch(rows - whole, [part(v, whole, rows) for v in values])
        outs = [concatenate([o, r], 0) for o, r in zip(outs, remainder)]
    return out_tree.unflatten(outs)


def _scan_in_python(
    f: Callable[[Any, Any], Any], carry: Any, rows: list[Operand], xs_tree: PyTreeDef, n: int, reverse: bool
) -> tuple[Any, Any]:
    arrays = [as_array(r) for r in rows]
    carry = pytree.map_leaves(as_array, carry)
    found: list[list[Any]] = []
    ys_tree = pytree.structure(None)
    for i in range(n - 1, -1, -1) if reverse else range(n):
        carry, y = f(carry, xs_tree.unflatten([index_in_dim(a, i, keepdims=False) for a in arrays]))
        leaves, ys_tree = bodies.flatten(y, "scan: y")
        found.append(leaves)
    columns = zip(*(found[::-1] if reverse else found))
    return carry, ys_tree.unflatten([concatenate([expand_dims(y, (0,)) for y in column], 0) for column in columns])


def unrolled(name: str, unroll: int | bool | None, length: int | None = None) -> int:
    """The number of steps in one round; at most `length`, and one for a length that is open."""
    if dims.is_open(length):
        return 1
    if isinstance(unroll, bool) or unroll is None:
        count = length if unroll and length is not None else 1
    else:
        count = as_int(unroll, name, "unroll")
        if count < 1:
            fix = "give a positive integer, or True for all steps"
            raise location.error(errors.ShapeError, f"{name}: unroll={unroll}", fix=fix)
    return max(count if length is None else min(count, length), 1)


def _length(name: str, rows: list[Operand], tree: PyTreeDef, length: int | None) -> int:
    avals = [aval_of(r) for r in rows]
    described = [(f"xs{pytree.keystr(p)}", a.long(), "") for p, a in zip(pytree.leaf_paths(tree), avals)]
    if any(not a.shape for a in avals):
        fix = "an array of rank 0 is the same in every step: close over it"
        raise location.error(errors.ShapeError, f"{name}: xs has a leaf without axes", described, fix)
    sizes = {a.shape[0] for a in avals}
    if length is not None:
        length = as_int(length, name, "length")
        if length < 0 or sizes - {length}:
            fix = "leave length out, or slice xs to it" if sizes else "give a length of 0 or more"
            raise location.error(errors.ShapeError, f"{name}: length={length} does not fit", described, fix)
        return length
    if len(sizes) > 1:
        fix = "slice the leaves to one leading size"
        raise location.error(errors.ShapeError, f"{name}: the leading sizes of xs differ", described, fix)
    if not sizes:
        raise location.error(
            errors.ShapeError,
            f"{name}: nothing says how many steps there are",
            fix="pass xs, or length=n" if name == "scan" else "pass at least one array in xs",
        )
    return sizes.pop()


def _pair(f: Callable[..., Any], out_tree: PyTreeDef) -> tuple[PyTreeDef, PyTreeDef]:
    """The structures of the carry and of `y`."""
    node = out_tree.node_data()
    children = out_tree.children()
    if node is None or node[0] is not tuple or len(children) != 2:
        raise location.error(
            errors.PytreeError,
            f"scan: {location.of_function(f)} must return a pair (carry, y)",
            [("returned", str(out_tree), "")],
            "return carry, y; y may be None",
        )
    return children[0], children[1]
