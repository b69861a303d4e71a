"""The page of what JAX, NumPy, SciPy and the array API have and stagec has not is true."""

import missing_reasons
import numpy as np
import pytest
from missing import (
    NAMES,
    NUMPY_NAMES,
    PAGE,
    UNEXPLAINED,
    arguments,
    jax_names,
    lists,
    numpy_lists,
    numpy_names,
    ours,
    page,
)

import stagec


def test_the_page_fits_the_code():
    assert page() == PAGE.read_text(), "run `python tests/missing.py`"


def test_a_name_that_is_missing_is_listed(monkeypatch):
    """Or the test above would pass on lists that leave everything out."""
    names = lists().partition("### Names")[2].partition("### Arguments")[0]
    assert "`numpy`" not in names and "`jit`" not in names
    monkeypatch.delattr(stagec.numpy, "sinc")
    assert "`sinc`" in lists() and "`sinc`" not in names


def test_what_is_missing_has_a_reason(monkeypatch):
    assert UNEXPLAINED not in lists()
    monkeypatch.delattr(stagec.numpy, "sinc")
    assert f"{UNEXPLAINED}\n\n- `jax.numpy`: `sinc`." in lists()


def test_reasons_are_for_what_is_missing():
    here = [
        (module, name)
        for modules in (*missing_reasons.NAMES.values(), *missing_reasons.NUMPY_NAMES.values())
        for module, names in modules.items()
        for name in (names or "").split()
        if hasattr(ours(module), name)
    ]
    assert here == []


def test_an_argument_that_is_missing_is_listed(monkeypatch):
    assert "`numpy.flip` (" not in lists()
    monkeypatch.setattr(stagec.numpy, "flip", lambda m: m)
    assert f"- `numpy.flip` (`axis`): {UNEXPLAINED}" in lists()


def test_names_of_numpy_and_the_standard_are_listed(monkeypatch):
    assert "| `array API, numpy` | 152 | 152 |" in numpy_lists()
    monkeypatch.delattr(stagec.numpy, "unstack")
    assert f"{UNEXPLAINED}\n\n- `numpy`: `unstack`.\n- `array API, numpy`: `unstack`." in numpy_lists()


def test_the_names_are_those_of_numpy_and_scipy():
    scipy = pytest.importorskip("scipy", reason="the names of SciPy were read when it was installed")
    if NUMPY_NAMES.read_text().splitlines()[0] != f"# NumPy {np.__version__} and SciPy {scipy.__version__}":
        pytest.skip("the names are those of other versions: python tests/missing.py --numpy")
    assert numpy_names() == NUMPY_NAMES.read_text()


def test_another_default_or_position_is_listed(monkeypatch):
    monkeypatch.setattr(stagec.numpy, "flip", lambda m, axis=0: m)
    assert f"- `numpy.flip` (`axis=None`): {UNEXPLAINED}" in lists()
    monkeypatch.setattr(stagec.numpy, "flip", lambda axis=None, m=None: m)
    assert f"- `numpy.flip` (`m`, `axis=None`): {UNEXPLAINED}" in lists()


def test_arguments_are_those_of_the_signature():
    assert arguments(lambda a, /, b, *c, d=1, _e=2, **f: 0) == ["a", "/", "b", "*", "d=1"]
    assert arguments(lambda x, *, y="p q", z=(), w=int: 0) == ["x", "*", "y=...", "z=()", "w=..."]
    assert arguments(int) == arguments(3) == []


def test_the_names_are_those_of_jax():
    jax = pytest.importorskip("jax", reason="the names of JAX were read when it was installed")
    if NAMES.read_text().splitlines()[0] != f"# JAX {jax.__version__}":
        pytest.skip("the names are those of another version of JAX: python tests/missing.py --jax")
    assert jax_names() == NAMES.read_text()
