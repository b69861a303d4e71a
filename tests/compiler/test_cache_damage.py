"""Whatever happened to a file of the disk cache or to the disk: a miss, one warning, never an error."""

import errno
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import pytest
from hypothesis import given, settings, strategies as st

import stagec.compiler.cache as cache_module
from stagec.artifact import container
from stagec.compiler.cache import DiskCache
from stagec.compiler.cache_file import ENTRY
from stagec.compiler.key import digest
from stagec.core.errors import CacheWarning

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache_module.__file__))))
CONTRIBUTORS = {"program": "add"}
KEY = digest(CONTRIBUTORS)
PAYLOAD = bytes(range(256)) * 5


def stored(directory) -> bytes:
    cache = DiskCache(directory, 1 << 20)
    cache.put(KEY, CONTRIBUTORS, {"flag_set": 1}, PAYLOAD)
    with open(cache._path(KEY), "rb") as file:
        return file.read()


def get_damaged(directory, data):
    """What `get` makes of a file with these bytes: nothing, one warning, and the file is gone."""
    cache = DiskCache(directory, 1 << 20)
    path = cache._path(KEY)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert {header.key for header in cache.entries()} <= {KEY}
        assert cache.get(KEY) is None
        assert cache.get(KEY) is None
    assert [w.category for w in caught] == [CacheWarning]
    assert not os.path.exists(path)
    return str(caught[0].message)


ORIGINAL = [b""]


@pytest.fixture(autouse=True)
def original(tmp_path_factory):
    if not ORIGINAL[0]:
        ORIGINAL[0] = stored(tmp_path_factory.mktemp("original"))


def forged(header=None, text=None, digest=None, **changes) -> bytes:
    """An entry with sound checksums around whatever the header says."""
    if text is None:
        manifest = {"key": KEY, "contributors": {}, "meta": {}, **(header or {})}
        sections = [[0, len(PAYLOAD), digest or hashlib.sha256(PAYLOAD).hexdigest()]]
        text = json.dumps({"manifest": manifest, "sections": sections}).encode()
    padding = bytes(-(container._PRELUDE_BYTES + len(text)) % container.PAGE)
    fields = {
        "magic": ENTRY.magic,
        "version": ENTRY.version,
        "length": len(text),
        "file": container._PRELUDE_BYTES + len(text) + len(padding) + len(PAYLOAD),
        **changes,
    }
    prelude = container._FIELDS.pack(*fields.values())
    return prelude + hashlib.sha256(prelude + text).digest() + text + padding + PAYLOAD


def test_a_forged_entry_without_fault_is_accepted(tmp_path):
    # The other forgeries below are refused for the one thing that they change.
    cache = DiskCache(tmp_path, 1 << 20)
    os.close(os.open(cache._path(KEY), os.O_CREAT, 0o600))
    with open(cache._path(KEY), "wb") as file:
        file.write(forged())
    assert cache.get(KEY).payload == PAYLOAD


@pytest.mark.parametrize(
    "data, reason",
    [
        (lambda: forged(magic=b"\x7fELF\0\0\0\0"), "not a cache entry"),
        (lambda: forged(version=1), "format 1"),
        (lambda: forged(length=2**32 - 1), "header claims 4294967295 bytes"),
        (lambda: forged(length=container.HEADER_LIMIT), "header claims 16777216 bytes"),
        (lambda: forged(file=2**64 - 1), "bytes instead of 18446744073709551615"),
        (lambda: forged(digest="0" * 64), "payload does not match"),
        (lambda: forged(digest="0" * 63), "table of sections"),
        (lambda: forged(text=b"not json"), "not the JSON"),
        (lambda: forged(text=b"\xff\xfe"), "not the JSON"),
        (lambda: forged(text=b"[" * 200_000), "not the JSON"),
        (lambda: forged(text=b""), "not the JSON"),
        (lambda: forged(text=b"[]"), "not a manifest"),
        (lambda: forged(text=b"{}"), "not a manifest"),
        (lambda: forged(text=b'{"manifest":{},"sections":[]}'), "table of sections"),
        (lambda: forged({"key": "../../../etc/passwd"}), "lacks a field"),
        (lambda: forged({"key": 5}), "lacks a field"),
        (lambda: forged({"meta": []}), "lacks a field"),
        (lambda: forged({"contributors": {"a": 1}}), "lacks a field"),
        (lambda: forged({"key": digest({"other": ""})}), "another key"),
    ],
)
def test_a_forged_entry_is_refused_for_its_fault(tmp_path, data, reason):
    assert reason in get_damaged(tmp_path, data())


def test_a_truncated_entry_is_a_miss(tmp_path):
    data = ORIGINAL[0]
    for length in [*range(0, 130), *range(130, len(data), 97), len(data) - 1]:
        get_damaged(tmp_path, data[:length])


def test_an_entry_with_something_appended_is_a_miss(tmp_path):
    get_damaged(tmp_path, ORIGINAL[0] + b"\0")


def test_any_flipped_bit_is_a_miss(tmp_path):
    data = ORIGINAL[0]
    chosen = random.Random(0).sample(range(len(data) * 8), 300)
    for bit in [*range(0, 96 * 8, 5), *chosen]:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        get_damaged(tmp_path, bytes(changed))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_contents_are_a_miss(data):
    kind = data.draw(st.sampled_from(["bytes", "spliced", "headed", "json"]))
    if kind == "bytes":
        contents = data.draw(st.binary(max_size=5000))
    elif kind == "spliced":
        start = data.draw(st.integers(0, len(ORIGINAL[0]) - 1))
        contents = ORIGINAL[0][:start] + data.draw(st.binary(max_size=50)) + ORIGINAL[0][start + 1 :]
        if contents == ORIGINAL[0]:
            return
    elif kind == "headed":
        contents = ORIGINAL[0][:16] + data.draw(st.binary(max_size=200))
    else:
        value = st.recursive(
            st.none() | st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
        )
        contents = forged(text=json.dumps(data.draw(value)).encode())
    with tempfile.TemporaryDirectory() as directory:
        get_damaged(directory, contents)


def test_a_damaged_entry_is_replaced_by_the_next_put(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    path = cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD).path
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    with pytest.warns(CacheWarning, match=r"(?s)not sound.*checksum.*" + KEY + ".*Fix: none needed"):
        assert cache.get(KEY) is None
    assert cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD) is not None
    assert cache.get(KEY).payload == PAYLOAD


def test_a_damaged_entry_that_cannot_be_removed_stays_a_miss(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path, 1 << 20)
    path = cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD).path
    os.truncate(path, 100)
    monkeypatch.setattr(os, "unlink", raising(errno.EROFS))
    with pytest.warns(CacheWarning, match=f"Fix: remove {path}") as caught:
        assert [cache.get(KEY), cache.get(KEY)] == [None, None]
    assert len(caught) == 1


def raising(code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


class FullDisk:
    """A file on a disk that takes ten bytes more."""

    def __init__(self, file):
        self.file = file
        self.left = 10

    def write(self, data):
        self.file.write(bytes(data[: self.left]))
        self.file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.file.close()


def test_a_full_disk_costs_one_warning_and_leaves_no_file(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path, 1 << 20)
    fdopen = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *a: FullDisk(fdopen(*a)))
    with pytest.warns(CacheWarning, match=r"(?s)cannot be written: No space left.*STAGEC_CACHE_DIR") as caught:
        assert cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD) is None
        assert cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD) is None
    assert len(caught) == 1
    assert os.listdir(tmp_path) == [cache_module._LEDGER]
    monkeypatch.undo()
    assert cache.put(KEY, CONTRIBUTORS, {}, PAYLOAD).payload == PAYLOAD


@pytest.mark.skipif(os.name != "posix", reason="resource limits are POSIX")
def test_a_limit_on_file_sizes_costs_one_warning(tmp_path):
    code = f"""
import resource, warnings
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
from stagec.compiler.cache import DiskCache
cache = DiskCache({str(tmp_path)!r}, 1 << 20)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print([cache.put({KEY!r}, {{}}, {{}}, bytes(5000)) for _ in range(3)], [w.category.__name__ for w in caught])
"""
    out = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": ROOT}, text=True)
    assert out.strip() == "[None, None, None] ['CacheWarning']"
    assert os.listdir(tmp_path) == [cache_module._LEDGER]


def read_only(monkeypatch):
    """Every call that changes the disk fails; as root, modes alone would not do it."""
    real_open = os.open
    write = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def open_for_reading(path, flags, *rest, **kwargs):
        if flags & write:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real_open(path, flags, *rest, **kwargs)

    monkeypatch.setattr(os, "open", open_for_reading)
    for name in ("unlink", "replace", "utime", "truncate", "mkdir"):
        monkeypatch.setattr(os, name, raising(errno.EROFS))


def test_a_read_only_directory_still_serves_its_entries(tmp_path, monkeypatch):
    stored(tmp_path)
    read_only(monkeypatch)
    cache = DiskCache(tmp_path, 1 << 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY).payload == PAYLOAD
    with pytest.warns(CacheWarning, match="Read-only") as caught:
        assert cache.put(digest({}), {}, {}, PAYLOAD) is None
        assert cache.put(digest({}), {}, {}, PAYLOAD) is None
    assert len(caught) == 1


def test_a_directory_that_cannot_be_made_costs_one_warning(tmp_path, monkeypatch):
    read_only(monkeypatch)
    cache = DiskCache(tmp_path / "missing", 1 << 20)
    with pytest.warns(CacheWarning, match="Read-only") as caught:
        assert [cache.put(KEY, {}, {}, b""), cache.get(KEY), cache.put(KEY, {}, {}, b"")] == [None] * 3
    assert len(caught) == 1


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_path_that_is_not_a_directory_costs_a_warning_a_kind(tmp_path, name):
    (tmp_path / "file").write_text("mine")
    cache = DiskCache(tmp_path / name, 1 << 20)
    with pytest.warns(CacheWarning, match="STAGEC_CACHE_DIR") as caught:
        assert [cache.get(KEY), cache.put(KEY, {}, {}, b""), cache.get(KEY)] == [None] * 3
    assert len(caught) <= 2
    assert (tmp_path / "file").read_text() == "mine"


def test_too_many_open_files_do_not_cost_a_sound_entry(tmp_path, monkeypatch):
    stored(tmp_path)
    cache = DiskCache(tmp_path, 1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", raising(errno.EMFILE))
        with pytest.warns(CacheWarning, match="cannot be read: Too many open files"):
            assert cache.get(KEY) is None
    assert cache.get(KEY).payload == PAYLOAD


def test_a_directory_removed_meanwhile_is_made_again(tmp_path):
    cache = DiskCache(tmp_path / "cache", 1 << 20)
    cache.put(KEY, {}, {}, b"1")
    cache.clear()
    os.rmdir(tmp_path / "cache")
    assert cache.get(KEY) is None
    assert cache.put(KEY, {}, {}, b"2").payload == b"2"


def test_a_folder_under_an_entrys_name_is_left_alone(tmp_path):
    cache = DiskCache(tmp_path, 1 << 20)
    os.mkdir(cache._path(KEY))
    with pytest.warns(CacheWarning) as caught:
        assert cache.get(KEY) is None
        assert cache.put(KEY, {}, {}, b"") is None
    assert len(caught) == 2
    assert [n for n in os.listdir(tmp_path) if n.endswith(".tmp")] == []
