"""The header of a C library for C++: spans under C++20, pointers before, and exceptions."""

import subprocess

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, tool

import stagec
import stagec.numpy as snp

_MAIN = """
#include "f.hpp"
#include "f.hpp"
#include <cstdio>
#include <vector>
#if __cplusplus >= 201703L
typedef std::byte MEMORY;
#else
typedef unsigned char MEMORY;
#endif

alignas(16) static MEMORY work[F_WORKSPACE + 32];

template <typename Call> static void report(Call call)
{
  try {
    call();
  } catch (const std::exception &error) {
    std::puts(error.what());
  }
}

int main()
{
%s}
"""
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", *SANITIZERS]


def printed(folder, standard, body):
    """What a program prints."""
    (folder / "main.cpp").write_text(_MAIN % body)
    gcc, cpp = tool("gcc", "clang"), tool("g++", "clang++")
    subprocess.run([gcc, "-c", "f.c", "-o", "host.obj"], cwd=folder, check=True)
    objects = [path.name for path in folder.glob("*.o")]
    command = [cpp, f"-std={standard}", *STRICT, "main.cpp", "host.obj", *objects, "-lm", "-o", "program"]
    if subprocess.run([cpp, f"-std={standard}", "-E", "-x", "c++", "/dev/null"], capture_output=True).returncode:
        pytest.skip(f"{cpp} knows no {standard}")
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./program"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()


def scaled(x, scale):
    return x * scale, x.sum() > 0


def test_spans_have_their_sizes_checked(tmp_path):
    stagec.export(scaled, LEVEL)("f32[2,3]", "f32[]").to_c(tmp_path, name="f")
    body = """
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(6);
  const float scale[] = {2};
  std::uint8_t positive[1];
  stagec::f(x, scale, y, positive, work);
  std::printf("%g %g %d\\n", y[0], y[5], positive[0]);
  report([&] { stagec::f(std::span(x).first(5), scale, y, positive, work); });
  report([&] { stagec::f(x, scale, std::span(y).last(2), positive, work); });
  report([&] { stagec::f(x, scale, y, positive, std::span(work).subspan(1)); });
  if (F_WORKSPACE > 0) report([&] { stagec::f(x, scale, y, positive, std::span(work).first(0)); });
"""
    found = printed(tmp_path, "c++20", body)
    assert found[:4] == [
        "2 12 1",
        "x has 5 elements, not 6",
        "out_0 has 2 elements, not 6",
        "workspace is not at a multiple of 16",
    ]
    assert all(line.startswith("workspace has 0 bytes, and needs ") for line in found[4:])


def test_the_number_of_rows_is_that_of_the_spans(tmp_path):
    stagec.export(lambda x, y: x.sum(1) + y, LEVEL)("f32[b,3]", "f32[b]").to_c(tmp_path, name="f")
    body = """
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y{10, 20}, sums(2), none;
  stagec::f(x, y, sums, work);
  std::printf("%g %g\\n", sums[0], sums[1]);
  report([&] { stagec::f(std::span(x).first(5), y, sums, work); });
  report([&] { stagec::f(x, std::span(y).first(1), sums, work); });
  report([&] { stagec::f(none, none, none, work); });
"""
    assert printed(tmp_path, "c++20", body) == [
        "16 35",
        "x has 5 elements, not 3",
        "y has 1 elements, not 2",
        "an open size is out of bounds",
    ]


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_before_spans_there_are_pointers(standard, tmp_path):
    large = snp.asarray(np.eye(20, dtype=np.float32))
    stagec.export(lambda x: x @ large * 2, LEVEL)("f32[b,20]").to_c(tmp_path, name="f", weights="file")
    body = """
  std::vector<float> x(40, 1), y(40);
  alignas(64) static unsigned char weights[F_WEIGHTS];
  report([&] { stagec::f(2, x.data(), y.data(), weights, work); });
  std::FILE *file = std::fopen("f.weights", "rb");
  if (!file || std::fread(weights, 1, F_WEIGHTS, file) != F_WEIGHTS) return 1;
  stagec::f(2, x.data(), y.data(), weights, work, nullptr);
  std::printf("%g %g\\n", y[0], y[39]);
  return std::fclose(file);
"""
    assert printed(tmp_path, standard, body) == ["the weights are not those of the library", "2 2"]
