"""The element of a program's result at an unknown place, as a term of z3, for sizes that are terms."""

import numpy as np
import z3

from passes import attributes as attrs, operations
from passes.match import combinations, dtype_of, functions, shape_of, splat_of
from tests.proving.templates import OpenError
from tests.proving.tracing import term

_RING = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b}
_LOGIC = {"and": z3.And, "or": z3.Or, "not": z3.Not, "xor": z3.Xor}
_COMMUTE = frozenset(("add", "multiply"))
# Up to which whole numbers floats represent all.
_WHOLE = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}


def _number(n):
    found = term(n)
    return z3.IntVal(found) if isinstance(found, int) else found


def _within(item, dtype):
    info = np.iinfo(dtype)
    return z3.And(int(info.min) <= item, item <= int(info.max))


class Elements:
    """Computes elements. Operations on them are unknown functions, but for those that choose one, and sums of integers.

    Integers are those of mathematics: results that are equal there are equal modulo a power of two.

    Attributes:
      facts: what holds of the unknowns that are made here.
      totals: each reduction: its constant, what it does, its first numbers, its lengths, and what it combines.
    """

    def __init__(self, trace):
        self.trace = trace
        self.facts, self.totals, self._known, self._counts, self._depth = [], [], {}, {}, 0

    def results(self, module, place):
        """The shapes of the results of `main`, and the element of each at `place`, a list of constants."""
        block = functions(module)["main"].regions[0].blocks[0]
        self._known.clear()
        *_, end = block.operations
        values = list(end.operation.operands)
        return [([_number(n) for n in shape_of(v)], self.at(v, place[: len(shape_of(v))])) for v in values]

    def at(self, value, index):
        key = value, tuple(i.get_id() for i in index)
        if key not in self._known:
            self._known[key] = self._at(value, index), index  # keeps the terms, whose ids are the key
        return self._known[key][0]

    def _at(self, value, index):
        owner = value.owner
        if not hasattr(owner, "operation"):
            return self.call(f"x{value.arg_number}", index, dtype_of(value))
        op = owner.operation
        name = op.name.removeprefix("stablehlo.")
        rule = getattr(self, f"_{name}", None)
        if rule is not None:
            return rule(op, index, value)
        if op.regions or not operations.of(op.name).elementwise:
            raise OpenError(name)
        items = [self.at(v, index if len(v.type.shape) == len(index) else []) for v in op.operands]
        dtype = dtype_of(value)
        if name == "select":
            return z3.If(*items)
        if name in _LOGIC and dtype.kind == "b":
            return _LOGIC[name](*items)
        if name in _RING and dtype.kind in "iu":
            return _RING[name](*items)
        if dtype.kind in "iu" and name in ("maximum", "minimum", "clamp"):
            low, *high = (self.wrapped(item, dtype) for item in items)
            for x in high[:1]:
                low = z3.If((low >= x) if name != "minimum" else (low <= x), low, x)
            return z3.If(low <= high[1], low, high[1]) if name == "clamp" else low
        if name == "convert" and (source := dtype_of(op.operands[0])).kind in "iu":
            item = self.wrapped(items[0], source)
            if dtype.kind in "iu":
                return z3.If(_within(item, dtype), item, self.call("wrapped", [item], dtype))
            if str(dtype) in _WHOLE:
                return self.count(self.call(f"convert {source}", items, dtype), item, dtype)
        if name in _RING and str(dtype) in _WHOLE:
            return self.ring(name, items, dtype)
        kinds = ".".join(str(dtype_of(v)) for v in op.operands)
        words = " ".join(f"{k}={v}" for k, v in sorted(attrs.copied(op).items()))
        return self.call(f"{name} {kinds} {words}", items, dtype)

    def ring(self, name, items, dtype):
        """A sum, difference or product."""
        if dtype.kind in "iu":
            return _RING[name](*items)
        found = self.call(f"{name} {dtype}", items, dtype)
        known = [self._counts.get(item.get_id()) for item in items]
        if None not in known:
            here = z3.And(*(test for _, test, _ in known))
            self.count(found, z3.If(here, _RING[name](*(n for n, *_ in known)), z3.IntVal(2**60)), dtype)
        return found

    def sort(self, dtype):
        kinds = {"b": z3.BoolSort(), "i": z3.IntSort(), "u": z3.IntSort()}
        return kinds[dtype.kind] if dtype.kind in kinds else z3.DeclareSort(str(dtype))

    def call(self, name, items, dtype):
        """An unknown function of terms."""
        function = z3.Function(name, *(i.sort() for i in items), self.sort(dtype))
        found = function(*items)
        if dtype.kind in "iu":
            self.facts.append(_within(found, dtype))
        if name.split()[0] in _COMMUTE:
            self.facts.append(found == function(*items[::-1]))
        return found

    def count(self, found, number, dtype):
        """Note that an element is a whole number, if `number` is one that floats of the type can be."""
        largest = _WHOLE.get(str(dtype), 0)
        here = z3.And(-largest <= number, number <= largest)
        self.facts.append(z3.Implies(here, found == self.call("count", [number], dtype)))
        self._counts[found.get_id()] = number, here, found
        return found

    def wrapped(self, item, dtype):
        """An integer as its type has it: sums may be too large."""
        if z3.is_int_value(item):
            return item
        return z3.If(_within(item, dtype), item, self.call("wrapped", [item], dtype))

    def _constant(self, op, index, value):
        dtype, number = dtype_of(value), splat_of(value)
        if number is None:
            return self.call(str(op.attributes["value"]), index, dtype)
        if dtype.kind in "iu":
            return _number(self.trace.read(int(number), self.trace.constants))
        negative_zero = number == 0 and np.signbit(number)
        if str(dtype) in _WHOLE and abs(number) <= _WHOLE[str(dtype)] and number == int(number) and not negative_zero:
            whole = _number(self.trace.read(int(number), self.trace.constants))
            return self.count(self.call("number", [whole], dtype), whole, dtype)
        return z3.BoolVal(bool(number)) if dtype.kind == "b" else self.call(f"{dtype} {number.tobytes()}", [], dtype)

    def _iota(self, op, index, value):
        item, dtype = index[attrs.integer(op, "iota_dimension")], dtype_of(value)
        return item if dtype.kind in "iu" else self.count(self.call("iota", [item], dtype), item, dtype)

    def _optimization_barrier(self, op, index, value):
        return self.at(op.operands[value.result_number], index)

    def _slice(self, op, index, value):
        starts, _, strides = attrs.cut(op)
        return self.at(op.operands[0], [_number(a) + i * term(s) for a, i, s in zip(starts, index, strides)])

    def _pad(self, op, index, value):
        inside, at = [], []
        for i, n, low, gap in zip(index, shape_of(op.operands[0]), *attrs.padding(op)[::2]):
            place = i - term(low)
            if gap.__class__ is not int or gap:
                quotient, rest = self._divided(place, _number(gap) + 1)
                inside.append(rest == 0)
                place = quotient
            inside += [place >= 0, place < term(n)]
            at.append(place)
        return z3.If(z3.And(*inside), self.at(op.operands[0], at), self.at(op.operands[1], []))

    def _divided(self, number, divisor):
        quotient, rest = z3.FreshInt("q"), z3.FreshInt("r")
        known = z3.And(number == quotient * divisor + rest, rest >= 0, rest < divisor)
        self.facts.append(z3.Implies(divisor > 0, known))
        return quotient, rest

    def _transpose(self, op, index, value):
        order = attrs.ints(op, "permutation")
        return self.at(op.operands[0], [index[order.index(axis)] for axis in range(len(order))])

    def _reverse(self, op, index, value):
        axes = attrs.ints(op, "dimensions")
        shape = [_number(n) for n in shape_of(value)]
        at = [n - 1 - i if axis in axes else i for axis, (n, i) in enumerate(zip(shape, index))]
        return self.at(op.operands[0], at)

    def _broadcast_in_dim(self, op, index, value):
        dims, shape = attrs.ints(op, "broadcast_dimensions"), [_number(n) for n in shape_of(op.operands[0])]
        at = [z3.IntVal(0) if n.eq(z3.IntVal(1)) else z3.If(n == 1, 0, index[d]) for n, d in zip(shape, dims)]
        return self.at(op.operands[0], [z3.simplify(i) for i in at])

    def _concatenate(self, op, index, value):
        axis, offset, tests = attrs.integer(op, "dimension"), z3.IntVal(0), []
        for part in op.operands:
            at = [*index[:axis], index[axis] - offset, *index[axis + 1 :]]
            offset = offset + _number(shape_of(part)[axis])
            tests.append((index[axis] < offset, self.at(part, at)))
        found = tests[-1][1]
        for test, item in reversed(tests[:-1]):
            found = z3.If(test, item, found)
        return found

    def _reshape(self, op, index, value):
        before, after = ([_number(n) for n in shape_of(v)] for v in (op.operands[0], value))
        at, i, j = [], 0, 0
        # Axes from the left, as long as those of both sides have one length.
        while i < len(before) or j < len(after):
            if i < len(before) and before[i].eq(z3.IntVal(1)):
                at, i = [*at, z3.IntVal(0)], i + 1
            elif j < len(after) and after[j].eq(z3.IntVal(1)):
                j += 1
            elif i < len(before) and j < len(after) and before[i].eq(after[j]):
                at, i, j = [*at, index[j]], i + 1, j + 1
            else:
                break
        tail = []
        while len(before) > i and len(after) > j and before[-1].eq(after[-1]):
            tail.insert(0, index[len(after) - 1])
            before, after = before[:-1], after[:-1]
        flat, rest = z3.IntVal(0), []
        for n, k in zip(after[j:], index[j:]):
            flat = flat * n + k
        for n in reversed(before[i + 1 :]):
            flat, last = self._divided(flat, n)
            rest.insert(0, last)
        return self.at(op.operands[0], [*at, *([flat] if i < len(before) else []), *rest, *tail])

    def _starts(self, op, starts, sizes):
        found = []
        for start, n, m in zip(starts, shape_of(op.operands[0]), sizes):
            last, at = _number(n) - term(m), self.wrapped(self.at(start, []), dtype_of(start))
            found.append(z3.If(z3.Or(at < 0, last == 0), 0, z3.If(at > last, last, at)))
        return found

    def _dynamic_slice(self, op, index, value):
        starts = self._starts(op, list(op.operands)[1:], shape_of(value))
        return self.at(op.operands[0], [a + i for a, i in zip(starts, index)])

    def _dynamic_update_slice(self, op, index, value):
        update = op.operands[1]
        starts, sizes = self._starts(op, list(op.operands)[2:], shape_of(update)), shape_of(update)
        at = [i - a for a, i in zip(starts, index)]
        inside = [z3.And(i >= 0, i < term(n)) for i, n in zip(at, sizes)]
        return z3.If(z3.And(*inside), self.at(update, at), self.at(op.operands[0], index))

    def _reduce(self, op, index, value):
        axes, count = attrs.ints(op, "dimensions"), len(op.results)
        first = [self.at(v, []) for v in list(op.operands)[count:]]
        lengths = [_number(shape_of(op.operands[0])[axis]) for axis in axes]
        places, rest = self._places(lengths), iter(index)
        order = dict(zip(axes, places))
        at = [order[axis] if axis in order else next(rest) for axis in range(len(shape_of(op.operands[0])))]
        items = self._combined([(v, at) for v in list(op.operands)[:count]])
        words = f"reduce {value.result_number} {combinations(op.regions[0]) or op.regions[0].blocks[0]}"
        return self._total(words, first, lengths, places, items, dtype_of(value))

    def _dot_general(self, op, index, value):
        numbers = attrs.dot_dimensions(op)
        left, right = op.operands
        lengths = [_number(shape_of(left)[axis]) for axis in numbers.lhs_contract]
        places = self._places(lengths)
        batch, sides, rest = len(numbers.lhs_batch), [], list(index[len(numbers.lhs_batch) :])
        for v, batched, contract in (
            (left, numbers.lhs_batch, numbers.lhs_contract),
            (right, numbers.rhs_batch, numbers.rhs_contract),
        ):
            known = dict(zip((*batched, *contract), (*index[:batch], *places)))
            sides.append((v, [known[d] if d in known else rest.pop(0) for d in range(len(shape_of(v)))]))
        dtype, items = dtype_of(value), self._combined(sides)
        if (dtype.kind not in "iu" and str(dtype) not in _WHOLE) or any(dtype_of(v) != dtype for v in op.operands):
            raise OpenError("a product of other numbers")
        zero = z3.IntVal(0) if dtype.kind in "iu" else self.call("number", [z3.IntVal(0)], dtype)
        words = "reduce 0 ['stablehlo.add']"
        return self._total(words, [zero], lengths, places, [self.ring("multiply", items, dtype)], dtype)

    def _places(self, lengths):
        self._depth += 1
        return [z3.Int(f"k{self._depth}.{number}") for number in range(len(lengths))]

    def _combined(self, items):
        found = [self.at(value, at) for value, at in items]
        self._depth -= 1
        return found

    def _total(self, words, first, lengths, places, items, dtype):
        found = z3.FreshConst(self.sort(dtype), "total")
        self.totals.append((found, f"{words} {dtype}", first, lengths, places, items))
        return found
