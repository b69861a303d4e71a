"""Angles reduced to the quarter turn around zero, exactly for every finite number.

Below a bound, multiples of pi/2 are subtracted in pieces. From the bound on, the
angle is multiplied by the bits of 2/pi that matter at its exponent, in integers (Payne
and Hanek, "Radian reduction for trigonometric functions", 1983). The program computes
both results and selects one. In CPU kernels, such a select becomes a branch, so that
the second result is computed only where a vector holds a large number; a comparison
with `RARE_FROM` marks these selects.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from passes.legalize.expressions import (
    Tensor,
    call,
    fast_two_sum,
    has_branches,
    has_doubles,
    keeps_order,
    power_of_two,
    rint,
    two_product,
    two_sum,
    where,
)
from passes.match import dtype_of, producer

# The bounds above which a number is large. No program compares with these exact numbers by chance.
RARE_FROM = {
    np.dtype(np.float32): float(np.nextafter(np.float32(2.0**25), np.float32(0))),
    np.dtype(np.float64): float(np.nextafter(2.0**24, 0.0)),
}
# pi/2 in pieces: as three doubles, and as 25 bits with the remainder.
_HALF_PI = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)
# pi/2 in pieces of 29 bits, whose products with integers of 24 bits are exact, and the remainder.
_HALF_PI_29 = (
    float.fromhex("0x1.921fb54p+0"),
    float.fromhex("0x1.10b4611p-30"),
    float.fromhex("0x1.4c4c662p-59"),
    float.fromhex("0x1.1701b839a252p-88"),
)
_HALF_PI_25 = float.fromhex("0x1.921fb5p+0")
_HALF_PI_REMAINDER = float.fromhex("0x1.110b4611a6263p-26")
_WORD = (1 << 64) - 1


def reduced(x: Tensor, bounded: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """`x - k * pi/2` as an unevaluated sum, and the integer `k` modulo 4; NaN for infinities and NaN.

    The second term is below 1 ulp of the first one, or below 1/32 of it where that is less than 1e-15.

    Args:
      bounded: `x` is known to be below `RARE_FROM`, as every float16 is.
    """
    bounded = bounded or _is_half(x)
    if x.dtype == np.float64:
        return _reduced_double(x, bounded)
    if has_doubles() and has_branches():
        return _reduced_in_double(x, bounded)
    return _reduced_single(x)


def _is_half(x: Tensor) -> bool:
    widening = producer(x.value, "stablehlo.convert")
    return widening is not None and dtype_of(widening.operation.operands[0]) == np.float16


def nearest(x: Tensor) -> tuple[Tensor, Tensor]:
    """`x` rounded to an integer, as a float and as an integer tensor of the same width.

    Adding 1.5 * 2**mantissa-bits leaves the integer in the low bits: cheaper than
    a conversion, and defined for NaN. A compiler that reorders sums removes it.
    """
    if not keeps_order():
        n = rint(x)
        return n, n.to(f"int{8 * x.dtype.itemsize}")
    magic = x.like(1.5 * 2.0 ** np.finfo(x.dtype).nmant)
    shifted = x + magic
    return shifted - magic, shifted.bits() - magic.bits()


def _reduced_double(x: Tensor, bounded: bool) -> tuple[Tensor, Tensor, Tensor]:
    n, k = nearest(x * (2 / math.pi))
    # The first difference is exact. Where the second one is rounded, it is so large that the later terms matter little.
    a, a_low = two_sum(x - n * _HALF_PI_29[0], -(n * _HALF_PI_29[1]))
    r, r_low = two_sum(a, -(n * _HALF_PI_29[2]))
    r_low = (a_low + r_low) - n * _HALF_PI_29[3]
    if bounded:
        return r, r_low, k
    usual = abs(x) < RARE_FROM[x.dtype]
    large = _large_double(x)
    return where(usual, r, large[0]), where(usual, r_low, large[1]), where(usual, k, large[2])


def _reduced_in_double(x: Tensor, bounded: bool) -> tuple[Tensor, Tensor, Tensor]:
    wide = x.to(np.float64)
    n, k = nearest(wide * (2 / math.pi))
    remainder = (wide - n * _HALF_PI_25) - n * _HALF_PI_REMAINDER
    k = k.to(np.int32)
    if not bounded:
        usual = abs(x) < RARE_FROM[x.dtype]
        phase, quarter = _phase_single(x, RARE_FROM[x.dtype])
        large = _not_infinite(x, (phase << 2).to(np.float64) * (math.pi / 2 * 2.0**-64))
        negative = x.bits() < 0
        remainder = where(usual, remainder, where(negative, -large, large))
        k = where(usual, k, where(negative, -quarter, quarter))
    r = remainder.to(np.float32)
    return r, (remainder - r.to(np.float64)).to(np.float32), k


def _reduced_single(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Without float64 and without branches: in integers from 1/2 on, where a GPU waits for its memory anyway."""
    phase, k = _phase_single(x, 0.5)
    turn = phase << 2
    negative = turn < 0
    size = where(negative, ~turn, turn)
    zeros = call("count_leading_zeros", size)
    # 32 bits of the fraction and 32 of pi/2: each half of the product's 48 upper bits is a float32.
    product = _right(size << zeros, 32) * int(math.pi / 2 * 2.0**31)
    scale = (-zeros).to(np.int32)
    r = _right(product, 40).to(np.int32).to(np.float32) * power_of_two(scale - 23, np.float32)
    low = (_right(product, 16) & 0xFFFFFF).to(np.int32).to(np.float32) * power_of_two(scale - 47, np.float32)
    negative = (x.bits() < 0) ^ negative
    r, low = where(negative, -r, r), where(negative, -low, low)
    small = abs(x) < 0.5
    r, low = where(small, x, _not_infinite(x, r)), where(small, low.like(0), low)
    return r, low, where(small, k.like(0), where(x.bits() < 0, -k, k))


def _not_infinite(x: Tensor, result: Tensor) -> Tensor:
    return where(abs(x) < math.inf, result, result.like(math.nan))


def _right(x: Tensor, count: Tensor | int) -> Tensor:
    """A logical shift to the right."""
    return call("shift_right_logical", x, count if isinstance(count, Tensor) else x.like(count))


@functools.cache
def _words(position: int, count: int) -> tuple[int, ...]:
    """64-bit words of the binary digits of 2/pi; the first one ends with the digit at 2**-position."""
    bits = position + 64 * (count - 1)
    guard = bits + 64

    def arctan_of_inverse(n: int) -> int:
        total, power, i = 0, (1 << guard) // n, 0
        while power:
            total += (power if i % 2 == 0 else -power) // (2 * i + 1)
            power //= n * n
            i += 1
        return total

    # Machin's formula; its rounding errors are far below the last word.
    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    digits = (2 << (guard + bits)) // pi
    return tuple(_signed(digits >> 64 * (count - 1 - i)) for i in range(count))


def _signed(word: int) -> int:
    """The low 64 bits as a number that int64 holds."""
    word &= _WORD
    return word - (1 << 64) if word >> 63 else word


def _window(offset: Tensor, words: Sequence[int], count: int) -> list[Tensor]:
    """The `count` words that begin `offset` bits into `words`: first shifted by whole words, then by single bits."""
    found = [offset.like(word) for word in words]
    last = len(words) - count - 1
    for bit in reversed(range(last.bit_length())):
        ahead = (offset & (64 << bit)).differs(0)
        have = count + 1 + (1 << bit) - 1
        padded = found + [found[-1]] * (have + (1 << bit) - len(found))
        found = [where(ahead, padded[i + (1 << bit)], padded[i]) for i in range(have)]
    shift = offset & 63
    return [(found[i] << shift) | _right(_right(found[i + 1], 1), 63 - shift) for i in range(count)]


def _phase_single(x: Tensor, lowest: float) -> tuple[Tensor, Tensor]:
    """`|x|` in quarter turns modulo 4, as an int64 in units of 2**-62, and the nearest whole number of them.

    For a float32 from `lowest` on. The error is below 2 units, while no float32 is closer than 2**-31 to a
    multiple of pi/2.
    """
    first = math.frexp(lowest)[1] + 126
    bits = x.bits() & 0x7FFFFFFF
    offset = (bits >> 23).to(np.int64) - first
    mantissa = ((bits & 0x7FFFFF) | 0x800000).to(np.int64)
    # mantissa * 2**(exponent - 150) * 2/pi: two words are enough for 24 bits, with two bits before the binary point and
    # 62 after it.
    words = _words(first - 150 + 62, (254 - first) // 64 + 3)
    high, low = _window(offset, words, 2)
    phase = mantissa * high + _right(mantissa * _right(low, 32), 32)
    return phase, _right(phase + (1 << 61), 62).to(np.int32)


def _upper_product(a: Tensor, b: Tensor) -> Tensor:
    """The upper 64 bits of `a * b`, both unsigned, `a` below 2**53."""
    a_high, a_low = _right(a, 32), a & 0xFFFFFFFF
    b_high, b_low = _right(b, 32), b & 0xFFFFFFFF
    middle = a_high * b_low + _right(a_low * b_low, 32)
    return a_high * b_high + _right(middle, 32) + _right(a_low * b_high + (middle & 0xFFFFFFFF), 32)


def _large_double(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`reduced` of a float64 from the bound on.

    |x| = mantissa 2**(exponent - 1075); a product with 192 bits of 2/pi has 126 correct bits after the binary point,
    while no float64 is closer than 2**-62 to a multiple of pi/2.
    """
    first = math.frexp(RARE_FROM[x.dtype])[1] + 1022
    bits = x.bits() & ((1 << 63) - 1)
    offset = (bits >> 52) - first
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    words = _words(first - 1075 + 62, (2046 - first) // 64 + 4)
    high, middle, low = _window(offset, words, 3)
    carried = _upper_product(mantissa, low)
    below = mantissa * middle + carried
    top = 1 << 63
    carry = ((below ^ -top) < (carried ^ -top)).to(np.int64)
    above = mantissa * high + _upper_product(mantissa, middle) + carry
    k = _right(above + (1 << 61), 62)
    # The distance to the nearest quarter turn, in 127 bits and a sign.
    above, below = (above << 2) | _right(below, 62), below << 2
    sign = above >> 63
    above, below = above ^ sign, below ^ sign

    def exactly(digits: Tensor, unit: float) -> Tensor:
        # They are below 2**52, so they fit the fraction of a float64.
        return ((digits | x.like(2.0**52).bits()).bitcast(np.float64) - 2.0**52) * unit

    head = exactly(_right(above, 11), 2.0**-53)
    tail = exactly(((above & 0x7FF) << 41) | _right(below, 23), 2.0**-105)
    turn, turn_low = fast_two_sum(head, tail)
    turn, turn_low = fast_two_sum(turn, turn_low + exactly(below & ((1 << 23) - 1), 2.0**-128))
    p, p_low = two_product(turn, x.like(_HALF_PI[0]))
    r, r_low = fast_two_sum(p, p_low + (turn * _HALF_PI[1] + turn_low * _HALF_PI[0]))
    negative = x.bits() < 0
    turned = (x.bits() ^ sign) < 0
    r = _not_infinite(x, where(turned, -r, r))
    return r, where(turned, -r_low, r_low), where(negative, -k, k)
