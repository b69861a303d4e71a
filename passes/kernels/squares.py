"""Transposes of square blocks in vector registers."""

from __future__ import annotations

from collections.abc import Sequence

from passes.kernels.writer import Writer


def transposed(w: Writer, rows: Sequence[str], type_: str, parts: int = 1) -> list[str]:
    """The transpose of a square of vectors, by exchanging blocks of doubling size.

    Args:
      rows: as many vectors as each has lanes, a power of two.
      type_: of each vector.
      parts: how many numbers an element has.

    >>> w = Writer()
    >>> transposed(w, ["%a", "%b"], "vector<2xf32>")
    ['%1', '%2']
    >>> print(w.text().replace(" loc(unknown)", ""))
            %1 = vector.shuffle %a, %b [0, 2] : vector<2xf32>, vector<2xf32>
            %2 = vector.shuffle %a, %b [1, 3] : vector<2xf32>, vector<2xf32>
    """
    found, lanes, step = list(rows), len(rows), 1
    # Blocks are exchanged within 128 bits as far as possible: processors have one instruction for that.
    bits = int(type_.rstrip(">").rpartition("x")[2].lstrip("bfi")) * parts
    unit = min(lanes, max(1, 128 // bits))
    while step < lanes:
        span = max(2 * step, unit)
        starts = [base + i for base in range(0, lanes, span) for i in range(0, span // 2, step)]
        lower = [side + start + i for start in starts for side in (0, lanes) for i in range(step)]
        names = [_numbers([i + by for i in lower], parts) for by in (0, span // 2)]
        exchanged = list(found)
        for i in (i for i in range(lanes) if not i & step):
            for j, numbers in zip((i, i | step), names):
                exchanged[j] = w.op("vector.shuffle", (found[i], found[i | step]), type_, *numbers)
        found, step = exchanged, step * 2
    # The columns of a unit come out in the order of their reversed bits.
    order = [0]
    while len(order) < unit:
        order = [2 * i + bit for bit in (0, 1) for i in order]
    return [found[base + i] for base in range(0, lanes, unit) for i in order]


def _numbers(elements: Sequence[int], parts: int) -> list[int]:
    return [element * parts + part for element in elements for part in range(parts)]
