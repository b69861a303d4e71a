import contextlib
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import stagec
from stagec.core.config import Config, config, state
from stagec.core.option_blocks import disable_jit, enable_x64


def test_an_override_ends_with_its_block():
    with config.override(enable_x64=True, fast_math=True):
        assert (config.enable_x64, config.fast_math) == (True, True)
        with enable_x64(False):
            assert (config.enable_x64, config.fast_math) == (False, True)
        assert config.enable_x64
    assert (config.enable_x64, config.fast_math) == (False, False)


def test_an_override_ends_when_its_block_raises():
    with pytest.raises(RuntimeError), config.override(fast_math=True):
        raise RuntimeError
    assert not config.fast_math
    assert state.plain


def test_an_override_is_not_seen_by_other_threads():
    seen = []
    with enable_x64():
        thread = threading.Thread(target=lambda: seen.append(config.enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_an_override_leaves_the_plain_path():
    assert state.plain
    with disable_jit():
        assert not state.plain
    assert state.plain


def test_an_update_is_seen_by_all_threads_and_listeners():
    options, heard, seen = Config(), [], []
    options.on_update(lambda: heard.append(options.fast_math))
    options.update("fast_math", True)
    thread = threading.Thread(target=lambda: seen.append(options.fast_math))
    thread.start()
    thread.join()
    assert (heard, seen) == ([True], [True])


def test_an_attribute_can_be_assigned_and_jax_prefix_is_accepted():
    options = Config()
    options.fast_math = True
    options.update("jax_enable_x64", True)
    assert (options.fast_math, options.enable_x64) == (True, True)


@pytest.mark.parametrize(
    "use",
    [
        lambda options: options.nonsense,
        lambda options: options.update("nonsense", 1),
        lambda options: options.override(nonsense=1).__enter__(),
    ],
    ids=["read", "update", "override"],
)
def test_an_unknown_option_is_refused_with_the_list_of_options(use):
    with pytest.raises(AttributeError, match=r"unknown option 'nonsense'; options are enable_x64, "):
        use(Config())


def test_options_that_change_programs_are_in_the_trace_key():
    plain = config.trace_key()
    for name in ("enable_x64", "fast_math", "disable_jit"):
        with config.override(**{name: True}):
            assert config.trace_key() != plain, name
    with config.override(log="cache"):
        assert config.trace_key() == plain


def test_an_update_inside_of_an_override_does_not_make_it_last():
    options = Config()
    plain = options.trace_key()
    with enable_x64():
        options.update("log", "cache")
    assert options.trace_key() == plain


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60
    )


def test_the_environment_is_read_once_at_import():
    code = "from stagec.core.config import config; print(config.enable_x64, config.cache_max_bytes, config.fast_math)"
    done = run(code, STAGEC_ENABLE_X64="1", STAGEC_CACHE_MAX_BYTES="123", STAGEC_FAST_MATH="off")
    assert done.stdout.split() == ["True", "123", "False"], done.stderr


def test_a_bad_value_in_the_environment_names_the_variable():
    code = "from stagec.core.config import config; print(repr(config)); config.cache_max_bytes"
    done = run(code, STAGEC_CACHE_MAX_BYTES="lots")
    assert (
        "ValueError: STAGEC_CACHE_MAX_BYTES=lots: 'lots' is not a whole number\n  Fix: correct or unset" in done.stderr
    )
    assert "cache_max_bytes=" in done.stdout


def test_a_bad_value_that_programs_depend_on_is_told_by_the_first_call():
    done = run("import stagec; stagec.jit(lambda x: x)(1)", STAGEC_CAPTURED_CONSTANT_BYTES="few")
    assert "STAGEC_CAPTURED_CONSTANT_BYTES=few: 'few' is not a whole number" in done.stderr


def test_an_option_can_be_corrected_in_the_program():
    code = "from stagec.core.config import config; config.cache_max_bytes = 9; print(config.cache_max_bytes)"
    assert run(code, STAGEC_CACHE_MAX_BYTES="lots").stdout == "9\n"


def test_unknown_kinds_of_events_are_refused():
    kinds = r"kinds are trace, lower, compile, cache, tier and all"
    done = run("import stagec; stagec.jit(lambda x: x)(1)", STAGEC_LOG="nope")
    assert f"STAGEC_LOG=nope: 'nope' is no kind of event; {kinds}" in done.stderr
    with pytest.raises(ValueError, match=kinds):
        Config().update("log", "compile, nope")
    with pytest.raises(ValueError, match=kinds), config.override(log="nope"):
        raise AssertionError("the block does not run")


def test_text_is_read_as_in_the_environment():
    options = Config()
    options.update("fast_math", "off")
    options.update("cache_max_bytes", "12")
    assert (options.fast_math, options.cache_max_bytes) == (False, 12)


@pytest.mark.parametrize(
    ("name", "value", "meaning"),
    [
        ("enable_x64", None, "'None' is not one of 0, 1"),
        ("enable_x64", "maybe", "'maybe' is not one of 0, 1"),
        ("enable_x64", np.bool_(True), True),
        ("enable_x64", 0, False),
        ("loop_checkpoint_bytes", None, "'None' is not a whole number"),
        ("loop_checkpoint_bytes", np.int64(9), 9),
        ("host_libraries", True, "'True' is not one of auto, always, never"),
        ("numpy_rank_promotion", 1, "'1' is not one of allow, warn, raise"),
        ("tiered", 3, "'3' is not one of 0, 1, exact, auto"),
        ("tiered", None, None),
        ("target", None, "cpu"),
        ("cache_dir", pathlib.Path("a", "b"), os.path.join("a", "b")),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(name, value, meaning):
    if isinstance(meaning, str) and meaning.startswith("'"):
        with pytest.raises(ValueError, match=f"option {name}: {meaning}"), config.override(**{name: value}):
            raise AssertionError("the block does not run")
    else:
        with config.override(**{name: value}):
            assert (getattr(config, name), type(getattr(config, name))) == (meaning, type(meaning))


def test_blocks_with_the_same_options_share_fast_paths(monkeypatch):
    f, x = stagec.jit(lambda x, *others: [v / 3 for v in (x, *others)]), (2.0, 5, np.ones(2), np.float64(-0.0))
    blocks = [stagec.enable_x64, lambda: config.override(target="cpu:x86-64"), contextlib.nullcontext]
    expected = []
    for block in blocks:
        with block():
            expected.append(f(*x))
    assert [[v.dtype.itemsize for v in found] for found in expected] == [[8] * 4, [4] * 4, [4] * 4]

    def slowly(*args):
        raise AssertionError("the call is traced or looked up again")

    with monkeypatch.context() as patched:
        patched.setattr(type(f), "_call", slowly)
        for block, before in zip(blocks * 2, expected * 2):
            with block():
                assert str(f(*x)) == str(before)
        with stagec.default_matmul_precision("highest"), pytest.raises(AssertionError, match="traced or looked up"):
            f(*x)
        with stagec.enable_x64():
            config.update("log", "")
            with pytest.raises(AssertionError, match="traced or looked up"):
                f(*x)
    with stagec.disable_jit():
        assert f(*x)[:2] == [2.0 / 3, 5 / 3]


def test_callbacks_of_constants_are_called_once_for_each_call():
    seen = []
    f = stagec.jit(
        lambda: stagec.pure_callback(lambda: seen.append(1) or np.ones(0), stagec.ShapeDtypeStruct((0,), float))
    )
    for block in (contextlib.nullcontext, enable_x64, enable_x64):
        with block():
            f()
    assert len(seen) == 3


def test_what_follows_from_options_is_learned_again_when_one_changes():
    with config.override(log=""):
        key = config.trace_key()
        assert not config.checks_values()
        try:
            config.update("enable_x64", True)
            config.update("debug_nans", True)
            assert config.checks_values() and config.trace_key() != key
        finally:
            config.update("enable_x64", False)
            config.update("debug_nans", False)
