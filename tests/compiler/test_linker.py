"""Linked libraries for aarch64: what their instructions refer to, decoded here anew. They are made on any machine."""

import struct

import pytest

from stagec.backends import Target
from stagec.compiler.direct import library, linker, machine_code, machines, object_file, persistent, program

ARM = machines.of("aarch64")
# A value of each size, which loads of one instruction find, and a table that is too large for them.
CONSTANTS = {
    "i8": bytes([17]),
    "i16": bytes([18, 19]),
    "i32": bytes(range(20, 24)),
    "i64": bytes(range(30, 38)),
    "<4 x i32>": bytes(range(40, 56)),
}
PARAMETERS = "(ptr %environment, ptr %dispatch, ptr %workgroup)"


@pytest.fixture(scope="module")
def target():
    return library.target(Target.parse("cpu:aarch64").on.flags(Target.parse("cpu:aarch64")))


def function(name, body, linkage=""):
    return f'define {linkage}i32 @{name}{PARAMETERS} nounwind section ".text.{name}" {{\n{body}\n}}\n'


def returning(name, number, linkage=""):
    return function(name, f"ret i32 {number}", linkage)


def integer(data):
    return int.from_bytes(data, "little")


def loaded(library_):
    """A library as it lies in memory, and where its code is."""
    memory, code = bytearray(1 << 20), range(0)
    (start,), (count,) = struct.unpack_from("<Q", library_, 32), struct.unpack_from("<H", library_, 56)
    for i in range(count):
        kind, flags, at, address, _, size, _, alignment = struct.unpack_from("<IIQQQQQQ", library_, start + 56 * i)
        if kind == 1:
            assert address % 65536 == 0 and alignment == 65536  # a page of its own wherever it is loaded
            memory[address : address + size] = library_[at : at + size]
            code = range(address, address + size, 4) if flags & 1 else code
    return memory, code


def referred(memory, code):
    """The addresses that instructions refer to, with the instruction and what it loads: 0 for sums and jumps."""
    pages = {}
    for at in code:
        (word,) = struct.unpack_from("<I", memory, at)
        if word & 0x9F000000 == 0x90000000:  # adrp
            distance = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            distance -= (distance >> 20) << 21
            pages[word & 31] = (at >> 12) + distance << 12
        elif word & 0x7C000000 == 0x14000000:  # b, bl
            distance = word & 0x3FFFFFF
            yield at + 4 * (distance - (distance >> 25 << 26)), 0
        elif (register := word >> 5 & 31) in pages:
            number = word >> 10 & 0xFFF
            if word & 0xFFC00000 == 0x91000000:  # add
                yield pages.pop(register) + number, 0
            elif word & 0x3B400000 == 0x39400000:  # ldr of a register, with a number
                vector = word >> 26 & 1 and word >> 23 & 1
                size = 16 if vector else 1 << (word >> 30)
                yield pages.pop(register) + number * size, size


def linked(text, names, target, others=()):
    codes = object_file.functions(bytes(machine_code._parsed(text, target).emitted("object")), [*others, *names])
    return linker.library({n: (codes[n], 0) for n in names}, ARM, {n: codes[n] for n in others})


def test_loads_of_each_size_find_their_constants(target):
    triple = f"target triple = {target['target_triple']}\n"
    globals_, body = "", ""
    for i, (type_, data) in enumerate(CONSTANTS.items()):
        lanes = ", ".join(f"i32 {integer(data[n : n + 4])}" for n in range(0, 16, 4))
        value = f"<{lanes}>" if type_.startswith("<") else integer(data)
        globals_ += f"@c{i} = private constant {type_} {value}\n"
        body += f"%v{i} = load volatile {type_}, ptr @c{i}\n"
    text = triple + globals_ + function("loads", f"{body}ret i32 0")
    memory, code = loaded(linked(text, ["loads"], target))
    found = [bytes(memory[at : at + size]) for at, size in referred(memory, code) if size]
    assert found == list(CONSTANTS.values())


def test_calls_and_jumps_reach_functions_of_other_sections(target):
    """A call, and one at the end, which is a jump."""
    triple = f"target triple = {target['target_triple']}\n"
    given = "(ptr %environment, ptr %dispatch, ptr %workgroup)"
    body = f"%a = call i32 @first{given}\n%b = tail call i32 @second{given}\nret i32 %b"
    parts = [returning("first", 11), returning("second", 22), function("calls", body)]
    objects = [bytes(machine_code._parsed(triple + "".join(parts), target).emitted("object"))]
    file = object_file._File(objects[0])
    kinds = [kind for rows in file.relocations.values() for _, kind, _, _ in rows]
    assert 282 in kinds and 283 in kinds
    memory, code = loaded(linker.library({"calls": (file.code("calls"), 0)}, ARM))
    moves = [memory[at : at + 4] for at, _ in referred(memory, code)][:2]
    assert moves == [struct.pack("<I", 0x52800000 | number << 5) for number in (11, 22)]  # mov w0, number


def test_the_loader_finds_the_tables_of_the_kernels(target):
    text = f"target triple = {target['target_triple']}\n" + returning("kernel", 7)
    made = linked(text, ["kernel"], target)
    memory, code = loaded(made)
    ((table, _),) = referred(memory, code)
    functions, names = (struct.unpack_from("<Q", memory, table + at)[0] for at in (32, 64))
    (kernel,), (name,) = struct.unpack_from("<Q", memory, functions), struct.unpack_from("<Q", memory, names)
    assert memory[kernel : kernel + 4] == struct.pack("<I", 0x52800000 | 7 << 5)
    assert memory[name : name + 7] == b"kernel\0"
    assert made[18:20] == struct.pack("<H", 183)


def test_persistent_kernels_pass_their_table_on(target):
    text = persistent.source(machine_code.described(target)[0])
    shared = machine_code.of_text(text, persistent.SYMBOL, target)
    kernel = type("kernel", (), {"calls": (), "table": (5, 6, 7)})
    stub = linker.library({"steps": (persistent.code(kernel, ARM), 1)}, ARM, {persistent.SYMBOL: shared})
    memory, code = loaded(stub)
    places = [at for at, _ in referred(memory, code)]
    table = next(at for at in places if memory[at : at + 24] == struct.pack("<3q", 5, 6, 7))
    start = places[places.index(table) + 1]
    assert bytes(memory[start : start + 16]) == shared.sections[0].data[shared.start : shared.start + 16]


@pytest.mark.parametrize("distance", [0, 4, -4, (1 << 27) - 4, -(1 << 27)])
def test_a_jump_reaches_128_mib(distance):
    image = bytearray(struct.pack("<I", 0x94000000))
    ARM.apply[283](image, 0, distance)
    assert [at for at, _ in referred(image, [0])] == [distance]


@pytest.mark.parametrize("distance", [1 << 27, -(1 << 27) - 4])
def test_a_jump_that_is_too_far_is_refused(distance):
    with pytest.raises(program.NotDirectError, match="more than 128 MiB away"):
        ARM.apply[283](bytearray(4), 0, distance)


@pytest.mark.parametrize("target", [0x0, 0x1FF0, 0x12345670, 0x7FFFFFF0])
@pytest.mark.parametrize("at", [0, 0xFFC, 0x10000, 0x7654320])
def test_pages_are_found_in_both_directions(at, target):
    """An addition, and a load of 16 bytes, whose number counts these."""
    for kind, word, size in ((277, 0x91000000, 0), (299, 0x3DC00000, 16)):
        image = bytearray(at + 8)
        struct.pack_into("<2I", image, at, 0x90000000, word)
        ARM.apply[275](image, at, target)
        ARM.apply[kind](image, at + 4, target)
        assert list(referred(image, [at, at + 4])) == [(target, size)]


def test_a_load_of_what_is_not_aligned_is_refused():
    with pytest.raises(program.NotDirectError, match="not aligned"):
        ARM.apply[299](bytearray(4), 0, 0x1008)


def test_apples_name_of_the_architecture_is_known():
    flags = Target.parse("cpu:aarch64").on.flags(Target.parse("cpu:aarch64"))
    flags = tuple(flag.replace("aarch64-unknown-linux-gnu", "arm64-apple-darwin23") for flag in flags)
    assert machines.of(machine_code.described(library.target(flags))[0]) == ARM


def test_an_unknown_relocation_is_refused():
    section = object_file.Section(object_file.EXECUTE, 4, bytes(4), ((0, 311, 0, 0),))
    with pytest.raises(program.NotDirectError, match="relocations of type 311"):
        linker.library({"f": (object_file.Code((section,)), 0)}, ARM)
