"""Which variant of a file runs, and what happens where none does."""

import json
import pathlib
import platform
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.api.load import open_artifact
from stagec.artifact import stored
from stagec.artifact.container import SectionTable, encode
from stagec.backends import cpu as targets
from stagec.errors import ArtifactError

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
X = np.arange(4, dtype=np.float32)

x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="compares x86-64 levels")


needs_vulkan = pytest.mark.usefixtures("vulkan")


def f(x):
    return snp.exp(x) + 1


def exported(*chosen):
    return stagec.export(f, chosen)(X).serialize()


def pretend(monkeypatch, level, without=()):
    """A machine with exactly the features of a level, but for some."""
    features = frozenset({"fpu", *targets._level_features(level)}) - set(without)
    monkeypatch.setattr(targets, "cpu_features", lambda: features)


def chosen_target(data):
    loaded = stagec.load(data)
    np.testing.assert_allclose(np.asarray(loaded(X)), np.exp(X) + 1, rtol=1e-6)
    (module,) = loaded.modules
    return module


LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3")


@x86
@pytest.mark.parametrize("level", LEVELS)
def test_the_best_level_that_the_machine_has_is_taken(monkeypatch, level):
    data = exported(*[f"cpu:{name}" for name in reversed(LEVELS)])
    if not set(targets._level_features(level)) <= targets.cpu_features():
        pytest.skip(f"this CPU is not {level}")
    pretend(monkeypatch, level)
    assert chosen_target(data) == (f"cpu:{level}", "file")


@x86
@pytest.mark.parametrize("missing", ["avx2", "fma", "movbe"])
def test_one_missing_feature_rules_a_variant_out(monkeypatch, missing):
    data = exported("cpu:x86-64-v3", "cpu:x86-64")
    pretend(monkeypatch, "x86-64-v4", without=[missing])
    assert chosen_target(data)[0] == "cpu:x86-64"


@x86
def test_further_features_count(monkeypatch):
    data = exported("cpu:x86-64-v2", "cpu:x86-64-v2+f16c")
    pretend(monkeypatch, "x86-64-v2")
    assert chosen_target(data)[0] == "cpu:x86-64-v2"
    if targets._level_features("x86-64-v3") <= targets.cpu_features():
        pretend(monkeypatch, "x86-64-v3")
        assert chosen_target(data)[0] == "cpu:x86-64-v2+f16c"


@x86
def test_code_for_v4_never_runs_without_it(monkeypatch):
    """Not even where the manifest does not name the features."""
    data = exported("cpu:x86-64-v4")
    opened = open_artifact(data)
    manifest = json.loads(json.dumps(opened.manifest))
    manifest["functions"]["f"][0]["variants"][0]["features"] = []
    table = SectionTable()
    for number in range(len(opened)):
        table.add(opened.section(number, ""))
    pretend(monkeypatch, "x86-64-v3")
    monkeypatch.setattr(stored.importlib.util, "find_spec", lambda name: None)
    for content in (data, b"".join(bytes(p) for p in encode(manifest, table))):
        with pytest.raises(ArtifactError) as caught:
            stagec.load(content)(X)
        text = str(caught.value)
        assert "holds no variant of f that cpu:0 can run" in text
        assert "needs avx512bw avx512cd avx512dq avx512f avx512vl" in text
        assert "cpu:x86-64-v3" in text and "this machine" in text
        assert "Fix: install stagec with its compiler here, or export" in text


def test_code_for_another_architecture_is_not_run(monkeypatch):
    other = "cpu:aarch64" if platform.machine() == "x86_64" else "cpu:x86-64"
    data = exported(other)
    monkeypatch.setattr(stored.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ArtifactError, match=f"{other}  needs {other[4:].replace('-', '.')}"):
        stagec.load(data)(X)


@pytest.mark.parametrize("only", ["cuda:sm_80", "cpu:aarch64"])
def test_where_no_variant_fits_the_stablehlo_is_compiled(only, tmp_path):
    if stagec.default_backend() != "cpu" or (only == "cpu:aarch64" and platform.machine() == "aarch64"):
        pytest.skip("there is a variant that fits")
    data = exported(only)
    with stagec.config.override(cache_dir=str(tmp_path)):
        assert chosen_target(data) == ("cpu", "compiled")
        assert chosen_target(data) == ("cpu", "disk")


def test_what_is_compiled_on_loading_keeps_donation_queue_and_weights(tmp_path):
    w = snp.asarray(np.full((300, 300), 0.01, np.float32))

    def step(state, x):
        return state + snp.tanh(x @ w @ w)

    x = np.full((300, 300), 0.01, np.float32)
    data = stagec.export(stagec.jit(step, donate_argnums=0), "cuda")(x, x).serialize()
    loaded = stagec.load(data, device="cpu")
    state = stagec.jit(lambda v: v * 1)(x)
    out = loaded(state, x)
    assert state.is_deleted()
    np.testing.assert_allclose(np.asarray(out), np.asarray(step(x, x)), rtol=1e-5)
    assert loaded._stored_programs()[0].code.variant.traits.driver == "local-task"


def test_own_passes_are_in_the_stablehlo_of_the_file(tmp_path):
    @stagec.pattern("stablehlo.sine")
    def sine_is_identity(op):
        """sin(x) -> x. Inexact, and chosen so that it shows."""
        return op.operands[0]

    jitted = stagec.jit(lambda x: snp.sin(x) + 1, passes=[sine_is_identity])
    data = stagec.export(jitted, "cuda")(X).serialize()
    np.testing.assert_array_equal(np.asarray(stagec.load(data, device="cpu")(X)), X + 1)


@needs_vulkan
def test_the_device_decides_between_variants():
    data = exported("cpu", "vulkan", "cuda")
    loaded = stagec.load(data)
    on_cpu, on_gpu = loaded(X), loaded(stagec.device_put(X, "vulkan"))
    assert (on_cpu.device.platform, on_cpu.committed) == ("cpu", False)
    assert (on_gpu.device.platform, on_gpu.committed) == ("vulkan", True)
    for out in (on_cpu, on_gpu, loaded(stagec.device_put(X, "vulkan"))):
        np.testing.assert_allclose(np.asarray(out), np.exp(X) + 1, rtol=1e-5)
    assert stagec.load(data, device="vulkan")(X).device.platform == "vulkan"
    with stagec.default_device("vulkan"):
        assert stagec.load(data)(X).device.platform == "vulkan"


@needs_vulkan
def test_a_file_for_vulkan_alone_runs_there_without_being_asked(monkeypatch):
    # Stands for a GPU, if it is software; made before it does.
    gpu = stagec.devices("vulkan")[0]
    gpu.hal_device()
    monkeypatch.setattr(type(gpu), "_is_software", lambda device: False)
    out = stagec.load(exported("vulkan"))(X)
    assert out.device.platform == "vulkan"
    np.testing.assert_allclose(np.asarray(out), np.exp(X) + 1, rtol=1e-5)


@needs_vulkan
def test_a_file_for_vulkan_alone_does_not_run_on_software_without_being_asked(monkeypatch):
    monkeypatch.setattr(type(stagec.devices("vulkan")[0]), "_is_software", lambda device: True)
    data = exported("vulkan")
    assert stagec.load(data)(X).device.platform == "cpu"
    assert stagec.load(data, device="vulkan")(X).device.platform == "vulkan"


@needs_vulkan
def test_weights_go_to_the_device_once():
    w = snp.asarray(np.eye(40, dtype=np.float32))
    data = stagec.export(lambda x: x @ w, "vulkan")(SPEC := np.ones((2, 40), np.float32)).serialize()
    loaded = stagec.load(data, device="vulkan")
    first = loaded(SPEC)
    (program,) = [p for p in [*loaded._stored_programs(), *loaded._elsewhere.values()] if p.device.platform == "vulkan"]
    hidden = program.hidden[0]
    np.testing.assert_array_equal(np.asarray(loaded(SPEC)), np.asarray(first))
    assert program.hidden[0] is hidden and hidden.device.platform == "vulkan"


# IREE's own tool.


def iree_run_module():
    found = shutil.which("iree-run-module", path=sysconfig.get_path("scripts")) or shutil.which("iree-run-module")
    if found is None:
        pytest.skip("iree-run-module is not installed")
    return found


@pytest.mark.parametrize("size", [4, 300])
def test_a_module_runs_without_python(tmp_path, size):
    """`local-sync` and `local-task`, with weights and a second argument."""
    w = snp.asarray(np.linspace(-0.01, 0.01, size * size, dtype=np.float32).reshape(size, size))

    def g(x, b):
        return snp.tanh(x @ w) @ w + b

    x, b = np.full((size, size), 0.5, np.float32), np.arange(size, dtype=np.float32)
    target = targets.portable_host()
    stagec.export(g, target)(x, b).save(tmp_path / "g.stagec")
    command = [sys.executable, "-m", "stagec", "inspect", "g.stagec", "--extract", target, "-o", "g.vmfb"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "b.npy", b)
    words = " ".join(line for line in done.stdout.splitlines() if not line.startswith("#")).replace("\\", "").split()
    assert words[0] == "iree-run-module"
    ran = subprocess.run(
        [iree_run_module(), *words[1:], "--output=@y.npy"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), np.asarray(stagec.jit(g)(x, b)), rtol=1e-5, atol=1e-6)
    assert ("packed" in done.stdout) == (size > 4)
