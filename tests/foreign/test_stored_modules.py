"""Foreign modules in the disk cache: what a process finds there, it neither parses nor traces."""

import os
import pathlib
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest

import stagec
from stagec import errors
from stagec.core.config import config
from stagec.core.errors import CacheWarning

pytestmark = pytest.mark.usefixtures("untried")

FOLDER = pathlib.Path(__file__).parent / "modules"
X = np.arange(6, dtype=np.float32).reshape(2, 3)

TEXT = """
func.func @main(%x: tensor<2x3xf32>, %n: tensor<i64>) -> (tensor<2x3xf32>, tensor<i64>) {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  %1 = stablehlo.multiply %n, %n : tensor<i64>
  return %0, %1 : tensor<2x3xf32>, tensor<i64>
}"""


@pytest.fixture
def cache(tmp_path):
    """A cache directory of its own."""
    stagec.clear_caches()
    before = config.cache_dir
    config.update("cache_dir", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    config.update("cache_dir", before)
    stagec.clear_caches()


def is_parsed(function):
    return "_replay" in vars(function)


def again(module, *args, **kwargs):
    """A function as a later process imports it, and the results of a call."""
    stagec.clear_caches()
    function = stagec.from_stablehlo(module, **kwargs)
    return function, stagec.tree.leaves(function(*args))


def same(found, expected):
    return all(np.array_equal(np.asarray(a), b) and a.dtype == b.dtype for a, b in zip(found, expected, strict=True))


def test_a_module_is_parsed_once(cache):
    expected = [X + X, np.int64(9)]
    first, found = again(TEXT, X, np.int64(3))
    assert is_parsed(first) and same(found, expected)
    second, found = again(TEXT, X, np.int64(3))
    assert not is_parsed(second) and same(found, expected)
    assert second.in_types == first.in_types and second.out_types == first.out_types
    assert repr(second) == repr(first)
    assert stagec.tree.leaves(second.arguments()) == stagec.tree.leaves(first.arguments())


def test_arrays_of_stagec_find_the_program(cache):
    again(TEXT, X, np.int64(3))
    function, found = again(TEXT, stagec.numpy.asarray(X), 4)
    assert not is_parsed(function) and same(found, [X + X, np.int64(16)])


def test_a_later_process_imports_no_compiler(cache):
    arrays = np.load(FOLDER / "arrays.npz")
    parameters = dict(zip(("b", "w"), (arrays["loss/in0"], arrays["loss/in1"])))
    again(zlib.decompress((FOLDER / "loss.jax").read_bytes()), parameters, arrays["loss/in2"])
    script = """
import sys, zlib
import numpy as np, stagec
data = np.load(sys.argv[1] + "/arrays.npz")
function = stagec.from_stablehlo(zlib.decompress(open(sys.argv[1] + "/loss.jax", "rb").read()))
found = function(dict(zip(("b", "w"), (data["loss/in0"], data["loss/in1"]))), data["loss/in2"])
expected = [data["loss/out0"], data["loss/out1"]]
assert all(np.allclose(a, b) for a, b in zip(stagec.tree.leaves(found), expected, strict=True))
print(*sorted({"iree.compiler", "passes.bindings", "stagec.foreign.replay"} & set(sys.modules)))
"""
    env = {**os.environ, "STAGEC_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", script, FOLDER], env=env, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_a_changed_file_is_another_module(cache, tmp_path):
    path = tmp_path / "module.mlir"
    path.write_text(TEXT)
    again(path, X, np.int64(3))
    path.write_text(TEXT.replace("stablehlo.add", "stablehlo.subtract"))
    function, found = again(path, X, np.int64(3))
    assert is_parsed(function) and same(found, [X - X, np.int64(9)])


def test_a_file_that_changes_after_the_import_is_not_read_again(cache, tmp_path):
    path = tmp_path / "module.mlir"
    path.write_text(TEXT)
    again(path, X, np.int64(3))
    function, _ = again(path, X, np.int64(3))
    path.write_text("nothing")
    gradient = stagec.grad(lambda x: function(x, np.int64(2))[0].sum())(X)
    assert is_parsed(function) and np.array_equal(gradient, np.full_like(X, 2))


def test_other_functions_of_a_module_are_others(cache):
    text = TEXT + "\nfunc.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}"
    again(text, X, np.int64(3))
    function, found = again(text, X[0, :2], function="other")
    assert is_parsed(function) and same(found, [X[0, :2]])
    with pytest.raises(errors.ArtifactError, match="has no function 'none'"):
        stagec.from_stablehlo(text, function="none")


def test_wrong_arguments_are_refused_without_parsing(cache):
    again(TEXT, X, np.int64(3))
    function = stagec.from_stablehlo(TEXT)
    with pytest.raises(errors.ArgumentTypeError, match="arg0 does not have the type"):
        function(X.T, np.int64(3))
    assert not is_parsed(function)


def test_open_dimensions_are_programs_of_their_own(cache):
    text = TEXT.replace("2x3", "?x3")
    again(text, X, np.int64(3))
    function, found = again(text, X[:1], np.int64(3))
    assert is_parsed(function) and same(found, [2 * X[:1], np.int64(9)])
    function, found = again(text, X, np.int64(3))
    assert not is_parsed(function) and same(found, [X + X, np.int64(9)])


def test_other_options_compile_another_program(cache):
    again(TEXT, X, np.int64(3))
    config.update("fast_math", True)
    try:
        function, found = again(TEXT, X, np.int64(3))
    finally:
        config.update("fast_math", False)
    assert is_parsed(function) and same(found, [X + X, np.int64(9)])


def test_an_option_that_changes_is_obeyed(cache):
    again(TEXT, X, np.int64(3))
    function, _ = again(TEXT, X, np.int64(3))
    config.update("debug_nans", True)
    try:
        with pytest.raises(errors.NonFiniteError):
            function(np.full_like(X, np.nan), np.int64(3))
    finally:
        config.update("debug_nans", False)


def test_options_of_a_block_are_obeyed(cache):
    again(TEXT, X, np.int64(3))
    function, _ = again(TEXT, X, np.int64(3))
    with stagec.disable_jit():
        assert same(function(X, np.int64(3)), [X + X, np.int64(9)])
    assert is_parsed(function)


def test_calls_of_libraries_are_not_stored(cache):
    text = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}"""
    x = np.float32([[4, 2], [2, 5]])
    with config.override(host_libraries="always"):
        _, found = again(text, x)
    assert np.allclose(found[0], np.linalg.cholesky(x))
    _, found = again(text, x)
    assert np.allclose(found[0], np.linalg.cholesky(x))


def test_damaged_entries_are_compiled_again(cache):
    again(TEXT, X, np.int64(3))
    for path in cache.glob("*.stagec"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        function, found = again(TEXT, X, np.int64(3))
    assert is_parsed(function) and same(found, [X + X, np.int64(9)])


def test_nothing_is_stored_without_a_cache(tmp_path):
    config.update("enable_cache", False)
    try:
        again(TEXT, X, np.int64(3))
        function, found = again(TEXT, X, np.int64(3))
    finally:
        config.update("enable_cache", True)
    assert is_parsed(function) and same(found, [X + X, np.int64(9)])
