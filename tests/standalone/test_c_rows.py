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


def loops(x, n):
    h = lax.fori_loop(0, n, lambda i, h: snp.sort(h * 0.5 + i, axis=1), x)
    count, h = lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + n, s[1] + s[1].max(1, keepdims=True)), (n, h))
    return lax.cond(count > 6, lambda: h * 2, lambda: h[:, ::-1]), h


def recurrence(x, rows):
    return lax.scan(lambda h, row: (snp.tanh(h + row), ()), x, rows)[0]


def lookups(i, x):
    table = snp.arange(36.0).reshape(9, 4)
    first, *_ = snp.split(x, 3, axis=1)
    updated = lax.dynamic_update_slice(x, first, (0, 2))
    return table[i], snp.take_along_axis(x, i, axis=1), updated, lax.dynamic_slice_in_dim(x, i.shape[1] - 1, 4, axis=1)


def windows(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 3), (1, 1, 2, 3), "VALID")


# Descriptions of the arguments, with an open first axis or none.
PROGRAMS = {
    "network": (network, "f32[b,20]", "f32[]"),
    "several": (several, "f32[b,5]", "f32[5]"),
    "numbers": (numbers, "f32[b]"),
    "images": (images, "f32[b,2,7,7]"),
    "loops": (loops, "f32[b,6]", "i32[]"),
    "recurrence": (recurrence, "f32[b,5]", "f32[4,5]"),
    "lookups": (lookups, "i32[b,3]", "f32[b,9]"),
    "windows": (windows, "f32[b,2,8,6]"),
    "narrow": (looped, "f32[b,600]"),
}
BLOCKS = {"loops": (1, 63, 65), "recurrence": (1, 65), "several": (1, 63, 64, 5000), "numbers": (1, 63, 64, 9000)}


def given(descriptions, rows):
    made = []
    for text in descriptions:
        shape = [int(n) for n in text[4:-1].replace("b", str(rows)).split(",") if n]
        is_integer = text.startswith("i")
        made.append(RNG.integers(1, 9, shape, np.int32) if is_integer else RNG.normal(size=shape).astype(np.float32))
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_rows_has_the_values_of_the_jitted_function(name, tmp_path):
    function, *descriptions = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    jitted = stagec.jit(function, target=LEVEL)
    for rows in BLOCKS.get(name, (1, 2, 7, 64, 75, 700)):
        arguments = given(descriptions, rows)
        found = ran(tmp_path, exported, arguments, sizes=[rows])
        for a, b in zip(found, stagec.tree.leaves(jitted(*arguments)), strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=2e-5, atol=1e-6)


def test_rows_have_the_bits_of_those_of_a_function_for_any_number(tmp_path):
    function, *descriptions = PROGRAMS["several"]
    exported = written(function, descriptions, tmp_path)
    arguments = given(descriptions, 75)
    jitted = stagec.jit(function, target=LEVEL, dynamic={"x": "b, _"})
    assert_same_bits(ran(tmp_path, exported, arguments, sizes=[75]), jitted(*arguments))


@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers_find_nothing(name, tmp_path):
    function, *descriptions = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    ran(tmp_path, exported, given(descriptions, 77), SANITIZERS, sizes=[77])


def test_threads_share_the_rows(tmp_path):
    function, *descriptions = PROGRAMS["narrow"]
    exported = written(function, descriptions, tmp_path)
    arguments = given(descriptions, 300)
    found = ran(tmp_path, exported, arguments, ["-g", "-fsanitize=thread"], threads=True, sizes=[300])
    assert_same_bits(found, ran(tmp_path, exported, arguments, sizes=[300]))


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
    assert_same_bits(ran(tmp_path, exported, arguments, sizes=[2]), arguments[0] + arguments[1])
    with pytest.raises(AssertionError, match=r"\(6, "):  # what the program returns for a code
        ran(tmp_path, exported, [a[:1] if a.ndim == 2 else a for a in arguments], sizes=[1])


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
        (
            lambda x, y: x.sum(1) + y.sum(1)[0],
            ["f32[b,3]", "f32[c,3]"],
            ".* c is no number of",
        ),
        (lambda x: x * 2, ["f32[3,b]"], r"x is f32\[3,b\], where b is not the number of rows"),
        (lambda x: x * 2, ["f32[4*b]"], r"x is f32\[4\*b\], where b is not the number of rows"),
        (lambda x: x * x.shape[0], ["f32[b]"], "b is known only when it is called, and "),
        (lambda x: snp.cumsum(x), ["f32[b]"], "cumsum may read other rows of b"),
        (
            lambda x: lax.scan(lambda h, r: (h + r, ()), snp.zeros(3), x)[0] + x,
            ["f32[b,3]"],
            "scan may read other rows",
        ),
        (lambda x: lax.fori_loop(0, 3, lambda i, h: h + h[::-1], x), ["f32[b]"], "scan may read other rows of b"),
        (lambda x: lax.while_loop(lambda h: h.sum() < 9, lambda h: h * 2, x), ["f32[b]"], "while may read other rows"),
        (lambda x, i: x[i], ["f32[b,3]", "i32[b]"], "gather may read other rows of b"),
        (
            lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), "SAME"),
            ["f32[b,3]"],
            "reduce_window_sum may read other rows of b",
        ),
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
