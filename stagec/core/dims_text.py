"""Open dimensions as users write them: `"b, 784"`, `"4*b, n >= 8"`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import errors, location
from stagec.core.dims import Dim, divided, maximum, minimum, symbol
from stagec.core.dims_terms import Size
from stagec.core.dims_values import symbols

_FIX = "write each dimension as a number, a name, or an expression such as '2*b + 1', 'b >= 8' or '4*b'"
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_HIGHEST_POWER = 16


class Scope:
    """The symbols of some specifications that are used together, with the bounds that any of them states.

    >>> scope = Scope()
    >>> scope.shape("b >= 8, 784"), scope.shape("b, 2*b")
    ((b, 784), (b, 2*b))
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._limits: dict[str, tuple[int, float]] = {}
        for text in texts:
            self._learn(text)

    def shape(self, text: str) -> tuple[Any, ...]:
        """The sizes in a text; None for `_`, and `...` for the axes that it leaves out."""
        self._learn(text)
        return tuple([self._size(node, text) for node in _parts(text)])

    def _learn(self, text: str) -> None:
        for node in _parts(text):
            if isinstance(node, ast.Compare):
                self._limit(node, text)

    def _limit(self, node: ast.Compare, text: str) -> None:
        terms = [node.left, *node.comparators]
        for left, sign, right in zip(terms, node.ops, terms[1:]):
            if isinstance(left, ast.Constant) and isinstance(right, ast.Name):
                left, right = right, left
                sign = {ast.LtE: ast.GtE(), ast.GtE: ast.LtE(), ast.Lt: ast.Gt(), ast.Gt: ast.Lt()}.get(
                    type(sign), sign
                )
            if not (isinstance(left, ast.Name) and isinstance(right, ast.Constant) and type(right.value) is int):
                raise _not_understood(text, f"{ast.unparse(node)!r} is no bound of a symbol by a number")
            number = right.value
            low, high = self._limits.get(left.id, (1, math.inf))
            if isinstance(sign, (ast.GtE, ast.Gt)):
                low = max(low, number + isinstance(sign, ast.Gt))
            elif isinstance(sign, (ast.LtE, ast.Lt)):
                high = min(high, number - isinstance(sign, ast.Lt))
            else:
                raise _not_understood(text, f"{ast.unparse(node)!r} is no bound: use <=, <, >= or >")
            if low < 1 or high < low:
                raise _not_understood(text, f"no size of 1 or more satisfies the bounds of {left.id}")
            self._limits[left.id] = low, high

    def _size(self, node: ast.expr, text: str) -> Any:
        if isinstance(node, ast.Constant) and node.value is ...:
            return ...
        if isinstance(node, ast.Name) and node.id == "_":
            return None
        if isinstance(node, ast.Compare):
            names = [n for n in (node.left, *node.comparators) if isinstance(n, ast.Name)]
            return self._symbol(names[0].id)
        size = self._value(node, text)
        if not isinstance(size, Dim) and size < 0:
            raise _not_understood(text, f"{size} is negative")
        return size

    def _symbol(self, name: str) -> Dim:
        return symbol(name, *self._limits.get(name, (1, math.inf)))

    def _value(self, node: ast.expr, text: str) -> Size:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return self._symbol(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            found = _OPERATORS[type(node.op)](self._value(node.left, text), self._value(node.right, text))
            return found
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and type(node.right.value) is int:
            number, left = node.right.value, self._value(node.left, text)
            if isinstance(node.op, ast.Pow) and 0 <= number <= _HIGHEST_POWER:
                return left**number
            share = divided(left, number) if isinstance(node.op, ast.Div) and number else None
            if share is not None:
                return share
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._value(node.operand, text)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            extreme = {"max": maximum, "min": minimum}.get(node.func.id)
            if extreme is not None:
                return extreme(self._value(node.args[0], text), self._value(node.args[1], text))
        raise _not_understood(text, f"{ast.unparse(node)!r} is no size")


def _parts(text: str) -> list[ast.expr]:
    try:
        tree = ast.parse(f"({text.strip()},)" if text.strip() else "()", mode="eval").body
    except SyntaxError:
        raise _not_understood(text, "it is no list of dimensions") from None
    while isinstance(tree, ast.Tuple) and len(tree.elts) == 1 and isinstance(tree.elts[0], ast.Tuple):
        tree = tree.elts[0]  # the text has parentheses of its own
    return list(tree.elts) if isinstance(tree, ast.Tuple) else [tree]


def _not_understood(text: str, why: str) -> errors.DimensionError:
    return location.error(errors.DimensionError, f"the dimensions {text!r} are not understood: {why}", fix=_FIX)


def sizes(shape: Any) -> Any:
    """A shape in which texts, such as `"b"` in `("b", 784)`, are replaced by the sizes that they name."""
    if isinstance(shape, str):
        return _named(Scope().shape(shape), shape)
    if isinstance(shape, (tuple, list)) and any(isinstance(n, str) for n in shape):
        scope = Scope([n for n in shape if isinstance(n, str)])
        return tuple([_named(scope.shape(n), n)[0] if isinstance(n, str) else n for n in shape])
    return shape


def _named(found: tuple[Any, ...], text: str) -> tuple[Any, ...]:
    for size, sign in ((None, "_"), (..., "...")):
        if any(n is size for n in found):
            raise location.error(
                errors.DimensionError,
                f"the dimensions {text!r} have {sign!r}, which only `dynamic` has: there, the argument has the size",
                fix="write a number, or a name such as b for an open dimension",
            )
    return found


def limits(size: Any) -> str:
    """The bounds of the symbols in a shape, where they say more than that a size is at least 1: `b >= 8`."""
    texts = []
    for found in symbols(size):
        if found.lower != 1:
            texts.append(f"{found.name} >= {found.lower}")
        if found.upper != math.inf:
            texts.append(f"{found.name} <= {found.upper}")
    return ", ".join(texts)
