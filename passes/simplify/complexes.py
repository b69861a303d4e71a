"""Exact laws of complex numbers and their parts."""

from __future__ import annotations

from passes.patterns import laws_of
from passes.simplify.terms import law

REAL, IMAG, COMPLEX, CONJ = "stablehlo.real", "stablehlo.imag", "stablehlo.complex", "chlo.conj"
NEGATE = "stablehlo.negate"
_BY_PARTS = ("stablehlo.add", "stablehlo.subtract", NEGATE)


part_of_real = law("real(x) -> x and conj(x) -> x and imag(x) -> 0 for real. Exact.")
part_of_conjugate = law("real(conj(z)) -> real(z) and imag(conj(z)) -> -imag(z) for complex z. Exact.")
part_of_sum = law(
    "g([f(z, w)]) -> f(g(z), g(w)) for g in real|imag, f in add|subtract, complex z; "
    "g([-z]) -> -g(z) for g in real|imag, complex z. Exact: real and imaginary parts are added separately."
)
part_of_converted = law("real(convert(x)) -> convert(x) and imag(convert(x)) -> 0 for real. Exact.")
abs_of_conjugate = law("abs(conj(z)) -> abs(z) and abs(-z) -> abs(z) for complex z. Exact.")
abs_of_one_part = law("abs(complex(x, zero)) -> abs(x) and abs(complex(zero, x)) -> abs(x). Exact.")
complex_of_negated_parts = law(
    "complex([-a], [-b]) -> -complex(a, b); complex(real(z), -imag(z)) -> conj(z) for complex z. Exact."
)
conjugate_of_parts = law("conj(complex(a, b)) -> complex(a, -b). Exact; other laws may simplify the parts.")

PATTERNS = laws_of(globals())
