"""C libraries have the bits of jitted functions, and need nothing but a C compiler."""

import os
import subprocess

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, assert_same_bits, ran, tool, written
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec import lax, nn
from stagec.cli import cli
from stagec.compiler.direct import machine_code
from tests.benchmarks import native

RNG = np.random.default_rng(0)


def integers(dtype, *shapes):
    return [RNG.integers(-99, 99, shape).astype(dtype) for shape in shapes]


def normal(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


W1, B1, W2, B2 = (snp.asarray(normal(*shape)) for shape in ((196, 64), (64,), (64, 10), (10,)))


def network(x):
    return nn.softmax(snp.maximum(x @ W1 + B1, 0) @ W2 + B2)


def loss(params, x):
    hidden = snp.tanh(x @ params["w"] + params["b"])
    return (hidden**2).sum()


def attention(q, k, v):
    scores = nn.softmax(snp.einsum("hqd,hkd->hqk", q, k) / 8)
    return snp.einsum("hqk,hkd->hqd", scores, v)


def heat(x):
    return lax.fori_loop(0, 7, lambda i, u: u + 0.1 * (snp.roll(u, 1) - 2 * u + snp.roll(u, -1)), x)


def newton(x):
    def step(state):
        i, y = state
        return i + 1, y - (y * y - x) / (2 * y)

    return lax.while_loop(lambda s: (s[0] < 40) & (abs(s[1] ** 2 - x).max() > 1e-5), step, (0, x + 1))


def swapped(a, b):
    return lax.fori_loop(0, 5, lambda i, s: (s[1] @ s[0] * 0.01, s[0]), (a, b))


def recurrent(x, w):
    return lax.scan(lambda h, row: (snp.tanh(h @ w + row), h.sum()), x[0], x)


def branches(i, x):
    return lax.switch(i, [lambda x: x @ x, lambda x: snp.sort(x), lambda x: x + 1], x)


def odd_results(x, y):
    z = x * 2
    return {"same": x, "double": z, "again": z, "number": 3.0, "table": snp.arange(4.0), "y": y}


def bits(x, y):
    return (x ^ y) << 3, ~x // 3, x > y, (x % 7).astype(snp.int8), snp.where(x > y, x, y).sum()


def draws(seed):
    return stagec.random.normal(stagec.random.key(seed), (50,))


def nested(x):
    def row(total, row):
        doubled = lax.while_loop(lambda r: abs(r).sum() < 40, lambda r: r * 2, row)
        return total + doubled.sum(), lax.cond(total > 0, lambda: doubled, lambda: snp.sort(doubled))

    return lax.scan(row, 0.0, x)


def words(double, restrict):
    return {"int": double + restrict, "workspace": double * restrict, "a*/b": double - restrict, "??/": restrict}


def doubles(x, n):
    """A comment that ends */ and goes on."""
    y = snp.where(x > 0, snp.log(abs(x)), snp.exp(x))  # */ "
    return y.cumsum(), (x @ x).sum(), n // 3 * 2**33, snp.linalg.norm(x), lax.complex(x, y)


PROGRAMS = {
    "network": (network, normal(17, 196)),
    "gradients": (stagec.value_and_grad(loss), {"w": normal(30, 20), "b": normal(20)}, normal(9, 30)),
    "attention": (attention, normal(2, 33, 16), normal(2, 33, 16), normal(2, 33, 16)),
    "convolution": (
        lambda x, k: nn.relu(lax.conv_general_dilated(x, k, (1, 1), "SAME")).sum((2, 3)),
        normal(2, 3, 14, 14),
        normal(8, 3, 3, 3),
    ),
    "sort": (lambda x: (snp.sort(x), snp.argsort(x), lax.top_k(x, 3)), normal(200)),
    "cumulative": (lambda x: snp.cumsum(x), normal(1000)),
    "fourier": (lambda x: abs(snp.fft.rfft(x)), normal(256)),
    "heat": (heat, normal(200)),
    "large heat": (heat, normal(300000)),
    "newton": (newton, abs(normal(50))),
    "swapped": (swapped, normal(300, 300), normal(300, 300)),
    "recurrent": (recurrent, normal(12, 32), normal(32, 32)),
    "branches": (branches, np.int32(1), normal(40, 40)),
    "functions": (
        lambda x: [f(x) for f in (snp.exp, snp.sin, snp.tanh, nn.gelu, nn.selu, snp.log1p, snp.expm1)],
        normal(100),
    ),
    "procedures": (lambda x: snp.stack([f(v) for f in (snp.sin, snp.cos) for v in x]), normal(8)),
    "narrow": (lambda x: (x.astype(snp.bfloat16) * 3).astype(snp.float16) + 1, normal(77)),
    "complex": (lambda x, y: lax.complex(x, y) * lax.complex(y, x), normal(31), normal(31)),
    "odd results": (odd_results, normal(5), normal(3)),
    "integers": (bits, *integers(np.int32, 50, 50)),
    "updates": (lambda x, i, y: x.at[i].add(y), normal(40), np.array([1, 5, 1, 39], np.int32), normal(4)),
    "rows": (lambda x, i: x[i] * 2, normal(40, 8), np.array([1, 5, 1, 39], np.int32)),
    "remainders": (lambda x: snp.fmod(x, 0.7), normal(60)),
    "random": (draws, np.int32(3)),
    "products": (lambda a, b: a @ b, *integers(np.int8, (20, 64), (64, 24))),
    "scalars": (lambda x, y: (x * y, lax.cond(x > y, lambda: x, lambda: -y)), np.float32(2), np.float32(3)),
    "no arguments": (lambda: snp.arange(6.0),),
    "nested": (nested, normal(6, 5)),
    "words": (words, normal(3), normal(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_bits_of_the_jitted_function(name, tmp_path):
    function, *arguments = PROGRAMS[name]
    exported = written(function, arguments, tmp_path)
    found = ran(tmp_path, exported, arguments)
    assert_same_bits(found, stagec.jit(function, target=LEVEL)(*arguments))


def test_products_that_the_compiler_has_faster_code_for_have_kernels(tmp_path):
    x, few_columns = normal(5000, 8), normal(8, 5)
    exported = written(lambda x: x @ few_columns, [x], tmp_path)
    (found,) = ran(tmp_path, exported, [x])
    np.testing.assert_allclose(found, x @ few_columns, rtol=1e-5, atol=1e-5)


def of_the_host(x, n):
    """Loops with exchanged and with updated buffers, counters, and choices by what a kernel computes."""
    turned = lax.fori_loop(0, n, lambda i, x: x[::-1] * 0.5 + i, x)
    unchanged = lax.fori_loop(0, n - 7, lambda i, x: x[::-1] * 0.5 + i, x)
    turns = lax.fori_loop(0, 5, lambda i, s: (s[1], s[2], s[0]), (x, x * 2, x + turned))
    grown = lax.while_loop(
        lambda s: (s[0] < 50) & ((s[1] * s[1]).sum() < 1e4), lambda s: (s[0] + 2, snp.exp(s[1] * 0.5) + s[1]), (n, x)
    )
    inner = lax.fori_loop(0, 5, lambda i, x: lax.fori_loop(0, i, lambda j, y: y[::-1] * 0.5 + j * i, x) + 1, x)
    chosen = lax.fori_loop(0, 5, lambda i, x: lax.cond(x[i] > 0.3, lambda x: x[::-1], lambda x: x, x) * 0.5, x)
    switched = lax.fori_loop(
        0, 5, lambda i, x: lax.switch(i % 3, [lambda x: x[::-1], lambda x: x, lambda x: x * x + i], x) * 0.5, x
    )
    return turned, unchanged, turns, grown, inner, chosen, switched


DOUBLES = normal(12, 12, dtype=np.float64), np.int64(-(10**12))
OF_THE_HOST = normal(70), np.int32(7)


def test_loops_of_the_host_are_loops_in_c(tmp_path, monkeypatch):
    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)
    arguments = OF_THE_HOST
    with stagec.config.override(enable_cache=False):
        exported = written(of_the_host, arguments, tmp_path)
        expected = stagec.jit(of_the_host, target=LEVEL)(*arguments)
    assert (tmp_path / "f.c").read_text().count("for (;;)") >= 7
    assert_same_bits(ran(tmp_path, exported, arguments, SANITIZERS), expected)


def test_so_have_those_of_64_bits(tmp_path):
    arguments = DOUBLES
    with stagec.enable_x64():
        exported = written(doubles, arguments, tmp_path)
        expected = stagec.jit(doubles, target=LEVEL)(*arguments)
    assert expected[0].dtype == np.float64
    assert_same_bits(ran(tmp_path, exported, arguments), expected)


@pytest.mark.parametrize("name", ["gradients", "sort", "recurrent", "branches", "updates", "odd results", "swapped"])
def test_sanitizers_find_nothing(name, tmp_path):
    function, *arguments = PROGRAMS[name]
    exported = written(function, arguments, tmp_path)
    found = ran(tmp_path, exported, arguments, SANITIZERS)
    assert_same_bits(found, stagec.jit(function, target=LEVEL)(*arguments))


def test_threads_of_the_caller_share_the_work(tmp_path):
    function, *arguments = PROGRAMS["swapped"]
    exported = written(function, arguments, tmp_path)
    found = ran(tmp_path, exported, arguments, ["-g", "-fsanitize=thread"], threads=True)
    assert_same_bits(found, stagec.jit(function, target=LEVEL)(*arguments))


def test_a_call_takes_the_highest_level_that_the_processor_has(tmp_path):
    x = normal(100)
    levels = list(dict.fromkeys(("cpu:x86-64", LEVEL)))
    if len(levels) == 1 or "x86-64" not in LEVEL:
        pytest.skip("the processor has one level")
    exported = written(lambda x: snp.tanh(x) @ x, [x], tmp_path, levels)
    for flags, level in (([], LEVEL), (["-D__builtin_cpu_supports(name)=0"], "cpu:x86-64")):
        expected = stagec.jit(lambda x: snp.tanh(x) @ x, target=level)(x)
        assert_same_bits(ran(tmp_path, exported, [x], flags), expected)


def test_a_processor_that_lacks_the_level_gets_an_error_code(tmp_path):
    exported = written(lambda x: x * 2, [normal(3)], tmp_path, "cpu:x86-64-v4")
    with pytest.raises(AssertionError, match=r"\(6, "):  # what the program returns for a code
        ran(tmp_path, exported, [normal(3)], ["-D__builtin_cpu_supports(name)=0"])


def test_an_array_without_elements_can_be_a_result(tmp_path):
    def function(x):
        return x[:0], x * 2, snp.zeros((0, 3))

    x = normal(4)
    assert_same_bits(ran(tmp_path, written(function, [x], tmp_path), [x]), function(x))


def test_the_same_function_has_the_same_files(tmp_path):
    function, *arguments = PROGRAMS["recurrent"]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        written(function, arguments, folder)
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first == second


def test_cmake_builds_a_static_library(tmp_path):
    exported = written(network, [normal(17, 196)], tmp_path)
    assert exported.in_avals[0].shape == (17, 196)
    for command in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run([tool("cmake"), *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "build" / "libf.a").stat().st_size > sum(map(os.path.getsize, tmp_path.glob("*.o")))


def test_the_header_is_one_of_cpp_and_says_what_the_arrays_are(tmp_path):
    written(words, [normal(3), normal(3)], tmp_path)
    header = (tmp_path / "f.h").read_text()
    assert "double_: float32[3] (double)" in header and "out_workspace: float32[3] (out['workspace'])" in header
    (tmp_path / "main.cpp").write_text('#include "f.h"\nint main() { return F_WORKSPACE > 1 << 20; }\n')
    command = [tool("g++", "clang++", "c++"), "-Wall", "-Wextra", "-Werror", "main.cpp"]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["expf", "features", "uint32_t", "stagec", "write"])
def test_names_of_the_c_library_are_left_to_it(name, tmp_path):
    def function(errno, size_t, I):  # noqa: E741
        return snp.exp(errno) + size_t + I

    stagec.export(function, LEVEL)(*["f32[3]"] * 3).to_c(tmp_path, name=name)
    headers = "".join(f"#include <{header}.h>\n" for header in ("complex", "errno", "math", "unistd"))
    for end, compiler, standard in ((".c", tool("gcc", "clang"), "c99"), (".cpp", tool("g++", "clang++"), "c++20")):
        own = f'#include "{name}_.{"h" if end == ".c" else "hpp"}"\n'
        (tmp_path / f"user{end}").write_text(f"{headers}{own}int main(void) {{ return 0; }}\n")
        given = [f"user{end}", *([f"{name}_.c"] if end == ".c" else [])]
        command = [compiler, f"-std={standard}", "-I.", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", *given]
        subprocess.run(command, cwd=tmp_path, check=True)


def printing(x):
    stagec.debug.print("{}", x)
    return x * 2


@pytest.mark.parametrize(
    ("function", "arguments", "targets", "message"),
    [
        (lambda x: x * 2, "f32[3,b]", (), r"x is f32\[3,b\], where b is not the number of rows"),
        (printing, "f32[3]", (), "it calls Python functions"),
        (lambda x: x * 2, "f32[3]", "cpu:generic", "C libraries are not made for cpu:generic"),
        (lambda x: x * 2, "f32[3]", "cpu:x86-64-v4+amx-int8", r"C libraries are not made for cpu:x86-64-v4\+amx-int8"),
        (lambda x: x * 2, "f32[3]", ("cpu:aarch64", "cpu:x86-64"), "only levels of x86-64 go into one library"),
    ],
)
def test_what_no_c_library_holds_is_refused(function, arguments, targets, message, tmp_path):
    with pytest.raises(stagec.errors.UnsupportedError, match=message) as caught:
        stagec.export(function, targets)(arguments).to_c(tmp_path)
    assert "Fix: " in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_line_that_no_kernel_computes_is_named(tmp_path):
    def function(x):
        return x @ x, snp.tanh(x)

    with stagec.config.override(straight_kernels=False):
        exported = stagec.export(function)("f32[8,8]")
        with pytest.raises(stagec.errors.UnsupportedError) as caught:
            exported.to_c(tmp_path)
    message = str(caught.value)
    assert "function cannot run without a runtime: stablehlo.tanh outside of kernels" in message
    assert "test_c_libraries.py" in message and "return x @ x, snp.tanh(x)" in message


def test_without_llvm_it_is_asked_for(tmp_path, monkeypatch):
    exported = stagec.export(lambda x: x * 2)("f32[8]")
    monkeypatch.setattr(machine_code, "_binding", lambda: None)
    with pytest.raises(stagec.errors.UnsupportedError, match="llvmlite is not installed") as caught:
        exported.to_c(tmp_path)
    assert "Fix: install the release of llvmlite that stagec asks for" in str(caught.value)


def test_the_command_writes_libraries_and_modules(tmp_path):
    (tmp_path / "lines.py").write_text("def double(x):\n    return x * 2\n")
    given = ["compile", f"{tmp_path}/lines.py:double", "f32[3]", "--target", LEVEL, "--emit", "c"]
    done = CliRunner().invoke(cli, [*given, "-o", str(tmp_path / "c"), "--name", "f"])
    assert done.exit_code == 0 and done.output.startswith(f"wrote {tmp_path}/c: double for {LEVEL}"), done.output
    x = normal(3)
    exported = stagec.export(lambda x: x * 2)(x)
    assert_same_bits(ran(tmp_path / "c", exported, [x]), x * 2)
    done = CliRunner().invoke(cli, [*given[:-1], "wasm", "-o", str(tmp_path / "web")])
    assert sorted(os.listdir(tmp_path / "web")) == ["double_.d.ts", "double_.js", "double_.wasm"], done.output
    refused = CliRunner().invoke(cli, [*given, "-o", str(tmp_path), "--no-weights"])
    assert refused.exit_code == 2 and "--no-weights is for files" in refused.output
    refused = CliRunner().invoke(cli, [*given[:-2], "-o", str(tmp_path)])
    assert refused.exit_code == 2 and "is a directory" in refused.output
    refused = CliRunner().invoke(cli, [*given, "-o", str(tmp_path / "lines.py")])
    assert "lines.py is not a directory" in refused.output and "write to another directory" in refused.output


def test_objects_for_other_targets_do_not_stay(tmp_path):
    weights = snp.asarray(normal(8, 3))
    stagec.export(lambda x: x @ weights, ["cpu:x86-64", "cpu:x86-64-v2"])("f32[8]").to_c(tmp_path, name="f")
    (tmp_path / "g-x86-64.o").touch()
    assert (tmp_path / "f-constants.o").exists()
    files = stagec.export(lambda x: x * 2, "cpu:aarch64")("f32[8]").to_c(tmp_path, name="f")
    assert sorted(os.listdir(tmp_path)) == sorted([*map(os.path.basename, files), "g-x86-64.o"])


def test_calls_of_python_are_refused_with_their_line():
    def prints(x):
        stagec.debug.print("{}", x)
        return x

    with pytest.raises(stagec.errors.UnsupportedError, match=r"test_c_libraries.py:\d+ in .*prints:  stagec"):
        stagec.export(prints)("f32[3]")


def test_random_keys_are_their_words(tmp_path):
    def function(key):
        return stagec.random.normal(key, (50,)), stagec.random.split(key)

    key = stagec.random.key(3)
    exported = written(function, ["key<fry>[]"], tmp_path)
    assert "const uint32_t *key, float *out_0, uint32_t *out_1" in (tmp_path / "f.h").read_text()
    drawn, following = ran(tmp_path, exported, [stagec.random.key_data(key)])
    expected = stagec.jit(function, target=LEVEL)(key)
    assert_same_bits([drawn], expected[:1])
    assert following.tobytes() == stagec.random.key_data(expected[1]).tobytes()


def test_a_call_takes_less_than_a_microsecond_more_than_its_kernels(tmp_path):
    tool("gcc", "clang", "cc")
    _, host = native.in_c(*native.digits(), 1e-5, str(tmp_path))
    assert host < 1e-6
