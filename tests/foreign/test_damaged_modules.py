"""Files that are no modules, or damaged ones: an error, never a crash."""

from __future__ import annotations

import os
import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from test_modules_of_jax import program

import stagec
from stagec.foreign import jax_export, jax_trees
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


@pytest.mark.usefixtures("untried")
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


@pytest.mark.usefixtures("untried")
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
    monkeypatch.setattr(jax_trees, "_DEEP", 2)
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


PLAIN = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


def conditionals(depth: int) -> str:
    """Conditionals in one another."""
    lines = ["func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {"]
    lines += [f'%{i} = "stablehlo.if"(%p) ({{' for i in range(depth)]
    lines += ["stablehlo.return %x : tensor<f32>"]
    for i in reversed(range(depth)):
        lines += ["}, { stablehlo.return %x : tensor<f32> }) : (tensor<i1>) -> tensor<f32>"]
        lines += [f"stablehlo.return %{i} : tensor<f32>" if i else "return %0 : tensor<f32> }"]
    return "\n".join(lines)


def aliases(depth: int, count: int) -> str:
    """An attribute whose aliases name one another, each `count` times."""
    rows = [f"#a{i + 1} = [{', '.join([f'#a{i}'] * count)}]" for i in range(depth)]
    return "\n".join(["#a0 = 1", *rows, f"module attributes {{a.b = #a{depth}}} {{ {PLAIN} }}"])


NESTED = {
    "modules": "module {\n" * 5000 + PLAIN + "}" * 5000,
    "tuples": f"func.func @main(%x: {'tuple<' * 5000}tensor<f32>{'>' * 5000}) {{ return }}\n",
    "attributes": f"module attributes {{a.b = {'[' * 20000}{']' * 20000}}} {{ {PLAIN} }}",
    "numbers": f"%c = stablehlo.constant dense<{'[' * 9000}1{']' * 9000}> : tensor<{'1x' * 9000}i32>\n",
    "conditionals": conditionals(5000),
    "aliases": aliases(5000, 1),
    # Nothing in brackets nests here, and MLIR's parser ends its process.
    "signs": f"module attributes {{a.b = affine_map<(d0) -> ({'-' * 50000}d0)>}} {{ {PLAIN} }}",
    # The parser of attributes of StableHLO ends its process, too.
    "dimensions": f"""{
        PLAIN.replace(
            "return",
            '''%0 = stablehlo.convolution(%x, %x)
        dim_numbers = [b, 4294967296, f]x[0, i, o]->[b, 0, f], window = {}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<f32>, tensor<f32>) -> tensor<f32> return''',
        )
    }""",
}


def test_text_that_ends_the_parsers_process_is_refused() -> None:
    script = f"""
import stagec
for kind, text in {NESTED!r}.items():
    try:
        stagec.from_stablehlo(text)
    except stagec.errors.ArtifactError as error:
        print(kind, str(error).splitlines()[0])
"""
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert found.keys() == NESTED.keys()
    assert "it nests 10002 brackets deep, and at most 256 can be read" in found["conditionals"]
    assert "it nests 5001 brackets deep" in found["aliases"]
    assert "MLIR's parser ended its process with status -" in found["signs"]


def test_brackets_in_strings_and_comments_do_not_nest() -> None:
    text = "// " + "(" * 3000 + f'\nmodule attributes {{a.b = "{"[" * 3000}"}} {{ {PLAIN} }}\n'
    assert stagec.from_stablehlo(text)(np.float32(2)) == 2


@pytest.mark.usefixtures("untried")
def test_control_flow_too_deep_for_python_is_refused() -> None:
    deep = stagec.from_stablehlo(conditionals(100))
    with pytest.raises(stagec.errors.UnsupportedError, match=r"limit of recursion[\s\S]*Fix: .*sys\.setrecursionlimit"):
        stagec.jit(deep).trace(np.float32(1), np.bool_(False))
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(10_000)
        assert stagec.jit(deep)(np.float32(1), np.bool_(False)) == 1
    finally:
        sys.setrecursionlimit(before)


def calls(depth: int) -> str:
    """Functions that call the next one twice."""
    type_ = "(%x: tensor<f32>) -> tensor<f32>"
    rows = [
        f"""func.func {"private @f" if i else "@main"}{i or ""}{type_} {{
        %0 = func.call @f{i + 1}(%x) : (tensor<f32>) -> tensor<f32>
        %1 = func.call @f{i + 1}(%0) : (tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>\n}}"""
        for i in range(depth)
    ]
    last = f"func.func private @f{depth}{type_} {{ %0 = stablehlo.add %x, %x : tensor<f32> return %0 : tensor<f32> }}"
    return "\n".join([*rows, last])


@pytest.mark.usefixtures("untried")
def test_functions_that_call_others_too_often_are_refused() -> None:
    assert stagec.from_stablehlo(calls(3))(np.float32(1)) == 256
    with pytest.raises(
        stagec.errors.UnsupportedError, match=r"runs 5\.\d+e\+09 operations[\s\S]*Fix: .*stablehlo\.while"
    ):
        stagec.from_stablehlo(calls(30))(np.float32(1))


def test_devices_and_pipes_are_refused(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(stagec.errors.ArtifactError, match=r"it is not a regular file[\s\S]*Fix: copy its content"):
            stagec.from_stablehlo(path)


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b", b"\xff".decode("utf-8", "surrogateescape")])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises((OSError, stagec.errors.ArtifactError), match="Fix: "):
        stagec.from_stablehlo(path)


def test_text_that_is_not_unicode_is_read() -> None:
    assert stagec.from_stablehlo(f"// \udc80\n{PLAIN}\n")(np.float32(2)) == 2


def test_a_function_is_named_by_a_string() -> None:
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"name of a function, not 3\n[\s\S]*Fix: pass a string"):
        stagec.from_stablehlo(PLAIN + "\n", function=3)  # type: ignore[arg-type]


DECLARED = "func.func private @f(tensor<f32>) -> tensor<f32>\n"


@pytest.mark.usefixtures("untried")
def test_functions_without_a_body_are_refused() -> None:
    with pytest.raises(stagec.errors.ArtifactError, match="the module only declares 'f'"):
        stagec.from_stablehlo(DECLARED, function="f")
    call = PLAIN.replace("return", "%0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32> return")
    with pytest.raises(stagec.errors.UnsupportedError, match=r"calls f, which has no body[\s\S]*Fix: define"):
        stagec.from_stablehlo(DECLARED + call)(np.float32(1))


@pytest.mark.usefixtures("untried")
def test_branches_between_blocks_are_refused() -> None:
    text = PLAIN.replace("{", "{ cf.br ^next\n^next:\n")
    with pytest.raises(stagec.errors.UnsupportedError, match=r"branches between several blocks[\s\S]*Fix: "):
        stagec.from_stablehlo(text)(np.float32(1))


def constant(value: str, type_: str) -> str:
    return f"func.func @main() -> {type_} {{ %0 = stablehlo.constant {value} : {type_} return %0 : {type_} }}\n"


BLOBS = '{-# dialect_resources: { builtin: { "a b": "0x040000000000803F00000040", b: "0x040000000200" } } #-}'


@pytest.mark.usefixtures("untried")
def test_constants_may_be_resources() -> None:
    f32 = stagec.from_stablehlo(constant('dense_resource<"a b">', "tensor<2xf32>") + BLOBS)()
    np.testing.assert_array_equal(f32, np.float32([1, 2]))
    i1 = stagec.from_stablehlo(constant("dense_resource<b>", "tensor<2xi1>") + BLOBS)()
    np.testing.assert_array_equal(i1, [True, False])
    for name in ("__elided__", "b"):
        with pytest.raises(
            stagec.errors.UnsupportedError, match=r"which the module holds \d bytes of[\s\S]*Fix: print"
        ):
            stagec.from_stablehlo(constant(f"dense_resource<{name}>", "tensor<9xf32>") + BLOBS)()


@pytest.mark.usefixtures("untried")
def test_constants_in_other_forms_are_refused() -> None:
    with pytest.raises(stagec.errors.UnsupportedError, match=r"constant cannot be evaluated[\s\S]*Fix: "):
        stagec.from_stablehlo(constant("sparse<[[0]], [1.0]>", "tensor<9xf32>"))()


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("element", ["true : i1", "-3 : i8", "1.5 : bf16", "(1.0,-2.0) : complex<f32>"])
def test_one_number_may_fill_more_than_the_memory(element: str) -> None:
    number, type_ = element.split(" : ")
    text = f"""func.func @main() -> tensor<1x{type_}> {{
      %0 = stablehlo.constant dense<{number}> : tensor<4611686018427387904x{type_}>
      %1 = stablehlo.slice %0 [7:8] : (tensor<4611686018427387904x{type_}>) -> tensor<1x{type_}>
      return %1 : tensor<1x{type_}>\n}}"""
    small = stagec.from_stablehlo(constant(f"dense<{number}>", f"tensor<1x{type_}>"))
    np.testing.assert_array_equal(stagec.from_stablehlo(text)(), small())


@pytest.mark.usefixtures("untried")
def test_attributes_of_an_unknown_form_are_refused() -> None:
    text = f"""{
        PLAIN.replace(
            "return",
            '''%0:2 = stablehlo.custom_call @ApproxTopK(%x, %x, %x, %x)
      {called_computations = [@main], mhlo.backend_config = {reduction_dim = "a", top_k = 1 : i64}}
      : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) return''',
        )
    }"""
    with pytest.raises(stagec.errors.UnsupportedError, match=r"is not of a form that stagec can import[\s\S]*Fix: "):
        stagec.from_stablehlo(text)(np.float32(1))
