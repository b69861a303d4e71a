"""Branches around the operations that only the rare operand of a select needs.

The passes compute two reductions of an angle and select one; the second one, for
large numbers, costs several times as much as the first (`passes.legalize.angles`).
In a kernel, the operations that only the second one needs go into a branch, which
runs if one element of a vector is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from passes.kernels.instructions import CLOSE, OPEN, Instruction
from passes.kernels.writer import spelled_float
from passes.legalize.angles import RARE_FROM

_NAMES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_BOUNDS = {(spelled_float(bound, _NAMES[dtype]), _NAMES[dtype]) for dtype, bound in RARE_FROM.items()}
# Operations that may be moved or dropped, since they do not access memory.
_PURE = ("arith.", "math.", "vector.broadcast", "vector.from_elements", "vector.extract", "vector.shuffle")
_ON_FALSE = 2


def branched(body: Sequence[Instruction]) -> Sequence[Instruction]:
    """A kernel's operations, with those that only the rare operand of a select by `RARE_FROM` needs in a branch."""
    bounds = {i.results[0] for i in body if i.name == "arith.constant" and _is_bound(i)}
    if not bounds:
        return body
    comparisons = [i.results[0] for i in body if i.name == "arith.cmpf" and not bounds.isdisjoint(i.operands)]
    for number, comparison in enumerate(comparisons):
        body = _Body(body).branched_on(comparison, f"%rare{number}") or body
    return body


def _is_bound(constant: Instruction) -> bool:
    number, element = constant.details[0], constant.types[0]
    if number.startswith("dense<"):
        number, element = number[len("dense<") : -1], element[:-1].rpartition("x")[2]
    return (number, element) in _BOUNDS


def _is_pure(instruction: Instruction) -> bool:
    return instruction.name.startswith(_PURE) and len(instruction.results) == 1


class _Body:
    """Instructions, the block that each is in, and who uses their results."""

    def __init__(self, body: Sequence[Instruction]) -> None:
        self.body = body
        self.made: dict[str, int] = {}
        self.uses: dict[str, list[tuple[int, int]]] = {}
        # By instruction, the one that opens its block, or -1.
        self.block: list[int] = []
        open_ = [-1]
        for at, instruction in enumerate(body):
            if instruction.name in CLOSE:
                open_.pop()
            self.block.append(open_[-1])
            if instruction.name in OPEN:
                open_.append(at)
            for name in instruction.results:
                self.made[name] = at
            for number, name in enumerate(instruction.operands):
                self.uses.setdefault(name, []).append((at, number))

    def users(self, at: int) -> list[tuple[int, int]]:
        """Where the result of an instruction is an operand, and of which number."""
        return self.uses.get(self.body[at].results[0], [])

    def holder(self, at: int, block: int) -> int:
        """The instruction of a block that is one, or that one lies in."""
        while self.block[at] != block:
            at = self.block[at]
        # `else` and `do` open blocks of the operation before them.
        while self.body[at].name in CLOSE:
            at = next(i for i in range(at - 1, -1, -1) if self.block[i] == block and self.body[i].name in OPEN)
        return at

    def branched_on(self, comparison: str, name: str) -> list[Instruction] | None:
        """The instructions with a branch instead of the selects by a comparison; None if there is nothing to gain."""
        body, at = self.body, self.made[comparison]
        block = self.block[at]
        chosen = [i for i, number in self.uses.get(comparison, ()) if number == 0 and body[i].name == "arith.select"]
        selects = sorted({i for i in chosen if self.block[i] == block})
        rare = self._only_for(selects) if selects else set()
        inside = {*rare, *selects}
        readers = [i for select in selects for i, _ in self.users(select) if i not in inside]
        if not rare or not readers:
            return None
        # A reader in a loop or a branch counts as the operation of this block that holds it.
        first = min(self.holder(i, block) for i in readers)
        wanted = [comparison, *(operand for i in inside for operand in body[i].operands)]
        moved = self._needed_before(first, wanted, block, inside)
        if moved is None:
            return None
        branch = self._branch(body[at], [body[i] for i in selects], [body[i] for i in sorted(inside)], name)
        results = {body[i].results[0]: f"{name}#{number}" for number, i in enumerate(selects)}
        gone = inside | moved
        before = [body[i] for i in range(first) if i not in gone]
        after = [body[i] for i in range(first, len(body)) if i not in gone]
        return [*before, *(body[i] for i in sorted(moved)), *branch, *_renamed(after, results)]

    def _only_for(self, selects: Sequence[int]) -> set[int]:
        """The instructions of the selects' block that only the second operands of these need."""
        found: set[int] = set()
        for at in range(selects[-1] - 1, -1, -1):
            if self.block[at] != self.block[selects[0]] or not _is_pure(self.body[at]) or at in selects:
                continue
            users = self.users(at)
            if users and all(i in found or (i in selects and number == _ON_FALSE) for i, number in users):
                found.add(at)
        return found

    def _needed_before(self, first: int, wanted: list[str], block: int, inside: set[int]) -> set[int] | None:
        """The instructions to move before a position; None if one of them cannot move."""
        moved: set[int] = set()
        while wanted:
            at = self.made.get(wanted.pop(), -1)
            if at in moved or at in inside or at < first or self.block[at] != block:
                continue
            if not _is_pure(self.body[at]):
                return None
            moved.add(at)
            wanted += self.body[at].operands
        if any(self.made.get(operand) in inside for at in moved for operand in self.body[at].operands):
            return None
        return moved

    def _branch(
        self, comparison: Instruction, selects: Sequence[Instruction], inside: Sequence[Instruction], name: str
    ) -> list[Instruction]:
        here, types = comparison.location, tuple(select.types[-1] for select in selects)
        made, (usual,), (type_,) = [], comparison.results, comparison.types
        if type_.startswith("vector"):
            lanes = type_.partition("x")[0]
            given, usual = (f"{lanes}xi1>", "i1"), f"{name}_usual"
            made.append(
                Instruction("vector.reduction", (usual,), comparison.results, given, ("and",), here),
            )
        results = tuple(f"{name}#{number}" for number in range(len(selects)))
        common, other = (tuple(select.operands[1] for select in selects), tuple(s.results[0] for s in selects))
        return [
            *made,
            Instruction("scf.if", results, (usual,), types, (), here),
            Instruction("scf.yield", (), common, types, (), here),
            Instruction("else"),
            *inside,
            Instruction("scf.yield", (), other, types, (), here),
            Instruction("end", location=here),
        ]


def _renamed(body: Iterable[Instruction], names: dict[str, str]) -> list[Instruction]:
    return [
        i if names.keys().isdisjoint(i.operands) else i._replace(operands=tuple(names.get(n, n) for n in i.operands))
        for i in body
    ]
