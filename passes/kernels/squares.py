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
    while step < lanes:
        lower = _numbers([i if not i & step else lanes + (i ^ step) for i in range(lanes)], parts)
        upper = _numbers([i | step if not i & step else lanes + i for i in range(lanes)], parts)
        exchanged = list(found)
        for i in (i for i in range(lanes) if not i & step):
            a, b = found[i], found[i | step]
            exchanged[i] = w.op(f"vector.shuffle {a}, {b} {lower} : {type_}, {type_}")
            exchanged[i | step] = w.op(f"vector.shuffle {a}, {b} {upper} : {type_}, {type_}")
        found, step = exchanged, step * 2
    return found


def _numbers(elements: Sequence[int], parts: int) -> list[int]:
    return [element * parts + part for element in elements for part in range(parts)]
