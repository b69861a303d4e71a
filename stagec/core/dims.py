"""Sizes of open dimensions: expressions of symbols that stand for any size, such as `2*b + 1`.

An expression is a polynomial in normal form. Equal polynomials are one object; expressions that write quotients
differently are compared for each remainder of their symbols. So an aval that holds one is interned like any other.
Where a size must be a number, and where a comparison has no answer that is right for every size, there is an error
that names the user's line.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import FrameType
from typing import Any

from stagec.core import dims_facts, dims_residues, dims_terms, errors, location
from stagec.core.dims_terms import Function, Monomial, Size, Symbol, Terms, Variable, order, polynomial_text, symbols_of


class Dim:
    """A size as a polynomial of symbols that is not a constant; arithmetic that ends in a constant returns an int.

    >>> b = symbol("b")
    >>> 2 * b + 1, (4 * b) // 2, (4 * b + 2) % 4, b * b - b == b * (b - 1)
    (2*b + 1, 2*b, 2, True)
    """

    __slots__ = ("_bounds", "_hash", "terms")
    terms: Terms
    _hash: int
    _bounds: tuple[float, float]
    _interned: dict[Any, Dim] = {}  # noqa: RUF012

    def __reduce__(self) -> Any:
        return _restored, (self.terms,)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: Any) -> Dim:
        return self

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return _arithmetic(self, other, "+", lambda x, y: _combined(x, y, 1))

    def __radd__(self, other: Any) -> Any:
        return _arithmetic(other, self, "+", lambda x, y: _combined(x, y, 1))

    def __sub__(self, other: Any) -> Any:
        return _arithmetic(self, other, "-", lambda x, y: _combined(x, y, -1))

    def __rsub__(self, other: Any) -> Any:
        return _arithmetic(other, self, "-", lambda x, y: _combined(x, y, -1))

    def __mul__(self, other: Any) -> Any:
        return _arithmetic(self, other, "*", _product)

    def __rmul__(self, other: Any) -> Any:
        return _arithmetic(other, self, "*", _product)

    def __floordiv__(self, other: Any) -> Any:
        return _arithmetic(self, other, "//", lambda x, y: _divided(x, y)[0])

    def __rfloordiv__(self, other: Any) -> Any:
        return _arithmetic(other, self, "//", lambda x, y: _divided(x, y)[0])

    def __mod__(self, other: Any) -> Any:
        return _arithmetic(self, other, "%", lambda x, y: _divided(x, y)[1])

    def __rmod__(self, other: Any) -> Any:
        return _arithmetic(other, self, "%", lambda x, y: _divided(x, y)[1])

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Dim:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other >= 0:
            return functools.reduce(lambda x, y: x * y, [self] * other, 1)
        return as_array(self) ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** as_array(self)

    def __truediv__(self, other: Any) -> Any:
        return as_array(self) / as_array(other)

    def __rtruediv__(self, other: Any) -> Any:
        return as_array(other) / as_array(self)

    # Comparisons.

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if not isinstance(other, (Dim, int)) or isinstance(other, bool):
            return NotImplemented
        if _is_same(self, other):
            return True
        _check_differ(self, other, f"{self} == {other}", sys._getframe(1))
        return False

    def __ne__(self, other: object) -> Any:
        if self is other:
            return False
        if not isinstance(other, (Dim, int)) or isinstance(other, bool):
            return NotImplemented
        if _is_same(self, other):
            return False
        _check_differ(self, other, f"{self} != {other}", sys._getframe(1))
        return True

    def __hash__(self) -> int:
        if not location.is_internal(sys._getframe(1).f_code.co_filename):
            raise _needs_key(self)
        return self._hash

    def __lt__(self, other: Any) -> bool:
        return not _at_least(self, other, f"{self} < {other}")

    def __ge__(self, other: Any) -> bool:
        return _at_least(self, other, f"{self} >= {other}")

    def __gt__(self, other: Any) -> bool:
        return not _at_least(other, self, f"{self} > {other}")

    def __le__(self, other: Any) -> bool:
        return _at_least(other, self, f"{self} <= {other}")

    def __bool__(self) -> bool:
        _check_differ(self, 0, f"{self} != 0", sys._getframe(1))
        return True

    # What needs a number.

    def __int__(self) -> int:
        raise _needs_number(self, "int()")

    def __index__(self) -> int:
        raise _needs_number(self, "an integer")

    def __float__(self) -> float:
        raise _needs_number(self, "float()")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Operators of NumPy's arrays and numbers are those of the size; it has no other functions of NumPy's."""
        names = _UFUNCS.get(ufunc.__name__)
        if names is None or method != "__call__" or kwargs or len(inputs) != 2:
            raise _needs_array(self, ufunc.__name__)
        x, y = inputs
        found = getattr(x, names[0])(y) if isinstance(x, Dim) else getattr(y, names[1])(x)
        if found is NotImplemented and ufunc.__name__ in ("equal", "not_equal"):
            return ufunc.__name__ == "not_equal"
        return found

    def __jax_array__(self) -> Any:
        return as_array(self)

    # Text.

    def __str__(self) -> str:
        return polynomial_text(self.terms)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


# The methods for NumPy's functions that are operators: by the left operand, and by the right one.
_UFUNCS = {
    **{
        name: (f"__{sign}__", f"__r{sign}__")
        for name, sign in (
            *(("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("divide", "truediv"), ("power", "pow")),
            *(("floor_divide", "floordiv"), ("remainder", "mod"), ("divmod", "divmod")),
        )
    },
    **{"less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"), "equal": ("__eq__", "__eq__")},
    **{"greater": ("__gt__", "__lt__"), "greater_equal": ("__ge__", "__le__"), "not_equal": ("__ne__", "__ne__")},
}
_EMPTY: Monomial = ()


def _terms(size: Size | Fraction) -> dict[Monomial, Fraction]:
    if isinstance(size, Dim):
        return dict(size.terms)
    return {_EMPTY: Fraction(size)} if size else {}


def _made(terms: Mapping[Monomial, Fraction]) -> Any:
    left = {m: c for m, c in terms.items() if c}
    for monomial, coefficient in left.items():
        whole = _whole(monomial, coefficient)
        if whole is not None:
            del left[monomial]
            return _made(left) + whole
    if not left:
        return 0
    if len(left) == 1 and _EMPTY in left:
        constant = left[_EMPTY]
        return int(constant) if constant.denominator == 1 else constant
    found = _restored(tuple(sorted(left.items(), key=order)))
    low, high = found._bounds
    # A symbol whose bounds are equal is still a symbol.
    is_constant = low == high and any(isinstance(v, Function) or v.facts for monomial in left for v, _ in monomial)
    return int(low) if is_constant and is_whole(found) else found


def _whole(monomial: Monomial, coefficient: Fraction) -> Any:
    """`k*(x//k)` as `x - x%k`, which has closer bounds; None for another term."""
    for variable, power in monomial:
        if isinstance(variable, Function) and variable.kind == "//" and not isinstance(variable.right, Dim):
            times = coefficient / variable.right
            if power == 1 and times.denominator == 1:
                others = _made({tuple(item for item in monomial if item[0] is not variable): times})
                rest = _made({((Function("%", variable.left, variable.right), 1),): Fraction(1)})
                return others * (variable.left - rest)
    return None


def _restored(terms: Terms) -> Dim:
    found = Dim._interned.get(terms)
    if found is None:
        found = object.__new__(Dim)
        found.terms = terms
        found._hash = _hash(terms)
        found._bounds = _by_facts(terms, _by_remainders(terms, _closer(terms, _polynomial_bounds(terms))))
        found = Dim._interned.setdefault(terms, found)
    return found


def _hash(terms: Terms) -> int:
    """Equal for expressions that are equal for all numbers, however they are written."""
    try:
        return hash(("dim", dims_residues.sample(terms)))
    except ZeroDivisionError:
        return hash(("dim", terms))


def _is_same(x: Dim, y: Size) -> bool:
    """Whether two expressions in different forms are known to be equal."""
    if not isinstance(y, Dim) or x._hash != y._hash:
        return False
    rest = x - y
    return not isinstance(rest, Dim) and rest == 0


def _of(variable: Variable) -> Dim:
    return _restored(((((variable, 1),), Fraction(1)),))


def _is_integer(value: Any) -> bool:
    return isinstance(value, Dim) or (hasattr(value, "__index__") and not hasattr(value, "aval"))


def _arithmetic(x: Any, y: Any, sign: str, apply: Callable[[Any, Any], Any]) -> Any:
    """The result for two sizes; with a float or an array, the size becomes an array."""
    if _is_integer(x) and _is_integer(y) and not hasattr(x, "shape") and not hasattr(y, "shape"):
        return apply(x if isinstance(x, Dim) else int(x), y if isinstance(y, Dim) else int(y))
    if hasattr(x, "aval") or hasattr(y, "aval"):
        return NotImplemented  # the array's own method converts the size
    return _with_array(x, y, sign)


def _with_array(x: Any, y: Any, sign: str) -> Any:
    for size, other in ((x, y), (y, x)):
        if isinstance(other, (list, tuple, str, bytes)):  # [0] * b repeats it
            raise _needs_number(size, "an integer")
    return _OPERATORS[sign](as_array(x), as_array(y))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _combined(x: Any, y: Any, sign: int) -> Any:
    terms = _terms(x)
    for monomial, coefficient in _terms(y).items():
        terms[monomial] = terms.get(monomial, Fraction(0)) + sign * coefficient
    return _made(terms)


def _product(x: Size | Fraction, y: Size | Fraction) -> Any:
    terms: dict[Monomial, Fraction] = {}
    for m, c in _terms(x).items():
        for n, d in _terms(y).items():
            monomial = dims_terms.times(m, n)
            terms[monomial] = terms.get(monomial, Fraction(0)) + c * d
    return _made(terms)


def _divided(x: Size, y: Size) -> tuple[Any, Any]:
    """Quotient and remainder, as in Python."""
    if not isinstance(y, Dim) and y == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    for monomial, coefficient in _terms(x).items():
        variable = monomial[0][0] if monomial else None
        if isinstance(variable, Function) and (variable.kind, variable.right, int(coefficient)) == ("%", y, -1):
            left = variable.left
            if x + _of(variable) == left:  # (n - n%k) // k is n // k
                return _of(Function("//", left, y)), 0
    quotient, rest = _quotient(x, y)
    if not isinstance(rest, Dim) and rest == 0:
        return quotient, 0
    low, high = bounds(rest)
    if low >= 0 and high < bounds(y)[0]:
        return quotient, rest
    if not isinstance(rest, Dim) and not isinstance(y, Dim):
        return quotient + rest // y, rest % y
    return quotient + _of(Function("//", rest, y)), _made({((Function("%", rest, y), 1),): Fraction(1)})


def _quotient(x: Size, y: Size) -> tuple[Any, Any]:
    """`(q, r)` with `x == q*y + r` and whole coefficients in `q`, and `r` as short as polynomial division makes it."""
    divisor = sorted(_terms(y).items(), key=order)
    lead, factor = divisor[0]
    quotient: Any = 0
    rest: Any = x
    for monomial, coefficient in sorted(_terms(x).items(), key=order):
        current = _terms(rest).get(monomial, Fraction(0))
        powers = dict(monomial)
        fits = all(powers.get(v, 0) >= n for v, n in lead)
        share = current / factor
        whole = Fraction(share.numerator // share.denominator) if fits else Fraction(0)
        # With several terms in the divisor, only an exact share is known to shorten the rest.
        if not whole or (len(divisor) > 1 and whole != share) or coefficient.denominator != 1:
            continue
        for v, n in lead:
            powers[v] -= n
        part = _made({tuple((v, n) for v, n in powers.items() if n): whole})
        quotient = quotient + part
        rest = rest - part * y
    return quotient, rest


def exact_quotient(x: Size, y: Size) -> Size | None:
    """`x / y` if it is known to be whole, else None.

    >>> exact_quotient(6 * symbol("b"), 3), exact_quotient(symbol("b"), 2)
    (2*b, None)
    """
    quotient, rest = _divided(x, y)
    return quotient if not isinstance(rest, Dim) and rest == 0 else None


def divided(x: Size, y: Size) -> Size | None:
    """`x / y`, where the remainder has to be 0; whether it is, is checked at the call. None where it is not or may not.

    >>> divided(symbol("b"), 4), 4 * divided(symbol("b"), 4), divided(6, 4)
    (b/4, b, None)
    """
    found = exact_quotient(x, y)
    if found is None and isinstance(x, Dim) and not isinstance(y, Dim) and y > 0:
        found = _product(x, Fraction(1, y))
    return found


# Bounds.


def bounds(size: Size) -> tuple[float, float]:
    """The least and the greatest value that a size may have.

    >>> bounds(2 * symbol("b") - 1), bounds(7)
    ((1, inf), (7, 7))
    """
    return size._bounds if isinstance(size, Dim) else (size, size)


def _variable_bounds(variable: Variable) -> tuple[float, float]:
    if isinstance(variable, Symbol):
        return variable.lower, variable.upper
    (a, b), (c, d) = bounds(variable.left), bounds(variable.right)
    if variable.kind == "max":
        return max(a, c), max(b, d)
    if variable.kind == "min":
        return min(a, c), min(b, d)
    if c < 1:
        return -math.inf, math.inf
    if variable.kind == "%":
        return 0, d - 1
    low = -math.inf if a == -math.inf else a // (c if a < 0 else d) if d != math.inf or a < 0 else 0
    return low, math.inf if b == math.inf else b // (c if b >= 0 else d) if d != math.inf or b >= 0 else 0


def _polynomial_bounds(terms: Terms) -> tuple[float, float]:
    """Bounds from those of the variables, each written as its least value and a rest that is not negative."""
    shifted: dict[frozenset[tuple[Variable, int]], Fraction] = {}
    for monomial, coefficient in terms:
        parts: dict[frozenset[tuple[Variable, int]], Fraction] = {frozenset(): coefficient}
        for variable, power in monomial:
            least, _ = _variable_bounds(variable)
            if least == -math.inf:
                return -math.inf, math.inf
            for _ in range(power):
                grown: dict[frozenset[tuple[Variable, int]], Fraction] = {}
                for key, value in parts.items():
                    grown[key] = grown.get(key, Fraction(0)) + value * int(least)
                    powers = dict(key)
                    powers[variable] = powers.get(variable, 0) + 1
                    higher = frozenset(powers.items())
                    grown[higher] = grown.get(higher, Fraction(0)) + value
                parts = grown
        for key, value in parts.items():
            shifted[key] = shifted.get(key, Fraction(0)) + value
    low = high = float(shifted.pop(frozenset(), Fraction(0)))
    for key, value in shifted.items():
        if not value:
            continue
        most = 1.0
        for variable, power in key:
            least, greatest = _variable_bounds(variable)
            most *= (greatest - least) ** power
        if value > 0:
            high += float(value) * most if most else 0
        else:
            low += float(value) * most if most else 0
    return (
        math.ceil(low) if math.isfinite(low) else low,
        math.floor(high) if math.isfinite(high) else high,
    )


def _closer(terms: Terms, known: tuple[float, float]) -> tuple[float, float]:
    """The bounds of an expression to which an extreme is added: it is one of two sizes, and not beyond the other."""
    for monomial, coefficient in terms:
        variable, power = monomial[0] if monomial else (None, 0)
        if (
            not isinstance(variable, Function)
            or variable.kind not in ("min", "max")
            or (len(monomial), power) != (1, 1)
        ):
            continue
        lows, highs = zip(*[bounds(_replaced(terms, variable, n)) for n in (variable.left, variable.right)])
        extreme = min if (variable.kind == "min") == (coefficient > 0) else max
        return max(extreme(lows), known[0]), min(extreme(highs), known[1])
    return known


def _by_remainders(terms: Terms, known: tuple[float, float]) -> tuple[float, float]:
    """The bounds of an expression with quotients by constants, from those for each remainder of its symbols."""
    cases = dims_residues.cases(terms)
    if cases is None:
        return known
    found = []
    for case in cases:
        sizes = {s: p * (new.lower if new.lower == new.upper else _of(new)) + r for s, (p, r, new) in case.items()}
        found.append(bounds(_substituted(terms, sizes)))
    lows, highs = zip(*found)
    return max(min(lows), known[0]), min(max(highs), known[1])


def _by_facts(terms: Terms, known: tuple[float, float]) -> tuple[float, float]:
    """The bounds of an expression, from what is known of its symbols together."""
    used = symbols_of(terms)
    facts = list(dict.fromkeys([fact for s in used for fact in s.facts]))
    if not facts or len({s.name for s in used}) < len(used):  # symbols of several specifications are not related
        return known
    alone = _substituted(terms, {s: of_symbol(s.alone) for s in used})
    if not isinstance(alone, Dim):
        return alone, alone
    low = dims_facts.least(alone.terms, facts, lambda rest: bounds(_made(rest))[0])
    high = -dims_facts.least((-alone).terms, facts, lambda rest: bounds(_made(rest))[0])
    return max(known[0], low), min(known[1], high)


def _replaced(terms: Terms, variable: Variable, size: Size) -> Size:
    total: Size = 0
    for monomial, coefficient in terms:
        part = _made({tuple(item for item in monomial if item[0] != variable): coefficient})
        for _ in range(dict(monomial).get(variable, 0)):
            part = _product(part, size)
        total = _combined(total, part, 1)
    return total


def _at_least(x: Any, y: Any, text: str) -> bool:
    if not (_is_integer(x) and _is_integer(y)):
        if isinstance(x, float) or isinstance(y, float):  # an infinity, such as the default of a limit
            low, high = bounds(x) if isinstance(x, Dim) else (x, x)
            least, most = bounds(y) if isinstance(y, Dim) else (y, y)
            if low >= most:
                return True
            if high < least:
                return False
            raise _inconclusive(text)
        return NotImplemented  # type: ignore[no-any-return]
    x, y = (n if isinstance(n, Dim) else int(n) for n in (x, y))
    low, high = bounds(x - y)
    if low >= 0:
        return True
    if high < 0:
        return False
    raise _inconclusive(text)


def _check_differ(x: Dim, y: Size, text: str, frame: FrameType) -> None:
    """Refuse a question whether two sizes are equal, if they may be.

    In stagec, it is about a special case, or about whether two sizes are the same one: what is done for sizes that
    differ is right for all. It is not where a remainder is asked for.
    """
    low, high = bounds(x - y)
    of_remainder = _is_remainder(x) and not isinstance(y, Dim)
    if low <= 0 <= high and (of_remainder or not location.is_internal(frame.f_code.co_filename)):
        raise _inconclusive(text)


def _is_remainder(size: Dim) -> bool:
    variables = [m[0][0] for m, _ in size.terms if m]
    return len(variables) == 1 and isinstance(variables[0], Function) and variables[0].kind == "%"


def is_open(size: Any) -> bool:
    """Whether a size is not known before the program runs."""
    return type(size) is Dim


def is_whole(size: Dim) -> bool:
    """Whether a size is certainly a whole number; no term is a share of one."""
    return all(c.denominator == 1 for _, c in size.terms)


def equal(x: Size, y: Size, fix: str = "") -> bool:
    """Whether two sizes are equal, where the result has another form or meaning then; an error if it is not known.

    Args:
      fix: what else to do than to state a bound.

    >>> equal(symbol("b", 2), 1), equal(symbol("b"), symbol("b"))
    (False, True)
    """
    low, high = bounds(x - y)
    if low <= 0 <= high and not low == high:
        raise _inconclusive(f"{x} == {y}", fix)
    return low == high == 0


def is_positive(size: Size) -> bool:
    """Whether a size is certainly 1 or more."""
    return bounds(size)[0] >= 1


# The sizes of an axis that int32 has a place for, one beyond the last element included.
LARGEST = 2**31 - 2


def is_huge(size: Size) -> bool:
    """Whether indices of an axis need int64; programs for open dimensions run on arrays that do not."""
    return bounds(size)[0] > LARGEST


def minimum(x: Size, y: Size) -> Size:
    """The smaller of two sizes, without an error where either may be."""
    return _extreme("min", x, y)


def maximum(x: Size, y: Size) -> Size:
    """The larger of two sizes, without an error where either may be."""
    return _extreme("max", x, y)


def _extreme(kind: str, x: Size, y: Size) -> Size:
    low, high = bounds(x - y)
    if low >= 0:
        return x if kind == "max" else y
    if high <= 0:
        return y if kind == "max" else x
    return _of(Function(kind, *sorted((x, y), key=str)))


def of_terms(terms: Terms) -> Dim:
    """The size with the terms of another one."""
    return _restored(terms)


def of_symbol(symbol: Symbol) -> Dim:
    """A symbol as a size."""
    return _of(symbol)


def replaced(size: Size, sizes: Mapping[Symbol, Size]) -> Size:
    """A size with other sizes in place of its symbols.

    >>> replaced(2 * symbol("b") + symbol("b") // 2, {Symbol("b"): 2 * symbol("n")})
    5*n
    """
    return _substituted(size.terms, sizes) if isinstance(size, Dim) else size


def _substituted(terms: Terms, sizes: Mapping[Symbol, Size]) -> Size:
    total: Size = 0
    for monomial, coefficient in terms:
        part: Any = coefficient
        for variable, power in monomial:
            if isinstance(variable, Symbol):
                value = sizes[variable] if variable in sizes else of_symbol(variable)
            else:
                left, right = replaced(variable.left, sizes), replaced(variable.right, sizes)
                value = FUNCTIONS[variable.kind](left, right)
            for _ in range(power):
                part = _product(part, value)
        total = _combined(total, part, 1)
    return total


# What each kind of `Function` is, of sizes.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "max": maximum,
    "min": minimum,
}

# Errors.


def _inconclusive(text: str, fix: str = "") -> errors.DimensionError:
    bound = "state a bound that decides it, such as 'b >= 8' for a dimension, or leave this dimension static"
    return location.error(
        errors.DimensionError,
        f"whether {text} depends on the size at the call, and the function is compiled once for every size",
        fix=f"{fix}, or {bound}" if fix else bound,
    )


def open_error(name: str, what: str) -> errors.DimensionError:
    """The error for an operation that has no form for open dimensions."""
    return location.error(
        errors.DimensionError,
        f"{name} has no form for open dimensions here: {what}",
        fix="leave the dimension static in the specification, or write the operation in another way",
    )


def _needs_number(size: Dim, what: str) -> errors.DimensionError:
    return location.error(
        errors.DimensionError,
        f"the open dimension {size} was used as {what}, which needs one number",
        fix="use array operations instead, such as stagec.numpy.arange, stagec.lax.fori_loop or stagec.lax.scan, "
        "or leave this dimension static",
    )


def _needs_key(size: Dim) -> errors.DimensionError:
    """The error for a hash that the user's code asks for: a search by hashes would miss a number that the size may be.

    stagec's own code keeps sizes in dictionaries as expressions.
    """
    return location.error(
        errors.DimensionError,
        f"the open dimension {size} was hashed, as a key of a dict or an element of a set is; which other keys it "
        "equals depends on the size at the call",
        fix="compare stagec.numpy.asarray of the size with stagec.numpy.where, use its text as the key, "
        "or leave this dimension static",
    )


def _needs_array(size: Dim, name: str) -> errors.DimensionError:
    return location.error(
        errors.DimensionError,
        f"numpy.{name} was called with the open dimension {size}, which has no number while tracing",
        fix=f"call stagec.numpy.{name}, whose result is computed from the size at the call",
    )


def check_numbers(array: Any) -> None:
    """Refuse a NumPy array of objects with an open dimension among them."""
    for size in filter(is_open, array.flat):
        raise location.error(
            errors.DimensionError,
            f"a NumPy array holds the open dimension {size}, which has no number while tracing",
            fix="make the array with stagec.numpy.array, which computes its elements from the size at the call",
        )


_converter: Callable[[Dim], Any] | None = None


def set_converter(convert: Callable[[Dim], Any]) -> None:
    """Name the function that makes an array of a size; it is in a higher layer."""
    global _converter
    _converter = convert


def as_array(size: Any) -> Any:
    """A size as an integer array without axes, for arithmetic with floats; other values are returned."""
    if not isinstance(size, Dim):
        return size
    assert _converter is not None, "the primitives are loaded"
    return _converter(size)


def symbol(name: str, lower: int = 1, upper: float = math.inf, facts: tuple[Terms, ...] = ()) -> Dim:
    """The size that a symbol stands for."""
    return _of(Symbol(name, lower, upper, facts))
