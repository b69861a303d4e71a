"""Along which axes of a `shard_map` the values of a recorded function differ, and loops whose carries change that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control.bodies import Body
from stagec.core import errors, location, pytree
from stagec.core.axis import typed_axes
from stagec.core.graph import Equation, Graph, Literal, all_equations, inner_graphs
from stagec.transforms.varying import varies

# Whether the results of operations along an axis differ along it; those of others do where an operand does.
_ALONG = {
    "all_gather": False, "axis_index": True, "own_part": True, "pmax": False, "pmin": False, "ppermute": True,
    "psum": False, "pvary": True, "sum_of_varying": False,
}  # fmt: skip


def check_variation(
    name: str,
    function: Callable[..., Any],
    tree: pytree.PyTreeDef,
    operands: Sequence[Any],
    body: Body,
    others: Sequence[Any] = (),
) -> None:
    """Raise `CarryError` where a user's function returns a carry that differs along other axes than the one it takes.

    Nothing is raised where that is not known, as inside of a jitted function.

    Args:
      name: of the loop.
      operands: the carry's initial leaves.
      others: the operands around the carry, whose rows the function takes after it.
    """
    axes = typed_axes()
    if not axes or getattr(function, "__module__", "").partition(".")[0] == "stagec":
        return
    wrong = []
    for axis in axes:
        carry = [varies(o, axis) for o in operands]
        first = len(body.graph.inputs) - len(body.captured) - len(carry) - len(others)  # as the index of a fori_loop
        given = [varies(c, axis) for c in body.captured] + [False] * first + carry + [varies(o, axis) for o in others]
        found = _varying(body.graph, given, axis)
        rows = zip(pytree.leaf_paths(tree), carry, found)
        wrong += [(path, axis, after) for path, a, after in rows if None not in (a, after) and a != after]
    if not wrong:
        return
    words: dict[bool | None, str] = {False: "the same along", True: "differs along"}
    path, axis, after = wrong[0]
    raise location.error(
        errors.CarryError,
        f"{name}: {location.of_function(function)} returns a carry that differs between devices along other axes than "
        "the one it takes",
        [
            (f"carry{pytree.keystr(p)}", f"taken as {words[not a]} {n!r}", f"returned as {words[a]} {n!r}")
            for p, n, a in wrong
        ],
        f"{'begin with' if after else 'return'} stagec.lax.pcast(x, {axis!r}, to='varying') in place of x, which is "
        f"carry{pytree.keystr(path)}",
    )


def _varying(graph: Graph, given: Sequence[bool | None], axis: Any) -> list[bool | None]:
    """Which results differ along an axis, for inputs that do; None where that is not known."""
    known: dict[Any, bool | None] = dict(zip(graph.inputs, given, strict=True))
    for e in graph.equations:
        operands = [False if type(a) is Literal else known.get(a) for a in e.inputs]
        known.update(zip(e.outputs, _of_operation(e, operands, axis)))
    return [False if type(a) is Literal else known.get(a) for a in graph.outputs]


def _of_operation(e: Equation, operands: Sequence[bool | None], axis: Any) -> list[bool | None]:
    params, name = e.params, e.primitive.name
    joint = True if True in operands else None if None in operands else False
    if name == "jit":
        return _varying(params["graph"], operands, axis)
    if "axis_name" in params:
        if name == "alike":
            joint = operands[1]
        elif params["axis_name"] == axis:
            joint = _ALONG.get(name)
        elif name not in _ALONG:
            joint = None
    elif any("axis_name" in inner.params for graph in inner_graphs(e) for inner in all_equations(graph)):
        joint = None
    return [joint] * len(e.outputs)
