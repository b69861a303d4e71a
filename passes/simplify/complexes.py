"""Exact laws of complex numbers and their parts."""

from __future__ import annotations

from typing import Any

from passes import build
from passes.match import has_one_use, is_complex, is_splat, producer
from passes.patterns import pattern
from passes.types import numpy_dtype

REAL, IMAG, COMPLEX, CONJ = "stablehlo.real", "stablehlo.imag", "stablehlo.complex", "chlo.conj"
NEGATE = "stablehlo.negate"
_BY_PARTS = ("stablehlo.add", "stablehlo.subtract", NEGATE)


@pattern(REAL, IMAG, CONJ)
def part_of_real(op: Any) -> Any:
    """real(x) -> x, imag(x) -> 0 and conj(x) -> x for real numbers. Exact."""
    (x,) = op.operation.operands
    if is_complex(x):
        return None
    return build.full(0, x) if op.operation.name == IMAG else x


@pattern(REAL, IMAG, of=CONJ)
def part_of_conjugate(op: Any) -> Any:
    """real(conj(z)) -> real(z) and imag(conj(z)) -> -imag(z). Exact."""
    inner = producer(op.operand, CONJ)
    if inner is None or not is_complex(op.operand):
        return None
    part = build.op(op.operation.name, [inner.operand], op.operation.results[0].type)
    return part if op.operation.name == REAL else build.op(NEGATE, [part])


@pattern(REAL, IMAG, of=_BY_PARTS)
def part_of_sum(op: Any) -> Any:
    """real(z + w) -> real(z) + real(w), and the same for differences, negations and imaginary parts.

    Exact: real and imaginary parts are added separately. The law requires that nothing else reads the sum.
    """
    inner, type_ = producer(op.operand), op.operation.results[0].type
    if inner is None or inner.operation.name not in _BY_PARTS:
        return None
    if not has_one_use(op.operand) or not is_complex(op.operand):
        return None
    parts = [build.op(op.operation.name, [value], type_) for value in inner.operation.operands]
    return build.op(inner.operation.name, parts, type_)


@pattern(REAL, IMAG, of="stablehlo.convert")
def part_of_converted(op: Any) -> Any:
    """real(convert(x)) -> convert(x) and imag(convert(x)) -> 0 for real x. Exact."""
    inner = producer(op.operand, "stablehlo.convert")
    result = op.operation.results[0]
    if inner is None or is_complex(inner.operand) or not is_complex(op.operand):
        return None
    if op.operation.name == IMAG:
        return build.full(0, result)
    return build.convert(inner.operand, numpy_dtype(result.type.element_type))


@pattern("stablehlo.abs", of=(CONJ, NEGATE))
def abs_of_conjugate(op: Any) -> Any:
    """|conj(z)| -> |z| and |-z| -> |z| for complex numbers. Exact."""
    inner = producer(op.operand)
    if inner is None or inner.operation.name not in (CONJ, NEGATE) or not is_complex(op.operand):
        return None
    return build.op("stablehlo.abs", [inner.operand], op.operation.results[0].type)


@pattern("stablehlo.abs", of=COMPLEX)
def abs_of_one_part(op: Any) -> Any:
    """|complex(a, 0)| -> |a| and |complex(0, b)| -> |b|. Exact."""
    inner = producer(op.operand, COMPLEX)
    if inner is None:
        return None
    for part, other in ((inner.lhs, inner.rhs), (inner.rhs, inner.lhs)):
        if is_splat(other, 0) or is_splat(other, -0.0):
            return build.op("stablehlo.abs", [part])
    return None


@pattern(COMPLEX, of=NEGATE)
def complex_of_negated_parts(op: Any) -> Any:
    """complex(real(z), -imag(z)) -> conj(z), and complex(-a, -b) -> -complex(a, b). Exact."""
    real, left, right = producer(op.lhs, REAL), producer(op.lhs, NEGATE), producer(op.rhs, NEGATE)
    if left is not None and right is not None:
        if not has_one_use(op.lhs) or not has_one_use(op.rhs):
            return None
        return build.op(NEGATE, [build.op(COMPLEX, [left.operand, right.operand], op.operation.results[0].type)])
    imag = producer(right.operand, IMAG) if right is not None else None
    if real is None or imag is None or real.operand != imag.operand or not is_complex(real.operand):
        return None
    return build.op(CONJ, [real.operand])


@pattern(CONJ, of=COMPLEX)
def conjugate_of_parts(op: Any) -> Any:
    """conj(complex(a, b)) -> complex(a, -b). Exact; other laws may simplify the parts."""
    inner = producer(op.operand, COMPLEX)
    if inner is None:
        return None
    return build.op(COMPLEX, [inner.lhs, build.op(NEGATE, [inner.rhs])], op.operation.results[0].type)


PATTERNS = (
    part_of_real,
    part_of_conjugate,
    part_of_sum,
    part_of_converted,
    abs_of_conjugate,
    abs_of_one_part,
    complex_of_negated_parts,
    conjugate_of_parts,
)
