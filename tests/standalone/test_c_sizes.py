"""C libraries and WebAssembly modules with several open sizes."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, ran, written
from test_cpp_headers import printed
from test_web import TARGET, ran as ran_in_node, tried

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.core.dims_values import symbols

RNG = np.random.default_rng(0)


def pixels(image, gain):
    seen = snp.tanh(image * gain) @ snp.asarray(np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2))
    return seen, seen.max(-1), snp.cumsum(image[..., ::-1], axis=-1)


def elements(x, y):
    return snp.where(x > y, snp.exp(-x), x * y)


def attention(x, w):
    weights = nn.softmax(snp.einsum("bnd,bmd->bnm", x, x))
    return (snp.einsum("bnm,bmd->bnd", weights, x) @ w) / x.shape[1]


def centered(x):
    return snp.sort(x - x.mean(axis=0), axis=0)


def halves(x):
    return x[: x.shape[0] // 2].sum() + x[::2].max() * x.size


def distances(x, y):
    return ((x[:, None] - y) ** 2).sum(-1), lax.fori_loop(0, 3, lambda i, h: h @ x.T @ x, y)


# A function, descriptions of its arguments, and values of the open sizes, in the order of the arguments.
PROGRAMS = {
    "pixels": (pixels, ["f32[h,w,3]", "f32[]"], [(1, 1), (7, 11), (64, 65)]),
    "elements": (elements, ["f32[a,b,c]", "f32[a,b,c]"], [(1, 2, 3), (5, 6, 70)]),
    "attention": (attention, ["f32[b,n <= 6,4]", "f32[4,5]"], [(1, 1), (9, 4), (70, 6)]),
    "centered": (centered, ["f32[2 <= b <= 5,3]"], [(2,), (5,)]),
    "halves": (halves, ["f32[4*k,k <= 3]"], [(1,), (3,)]),
    "distances": (distances, ["f32[b <= 3,3]", "f32[c <= 2,3]"], [(1, 1), (3, 2), (2, 2)]),
}


def given(exported, sizes):
    """Arguments of an exported function for some sizes."""
    values = dict(zip(symbols([a.shape for a in exported.in_avals]), sizes))
    return [RNG.normal(size=a.at(values).shape).astype(np.float32) for a in exported.in_avals]


def assert_close(found, expected):
    for a, b in zip(found, stagec.tree.leaves(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, np.asarray(b), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library_has_the_values_of_the_jitted_function(name, tmp_path):
    function, descriptions, cases = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    for sizes in cases:
        arguments = given(exported, sizes)
        assert_close(ran(tmp_path, exported, arguments, sizes=sizes), stagec.jit(function, target=LEVEL)(*arguments))


@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers_find_nothing(name, tmp_path):
    function, descriptions, cases = PROGRAMS[name]
    exported = written(function, descriptions, tmp_path)
    ran(tmp_path, exported, given(exported, cases[-1]), SANITIZERS, sizes=cases[-1])


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")
@pytest.mark.parametrize("name", PROGRAMS)
def test_so_has_a_module(name, tmp_path):
    function, descriptions, cases = PROGRAMS[name]
    exported = stagec.export(function, TARGET)(*descriptions)
    names = list(map(str, symbols([a.shape for a in exported.in_avals])))
    for sizes in cases:
        arguments = given(exported, sizes)
        found = ran_in_node(tmp_path, exported, arguments, True, **dict(zip(names, sizes)))
        assert_close(found, stagec.jit(function, target=TARGET)(*arguments))


def pairs(x):
    """Of an even number of rows: else no size is right."""
    return x.reshape(-1, 2, 3).sum(1)


def test_other_sizes_are_refused(tmp_path):
    exported = written(pairs, ["f32[n <= 5,3]"], tmp_path)
    x = np.ones((4, 3), np.float32)
    assert_close(ran(tmp_path, exported, [x], sizes=[4]), np.full((2, 3), 2))
    for n in (3, 6):
        main = (tmp_path / "main.c").read_text()
        (tmp_path / "main.c").write_text(main.replace("f(4, ", f"f({n}, ").replace("f(3, ", f"f({n}, "))
        command = ["gcc", "main.c", "f.c", *map(str, tmp_path.glob("*.o")), "-lm", "-o", "program"]
        subprocess.run(command, cwd=tmp_path, check=True)
        assert subprocess.run(["./program", "given", "made"], cwd=tmp_path).returncode == 6


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")
def test_a_module_refuses_other_sizes(tmp_path):
    stagec.export(lambda x, y: x + pairs(y).sum(0))("f32[b,3]", "f32[n <= 4,3]").to_wasm(tmp_path, name="f")
    sizes = ["{ b: 2, n: 5 }", "{ b: 2 }", "{ b: 1, n: 4 }", "{ b: 1, n: 1 }"]
    arrays = "new Float32Array(3), new Float32Array(3)"
    assert tried(tmp_path, ["new Float32Array(6)", *(f"{n}, {arrays}" for n in sizes)]) == [
        "TypeError: f takes 2 arrays, not 0",
        "RangeError: f takes 1 to 4 as n, not 5",
        "TypeError: f takes an object with the number n first",
        'RangeError: y has 3 elements, not the 12 of shape [n,3] for {"b":1,"n":4}',
        'RangeError: f is not for the sizes {"b":1,"n":1}',
    ]
    types = (tmp_path / "f.d.ts").read_text()
    assert "(sizes: { b: number; n: number }, x: Float32Array, y: Float32Array) => Float32Array" in types


def test_the_header_says_what_the_sizes_are(tmp_path):
    written(attention, PROGRAMS["attention"][1], tmp_path)
    header = (tmp_path / "f.h").read_text()
    assert "   b: a size, 1 or more\n   n: a size, from 1 to 6\n   x: float32[b,n,4]\n" in header
    assert "int f(size_t b, size_t n, const float *x, " in header and "or 3 for other sizes" in header


def test_spans_have_their_sizes_checked(tmp_path):
    stagec.export(lambda x, y: x.sum(0) @ y.reshape(x.shape[1], -1), LEVEL)("f32[b <= 2,n/2]", "f32[n,n <= 5]").to_c(
        tmp_path, name="f"
    )
    body = """
  std::vector<float> x{1, 2, 3, 4}, y(16, 1), sums(8), many(18);
  stagec::f(2, 4, x, y, sums, work);
  std::printf("%g\\n", sums[7]);
  report([&] { stagec::f(1, 4, x, y, sums, work); });
  report([&] { stagec::f(2, 4, x, std::span(y).first(4), sums, work); });
  report([&] { stagec::f(2, 9, std::vector<float>(8), std::vector<float>(81), many, work); });
"""
    assert printed(tmp_path, "c++20", body) == [
        "10",
        "x has 4 elements, not 2",
        "y has 4 elements, not 16",
        "an open size is out of bounds",
    ]


def test_many_values_are_refused_where_arrays_cannot_be_padded(tmp_path):
    exported = stagec.export(pairs)("f32[n <= 150,3]")
    with pytest.raises(
        stagec.errors.UnsupportedError, match=r"and not all values of n fit out, which is f32\[n/2,3\]"
    ) as caught:
        exported.to_c(tmp_path)
    assert "as in 'n <= 16': there is code for each of up to 128 values" in str(caught.value)


def test_the_command_line_takes_them(tmp_path):
    (tmp_path / "model.py").write_text("import stagec.nn as nn\n\ndef f(x):\n    return nn.softmax(x, axis=1)\n")
    command = [sys.executable, "-m", "stagec", "compile", "model.py:f", "f32[b,n <= 8]", "--emit", "c", "-o", "library"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "int f(size_t b, size_t n, " in (tmp_path / "library" / "f.h").read_text()
