"""C libraries for other processors than this machine's run in an emulator."""

import subprocess

import numpy as np
import pytest
from c_libraries import ran, tool, written
from test_c_libraries import DOUBLES, OF_THE_HOST, PROGRAMS, doubles, of_the_host

import stagec
from passes.kernels import cost
from passes.kernels.elements import RefusedError

# By target, the GCC that compiles for it, and the emulator.
TOOLS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}


def assert_close(arch, folder, function, arguments, tolerance=1e-4):
    """Compare an emulated program with the jitted function. Vectors of another width add up in another order."""
    compiler, runner = tool(TOOLS[arch][0]), tool(TOOLS[arch][1], f"{TOOLS[arch][1]}-static")
    exported = written(function, arguments, folder, f"cpu:{arch}")
    found = ran(folder, exported, arguments, ["-static"], compiler, [runner])
    for a, b in zip(found, stagec.tree.leaves(stagec.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(a, np.asarray(b), rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("arch", TOOLS)
@pytest.mark.parametrize("name", ["network", "gradients", "attention", "convolution", "sort", "recurrent", "branches"])
def test_programs_run(name, arch, tmp_path):
    function, *arguments = PROGRAMS[name]
    # Each step of the recurrence doubles the difference.
    assert_close(arch, tmp_path, function, arguments, 1e-3 if name == "recurrent" else 1e-4)


@pytest.mark.parametrize("arch", TOOLS)
@pytest.mark.parametrize(
    "name", ["functions", "fourier", "odd results", "integers", "updates", "remainders", "scalars"]
)
def test_operations_have_their_values(name, arch, tmp_path):
    function, *arguments = PROGRAMS[name]
    assert_close(arch, tmp_path, function, arguments)


@pytest.mark.parametrize("arch", TOOLS)
@pytest.mark.parametrize("name", ["narrow", "complex", "random", "products", "nested", "newton"])
def test_narrow_numbers_and_loops_have_their_values(name, arch, tmp_path):
    function, *arguments = PROGRAMS[name]
    assert_close(arch, tmp_path, function, arguments, 1e-2 if name == "narrow" else 1e-4)


@pytest.mark.parametrize("arch", TOOLS)
def test_loops_of_the_host_run(arch, tmp_path, monkeypatch):
    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)
    with stagec.config.override(enable_cache=False):
        assert_close(arch, tmp_path, of_the_host, OF_THE_HOST)


@pytest.mark.parametrize("arch", TOOLS)
def test_64_bits_are_kept(arch, tmp_path):
    with stagec.enable_x64():
        assert_close(arch, tmp_path, doubles, DOUBLES, 1e-12)


@pytest.mark.parametrize("arch", TOOLS)
def test_another_processor_is_an_error_of_the_c_compiler(arch, tmp_path):
    written(lambda x: x * 2, ["f32[3]"], tmp_path, f"cpu:{arch}")
    others = [compiler for other, (compiler, _) in TOOLS.items() if other != arch]
    done = subprocess.run([tool(*others), "-c", "f.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "the kernels are for another processor" in done.stderr
