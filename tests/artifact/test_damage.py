"""Damaged and hostile files are refused with one kind of error, and nothing of them runs."""

import contextlib
import hashlib
import json
import os
import random
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import stagec
import stagec.numpy as snp
from stagec.api.load import open_artifact
from stagec.artifact.container import SectionTable, encode
from stagec.errors import ArtifactError, StagecError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
WEIGHT = np.full((3, 20), 0.5, np.float32)
LARGE = np.full((20, 300), 0.01, np.float32)
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))


def model(params, x):
    y = snp.sin(x @ snp.asarray(WEIGHT)) + params
    return {"y": y, "x": x, "one": 1, "sums": snp.tile(y, (2, 1)) @ snp.asarray(LARGE)}


@pytest.fixture(scope="module")
def good():
    """A file with weights, one of which is packed, a constant, an argument that is a result, and two variants."""
    exported = stagec.export(stagec.jit(model, donate_argnums=0), ["cpu:x86-64", "cpu:x86-64-v2"])
    made = exported(snp.ones((2, 20)), X).serialize()
    assert '"packed":[{' in json.dumps(open_artifact(made).manifest, separators=(",", ":"))
    return made


def outcome(data):
    """What a file makes of a call: its results, or the error."""
    try:
        return {k: np.array(v) for k, v in stagec.load(data)(np.ones((2, 20), np.float32), X).items()}
    except ArtifactError as error:
        assert "\n  Fix: " in str(error)
        assert "<bytes>" in str(error)
        return error


def same(a, b):
    return isinstance(a, dict) and a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def test_a_changed_bit_is_noticed_or_changes_nothing(good):
    expected = outcome(good)
    assert same(expected, expected)
    opened = open_artifact(good)
    header_end = len(good) - sum(-(-opened.size(i) // 4096) * 4096 for i in range(len(opened)))
    rng = random.Random(0)
    places = [*range(0, 60), *rng.sample(range(60, len(good)), 400 * FUZZ)]
    refused = 0
    for place in places:
        changed = bytearray(good)
        changed[place] ^= 1 << rng.randrange(8)
        found = outcome(bytes(changed))
        # A bit of a section that this machine does not need may be wrong: another variant, the StableHLO.
        assert isinstance(found, ArtifactError) or (place >= header_end and same(found, expected)), place
        refused += isinstance(found, ArtifactError)
    assert refused > 100


def test_a_truncated_or_longer_file_is_refused(good):
    lengths = [0, 1, 7, 8, 23, 55, 56, 57, 4095, 4096, 4097, len(good) - 1]
    for length in [*lengths, *random.Random(1).sample(range(len(good)), 40)]:
        assert isinstance(outcome(good[:length]), ArtifactError), length
    assert isinstance(outcome(good + b"\0"), ArtifactError)
    assert isinstance(outcome(good + bytes(4096)), ArtifactError)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data):
    assert isinstance(outcome(data), ArtifactError)


@given(header=st.binary(max_size=200))
def test_any_header_with_the_right_checksum_is_refused(header):
    assert isinstance(outcome(sealed(header)), ArtifactError)


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 200_000,
        b'{"manifest":' * 50_000,
        b"9" * 100_000,
        b'{"manifest":{},"manifest":{},"sections":[]}',
        b'{"manifest":NaN,"sections":[]}',
        b'{"manifest":1e999,"sections":[]}',
        b'{"manifest":{},"sections":[[0,9223372036854775807,"' + b"0" * 64 + b'"]]}',
        b'{"manifest":{},"sections":[[-4096,8192,"' + b"0" * 64 + b'"]]}',
        b"null",
        b"",
        "{}\u00e9".encode(),
    ],
)
def test_a_header_that_is_no_manifest_is_refused(header):
    assert isinstance(outcome(sealed(header)), ArtifactError)


def sealed(header, sections=b""):
    """A file with this header, and digests that fit."""
    start = -(-(56 + len(header)) // 4096) * 4096
    fields = struct.pack("<8sIIQ", b"STAGEC\r\n", 1, len(header), start + len(sections))
    body = fields + hashlib.sha256(fields + header).digest() + header
    return body + bytes(start - len(body)) + sections


def rebuilt(data, change):
    """The file with another manifest, and digests that fit."""
    opened = open_artifact(data)
    manifest = json.loads(json.dumps(opened.manifest))
    table = SectionTable()
    for number in range(len(opened)):
        assert table.add(opened.section(number, "")) == number
    manifest = change(manifest)
    return b"".join(bytes(part) for part in encode(manifest, table))


def paths(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from paths(child, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def removed(value, path):
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = removed(copy[path[0]], path[1:])
    return copy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.sampled_from([2**31, 2**62, -(2**63)]) | st.text(max_size=8)
    | st.sampled_from(["cpu:x86-64-v4", "vulkan", "float32", "int8", "computed", "input", "local-task", "*", "tuple"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=300 * FUZZ, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_manifest_with_any_change_is_refused_or_consistent(good, data):
    """With checksums that fit, as someone would write them who wants to harm."""
    original = open_artifact(good).manifest
    path = data.draw(st.sampled_from([p for p in paths(original) if p]))
    if data.draw(st.booleans()):
        changed = rebuilt(good, lambda m: replaced(m, path, data.draw(JSON)))
    else:
        changed = rebuilt(good, lambda m: removed(m, path))
    with contextlib.suppress(StagecError):  # a signature that is sound, and that the call does not fit
        outcome(changed)
