"""The functions that control flow takes: flattens their operands, and records them as graphs."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.frames import Frame
from stagec.core.functions import Role, call
from stagec.core.graph import Graph, Literal, Var, replay
from stagec.core.pytree import PyTreeDef
from stagec.core.recording import trace_flat
from stagec.core.trace import Tracer
from stagec.core.wrapping import shown_name
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.references import Ref, returned


class Body(NamedTuple):
    """A recorded function.

    Its graph's inputs are the values it closes over, then its arguments' leaves.
    """

    graph: Graph
    captured: list[Any]
    out_tree: PyTreeDef
    # The references from outside that it writes: it has to be recorded again, with their values in its arguments.
    written: tuple[Ref, ...] = ()

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.graph.out_avals


def flatten(tree: Any, name: str) -> tuple[list[Operand], PyTreeDef]:
    """The leaves of an argument as operands, and its structure."""
    found, definition = pytree.flatten_with_path(tree)
    return [as_operand(leaf, name + pytree.keystr(path)) for path, leaf in found], definition


def record(
    function: Callable[..., Any],
    trees: Sequence[PyTreeDef],
    avals: Sequence[ShapedArray],
    names: Sequence[str] | None = None,
    role: Role | None = None,
    outer: Sequence[tuple[Any, bool]] | None = None,
) -> Body:
    """Run `function` once on tracers.

    Args:
      function: of arguments with the structures `trees`.
      avals: of all their leaves, in order.
      names: what to call the arguments; by default what the function calls them.
      role: of a user's function, for the error where it does not take the arguments.
      outer: as of `trace_flat`.

    Raises:
      ArgumentTypeError: it does not take that many arguments.
      OutputTypeError: it returned something that is not an array or a number.
    """
    out_tree: PyTreeDef | None = None

    def flat(*tracers: Any) -> list[Operand]:
        nonlocal out_tree
        leaves = iter(tracers)
        args = [t.unflatten([next(leaves) for _ in range(t.num_leaves)]) for t in trees]
        result = function(*args) if role is None else call(function, args, role)
        found, out_tree = pytree.flatten_with_path(result)
        return [_output(function, leaf, path) for path, leaf in found]

    names = names or _parameters(function, len(trees))
    leaf_names = [n + pytree.keystr(path) for n, t in zip(names, trees) for path in pytree.leaf_paths(t)]
    frame = Frame()
    graph, captured = trace_flat(flat, avals, leaf_names, shown_name(function), False, frame, outer=outer)
    assert out_tree is not None, "the function ran"
    return Body(graph, captured, out_tree, tuple(frame.written))


def _output(function: Callable[..., Any], leaf: Any, path: pytree.Path) -> Operand:
    try:
        return as_operand(leaf)
    except errors.ArgumentTypeError:
        raise location.error(
            errors.OutputTypeError,
            f"{location.of_function(function)} returned something that is not an array or a number",
            [(f"result{pytree.keystr(path)}", errors.brief(leaf), errors.a_kind(type(leaf)))],
            returned(leaf) or "return arrays, numbers, or containers of them",
        ) from None


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"argument {i}" for i in range(len(names), count)])[:count]


def promote_weak(
    operands: Sequence[Operand], out_avals: Sequence[ShapedArray]
) -> tuple[list[Operand], list[ShapedArray], bool]:
    """Convert weakly typed initial values to the dtypes of a body's results.

    Returns:
      The values, their avals, and whether any was converted: then the body has to be recorded again.
    """
    promoted = list(operands)
    changed = False
    for i, (operand, out) in enumerate(zip(operands, out_avals)):
        aval = aval_of(operand)
        if aval.weak_type and aval.dtype != out.dtype:
            dtype, _ = dtypes.lattice_result([(aval.dtype, True), (out.dtype, out.weak_type)])
            if dtype != aval.dtype:
                promoted[i] = convert_element_type(operand, dtype)
                changed = True
    return promoted, [aval_of(o) for o in promoted], changed


def check_carry(
    name: str,
    function: Callable[..., Any],
    tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    out_tree: PyTreeDef,
    out_avals: Sequence[ShapedArray],
) -> None:
    """Raise `CarryError` unless the carry that a body returns has the structure and types of the one it takes."""
    what = f"{name}: {location.of_function(function)} returns a carry that differs from the one it takes"
    if tree != out_tree:
        raise location.error(
            errors.CarryError,
            f"{what}: another structure",
            [("taken", str(tree), ""), ("returned", str(out_tree), "")],
            "return the carry with the containers, lengths and keys of the initial value",
        )
    wrong = [
        (pytree.keystr(path), a, b)
        for path, a, b in zip(pytree.leaf_paths(tree), avals, out_avals)
        if (a.shape, a.dtype) != (b.shape, b.dtype)
    ]
    if not wrong:
        return
    path, taken, returned = wrong[0]
    if taken.shape == returned.shape:
        fix = f"begin with carry{path} of {returned.dtype.name}, or return carry{path}.astype({taken.dtype.name!r})"
    else:
        fix = f"begin with carry{path} of shape {returned.shape}, or return one of shape {taken.shape}"
    raise location.error(
        errors.CarryError,
        f"{what}: other types",
        [(f"carry{p}", f"taken as {a.long()}", f"returned as {b.long()}") for p, a, b in wrong],
        fix,
    )


def with_common_captures(recorded: Sequence[Body]) -> tuple[list[Any], list[Graph]]:
    """All values that some functions close over, and their graphs with these as inputs before the arguments."""
    captured = list({id(value): value for body in recorded for value in body.captured}.values())
    return captured, [_with_captures(body, captured) for body in recorded]


def _with_captures(body: Body, captured: Sequence[Any]) -> Graph:
    graph, own = body.graph, {id(value): var for value, var in zip(body.captured, body.graph.inputs)}
    leading = [own.get(id(value)) or Var(aval_of(value)) for value in captured]
    return Graph([*leading, *graph.inputs[len(body.captured) :]], graph.equations, graph.outputs)


class _Interpreter(threading.local):
    """The function that runs the graphs inside operations; the search for the first NaN replaces it."""

    replay: Callable[[Graph, Sequence[Any]], list[Any]] = staticmethod(replay)


interpreter = _Interpreter()


@contextlib.contextmanager
def replaced(run: Callable[[Graph, Sequence[Any]], list[Any]]) -> Iterator[None]:
    """Run the graphs inside operations by `run`, for a block in this thread."""
    before = interpreter.replay
    interpreter.replay = run
    try:
        with evaluating():
            yield
    finally:
        interpreter.replay = before


@contextlib.contextmanager
def evaluating() -> Iterator[None]:
    """Have NumPy compute all operations, for a block in this thread."""
    before = state.evaluates
    state.evaluates = True
    try:
        yield
    finally:
        state.evaluates = before


def evaluate(graph: Graph, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The graph's results, by NumPy.

    Args:
      values: arrays; they take the avals of the graph's inputs, whose weak types arrays of NumPy do not have.
    """
    literals = [Literal(np.asarray(x), v.aval) for x, v in zip(values, graph.inputs, strict=True)]
    with evaluating():
        results = interpreter.replay(graph, literals)
    return [np.asarray(r.value if isinstance(r, Literal) else r) for r in results]


def runs_in_python(*deciding: Any) -> bool:
    """Whether `disable_jit` is in force, and the values that decide about control flow are known."""
    return bool(config.disable_jit) and not any(isinstance(value, Tracer) for value in deciding)


def number(operand: Operand) -> Any:
    """The value of an operand of rank 0 that is not traced, as a Python number."""
    return np.asarray(operand.value if isinstance(operand, Literal) else operand).item()


def emit_while(
    cx: Any,
    values: Sequence[Any],
    avals: Sequence[ShapedArray],
    condition: Callable[..., Sequence[Any]],
    body: Callable[..., Sequence[Any]],
) -> list[Any]:
    """`stablehlo.while` over `values`; `condition` and `body` are stagec functions of the state."""
    regions = [cx.region(avals, condition), cx.region(avals, body)]
    results: list[Any] = cx.emit_all("stablehlo.while", values, avals=avals, regions=regions)
    return results


def emit_case(cx: Any, index: Any, branches: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
    """`stablehlo.case`; `branches` are stagec functions without arguments."""
    results: list[Any] = cx.emit_all("stablehlo.case", [index], regions=[cx.region([], branch) for branch in branches])
    return results
