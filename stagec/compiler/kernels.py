"""Kernels for CPUs as the compiler laid them out, changed where its vectors do not come about.

Measured with AVX-512, before over after: sums over rows of 1000 floats 7 times, maxima 4 times, positions of maxima 3
times, `sum(x * x)` over rows, columns or everything 4 to 5 times as fast (`python -m tests.benchmarks kernels`).
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from stagec.compiler.mlir import ir, operations

_PIPELINE = "#iree_cpu.pipeline<DoubleTilingExpert>>"
_PEELING = "#iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>"
_SIZES = re.compile(r"(\w+) = \[([-\d, ]*)\]")
_MAP = re.compile(r"affine_map<\(([^)]*)\) -> \(([^)]*)\)>")
_KIND = re.compile(r"parallel|reduction")
# Elements in the vectors of a kernel; the compiler refuses those of 32 KiB.
_MOST = 2048

# Tile sizes by level: `distribution` to workgroups, `vector_common_parallel` and `vector_reduction` of inner loops.
Tiles = dict[str, list[int]]


class _Loops(NamedTuple):
    """The loops of an operation.

    Attributes:
      sizes: by loop, the outermost first; -1 if unknown.
      reduced: by loop, whether it is a reduction.
      inputs: for each input, the loops that it is indexed by.
    """

    sizes: list[int]
    reduced: list[bool]
    inputs: list[list[str]]


def improve(invocation: Any) -> int:
    """Have reductions work in whole vectors.

    - A row that is no multiple of a vector is read with masks, for which single
      elements are taken in the end. With loop peeling, the rest of a row is a
      piece of its own.
    - A row is added up in one vector, where each addition waits for the one
      before. Several vectors at a time do not wait. The same holds for columns.
    - A sum of products becomes a contraction, which is taken element by element.
      `+ 0` in between hides it. It changes nothing but the sign of a zero, which
      the sum loses in any case.

    Args:
      invocation: of `iree.compiler.api`, after its pipeline has run to the phase `executable-configurations`.

    Returns:
      How many operations were changed.
    """
    module = invocation.export_module()
    count = 0
    for function in operations(module, "func.func"):
        if "translation_info" in function.attributes and _PIPELINE in str(function.attributes["translation_info"]):
            reductions = [op for op in operations(function, "linalg.generic") if any(_loops(op).reduced)]
            count += sum(map(_hide_product, reductions))
            count += _widen_rows(function, reductions) or _widen_columns(function, reductions)
    invocation.import_module(module)
    return count


def _hide_product(op: Any) -> bool:
    *_, product, total, _end = [None, None, *(o.operation for o in op.regions[0].blocks[0].operations)]
    if product is None or (product.name, total.name) != ("arith.mulf", "arith.addf"):
        return False
    # Where an input has fewer loops than the sum, it is a matrix product, and those are vectorized well.
    loops = _loops(op)
    if any(len(places) != len(loops.sizes) for places in loops.inputs):
        return False
    kind = product.result.type
    with ir().InsertionPoint(total), op.location:
        zero = ir().Operation.create("arith.constant", [kind], attributes={"value": ir().FloatAttr.get(kind, 0.0)})
        apart = ir().Operation.create("arith.addf", [kind], [product.result, zero.result])
    places = [i for i, value in enumerate(total.operands) if value == product.result]
    for i in places:
        total.operands[i] = apart.result
    return bool(places)


def _widen_rows(function: Any, reductions: list[Any]) -> bool:
    """Set the tiles of a kernel by the last of its reductions over rows."""
    roots = [op for op in reductions if _is_over_rows(op)]
    if not roots:
        return False
    sizes, tiles = _loops(roots[-1]).sizes, _tiles(roots[-1])
    width = tiles["vector_reduction"][-1]
    inner = [*tiles.get("vector_common_parallel", ()), *tiles["vector_reduction"]]
    elements = math.prod(n for n in inner if n)
    wide = next((width * k for k in (4, 2) if sizes[-1] >= 4 * k * width and elements * k <= _MOST), width)
    changes = {"vector_reduction": {width: wide}}
    if sizes[-1] % wide:
        changes |= _rows_at_a_time(sizes, tiles)
        with function.context:
            info = str(function.attributes["translation_info"]).replace(_PIPELINE, _PEELING)
            function.attributes["translation_info"] = ir().Attribute.parse(info)
    _set_tiles(function, changes)
    return True


def _widen_columns(function: Any, reductions: list[Any]) -> bool:
    """Have a kernel that reduces columns take several vectors of them at a time, where that leaves no rest."""
    if len(reductions) != 1:
        return False
    loops, tiles = _loops(reductions[0]), _tiles(reductions[0])
    if loops.reduced != [False, True] or tiles.get("vector_reduction") != [0, 1]:
        return False
    (size, _), (group, _), (width, _) = loops.sizes, tiles["distribution"], tiles["vector_common_parallel"]
    wide = next((k * width for k in (4, 2) if size % (k * width) == 0 and size >= 4 * k * width), 0)
    if not wide or group <= 0:
        return False
    _set_tiles(function, {"distribution": {group: wide}, "vector_common_parallel": {width: wide}})
    return True


def _set_tiles(function: Any, changes: dict[str, dict[int, int]]) -> None:
    """Put other numbers in the places of some, in the tiles of all operations."""

    def replaced(level: re.Match[str]) -> str:
        numbers = changes.get(level[1], {})
        return f"{level[1]} = {[numbers.get(n, n) for n in _numbers(level[2])]}"

    with function.context:
        for op in operations(function):
            if "lowering_config" in op.attributes:
                text = _SIZES.sub(replaced, str(op.attributes["lowering_config"]))
                op.attributes["lowering_config"] = ir().Attribute.parse(text)


def _is_over_rows(op: Any) -> bool:
    """Whether the innermost loop is a reduction, in vectors."""
    loops = _loops(op)
    return loops.reduced[-1] and 1 < _tiles(op).get("vector_reduction", [0])[-1] < loops.sizes[-1]


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


def _tiles(op: Any) -> Tiles:
    if "lowering_config" not in op.attributes:
        return {}
    return {level[1]: _numbers(level[2]) for level in _SIZES.finditer(str(op.attributes["lowering_config"]))}


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n.strip()]


def _loops(op: Any) -> _Loops:
    found = _MAP.findall(str(op.attributes["indexing_maps"]))
    maps = [(names.split(", "), places.split(", ") if places else []) for names, places in found]
    sizes: dict[str, int] = {}
    for (_, places), operand in zip(maps, op.operands):
        sizes |= zip(places, getattr(operand.type, "shape", ()))
    kinds = _KIND.findall(str(op.attributes["iterator_types"]))
    inputs = [places for _, places in maps[: len(maps) - len(op.results)]]
    return _Loops([sizes.get(name, -1) for name in maps[0][0]], [kind == "reduction" for kind in kinds], inputs)
