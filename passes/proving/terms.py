"""Numbers of StableHLO's types as terms of a solver: what each elementwise operation means, for all values.

Floats are IEEE 754's, of each width: one NaN, and zeros of two signs, which differ. Functions
such as sines are unknown functions of their operands, of which some facts are taken for granted.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
from bitwuzla import Bitwuzla, Kind, Options, RoundingMode, TermManager

# Exponent and significand, with the hidden bit.
FLOATS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
_BINARY = {"add": Kind.FP_ADD, "subtract": Kind.FP_SUB, "multiply": Kind.FP_MUL, "divide": Kind.FP_DIV}
_ROUNDED = {"floor": RoundingMode.RTN, "ceil": RoundingMode.RTP, "round_nearest_even": RoundingMode.RNE}
_ROUNDED["round_nearest_afz"] = RoundingMode.RNA
_OF_BITS = {"add": Kind.BV_ADD, "subtract": Kind.BV_SUB, "multiply": Kind.BV_MUL, "shift_left": Kind.BV_SHL}
_OF_BITS |= {"shift_right_logical": Kind.BV_SHR, "shift_right_arithmetic": Kind.BV_ASHR}
_LOGIC = {"and": (Kind.AND, Kind.BV_AND), "or": (Kind.OR, Kind.BV_OR), "xor": (Kind.XOR, Kind.BV_XOR)}
_COMMUTE = frozenset({"add", "multiply", "and", "or", "xor", "atan2_"})


# Functions whose sign follows from that of their operand, and which change no other bit with it.
_ODD, _EVEN = frozenset({"sine", "tan", "tanh", "cbrt"}), frozenset({"cosine"})


@dataclasses.dataclass(frozen=True)
class Pair:
    """A complex number."""

    real: Any
    imag: Any

    @property
    def parts(self) -> Any:
        return self.real, self.imag


class UnsupportedError(Exception):
    """An operation, or a type, that is not described here."""


class Terms:
    """Makes terms. A dtype is NumPy's; an element of a complex one is a `Pair` of terms.

    Attributes:
      unknown: the unknown functions that terms call.
      facts: what is known of their results.
    """

    def __init__(self) -> None:
        self.manager = TermManager()
        self.unknown: dict[Any, Any] = {}
        self.facts: list[Any] = []
        self._solver = Bitwuzla(self.manager, Options())
        self.nearest = self.manager.mk_rm_value(RoundingMode.RNE)

    def do(self, kind: Any, *operands: Any, indices: Any = ()) -> Any:
        made = self.manager.mk_term(kind, list(operands), list(indices))
        return self._solver.simplify_term(made) if all(o.is_value() for o in operands) else made

    def sort(self, dtype: Any) -> Any:
        name = np.dtype(dtype).name
        if name in FLOATS:
            return self.manager.mk_fp_sort(*FLOATS[name])
        if name == "bool":
            return self.manager.mk_bool_sort()
        if np.dtype(dtype).kind in "iu":
            return self.manager.mk_bv_sort(8 * np.dtype(dtype).itemsize)
        raise UnsupportedError(name)

    def variable(self, dtype: Any, name: str) -> Any:
        if np.dtype(dtype).kind == "c":
            part = np.dtype(f"f{np.dtype(dtype).itemsize // 2}")
            return Pair(self.variable(part, f"{name}.re"), self.variable(part, f"{name}.im"))
        return self.manager.mk_const(self.sort(dtype), name)

    def number(self, value: Any, dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            part = np.dtype(f"f{dtype.itemsize // 2}")
            return Pair(self.number(value.real, part), self.number(value.imag, part))
        if dtype.kind == "b":
            return self.manager.mk_true() if value else self.manager.mk_false()
        if dtype.kind in "iu":
            return self.manager.mk_bv_value(self.sort(dtype), int(value) % (1 << 8 * dtype.itemsize))
        bits = int(np.asarray(value, dtype).view(f"u{dtype.itemsize}"))
        return self.from_bits(self.manager.mk_bv_value(self.manager.mk_bv_sort(8 * dtype.itemsize), bits), dtype)

    def array(self, solver: Any, terms: Any, dtype: Any) -> Any:
        """The numbers that a solver has found for an array of terms."""
        dtype = np.dtype(dtype)
        found = np.empty(terms.shape, dtype)
        for i in np.ndindex(terms.shape):
            found[i] = self._number(solver, terms[i], dtype)
        return found

    def _number(self, solver: Any, term: Any, dtype: Any) -> Any:
        if isinstance(term, Pair):
            part = np.dtype(f"f{dtype.itemsize // 2}")
            return complex(*(self._number(solver, x, part) for x in term.parts))
        value = solver.get_value(term)
        if dtype.kind == "b":
            return value.is_true()
        bits = int(value.value(2, False), 2) if dtype.name in FLOATS else int(value.value(2), 2)
        return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]

    def from_bits(self, bits: Any, dtype: Any) -> Any:
        return self.do(Kind.FP_TO_FP_FROM_BV, bits, indices=FLOATS[np.dtype(dtype).name])

    def choose(self, test: Any, yes: Any, no: Any) -> Any:
        if isinstance(yes, Pair):
            return Pair(*(self.choose(test, a, b) for a, b in zip(yes.parts, no.parts)))
        return yes if yes == no else self.do(Kind.ITE, test, yes, no)

    def equal(self, a: Any, b: Any) -> Any:
        if isinstance(a, Pair):
            return self.do(Kind.AND, *(self.equal(x, y) for x, y in zip(a.parts, b.parts)))
        return self.manager.mk_true() if a == b else self.do(Kind.EQUAL, a, b)

    def known(self, test: Any) -> Any:
        """Whether a condition holds, if that does not depend on anything; else None."""
        found = self._solver.simplify_term(test)
        return True if found.is_true() else False if found.is_false() else None

    def call(self, name: str, operands: Any, dtype: Any) -> Any:
        """An unknown function of terms; of a sum or a product, in an order that does not count."""
        if np.dtype(dtype).kind == "c":
            part = np.dtype(f"f{np.dtype(dtype).itemsize // 2}")
            return Pair(*(self.call(f"{name}.{p}", operands, part) for p in ("re", "im")))
        operands = [x for o in operands for x in (o.parts if isinstance(o, Pair) else (o,))]
        if name in _ODD | _EVEN and np.dtype(dtype).name in FLOATS and len(operands) == 1:
            (x,) = operands
            of_size = self.call(f"{name} of sizes", [self.do(Kind.FP_ABS, x)], dtype)
            return (
                self.choose(self.do(Kind.FP_IS_NEG, x), self.do(Kind.FP_NEG, of_size), of_size)
                if name in _ODD
                else of_size
            )
        if name in _COMMUTE:
            operands = sorted(operands, key=lambda term: term.id())
        key = (name, tuple(str(o.sort()) for o in operands), np.dtype(dtype).name)
        if key not in self.unknown:
            sorts = [o.sort() for o in operands]
            self.unknown[key] = self.manager.mk_const(self.manager.mk_fun_sort(sorts, self.sort(dtype)), name)
        made = self.manager.mk_term(Kind.APPLY, [self.unknown[key], *operands])
        if name == "exponential" and np.dtype(dtype).name in FLOATS:
            self.facts.append(self.do(Kind.NOT, self.do(Kind.FP_IS_NEG, made)))
        return made

    def total(self, name: str, terms: Any, dtype: Any) -> Any:
        """The combination of terms in any order: floats are added and multiplied in an order that is open."""
        if np.dtype(dtype).name in FLOATS and name == "add":
            # A zero changes no sum but that of negative zeros, which the first positive one makes positive.
            zero, negative = self.number(0.0, dtype), self.number(-0.0, dtype)
            kept = [t for t in terms if t not in (zero, negative)]
            terms = [*([zero] if zero in terms else []), *kept] or [negative]
        if len(terms) == 1:
            return terms[0]
        if np.dtype(dtype).kind in "fVc" and name in ("add", "multiply") and len(terms) > 2:
            ordered = sorted(terms, key=lambda t: t.real.id() if isinstance(t, Pair) else t.id())
            return self.call(f"total_{name}_{len(terms)}", ordered, dtype)
        found = terms[0]
        for term in terms[1:]:
            found = self.apply(name, [found, term], [dtype, dtype], dtype)
        return found

    def apply(self, name: str, operands: Any, dtypes: Any, dtype: Any, word: str = "") -> Any:
        """An elementwise operation; `word` is the direction of a comparison."""
        kind = np.dtype(dtypes[-1]).kind
        kind = "f" if np.dtype(dtypes[-1]).name in FLOATS else kind
        if name == "complex":
            return Pair(*operands)
        if name in ("real", "imag"):
            (z,) = operands
            if isinstance(z, Pair):
                return z.real if name == "real" else z.imag
            return z if name == "real" else self.number(0.0, dtype)
        if name == "select":
            return self.choose(*operands)
        if name == "compare":
            return self.compare(word, operands, kind)
        if name == "convert":
            return self.convert(operands[0], dtypes[0], dtype)
        if name == "clamp":
            low, x, high = operands
            larger = self.apply("maximum", [low, x], dtypes[:2], dtype)
            return self.apply("minimum", [larger, high], dtypes[:2], dtype)
        if kind == "c":
            if name == "chlo.conj":
                return Pair(operands[0].real, self.do(Kind.FP_NEG, operands[0].imag))
            if name == "abs":
                operands = [Pair(*(self.do(Kind.FP_ABS, part) for part in operands[0].parts))]
            if name in ("add", "subtract", "negate"):
                part = np.dtype(f"f{np.dtype(dtypes[0]).itemsize // 2}")
                each = zip(*(o.parts for o in operands))
                return Pair(*(self.apply(name, list(items), [part] * len(items), part) for items in each))
            return self.call(name, operands, dtype)
        found = {"f": self.of_floats, "b": self.of_flags}.get(kind, self.of_integers)(name, operands, dtypes[-1])
        return self.call(name, operands, dtype) if found is None else found

    def of_floats(self, name: str, operands: Any, dtype: Any) -> Any:
        a, b = operands[0], operands[-1]
        if name in _BINARY:
            if name in _COMMUTE:
                a, b = sorted(operands, key=lambda term: term.id())
            return self.do(_BINARY[name], self.nearest, a, b)
        if name in ("negate", "abs"):
            return self.do(Kind.FP_NEG if name == "negate" else Kind.FP_ABS, a)
        if name == "sqrt":
            return self.do(Kind.FP_SQRT, self.nearest, a)
        if name in _ROUNDED:
            return self.do(Kind.FP_RTI, self.manager.mk_rm_value(_ROUNDED[name]), a)
        if name == "is_finite":
            return self.do(Kind.NOT, self.do(Kind.OR, self.do(Kind.FP_IS_INF, a), self.do(Kind.FP_IS_NAN, a)))
        if name in ("chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf"):
            sign = {"chlo.is_pos_inf": [Kind.FP_IS_POS], "chlo.is_neg_inf": [Kind.FP_IS_NEG]}.get(name, [])
            return self.do(Kind.AND, *(self.do(kind, a) for kind in (Kind.FP_IS_INF, Kind.FP_IS_INF, *sign)))
        if name in ("maximum", "minimum"):
            return self.extreme(name, a, b)
        if name == "sign":
            one = self.number(1.0, dtype)
            unit = self.choose(self.do(Kind.FP_IS_NEG, a), self.do(Kind.FP_NEG, one), one)
            same = self.do(Kind.OR, self.do(Kind.FP_IS_NAN, a), self.do(Kind.FP_IS_ZERO, a))
            return self.choose(same, a, unit)
        return None

    def extreme(self, name: str, a: Any, b: Any) -> Any:
        """NaN if there is one; of two zeros, the positive one is larger."""
        before = Kind.FP_GT if name == "maximum" else Kind.FP_LT
        sign = self.do(Kind.FP_IS_NEG, b if name == "maximum" else a)
        first = self.do(Kind.OR, self.do(before, a, b), self.do(Kind.AND, self.do(Kind.FP_EQUAL, a, b), sign))
        chosen = self.choose(self.do(Kind.OR, self.do(Kind.FP_IS_NAN, a), first), a, b)
        return self.choose(self.do(Kind.FP_IS_NAN, b), b, chosen)

    def of_flags(self, name: str, operands: Any, dtype: Any) -> Any:
        name = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}.get(name, name)
        if name in _LOGIC:
            return self.do(_LOGIC[name][0], *operands)
        return self.do(Kind.NOT, *operands) if name == "not" else None

    def of_integers(self, name: str, operands: Any, dtype: Any) -> Any:
        a, b = operands[0], operands[-1]
        signed = np.dtype(dtype).kind == "i"
        if name in _OF_BITS:
            return self.do(_OF_BITS[name], a, b)
        if name in _LOGIC:
            return self.do(_LOGIC[name][1], a, b)
        if name in ("negate", "not"):
            return self.do(Kind.BV_NEG if name == "negate" else Kind.BV_NOT, a)
        if name in ("divide", "remainder"):
            kinds = (Kind.BV_SDIV, Kind.BV_SREM) if signed else (Kind.BV_UDIV, Kind.BV_UREM)
            # What a division by zero gives is up to the implementation.
            by_zero = self.do(Kind.EQUAL, b, self.number(0, dtype))
            return self.choose(by_zero, self.call(name, operands, dtype), self.do(kinds[name == "remainder"], a, b))
        if name in ("maximum", "minimum"):
            less = self.do(Kind.BV_SLT if signed else Kind.BV_ULT, a, b)
            return self.choose(less, b, a) if name == "maximum" else self.choose(less, a, b)
        if name == "abs":
            return self.choose(self.do(Kind.BV_SLT, a, self.number(0, dtype)), self.do(Kind.BV_NEG, a), a)
        if name == "sign":
            zero, one = self.number(0, dtype), self.number(1, dtype)
            negative = self.choose(self.do(Kind.BV_SLT, a, zero), self.number(-1, dtype), zero)
            return self.choose(self.do(Kind.BV_SGT if signed else Kind.BV_UGT, a, zero), one, negative)
        return None

    def compare(self, word: str, operands: Any, kind: Any) -> Any:
        a, b = operands
        if word in ("EQ", "NE"):
            if kind == "f":
                same = self.do(Kind.FP_EQUAL, a, b)
            elif kind == "c":
                same = self.do(Kind.AND, *(self.do(Kind.FP_EQUAL, x, y) for x, y in zip(a.parts, b.parts)))
            else:
                same = self.equal(a, b)
            return same if word == "EQ" else self.do(Kind.NOT, same)
        if kind == "b":
            less, more = self.do(Kind.AND, self.do(Kind.NOT, a), b), self.do(Kind.AND, a, self.do(Kind.NOT, b))
            found = {"LT": less, "GT": more, "GE": self.do(Kind.NOT, less), "LE": self.do(Kind.NOT, more)}
            return found[word]
        prefix = {"f": "FP_", "i": "BV_S", "u": "BV_U"}[kind]
        return self.do(getattr(Kind, prefix + word + "Q" * (kind == "f" and word.endswith("E"))), a, b)

    def convert(self, a: Any, source: Any, target: Any) -> Any:
        source, target = np.dtype(source), np.dtype(target)
        if target.kind == "c":
            part = np.dtype(f"f{target.itemsize // 2}")
            if source.kind == "c":
                return Pair(*(self.convert(x, np.dtype(f"f{source.itemsize // 2}"), part) for x in a.parts))
            return Pair(self.convert(a, source, part), self.number(0.0, part))
        if source.kind == "c":
            return self.convert(a.real, np.dtype(f"f{source.itemsize // 2}"), target)
        if source == target:
            return a
        is_float, was_float = target.name in FLOATS, source.name in FLOATS
        if target.kind == "b":
            zero = self.number(0, source)
            return self.do(Kind.NOT, self.do(Kind.FP_EQUAL if was_float else Kind.EQUAL, a, zero))
        if source.kind == "b":
            return self.choose(a, self.number(1, target), self.number(0, target))
        if is_float and was_float:
            return self.do(Kind.FP_TO_FP_FROM_FP, self.nearest, a, indices=FLOATS[target.name])
        if is_float:
            kind = Kind.FP_TO_FP_FROM_SBV if source.kind == "i" else Kind.FP_TO_FP_FROM_UBV
            return self.do(kind, self.nearest, a, indices=FLOATS[target.name])
        width, had = 8 * target.itemsize, 8 * source.itemsize
        if was_float:
            # Numbers that do not fit are up to the implementation, and to the solver.
            kind = Kind.FP_TO_SBV if target.kind == "i" else Kind.FP_TO_UBV
            return self.do(kind, self.manager.mk_rm_value(RoundingMode.RTZ), a, indices=(width,))
        if width <= had:
            return self.do(Kind.BV_EXTRACT, a, indices=(width - 1, 0)) if width < had else a
        kind = Kind.BV_SIGN_EXTEND if source.kind == "i" else Kind.BV_ZERO_EXTEND
        return self.do(kind, a, indices=(width - had,))


assert ml_dtypes, "names bfloat16"
