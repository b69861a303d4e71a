"""Open dimensions as users write them: `"b, 784"`, `"4*b, n >= 8"`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import errors, location
from stagec.core.dims import Dim, bounds, divided, maximum, minimum, symbol
from stagec.core.dims_terms import Size, Terms, symbols_of
from stagec.core.dims_values import fact_text, symbols

_FIX = "write each dimension as a number, a name, or an expression such as '2*b + 1', 'b >= 8', 'n >= b' or '4*b'"
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "max": maximum,
    "min": minimum,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}
_HIGHEST_POWER = 16


class Scope:
    """The symbols of some specifications that are used together, with the conditions that any of them states.

    >>> scope = Scope()
    >>> scope.shape("b >= 8, 784"), scope.shape("b, 2*b")
    ((b, 784), (b, 2*b))
    >>> b, n = Scope(["n >= b + 2", "n % 4 == 0"]).shape("b, n")
    >>> n > b, n % 4
    (True, 0)
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._limits: dict[str, tuple[int, float]] = {}
        # What symbols are equal to, and pairs of which the first is not less than the second.
        self._equal: dict[str, ast.expr] = {}
        self._pairs: list[tuple[ast.expr, ast.expr]] = []
        self._facts: dict[str, tuple[Terms, ...]] | None = None
        for text in texts:
            self._learn(text)

    def shape(self, text: str) -> tuple[Any, ...]:
        """The sizes in a text; None for `_`, and `...` for the axes that it leaves out."""
        self._learn(text)
        return tuple([self._size(node, text) for node in _parts(text)])

    def _learn(self, text: str) -> None:
        for node in _parts(text):
            if isinstance(node, ast.Compare):
                terms = [node.left, *node.comparators]
                for left, sign, right in zip(terms, node.ops, terms[1:]):
                    self._compare(left, sign, right, text)
        if self._facts is None:
            self._check(text)

    def _compare(self, left: ast.expr, sign: ast.cmpop, right: ast.expr, text: str) -> None:
        """Learn a condition."""
        if isinstance(sign, ast.Eq):
            self._equate(left, right, text)
            return
        if isinstance(sign, (ast.LtE, ast.Lt)):
            left, right = right, left
        elif not isinstance(sign, (ast.GtE, ast.Gt)):
            raise _not_understood(text, f"{ast.unparse(ast.Compare(left, [sign], [right]))!r} is no condition")
        strict = isinstance(sign, (ast.Gt, ast.Lt))
        names = [n.id if isinstance(n, ast.Name) else "" for n in (left, right)]
        numbers = [_number(n) for n in (left, right)]
        if names[0] and numbers[1] is not None and names[0] not in self._equal:
            self._limit(names[0], numbers[1] + strict, math.inf, text)
        elif names[1] and numbers[0] is not None and names[1] not in self._equal:
            self._limit(names[1], 1, numbers[0] - strict, text)
        else:
            self._pairs.append((left, ast.BinOp(right, ast.Add(), ast.Constant(1)) if strict else right))
            self._facts = None

    def _limit(self, name: str, least: int, most: float, text: str) -> None:
        low, high = self._limits.get(name, (1, math.inf))
        low, high = max(low, least), min(high, most)
        # A limit of 0 or less says nothing: all sizes are 1 or more.
        if high < low:
            raise _not_understood(text, f"no size of 1 or more satisfies the bounds of {name}")
        self._limits[name] = low, high
        self._facts = None

    def _equate(self, left: ast.expr, right: ast.expr, text: str) -> None:
        for name, other in ((left, right), (right, left)):
            if isinstance(name, ast.Name) and name.id not in {*self._equal, *self._names(other)}:
                self._equal[name.id] = other
                low, high = self._limits.pop(name.id, (1, math.inf))
                self._pairs.append((other, ast.Constant(low)))
                if high != math.inf:
                    self._pairs.append((ast.Constant(int(high)), other))
                self._facts = None
                return
        if _number(right) is None:
            what = f"{ast.unparse(left)} == {ast.unparse(right)}: one side has to be a symbol that the other has not"
            raise _not_understood(text, what)
        self._pairs += [(left, right), (right, left)]
        self._facts = None

    def _names(self, node: ast.expr) -> set[str]:
        """The symbols in an expression, and in what they are equal to."""
        found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return found.union(*[self._names(self._equal[name]) for name in found & self._equal.keys()])

    def _check(self, text: str) -> None:
        """Refuse conditions that cannot hold."""
        for left, right in self._pairs:
            rest = self._value(left, text, True) - self._value(right, text, True)
            if bounds(rest)[1] < 0:
                what = f"no sizes of 1 or more satisfy {ast.unparse(left)} >= {ast.unparse(right)}"
                raise _not_understood(text, what)

    def _size(self, node: ast.expr, text: str) -> Any:
        if isinstance(node, ast.Constant) and node.value is ...:
            return ...
        if isinstance(node, ast.Name) and node.id == "_":
            return None
        if isinstance(node, ast.Compare):
            names = [n for n in (node.left, *node.comparators) if isinstance(n, ast.Name)]
            if not names:
                raise _not_understood(text, f"{ast.unparse(node)!r} names no size")
            return self._value(names[0], text)
        size = self._value(node, text)
        if not isinstance(size, Dim) and size < 0:
            raise _not_understood(text, f"{size} is negative")
        return size

    def _symbol(self, name: str, text: str, alone: bool) -> Size:
        if name in self._equal:
            return self._value(self._equal[name], text, alone)
        limits = self._limits.get(name, (1, math.inf))
        return symbol(name, *limits) if alone else symbol(name, *limits, self._facts_of(name, text))

    def _facts_of(self, name: str, text: str) -> tuple[Terms, ...]:
        """The facts about a symbol, and about those that they connect it with."""
        if self._facts is None:
            found = [self._value(left, text, True) - self._value(right, text, True) for left, right in self._pairs]
            facts = [rest.terms for rest in found if isinstance(rest, Dim) and bounds(rest)[0] < 0]
            groups: list[tuple[set[str], list[Terms]]] = []
            for fact in facts:
                names = {s.name for s in symbols_of(fact)}
                joined = [group for group in groups if group[0] & names]
                groups = [group for group in groups if not group[0] & names]
                groups.append((names.union(*(g[0] for g in joined)), [*(f for g in joined for f in g[1]), fact]))
            self._facts = {n: tuple(dict.fromkeys(group)) for names, group in groups for n in names}
        return self._facts.get(name, ())

    def _value(self, node: ast.expr, text: str, alone: bool = False) -> Size:
        """The size that an expression is; `alone` leaves out what is known of symbols together."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return self._symbol(node.id, text, alone)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            found = _OPERATORS[type(node.op)](self._value(node.left, text, alone), self._value(node.right, text, alone))
            return found
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and type(node.right.value) is int:
            number, left = node.right.value, self._value(node.left, text, alone)
            if isinstance(node.op, ast.Pow) and 0 <= number <= _HIGHEST_POWER:
                return left**number
            share = divided(left, number) if isinstance(node.op, ast.Div) and number else None
            if share is not None:
                return share
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._value(node.operand, text, alone)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            function = _FUNCTIONS.get(node.func.id)
            if function is not None:
                return function(self._value(node.args[0], text, alone), self._value(node.args[1], text, alone))
        raise _not_understood(text, f"{ast.unparse(node)!r} is no size")


def _number(node: ast.expr) -> int | None:
    """The number that an expression is, with a sign or without."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return None if found is None else -found
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _parts(text: str) -> list[ast.expr]:
    listed = text.strip().rstrip(",").replace("^", "**")  # JAX's sign for powers
    try:
        tree = ast.parse(f"({listed},)" if listed else "()", mode="eval").body
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
    """What is known of the symbols in a shape besides that they are at least 1: `b >= 8`."""
    texts = []
    for found in symbols(size):
        if found.lower != 1:
            texts.append(f"{found.name} >= {found.lower}")
        if found.upper != math.inf:
            texts.append(f"{found.name} <= {found.upper}")
        texts += [text for fact in found.facts if (text := fact_text(fact)) not in texts]
    return ", ".join(texts)
