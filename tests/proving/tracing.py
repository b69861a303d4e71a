"""Laws run on unknown sizes: numbers that remember of which unknowns they are made, and what was asked of them.

A law is Python code. Run on `Size`s, it makes a program whose shapes and attributes are terms, for all sizes that give
the same answer to each question (`Trace.conditions`) that the law asked on the way.
"""

import builtins
import contextlib
import sys

import numpy as np
import z3

from passes import attributes, bindings, build, match, patterns, types

# Numbers below this one may be axes, strides and the like. The unknowns are larger where they can be.
SMALL = 16
LENGTHS = frozenset(
    ("start_indices", "limit_indices", "strides", "edge_padding_low", "edge_padding_high", "interior_padding")
) | {"slice_sizes"}


class Trace:
    """What a law asks of sizes.

    Attributes:
      conditions: z3's terms that hold for the sizes at hand.
      written: the terms of numbers that shapes and attributes hold, by the number.
      constants: the same for constants of a program.
    """

    def __init__(self):
        self.conditions, self.written, self.constants = [], {}, {}

    def ask(self, condition, holds):
        condition = z3.simplify(condition if holds else z3.Not(condition))
        if not z3.is_true(condition) and not any(condition.eq(known) for known in self.conditions):
            self.conditions.append(condition)
        return holds

    def write(self, number, table=None):
        """Remember the term of a number that leaves Python."""
        if isinstance(number, Size):
            term = z3.simplify(number.term, som=True)
            known = (self.written if table is None else table).setdefault(int(number), [])
            if not any(term.eq(other) for other in known):
                known.append(term)
        return number

    def read(self, number, table=None):
        """The number with its term; numbers that are equal for the sizes at hand are taken for equal."""
        terms = (self.written if table is None else table).get(number, ())
        if not terms or isinstance(number, Size):
            return number
        first, *others = [z3.IntVal(number)] * (0 <= number < SMALL) + terms
        for term in others:
            self.ask(first == term, True)
        return number if 0 <= number < SMALL else Size(number, first)


_current = None


class Size(int):
    """A number, and z3's term for it."""

    def __new__(cls, value, term):
        self = int.__new__(cls, value)
        self.term = term
        return self

    def __bool__(self):
        return _ask(self.term != 0, int(self) != 0)

    def __neg__(self):
        return Size(-int(self), -self.term)

    def __abs__(self):
        return self if self >= 0 else -self

    def __hash__(self):
        return 0  # so that sets and dictionaries ask whether numbers are equal, too


class _Whole(type):
    def __instancecheck__(cls, value):
        return isinstance(value, builtins.int)

    def __call__(cls, value=0, *base):
        return value if isinstance(value, Size) else builtins.int(value, *base)


class _Int(metaclass=_Whole):
    """`int`, which leaves sizes what they are."""


def term(number):
    """z3's term for a number."""
    return number.term if isinstance(number, Size) else int(number)


def _ask(condition, holds):
    return holds if _current is None else _current.ask(condition, holds)


def _define(name, of_terms, reflected=False):
    own = getattr(int, f"__{name}__")

    def method(self, other):
        if not isinstance(other, (int, np.integer)):
            return NotImplemented
        a, b = (int(other), int(self)) if reflected else (int(self), int(other))
        first, second = (term(other), self.term) if reflected else (self.term, term(other))
        if name in ("floordiv", "mod"):
            if b <= 0:
                raise ArithmeticError("a divisor that is not positive")
            if isinstance(second, int):
                if second == 1:
                    return Size(a, z3.IntVal(first) if isinstance(first, int) else first) if name == "floordiv" else 0
            else:
                _ask(second > 0, True)
        made = of_terms(z3.IntVal(first) if isinstance(first, int) else first, second)
        return _ask(made, own(a, b)) if z3.is_bool(made) else Size(own(a, b), made)

    setattr(Size, f"__{'r' if reflected else ''}{name}__", method)


for _name, _terms in {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
}.items():  # fmt: skip
    _define(_name, _terms)
    _define(_name, _terms, reflected=True)
for _name, _terms in {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}.items():  # fmt: skip
    _define(_name, _terms)


def _extreme(name):
    """`min` or `max`, which does not ask which of the numbers it is."""
    plain = getattr(builtins, name)

    def found(*items, **options):
        items = list(items[0]) if len(items) == 1 else items
        if not any(isinstance(item, Size) for item in items) or "key" in options:
            return plain(items, **options)
        made = items[0]
        for item in items[1:]:
            a, b = z3.IntVal(made) if isinstance(term(made), int) else term(made), term(item)
            made = Size(plain(int(made), int(item)), z3.If(a <= b if name == "min" else a >= b, a, b))
        return made

    return found


@contextlib.contextmanager
def tracing():
    """In the block, laws read and write sizes with their terms."""
    global _current
    trace = Trace()
    ranked, ints, full = bindings.ir.RankedTensorType, attributes.ints, build.full
    shape, i64_array = bindings.ir.ShapedType.shape, build.i64_array
    tensor_type, splat_of, array = types.tensor_type, match.splat_of, bindings.ir.DenseI64ArrayAttr

    def same_array(a, b):
        return isinstance(b, array) and len(a) == len(b) and all(trace.read(x) == trace.read(y) for x, y in zip(a, b))

    def read_splat(value):
        number = splat_of(value)
        if number is None or number.dtype.kind not in "iu" or int(number) not in trace.constants:
            return number
        found = trace.read(int(number), trace.constants)
        if isinstance(found, Size):
            found.dtype, found.tobytes = number.dtype, lambda: found
        return found if isinstance(found, Size) else number

    def same(a, b):
        if not isinstance(b, ranked) or a.element_type != b.element_type or a.rank != b.rank:
            return False
        return all(x == y for x, y in zip(a.shape, b.shape))

    def read_ints(op, name, default=()):
        found = ints(op, name, default)
        return tuple(map(trace.read, found)) if name in LENGTHS else found

    replaced = {
        "tensor_type": lambda shape, element: tensor_type([trace.write(n) for n in shape], element),
        "min": _extreme("min"),
        "max": _extreme("max"),
        "int": _Int,
        "splat_of": read_splat,
    }
    modules = [m for name, m in sys.modules.items() if name.startswith("passes.") and name != types.__name__]
    before = {m: {name: m.__dict__[name] for name in replaced if name in m.__dict__} for m in modules}
    check = patterns._check
    try:
        _current = trace
        for module in modules:
            for name, function in replaced.items():
                if name in module.__dict__ or hasattr(builtins, name):
                    setattr(module, name, function)
        attributes.ints = read_ints
        build.i64_array = lambda values: i64_array([trace.write(n) for n in values])
        build.full = lambda number, *rest, **more: full(trace.write(number, trace.constants), *rest, **more)
        bindings.ir.ShapedType.shape = property(lambda self: [trace.read(n) for n in shape.__get__(self)])
        ranked.__eq__, ranked.__ne__ = same, lambda a, b: not same(a, b)
        array.__eq__, array.__ne__ = same_array, lambda a, b: not same_array(a, b)
        patterns._check = lambda *_: None
        yield trace
    finally:
        _current = None
        for module in modules:
            for name in replaced:
                if name in before[module]:
                    setattr(module, name, before[module][name])
                elif name in module.__dict__:
                    delattr(module, name)
        attributes.ints, build.i64_array, build.full, patterns._check = ints, i64_array, full, check
        bindings.ir.ShapedType.shape = shape
        del ranked.__eq__, ranked.__ne__, array.__eq__, array.__ne__
