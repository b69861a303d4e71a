"""The remote cache: read through fsspec, checked, kept on disk, written where that is allowed, and never in the way."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import cache_remote, log
from stagec.compiler.cache import DiskCache, default_cache
from stagec.compiler.cache_remote import Remote
from stagec.compiler.key import digest
from stagec.core.errors import CacheWarning

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install '.[remote]'")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(stagec.__file__)))
CONTRIBUTORS = {"number": "1"}
KEY = digest(CONTRIBUTORS)
SECRET = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(params=["memory", "file", "path"])
def url(request, tmp_path):
    yield {"memory": "memory://bucket/stagec", "file": f"file://{tmp_path}/far", "path": f"{tmp_path}/far/"}[
        request.param
    ]
    fsspec.filesystem("memory").store.clear()


def filled(url, payload=b"program", key=""):
    """Have one process compile and store a program."""
    cache = DiskCache("/nowhere", 1 << 20, (), Remote(url, True, key))
    cache.send(KEY, CONTRIBUTORS, {"flags": "fast"}, payload)
    return url


def files(url):
    """A mapping of names to contents."""
    return fsspec.get_mapper(url)


def test_what_one_machine_stores_another_one_finds_and_keeps(url, tmp_path):
    cache = DiskCache(tmp_path / "own", 1 << 20, (), Remote(filled(url)))
    assert cache.get(KEY) is None
    entry = cache.get_made(KEY)
    assert (bytes(entry.payload), entry.meta, entry.contributors) == (b"program", {"flags": "fast"}, CONTRIBUTORS)
    files(url).clear()
    assert bytes(DiskCache(tmp_path / "own", 1 << 20).get(KEY).payload) == b"program"


def test_what_nobody_stored_is_a_quiet_miss(url, tmp_path):
    assert DiskCache(tmp_path, 1 << 20, (), Remote(url)).get_made(KEY) is None
    assert DiskCache(tmp_path, 1 << 20, (), Remote(filled(url))).get_made(digest({})) is None


def test_without_permission_nothing_is_written(url):
    DiskCache("/nowhere", 1 << 20, (), Remote(url)).send(KEY, CONTRIBUTORS, {}, b"program")
    assert list(files(url)) == []


def test_a_file_is_whole_or_not_there(tmp_path):
    assert list(files(filled(f"file://{tmp_path}/far"))) == [f"{KEY}.stagec"]


@pytest.mark.parametrize("key", ["", SECRET], ids=["unsigned", "signed"])
def test_every_changed_byte_is_noticed(url, tmp_path, key):
    stored = files(filled(url, key=key))
    (name,) = stored
    sound = stored[name]
    for place in [0, 9, 20, 50, 90, 200, 4096, len(sound) - 40, len(sound) - 1]:
        content = bytearray(sound)
        content[place] ^= 1
        stored[name] = bytes(content)
        with pytest.warns(CacheWarning, match="an entry of the remote cache is skipped") as caught:
            assert DiskCache(tmp_path, 1 << 20, (), Remote(url, key=key)).get_made(KEY) is None
        assert len(caught) == 1
    for part in (b"", sound[:50], sound[:-1], sound + b"\0"):
        stored[name] = part
        with pytest.warns(CacheWarning, match="an entry of the remote cache is skipped"):
            assert DiskCache(tmp_path, 1 << 20, (), Remote(url, key=key)).get_made(KEY) is None
    assert list(tmp_path.glob("*.stagec")) == []


def test_an_entry_under_another_name_is_not_taken(url, tmp_path):
    stored = files(filled(url))
    other = digest({"number": "2"})
    stored[f"{other}.stagec"] = stored[f"{KEY}.stagec"]
    with pytest.warns(CacheWarning, match="it holds another key"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote(url)).get_made(other) is None


def test_with_a_key_only_entries_signed_with_it_are_taken(url, tmp_path):
    """Whoever may write to the place, but has no key, cannot have code run."""
    filled(url, b"unsigned")
    reader = DiskCache(tmp_path, 1 << 20, (), Remote(url, key=SECRET))
    assert reader.get_made(KEY) is None
    stored = files(url)
    stored[f"{KEY}.signed"] = stored[f"{KEY}.stagec"]
    with pytest.warns(CacheWarning, match="its signature is not of STAGEC_CACHE_REMOTE_KEY"):
        assert reader.get_made(KEY) is None
    filled(url, b"by somebody else", key=SECRET[::-1])
    with pytest.warns(CacheWarning, match="its signature"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote(url, key=SECRET)).get_made(KEY) is None
    filled(url, b"signed", key=SECRET)
    assert bytes(reader.get_made(KEY).payload) == b"signed"


def test_a_key_that_can_be_guessed_is_refused(url, tmp_path):
    with pytest.warns(CacheWarning, match="fewer than 32 characters.*\n.*\n.*openssl rand -hex 32"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote(filled(url), key="secret")).get_made(KEY) is None


def test_an_entry_that_is_too_large_is_not_read_whole(tmp_path):
    url = filled(f"file://{tmp_path}/far", bytes(100_000))
    with pytest.warns(CacheWarning, match="it has more than 50000 bytes"):
        assert Remote(url, max_bytes=50_000).get(KEY) is None


class Broken(fsspec.AbstractFileSystem):
    """A place that fails, or never answers."""

    protocol = "broken"
    asked = 0
    answer = threading.Event()

    def cat_file(self, path, start=None, end=None, **options):
        Broken.asked += 1
        if "slow" in path:
            Broken.answer.wait(60)
        raise ConnectionError("the network is down")

    def pipe_file(self, path, value, mode="overwrite", **options):
        self.cat_file(path)


@pytest.fixture
def broken():
    fsspec.register_implementation("broken", Broken, clobber=True)
    Broken.asked = 0
    Broken.answer.clear()
    yield Broken
    Broken.answer.set()


def test_a_failure_is_one_warning_and_a_miss_and_the_place_is_left_alone_for_a_while(broken, tmp_path, monkeypatch):
    cache = DiskCache(tmp_path, 1 << 20, (), Remote("broken://user:password@host/a", True))
    with pytest.warns(CacheWarning, match="the remote cache cannot be read: the network is down") as caught:
        assert cache.get_made(KEY) is None
    assert "broken://host/a" in str(caught[0].message) and "password" not in str(caught[0].message)
    assert cache.get_made(digest({})) is None
    cache.send(KEY, CONTRIBUTORS, {}, b"program")
    assert broken.asked == 1
    cache.remote._paused_until = 0.0
    assert cache.get_made(KEY) is None
    assert broken.asked == 2


def test_a_failure_to_write_is_one_warning(broken, tmp_path):
    cache = DiskCache(tmp_path, 1 << 20, (), Remote("broken://a", True))
    with pytest.warns(CacheWarning, match="the remote cache cannot be written: the network is down"):
        cache.send(KEY, CONTRIBUTORS, {}, b"program")


def test_a_place_that_does_not_answer_is_waited_for_a_bounded_time(broken, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_remote, "ANSWER_SECONDS", 0.2)
    started = time.monotonic()
    with pytest.warns(CacheWarning, match="no answer within 0.2 seconds"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote("broken://slow")).get_made(KEY) is None
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("url", ["nonsense://a/b", "s3://bucket"])
def test_an_address_that_fsspec_cannot_open_is_one_warning(url, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.warns(CacheWarning, match="the remote cache (is not used|cannot be read)"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote(url)).get_made(KEY) is None


def test_without_fsspec_one_warning_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.warns(CacheWarning, match=r"(?s)the remote cache is not used.*pip install fsspec"):
        assert DiskCache(tmp_path, 1 << 20, (), Remote("memory://a")).get_made(KEY) is None


def test_a_call_compiles_stores_and_then_loads_from_the_remote_cache(url, tmp_path, compiles, monkeypatch):
    monkeypatch.setenv("STAGEC_CACHE_REMOTE_KEY", SECRET)
    function = stagec.jit(lambda x: snp.tanh(x) * 1.25 + len(url))
    x = np.arange(3, dtype=np.float32)
    with stagec.config.override(cache_dir=str(tmp_path / "a"), cache_remote=url, cache_remote_write=True):
        with compiles() as made:
            first = function(x)
        assert [r.message for r in made if r.kind == "compile"] == ["compiled"]
        assert default_cache().info().remote == url
    assert [name.partition(".")[2] for name in files(url)] == ["signed"]
    stagec.clear_caches()
    with stagec.config.override(cache_dir=str(tmp_path / "b"), cache_remote=url):
        with compiles() as made:
            second = function(x)
        assert [r.kind for r in made] == ["cache"]
        assert any(r.message == "found in the remote cache" for r in log.records("cache"))
    assert first.tolist() == second.tolist()
    assert len(list((tmp_path / "b").glob("*.stagec"))) == 1


PROGRAM = """
import warnings
warnings.simplefilter("error")
import numpy as np, sys
import stagec, stagec.numpy as snp
assert "fsspec" not in sys.modules
print(stagec.jit(lambda x: snp.tanh(x) + 3)(np.zeros(2, np.float32)).tolist(), "iree.compiler" in sys.modules)
"""


def test_the_environment_names_the_place_and_another_process_needs_no_compiler(tmp_path):
    def run(own, **more):
        remote = {"STAGEC_CACHE_REMOTE": f"file://{tmp_path}/far", "STAGEC_CACHE_DIR": str(tmp_path / own)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": ROOT, **remote, **more},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("a", STAGEC_CACHE_REMOTE_WRITE="1") == "[3.0, 3.0] True\n"
    assert run("b") == "[3.0, 3.0] False\n"


def test_the_key_is_not_printed_with_the_options(monkeypatch):
    monkeypatch.setenv("STAGEC_CACHE_REMOTE_KEY", SECRET)
    with stagec.config.override(cache_remote="memory://a"):
        assert SECRET not in f"{stagec.config} {default_cache()} {vars(default_cache().remote)['url']}"
