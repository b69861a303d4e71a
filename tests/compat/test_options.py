"""`jax.config`: JAX's options here."""

import ast
import os
import pathlib
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

import stagec
from stagec.compat import options
from stagec.errors import UnsupportedError

ROOT = pathlib.Path(__file__).resolve().parents[2]

with stagec.compat.jax():
    import jax
    from jax._src import config as internal


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(options.config, "_held", dict(options.HELD))
    before = dict(stagec.config._values)
    yield
    for name, value in before.items():
        if stagec.config._values[name] != value:
            stagec.config.update(name, value)


def run(code, *arguments, **environment):
    kept = {name: text for name, text in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**kept, **environment})


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_the_options_and_their_defaults_are_those_of_jax():
    done = run("import jax; print(jax.__version__, jax.config.values, sep='|')")
    version, _, text = done.stdout.partition("|")
    if version != stagec.compat.VERSION:
        pytest.skip("another version of JAX")
    theirs = ast.literal_eval(re.sub(r"<\w+\.\w+: ([^>]+)>", r"\1", text))
    assert set(theirs) == {*options.EFFECTIVE, *options.HELD}
    assert {n: v for n, v in options.HELD.items() if theirs[n] != v} == {"jax_explicit_x64_dtypes": "warn"}


def test_an_option_that_means_something_here_does_it():
    wanted = {
        "jax_enable_x64": (True, {"enable_x64": True}),
        "jax_log_compiles": (True, {"log": "compile"}),
        "jax_compilation_cache_dir": ("/tmp/x", {"cache_dir": "/tmp/x"}),
        "jax_compilation_cache_max_size": (-1, {"cache_max_bytes": sys.maxsize}),
        "jax_enable_compilation_cache": (False, {"enable_cache": False}),
        "jax_traceback_filtering": ("off", {"full_tracebacks": True}),
        "jax_platform_name": ("cpu", {"platforms": "cpu"}),
        "jax_dump_ir_to": ("/tmp/x", {"dump": "/tmp/x"}),
        "jax_numpy_rank_promotion": ("raise", {"numpy_rank_promotion": "raise"}),
    }
    for name, (value, here) in wanted.items():
        before = jax.config.read(name)
        jax.config.update(name, value)
        assert {n: getattr(stagec.config, n) for n in here} == here
        assert getattr(jax.config, name) == (sys.maxsize if value == -1 else value)
        jax.config.update(name, before)
        assert jax.config.read(name) == before, name
    assert not jax.config.x64_enabled
    with stagec.enable_x64():
        assert jax.config.x64_enabled and internal.enable_x64.value
    with internal.enable_x64(True):
        assert stagec.numpy.arange(3.0).dtype == "float64"
    jax.config.jax_enable_x64 = True
    assert stagec.config.enable_x64


def test_the_others_hold_what_they_are_given():
    assert jax.config.jax_pgle_profiling_runs == 3
    jax.config.update("jax_pgle_profiling_runs", 2)
    assert jax.config.jax_pgle_profiling_runs == jax.config.values["jax_pgle_profiling_runs"] == 2

    @jax.enable_checks(True)
    def inside():
        with jax.transfer_guard("disallow"):
            return jax.config.jax_enable_checks, jax.config.jax_transfer_guard

    assert inside() == (True, "disallow")
    assert (jax.config.jax_enable_checks, jax.config.jax_transfer_guard) == (False, None)
    assert jax.threefry_partitionable.value is True


def test_what_would_change_results_is_refused():
    for set_it in (jax.default_prng_impl, lambda value: jax.config.update("jax_default_prng_impl", value)):
        set_it("threefry2x32")
        with pytest.raises(UnsupportedError, match="jax_default_prng_impl='rbg'; stagec has one generator"):
            set_it("rbg")


def test_unknown_names_are_errors():
    for act in (lambda: jax.config.update("jax_no_such", 1), lambda: jax.config.read("jax_no_such")):
        with pytest.raises(AttributeError, match="unknown option 'no_such'"):
            act()
    with pytest.raises(AttributeError, match="no option jax_no_such"):
        internal.no_such  # noqa: B018


def test_the_environment_of_jax_counts_when_stagec_is_installed():
    code = "import stagec; stagec.compat.install(); import jax; print(jax.config.x64_enabled, jax.config.jax_scan3)"
    done = run(code, JAX_ENABLE_X64="1", JAX_SCAN3="True", JAX_PLATFORMS="cpu")
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert "JAX_PGLE_PROFILING_RUNS=many: not a value of type int" in run(code, JAX_PGLE_PROFILING_RUNS="many").stderr


@pytest.mark.parametrize(
    "given", [{"JAX_NUM_CPU_DEVICES": "3"}, {"XLA_FLAGS": "--a=1 --xla_force_host_platform_device_count=3"}]
)
def test_the_environment_divides_the_cpu(given):
    code = (
        "import stagec; stagec.compat.install(); import jax; print(len(jax.devices()), jax.config.jax_num_cpu_devices)"
    )
    assert run(code, **given).stdout.split() == ["3", "3"]


def test_flags_of_xla_count_until_devices_are_listed():
    code = (
        "import os, stagec; stagec.compat.install(); import jax, jax.numpy as jnp; jnp.ones(2);"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'; print(jax.device_count());"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=3'; print(jax.device_count())"
    )
    assert run(code).stdout.split() == ["2", "2"]


@pytest.mark.skipif(find_spec("absl") is None, reason="absl is not installed")
def test_flags_of_the_command_line_set_options():
    code = (
        "import stagec; stagec.compat.install(); import jax; jax.config.parse_flags_with_absl();"
        "jax.config.parse_flags_with_absl(); print(jax.config.x64_enabled, jax.config.jax_num_cpu_devices)"
    )
    done = run(code, "--other", "--jax_enable_x64", "--jax_num_cpu_devices=3", "--", "--jax_num_cpu_devices=4")
    assert done.stdout.split() == ["True", "3"], done.stderr


def test_the_page_says_what_each_option_does():
    text = (ROOT / "docs/how-to/run-jax-code.md").read_text().partition("## Options")[2].partition("\n## ")[0]
    table, _, rest = text.partition("\n\nThe others")
    assert set(re.findall(r"`(jax_\w+)`", table)) == set(options.EFFECTIVE)
    assert set(re.findall(r"`(\w+)`", rest)) == set(options.HELD)
    for name, same in options.EFFECTIVE.items():
        row = next(line for line in table.splitlines() if f"`{name}`" in line)
        assert f"`{same.name}`" in row


def test_the_folder_of_compiled_programs_is_chosen_by_a_function(tmp_path, monkeypatch):
    with stagec.compat.jax():
        from jax.experimental.compilation_cache import compilation_cache
    before = stagec.config.cache_dir
    compilation_cache.set_cache_dir(tmp_path / "programs")
    try:
        compilation_cache.reset_cache()
        assert float(stagec.jit(lambda x: 3 * x + 0.125)(1.0)) == 3.125
        assert stagec.config.cache_dir == str(tmp_path / "programs") and any((tmp_path / "programs").iterdir())
    finally:
        stagec.config.update("cache_dir", before)
