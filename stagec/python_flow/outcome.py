"""What a program of `jit(python=True)` returns, and what becomes of it where the program is compiled ahead of time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from stagec.core import containers, errors, location, pytree


class Outcome:
    """What a program returns: the function's result, new values of arguments, and the number of a failed check.

    Args:
      positions: of the arguments' leaves whose new values these are.
      unclear: of leaves that may have been changed under another name, with the line where.
      exceptions: by the number of their check, from 1.
    """

    def __init__(self, result: Any, changed: Any, failed: Any, positions: Any, unclear: Any, exceptions: Any) -> None:
        self.result, self.changed, self.failed = result, changed, failed
        self.positions, self.unclear, self.exceptions = positions, unclear, exceptions


containers.register(
    Outcome,
    containers.Node(
        lambda o: ((o.result, o.changed, o.failed), (o.positions, o.unclear, o.exceptions)),
        lambda about, parts: Outcome(*parts, *about),
    ),
)


def result_of(out: Any) -> Any:
    """The function's own part of what a program returns."""
    return out.result if type(out) is Outcome else out


def ambiguous(where: str) -> errors.StagecError:
    """The error where only the program knows whether an array is the one that a name stands for."""
    return location.error(
        errors.UnsupportedError,
        "an array is used that may have been changed under another name: whether both names are one array is decided "
        f"when the program runs ({where})",
        fix="give the name an array of its own before the loop or the branch, as in x = x.copy()",
    )


def ahead_of_time(name: str, leaf_names: Sequence[str], tree: pytree.PyTreeDef) -> pytree.PyTreeDef:
    """The structure of what a program returns to callers who have no function of Python's, which would write and raise.

    It is the function's result; where the function writes its arguments, a pair of the result and of their new values,
    by the names of the arguments.

    Args:
      name: the function's.
      leaf_names: those of the arguments' leaves.
      tree: of what the program returns.

    Raises:
      UnsupportedError: the function raises where traced values decide.
    """
    data = tree.node_data()
    if data is None or data[0] is not Outcome:
        return tree
    out = tree.unflatten([0] * tree.num_leaves)
    if out.exceptions:
        raise location.error(
            errors.UnsupportedError,
            f"{name} raises an exception where traced values decide, which a program compiled ahead of time cannot",
            [("exception", repr(exception), "") for exception in out.exceptions],
            "return the condition as a result, and raise where the program is called",
        )
    for _, line in out.unclear:
        raise ambiguous(line)
    return pytree.structure((out.result, OrderedDict((leaf_names[i], 0) for i in out.positions)))
