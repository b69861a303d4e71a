"""C libraries for any number of rows, which the caller passes."""

import os

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, assert_same_bits, ran, tool, written

import stagec
import stagec.numpy as snp
from stagec import lax, nn

RNG = np.random.default_rng(0)
W, B = (RNG.normal(size=shape).astype(np.float32) for shape in ((20, 12), (12,)))


def network(x, scale):
    return nn.softmax(snp.tanh(x @ W + B) * scale)


def several(x, y):
    """Results of other dtypes, one that is an argument, and one that is a constant."""
    z = x * 2 + y
    return {"same": x, "sorted": snp.sort(z, axis=1), "at": z.argmax(1), "sure": z.max(1) > 1, "number": 3.0}


def numbers(x):
    return snp.exp(x) - 1


def images(x):
    kernel = np.ones((4, 2, 3, 3), np.float32) / 9
    return nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME")).sum((2, 3))


def looped(x):
    return lax.complex(x, -x), x.astype(snp.bfloat16), snp.cumsum(x, axis=1)


# Descriptions of the arguments, with an open first axis or none.
PROGRAMS = {
    "network": (network, "f32[b,20]", "f32[]"),
    "several": (several, "f32[b,5]", "f32[5]"),
    "numbers": (numbers, "f32[b]"),
    "images": (images, "f32[b,2,7,7]"),
    "narrow": (looped, "f32[b,600]"),
}
BLOCKS = {"several": (1, 63, 64, 5000), "numbers": (1, 63, 64, 9000)}


def given(descriptions, rows):
    shapes = [text[4:-1].replace("b", str(rows)) for text in descriptions]
    return [RNG.normal(size=[int(n) for n in shape.split(",") if n]).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_rows_has_the_values_of_the_jitted_function(name, tmp_path):
    function, *descriptions = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    jitted = stagec.jit(function, target=LEVEL)
    for rows in BLOCKS.get(name, (1, 2, 7, 64, 75, 700)):
        arguments = given(descriptions, rows)
        found = ran(tmp_path, exported, arguments, rows=rows)
        for a, b in zip(found, stagec.tree.leaves(jitted(*arguments)), strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=2e-5, atol=1e-6)


def test_rows_have_the_bits_of_those_of_a_function_for_any_number(tmp_path):
    function, *descriptions = PROGRAMS["several"]
    exported = written(function, descriptions, tmp_path)
    arguments = given(descriptions, 75)
    jitted = stagec.jit(function, target=LEVEL, dynamic={"x": "b, _"})
    assert_same_bits(ran(tmp_path, exported, arguments, rows=75), jitted(*arguments))


@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers_find_nothing(name, tmp_path):
    function, *descriptions = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    ran(tmp_path, exported, given(descriptions, 77), SANITIZERS, rows=77)


def test_threads_share_the_rows(tmp_path):
    function, *descriptions = PROGRAMS["narrow"]
    exported = written(function, descriptions, tmp_path)
    arguments = given(descriptions, 300)
    found = ran(tmp_path, exported, arguments, ["-g", "-fsanitize=thread"], threads=True, rows=300)
    assert_same_bits(found, ran(tmp_path, exported, arguments, rows=300))


def test_the_header_says_what_the_size_is(tmp_path):
    exported = stagec.export(lambda b, row: b + row, LEVEL)(
        stagec.ShapeDtypeStruct(("b >= 2", 3), "float32"), stagec.ShapeDtypeStruct((3,), "float32")
    )
    exported.to_c(tmp_path, name="f")
    header = (tmp_path / "f.h").read_text()
    assert "b_: the number of rows, 2 or more" in header and "b: float32[b_,3]" in header
    assert "or 3 if b_ is not such a number" in header
    assert "int f(size_t b_, const float *b, const float *row_, float *out, void *workspace" in header
    arguments = given(["f32[b,3]", "f32[3]"], 2)
    assert_same_bits(ran(tmp_path, exported, arguments, rows=2), arguments[0] + arguments[1])
    with pytest.raises(AssertionError, match=r"\(6, "):  # what the program returns for a code
        ran(tmp_path, exported, [a[:1] if a.ndim == 2 else a for a in arguments], rows=1)


def test_the_same_function_has_the_same_files(tmp_path):
    function, *descriptions = PROGRAMS["network"]
    for folder in ("a", "b"):
        written(function, descriptions, tmp_path / folder)
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()} for folder in ("a", "b"))
    assert first == second


def centered(x):
    return x - x.mean(axis=0)


@pytest.mark.parametrize(
    ("function", "descriptions", "message"),
    [
        (
            centered,
            ["f32[b,3]"],
            "b is known only when it is called, and a result of reduce_sum has no axis|reduce_sum",
        ),
        (lambda x, y: x.sum(1) + y.sum(1)[0], ["f32[b,3]", "f32[c,3]"], "the sizes b and c are known only when"),
        (lambda x: x * 2, ["f32[3,b]"], r"x is f32\[3,b\], where b is not the number of rows"),
        (lambda x: x * 2, ["f32[4*b]"], r"x is f32\[4\*b\], where b is not the number of rows"),
        (lambda x: x * x.shape[0], ["f32[b]"], "b is known only when it is called, and "),
        (lambda x: snp.cumsum(x), ["f32[b]"], "cumsum may read other rows of b"),
    ],
)
def test_programs_whose_rows_depend_on_one_another_are_refused(function, descriptions, message, tmp_path):
    exported = stagec.export(function)(*descriptions)
    with pytest.raises(stagec.errors.UnsupportedError, match=message) as caught:
        exported.to_c(tmp_path)
    assert "Fix: export it for sizes that are numbers" in str(caught.value)
    assert os.listdir(tmp_path) == []
    tool("gcc", "clang", "cc")


def test_the_refusal_names_the_line(tmp_path):
    with pytest.raises(stagec.errors.UnsupportedError, match=r"return x - x\.mean\(axis=0\)"):
        stagec.export(centered)("f32[b,3]").to_c(tmp_path)
