"""Targets: parsing, suggestions, what enters the cache key. None of this loads the compiler."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from passes.kernels.processor import Processor
from stagec.backends import BACKENDS, Target, cpu as targets, host
from stagec.backends.cpu import cpu_features, cpu_levels
from stagec.core.errors import DeviceError, TargetError
from stagec.runtime import device

KNOWN = [name for backend in BACKENDS.values() for name in backend.known()]


@pytest.mark.parametrize("text", [*KNOWN, "cpu:x86-64-v3+avx512f+gfni", "cuda:sm_90", "cuda:sm_121"])
def test_a_target_reads_back_from_its_own_description(text):
    assert Target.parse(text) == Target.parse(str(Target.parse(text)))
    assert str(Target.parse(text)) == text


def test_a_target_is_hashable_and_frozen():
    target = Target.parse("cpu")
    assert {target: 1}[Target.parse(" CPU ")] == 1
    with pytest.raises(AttributeError):
        target.arch = "generic"


def test_short_forms_mean_the_defaults():
    assert str(Target.parse("cuda")) == "cuda:sm_80"
    assert str(Target.parse("vulkan")) == "vulkan:portable"
    assert Target.parse("cuda:ada") == Target.parse("cuda:sm_89")
    assert str(Target.parse("rocm")) == "rocm:gfx942"
    assert Target.parse("rocm:mi300x") == Target.parse("rocm:gfx942")
    assert Target.parse("cpu:host") == Target.parse("cpu")


def test_feature_order_does_not_make_another_target():
    assert Target.parse("cpu:x86-64-v3+gfni+aes") == Target.parse("cpu:x86-64-v3+aes+gfni+aes")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("sm_80", "sm_80"), ("sm_86", "sm_86"), ("sm_90", "sm_89"), ("sm_90a", "sm_89"), ("sm_103", "sm_89")]
    + [("sm_120", "sm_120"), ("sm_121", "sm_120"), ("hopper", "sm_89")],
)
def test_new_cuda_cards_get_the_newest_code_that_they_can_run(text, expected):
    target = Target.parse(f"cuda:{text}")
    assert target.compiled_arch == expected
    if target.arch != expected:
        assert target.contributors()["target compiled as"] == expected


@pytest.mark.parametrize(
    ("text", "named", "suggested"),
    [
        ("cpuu", "'cpuu'", "'cpu'"),
        ("cpu:x86-64-v5", "'x86-64-v5'", "'x86-64-v4'"),
        ("vulkan:amper", "'amper'", "'ampere'"),
        ("cuda:sm_8", "'sm_8'", "'sm_8"),
        ("cuda:sm_52", "'sm_52'", "'sm_62'"),
        ("cuda:sm_999", "'sm_999'", "sm_NN"),
        ("rocm:gfx940", "'gfx940'", "'gfx942'"),
        ("rocm:sm_80", "'sm_80'", "'rocm' means gfx942"),
        ("cpu:x86-64-v3+avx512", "'avx512'", "'avx512f'"),
        ("cpu:generic+avx2", "'avx2'", "x86-64"),
        ("cpu:x86-64-v3+", "''", "avx2"),
        ("", "''", "'cpu'"),
        ("cuda:--iree-x", "'--iree-x'", "sm_NN"),
    ],
)
def test_an_unknown_target_names_the_word_and_what_was_meant(text, named, suggested):
    with pytest.raises(TargetError) as caught:
        Target.parse(text)
    headline, *_, fix = str(caught.value).split("\n")
    assert headline.startswith(named)
    assert fix.startswith("  Fix: ") and suggested in fix


def test_something_else_than_text_is_refused():
    with pytest.raises(TargetError, match="not int"):
        Target.parse(3)


@given(st.text(max_size=20), st.sampled_from(["", "cpu:", "vulkan:", "cuda:", "rocm:"]))
def test_any_text_is_a_target_or_a_target_error(text, backend):
    try:
        target = Target.parse(backend + text)
    except TargetError:
        return
    assert Target.parse(str(target)) == target


def test_the_key_of_the_host_holds_its_model_and_every_feature():
    parts = Target.parse("cpu").contributors()
    assert parts["cpu features"].split() == sorted(cpu_features())
    assert parts["cpu model"]
    assert all(isinstance(value, str) for value in parts.values())


def test_the_key_of_a_fixed_level_does_not_depend_on_this_machine(monkeypatch):
    before = Target.parse("cpu:x86-64-v3").contributors()
    monkeypatch.setattr(targets, "cpu_features", lambda: frozenset({"other"}))
    assert Target.parse("cpu:x86-64-v3").contributors() == before
    assert Target.parse("cpu").contributors()["cpu features"] == "other"


def test_a_machine_without_the_features_is_told_which_are_missing(monkeypatch):
    v2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3", "pni"})
    monkeypatch.setattr(targets, "cpu_features", lambda: v2)
    monkeypatch.setattr(host, "machine", lambda: "x86_64")
    assert cpu_levels() == ("x86-64", "x86-64-v2")
    assert not Target.parse("cpu:x86-64-v2+sse3").missing_here()
    assert {"avx2", "fma"} <= Target.parse("cpu:x86-64-v3").missing_here()
    assert Target.parse("cpu:x86-64-v2+gfni").missing_here() == {"gfni"}
    assert Target.parse("cpu:aarch64").missing_here() == {"aarch64"}
    assert not Target.parse("cpu").missing_here()


@pytest.fixture
def without_proc(monkeypatch):
    """Makes the processor known from a table of NumPy's alone, as on Windows and macOS."""

    def use(table):
        monkeypatch.setattr(host, "_cpuinfo", dict)
        monkeypatch.setattr(host, "_numpy_table", lambda: table)
        monkeypatch.setattr(host, "machine", lambda: "x86_64")
        monkeypatch.setattr(targets, "cpu_features", host.cpu_features.__wrapped__)

    return use


_V2 = dict.fromkeys("MMX SSE SSE2 SSE3 SSSE3 SSE41 POPCNT SSE42".split(), True)
_V3 = {**_V2, **dict.fromkeys("AVX F16C FMA3 AVX2".split(), True)}
_V4 = {**_V3, **dict.fromkeys("AVX512F AVX512CD AVX512_SKX AVX512VL AVX512BW AVX512DQ AVX512BF16".split(), True)}
_HASWELL = dict.fromkeys("LAHF CX16 MOVBE BMI BMI2 LZCNT".split(), True)


@pytest.mark.parametrize(
    "table, level",
    [
        ({}, "x86-64"),
        ({**_V2, "AVX2": False}, "x86-64-v2"),
        (_V3, "x86-64-v3"),
        ({**_V3, **_HASWELL, "X86_V3": True}, "x86-64-v3"),
        ({**_V3, **_HASWELL, "LZCNT": False}, "x86-64-v2"),
        ({**_V3, "FMA3": False}, "x86-64-v2"),
        (_V4, "x86-64-v4"),
    ],
)
def test_without_proc_the_level_is_that_of_the_table_of_numpy(table, level, without_proc):
    without_proc(table)
    assert cpu_levels()[-1] == level
    assert targets.portable_host() == f"cpu:{level}"


def test_features_that_numpy_spells_differently_are_known(without_proc):
    without_proc(_V4)
    assert not Target.parse("cpu:x86-64-v4+avx512bf16+sse3+lzcnt+bmi").missing_here()
    assert Target.parse("cpu:x86-64-v4+avx512vnni+amx-tile").missing_here() == {"avx512_vnni", "amx_tile"}
    assert Processor.of("x86_64", targets.cpu_features()) == Processor.of(
        "x86_64", Target.parse("cpu:x86-64-v4+avx512bf16").required_features()
    )


@pytest.mark.skipif(
    host.machine() != "x86_64" or not os.path.exists("/proc/cpuinfo"), reason="this is not Linux on x86-64"
)
def test_numpy_and_linux_know_the_same_processor(monkeypatch):
    levels, listed = cpu_levels(), cpu_features()
    found = host._features_of(host._numpy_table())
    assert found <= listed
    monkeypatch.setattr(targets, "cpu_features", lambda: found)
    assert cpu_levels() == levels


def test_targets_and_the_driver_do_not_load_the_compiler():
    code = (
        "import sys, stagec.compiler.driver, stagec.compiler.stages, stagec.backends as t;"
        "t.Target.parse('cpu').contributors();"
        "assert not [m for m in sys.modules if m.startswith(('iree', 'rich'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_target_does_not_blame_an_option_that_was_not_used():
    with pytest.raises(TargetError, match="a `target` or `targets` argument, or STAGEC_TARGET"):
        Target.parse("cpu:x86-64-v9")


def test_the_runtime_has_the_drivers_of_every_backend():
    """`stagec doctor` lists these drivers with their devices."""
    known = set(device.binding().HalDriver.query())
    assert {queue for backend in BACKENDS.values() for queue in backend.queues} <= known


class AmdDevice:
    """What the runtime's driver says of a device."""

    id = 0
    device_kind = "AMD Instinct MI300X"

    def __init__(self, architecture):
        self._architecture = architecture

    @property
    def architecture(self):
        return BACKENDS["rocm"].architecture(self)

    def info(self):
        return f"- amdhip64_dylib_path: libamdhip64.so\n- gpu-arch-name: {self._architecture}\n"


def test_an_amd_device_runs_code_for_its_own_architecture_only():
    found = AmdDevice("gfx90a:sramecc+:xnack-")
    assert found.architecture == "gfx90a"
    assert BACKENDS["rocm"].rank(Target.parse("rocm:gfx90a"), found) == 1
    assert BACKENDS["rocm"].rank(Target.parse("rocm:gfx942"), found) == -1


def test_an_amd_device_that_the_compiler_does_not_know_is_sent_to_vulkan():
    with pytest.raises(DeviceError) as caught:
        AmdDevice("gfx1030").architecture  # noqa: B018
    headline, *_, known, fix = str(caught.value).splitlines()
    assert headline == "the compiler has no code for AMD Instinct MI300X: its architecture is gfx1030"
    assert "gfx1100" in known
    assert fix == "  Fix: run on it by Vulkan: device='vulkan'"
