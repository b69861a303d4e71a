"""The tiling of products: the register tile, blocks for the caches, and shares of the cores, by one cost model."""

from __future__ import annotations

import dataclasses
import functools

from passes.kernels.elements import ELEMENTS
from passes.kernels.processor import Processor
from passes.kernels.products.shapes import Product

# The least time of a share of the work, in seconds of one core, so that distributing it costs little.
_SHARE = 100e-6
# The same for rows that are read once.
_ROW_SHARE = 20e-6
# Approximate multiply-adds and bytes per second of one core; used only to size shares.
_MULTIPLY_ADDS = {2: 1e11, 4: 5e10, 8: 2.5e10}
_BYTES = 1e10
# Rows of B with a smaller stride in bytes are read in place, since the processor prefetches them.
_NEAR_ROWS = 1024
# Sums of this many bytes are cut into blocks of `_DEPTH` terms, and their operands are prefetched.
_LONG_SUM, _DEPTH = 4096, 512
# The most bytes of a panel of columns that a workgroup packs itself.
_PANEL = 128 << 10
# Of products with at most so many multiply-adds, compiling takes longer than many calls. Those may be a little slower
# for less code, which 32x512x256 would pay for with a third of its time.
_SMALL, _SLACK = 1 << 20, 1.04
# The same, for few columns: IREE's own code is up to a fifth faster.
_FEW = 1 << 17
# The rows and columns of sums that the matrix unit computes at a time, its approximate multiply-adds per second, and
# the least multiply-adds for which packing operands for it pays.
AMX_ROWS, AMX_WIDTH = 32, 32
_AMX_MULTIPLY_ADDS, _AMX_LEAST = 5e11, 1 << 17
# The least multiply-adds for instructions that multiply pairs, which do twice as many as others.
_PAIRS_LEAST = 1 << 20
# A left operand of at most this many rows reads each row of B once, so packing does not pay.
_THIN = 12
# The same if the right operand is packed before the first call.
_THIN_PACKED = 2
# Addresses that differ by a multiple of `_WAY` share a set of the first cache, which keeps the lines of about `_WAYS`.
_WAY, _WAYS = 4096, 8
# A product of fewer rows or columns leaves most of the matrix unit idle, which does not pay if operands must be packed.
_FEW_AMX = 8


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How a product is computed.

    Attributes:
      form: `tiled`; `pairs`, the same with instructions that multiply pairs; `amx`, with the matrix unit; or `dots`,
        for few columns of operands that are both contiguous along the sum.
      rows, vectors: the register tile's extent.
      lanes: elements in a vector.
      pack_lhs: whether the left operand is copied into panels first.
      pack_rhs: `ahead`: the right operand is copied into panels first; `here`: each workgroup copies the panel of
        columns that it is at; empty: it is read as it is.
      depth: terms of the sum in a block.
      row_blocks, column_blocks: panels of rows and of columns of a workgroup.
      prefetch: whether panels and results are prefetched.
    """

    form: str
    rows: int
    vectors: int
    lanes: int
    pack_lhs: bool = False
    pack_rhs: str = ""
    depth: int = 0
    row_blocks: int = 1
    column_blocks: int = 1
    prefetch: bool = False

    @property
    def width(self) -> int:
        """Columns of the register tile."""
        return self.vectors * self.lanes


def tiling(product: Product, processor: Processor, known: bool = False, alone: bool = False) -> Tiling | None:
    """How to compute a product; None where the compiler's own code is better.

    Args:
      known: whether the right operand is the same at each call, so that packing it costs no time.
      alone: whether there is no other code.
    """
    size = ELEMENTS[product.element].size
    lanes = processor.lanes(product.element)
    m, n, k = product.m, product.n, product.k
    if {product.lhs.element, product.rhs.element} <= processor.matrices and _suits_amx(product, known):
        return _amx(product, processor)
    if {product.lhs.element, product.rhs.element} <= processor.pairs and _suits_pairs(product, processor, known):
        return _pairs(product, processor)
    # Where all programs must have the same bits, terms are added up one after the other, however operands are stored.
    in_lanes = min(m, n) <= 8 and k >= 2 * lanes and not processor.is_portable
    if product.lhs.column == 1 and product.rhs.row == 1 and in_lanes:
        return _dots(product, processor)
    if n < lanes // 2 and m > 1 and m * n * k > _FEW and not alone:
        return None
    rows, vectors = register_tile(m, n, lanes, size, processor, _SLACK if m * n * k <= _SMALL else 1.005)
    readable = product.rhs.column == 1
    thin = m <= (_THIN_PACKED if known else _THIN) and readable and n * size >= _NEAR_ROWS
    if thin:
        rows, vectors = m, max(1, min(4, (processor.registers - 8) // m))
    # A thin product goes along its rows in short blocks, which stay in the first cache.
    depth = (32 if m > 2 else 16) if thin else k
    width = vectors * lanes
    packs = not readable or (not thin and n * size >= _NEAR_ROWS)
    many = m >= 4 * rows
    wide = packs and many and m * k * size > 64 << 10 and n > 8 * width
    # Rows that are contiguous along the sum are prefetched in place, and need no copy, unless those of a tile displace
    # each other in the first cache. Packing widens 16-bit floats once; without it, they are widened for each panel of
    # columns.
    narrow = ELEMENTS[product.lhs.element].is_narrow
    conflicting = product.lhs.row * size % _WAY == 0 and rows > _WAYS
    pack_lhs = (wide and (product.lhs.column != 1 or conflicting)) or (narrow and packs and many)
    pack_rhs = ("ahead" if many or known else "here") if packs else ""
    prefetch = False
    if wide and k * size >= _LONG_SUM:
        depth, prefetch = _DEPTH, True
    if pack_rhs == "here":
        depth = min(depth, _PANEL // (width * size))
    blocks = _blocks(product, processor, rows, width, min(depth, k))
    return Tiling("tiled", rows, vectors, lanes, pack_lhs, pack_rhs, min(depth, k), *blocks, prefetch)


def _suits_pairs(product: Product, processor: Processor, known: bool) -> bool:
    kinds = {product.lhs.element, product.rhs.element}
    if product.element == "i32":
        return _suits_amx(product, known)
    # For results of 8 or 16 bits, 16-bit multiplications and additions are as fast as those of pairs.
    pays = product.element == "f32" or (processor.sums_pairs and "i16" not in kinds)
    large = product.m >= 32 and product.m * product.n * product.k >= _PAIRS_LEAST
    return pays and large and _suits_amx(product, known)


def _pairs(product: Product, processor: Processor) -> Tiling:
    m, n, k = product.m, product.n, product.k
    lanes = processor.vector_bytes // 4
    rows, vectors = register_tile(m, n, lanes, 4, processor)
    whole = product.lhs.element == "bf16" and product.lhs.column == 1 and k % 2 == 0
    panels = -(-m // rows), -(-n // (vectors * lanes))
    blocks = _shared(product, processor, panels, panels, rows, vectors * lanes, 2, _MULTIPLY_ADDS[2])
    return Tiling("pairs", rows, vectors, lanes, not whole, "ahead", k, *blocks)


def _suits_amx(product: Product, known: bool) -> bool:
    m, n, k = product.m, product.n, product.k
    readable = all(1 in (matrix.row, matrix.column) for matrix in (product.lhs, product.rhs))
    fills = m > (_THIN_PACKED if known else _FEW_AMX) and n > _FEW_AMX and k >= 16
    return readable and fills and m * n * k >= _AMX_LEAST


def _amx(product: Product, processor: Processor) -> Tiling:
    size = ELEMENTS[product.lhs.element].size
    # Tiles have whole rows of 64 bytes, and nothing beyond an operand may be read.
    whole = product.lhs.column == 1 and product.m % AMX_ROWS == 0 and product.k * size % 64 == 0
    panels = -(-product.m // AMX_ROWS), -(-product.n // AMX_WIDTH)
    blocks = _shared(product, processor, panels, panels, AMX_ROWS, AMX_WIDTH, size, _AMX_MULTIPLY_ADDS)
    return Tiling("amx", AMX_ROWS, 2, AMX_WIDTH // 2, not whole, "ahead", product.k, *blocks)


def _dots(product: Product, processor: Processor) -> Tiling:
    few = min(product.m, product.n)
    many = max(product.m, product.n)
    rows = min(8 if few <= 2 else max(1, (processor.registers - 8) // few), many)
    panels = -(-many // rows)
    share = int(many * product.k * ELEMENTS[product.lhs.element].size / _BYTES / _ROW_SHARE)
    groups = max(1, min(share, processor.cores, panels)) if product.batches < processor.cores else 1
    return Tiling("dots", rows, 1, processor.lanes(product.element), row_blocks=-(-panels // groups))


@functools.lru_cache(maxsize=512)
def register_tile(m: int, n: int, lanes: int, size: int, processor: Processor, slack: float = 1.005) -> tuple[int, int]:
    """Rows and vectors of the register tile that take the fewest cycles, remainders included.

    An iteration does two multiply-adds or two loads in a cycle, and takes at least
    four cycles, the latency of a multiply-add. Of the tiles within `slack` times
    the fewest cycles, it is the one with the least code.

    >>> register_tile(1024, 1024, 16, 4, Processor(64, 32, True, True))
    (14, 2)
    """

    def cycles(rows: int, vectors: int) -> float:
        round_ = max(rows * vectors / 2, (rows + vectors) / 2 * 1.05, 4)
        return (round_ + (rows + vectors * lanes) * size / 256) * 256 + rows * vectors * 1.5 + 20

    found = []
    for vectors in range(1, 7):
        if (vectors - 1) * lanes >= n:
            break
        width = vectors * lanes
        left = -(-(n % width) // lanes)
        for rows in range(1, min(m, 28) + 1):
            if rows * vectors + vectors + 1 > processor.registers:
                break
            tiles = [
                (r, v, count_m * count_n)
                for r, count_m in ((rows, m // rows), (m % rows, 1))
                for v, count_n in ((vectors, n // width), (left, 1))
                if r and v and count_m and count_n
            ]
            cost = sum(count * cycles(r, v) for r, v, count in tiles)
            found.append((cost, sum(r * v for r, v, _ in tiles), rows, vectors))
    # Among those that are about as fast, the one with the least code: each tile, remainders too, has code of its own.
    fast = min(found)[0] * slack
    return min((size_, cost, rows, vectors) for cost, size_, rows, vectors in found if cost <= fast)[2:]


def _blocks(product: Product, processor: Processor, rows: int, width: int, depth: int) -> tuple[int, int]:
    """Panels of rows and of columns in a block: the left operand's share fits the cache, and cores get even shares."""
    size = ELEMENTS[product.element].size
    row_panels, column_panels = -(-product.m // rows), -(-product.n // width)
    m, n = row_panels, column_panels
    # The remainder of the cache is for panels of columns and for the result.
    room = processor.l2 * 3 // 4
    if product.m * depth * size > room:
        m = max(1, room // (rows * depth * size))

    return _shared(product, processor, (row_panels, column_panels), (m, n), rows, width, size, _MULTIPLY_ADDS[size])


def _shared(
    product: Product,
    processor: Processor,
    panels: tuple[int, int],
    most: tuple[int, int],
    rows: int,
    width: int,
    size: int,
    speed: float,
) -> tuple[int, int]:
    """Panels of rows and of columns in a block: at most `most`, and fewer if cores share the work.

    Args:
      panels: the number of panels of rows and of columns, of `rows` and `width` each.
      size: bytes of an element.
      speed: multiply-adds in a second.
    """
    m, n = most

    def seconds() -> float:
        work = m * rows * n * width * product.k / speed
        return max(work, (m * rows + n * width) * product.k * size / _BYTES)

    while product.batches < processor.cores and seconds() > _SHARE:
        if -(-panels[0] // m) * -(-panels[1] // n) * product.batches >= processor.cores:
            break
        if n > 1 and n * width >= m * rows:
            n = -(-n // 2)
        elif m > 1:
            m = -(-m // 2)
        else:
            break
    return _even(panels[0], m), _even(panels[1], n)


def _even(panels: int, block: int) -> int:
    return -(-panels // -(-panels // block))
