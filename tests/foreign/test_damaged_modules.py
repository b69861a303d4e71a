"""Files that are no modules, or damaged ones: an error, never a crash."""

from __future__ import annotations

import pathlib
import random
import re

import pytest
from test_modules_of_jax import program

import stagec
from stagec.foreign import jax_export
from stagec.foreign.bytecode import without_unknown
from stagec.foreign.damaged import Damaged


@pytest.mark.parametrize(
    "given", ["", "garbage\n", "func.func @main(", b"", b"ML\xefR", b"ML\xefR\x0dno", b"\xff" * 60]
)
def test_what_is_no_module_is_refused(given: object) -> None:
    with pytest.raises((stagec.errors.ArtifactError, FileNotFoundError)):
        stagec.from_stablehlo(given)


MISTAKE = """func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
  %0 = stablehlo.OPERATION
  return %0 : tensor<3xf32>
}
"""


@pytest.mark.parametrize(
    ("operation", "what", "row"),
    [
        ("add %x %x : tensor<2xf32>", "has a mistake at line 2, column 24: expected ','", ""),
        ("negate %y : tensor<3xf32>", "line 2, column 25: use of undeclared SSA value name", ""),
        (
            "add %x, %x : tensor<3xf32>",
            "line 2, column 22: use of value '%x'",
            r"line 1  func\.func .*  prior use here",
        ),
        ("reshape %x : (tensor<2xf32>) -> tensor<3xf32>", "column 8: number of output elements (3) doesn't match", ""),
        ('reshape %x : (tensor<2xf32>) -> tensor<3xf32> loc("m.py":7:3)', "a mistake at m.py:7:3: number of", "Fix"),
        ('reshape %x : (tensor<2xf32>) -> tensor<3xf32> loc("f"("m.py":7:3))', "a mistake at m.py:7:3: number", "Fix"),
        ("reshape %x : (tensor<2xf32>) -> tensor<3xf32> loc(unknown)", "has a mistake: number of output", "Fix"),
    ],
)
def test_a_mistake_in_text_is_shown_with_its_line(tmp_path: pathlib.Path, operation: str, what: str, row: str) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(MISTAKE.replace("OPERATION", operation))
    for given, name in ((path.read_text(), "the module"), (path, r"model\.mlir")):
        with pytest.raises(stagec.errors.ArtifactError, match=rf"{name} has a mistake") as raised:
            stagec.from_stablehlo(given)
        message = str(raised.value)
        assert what in message
        shown = row or re.escape(f"line 2  %0 = stablehlo.{operation}")
        assert re.search(rf"\n +{shown}", message), message
        assert "Fix: correct the text of the module" in message


@pytest.mark.parametrize("given", ["hello\nworld", "HloModule f\nENTRY main { ROOT x = f32[2] parameter(0) }"])
def test_other_text_is_not_taken_for_a_module(given: str) -> None:
    with pytest.raises(stagec.errors.ArtifactError, match="is neither MLIR text nor bytecode"):
        stagec.from_stablehlo(given)


@pytest.mark.parametrize("given", [None, 3, ["x"]])
def test_what_is_neither_text_nor_bytes_is_refused(given: object) -> None:
    with pytest.raises(stagec.errors.ArgumentTypeError, match="takes MLIR"):
        stagec.from_stablehlo(given)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.mlir[\s\S]*Fix: pass the path of a file, or MLIR"):
        stagec.from_stablehlo("nowhere.mlir")
    with pytest.raises(stagec.errors.ArtifactError, match="has no function 'main'"):
        stagec.from_stablehlo("module {}")


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(stagec.errors.ArtifactError, match=r"no function 'other'[\s\S]*Fix: .* as in function='main'"):
        stagec.from_stablehlo("func.func @main() { return }\n", function="other")
    with pytest.raises(stagec.errors.ArtifactError, match="Fix: give a module that defines a function"):
        stagec.from_stablehlo("module {\n}\n")


def test_containers_with_flipped_bits_are_read_or_refused() -> None:
    data = program("loss")
    numbers = random.Random(0)
    outcomes = set()
    for _ in range(2000):
        damaged = bytearray(data)
        damaged[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        try:
            outcomes.add(type(jax_export.read(bytes(damaged), "file")))
        except stagec.errors.ArtifactError as error:
            outcomes.add(type(error))
            assert "\n  Fix: " in str(error), error
    assert outcomes >= {jax_export.Exported, stagec.errors.ArtifactError}


@pytest.mark.parametrize(
    ("name", "what"), [("refused_class", "objects of the class Pair"), ("refused_devices", "exported for 2 devices")]
)
def test_what_cannot_be_had_is_named(name: str, what: str) -> None:
    with pytest.raises(stagec.errors.ArtifactError, match=what):
        stagec.from_stablehlo(program(name))


def test_ordered_effects_are_refused() -> None:
    data = bytearray(program("loss"))
    root = int.from_bytes(data[:4], "little")
    fields = root - int.from_bytes(data[root : root + 4], "little", signed=True)
    types, effects = (fields + 4 + 2 * field for field in (3, jax_export._ORDERED_EFFECTS))
    # The types of the arguments in place of the effects: both are vectors of tables.
    data[effects : effects + 2] = data[types : types + 2]
    with pytest.raises(stagec.errors.ArtifactError, match=r"ordered effects[\s\S]*Fix: export the function without"):
        stagec.from_stablehlo(bytes(data))


def test_structures_of_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_export, "_DEEP", 2)
    with pytest.raises(stagec.errors.ArtifactError, match=r"too many parts[\s\S]*Fix: flatten what the function"):
        stagec.from_stablehlo(program("loss"))


def test_sections_with_flipped_bits_are_copied_or_refused() -> None:
    exported = jax_export.read(program("cholesky"), "file")
    assert exported is not None
    data = exported.module
    assert without_unknown(data, lambda _: True) == data
    assert without_unknown(data, lambda name: name != "sdy") != data
    numbers = random.Random(0)
    refused = 0
    for _ in range(500):
        damaged = bytearray(data)
        damaged[numbers.randrange(4, len(data))] ^= 1 << numbers.randrange(8)
        try:
            without_unknown(bytes(damaged), lambda name: name != "sdy")
        except Damaged:
            refused += 1
    assert refused


def test_bytecode_that_crashes_the_parser_is_refused() -> None:
    # Each cost a process, or kept one busy for ever, when it was parsed where it was read.
    exported = jax_export.read(program("loss"), "file")
    assert exported is not None
    damaged = bytearray(exported.module)
    damaged[len(damaged) // 2] ^= 0x40
    try:
        stagec.from_stablehlo(bytes(damaged))
    except stagec.errors.ArtifactError as error:
        assert "can be read here" in str(error)
