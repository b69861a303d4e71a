"""Loops and branches of a kernel as basic blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from passes.kernels.instructions import Instruction
from passes.kernels.llvm.function import Function
from passes.kernels.llvm.types import type_of


@dataclasses.dataclass
class _Region:
    """An operation with regions that is open.

    Attributes:
      opened: its instruction.
      number: that of its labels.
      types: LLVM's types of the values that it carries, or of its results.
      before: the block before it.
      at: where the lines are that are written when it ends.
      first: the values that it begins with, or those of a branch's first side.
      end: the block at which a branch's first side ends.
    """

    opened: Instruction
    number: int
    types: list[str]
    before: str
    at: int
    first: list[str]
    end: str = ""


def _names(f: Function, region: _Region, names: tuple[str, ...]) -> list[str]:
    """Names for the values that a loop carries, with room for the instructions that choose them."""
    made = []
    for name in names:
        f.values[name] = f.fresh()
        made.append(f.values[name])
        f.lines.append(None)
    region.at = len(f.lines) - len(names)
    return made


def _phi(type_: str, *sources: tuple[str, str]) -> str:
    return f"phi {type_} {', '.join(f'[ {value}, %{block} ]' for value, block in sources)}"


def _chosen(f: Function, type_: str, *sources: tuple[str, str]) -> str:
    return f.let(_phi(type_, *sources))


def _values(f: Function, names: tuple[str, ...]) -> list[str]:
    return [f.values[name] for name in names]


def _give(f: Function, region: _Region, values: list[str]) -> None:
    for name, value in zip(region.opened.results, values):
        f.values[name] = value


def _for(f: Function, i: Instruction) -> None:
    start, stop, _, *first = i.operands
    region = _Region(i, f.label(), ["i64", *map(type_of, i.types)], f.block, 0, _values(f, (start, *first)))
    n, bounds = region.number, (f.values[start], f.values[stop])
    runs = "true" if _runs(*bounds) else f.let(f"icmp slt i64 {bounds[0]}, {bounds[1]}")
    f.enter(is_loop=True)
    f.lines.append(f"br label %loop{n}" if runs == "true" else f"br i1 {runs}, label %loop{n}, label %after{n}")
    f.start(f"loop{n}")
    _names(f, region, i.details)
    f.regions.append(region)


def _runs(start: str, stop: str) -> bool:
    """Whether a loop is known to have an iteration."""
    return start[0] != "%" and stop[0] != "%" and int(start) < int(stop)


def _end_for(f: Function, region: _Region) -> None:
    start, stop, step, *_ = _values(f, region.opened.operands)
    names, n = _values(f, region.opened.details), region.number
    following = f.let(f"add nsw i64 {names[0]}, {step}")
    again = f.let(f"icmp slt i64 {following}, {stop}")
    f.lines.append(f"br i1 {again}, label %loop{n}, label %after{n}")
    last = [following, *f.yielded]
    for k, (name, type_) in enumerate(zip(names, region.types)):
        f.lines[region.at + k] = f"{name} = {_phi(type_, (region.first[k], region.before), (last[k], f.block))}"
    end = f.block
    f.leave()
    f.start(f"after{n}")
    results = f.yielded
    if not _runs(start, stop):
        rows = zip(region.types[1:], region.first[1:], f.yielded)
        results = [_chosen(f, type_, (first, region.before), (value, end)) for type_, first, value in rows]
    _give(f, region, results)


def _while(f: Function, i: Instruction) -> None:
    region = _Region(i, f.label(), [type_of(text) for text in i.types], f.block, 0, _values(f, i.operands))
    f.enter(is_loop=True)
    f.lines.append(f"br label %test{region.number}")
    f.start(f"test{region.number}")
    _names(f, region, i.details)
    f.regions.append(region)


def _condition(f: Function, i: Instruction) -> None:
    chosen, *f.yielded = _values(f, i.operands)
    n = f.regions[-1].number
    f.lines.append(f"br i1 {chosen}, label %loop{n}, label %after{n}")


def _do(f: Function, i: Instruction) -> None:
    region = f.regions[-1]
    f.values.update(zip(i.details, f.yielded))
    _give(f, region, f.yielded)
    f.start(f"loop{region.number}")


def _end_while(f: Function, region: _Region) -> None:
    f.lines.append(f"br label %test{region.number}")
    rows = zip(_values(f, region.opened.details), region.types, region.first, f.yielded)
    for k, (name, type_, first, value) in enumerate(rows):
        f.lines[region.at + k] = f"{name} = {_phi(type_, (first, region.before), (value, f.block))}"
    f.leave()
    f.start(f"after{region.number}")


def _if(f: Function, i: Instruction) -> None:
    region = _Region(i, f.label(), [type_of(text) for text in i.types], f.block, len(f.lines), [])
    f.lines.append(None)
    f.enter()
    f.start(f"then{region.number}")
    f.regions.append(region)
    f.yielded = []


def _else(f: Function, i: Instruction) -> None:
    region = f.regions[-1]
    region.first, region.end = f.yielded, f.block
    f.lines.append(f"br label %after{region.number}")
    f.leave()
    f.enter()
    f.start(f"else{region.number}")
    f.yielded = []


def _end_if(f: Function, region: _Region) -> None:
    n = region.number
    f.lines.append(f"br label %after{n}")
    other = f"else{n}" if region.end else f"after{n}"
    f.lines[region.at] = f"br i1 {f.values[region.opened.operands[0]]}, label %then{n}, label %{other}"
    end, values = f.block, f.yielded
    f.leave()
    f.start(f"after{n}")
    rows = zip(region.types, region.first, values)
    _give(f, region, [_chosen(f, type_, (first, region.end), (second, end)) for type_, first, second in rows])
    f.yielded = []


def _yield(f: Function, i: Instruction) -> None:
    f.yielded = _values(f, i.operands)


_ENDS = {"scf.for": _end_for, "scf.if": _end_if, "scf.while": _end_while}


def _end(f: Function, i: Instruction) -> None:
    region = f.regions.pop()
    _ENDS[region.opened.name](f, region)


CONTROL: dict[str, Callable[[Function, Instruction], None]] = {
    "do": _do,
    "else": _else,
    "end": _end,
    "scf.condition": _condition,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.yield": _yield,
}
