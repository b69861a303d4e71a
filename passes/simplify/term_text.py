"""Laws of scalars as terms: `xor_itself = law("x ^ x -> 0")`.

A law's text is what it does and what people read: one or more rewrites, then sentences for readers.

    left -> right [and left -> right ...] [for kinds] [where condition] [; ...] [. Sentences.]

Terms are Python's expressions over operations of StableHLO and CHLO: operators, comparisons, and calls by the
operations' names or the shorter ones of `_SHORT`. What stands in them:

- `x`, `y`, `p`, ...: any value, the same one in each place. `v` is one that is no constant.
- `c`, `d`: constants, which constant folding combines later. `m`, `n`: numbers that fill constants; on the right,
  arithmetic of them is Python's, and its result wraps as integers do.
- `1`, `-0.0`, `true`: a constant that repeats this number, zeros by their sign; `zero` is one of either sign, `ones`
  has all bits set.
- `[x + c]`: an operation whose result nothing else reads.
- `f(x)`: one of several operations, which `for` names.

Operands of commutative operations match in either order, and so do comparisons in the other direction; only constants
with names stand second, where `constant_second` puts them. A term that
stands on the left is not built again on the right. `for` says of which kind a value is, by default x (`for integers,
floats y`), or which operations a function stands for: those with a property in the table of operations (`for odd f`),
for a property that names an operation also that one (`for dual f g`), or those that are listed (`for f in sqrt|rsqrt`,
`for f in LT|LE`; `for exchanged f g` and `for opposite f g` are comparisons and their partners). `where` is a condition
of Python, in which a number is itself and any other value what `passes.analysis.facts` knows of it; `bits`, `smallest`
and `largest` describe the type of the first operand. A law does not fire where the right side would have operands of
different types.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from passes import attributes as attrs, operations
from passes.match import is_boolean, is_complex, is_floating, is_integer, is_real, is_unsigned

_SHORT = {
    "max": "maximum", "min": "minimum", "exp": "exponential", "expm1": "exponential_minus_one", "log1p": "log_plus_one",
    "sin": "sine", "cos": "cosine",
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Mod: "remainder",
    ast.Pow: "power", ast.LShift: "shift_left", ast.RShift: "shift_right_arithmetic",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.USub: "negate", ast.Invert: "not",
}  # fmt: skip
_DIRECTIONS = {ast.Eq: "EQ", ast.NotEq: "NE", ast.Lt: "LT", ast.LtE: "LE", ast.Gt: "GT", ast.GtE: "GE"}
COMPARE = "stablehlo.compare"
_LITERALS = {"true": 1, "false": 0, "zero": "zero", "ones": "ones"}
CONSTANTS, NUMBERS = frozenset("cd"), frozenset("mn")
KINDS: dict[str, Callable[[Any], bool]] = {
    "booleans": is_boolean,
    "complex": is_complex,
    "floats": is_floating,
    "integers": is_integer,
    "numbers": is_real,
    "real": lambda value: not is_complex(value),
    "signed": lambda value: is_real(value) and not is_unsigned(value),
    "signed_integers": lambda value: is_integer(value) and not is_unsigned(value),
}
WORDS = {name: getattr(math, name) for name in ("inf", "isfinite", "log")}
_OF_NUMBERS = NUMBERS | WORDS.keys() | {"bits"}


@dataclasses.dataclass(eq=False, slots=True)
class Var:
    """A value, by its name."""

    name: str


@dataclasses.dataclass(eq=False, slots=True)
class Literal:
    """A constant that repeats a number, `"zero"` or `"ones"`; on the right also the code of an expression."""

    number: Any


@dataclasses.dataclass(eq=False, slots=True)
class Op:
    """An operation; `once` if nothing else may read its result."""

    name: str
    operands: tuple[Any, ...]
    direction: str = ""
    once: bool = False

    @property
    def commutes(self) -> bool:
        """Whether operands may be exchanged, of a comparison together with its direction.

        Constants stand second, as other laws see to. Two values are compared in the order in which they stand, unless
        they are compared for equality.
        """
        if any(isinstance(operand, Var) and operand.name in CONSTANTS | NUMBERS for operand in self.operands):
            return False
        if self.direction in ("", "EQ", "NE"):
            return bool(self.direction) or operations.of(self.name).commutative
        return not all(isinstance(operand, Var) for operand in self.operands)


Term: TypeAlias = "Var | Literal | Op"


class Rewrite:
    """One `left -> right`, whose equal terms are one object, whatever the order of commutative operands.

    Attributes:
      names: the operations that the names of functions stand for.
      kinds: kinds of values, by the values' names.
      where: the condition, as text.
      left: the term of the left side.
    """

    def __init__(self, text: str, names: dict[str, str], kinds: dict[str, str], where: str) -> None:
        self.names, self.kinds, self.where = names, kinds, where
        self._known: dict[Any, Term] = {}
        left, self._right = text.split(" -> ")
        found = self._of(ast.parse(left, mode="eval").body, False)
        if not isinstance(found, Op):
            raise SyntaxError(f"{left} is no operation")
        self.left = found

    @property
    def right(self) -> Term:
        """The term of the right side, in which arithmetic with numbers is code; parsed when it is asked for."""
        return self._of(ast.parse(self._right, mode="eval").body, not self._known.keys().isdisjoint(NUMBERS))

    def _of(self, node: Any, arithmetic: bool) -> Term:
        kind = type(node)
        if kind is ast.Name:
            if node.id in _LITERALS:
                return Literal(_LITERALS[node.id])
            return self._known.setdefault(node.id, Var(node.id))
        if kind is ast.Constant:
            return Literal(node.value)
        if kind is ast.UnaryOp and type(node.operand) is ast.Constant:
            return Literal(-node.operand.value)  # type: ignore[operator]
        if arithmetic and {n.id for n in ast.walk(node) if type(n) is ast.Name} <= _OF_NUMBERS:
            return Literal(compile(ast.Expression(node), "<law>", "eval"))
        if kind is ast.BinOp:
            return self._op(_full_name(type(node.op)), (node.left, node.right), arithmetic)
        if kind is ast.UnaryOp:
            return self._op(_full_name(type(node.op)), (node.operand,), arithmetic)
        if kind is ast.Call:
            name = self.names.get(node.func.id) or _full_name(node.func.id)
            is_direction = name in attrs.EXCHANGED
            return self._op(COMPARE if is_direction else name, node.args, arithmetic, name if is_direction else "")
        if kind is ast.Compare and len(node.ops) == 1:
            return self._op(COMPARE, (node.left, *node.comparators), arithmetic, _DIRECTIONS[type(node.ops[0])])
        if kind is ast.List and len(node.elts) == 1:
            found = self._of(node.elts[0], arithmetic)
            assert isinstance(found, Op), "brackets enclose an operation"
            return dataclasses.replace(found, once=True)
        raise SyntaxError(f"{ast.unparse(node)} is no term")

    def _op(self, name: str, operands: Iterable[ast.expr], arithmetic: bool, direction: str = "") -> Term:
        made = Op(name, tuple([self._of(operand, arithmetic) for operand in operands]), direction)
        ids = map(id, made.operands)
        return self._known.setdefault((name, direction, *(sorted(ids) if made.commutes else ids)), made)


def rewrites(text: str) -> Iterator[Rewrite]:
    """The rewrites of a law's text; a text that is no law raises one of several errors."""
    for group in text.removesuffix(".").partition(". ")[0].split("; "):
        group, _, where = group.partition(" where ")
        group, _, qualities = group.partition(" for ")
        kinds, functions = _qualities(qualities)
        for rewrite in group.split(" and "):
            yield from (Rewrite(rewrite, names, kinds, where) for names in functions)


def _qualities(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """What follows `for`: kinds by the names of values, and the operations that the names of functions stand for."""
    kinds: dict[str, str] = {}
    functions: list[dict[str, str]] = [{}]
    for quality in text.split(", ") if text else ():
        first, *rest = quality.split()
        if first.partition("|")[0] in KINDS:
            kinds[rest[0] if rest else "x"] = first
            continue
        if rest[0] == "in":
            choices = [{first: name if name in attrs.EXCHANGED else _full_name(name)} for name in rest[1].split("|")]
        elif first in ("exchanged", "opposite"):
            choices = [dict(zip(rest, pair)) for pair in getattr(attrs, first.upper()).items()]
        else:
            rows = [row for row in operations.TABLE.values() if getattr(row, first) and rest]
            choices = [dict(zip(rest, (row.name, getattr(row, first)))) for row in rows]
        functions = [{**names, **choice} for names in functions for choice in choices]
    return kinds, functions


def _full_name(name: Any) -> str:
    short = _SHORT.get(name, name)
    for full in (f"stablehlo.{short}", f"chlo.{short}"):
        if full in operations.TABLE:
            return full
    raise SyntaxError(f"there is no operation {short}")
