"""Loop nests: the compiler's `linalg.generic`, and the tiles that it chose for them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from stagec.compiler.mlir import ir

_SIZES = re.compile(r"(\w+) = \[([-\d, ]*)\]")
_MAP = re.compile(r"affine_map<\(([^)]*)\) -> \(([^)]*)\)>")
_KIND = re.compile(r"parallel|reduction")

# Tile sizes by level: `distribution` to workgroups, `vector_common_parallel` and `vector_reduction` of inner loops.
Tiles = dict[str, list[int]]


class Nest(NamedTuple):
    """An operation with loops.

    Attributes:
      op: the operation.
      loops: names of its loops, the outermost first; none, and nothing else below, for one that indexes oddly.
      sizes: of its loops; -1 if unknown.
      reduced: by loop, whether it is a reduction.
      inputs: for each input, what it is indexed by: loops, or other terms.
      tiles: as the compiler chose them; empty for an operation beside another that decides.
    """

    op: Any
    loops: list[str]
    sizes: list[int]
    reduced: list[bool]
    inputs: list[list[str]]
    tiles: Tiles

    @property
    def reduces(self) -> bool:
        """Whether one of its loops is a reduction."""
        return any(self.reduced)

    @classmethod
    def read(cls, op: Any) -> Nest:
        """The nest of a `linalg.generic`."""
        found = _MAP.findall(str(op.attributes["indexing_maps"]))
        if len(found) != len(op.operands):
            return cls(op, [], [], [], [], tiles_of(op))
        loops = found[0][0].split(", ") if found[0][0] else []
        maps = [places.split(", ") if places else [] for _, places in found]
        sizes: dict[str, int] = {}
        for places, operand in zip(maps, op.operands):
            sizes |= zip(places, getattr(operand.type, "shape", ()))
        return cls(
            op,
            loops,
            [sizes.get(name, -1) for name in loops],
            [kind == "reduction" for kind in _KIND.findall(str(op.attributes["iterator_types"]))],
            maps[: len(maps) - len(op.results)],
            tiles_of(op),
        )


def tiles_of(op: Any) -> Tiles:
    """The tiles that the compiler chose for an operation; empty if it chose none, or what is not only numbers."""
    text = str(op.attributes["lowering_config"]) if "lowering_config" in op.attributes else ""
    tiles = {level[1]: [int(n) for n in level[2].split(",") if n.strip()] for level in _SIZES.finditer(text)}
    return tiles if text == _text(tiles) else {}


def set_tiles(op: Any, tiles: Tiles) -> None:
    """Give an operation other tiles."""
    with op.context:
        op.attributes["lowering_config"] = ir().Attribute.parse(_text(tiles))


def _text(tiles: Tiles) -> str:
    return f"#iree_cpu.lowering_config<{', '.join(f'{level} = {sizes}' for level, sizes in tiles.items())}>"
