"""Functions of pytrees as functions of flat operands, for the transformations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.api.arguments import ArgumentRules, ShapeDtypeStruct, leaf_value
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.dtypes import float0
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.core.zero import differentiable, is_zero, no_tangent
from stagec.primitives.broadcast import spread_to, zeros
from stagec.primitives.convert import as_array, convert_element_type_p
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref
from stagec.transforms.jvp import JvpTracer


class FlatFunction:
    """A function of pytrees as one of flat operands.

    Args:
      tree: of `(args, kwargs)`.
      has_aux: the function returns a pair, whose second part is kept as `aux`.
    """

    def __init__(self, function: Callable[..., Any], tree: pytree.PyTreeDef, has_aux: bool = False) -> None:
        self.function = function
        self.tree = tree
        self.has_aux = has_aux
        self.out_tree: pytree.PyTreeDef = pytree.LEAF
        self._aux: tuple[list[Any], pytree.PyTreeDef] = ([], pytree.LEAF)

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.tree.unflatten([given(v) for v in leaves])
        result = self.function(*args, **kwargs)
        if self.has_aux:
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise location.error(
                    errors.OutputTypeError,
                    f"has_aux=True needs {location.of_function(self.function)} to return (result, aux)",
                    fix="return a pair, or leave has_aux out",
                )
            result, aux = result
            found, tree = pytree.flatten(aux)
            self._aux = [_without_tangent(v) for v in found], tree
        found, self.out_tree = pytree.flatten_with_path(result)
        return [_result(self.function, path, v) for path, v in found]

    @property
    def aux(self) -> Any:
        """What the function returned in addition to its result."""
        leaves, tree = self._aux
        return tree.unflatten([as_array(v) if isinstance(v, Literal) else v for v in leaves])


def given(value: Any) -> Any:
    """An operand as what a user's function takes."""
    return value if isinstance(value, (ArrayOperators, Ref)) else as_array(value)


def with_references(leaves: Sequence[Any], refs: Mapping[int, Any]) -> list[Any]:
    """Leaves, with the values of `refs` inserted at their positions."""
    remaining = iter(leaves)
    return [refs[i] if i in refs else next(remaining) for i in range(len(leaves) + len(refs))]


def _without_tangent(leaf: Any) -> Any:
    return given(leaf.primal) if type(leaf) is JvpTracer and leaf._trace is state.trace else leaf


def _result(function: Callable[..., Any], path: pytree.Path, leaf: Any) -> Any:
    value = leaf_value(leaf)
    if value is None or isinstance(value, ShapeDtypeStruct):
        raise location.error(
            errors.OutputTypeError,
            f"{location.of_function(function)} returned something that is not an array or a number",
            [(f"result{pytree.keystr(path)}", errors.brief(leaf), errors.a_kind(type(leaf)))],
            "return arrays, numbers, or containers of them; has_aux=True passes other values through",
        )
    return value


def operand(leaf: Any, name: str) -> Any:
    """A leaf of an argument as an operand.

    Raises:
      ArgumentTypeError: it is not an array or a number.
    """
    try:
        value = leaf_value(leaf)
    except errors.ArgumentTypeError as error:
        raise errors.about(f"argument {name}", error) from None
    if value is None or isinstance(value, ShapeDtypeStruct):
        raise location.error(
            errors.ArgumentTypeError,
            f"argument {name} is not an array or a number",
            [(name, errors.brief(leaf), errors.a_kind(type(leaf)))],
            "pass other values through functools.partial or a closure",
        )
    return value


def leaf_names(function: Callable[..., Any], args: Sequence[Any], nums: Sequence[int] | None = None) -> list[str]:
    """`params['w'][0]` for each leaf of the arguments, or of those at `nums`."""
    rules = ArgumentRules(function)
    chosen = range(len(args)) if nums is None else nums
    return [
        rules.argument_name(n) + pytree.keystr(path) for n in chosen for path, _ in pytree.flatten_with_path(args[n])[0]
    ]


def positions(argnums: int | Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """`argnums` as positions counted from the front.

    Raises:
      TypeError: there are fewer arguments, or the positions are not integers.
    """
    wanted = (argnums,) if isinstance(argnums, (int, np.integer)) else argnums
    if not isinstance(wanted, (tuple, list)) or not all(isinstance(n, (int, np.integer)) for n in wanted):
        what, fix = f"{name}: argnums={argnums!r}", "give an integer, or a tuple of them"
        raise location.error(TypeError, what, fix=fix)
    for n in wanted:
        if not -count <= n < count:
            raise location.error(
                TypeError,
                f"{name}: argnums={argnums} needs more positional arguments than the {count} given",
                fix="pass differentiated arguments by position",
            )
    return tuple([int(n) % count for n in wanted])


def as_tangent(tangent: Any, aval: ShapedArray) -> Any:
    """A tangent or cotangent of a value, or None, as users get it."""
    if not differentiable(aval):
        return no_tangent(aval)
    if tangent is None or is_zero(tangent):
        out: Any = zeros(aval.strip_weak_type())
    else:
        out = spread_to(tangent, aval.shape)
    if aval.weak_type and aval_of(out) is not aval:
        # The row, as the function would narrow 64 bits after the block of `enable_x64` that the value is from.
        out = convert_element_type_p(out, new_dtype=aval.dtype, weak_type=True)
    return as_array(out)


def is_float0(leaf: Any) -> bool:
    """Whether a leaf is the tangent of a value without derivatives."""
    return getattr(leaf, "dtype", None) == float0
