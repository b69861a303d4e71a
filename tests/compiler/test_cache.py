"""The disk cache of one process: what is stored is found, bounded, and refused when it should be."""

import os
import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest

import stagec.compiler.cache as cache_module
from stagec.compiler.cache import DiskCache, default_cache
from stagec.compiler.cache_file import EntryError, read_header
from stagec.compiler.key import digest
from stagec.core.config import config
from stagec.core.errors import CacheWarning

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache_module.__file__))))
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX")


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def key_of(number):
    return digest({"number": str(number)})


def put(cache, number, payload=b"program"):
    return cache.put(key_of(number), {"number": str(number)}, {}, payload)


def present(cache, numbers):
    return [n for n in numbers if os.path.exists(cache._path(key_of(n)))]


def test_an_entry_comes_back_as_it_was_stored(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    meta = {"donated": [0, 2], "flags": {"name": "fast"}, "seconds": 0.25, "none": None, "name": "é\udcff"}
    payload = os.urandom(10_000)
    for entry in (
        cache.put(key_of(1), {"target": "cpu"}, meta, payload),
        cache.get(key_of(1)),
        DiskCache(tmp_path, 1 << 20).get(key_of(1)),
    ):
        assert entry.key == key_of(1)
        assert entry.contributors == {"target": "cpu"}
        assert entry.meta == meta
        assert entry.payload == payload
        assert os.path.dirname(entry.path) == str(tmp_path)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 1 << 20])
@pytest.mark.parametrize("header", [0, 3900, 3950, 4000, 9000])
def test_the_payload_is_aligned_in_memory(tmp_path, size, header):
    cache = DiskCache(tmp_path, 1 << 22)
    entry = cache.put(key_of(1), {}, {"filler": "x" * header}, bytes(size))
    assert len(entry.payload) == size
    if size:
        assert np.frombuffer(entry.payload, np.uint8).ctypes.data % 64 == 0


def test_a_payload_may_be_any_contiguous_buffer(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert put(cache, 1, memoryview(array)).payload == array.tobytes()
    assert put(cache, 2, bytearray(b"abc")).payload == b"abc"


def test_a_missing_entry_or_directory_is_a_quiet_miss(tmp_path):
    cache = DiskCache(tmp_path / "none", 1 << 20)
    assert cache.get(key_of(1)) is None
    assert list(cache.entries()) == []
    assert cache.clear() == 0
    assert not (tmp_path / "none").exists()


def test_a_mapped_payload_outlives_its_file(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    entry = put(cache, 1, b"x" * 9000)
    assert cache.clear() == 1
    assert entry.payload == b"x" * 9000


def test_a_second_put_replaces_the_first_and_leaves_its_mapping_alone(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    first = put(cache, 1, b"a" * 5000)
    second = put(cache, 1, b"b" * 6000)
    assert (first.payload, second.payload) == (b"a" * 5000, b"b" * 6000)
    assert cache.get(key_of(1)).payload == b"b" * 6000


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", "a" * 64 + "/x", 5, None])
def test_a_key_that_is_not_a_digest_is_refused(tmp_path, key):
    cache = DiskCache(tmp_path, 1 << 20)
    with pytest.raises(ValueError, match="SHA-256"):
        cache.get(key)
    with pytest.raises(ValueError, match="SHA-256"):
        cache.put(key, {}, {}, b"")
    assert os.listdir(tmp_path) == []


def test_meta_that_json_cannot_hold_is_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(TypeError):
        DiskCache(tmp_path, 1 << 20).put(key_of(1), {}, {"x": object()}, b"")
    assert os.listdir(tmp_path) == []


def test_the_least_recently_used_entries_leave_first(tmp_path):
    cache = DiskCache(tmp_path, 20 * 8192)
    for n in range(20):
        put(cache, n)
        os.utime(cache._path(key_of(n)), (1000 + n, 1000 + n))
    assert present(cache, range(20)) == list(range(20))
    cache.get(key_of(0))
    put(cache, 20)
    left = present(cache, range(21))
    assert 0 in left and 20 in left and 1 not in left and 2 not in left
    assert left == [0, *range(21 - len(left) + 1, 21)]


def test_the_cache_never_exceeds_its_bound(tmp_path):
    cache = DiskCache(tmp_path, 100_000)
    for n in range(60):
        assert put(cache, n, bytes(n * 100)) is not None
        assert cache.info().bytes <= 100_000
    assert cache.info().entries > 5


def test_the_bound_holds_when_every_put_comes_from_a_fresh_cache_object(tmp_path):
    for n in range(60):
        put(DiskCache(tmp_path, 100_000), n)
        assert DiskCache(tmp_path, 100_000).info().bytes <= 100_000


def test_the_directory_is_not_scanned_at_every_put(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path, 1 << 20)
    put(cache, 0)
    scans = []
    scan = cache._scan
    monkeypatch.setattr(cache, "_scan", lambda *a, **k: scans.append(1) or scan(*a, **k))
    for n in range(1, 100):
        put(cache, n)
    assert len(scans) == 0
    for n in range(100, 200):
        put(cache, n)
    assert 1 <= len(scans) <= 8


def test_entries_from_before_a_lost_ledger_are_counted_again(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    for n in range(10):
        put(cache, n)
    os.unlink(tmp_path / cache_module._LEDGER)
    put(cache, 10)
    assert os.path.getsize(tmp_path / cache_module._LEDGER) == 11 * 2


def test_a_program_larger_than_the_cache_is_not_stored(tmp_path):
    cache = DiskCache(tmp_path, 50_000)
    put(cache, 1)
    with pytest.warns(CacheWarning, match="STAGEC_CACHE_MAX_BYTES"):
        assert put(cache, 2, bytes(60_000)) is None
    assert present(cache, [1, 2]) == [1]


def test_entries_are_listed_most_recent_first_without_their_payloads(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    for n in range(3):
        put(cache, n, bytes(n))
        os.utime(cache._path(key_of(n)), (1000 + n, 1000 + n))
    assert [(h.contributors, h.payload_bytes, h.used) for h in cache.entries()] == [
        ({"number": str(n)}, n, 1000 + n) for n in (2, 1, 0)
    ]


def test_clear_removes_only_files_of_the_cache(tmp_path):
    (tmp_path / "keep.txt").write_text("mine")
    (tmp_path / "keep.stagec").write_text("mine")
    cache = DiskCache(tmp_path, 1 << 20)
    put(cache, 1)
    put(cache, 2)
    (tmp_path / f"{key_of(3)}.{'0' * 16}.tmp").write_text("left over")
    assert cache.clear() == 2
    assert sorted(os.listdir(tmp_path)) == ["keep.stagec", "keep.txt"]


def test_temporary_files_are_removed_after_an_hour(tmp_path):
    old, young = (tmp_path / f"{key_of(n)}.{'0' * 16}.tmp" for n in (1, 2))
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    put(DiskCache(tmp_path, 1 << 20), 3)
    assert (old.exists(), young.exists()) == (False, True)


def test_info_counts(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    put(cache, 1)
    cache.get(key_of(1))
    cache.get(key_of(2))
    info = cache.info()
    assert (info.entries, info.hits, info.misses, info.writes, info.refusal) == (1, 1, 1, 1, "")
    assert info.bytes == os.path.getsize(cache._path(key_of(1)))


@posix
def test_the_directory_and_its_files_are_private(tmp_path):
    before = os.umask(0)
    try:
        cache = DiskCache(tmp_path / "a" / "b", 1 << 20)
        put(cache, 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a" / "b").st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(tmp_path / "a" / "b" / n).st_mode) for n in os.listdir(cache.directory)} == {0o600}


@posix
@pytest.mark.parametrize("mode, refused", [(0o777, True), (0o1777, False), (0o755, False)])
def test_a_directory_that_anyone_may_change_is_refused(tmp_path, mode, refused):
    cache = DiskCache(tmp_path, 1 << 20)
    put(cache, 1)
    tmp_path.chmod(mode)
    cache = DiskCache(tmp_path, 1 << 20)
    if not refused:
        assert cache.get(key_of(1)) is not None
        return
    with pytest.warns(CacheWarning, match="every user may write") as caught:
        assert cache.get(key_of(1)) is None
        assert put(cache, 2) is None
        assert cache.get(key_of(1)) is None
    assert len(caught) == 1
    assert present(cache, [1, 2]) == [1]


@posix
def test_a_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    put(DiskCache(tmp_path, 1 << 20), 1)
    status = os.stat(tmp_path)
    foreign = os.stat_result((*status[:4], 4242, *status[5:]))
    stat_of = os.stat
    monkeypatch.setattr(os, "stat", lambda p, *a, **k: foreign if p == str(tmp_path) else stat_of(p, *a, **k))
    with pytest.warns(CacheWarning, match="belongs to user 4242"):
        assert DiskCache(tmp_path, 1 << 20).get(key_of(1)) is None


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_an_entry_of_another_user_is_refused(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    put(cache, 1)
    os.chown(cache._path(key_of(1)), 4242, -1)
    with pytest.warns(CacheWarning, match="belongs to user 4242"):
        assert cache.get(key_of(1)) is None


@posix
def test_an_entry_that_others_may_write_a_link_and_a_pipe_are_refused(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    elsewhere = DiskCache(tmp_path / "elsewhere", 1 << 20)
    for n in range(3):
        put(elsewhere, n)
    os.rename(elsewhere._path(key_of(0)), cache._path(key_of(0)))
    os.chmod(cache._path(key_of(0)), 0o666)
    os.symlink(elsewhere._path(key_of(1)), cache._path(key_of(1)))
    os.mkfifo(cache._path(key_of(2)))
    for n, reason in enumerate(["other users may write", "is a link", "not a regular file"]):
        with pytest.raises(EntryError, match=reason):
            read_header(cache._path(key_of(n)))
    with pytest.warns(CacheWarning) as caught:
        assert [cache.get(key_of(n)) for n in range(3)] == [None] * 3
    assert len(caught) == 1
    assert present(cache, range(3)) == []
    assert present(elsewhere, range(3)) == [1, 2]


@posix
def test_a_link_in_place_of_the_ledger_is_not_followed(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    os.symlink(victim, tmp_path / cache_module._LEDGER)
    cache = DiskCache(tmp_path, 100_000)
    for n in range(30):
        put(cache, n)
    assert victim.read_text() == "mine"
    assert cache.info().entries > 5 and cache.info().bytes <= 100_000


def test_a_user_without_a_cache_directory_gets_one_warning(monkeypatch):
    import platformdirs

    def no_home(*args, **kwargs):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache_module, "_caches", {})
    monkeypatch.setattr(cache_module, "_no_home_warned", False)
    monkeypatch.setattr(platformdirs, "user_cache_dir", no_home)
    with config.override(cache_dir=""), pytest.warns(CacheWarning, match="STAGEC_CACHE_DIR") as caught:
        assert [default_cache(), default_cache()] == [None, None]
    assert len(caught) == 1


def test_options_choose_the_default_cache(tmp_path, monkeypatch):
    with config.override(cache_dir=str(tmp_path / "one"), cache_max_bytes=1000):
        one = default_cache()
        assert (one.directory, one.max_bytes) == (str(tmp_path / "one"), 1000)
        assert default_cache() is one
        with config.override(cache_dir=str(tmp_path / "two")):
            assert default_cache().directory == str(tmp_path / "two")
        with config.override(enable_cache=False):
            assert default_cache() is None
        with config.override(cache_max_bytes=0):
            assert default_cache() is None
        assert default_cache() is one
    with config.override(cache_dir=""):
        import platformdirs

        assert default_cache().directory == platformdirs.user_cache_dir("stagec", appauthor=False)


def test_the_cache_stays_where_it_was_after_a_change_of_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = DiskCache("here", 1 << 20)
    monkeypatch.chdir("/")
    put(cache, 1)
    assert (tmp_path / "here").is_dir()


def test_importing_the_cache_is_light():
    code = (
        "import sys, numpy; before = set(sys.modules); import stagec.compiler.cache;"
        "print([m for m in sys.modules if m not in before and m.startswith(("
        "'iree', 'passes.', 'pathlib', 'tempfile', 'platformdirs', 'importlib.metadata'))"
        "and m not in ('passes.errors', 'passes.fast_math')])"
    )
    env = {**os.environ, "PYTHONPATH": ROOT}
    assert subprocess.check_output([sys.executable, "-c", code], env=env, text=True).strip() == "[]"


def test_a_relative_directory_is_that_of_the_moment(tmp_path, monkeypatch):
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with config.override(cache_dir="cache", cache_layers="layer", enable_cache=True):
            store = default_cache()
            assert default_cache() is store
            found += [store.directory, store.layers[0].directory]
    assert found == [str(tmp_path / a / b) for a in "ab" for b in ("cache", "layer")]
