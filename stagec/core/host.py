"""Callbacks in graphs: Python functions of the user, and functions of NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.lossy import lost_meaning
from stagec.core.trace import current


class HostCallback:
    """A Python function, and the form of its arguments and results.

    Equal only to itself: two programs with the same steps share their compiled
    code, and each calls its own functions.

    Args:
      name: what the user called to get it, for messages.
      function: the user's.
      in_avals, in_tree: leaves and structure of `(args, kwargs)`.
      out_avals: leaves of the results; None where they do not matter.
    """

    __slots__ = ("function", "in_avals", "in_tree", "location", "name", "out_avals")

    # Whether it may run in any thread, reads NumPy arrays of the program's own memory, and keeps none of them.
    in_place = False

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        in_avals: Sequence[ShapedArray],
        in_tree: pytree.PyTreeDef,
        out_avals: Sequence[ShapedArray] | None,
    ) -> None:
        self.name = name
        self.function = function
        self.in_avals = tuple(in_avals)
        self.in_tree = in_tree
        self.out_avals = None if out_avals is None else tuple(out_avals)
        self.location = location.capture()

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Call the function on arrays, outside of every trace; its results as NumPy arrays of the promised avals.

        Raises:
          CallbackError: the function returned something else than it promised.
        """
        before = location.ambient.location
        location.ambient.location = None
        try:
            with current(None):
                args, kwargs = self.in_tree.unflatten(leaves)
                results = self.function(*args, **kwargs)
                return [] if self.out_avals is None else self._checked(results, self.out_avals)
        finally:
            location.ambient.location = before

    def _checked(self, results: Any, avals: Sequence[ShapedArray]) -> list[np.ndarray[Any, Any]]:
        found, _ = pytree.flatten_with_path(results)
        if len(found) != len(avals):
            raise self._error(
                f"returned {len(found)} arrays where {len(avals)} were promised",
                [
                    ("promised", ", ".join(a.long() for a in avals) or "nothing", ""),
                    ("returned", errors.brief(results), ""),
                ],
            )
        return [self._array(leaf, aval, path) for (path, leaf), aval in zip(found, avals)]

    def _array(self, leaf: Any, aval: ShapedArray, path: pytree.Path) -> np.ndarray[Any, Any]:
        if type(leaf) in (bool, int, float, complex):
            kind, weak = dtypes.python_scalar_dtype(type(leaf))
            if dtypes.lattice_result([(kind, weak), (aval.dtype, False)])[0] == aval.dtype:
                leaf = np.asarray(leaf, aval.dtype)
        of: type = type(leaf)
        what, _ = lost_meaning(of)
        if what:
            raise self._error(f"returned something that is not an array: {what}", [])
        array = np.asarray(leaf)
        if array.dtype != aval.dtype and _narrowed(array.dtype) == aval.dtype:
            array = array.astype(aval.dtype)
        if array.dtype != aval.dtype or array.shape != aval.shape:
            given = f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
            raise self._error(
                f"returned {given} where {aval.long()} was promised",
                [(f"result{pytree.keystr(path)}", errors.brief(leaf), "")],
            )
        return array

    def _error(self, what: str, rows: list[tuple[str, str, str]]) -> errors.CallbackError:
        return errors.CallbackError(
            errors.message(
                f"{self.name}: {location.of_function(self.function)} {what}",
                str(self.location),
                rows,
                "return arrays of the promised shapes and dtypes, or change result_shape_dtypes",
            )
        )

    def symbol(self, i: int) -> str:
        """The name of the i-th callback of a program in its module."""
        return f"callback{i}"

    def fingerprint(self) -> str:
        """Its part of a program's digest: empty, since its avals are those of the equation."""
        return ""

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


class LibraryCall(HostCallback):
    """The evaluation of a primitive, by NumPy or SciPy, which a program calls.

    It has no state and keeps no arguments, so it may read the program's own memory. The primitive and its parameters
    say what it computes, so that a program in the disk cache serves every process.

    Args:
      primitive, params: what is evaluated.
      in_avals, out_avals: of the operands and of the results.
    """

    __slots__ = ("params", "primitive")

    in_place = True

    def __init__(
        self,
        primitive: Any,
        params: dict[str, Any],
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> None:
        tree = pytree.structure((tuple(range(len(in_avals))), {}))
        super().__init__(primitive.name, primitive.eval, in_avals, tree, out_avals)
        self.primitive = primitive
        self.params = params

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Evaluate NumPy arrays."""
        with np.errstate(all="ignore"):
            found = self.function(*leaves, **self.params)
        results = found if self.primitive.multiple else [found]
        return [np.asarray(r, a.dtype) for r, a in zip(results, self.out_avals or (), strict=True)]

    def symbol(self, i: int) -> str:
        return f"{self.name}{i}"

    def fingerprint(self) -> str:
        """The parameters; the primitive is the equation's."""
        return repr(sorted(self.params.items()))

    def __repr__(self) -> str:
        return "library"


class Exchange(HostCallback):
    """What a program says to the other processes: a function of one NumPy array that returns another."""

    __slots__ = ()

    in_place = True

    def __init__(
        self, name: str, function: Callable[[Any], Any], in_aval: ShapedArray, out_avals: tuple[ShapedArray]
    ) -> None:
        super().__init__(name, function, [in_aval], pytree.structure(((0,), {})), out_avals)

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Call the function."""
        return [self.function(*leaves)]


def _narrowed(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    try:
        return dtypes.canonicalize(dtype)
    except errors.DtypeError:
        return None
