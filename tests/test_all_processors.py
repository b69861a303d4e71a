"""`reproducible=True`: the same bits on all processors, or an error that says why not."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax
from stagec.backends import Target
from stagec.backends.cpu import cpu_levels
from stagec.compiler.build import ProgramOptions
from tests.reproducible.__main__ import WAYS, compared, differing, digest
from tests.reproducible.programs import program, trainings
from tests.reproducible.sums import sums
from tests.reproducible.ways import TOOLS, jitted

# A longer hunt: STAGEC_FUZZ=40 STAGEC_FUZZ_START=1000 python -m pytest tests/test_all_processors.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
HERE = tuple(
    way for way in WAYS if all(map(shutil.which, {"wasm": ("node",), "aarch64": TOOLS["aarch64"]}.get(way, ())))
)
pytestmark = pytest.mark.skipif(len(cpu_levels()) < 2, reason="this is no x86-64 processor of level 2")


def test_random_programs_have_the_same_bits_on_all_processors():
    found = compared({seed: program(seed) for seed in range(START, START + 6 * FUZZ)}, HERE)
    assert differing(found) == {}
    assert sum("refused" not in text for text in found[HERE[0]].values()) >= 5 * FUZZ


@pytest.mark.parametrize("name", trainings(1))
def test_trainings_have_the_same_bits_on_all_processors(name):
    found = compared({0: trainings(20)[name]}, HERE)
    assert differing(found) == {} and "refused" not in found[HERE[0]][0]


def test_sums_have_the_same_bits_in_all_surroundings():
    ways = [way for way in HERE if way not in ("aarch64", "wasm")]
    found = compared({seed: sums(seed) for seed in range(START, START + 20 * FUZZ)}, ways)
    assert differing(found) == {}
    assert sum("refused" not in text for text in found[ways[0]].values()) >= 18 * FUZZ


def test_bits_depend_on_the_processor_without_it():
    levels = [way for way in HERE if way not in ("outside", "aarch64", "wasm")]
    if len(levels) < 2:
        pytest.skip("the processor has one level only")
    program = trainings(3)["perceptron"]
    assert len({digest(jitted(program, level, reproducible=False)) for level in levels}) > 1


def test_results_are_as_accurate():
    x = np.linspace(-4, 4, 1001, dtype=np.float32)
    for function in (snp.exp, snp.tanh, snp.sin, lambda x: snp.log(x + 5), lambda x: x @ x):
        found, usual = stagec.jit(function, reproducible=True)(x), stagec.jit(function)(x)
        np.testing.assert_allclose(np.asarray(found), np.asarray(usual), rtol=1e-5, atol=1e-6)


def test_subnormal_numbers_are_numbers_and_the_processor_is_left_as_it_was():
    tiny = np.array([1e-40, -3e-42, 1.5e-38], np.float32)
    found = stagec.jit(lambda x: x * np.float32(0.5), reproducible=True)(tiny)
    np.testing.assert_array_equal(np.asarray(found), tiny * np.float32(0.5))
    assert not np.asarray(stagec.jit(lambda x: x * np.float32(0.5))(tiny)).any()


def test_code_has_no_contraction():
    x = np.ones((40, 40), np.float32)
    jitted = stagec.jit(lambda a, b: snp.exp(a @ b) + a.sum(1), reproducible=True)
    text = jitted.lower(x, x).as_text("llvm")
    assert "fmul" in text and "contract" not in text and "fmuladd" not in text


def test_the_program_has_a_key_of_its_own():
    usual, same = (ProgramOptions(Target.parse("cpu"), reproducible=r).environment() for r in (False, True))
    assert usual != same


def test_files_hold_no_text_to_compile(tmp_path):
    exported = stagec.export(lambda x: x @ x, "cpu:x86-64-v2", reproducible=True)("f32[8,8]")
    exported.save(tmp_path / "square.stagec")
    x = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
    jitted = stagec.jit(lambda x: x @ x, reproducible=True)
    assert np.asarray(stagec.load(tmp_path / "square.stagec")(x)).tobytes() == np.asarray(jitted(x)).tobytes()
    newer = stagec.export(lambda x: x @ x, "vulkan", reproducible=True)("f32[8,8]")
    with pytest.raises(errors.UnsupportedError, match="no reproducible code in files"):
        newer.save(tmp_path / "other.stagec")


def refusal(function, *arguments, **options):
    with pytest.raises(errors.UnsupportedError) as found:
        stagec.jit(function, reproducible=True, **options)(*arguments)
    return str(found.value)


def test_refusals_name_the_line_and_the_fix():
    lowered = stagec.jit(lambda x: x + 1, target="cpu:riscv64", reproducible=True).lower(np.ones(3, np.float32))
    with pytest.raises(errors.UnsupportedError, match=r"the compiler's(.|\n)*to_c"):
        lowered.as_text("kernels")
    text = refusal(lambda x: x.sum(), np.ones(3, np.float32), dynamic={"x": "n"})
    assert "dimensions are open" in text


def test_calls_in_other_functions_are_reproducible_too():
    x = (np.arange(90 * 41, dtype=np.float32) * 37 % 101 / 101 - 0.5).reshape(90, 41)

    def results(level):
        def f(x):
            return snp.tanh(x @ x.T).sum(1) * snp.exp(-x[:, 0])

        jitted = stagec.jit(f, reproducible=True)
        with stagec.config.override(target=level):
            found = [
                jitted(x),
                stagec.jit(lambda x: jitted(x) + 0)(x),
                *stagec.jvp(lambda x: jitted(x), (x,), (x,)),
                stagec.grad(lambda x: jitted(x)[3])(x),
                stagec.vmap(jitted)(np.stack([x, -x])),
                lax.map(jitted, np.stack([x, -x])),
                stagec.jit(jitted, inline=True)(x),
                stagec.grad(lambda x: stagec.checkpoint(jitted)(x).sum())(x),
            ]
        return [np.asarray(array).tobytes() for array in found]

    first, *others = [results(f"cpu:{level}") for level in HERE if level.startswith("x86")]
    assert first[0] == first[1] and all(found == first for found in others)


def test_the_option_holds_outside_of_programs_too():
    x = (np.arange(130 * 41, dtype=np.float32) * 37 % 101 / 101 - 0.5).reshape(130, 41)

    def results(level, reproducible=True):
        with stagec.config.override(target=level, reproducible=reproducible):
            y = snp.array(x)
            found = [y @ y.T, snp.tanh(y), y.mean(0), snp.hypot(y, y), *snp.linalg.eigh(y.T @ y), y * y + y]
            found += [stagec.jit(lambda y: y @ y.T)(x), stagec.grad(lambda y: snp.exp(y).mean())(y)]
            found += [stagec.random.normal(stagec.random.key(1), (1000,)), (y[:2] * 1e-38) * y[:2]]
        return [np.asarray(array).tobytes() for array in found]

    first, *others = [results(f"cpu:{level}") for level in HERE if level.startswith("x86")]
    assert first[0] == first[7] and all(found == first for found in others)
    assert results("cpu", False) != first


def test_numpy_computes_nothing_meanwhile():
    with stagec.config.override(tiered=True, enable_cache=False):
        x = np.linspace(0, 1, 5000, dtype=np.float32)
        function = stagec.jit(lambda x: snp.exp(x).sum() + lax.cumsum(x)[-1], reproducible=True)
        assert np.asarray(function(x)).tobytes() == np.asarray(function(x)).tobytes()


def test_constants_do_not_depend_on_the_machine_that_compiles(tmp_path):
    """NumPy's own functions, and those of the C library, have other bits without vector instructions."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.reproducible.__main__ import digests\n"
        "from tests.reproducible.programs import program\n"
        "print(digests({seed: program(seed) for seed in range(6)}, 'x86-64-v2'))"
    )
    environment = {**os.environ, "STAGEC_CACHE": "0"}
    plain = {
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    }
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, root], capture_output=True, text=True, env=e, check=True
        )
        for e in (environment, {**environment, **plain})
    ]
    assert found[0].stdout == found[1].stdout and "refused" not in found[0].stdout
