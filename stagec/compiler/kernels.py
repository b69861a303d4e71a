"""Kernels for CPUs as the compiler laid them out, changed where its vectors do not come about.

Measured with AVX-512 on float32[1000,1000], the best of 60 calls in one process, with this step and without it: sums
over rows 7 times as fast, maxima 3 times, positions of maxima 3 times, `sum(x * x)` over rows 3 to 4 times. Over
columns, sums, maxima and deviations 1.4 to 2.4 times, of booleans 4 to 6 times, of 9 to 37 columns 2 to 4 times.
"""

from __future__ import annotations

import math
import re
from typing import Any

from stagec.compiler.mlir import ir, operations
from stagec.compiler.nests import Nest, Tiles, set_tiles, tiles_of

_PIPELINE = "#iree_cpu.pipeline<DoubleTilingExpert>>"
_PEELING = "#iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>"
# Elements in the vectors of a kernel; the compiler refuses those of 32 KiB.
_MOST = 2048
# Vectors in a row that a kernel with several reductions goes through by itself: measured for a softmax of 2**20 floats,
# 1.2 times as fast as eight rows at a time for rows of 128 to 4096, and slower for rows of 64 and less.
_LONG = 8
# Elements along a side of what is transposed in registers.
_LARGEST_SQUARE = 16


def improve(module: Any) -> int:
    """Have reductions work in whole vectors.

    - A row that is no multiple of a vector is read with masks, for which single
      elements are taken in the end. With loop peeling, the rest of a row is a
      piece of its own.
    - A row is added up in one vector, where each addition waits for the one
      before. Several vectors at a time do not wait. The same holds for columns;
      where masks cost nothing, those that are left over take them.
    - A sum of products becomes a contraction, which is taken element by element.
      `+ 0` in between hides it. It changes nothing but the sign of a zero, which
      the sum loses in any case.
    - Where one array is read along the axis that is written and another across,
      vectors of the other would be gathered. Squares are transposed in vectors.

    Args:
      module: at the compiler's phase `executable-configurations`.

    Returns:
      How many operations were changed.
    """
    count = 0
    for function in operations(module, "func.func"):
        info = str(function.attributes["translation_info"]) if "translation_info" in function.attributes else ""
        if _PIPELINE in info or _PEELING in info:
            nests = [Nest.read(op) for op in operations(function, "linalg.generic")]
            reductions = [nest for nest in nests if nest.reduces]
            count += sum(map(_hide_product, reductions))
            count += _widen_rows(function, nests) or _widen_columns(function, reductions)
            count += not reductions and len(nests) == 1 and _take_squares(function, nests[0])
    return count


def _hide_product(reduction: Nest) -> bool:
    op = reduction.op
    *_, product, total, _end = [None, None, *(o.operation for o in op.regions[0].blocks[0].operations)]
    if product is None or (product.name, total.name) != ("arith.mulf", "arith.addf"):
        return False
    # Of numbers as they are read, where an input has fewer loops than the sum, it is a matrix product. Those go well.
    as_read = all(isinstance(value, ir().BlockArgument) for value in product.operands)
    if as_read and any(len(places) != len(reduction.sizes) for places in reduction.inputs):
        return False
    kind = product.result.type
    with ir().InsertionPoint(total), op.location:
        zero = ir().Operation.create("arith.constant", [kind], attributes={"value": ir().FloatAttr.get(kind, 0.0)})
        apart = ir().Operation.create("arith.addf", [kind], [product.result, zero.result])
    places = [i for i, value in enumerate(total.operands) if value == product.result]
    for i in places:
        total.operands[i] = apart.result
    return bool(places)


def _widen_rows(function: Any, nests: list[Nest]) -> bool:
    """Set the tiles of a kernel by the last of its reductions over rows."""
    reductions = [nest for nest in nests if _width(nest)]
    if not reductions:
        return False
    last = reductions[-1]
    sizes, tiles, width = last.sizes, last.tiles, _width(last)
    rows, groups = tiles.get("vector_common_parallel", []), tiles.get("distribution", [])
    elements = math.prod(n for n in (*rows, *tiles["vector_reduction"]) if n)
    wide = next((width * k for k in (4, 2) if sizes[-1] >= 4 * k * width and elements * k <= _MOST), width)
    changes = {"vector_reduction": {width: wide}}
    if len(reductions) > 1 and sizes[-1] >= _LONG * width:
        changes["vector_common_parallel"] = {n: 1 for n in rows if n > 1}
    elif sizes[-1] % wide:
        changes |= _rows_at_a_time(sizes, tiles)
    if sizes[-1] % wide:
        with function.context:
            info = str(function.attributes["translation_info"]).replace(_PIPELINE, _PEELING)
            function.attributes["translation_info"] = ir().Attribute.parse(info)
    if any(_goes_back(nest, last, reductions) for nest in nests):
        taken = [changes.get("vector_common_parallel", {}).get(n, n) for n in rows]
        pairs = {(group, n) for group, n, size in zip(groups, taken, sizes) if group > 0 < n and size % n == 0}
        changes["distribution"] = dict(pairs) if len(dict(pairs)) == len(pairs) else {}
    _set_tiles(function, changes)
    return True


def _goes_back(nest: Nest, last: Nest, reductions: list[Nest]) -> bool:
    """Whether a nest behind the last reduction reads what another one gave.

    The compiler computes that again for a workgroup that takes its rows in several steps.
    """
    read = {value.owner.operation for value in nest.op.operands if not isinstance(value, ir().BlockArgument)}
    return last.op in read and any(other.op in read for other in reductions if other.op != last.op)


def _widen_columns(function: Any, reductions: list[Nest]) -> bool:
    """Have a kernel that reduces columns take several vectors of them at a time, the last ones with masks."""
    if len(reductions) != 1:
        return False
    ((op, _, sizes, reduced, *_, tiles),) = reductions
    if reduced != [False, True] or tiles.get("vector_reduction") != [0, 1]:
        return False
    (size, _), (group, _), (width, _) = sizes, tiles["distribution"], tiles["vector_common_parallel"]
    lanes = _masked_lanes(op)
    if lanes:
        wide = next((k * lanes for k in (4, 2) if size >= k * lanes), lanes)
    else:
        wide = next((k * width for k in (4, 2) if size % (k * width) == 0 and size >= 4 * k * width), 0)
    if not wide or group <= 0:
        return False
    _set_tiles(function, {"distribution": {group: -(-group // wide) * wide}, "vector_common_parallel": {width: wide}})
    return True


def _take_squares(function: Any, nest: Nest) -> bool:
    """Have a kernel without reductions that reads an array across the innermost loop take squares of it."""
    tiles, groups = ([*nest.tiles.get(level, ())] for level in ("vector_common_parallel", "distribution"))
    loops = {name: i for i, name in enumerate(nest.loops)}
    last = len(loops) - 1
    across = {loops.get(places[-1], last) for places in nest.inputs if len(places) > 1} - {last}
    if len(across) != 1 or len(groups) != len(tiles) or not tiles or tiles[-1] <= 1:
        return False
    pair = (*across, last)
    size = min(_masked_lanes(nest.op) or tiles[-1], _LARGEST_SQUARE)
    if tiles[pair[0]] != 1 or any(nest.sizes[loop] < 2 * size or groups[loop] <= 0 for loop in pair):
        return False
    for loop in pair:
        # A square of half the size leaves no rest, where it does.
        tiles[loop] = size if nest.sizes[loop] % size == 0 or nest.sizes[loop] % (size // 2) else size // 2
        groups[loop] = -(-groups[loop] // tiles[loop]) * tiles[loop]
    set_tiles(nest.op, {"distribution": groups, "vector_common_parallel": tiles})
    return True


def _width(nest: Nest) -> int:
    """Elements of a row in a vector, if the innermost loop is a reduction in vectors; else 0."""
    width = nest.tiles.get("vector_reduction", [0])[-1]
    return width if nest.reduced[-1:] == [True] and 1 < width < nest.sizes[-1] else 0


def _masked_lanes(op: Any) -> int:
    """Elements of a vector, if the target reads and writes parts of vectors at the cost of whole ones; else 0."""
    variant = op
    while variant.name != "hal.executable.variant":
        variant = variant.parent
    target = str(variant.attributes["target"])
    size = re.search(r"native_vector_size = (\d+)", target)
    bits = [_bits(value.type.element_type) for value in op.operands]
    if size and ("+avx512bw" in target or ("+avx2" in target and min(bits) >= 32)):
        return int(size[1]) * 8 // max(*bits, 8)
    return 0


def _bits(kind: Any) -> int:
    return kind.width if isinstance(kind, ir().IntegerType | ir().FloatType) else 0


def _set_tiles(function: Any, changes: dict[str, dict[int, int]]) -> None:
    """Put other numbers in the places of some, in the tiles of all operations."""
    for op in operations(function):
        tiles = tiles_of(op)
        if tiles:
            set_tiles(op, {level: [changes.get(level, {}).get(n, n) for n in tiles[level]] for level in tiles})


def _rows_at_a_time(sizes: list[int], tiles: Tiles) -> dict[str, dict[int, int]]:
    """Numbers of rows for a workgroup and for an inner loop that leave no rest, which would be peeled off too."""
    changes: dict[str, dict[int, int]] = {"distribution": {}, "vector_common_parallel": {}}
    for size, group, inner in zip(sizes, tiles.get("distribution", ()), tiles.get("vector_common_parallel", ())):
        if inner <= 1 or group <= 0:
            continue
        groups = [n for n in range(inner, 2 * group + 1, inner) if size % n == 0 and 2 * n >= group]
        if groups:
            changes["distribution"][group] = groups[-1]
        else:
            changes["vector_common_parallel"][inner] = max(n for n in range(1, inner + 1) if group % n == 0)
    return changes
