"""How each instruction without regions is written in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from passes.kernels.instructions import Instruction
from passes.kernels.llvm import functions
from passes.kernels.llvm.function import Form, Function, UntranslatedError
from passes.kernels.llvm.types import constant, element_of, full, lanes_of, scalar_of, size_of, type_of

Printer: TypeAlias = Callable[[Function, Instruction], None]

_FLAGS = {"overflow<nsw>": " nsw"}
_BINARY = {
    "arith.divui": "udiv",
    "arith.remui": "urem",
    "arith.divsi": "sdiv",
    "arith.remf": "frem",
    "arith.remsi": "srem",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.shli": "shl",
    "arith.shrui": "lshr",
    "arith.shrsi": "ashr",
    "arith.addf": "fadd contract",
    "arith.subf": "fsub contract",
    "arith.mulf": "fmul contract",
    "arith.divf": "fdiv contract",
}
# Instructions that are calls of intrinsics, and what these take after the operands. LLVM makes a product and a sum of
# `fmuladd` for processors without an instruction for it, and a call of a function in software of `fma`.
_CALLS = {
    "arith.maxsi": ("smax", ""),
    "arith.maxui": ("umax", ""),
    "arith.minsi": ("smin", ""),
    "arith.minui": ("umin", ""),
    "math.absf": ("fabs", ""),
    "math.absi": ("abs", ", i1 false"),
    "math.copysign": ("copysign", ""),
    "math.ctlz": ("ctlz", ", i1 false"),
    "math.ctpop": ("ctpop", ""),
    "math.fma": ("fmuladd", ""),
    "math.sqrt": ("sqrt", ""),
    "vector.fma": ("fmuladd", ""),
}
_ROUNDINGS = ("ceil", "floor", "round", "roundeven", "trunc")
_CASTS = {
    "arith.bitcast": "bitcast",
    "arith.extf": "fpext",
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.fptosi": "fptosi",
    "arith.fptoui": "fptoui",
    "arith.sitofp": "sitofp",
    "arith.truncf": "fptrunc",
    "arith.trunci": "trunc",
    "arith.uitofp": "uitofp",
    "llvm.inttoptr": "inttoptr",
    "vector.bitcast": "bitcast",
}
_REDUCTIONS = {
    "add": "add",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "maxsi": "smax",
    "maxui": "umax",
    "minsi": "smin",
    "minui": "umin",
}
# What a float's reduction begins with.
_STARTS = {"add": 0.0, "mul": 1.0}
_AXES = ((0, "i32", 4), (4, "i32", 4), (8, "i16", 2))


def _constant(f: Function, i: Instruction) -> None:
    f.values[i.results[0]] = constant(str(i.details[0]), type_of(i.types[0]))


def _binary(operation: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        a, b = i.operands
        flags = "".join(_FLAGS[flag] for flag in i.details)
        f.values[i.results[0]] = f.let(f"{operation}{flags} {type_of(i.types[0])} {f.values[a]}, {f.values[b]}")

    return printer


def _sum(operation: str, sign: int) -> Printer:
    """Of indices: a part of the addresses that are computed from it."""
    others = _binary(operation)

    def printer(f: Function, i: Instruction) -> None:
        if i.types == ("index",):
            a, b = map(f.form, i.operands)
            f.forms[i.results[0]] = f.added(a, _times(b, sign))
        else:
            others(f, i)

    return printer


def _product(f: Function, i: Instruction) -> None:
    if i.types == ("index",):
        a, b = map(f.form, i.operands)
        if not (a[1] and b[1]):
            f.forms[i.results[0]] = _times(a, b[0]) if a[1] else _times(b, a[0])
            return
    _binary("mul")(f, i)


def _times(form: Form, factor: int) -> Form:
    if factor == 1:
        return form
    return form[0] * factor, tuple([(name, coefficient * factor) for name, coefficient in form[1] if factor])


def _call(intrinsic: str, last: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        type_, operands = type_of(i.types[0]), [f.values[name] for name in i.operands]
        text = f"call {type_} @llvm.{intrinsic}({', '.join([f'{type_} {value}' for value in operands])}{last})"
        f.values[i.results[0]] = f.share(text, *operands) if type_ == "i64" else f.let(text)

    return printer


def _rounding(name: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        (operand,) = i.operands
        f.values[i.results[0]] = functions.Expressions(f, type_of(i.types[0])).rounded(name, f.values[operand])

    return printer


def _cast(operation: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        source, target = type_of(i.types[0]), type_of(i.types[1])
        value = f.values[i.operands[0]]
        if source == "ptr" or source != target:
            value = f.let(f"{operation} {source} {value} to {target}")
        f.values[i.results[0]] = value

    return printer


def _index_cast(wider: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        bits = [int(scalar_of(type_of(text))[1:]) for text in i.types]
        _cast("trunc" if bits[0] > bits[1] else wider)(f, i)

    return printer


def _negf(f: Function, i: Instruction) -> None:
    f.values[i.results[0]] = f.let(f"fneg contract {type_of(i.types[0])} {f.values[i.operands[0]]}")


def _compare(operation: str) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        a, b = i.operands
        text = f"{operation} {i.details[0]} {type_of(i.types[0])} {f.values[a]}, {f.values[b]}"
        f.values[i.results[0]] = f.let(text)

    return printer


def _select(f: Function, i: Instruction) -> None:
    chosen, a, b = (f.values[name] for name in i.operands)
    type_ = type_of(i.types[-1])
    condition = type_of(i.types[0]) if len(i.types) > 1 else "i1"
    f.values[i.results[0]] = f.let(f"select {condition} {chosen}, {type_} {a}, {type_} {b}")


def _ceildivui(f: Function, i: Instruction) -> None:
    type_ = type_of(i.types[0])
    a, b = (f.values[name] for name in i.operands)
    less = f.let(f"sub {type_} {a}, {full(1, type_)}")
    more = f.let(f"add {type_} {f.let(f'udiv {type_} {less}, {b}')}, {full(1, type_)}")
    is_zero = f.let(f"icmp eq {type_} {a}, {full(0, type_)}")
    f.values[i.results[0]] = f.let(f"select i1 {is_zero}, {type_} {full(0, type_)}, {type_} {more}")


def _extremum(is_maximum: bool) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        a, b = (f.values[name] for name in i.operands)
        f.values[i.results[0]] = functions.extremum(f, a, b, type_of(i.types[0]), is_maximum)

    return printer


def _function(function: Callable[[functions.Expressions, str], str]) -> Printer:
    def printer(f: Function, i: Instruction) -> None:
        type_ = type_of(i.types[0])
        if scalar_of(type_) != "float":
            raise UntranslatedError(f"{i.name} of {i.types[0]}")
        f.values[i.results[0]] = function(functions.Expressions(f, type_), f.values[i.operands[0]])

    return printer


def _rsqrt(f: Function, i: Instruction) -> None:
    type_ = type_of(i.types[0])
    root = f.call("sqrt", type_, (type_, f.values[i.operands[0]]))
    f.values[i.results[0]] = f.let(f"fdiv {type_} {full(1.0, type_)}, {root}")


def _load(f: Function, i: Instruction) -> None:
    element = element_of(i.types[0])
    type_ = type_of(i.types[1]) if len(i.types) > 1 else element
    address = f.address(i.operands[0], i.operands[1], element)
    f.values[i.results[0]] = f.let(f"load {type_}, ptr {address}, align {size_of(element)}")


def _store(f: Function, i: Instruction) -> None:
    value, buffer, index = i.operands
    element = element_of(i.types[0])
    type_ = type_of(i.types[1]) if len(i.types) > 1 else element
    address = f.address(buffer, index, element)
    f.lines.append(f"store {type_} {f.values[value]}, ptr {address}, align {size_of(element)}")


def _masked_load(f: Function, i: Instruction) -> None:
    buffer, index, mask, others = i.operands
    element, masks, type_ = element_of(i.types[0]), type_of(i.types[1]), type_of(i.types[2])
    pointer = f"ptr align {size_of(element)} {f.address(buffer, index, element)}"
    text = f"call {type_} @llvm.masked.load({pointer}, {masks} {f.values[mask]}, {type_} {f.values[others]})"
    f.values[i.results[0]] = f.let(text)


def _masked_store(f: Function, i: Instruction) -> None:
    buffer, index, mask, value = i.operands
    element, masks, type_ = element_of(i.types[0]), type_of(i.types[1]), type_of(i.types[2])
    pointer = f"ptr align {size_of(element)} {f.address(buffer, index, element)}"
    f.lines.append(f"call void @llvm.masked.store({type_} {f.values[value]}, {pointer}, {masks} {f.values[mask]})")


def _broadcast(f: Function, i: Instruction) -> None:
    source, vector = type_of(i.types[0]), type_of(i.types[1])
    value = f.values[i.operands[0]]
    if lanes_of(source):
        if source != vector:
            raise UntranslatedError(f"vector.broadcast of {i.types[0]}")
        f.values[i.results[0]] = value
    elif value[0] == "%":
        f.values[i.results[0]] = f.spread(value, source, vector)
    else:
        f.values[i.results[0]] = f"splat ({source} {value})"


def _shuffle(f: Function, i: Instruction) -> None:
    a, b = i.operands
    type_ = type_of(i.types[0])
    lanes = ", ".join([f"i32 {lane}" for lane in i.details])
    text = f"shufflevector {type_} {f.values[a]}, {type_} {f.values[b]}, <{len(i.details)} x i32> <{lanes}>"
    f.values[i.results[0]] = f.let(text)


def _extract(f: Function, i: Instruction) -> None:
    vector = type_of(i.types[1])
    f.values[i.results[0]] = f.let(f"extractelement {vector} {f.values[i.operands[0]]}, i64 {i.details[0]}")


def _from_elements(f: Function, i: Instruction) -> None:
    vector, made = type_of(i.types[0]), "poison"
    for lane, name in enumerate(i.operands):
        made = f.let(f"insertelement {vector} {made}, {scalar_of(vector)} {f.values[name]}, i64 {lane}")
    f.values[i.results[0]] = made


def _reduction(f: Function, i: Instruction) -> None:
    kind, *flags = i.details
    vector, type_ = type_of(i.types[0]), type_of(i.types[1])
    value = f.values[i.operands[0]]
    if kind in ("maximumf", "minimumf"):

        def extremum(a: str, b: str, type_: str) -> str:
            return functions.extremum(f, a, b, type_, kind == "maximumf")

        f.values[i.results[0]] = functions.by_halves(f, value, vector, extremum)
    elif "fastmath<reassoc>" in flags:
        # LLVM's own order depends on the processor.
        def combined(a: str, b: str, type_: str) -> str:
            return f.let(f"f{kind} {type_} {a}, {b}")

        found = functions.by_halves(f, value, vector, combined)
        f.values[i.results[0]] = combined(full(_STARTS[kind], type_), found, type_)
    elif type_ in ("float", "double"):  # from the first lane to the last
        start = (type_, full(_STARTS[kind], type_))
        f.values[i.results[0]] = f.call(f"vector.reduce.f{kind}", type_, start, (vector, value))
    else:
        f.values[i.results[0]] = f.call(f"vector.reduce.{_REDUCTIONS[kind]}", type_, (vector, value))


def _alloca(f: Function, i: Instruction) -> None:
    (size, *_), element = i.types[0][7:-1].split("x"), element_of(i.types[0])
    f.values[i.results[0]] = f.first(f"alloca [{size} x {element}], align 64")


def _prefetch(f: Function, i: Instruction) -> None:
    use, locality = i.details
    address = f.address(i.operands[0], i.operands[1], element_of(i.types[0]))
    f.lines.append(f"call void @llvm.prefetch(ptr {address}, i32 {int(use == 'write')}, i32 {locality}, i32 1)")


def _pointer(f: Function, i: Instruction) -> None:
    f.values[i.results[0]] = f.let(f"ptrtoint ptr {f.values[i.operands[0]]} to i64")


def _workgroup(f: Function, i: Instruction) -> None:
    offset, type_, alignment = _AXES[int(i.details[0])]
    address = f.first(f"getelementptr i8, ptr %workgroup, i64 {offset}")
    number = f.first(f"load {type_}, ptr {address}, align {alignment}")
    f.values[i.results[0]] = f.first(f"zext {type_} {number} to i64")


def _intrinsic(f: Function, i: Instruction) -> None:
    types = [type_of(text) for text in i.types]
    given = ", ".join(f"{type_} {f.values[name]}" for type_, name in zip(types, i.operands))
    call = f"@{i.details[0]}({given})"
    if i.results:
        f.values[i.results[0]] = f.let(f"call {types[-1]} {call}")
    else:
        f.lines.append(f"call void {call}")


def _called(f: Function, i: Instruction) -> None:
    *types, result = [type_of(text) for text in i.types]
    given = ", ".join(f"{type_} {f.values[name]}" for type_, name in zip(types, i.operands))
    f.values[i.results[0]] = f.let(f'call {result} @"{f.procedures[i.details[0]]}"({given})')


OPERATIONS: dict[str, Printer] = {
    **{name: _binary(operation) for name, operation in _BINARY.items()},
    **{name: _call(*row) for name, row in _CALLS.items()},
    **{f"math.{name}": _rounding(name) for name in _ROUNDINGS},
    **{name: _cast(operation) for name, operation in _CASTS.items()},
    "arith.addi": _sum("add", 1),
    "arith.ceildivui": _ceildivui,
    "arith.cmpf": _compare("fcmp"),
    "arith.cmpi": _compare("icmp"),
    "arith.constant": _constant,
    "arith.index_cast": _index_cast("sext"),
    "arith.index_castui": _index_cast("zext"),
    "arith.maximumf": _extremum(True),
    "arith.minimumf": _extremum(False),
    "arith.muli": _product,
    "arith.negf": _negf,
    "arith.select": _select,
    "arith.subi": _sum("sub", -1),
    "func.call": _called,
    "llvm.call_intrinsic": _intrinsic,
    "math.exp": _function(functions.exp),
    "math.log": _function(functions.log),
    "math.rsqrt": _rsqrt,
    "math.tanh": _function(functions.tanh),
    "memref.alloca": _alloca,
    "memref.extract_aligned_pointer_as_index": _pointer,
    "memref.load": _load,
    "memref.prefetch": _prefetch,
    "memref.store": _store,
    "stream.dispatch.workgroup.id": _workgroup,
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.from_elements": _from_elements,
    "vector.load": _load,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.reduction": _reduction,
    "vector.shuffle": _shuffle,
    "vector.store": _store,
}
