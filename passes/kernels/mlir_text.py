"""Instructions as the text of MLIR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from passes.kernels.instructions import CLOSE, OPEN, Instruction, inlined

_INDENT = "        "


def printed(instructions: Iterable[Instruction]) -> str:
    """The lines of a function's body, in which calls of procedures are inlined.

    >>> print(printed([Instruction("arith.cmpi", ("%1",), ("%a", "%b"), ("i32",), ("slt",))]))
            %1 = arith.cmpi slt, %a, %b : i32 loc(unknown)
    """
    lines: list[str] = []
    depth = 0
    for i in inlined(instructions):
        if i.name in CLOSE:
            depth -= 1
        shape = _SHAPES.get(i.name) or _shape(i)
        text = shape(i)
        if i.results:
            name, mark, _ = i.results[0].partition("#")
            text = f"{name}:{len(i.results)} = {text}" if mark else f"{name} = {text}"
        where = "" if i.name in OPEN else f" {i.location or 'loc(unknown)'}"
        lines.append(f"{_INDENT}{'  ' * depth}{text}{where}")
        if i.name in OPEN:
            depth += 1
        if i.name == "do" and i.details:
            arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(i.details, i.types))
            lines.append(f"{_INDENT}^bb0({arguments}):")
    return "\n".join(lines)


def _shape(i: Instruction) -> Callable[[Instruction], str]:
    if i.name.startswith("arith.cmp"):
        return _compare
    return _plain if len(i.types) == 1 else _convert


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _flags(i: Instruction) -> str:
    return "".join(f" {flag}" for flag in i.details)


def _plain(i: Instruction) -> str:
    return f"{i.name} {_listed(i.operands)}{_flags(i)} : {_listed(i.types)}"


def _convert(i: Instruction) -> str:
    return f"{i.name} {i.operands[0]} : {i.types[0]} to {i.types[1]}"


def _compare(i: Instruction) -> str:
    return f"{i.name} {i.details[0]}, {_listed(i.operands)} : {i.types[0]}"


def _constant(i: Instruction) -> str:
    (value,), (type_,) = i.details, i.types
    return f"{i.name} {value}" if type_ == "i1" else f"{i.name} {value} : {type_}"


def _load(i: Instruction) -> str:
    return f"{i.name} {i.operands[0]}[{i.operands[1]}] : {_listed(i.types)}"


def _store(i: Instruction) -> str:
    return f"{i.name} {i.operands[0]}, {i.operands[1]}[{i.operands[2]}] : {_listed(i.types)}"


def _masked(i: Instruction) -> str:
    buffer, index, *others = i.operands
    into = f" into {i.types[-1]}" if i.results else ""
    return f"{i.name} {buffer}[{index}], {_listed(others)} : {_listed(i.types)}{into}"


def _shuffle(i: Instruction) -> str:
    return f"{i.name} {_listed(i.operands)} {list(i.details)} : {i.types[0]}, {i.types[0]}"


def _extract(i: Instruction) -> str:
    return f"{i.name} {i.operands[0]}[{i.details[0]}] : {i.types[0]} from {i.types[1]}"


def _reduction(i: Instruction) -> str:
    kind, *flags = i.details
    return f"{i.name} <{kind}>, {_listed([' '.join([*i.operands, *flags])])} : {i.types[0]} into {i.types[1]}"


def _alloca(i: Instruction) -> str:
    # The short form does not parse with both an attribute and a location.
    return f'"{i.name}"() <{{alignment = 64 : i64, operandSegmentSizes = array<i32: 0, 0>}}> : () -> {i.types[0]}'


def _prefetch(i: Instruction) -> str:
    use, locality = i.details
    return f"{i.name} {i.operands[0]}[{i.operands[1]}], {use}, locality<{locality}>, data : {i.types[0]}"


def _address(i: Instruction) -> str:
    return f"{i.name} {i.operands[0]} : {i.types[0]} -> {i.types[1]}"


def _workgroup(i: Instruction) -> str:
    return f"{i.name}[{i.details[0]}] : index"


def _intrinsic(i: Instruction) -> str:
    count = len(i.operands)
    types = f"({_listed(i.types[:count])}) -> {i.types[count] if i.results else '()'}"
    return f'{i.name} "{i.details[0]}"({_listed(i.operands)}) : {types}'


def _for(i: Instruction) -> str:
    (start, stop, step, *first), (counter, *names) = i.operands, i.details
    head = f"{i.name} {counter} = {start} to {stop} step {step}"
    if not first:
        return f"{head} {{"
    return f"{head} iter_args({_listed([f'{a} = {v}' for a, v in zip(names, first)])}) -> ({_listed(i.types)}) {{"


def _if(i: Instruction) -> str:
    returns = f" -> ({_listed(i.types)})" if i.types else ""
    return f"{i.name} {i.operands[0]}{returns} {{"


def _while(i: Instruction) -> str:
    first, types = _listed([f"{a} = {v}" for a, v in zip(i.details, i.operands)]), _listed(i.types)
    return f"{i.name} ({first}) : ({types}) -> ({types}) {{"


def _condition(i: Instruction) -> str:
    passed = f"{_listed(i.operands[1:])} : {_listed(i.types)}" if i.types else ""
    return f"{i.name}({i.operands[0]}) {passed}"


def _yield(i: Instruction) -> str:
    return f"{i.name} {_listed(i.operands)} : {_listed(i.types)}" if i.types else i.name


_SHAPES: dict[str, Callable[[Instruction], str]] = {
    "arith.constant": _constant,
    "arith.select": _plain,
    "memref.load": _load,
    "vector.load": _load,
    "memref.store": _store,
    "vector.store": _store,
    "vector.maskedload": _masked,
    "vector.maskedstore": _masked,
    "vector.shuffle": _shuffle,
    "vector.extract": _extract,
    "vector.reduction": _reduction,
    "memref.alloca": _alloca,
    "memref.prefetch": _prefetch,
    "memref.extract_aligned_pointer_as_index": _address,
    "stream.dispatch.workgroup.id": _workgroup,
    "llvm.call_intrinsic": _intrinsic,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.condition": _condition,
    "scf.yield": _yield,
    "else": lambda i: "} else {",
    "do": lambda i: "} do {",
    "end": lambda i: "}",
}
