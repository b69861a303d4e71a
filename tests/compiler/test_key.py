"""Cache keys: every contributor matters, every source file matters, the compiler is not imported."""

import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

import stagec.compiler.key as key_module
from stagec.compiler.key import digest, environment_contributors, source_fingerprint

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(key_module.__file__))))
CONTRIBUTORS = st.dictionaries(st.text(), st.text(), max_size=4)


def run(code: str) -> str:
    env = {**os.environ, "PYTHONPATH": ROOT}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout


def package(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__slash__", "/").replace("__dot__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


@given(CONTRIBUTORS, CONTRIBUTORS)
def test_digests_are_equal_exactly_when_contributors_are(left, right):
    assert (digest(left) == digest(right)) == (left == right)


@given(CONTRIBUTORS)
def test_the_order_of_contributors_does_not_matter(contributors):
    assert digest(contributors) == digest(dict(reversed(contributors.items())))


def test_the_digest_is_the_same_in_every_release():
    # Pinned: a change to the encoding would drop every cache on disk.
    text = b'{"a": "\\u00e9", "b": "2"}'
    assert digest({"b": "2", "a": "é"}) == hashlib.sha256(text).hexdigest()


def test_a_lone_surrogate_has_a_digest():
    assert digest({"path": "\udcff"}) != digest({"path": "\udcfe"})


@pytest.mark.parametrize("contributors", [{"a": 1}, {1: "a"}, {"a": None}, {"a": b"1"}])
def test_contributors_that_are_not_strings_are_refused(contributors):
    with pytest.raises(TypeError, match="pair of strings"):
        digest(contributors)


def test_a_changed_added_renamed_or_nested_source_changes_the_fingerprint(tmp_path):
    def of(name, **files):
        return key_module._fingerprint([package(tmp_path / name, **files)])

    base = of("base", a__dot__py="1", b__dot__py="2")
    assert of("same", b__dot__py="2", a__dot__py="1") == base
    others = [
        of("changed", a__dot__py="1", b__dot__py="3"),
        of("added", a__dot__py="1", b__dot__py="2", c__dot__py=""),
        of("renamed", a__dot__py="1", c__dot__py="2"),
        of("nested", a__dot__py="1", b__slash__b__dot__py="2"),
        of("joined", a__dot__py="12", b__dot__py=""),
    ]
    assert len({base, *others}) == 6


def test_what_is_not_source_does_not_change_the_fingerprint(tmp_path):
    folder = package(tmp_path, a__dot__py="1")
    before = key_module._fingerprint([folder])
    package(tmp_path, __pycache____slash__a__dot__pyc="x", cli__dot__py="x", notes__dot__txt="x", py__dot__typed="")
    assert key_module._fingerprint([folder]) == before


def test_sources_that_cannot_be_read_match_no_other_process(tmp_path):
    missing = [str(tmp_path / "missing")]
    assert key_module._fingerprint(missing) != key_module._fingerprint(missing)
    (tmp_path / "empty").mkdir()
    empty = [str(tmp_path / "empty")]
    assert key_module._fingerprint(empty) != key_module._fingerprint(empty)


def test_processes_agree_on_the_environment_and_do_not_import_the_compiler():
    code = (
        "import sys; from stagec.compiler.key import environment_contributors as e; print(sorted(e().items()));"
        "heavy, light = ('iree.', 'passes.', 'importlib.metadata'), ('passes.errors', 'passes.fast_math');"
        "print([m for m in sys.modules if m.startswith(heavy) and m not in light])"
    )
    here = sorted(environment_contributors().items())
    assert run(code).splitlines() == [str(here), "[]"]


def test_the_versions_are_those_of_the_installed_packages():
    from importlib import metadata

    found = environment_contributors()
    for name in ("iree-base-compiler", "iree-base-runtime"):
        version, commit = found[name].split()
        assert version.startswith(metadata.version(name))
        assert len(commit) == 40
    assert found["stagec source"] == source_fingerprint()


def test_callers_cannot_change_the_environment_of_others():
    environment_contributors()["numpy"] = "changed"
    assert environment_contributors()["numpy"] != "changed"


def test_a_package_without_version_file_is_looked_up_among_the_installed_ones():
    assert key_module._iree_version("no_such_package", "pytest") == pytest.__version__
    assert key_module._iree_version("no_such_package", "no-such-distribution") == "not installed"
