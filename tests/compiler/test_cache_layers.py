"""Read-only directories in front of the disk cache: looked into in order, and left as they are."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import cache as cache_module
from stagec.compiler.cache import DiskCache, default_cache
from stagec.compiler.key import digest
from stagec.core.config import config
from stagec.core.errors import CacheWarning

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache_module.__file__))))
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
KEY = digest({"number": "1"})


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def filled(directory, payload=b"program"):
    DiskCache(directory, 1 << 20).put(KEY, {"number": "1"}, {}, payload)
    return directory


def everything(directory):
    """Names, contents, modes and times of all that is in a directory, and its own."""
    rows = {}
    for path in [directory, *sorted(directory.iterdir())]:
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        rows[path.name] = (content, status.st_mode, status.st_mtime_ns, status.st_ctime_ns)
    return rows


def test_the_first_layer_that_has_the_program_gives_it(tmp_path):
    layers = [tmp_path / "empty", filled(tmp_path / "a", b"a"), filled(tmp_path / "b", b"b")]
    cache = DiskCache(filled(tmp_path / "own", b"own"), 1 << 20, layers)
    assert cache.get(KEY).payload == b"a"
    assert [layer.info().hits for layer in cache.layers] == [0, 1, 0]
    assert (cache.hits, cache.misses) == (1, 0)
    assert DiskCache(tmp_path / "own", 1 << 20, layers[:1]).get(KEY).payload == b"own"


def test_a_layer_is_never_written_to(tmp_path):
    layer = filled(tmp_path / "layer")
    before = everything(layer)
    cache = DiskCache(tmp_path / "own", 3 * 8192, [layer])
    assert cache.get(KEY) is not None
    for number in range(2, 12):  # evicts
        cache.put(digest({"number": str(number)}), {"number": str(number)}, {}, bytes(5000))
    list(cache.entries())
    cache.info()
    cache.clear()
    assert cache.get(KEY) is not None
    assert everything(layer) == before
    assert not (tmp_path / "own" / os.path.basename(cache._path(KEY))).exists()


@posix
def test_a_layer_that_is_read_only_works(tmp_path):
    layer = filled(tmp_path / "layer")
    for path in layer.iterdir():
        path.chmod(0o444)
    layer.chmod(0o555)
    try:
        assert DiskCache(tmp_path / "own", 1 << 20, [layer]).get(KEY).payload == b"program"
    finally:
        layer.chmod(0o755)


@pytest.fixture
def open_directory():
    """A directory that other users can enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@as_root
def test_another_user_runs_from_a_layer_of_root_and_not_from_one_of_somebody_else(open_directory):
    root, foreign = filled(open_directory / "root"), filled(open_directory / "foreign")
    for layer in (root, foreign):
        for path in layer.iterdir():
            path.chmod(0o644)
        layer.chmod(0o755)
    for path in [foreign, *foreign.iterdir()]:
        os.chown(path, 4242, -1)
    code = (
        "import os, sys, warnings\n"
        "from stagec.compiler.cache import DiskCache\n"
        "os.setuid(4343)\n"
        "for layer in sys.argv[2:]:\n"
        "    with warnings.catch_warnings(record=True) as caught:\n"
        "        warnings.simplefilter('always')\n"
        "        found = DiskCache('/nowhere', 1 << 20, [layer]).get(sys.argv[1])\n"
        "    print(None if found is None else bytes(found.payload), [str(w.message).splitlines()[0] for w in caught])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, KEY, str(root), str(foreign)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.splitlines() == [
        "b'program' []",
        "None ['a cache layer is not used: its directory belongs to user 4242']",
    ], done.stderr


@posix
def test_what_others_may_write_to_is_skipped_with_a_warning(tmp_path):
    layer = filled(tmp_path / "layer")
    entry = layer / os.path.basename(DiskCache(layer, 1)._path(KEY))
    entry.chmod(0o666)
    cache = DiskCache(filled(tmp_path / "own", b"own"), 1 << 20, [layer])
    with pytest.warns(CacheWarning, match="skipped: other users may write to it") as caught:
        assert cache.get(KEY).payload == b"own"
    assert str(entry) in str(caught[0].message)
    entry.chmod(0o644)
    layer.chmod(0o777)
    with pytest.warns(CacheWarning, match="a cache layer is not used: every user may write to its directory"):
        assert cache.get(KEY).payload == b"own"
    assert cache.info().layers[0].refusal == "every user may write to its directory"


def test_a_damaged_entry_is_skipped_with_one_warning_and_stays(tmp_path):
    layer = filled(tmp_path / "layer")
    entry = layer / os.path.basename(DiskCache(layer, 1)._path(KEY))
    content = bytearray(entry.read_bytes())
    content[-1] ^= 1
    entry.write_bytes(content)
    cache = DiskCache(tmp_path / "own", 1 << 20, [layer, filled(tmp_path / "second", b"second")])
    with pytest.warns(CacheWarning, match="its payload does not match its checksum") as caught:
        assert cache.get(KEY).payload == b"second"
    assert cache.get(KEY).payload == b"second"
    assert len(caught) == 1
    assert entry.read_bytes() == bytes(content)


def test_a_layer_that_is_not_there_is_a_quiet_miss(tmp_path):
    cache = DiskCache(tmp_path / "own", 1 << 20, [tmp_path / "none"])
    assert cache.get(KEY) is None
    assert cache.info().layers[0].refusal == "there is no such directory"


def test_the_writable_directory_is_no_layer_of_itself_and_none_counts_twice(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20, [tmp_path, tmp_path / "a", tmp_path / "a"])
    assert [layer.directory for layer in cache.layers] == [str(tmp_path / "a")]


def test_the_option_is_a_path_list_or_a_sequence(tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    for value in (os.pathsep.join([a, "", b]), [a, b], (tmp_path / "a", tmp_path / "b")):
        with config.override(cache_layers=value):
            assert [layer.directory for layer in default_cache().layers] == [a, b]
    assert default_cache().layers == ()


def test_layers_serve_a_user_without_a_cache_directory(tmp_path, monkeypatch):
    import platformdirs

    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *a, **k: "~/.cache/stagec")
    with config.override(cache_dir="", cache_layers=str(filled(tmp_path / "layer"))):
        cache = default_cache()
        assert cache.get(KEY).payload == b"program"
        with pytest.warns(CacheWarning, match="this user has no cache directory"):
            assert cache.get(digest({})) is None
        assert cache.put(digest({}), {}, {}, b"") is None


def test_explain_tells_that_the_program_is_in_a_layer(tmp_path):
    function = stagec.jit(lambda x: x * 3 + 11)
    x = snp.ones(3)
    with config.override(cache_dir=str(tmp_path / "layer")):
        stagec.clear_caches()
        function(x)
    stagec.clear_caches()
    with config.override(cache_dir=str(tmp_path / "own"), cache_layers=str(tmp_path / "layer")):
        found = stagec.explain(function, x)
        assert found.status == "disk"
        assert f"entry, in a read-only layer: {tmp_path / 'layer'}" in str(found)
        function(x)
        assert not (tmp_path / "own").exists()
        missed = stagec.explain(function, snp.ones(4))
    assert missed.status == "miss"


PROGRAM = """
import json, sys, warnings
import numpy as np
import stagec, stagec.numpy as snp
warnings.simplefilter("error")
out = stagec.jit(lambda x: snp.tanh(x) * 2 + 1)(np.arange(5, dtype=np.float32))
print(json.dumps([np.asarray(out).tolist(), "iree.compiler" in sys.modules]))
"""


def test_the_environment_names_layers_and_a_process_runs_from_them(tmp_path):
    def run(**more):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env={**os.environ, **more}, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first, compiled = run(STAGEC_CACHE_DIR=str(tmp_path / "built"))
    assert compiled
    layers = os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "built")])
    second, compiled = run(STAGEC_CACHE_DIR=str(tmp_path / "own"), STAGEC_CACHE_LAYERS=layers)
    assert (second, compiled) == (first, False)
    assert not (tmp_path / "own").exists()
